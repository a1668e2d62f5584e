"""What the noises of a path cost together, each noisy number taken to be released.

A proof by composition pays for every noisy number that the code acts on, however little the code
lets be seen of it. On a path, draw i moves by Δᵢ between the inputs and has a scale sᵢ: a theorem
of composition that gives the claim must allow the product of these noises, shifted by Δᵢ/sᵢ.
Where later draws depend on earlier ones, paths may cost differently: then their mean speaks, since
the divergence of the whole is the mean over its paths of the sum of theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.laws import GaussianPair, LaplacePair
from dpcp_audit.tracing.noise_laws import LAPLACE, NORMAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit._types import IntArray
    from dpcp_audit.mechanisms.laws import LawPair
    from dpcp_audit.tracing.path_losses import PathLoss

COMPOSED = frozenset({NORMAL, LAPLACE})
"""Laws of noise that is released by adding it to a number."""
_DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedNoise:
    """Independent Gaussian and Laplace noises against the same, shifted.

    Parameters
    ----------
    gaussian : float
        √Σ(Δ/σ)² of the Gaussian ones: together they are one of that shift.
    laplace : tuple of float
        Δ/b of the Laplace ones, the largest first.
    whole : bool
        Whether the path drew nothing else that the code acted on.
    seed : int
        Of a path that they are drawn on; it does not count in comparisons.
    paths : tuple of int
        How many paths from each input draw them; it does not count in comparisons.

    Examples
    --------
    >>> ComposedNoise(gaussian=1.0, laplace=(0.5, 0.25)).epsilon
    inf
    >>> ComposedNoise(laplace=(0.5, 0.25)).epsilon
    0.75
    """

    gaussian: float = 0.0
    laplace: tuple[float, ...] = ()
    whole: bool = True
    seed: int = field(default=0, compare=False)
    paths: tuple[int, ...] = field(default=(), compare=False)

    @property
    def pairs(self) -> list[LawPair]:
        """The pairs of laws that are composed."""
        gaussian: list[LawPair] = [GaussianPair(self.gaussian)] if self.gaussian else []
        return [*gaussian, *(LaplacePair((shift,)) for shift in self.laplace)]

    @property
    def epsilon(self) -> float:
        """The largest loss."""
        return math.inf if self.gaussian else math.fsum(self.laplace)

    @property
    def divergence(self) -> float:
        """The Kullback-Leibler divergence, a sum: the mean loss."""
        laplace = (shift + math.expm1(-shift) for shift in self.laplace)
        return self.gaussian**2 / 2 + math.fsum(laplace)


def composed_noise(
    paths: Sequence[Sequence[PathLoss]], seeds: IntArray
) -> tuple[ComposedNoise, ...]:
    """Return what the noises of the paths from each input cost, without repetitions.

    Where something else was drawn and seen by itself, such as a sample of the rows, nothing is
    counted: of such a path other theorems speak than those of composition. Draws that were
    compared with each other are not counted either.
    """
    found = [
        Counter(_product(*each) for each in zip(listed, row.tolist(), strict=True))
        for listed, row in zip(paths, seeds, strict=True)
    ]
    together = dict.fromkeys(noise for counted in found for noise in counted)
    return tuple(replace(each, paths=tuple(way[each] for way in found)) for each in together)


def _product(path: PathLoss, seed: int) -> ComposedNoise:
    if path.divergence is not None or any(draw.law not in COMPOSED for draw in path.draws):
        return ComposedNoise(whole=False, seed=seed)
    moved = [draw for draw in path.draws if draw.shift > 0]
    squares = math.fsum(draw.shift**2 for draw in moved if draw.law is NORMAL)
    others = (_rounded(draw.shift) for draw in moved if draw.law is LAPLACE)
    return ComposedNoise(
        gaussian=_rounded(math.sqrt(squares)),
        laplace=tuple(sorted(others, reverse=True)),
        whole=not any(math.isnan(draw.shift) for draw in path.draws),
        seed=seed,
    )


def _rounded(shift: float) -> float:
    return float(f"{shift:.{_DIGITS}e}")
