"""A privacy claim against what the noises of one traced path cost by composition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.audits.composition import compose
from dpcp_audit.audits.exact import Measurement, measure
from dpcp_audit.decisions import decide, refutes
from dpcp_audit.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP
from dpcp_audit.mechanisms.laws import LawPair
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Evidence, Outcome, Power

if TYPE_CHECKING:
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
    witness: PlainData,
    tables: tuple[Table, ...],
) -> Outcome | None:
    """Return the outcome of the costliest path; None where nothing is said.

    It is said that the claim is refuted; or, where every draw of every path is counted, that it is
    not.
    """
    noise = max(paths, key=lambda each: _badness(guarantee, each))
    cost = composed_cost(guarantee, noise)
    if cost is None:
        return None
    evidence = Evidence.exact(
        cost.quantity, cost.value, claimed=cost.claimed, error=_NUMERICAL, at=cost.at
    )
    refuted = refutes(evidence)
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


_NUMERICAL = 1e-9
_PAYS_NOT = (
    "Every noisy number that the code acts on counts as released. On one path the noise that it "
    "draws does not pay for the claim, by any theorem of composition."
)
_PAYS = "Every noisy number that the code acts on counts as released; on no path do they cost more."


def _badness(guarantee: PrivacyGuarantee, noise: ComposedNoise) -> tuple[float, float]:
    """Return how bad a path looks: quickly, without composing losses."""
    pair = ComposedPair(noise)
    orders = {ApproxDP: 2.0, RenyiDP: getattr(guarantee, "alpha", 1.0)}
    divergence = pair.renyi(orders.get(type(guarantee), 1.0))
    return (noise.epsilon if isinstance(guarantee, PureDP) else 0.0), divergence
