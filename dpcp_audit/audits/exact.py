"""Exact privacy audits: a guarantee against pairs of exact laws, by numbers or in balls.

The shifts of ``GaussianPair`` and ``LaplacePair`` are exact doubles. The masses of a ``FinitePair``
are a table of rounded numbers: each is a ball of a few units in its last place, so that a claim
which only that rounding decides stays open.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial, singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb, ctx, fmpq
from scipy.special import expit

from dpcp_audit.laws.laws import FinitePair, GaussianPair, LaplacePair
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.enclosures import (
    all_at_most,
    ball,
    ends_of_largest,
    exact,
    gaussian_delta,
    laplace_delta,
    laplace_renyi,
    upper,
)
from dpcp_audit.words.evidence import Computation
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Figure, FigureKind, Proof, ProofMethod, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.laws.laws import FiniteLaw, LawPair
    from dpcp_audit.laws.losses import Divergences, Measurement
    from dpcp_audit.stats.enclosures import Exact, Side
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData, Premise
    from dpcp_audit.words.validate import FloatArray


TABLE_ROUNDING = 2.0**-50
"""Relative error that a tabulated double may carry: eight units of rounding."""
_TABLE_BITS = 128
_MOST_OUTCOMES = 2**14
_MOST_STEPS = 400
_BEYOND = fmpq(2**40 + 1, 2**40)
"""So far beyond c that D_∞/c is less than the claim by more than rounding."""


def enclosed(pair: LawPair, guarantee: PrivacyGuarantee) -> Side | None:
    """Return the quantity that the guarantee bounds, for (P, Q); None where it is not enclosed."""
    loss = loss_of(guarantee)
    laws = _enclosed(pair, loss.claimed)
    if laws is None or not loss.by_laws:
        return None
    with ctx.workprec(_TABLE_BITS):
        return loss.decisive(laws)


@singledispatch
def _enclosed(pair: LawPair, claimed: float) -> Divergences[Side | None] | None:  # noqa: ARG001
    """Return the divergences of a pair in balls; ρ is sought up to ``claimed`` alone."""
    return None


@_enclosed.register(GaussianPair)
def _(pair: GaussianPair, claimed: float) -> Divergences[Side | None]:  # noqa: ARG001
    return _EnclosedGaussian(pair.shift)


@_enclosed.register(LaplacePair)
def _(pair: LaplacePair, claimed: float) -> Divergences[Side | None]:
    return _EnclosedLaplace(pair.shifts, claimed)


@_enclosed.register(FinitePair)
def _(pair: FinitePair, claimed: float) -> Divergences[Side | None] | None:
    return _Table(pair, claimed) if pair.law.log_mass.size <= _MOST_OUTCOMES else None


class _EnclosedGaussian(NamedTuple):
    shift: float

    def delta_at(self, epsilon: float) -> Side:
        return partial(gaussian_delta, self.shift, epsilon)

    def max_divergence(self) -> Side:
        return math.inf

    def renyi(self, alpha: float) -> fmpq:
        return exact(alpha) * self.rho()

    def rho(self) -> fmpq:
        return exact(self.shift) ** 2 / 2


class _EnclosedLaplace(NamedTuple):
    shifts: Sequence[float]
    claimed: float

    def delta_at(self, epsilon: float) -> Side:
        return partial(laplace_delta, self.shifts, epsilon)

    def max_divergence(self) -> fmpq:
        return sum((exact(shift) for shift in self.shifts), fmpq(0))

    def renyi(self, alpha: float) -> Side:
        return partial(laplace_renyi, self.shifts, exact(alpha))

    def rho(self) -> arb:
        divergence = partial(laplace_renyi, self.shifts)
        return rho_bound(divergence, ball(self.max_divergence()), self.claimed)


class _Table:
    """The log-masses of the outcomes that P can produce, in balls; None where Q cannot.

    Mass that was pruned bounds δ alone.
    """

    def __init__(self, pair: FinitePair, claimed: float) -> None:
        self._slack, self._claimed = pair.slack, claimed
        first, second = pair.law.log_mass, pair.neighbour_law.log_mass
        live = ~np.isneginf(first)
        self._cells = [
            (_rounded(p), None if q == -math.inf else _rounded(q))
            for p, q in zip(first[live].tolist(), second[live].tolist(), strict=True)
        ]

    def delta_at(self, epsilon: float) -> arb:
        """Return Σ max(0, p − e^ε·q), up to the pruned mass."""
        factor, total = ball(epsilon).exp(), arb(0)
        for p, q in self._cells:
            gap = p.exp() if q is None else p.exp() - factor * q.exp()
            total += gap.max(arb(0))
        return total + arb(0.5, 0.5) * ball(self._slack)

    def max_divergence(self) -> arb | None:
        """Return the largest log(p/q)."""
        return None if self._slack else self._largest()

    def renyi(self, alpha: float) -> arb | None:
        """Return D_α."""
        return None if self._slack else self._divergence(exact(alpha))

    def rho(self) -> arb | None:
        """Return an upper bound of the largest D_α/α, over α > 1."""
        if self._slack:
            return None
        return rho_bound(self._divergence, self._largest(), self._claimed)

    def _largest(self) -> arb:
        largest = arb(-math.inf)
        for p, q in self._cells:
            largest = largest.max(arb(math.inf) if q is None else p - q)
        return largest

    def _divergence(self, order: fmpq) -> arb:
        """Return log(Σ p^α·q^(1−α))/(α − 1)."""
        if any(q is None for _, q in self._cells):
            return arb(math.inf)
        alpha = ball(order)
        total = sum(
            ((alpha * p + (1 - alpha) * q).exp() for p, q in self._cells if q is not None), arb(0)
        )
        return total.log() / (alpha - 1)


def laws_add_up(pairs: Sequence[LawPair]) -> tuple[Premise, ...]:
    """Return the premise that each table is of a law, up to the rounding of its log-masses.

    No premise where no pair is a table.
    """
    tables = [pair for pair in pairs if isinstance(pair, FinitePair)]
    laws = [law for pair in tables for law in (pair.law, pair.neighbour_law)]
    if not laws:
        return ()
    says = "|total mass − 1| − (rounding + pruned mass) ≤ 0, of each law"
    return (all_at_most(says, [_missing(law) for law in laws], 0),)


def _missing(law: FiniteLaw) -> arb:
    """Return by how much more than rounding and pruned mass the total mass is off 1."""
    with ctx.workprec(_TABLE_BITS):
        total = room = arb(0)
        for log_mass in law.log_mass[~np.isneginf(law.log_mass)].tolist():
            mass = ball(log_mass).exp()
            total += mass
            room += mass * ball(1 + abs(log_mass))
        return abs(total - 1) - TABLE_ROUNDING * room - ball(law.slack)


def _rounded(log_mass: float) -> arb:
    return arb(log_mass, TABLE_ROUNDING * (1 + abs(log_mass)))


def rho_bound(divergence: Callable[[fmpq], arb], largest: arb, claimed: Exact) -> arb:
    """Return an upper bound of sup D_α/α over α > 1, at most ``claimed`` where that is found.

    D_α grows with α and is at most D_∞: on [a, b] the ratio is at most D_b/a, beyond c at most
    D_∞/c. Steps from 1 on are halved until D_b/a is at most ``claimed``; where 400 do not reach
    c = D_∞/``claimed``, the bound is infinite.
    """
    limit, top = exact(claimed), upper(largest)
    if not math.isfinite(top) or limit <= 0:
        return arb(math.inf)
    end = max(_BEYOND * exact(top) / limit, fmpq(1))
    low, step, worst = fmpq(1), fmpq(1), arb(0)
    for _ in range(_MOST_STEPS):
        if low >= end:
            return worst.max(largest / ball(end))
        ratio = divergence(low + step) / ball(low)
        if ratio <= ball(limit):
            worst, low, step = worst.max(ratio), low + step, 2 * step
        else:
            step /= 2
    return arb(math.inf)


_LARGEST_EPSILON = 30.0
"""Beyond it the lines of a trade-off curve differ by less than 1e-12."""


def worst_measurement(
    guarantee: PrivacyGuarantee, pairs: Sequence[LawPair]
) -> tuple[Measurement, LawPair]:
    """Return the largest measurement over the pairs, in both directions, and its pair."""
    loss = loss_of(guarantee)
    directed = [way for pair in pairs for way in (pair, pair.reversed())]
    if not directed:
        raise ValueError("pairs must hold at least one pair of laws, got none")
    return max(((loss.measured(pair), pair) for pair in directed), key=lambda m: m[0].value)


def exact_outcome(
    guarantee: PrivacyGuarantee,
    pairs: Sequence[LawPair],
    *,
    argument: str = "",
    parameters: PlainData | None = None,
    premises: tuple[Premise, ...] = (),
    witness: PlainData | None = None,
    note: str = "",
) -> Computation:
    """Test a guarantee against exact law pairs, in both directions of each.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claim.
    pairs : sequence of LawPair
        The laws on the neighbours to try.
    argument : str
        Why these pairs dominate all neighbours; empty where they do not, and nothing is proved.
    parameters : dict
        The parameters that the proof is for, beside the guarantee's own.
    premises : tuple of Premise
        The premises of the argument, beside the comparison with the claim.
    witness : dict
        The neighbours of the worst pair, as plain data.
    """
    measured, pair = worst_measurement(guarantee, pairs)
    found = replace(
        _found(guarantee, measured, pairs),
        witness=(witness or {}) | {"guarantee": str(guarantee)},
        note=" ".join(filter(None, [note, _spent(measured, pair)])),
        figures=law_figures(guarantee, pair),
    )
    return _enclosed_outcome(
        found, guarantee, pairs, argument=argument, parameters=parameters, premises=premises
    )


def _found(
    guarantee: PrivacyGuarantee, measured: Measurement, pairs: Sequence[LawPair]
) -> Computation:
    pruned = any(other.slack for other in pairs)
    return Computation(
        quantity=measured.quantity,
        at=measured.at,
        value=measured.value,
        claimed=measured.claimed,
        slack=_slack(guarantee, pairs, measured) if pruned else 0.0,
    )


def _enclosed_outcome(
    found: Computation,
    guarantee: PrivacyGuarantee,
    pairs: Sequence[LawPair],
    *,
    argument: str,
    parameters: PlainData | None = None,
    premises: tuple[Premise, ...] = (),
) -> Computation:
    """Return the computation between enclosed ends, with its proof where there is an argument.

    Tables of masses are enclosed where something may be proved by it.
    """
    enclosable = argument or all(not isinstance(other, FinitePair) for other in pairs)
    sides = _sides(guarantee, pairs) if enclosable else None
    if sides is None:
        return found
    between = _between(found, sides)
    if not argument:
        return between
    compared = all_at_most(
        f"the largest {found.quantity.described(found.at)} is at most the claimed",
        sides,
        found.claimed,
    )
    return replace(
        between,
        proof=Proof(
            method=_method(pairs),
            argument=argument,
            premises=(*premises, *laws_add_up(pairs), compared),
            parameters=guarantee.parameters | (parameters or {}),
        ),
    )


def _sides(guarantee: PrivacyGuarantee, pairs: Sequence[LawPair]) -> list[Side] | None:
    """Return the bounded quantity in each direction; None where a pair is not enclosed."""
    backward = [way for pair in pairs if (way := pair.reversed()) is not pair]
    sides = [enclosed(way, guarantee) for way in (*pairs, *backward)]
    return None if any(side is None for side in sides) else [s for s in sides if s is not None]


def _between(found: Computation, sides: Sequence[Side]) -> Computation:
    """Return the computation between the ends of its enclosure.

    A claim is refuted beyond the rounding that the laws' own parameters carry. A side that only
    bounds the quantity has no lower end of its own: the number in doubles has.
    """
    low, high = ends_of_largest(sides)
    if not math.isfinite(high):
        return found
    lower = max(found.evidence.lower, low * (1 - TABLE_ROUNDING))
    return replace(found, lower=min(lower, found.value, high), upper=high)


def _method(pairs: Sequence[LawPair]) -> ProofMethod:
    tables = any(isinstance(pair, FinitePair) for pair in pairs)
    return ProofMethod.ENUMERATION if tables else ProofMethod.CLOSED_FORM


def _slack(guarantee: PrivacyGuarantee, pairs: Sequence[LawPair], found: Measurement) -> float:
    """Return the largest excess of the largest δ over all pairs beyond the one found.

    Pruned mass bounds δ, not a log-ratio or a Rényi divergence: those may then be anything.
    """
    if found.quantity is not Quantity.DELTA:
        return 0.0
    largest = max(worst_measurement(guarantee, [pair])[0].value + pair.slack for pair in pairs)
    return largest - found.value


def _spent(measured: Measurement, pair: LawPair) -> str:
    if not measured.claimed:
        return f"The worst pair tried reaches {measured.value:.4g} where 0 is claimed."
    share = measured.value / measured.claimed
    text = f"The worst pair tried spends {share:.4g} times what is claimed"
    if measured.quantity is Quantity.EPSILON and share > 1:
        text += f"; at the claimed ε its δ is {pair.delta_at(measured.claimed):.3g}, not 0"
    return text + "."


def law_figures(guarantee: PrivacyGuarantee, pair: LawPair) -> tuple[Figure, Figure]:
    """Return the privacy profile and the trade-off curve of a pair, against the claim."""
    return profile_figure(guarantee, pair), tradeoff_figure(guarantee, pair)


def tradeoff_figure(guarantee: PrivacyGuarantee, pair: LawPair) -> Figure:
    """Return the largest power of an attack on the pair at each false positive rate.

    It is the envelope of the lines that δ(ε), in both directions, gives at 200 values of ε:
    at most the distance of neighbouring lines too large.
    """
    rates = np.concatenate([[0.0], np.geomspace(1e-3, 0.1, 10), np.linspace(0.125, 1.0, 36)])
    largest = max(pair.max_divergence(), pair.reversed().max_divergence())
    epsilons = np.linspace(0.0, min(max(largest, 0.0), _LARGEST_EPSILON), 200)
    deltas = np.array(_worse_deltas(pair, epsilons))
    first = deltas[:, None] + np.exp(epsilons)[:, None] * rates
    second = 1 - np.exp(-epsilons)[:, None] * (1 - deltas[:, None] - rates)
    exact = np.minimum(np.minimum(first, second).min(axis=0), 1.0)
    return Figure(
        kind=FigureKind.LINES,
        title="Trade-off curve: claimed and exact",
        x_label="false positive rate of an attack",
        y_label="largest true positive rate",
        series=[
            Series(
                name=f"largest that {guarantee} allows",
                x=rates.tolist(),
                y=guarantee.power(rates).tolist(),
            ),
            Series(name="exact, on the witness", x=rates.tolist(), y=exact.tolist()),
        ],
        description=(
            "The true-positive rate of the best attack on the witness pair at each false-positive "
            "rate, computed exactly, and the largest rate that the claimed guarantee allows. The "
            "claim is broken wherever the exact curve lies above."
        ),
    )


def _worse_deltas(pair: LawPair, epsilons: FloatArray) -> list[float]:
    """Return δ of the worse direction at every ε."""
    forward, backward = pair.profile(), pair.reversed().profile()
    return [max(forward(epsilon), backward(epsilon)) for epsilon in epsilons.tolist()]


def profile_figure(guarantee: PrivacyGuarantee, pair: LawPair) -> Figure:
    """Return the privacy profile of the pair, both directions, against the largest allowed."""
    epsilons = np.linspace(0.0, _profile_range(guarantee, pair), 41)
    exact = _worse_deltas(pair, epsilons)
    allowed = _allowed(guarantee, epsilons)
    return Figure(
        kind=FigureKind.LINES,
        title="Privacy profile: claimed and exact",
        x_label="ε",
        y_label="δ(ε)",
        series=[
            Series(name=f"largest that {guarantee} allows", x=epsilons.tolist(), y=allowed),
            Series(name="exact, on the witness", x=epsilons.tolist(), y=exact),
        ],
        description=(
            "δ(ε) of the mechanism on the witness pair, computed exactly, and the largest δ(ε) "
            "that the claimed guarantee allows. The claim is broken wherever the exact curve "
            "lies above."
        ),
    )


def _allowed(guarantee: PrivacyGuarantee, epsilons: FloatArray) -> list[float]:
    """Return the largest δ(ε) allowed at each ε, to the eye.

    Where there is no closed form, over a grid of event probabilities: at most 1e-3 too low.
    """
    if loss_of(guarantee).linear is not None:
        return [guarantee.delta_at(e) for e in epsilons]
    odds: FloatArray = np.concatenate([np.linspace(-40.0, -8.0, 161), np.linspace(-8.0, 8.0, 801)])
    rates = expit(odds)
    power = guarantee.power(rates)
    return [max(0.0, float((power - math.exp(e) * rates).max())) for e in epsilons]


def _profile_range(guarantee: PrivacyGuarantee, pair: LawPair) -> float:
    claimed = guarantee.parameters.get("epsilon", 2.0) or 1.0
    reach = min(pair.max_divergence(), 4 * claimed)
    return float(min(1.05 * max(1.5 * claimed, reach), 20.0))
