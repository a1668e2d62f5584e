"""Evidence from the traces of a pair: the losses of paths, the lines that spend, the leaks.

A pure guarantee is refuted by the largest loss of a path; any other by δ(ε), at an ε that half of
the paths choose, on the other half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.certificates import Hits, certify
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.stats.roots import turn
from dpcp_audit.tracing.draws import UnfollowableError
from dpcp_audit.tracing.outputs import as_record
from dpcp_audit.words.evidence import of_loss
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    Evidence,
    Odds,
    Power,
    Table,
    TableColumn,
    TracedLines,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.pair_traces import LossSample, PairTrace
    from dpcp_audit.tracing.path_losses import NoisyNumber
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import SourceLocation


_SIGNIFICANCE = 0.05
_EACH_WAY = _SIGNIFICANCE / 2
"""The error probability of one direction: the larger loss of both is shown."""
_POINTWISE = (
    "Each row shows the larger of both directions; its limits hold at confidence "
    f"{1 - _SIGNIFICANCE:g} for this row, not for all rows at once."
)
_PROFILE_NOTE = f"δ(ε) of the release is at most this, by post-processing. {_POINTWISE}"
_LARGEST = 700.0
"""The largest exponent of e in doubles, about."""
_DELTAS = (0.0, 1e-3, 1e-2)
_NAMES = (*(f"ε at δ = {delta:g}" for delta in _DELTAS), "ρ")
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def leaking_line(trace: PairTrace) -> SourceLocation | None:
    """Return the line that leaks data without noise, or else the one that spends most.

    None where a line loses infinitely much of what the noise reveals alone: a correct mechanism
    draws in such a way, too. None also where the output's loss is infinite and no draw's is, and
    where all that is known is which line returns what differs.
    """
    if trace.leaks:
        return next((leak.location for leak in trace.leaks if leak.blames), None)
    lost = any(math.isinf(line.mean_loss) for line in trace.lines)
    if (lost and not trace.released) or _is_unexplained(trace):
        return None
    spent = [line for line in trace.lines if line.mean_loss > 0]
    joined = sum(line.joined for line in trace.lines) > 1
    if not spent or (spent[0].joined and joined):
        return None
    return spent[0].location


def _is_unexplained(trace: PairTrace) -> bool:
    """Tell whether the output loses infinitely much, and no draw does: its line is no culprit."""
    pair = trace.points if trace.exact is None else trace.exact
    if pair is None or not any(math.isinf(w.max_divergence()) for w in (pair, pair.reversed())):
        return False
    return not any(math.isinf(line.largest_loss) for line in trace.lines)


def telling_output(guarantee: PrivacyGuarantee, pair: FinitePair) -> Odds | None:
    """Return an output that shows the loss, with its probability on either input.

    The one by which most mass is beyond what the claim allows: one that happens. Of a pure claim
    that is one which is impossible on the other input, if there is any. None where the outputs are
    not known.
    """
    if not pair.outcomes:
        return None
    loss = loss_of(guarantee)
    logs = np.array([pair.law.log_mass, pair.neighbour_law.log_mass])
    masses, impossible = np.exp(logs), np.isneginf(logs).any(axis=0)
    times = loss.quantity is Quantity.EPSILON
    allowed = math.exp(min(loss.claimed, _LARGEST)) if times else 1.0
    beyond = (masses - allowed * masses[::-1]).max(axis=0)
    if loss.pure and impossible.any():
        beyond = np.where(impossible, beyond, -np.inf)
    told = int(np.argmax(beyond))
    value, neighbour = (float(row[told]) for row in masses)
    return Odds(output=pair.outcomes[told], value=value, neighbour=neighbour)


_PROMISING = 0.05
_FEWEST_CALLS, _MOST_CALLS = 20, 1000
"""The fewest calls of either input that look for a form of outputs, and the most that count one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormTest:
    """A form of outputs, types, texts and what holds the numbers, that may tell the inputs apart.

    Parameters
    ----------
    form : tuple
        The form, without the values of numbers.
    swapped : bool
        True if it is the likelier one on the neighbour.
    count : callable
        Returns how often either input has each form, in so many new calls.
    calls : int
        Calls of either input that count it.
    """

    form: tuple[Atom, ...]
    swapped: bool
    count: Callable[[int], list[Counter[tuple[Atom, ...]]]]
    calls: int

    @classmethod
    def of(
        cls,
        guarantee: PrivacyGuarantee,
        count: Callable[[int], list[Counter[tuple[Atom, ...]]]],
        draws: int,
    ) -> FormTest | None:
        """Return the form that seems too much likelier on one input; None if none does."""
        pilot = max(_FEWEST_CALLS, draws // 4)
        try:
            first, second = count(pilot)
        except UnfollowableError:
            return None
        form = max(sorted({*first, *second}, key=str), key=lambda f: abs(first[f] - second[f]))
        test = cls(
            form=form,
            swapped=second[form] > first[form],
            count=count,
            calls=min(_MOST_CALLS, 5 * draws),
        )
        hits = test.hits(first[form], second[form], pilot)
        return test if certify(guarantee, hits, significance=_PROMISING).refuted else None

    def hits(self, value: int, neighbour: int, trials: int) -> Hits:
        """Return counts, of the input first on which the form seemed the likelier one."""
        return Hits(neighbour, value, trials) if self.swapped else Hits(value, neighbour, trials)

    def evidence(self, guarantee: PrivacyGuarantee, significance: float) -> Evidence | None:
        """Return the evidence of new calls; None if one of them raises an error."""
        try:
            value, neighbour = (counted[self.form] for counted in self.count(self.calls))
        except UnfollowableError:
            return None
        found = certify(
            guarantee, self.hits(value, neighbour, self.calls), significance=significance
        ).evidence
        odds = Odds(
            output=as_record(self.form),
            value=value / self.calls,
            neighbour=neighbour / self.calls,
            trials=self.calls,
        )
        return replace(found, odds=odds)


_FARTHEST = 8.0
"""Noise scales from a centre within which an event's limit is looked for."""
_STEPS_A_SCALE = 4
_RAREST, _DECIMALS = 1e-6, 9
"""The least probability of an event that is named; decimals in which events are compared."""


def telling_event(guarantee: PrivacyGuarantee, trace: PairTrace) -> Odds | None:
    """Return outputs beyond a limit whose probabilities show the loss; None where none do.

    The probabilities are those of the law of the noise. A limit at the centre of the noise is
    taken where the outputs beyond it are likelier than the claim allows, else one near to it.
    """
    loss = loss_of(guarantee)
    linear = loss.linear
    times = 1.0 if linear is None else math.exp(min(linear.epsilon, _LARGEST))
    delta = 0.0 if linear is None else linear.delta

    def excess(found: Odds) -> tuple[float, float]:
        rarer, likelier = sorted((found.value, found.neighbour))
        beyond = likelier - times * rarer - delta if likelier >= _RAREST else -math.inf
        return round(beyond, _DECIMALS), -rarer

    steps = np.linspace(0, _FARTHEST, round(_FARTHEST * _STEPS_A_SCALE) + 1).tolist()
    for away in ([0.0], steps):
        events = [
            _beyond(number, way, step, above=above)
            for number in trace.noisy
            for way in range(2)
            for step in away
            for above in (True, False)
        ]
        best = max(events, key=excess, default=None)
        if best is not None and excess(best)[0] > 0:
            return best
    return None


def _beyond(number: NoisyNumber, way: int, steps: float, *, above: bool) -> Odds:
    """Return the outputs some noise scales beyond the centre of an input, to a short limit."""
    centre, scale = number.centres[way], number.scales[way]
    unit = 10.0 ** (math.floor(math.log10(scale)) - 1)
    limit = centre + steps * scale * (1 if above else -1)
    if limit != float(f"{limit:.4g}"):
        limit = float(f"{(math.ceil if above else math.floor)(limit / unit) * unit:.12g}")
    value, neighbour = number.chances(limit, above=above)
    event: Any = [[limit, "inf"] if above else ["-inf", limit]]
    if number.place is not None:
        event = {"feature": {"kind": "coordinate", "index": number.place}, "intervals": event}
    return Odds(output=None, value=value, neighbour=neighbour, event=event)


def hides_infinity(trace: PairTrace) -> bool:
    """Tell whether a line loses infinitely much by what it reveals, if the release shows that.

    A draw between data points does, whose choice among them is noisy.
    """
    lost = any(math.isinf(line.mean_loss) for line in trace.lines)
    return lost and not trace.released and trace.exact is None


def lines_of(trace: PairTrace) -> TracedLines:
    """Return the lines; none that draws where every path of a whole law leaves the noise behind."""
    past_noise = trace.exact is not None and bool(trace.forward.departed.all())
    return TracedLines(
        draws=() if past_noise else trace.lines, leaks=trace.leaks, unfollowed=trace.unfollowed
    )


def trace_tables(trace: PairTrace) -> tuple[Table, ...]:
    """Return the tables of what a trace reveals: its privacy profile, where it is known."""
    if trace.exact is not None:
        return (_exact_profile(trace.exact), _exact_parameters(trace.exact))
    return (_profile(trace),) if trace.forward.size and trace.followed else ()


def _numbers(name: str, values: Sequence[float]) -> TableColumn:
    texts = ["" if math.isnan(value) else f"{value:.4g}" for value in values]
    return TableColumn(name=name, texts=texts, values=list(values))


def _profile(trace: PairTrace) -> Table:
    """Return δ(ε) of the transcript, the larger of both directions, with limits."""
    each_way = [
        [sample.delta(epsilon, significance=_EACH_WAY) for sample in trace.samples]
        for epsilon in _EPSILONS
    ]
    return Table(
        title="Loss law of what the noise reveals: δ(ε)",
        columns=[
            TableColumn(name="ε", texts=[f"{e:g}" for e in _EPSILONS], values=list(_EPSILONS)),
            _numbers("δ(ε)", [max(found.value for found in pair) for pair in each_way]),
            _numbers("lower limit", [max(found.lower for found in pair) for pair in each_way]),
            _numbers("upper limit", [max(found.upper for found in pair) for pair in each_way]),
        ],
        notes=[_PROFILE_NOTE],
    )


def _exact_profile(pair: FinitePair) -> Table:
    deltas = [max(way.delta_at(e) for way in (pair, pair.reversed())) for e in _EPSILONS]
    return Table(
        title="Privacy profile of the output: δ(ε), exact",
        columns=[
            TableColumn(name="ε", texts=[f"{e:g}" for e in _EPSILONS], values=list(_EPSILONS)),
            _numbers("δ(ε)", deltas),
        ],
    )


def _exact_parameters(pair: FinitePair) -> Table:
    ways = pair, pair.reversed()
    found = [max(each.epsilon_at(delta) for each in ways) for delta in _DELTAS]
    rho = max(each.rho() for each in ways)
    return Table(
        title="Privacy parameters of the output, exact",
        columns=[
            TableColumn(name="parameter", texts=list(_NAMES)),
            _numbers("loss", [*found, rho]),
        ],
    )


_POINTS = 4
_NUMERICAL = 1e-9
_LARGEST_FACTOR = 64.0
_STEPS = 7
_MISSED = 0.05
_STANDARD_ERRORS = 2.0
"""By how many an estimate may exceed a claim that the paths still support."""
_GROUPS = 16
"""Parts of the paths that are left out in turn (the jackknife)."""


def path_evidence(
    guarantee: PrivacyGuarantee, trace: PairTrace, *, significance: float
) -> tuple[Evidence, Power | None]:
    """Return what the drawn paths say of a guarantee, and what they would have refuted.

    A true guarantee is refuted with probability at most ``significance``. The power is None where
    the paths contradict what it assumes of their losses.
    """
    loss = loss_of(guarantee)
    if loss.pure:
        return _largest_loss(loss.claimed, trace, significance)
    return _profile_evidence(guarantee, trace, significance)


def _largest_loss(claimed: float, trace: PairTrace, significance: float) -> tuple[Evidence, Power]:
    """Return the largest loss of a path: ε is at least that, since such paths are drawn."""
    largest = max(0.0, *(sample.largest for sample in trace.samples))
    paths = trace.forward.size + trace.backward.size
    evidence = of_loss(
        Quantity.EPSILON,
        max(sample.epsilon(0.0) for sample in trace.samples) if math.isinf(largest) else largest,
        largest,
        refuted=largest > claimed,
        claimed=claimed,
        confidence=1 - significance,
        n_samples=paths,
    )
    share = -math.log(_MISSED) / trace.forward.size
    power = Power(
        quantity=Quantity.EPSILON,
        smallest=claimed * (1 + _NUMERICAL) + _NUMERICAL,
        claimed=claimed,
        detail=f"if one path in {max(1, math.floor(1 / share))} reaches it",
    )
    return evidence, power


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """The ε at which a profile is tested, in one direction."""

    sample: LossSample
    epsilon: float
    allowed: float
    excess: float


def _profile_evidence(
    guarantee: PrivacyGuarantee, trace: PairTrace, significance: float
) -> tuple[Evidence, Power | None]:
    """Test δ(ε) at the ε that half of the paths choose, on the other half.

    The power is that against losses of the largest δ(ε) that the claim allows. Those of a bisection
    add up from small ones, and show less at any one ε: 68 paths of one at four times its ρ are
    refuted in 18 of 200 runs, in place of 190.
    """
    point = max(
        (_chosen(guarantee, sample) for sample in trace.samples), key=lambda each: each.excess
    )
    fresh = point.sample.part(slice(point.sample.size // 2, None))
    found = fresh.delta(point.epsilon, significance=2 * significance)
    loss = loss_of(guarantee)
    claimed = loss.claimed
    refuted = found.lower > point.allowed
    at_least = partial(_parameter, loss, point.epsilon)
    evidence = of_loss(
        loss.quantity,
        _estimate(loss, trace.samples),
        at_least(found.lower),
        refuted=refuted,
        claimed=claimed,
        confidence=1 - significance,
        n_samples=trace.forward.size + trace.backward.size,
        at=loss.at,
    )
    if _exceeds(loss, trace, evidence.value):
        return evidence, None
    seen = _detectable(fresh, point, significance)
    power = Power(
        quantity=loss.quantity,
        smallest=at_least(seen) if seen < 1 else math.inf,
        claimed=claimed,
        at=loss.at,
        detail="assuming the largest δ(ε) that the claim allows",
    )
    return evidence, power


def _chosen(guarantee: PrivacyGuarantee, sample: LossSample) -> _Point:
    """Return the ε at which δ(ε) lies farthest beyond what is allowed, in standard errors."""
    first = sample.part(slice(0, max(1, sample.size // 2)))
    finite = first.losses[np.isfinite(first.losses) & (first.losses > 0)]
    quantiles = np.quantile(finite, np.linspace(0, 0.95, _POINTS)) if finite.size else np.zeros(1)
    linear = loss_of(guarantee).linear
    claimed = 0.0 if linear is None else linear.epsilon
    points: list[_Point] = []
    for epsilon in np.unique(np.concatenate([[claimed], quantiles])).tolist():
        values = first.exceedances(epsilon, upper=False)
        allowed = guarantee.delta_at(epsilon)
        error = math.sqrt(max(float(np.var(values)), allowed / first.size) / first.size)
        excess = (float(np.mean(values)) - allowed) / max(error, 1e-12)
        points.append(_Point(sample=sample, epsilon=epsilon, allowed=allowed, excess=excess))
    return max(points, key=lambda each: each.excess)


def _estimate(loss: Loss, samples: Sequence[LossSample]) -> float:
    """Return an estimate of the claim's quantity, not certified."""
    if loss.linear is not None:
        delta = loss.linear.delta
        return max(sample.epsilon(delta) for sample in samples)
    order = loss.at.get("alpha")
    if order is not None:
        return max(sample.renyi(order) for sample in samples)
    return loss.of_divergence(max(sample.rho() for sample in samples), 1.0)


def _exceeds(loss: Loss, trace: PairTrace, estimate: float) -> bool:
    """Return True if an estimate lies two standard errors or more beyond the claim.

    This is no finding, but such paths do not support the claim either: the power assumes smaller
    losses. An infinite loss is within (ε, δ)-DP where it is rare.
    """
    if math.isinf(estimate):
        return loss.linear is None
    return estimate - _STANDARD_ERRORS * _standard_error(loss, trace) > loss.claimed


def _standard_error(loss: Loss, trace: PairTrace) -> float:
    """Return the standard error of the estimate, from those without a part of the paths each."""
    groups = min(_GROUPS, trace.forward.size, trace.backward.size)
    if groups < 2:
        return math.inf
    without = [
        _estimate(loss, [each.part(np.arange(each.size) % groups != g) for each in trace.samples])
        for g in range(groups)
    ]
    return math.sqrt((groups - 1) * float(np.var(without)))


def _parameter(loss: Loss, epsilon: float, delta: float) -> float:
    """Return the least parameter of such a guarantee that allows a δ at ε, to a few percent."""
    if delta <= 0:
        return 0.0
    base = max(loss.claimed, 1e-3)

    def allows(factor: float) -> bool:
        return loss.allowing(base * factor).delta_at(epsilon) >= delta

    low = 1 / _LARGEST_FACTOR
    if allows(low):
        return 0.0
    if not allows(_LARGEST_FACTOR):
        return base * _LARGEST_FACTOR
    steps = turn(
        lambda x: allows(math.exp(x)), math.log(low), math.log(_LARGEST_FACTOR), steps=_STEPS
    )
    return base * math.exp(steps.fails)


def _detectable(sample: LossSample, point: _Point, significance: float) -> float:
    """Return the δ that so many paths refute with probability 0.95, for a law of this shape."""
    values = 1 - sample.exceedances(point.epsilon, upper=False)
    allowed = min(max(point.allowed, 1e-9), 1 - 1e-9)
    shortfall = MeanBets().smallest_violation(
        values, at_least=1 - allowed, n_values=sample.size, significance=significance
    )
    return allowed + shortfall
