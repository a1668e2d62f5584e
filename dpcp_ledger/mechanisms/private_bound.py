"""P-COQS on unbounded scores: a private bound b, then a search below it (P-COQS, Remark 1).

**Privacy.** The bound is a high quantile, found by the same search on public bounds at ρ_b. Given
b, truncating at b moves no more than one score between neighbours, so that the search on [a, b] is
ρ-zCDP whatever b is; divergences of adaptive releases add up to ρ + ρ_b.

**Coverage.** Truncation changes no comparison below b. Where b is at least the quantile, the
search errs as it would on a public [a, b]; b is lower with probability at most N_b·Φ(−g/σ_b), for
the g ranks between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from dpcp_audit.extensions.claims import ZCDP
from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.mechanisms import PCOQS


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatelyBounded:
    """A search for a bound b on public bounds, and one for the quantile on [a, b].

    Parameters
    ----------
    bound : PCOQS
        Of a small α; its bounds are public, and scores are truncated to them.
    quantile : PCOQS
        α, ρ and Δ; its upper bound is replaced by b.
    """

    bound: PCOQS
    quantile: PCOQS

    def __post_init__(self) -> None:
        if self.bound.alpha >= self.quantile.alpha:
            raise ValueError(f"bound must have an alpha below {self.quantile.alpha}")
        if self.bound.bounds[0] != self.quantile.bounds[0]:
            raise ValueError("quantile must have the lower bound of bound")

    @property
    def guarantee(self) -> ZCDP:
        """(ρ + ρ_b)-zCDP."""
        return ZCDP(self.bound.rho + self.quantile.rho)

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores, shape (size,)."""
        generator = _validate.generator(rng)
        low, high = self.bound.bounds
        values = np.clip(_validate.array(scores, name="scores", ndim=1), low, high)
        found = np.empty(size)
        for run, top in enumerate(self.bound.sample(values, size, rng=generator)):
            # a loop: every run has bounds, and so a number of rounds, of its own
            b = float(max(top, low + 2 * self.quantile.resolution))
            search = replace(self.quantile, bounds=(low, b))
            found[run] = search.sample(np.minimum(values, b), 1, rng=generator)[0]
        return found

    def truncated(self, n: int) -> float:
        """Return a bound on the probability that b lies below the quantile of n distinct scores.

        A wrong bound needs a wrong comparison, with noise as large as the ranks in between.
        """
        gap = self.bound.rank(n) - self.quantile.rank(n)
        return min(1.0, self.bound.rounds * float(ndtr(-gap / self.bound.noise_scale)))
