"""A mechanism of another package, with the claims that it asks dpcp-audit to test.

Install it with ``pip install examples/third_party_suite``; then ``dpcp-audit list --suites`` shows
the suite ``geometric``, and ``dpcp-audit run --suite geometric`` tests it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import LocalDP, Verdict
from dpcp_audit.extensions.audits import LocalPrivacy, exact_outcome
from dpcp_audit.extensions.claims import Computation, Computed, Row, Suite, claims_of
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray

_claim = claims_of("Geometric response")


@dataclass(frozen=True, slots=True)
class GeometricResponse:
    """Adds two-sided geometric noise to a value in {0, ..., k−1}, and clamps to that range.

    Noise of ratio e^(−ε/Δ) for values at most Δ apart is ε-LDP; clamping is post-processing
    (Ghosh, Roughgarden and Sundararajan 2012).

    Parameters
    ----------
    epsilon : float
        Privacy parameter ε > 0 of local DP.
    k : int
        Number of values.
    sensitivity : int
        Δ; k−1 is what local DP asks for.
    """

    epsilon: float
    k: int
    sensitivity: int

    @property
    def ratio(self) -> float:
        """The ratio of the probabilities of neighbouring noise values."""
        return math.exp(-self.epsilon / self.sensitivity)

    def laws(self) -> tuple[FiniteLaw, ...]:
        """Return the exact law of the report on each value."""
        return tuple(FiniteLaw.from_mass(self._mass(value)) for value in range(self.k))

    def sample(self, values: IntArray, /, *, rng: np.random.Generator) -> IntArray:
        """Randomise each value on its own."""
        first, second = (rng.geometric(1 - self.ratio, size=values.shape) for _ in range(2))
        reports: IntArray = np.clip(values + first - second, 0, self.k - 1)
        return reports

    def _mass(self, value: int) -> FloatArray:
        distance = np.abs(np.arange(self.k) - value)
        mass = (1 - self.ratio) / (1 + self.ratio) * self.ratio**distance
        ends = [0, self.k - 1]
        mass[ends] = self.ratio ** distance[ends] / (1 + self.ratio)
        return mass


def _exact_loss(mechanism: GeometricResponse) -> Computation:
    laws = mechanism.laws()
    pairs = [FinitePair(law, other) for i, law in enumerate(laws) for other in laws[i + 1 :]]
    return exact_outcome(
        LocalDP(mechanism.epsilon),
        pairs,
        argument="All pairs of values were computed, and their laws are tables of all reports.",
        parameters={"k": mechanism.k},
        witness={"epsilon": mechanism.epsilon, "k": mechanism.k},
    )


def rows() -> list[Row]:
    """Return the claims, of the mechanism and of one with a planted bug."""
    correct = GeometricResponse(epsilon=1.0, k=5, sensitivity=4)
    broken = GeometricResponse(epsilon=1.0, k=5, sensitivity=1)
    promise = "geometric noise of ratio e^(−ε/(k−1)) is ε-LDP (here k = 5, ε = 1)"
    return [
        Row(
            claim=_claim("geometric.exact", "README", Verdict.CONSISTENT, f"Computed: {promise}."),
            check=Computed(partial(_exact_loss, correct)),
        ),
        Row(
            claim=_claim("geometric.sampled", "README", Verdict.CONSISTENT, f"Sampled: {promise}."),
            check=LocalPrivacy(
                randomizer=correct.sample, guarantee=LocalDP(1.0), n_inputs=5, n_outputs=5
            ),
        ),
        Row(
            claim=_claim(
                "geometric.sensitivity-1",
                "a planted bug",
                Verdict.REFUTED,
                "Geometric noise for values one apart is ε-LDP over {0, ..., 4} (ε = 1).",
            ),
            check=Computed(partial(_exact_loss, broken)),
        ),
    ]


SUITE = Suite(summary="Geometric response is ε-LDP: an example of a third-party suite.", rows=rows)
