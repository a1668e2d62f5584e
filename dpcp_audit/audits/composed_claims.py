"""A privacy claim against what the noises of traced paths cost by composition.

Where all paths cost the same, what they cost is that of the transcript. Where later draws depend on
earlier ones, a rare path may cost more than the claim, which then does not say that it is broken:
an (ε, δ) has room for it. The mean over the paths is what decides: by the chain rule it is
the Kullback-Leibler divergence of the transcripts, which no Rényi divergence of order above 1 is
smaller than.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.composition import compose
from dpcp_audit.audits.estimates.attack_loss import from_below
from dpcp_audit.audits.exact import Measurement, measure
from dpcp_audit.decisions import decide, refutes
from dpcp_audit.evidence import of_loss
from dpcp_audit.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpcp_audit.mechanisms.laws import LawPair
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Evidence, Outcome, Power
from dpcp_audit.stats.bounded_mean import MeanBets

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.outcome_tables import Table
    from dpcp_audit.results import PlainData
    from dpcp_audit.tracing.composed_noise import ComposedNoise


@dataclass(frozen=True, slots=True)
class ComposedPair(LawPair):
    """The product of the noises of a path, against the same, shifted."""

    noise: ComposedNoise

    def reversed(self) -> ComposedPair:
        """Return the pair itself, by symmetry."""
        return self

    def renyi(self, alpha: float) -> float:
        """Return D_α, a sum."""
        return sum(pair.renyi(alpha) for pair in self.noise.pairs)

    def max_divergence(self) -> float:
        """Return the largest loss, a sum."""
        return self.noise.epsilon

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε); of several noises a lower bound."""
        pairs = self.noise.pairs
        if len(pairs) == 1:
            return pairs[0].delta_at(epsilon)
        composed = compose(pairs, [1] * len(pairs)).lower
        return float(composed.get_delta_for_epsilon(epsilon))


def composed_cost(guarantee: PrivacyGuarantee, noise: ComposedNoise) -> Measurement | None:
    """Return what a path's noises cost, in the guarantee's quantity; None where that is unknown."""
    if isinstance(guarantee, GaussianDP):
        mu = noise.gaussian
        return None if noise.laplace else Measurement(Quantity.MU, mu, guarantee.mu, {})
    if not noise.pairs:
        return None
    return measure(guarantee, ComposedPair(noise))


def composed_outcome(
    guarantee: PrivacyGuarantee,
    paths: tuple[ComposedNoise, ...],
    *,
    significance: float,
    witness: PlainData,
    tables: tuple[Table, ...],
) -> Outcome | None:
    """Return the outcome of the costliest path, or of the mean; None where nothing is said.

    It is said that the claim is refuted: by the cost of all paths, or where they differ by their
    mean cost; or, where every draw of every path is counted, that it is not.
    """
    noise = max(paths, key=lambda each: _badness(guarantee, each))
    cost = composed_cost(guarantee, noise)
    if cost is None:
        return None
    evidence = Evidence.exact(
        cost.quantity, cost.value, claimed=cost.claimed, error=_NUMERICAL, at=cost.at
    )
    refuted = refutes(evidence)
    if refuted and len(paths) > 1:
        return mean_outcome(
            guarantee, paths, significance=significance, witness=witness, tables=tables
        )
    if not refuted and not all(each.whole for each in paths):
        return None
    power = Power(
        quantity=cost.quantity,
        smallest=cost.claimed * (1 + _NUMERICAL),
        claimed=cost.claimed,
        detection=1.0,
        at=cost.at,
        detail="on this pair, by composition",
    )
    return Outcome(
        verdict=decide(evidence, power=power),
        evidence=evidence,
        power=None if refuted else power,
        witness=witness | {"path": noise.seed},
        note=_PAYS_NOT if refuted else _PAYS,
        tables=tables,
    )


def mean_outcome(
    guarantee: PrivacyGuarantee,
    paths: tuple[ComposedNoise, ...],
    *,
    significance: float,
    witness: PlainData,
    tables: tuple[Table, ...],
) -> Outcome | None:
    """Return that the mean cost of the paths refutes a claim; None where it does not.

    Each direction is tested at half the significance.
    """
    largest = _largest_divergence(guarantee)
    if largest is None:
        return None
    quantity, unit, claimed = largest
    ways = [_mean_limit(paths, way, significance / 2) for way in range(2)]
    mean, lower = max(ways, key=lambda each: each[1])
    if unit(lower) <= claimed * (1 + _NUMERICAL):
        return None
    evidence = of_loss(
        quantity,
        unit(mean),
        unit(lower),
        refuted=True,
        claimed=claimed,
        confidence=1 - significance,
        n_samples=sum(sum(each.paths) for each in paths),
        at={"alpha": guarantee.alpha} if isinstance(guarantee, RenyiDP) else {},
    )
    return Outcome(
        verdict=decide(evidence),
        evidence=evidence,
        witness=witness,
        note=_MEAN,
        tables=tables,
        estimates=(from_below(evidence, why="a mean over paths bounds no other one"),),
    )


def _largest_divergence(
    guarantee: PrivacyGuarantee,
) -> tuple[Quantity, Callable[[float], float], float] | None:
    """Return a guarantee's quantity, as a function of the mean loss that implies it, and its claim.

    None of guarantees that bound no mean loss, or loosely.
    """
    if isinstance(guarantee, ZCDP):
        return Quantity.RHO, float, guarantee.rho
    if isinstance(guarantee, RenyiDP):
        return Quantity.RENYI_DIVERGENCE, float, guarantee.epsilon
    if isinstance(guarantee, GaussianDP):
        return Quantity.MU, lambda mean: math.sqrt(2 * mean), guarantee.mu
    return None


def _mean_limit(
    paths: tuple[ComposedNoise, ...], way: int, significance: float
) -> tuple[float, float]:
    """Return the mean cost of the paths from an input, and a lower limit of it.

    Costs count no further than the largest that the other input's paths have: these are
    independent of them.
    """
    costs = np.array([each.divergence for each in paths])
    counts = np.array([each.paths for each in paths])
    most = float(costs[counts[:, 1 - way] > 0].max(initial=0.0))
    values = np.repeat(costs, counts[:, way])
    if most == 0 or not values.size:
        return 0.0, 0.0
    lower = MeanBets().lower_limit(np.minimum(values / most, 1.0), significance=significance)
    return float(values.mean()), most * lower


_NUMERICAL = 1e-9
_PAYS_NOT = (
    "Every noisy number that the code acts on counts as released. On all paths that were drawn the "
    "noise does not pay for the claim, by any theorem of composition."
)
_MEAN = (
    "Every noisy number that the code acts on counts as released. Paths cost differently; on "
    "average, the noise that they draw does not pay for the claim."
)
_PAYS = (
    "Every noisy number that the code acts on counts as released; on none of the paths that were "
    "drawn do they cost more."
)


def _badness(guarantee: PrivacyGuarantee, noise: ComposedNoise) -> tuple[float, float]:
    """Return how bad a path looks: quickly, without composing losses."""
    pair = ComposedPair(noise)
    orders: dict[type, float] = {ApproxDP: 2.0, RenyiDP: getattr(guarantee, "alpha", 1.0)}
    divergence = pair.renyi(orders.get(type(guarantee), 1.0))
    return (noise.epsilon if isinstance(guarantee, PureDP) else 0.0), divergence
