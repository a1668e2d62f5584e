"""A privacy claim against the traces of a pair: what the noise pays for, path by path and in sum.

In the scope ``transcript`` the claim is tested against all that the noisy values reveal, as a proof
by composition pays for it: each noisy number that is compared with a plain one counts as released.
In the scope ``release`` a refutation needs that what was observed is what the function returns, or
that its whole law was enumerated; by post-processing the release loses at most what is observed.

A claim against what the noises of traced paths cost by composition: where all paths cost the same,
what they cost is that of the transcript. Where later draws depend on earlier ones, a rare path may
cost more than the claim, which then does not say that it is broken: an (ε, δ) has room for it. The
mean over the paths is what decides: by the chain rule it is the Kullback-Leibler divergence of the
transcripts, which no Rényi divergence of order above 1 is smaller than.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.exact import TABLE_ROUNDING
from dpcp_audit.audits.loss_bracket import from_below
from dpcp_audit.audits.path_evidence import (
    FormTest,
    hides_infinity,
    leaking_line,
    lines_of,
    path_evidence,
    telling_event,
    telling_output,
    trace_tables,
)
from dpcp_audit.audits.search.pair_space import pair_as_data
from dpcp_audit.audits.search.representation import AS_WRITTEN, warned
from dpcp_audit.laws.laws import GaussianPair, LaplacePair, LawPair
from dpcp_audit.laws.losses import Measurement, loss_of
from dpcp_audit.mechanisms.subsampled_gaussian import gaussian_step
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.tracing.outputs import form_of, of_python
from dpcp_audit.tracing.pair_traces import PairTrace, trace_target
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import REPRESENTATION, Representation, decide, of_loss, refutes
from dpcp_audit.words.results import Evidence, EvidenceKind, Outcome, Power, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.pair_traces import ComposedNoise
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.tracing.value_losses import ValueLoss
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Neighbours, PrivacyGuarantee
    from dpcp_audit.words.results import LineLoss, PlainData, Table


_INTERVAL = 1e-4
"""The grid of losses, in nats, to which each noise's are rounded down."""


def composed_delta_below(pairs: Sequence[LawPair], epsilon: float) -> float:
    """Return δ(ε) of noises that see the same two inputs, from below, through dp-accounting.

    (The convolutions are fast Fourier transforms in doubles; the mass that dp-accounting cuts off,
    at most 1e-15 a step, is dropped.)

    Parameters
    ----------
    pairs : sequence of GaussianPair or LaplacePair
        The noises, at least one; the first law of every pair belongs to the same input.
    """
    if not pairs:
        raise ValueError("pairs must hold at least one pair, got none")
    first, *rest = map(_loss, pairs)
    for each in rest:
        first = first.compose(each)
    return float(first.get_delta_for_epsilon(epsilon))


def _loss(pair: LawPair) -> Any:
    """Return dp-accounting's distribution of the loss of both directions."""
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )

    if isinstance(pair, GaussianPair):
        return gaussian_step(1 / pair.shift, 1.0, interval=_INTERVAL, pessimistic=False)
    if not isinstance(pair, LaplacePair):
        raise ValueError(  # noqa: TRY004  (as every other bad input)
            f"pairs must hold GaussianPair or LaplacePair, got {pair!r}"
        )
    first, *rest = (
        pld.from_laplace_mechanism(
            1 / shift,
            pessimistic_estimate=False,
            value_discretization_interval=_INTERVAL,
            use_connect_dots=False,
        )
        for shift in pair.shifts
    )
    return first.compose(rest[0]) if rest else first


@dataclass(frozen=True, slots=True)
class _ComposedPair(LawPair):
    """The product of the noises of a path, against the same, shifted."""

    noise: ComposedNoise

    def reversed(self) -> _ComposedPair:
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
        return composed_delta_below(pairs, epsilon)


def composed_cost(guarantee: PrivacyGuarantee, noise: ComposedNoise) -> Measurement | None:
    """Return the cost of a path's noise, in the guarantee's quantity; None where it is unknown."""
    loss = loss_of(guarantee)
    if loss.by_laws:
        return loss.measured(_ComposedPair(noise)) if noise.pairs else None
    if noise.laplace or not loss.gaussian:
        return None
    return Measurement(loss.quantity, noise.gaussian, loss.claimed, loss.at)


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
    """Return the outcome if the mean cost of the paths refutes a claim; None where it does not.

    Each direction is tested at half the significance.
    """
    loss = loss_of(guarantee)
    if not loss.gaussian:  # an (ε, δ) bounds a mean loss loosely, if at all
        return None
    ways = [_mean_limit(paths, way, significance / 2) for way in range(2)]
    mean, lower = max(ways, key=lambda each: each[1])
    if loss.of_divergence(lower, 1.0) <= loss.claimed * (1 + _NUMERICAL):
        return None
    evidence = of_loss(
        loss.quantity,
        loss.of_divergence(mean, 1.0),
        loss.of_divergence(lower, 1.0),
        refuted=True,
        claimed=loss.claimed,
        confidence=1 - significance,
        n_samples=sum(sum(each.paths) for each in paths),
        at=loss.at,
    )
    return Outcome(
        verdict=decide(evidence),
        evidence=evidence,
        witness=witness,
        note=_MEAN,
        tables=tables,
        estimates=(from_below(evidence, why="a mean over paths bounds no other one"),),
    )


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
    "Every noisy number that the code acts on counts as released. On all traced paths the noise is "
    "too small for the claim, by every composition theorem."
)
_MEAN = (
    "Every noisy number that the code acts on counts as released. The paths cost differently; on "
    "average their noise is too small for the claim."
)
_MEAN_OF_RELEASE = (
    "The noisy numbers are returned as they are. On average over the paths their noise is too "
    "small for the claim."
)
_PAYS = "Every noisy number that the code acts on counts as released; no traced path costs more."


def _badness(guarantee: PrivacyGuarantee, noise: ComposedNoise) -> tuple[float, float]:
    """Return a quick measure of how bad a path is, without composing losses."""
    loss = loss_of(guarantee)
    order = loss.at.get("alpha", 2.0 if "delta" in loss.at else 1.0)
    return (noise.epsilon if loss.pure else 0.0), _ComposedPair(noise).renyi(order)


_NORMAL, _LAPLACE = "normal", "laplace"


def spent_by_a_draw(guarantee: PrivacyGuarantee, line: LineLoss) -> float | None:
    """Return the cost of one released draw of a line, at its realised sensitivity.

    In the unit of the claim's ε or ρ, which adds up over the draws; None where that has no such
    number: of other laws, and of a δ or μ.
    """
    shift = line.sensitivity / line.scale if line.scale > 0 else math.nan
    if math.isnan(shift):
        return None
    loss = loss_of(guarantee)
    if line.law == _NORMAL and loss.renyi:
        return loss.of_shift(shift)
    return shift if line.law == _LAPLACE and loss.pure else None


def line_sentence(guarantee: PrivacyGuarantee, line: LineLoss) -> str:
    """Return the sentence on a line's cost; "" where it is not known in the claim's unit.

    Examples
    --------
    >>> from dpcp_audit.words.results import LineLoss, SourceLocation
    >>> from dpcp_audit.words.guarantees import ZCDP
    >>> line = LineLoss(
    ...     location=SourceLocation(file="mine.py", line=17), draws=20.0, moved=2.0, law="normal",
    ...     scale=1.0, sensitivity=1.0, mean_loss=2.9, largest_loss=1.1, share=1.0,
    ... )
    >>> line_sentence(ZCDP(0.5), line)
    'mine.py:17 spends 0.5 in each of 2 of its 20 normal draws, 1 in all; 0.5 is claimed.'
    >>> print(line_sentence(ZCDP(0.5), replace(line, moved=0.25)))
    mine.py:17 spends 0.5 in each of its normal draws that the change moves (on average 0.25 of \
20 in a run), 0.125 in all; 0.5 is claimed.
    """
    each = spent_by_a_draw(guarantee, line)
    if not each:
        return ""
    place = f"{line.location.file}:{line.location.line}"
    total = each * line.moved
    claimed = loss_of(guarantee).claimed
    some = "" if line.moved == line.draws else f"{line.moved:.4g} of its "
    where = f"each of {some}{line.draws:.4g} {line.law} draws"
    if line.draws == 1:
        where = f"its one {line.law} draw"
    elif not float(line.moved).is_integer():
        moved = f"(on average {line.moved:.4g} of {line.draws:.4g} in a run)"
        where = f"each of its {line.law} draws that the change moves {moved}"
    sum_ = "" if line.draws == 1 else f", {total:.4g} in all"
    return f"{place} spends {each:.4g} in {where}{sum_}; {claimed:.4g} is claimed."


_HALF_ULP = 2.0**-54
_OF_ONE = 4 * _HALF_ULP
"""The error of a probability next to 1 that is computed in a few operations."""
_LIKELY = 1e-9
"""A probability that no rounding of one next to 1 explains."""
_LARGEST = 700.0
"""The largest exponent of e in doubles, about."""
_FAR = (
    "The output {output} is {ratio:.4g} times as likely on one input as on the other (by its "
    "probability, or its density): an integral over the noise that is not returned."
)
_TAIL = (
    "An output whose noise lies {away:g} scales from its centre is e^{loss:.4g} times as likely on "
    "one input as on the other, by its density. Farther out it is more: no ε bounds noise that is "
    "Gaussian, or has another scale on the neighbour."
)
_POINT = (
    "Some outputs hold no continuous noise. Their probabilities are known: every path that returns "
    "them was run, however unlikely."
)
_OTHERS = "other outputs may lose more"
_RARER = "rarer paths than those traced may lose more"
_UNSHOWN = "the release may show less than the noise reveals"
_HIDDEN = "The release need not show that, so no line is blamed."
_BOUNDED = (
    "A draw between bounds that depend on the data loses infinitely much, if the bounds are seen. "
    f"{_HIDDEN}"
)
_COMPARED = (
    "Counted as if the values of all draws that are compared were seen, the loss is infinite. "
    f"{_HIDDEN}"
)
_BY_FORM = (
    "The form of the output tells the inputs apart: its types, its texts, or what holds its values."
)
_UNAMPLIFIED = (
    "Coins and choices, such as which rows are drawn, count as revealed: the loss is an upper "
    "bound, without amplification."
)
_EXCEEDING = (
    "The traced paths lose more than is claimed, by two standard errors or more, but they are too "
    "few to refute the claim."
)
_RUN_OF_ALL = (
    "Every path was run, so the distribution of the output is exact, for ideal draws ({count} "
    "outputs)."
)
_MISSED_PATHS = (
    " Paths with a total probability below 1e-12 were left out: those after a fork as unlikely as "
    "rounding, or of a loop that draws until a value is accepted."
)


class Scope(StrEnum):
    """The output that a claim covers."""

    RELEASE = "release"
    """The values that leave the function."""
    TRANSCRIPT = "transcript"
    """All noisy numbers that the code acts on, as if released: what a composition proof bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedPrivacy(Sampled):
    """Trace a target on two neighbours and test a guarantee.

    :Null hypothesis: The guarantee, on one pair, for the scope of the claim: what the function
        returns, or all noisy numbers that it acts on.
    :Statistic: The exact loss where all paths were enumerated. Otherwise, for a pure guarantee, the
        largest loss of a path; for others, the mean excess of the paths' losses, δ(ε), at an ε that
        half of the paths choose, on the other half. Besides, how often an output has a form, such
        as a type, in calls without a trace; a few more of them choose the form.
    :Level: At most the significance, by betting limits (``MeanBets``). No false alarms where the
        law is enumerated, or where a path breaks a pure guarantee. Half of the significance is for
        the mean cost of composed noises, in the scope ``transcript`` and of a release of them.
        Where a form seems to break the claim, half of the significance is for it.
    :Power: For a pure guarantee: any larger loss, if one path in the stated number reaches it. For
        others: the loss that so many paths refute with probability 0.95, assuming the largest δ(ε)
        that the claim allows.
    :Reference: Waudby-Smith and Ramdas (2024), for the limits; the chain rule of divergences, for
        the mean cost.

    Parameters
    ----------
    target : TracedTarget
        The function.
    guarantee : PrivacyGuarantee
        The claim.
    neighbours : Neighbours
        The pair.
    draws : int
        Paths in each direction.
    scope : Scope
        The scope of the claim.
    representation : Representation
        The treatment of a loss that equal numbers alone show, by their last bits or their type: a
        warning, or a refutation. It is known where all paths are enumerated.
    """

    target: TracedTarget
    guarantee: PrivacyGuarantee
    neighbours: Neighbours[Any]
    draws: int = 1000
    scope: Scope = Scope.RELEASE
    representation: Representation = Representation.WARN

    def __post_init__(self) -> None:
        _validate.integer(draws=self.draws, at_least=2)
        _validate.choice(Scope, scope=self.scope)

    def __call__(self, context: Context) -> Outcome:
        """Trace the pair and judge the claim."""
        return self.judge(self.trace(context), context)

    def trace(self, context: Context) -> PairTrace:
        """Return the traces."""
        return trace_target(
            self.target,
            self.neighbours.value,
            self.neighbours.neighbour,
            draws=self.draws,
            rng=context.rng(),
            release=self.scope is Scope.RELEASE,
        )

    def judge(self, trace: PairTrace, context: Context) -> Outcome:
        """Return the outcome of traces, with the line that leaks or spends most."""
        outcome = self._outcome(trace, context)
        if outcome.verdict is Verdict.REFUTED and outcome.evidence.odds is None:
            odds = telling_event(self.guarantee, trace)
            outcome = replace(outcome, evidence=replace(outcome.evidence, odds=odds))
        line = leaking_line(trace) if trace.followed else None
        return replace(outcome, location=line, traced=lines_of(trace))

    def _outcome(self, trace: PairTrace, context: Context) -> Outcome:
        witness = self._witness(context)
        if self.scope is Scope.TRANSCRIPT and not trace.values and trace.exact is None:
            forward, backward = (sample.with_departures() for sample in trace.samples)
            trace = replace(trace, forward=forward, backward=backward)
        test = FormTest.of(self.guarantee, partial(self._forms, context.rng(1)), self.draws)
        significance = context.significance if test is None else context.significance / 2
        found = self._of_noise(trace, significance, witness)
        if test is None or found.verdict is Verdict.REFUTED:
            return found
        evidence = test.evidence(self.guarantee, significance)
        if evidence is None or not refutes(evidence):
            return found
        note = f"{_BY_FORM} {found.note}".strip()
        verdict = decide(evidence)
        return replace(
            found, verdict=verdict, evidence=evidence, power=None, note=note, estimates=()
        )

    def _forms(self, rng: np.random.Generator, size: int) -> list[Counter[tuple[Atom, ...]]]:
        """Return how often either input has an output of each form, in calls without a trace.

        Either input is called first at random: what changes from call to call tells none apart.
        """
        inputs = self.neighbours.value, self.neighbours.neighbour
        counts: list[Counter[tuple[Atom, ...]]] = [Counter() for _ in inputs]
        for seeds in rng.integers(2**32, size=(size, len(inputs))).tolist():
            for place in rng.permutation(len(inputs)).tolist():
                counts[place][self._form(inputs[place], seeds[place])] += 1
        return counts

    def _form(self, x: Any, seed: int) -> tuple[Atom, ...]:
        """Return the form of an output, with NumPy's types as Python's where these are alike."""
        form = form_of(self.target.plainly(x, seed))
        return form if self.representation is Representation.STRICT else of_python(form)

    def _of_noise(self, trace: PairTrace, significance: float, witness: PlainData) -> Outcome:
        """Return the outcome of the noise, whatever the form of the output."""
        if not trace.followed:
            return _unknown(self.guarantee, trace, witness)
        if self._is_composed(trace):
            significance /= 2
        composed = self._composed(trace, significance, witness)
        if composed is not None and composed.verdict is Verdict.REFUTED:
            return composed
        if trace.exact is not None and loss_of(self.guarantee).by_laws:
            return self._of_laws(trace, witness)
        far = _of_far_values(self.guarantee, trace, trace.far, witness)
        if far is not None:
            return far
        found = _of_paths(self.guarantee, trace, significance, self.scope, witness)
        if found.verdict is not Verdict.REFUTED:
            claimed = loss_of(self.guarantee).claimed
            tail = next((each for each in trace.tails if each.least > claimed), None)
            found = _of_far_values(self.guarantee, trace, tail, witness) or found
        if found.verdict is not Verdict.REFUTED:
            found = _of_points(self.guarantee, trace, witness) or found
        return found if composed is None or found.verdict is Verdict.REFUTED else composed

    def _of_laws(self, trace: PairTrace, witness: PlainData) -> Outcome:
        """Return the outcome of ideal numbers, unless how they are written is judged, too."""
        found = _of_law(self.guarantee, trace, witness)
        if found.verdict is Verdict.REFUTED or trace.written is None:
            return found
        written = _of_law(self.guarantee, replace(trace, exact=trace.written), witness)
        if written.verdict is not Verdict.REFUTED:
            return found
        if self.representation is Representation.WARN:
            return warned(found, AS_WRITTEN)
        return replace(written, witness=witness | {REPRESENTATION: AS_WRITTEN})

    def _is_composed(self, trace: PairTrace) -> bool:
        """Return True if the costs of noises are tested, beside the losses of the paths."""
        alone = trace.released and trace.exact is None and bool(trace.composed)
        return self.scope is Scope.TRANSCRIPT or (alone and loss_of(self.guarantee).gaussian)

    def _composed(
        self, trace: PairTrace, significance: float, witness: PlainData
    ) -> Outcome | None:
        """Return the outcome from the cost of the noisy numbers of a transcript, taken as released.

        Numbers that are revealed in place of a comparison do not count as released. Of a release
        that is the noisy numbers themselves, the mean cost alone speaks: rarer paths may cost less.
        """
        if trace.values or not self._is_composed(trace):
            return None
        if self.scope is Scope.RELEASE:
            found = mean_outcome(
                self.guarantee,
                trace.composed,
                significance=significance,
                witness=witness,
                tables=trace_tables(trace),
            )
            return None if found is None else replace(found, note=_MEAN_OF_RELEASE)
        return composed_outcome(
            self.guarantee,
            trace.composed,
            significance=significance,
            witness=witness,
            tables=trace_tables(trace),
        )

    def _witness(self, context: Context) -> PlainData:
        return {
            "guarantee": str(self.guarantee),
            **pair_as_data(self.neighbours),
            "scope": str(self.scope),
            "draws": self.draws,
            "seed": context.seed,
        }


def _unknown(guarantee: PrivacyGuarantee, trace: PairTrace, witness: PlainData) -> Outcome:
    """Return an outcome that judges nothing, with the reason."""
    loss = loss_of(guarantee)
    nothing = Evidence(
        kind=EvidenceKind.INDICATIVE,
        quantity=loss.quantity,
        value=0.0,
        lower=0.0,
        upper=math.inf,
        claimed=loss.claimed,
        at=loss.at,
        n_samples=trace.forward.size + trace.backward.size,
    )
    return Outcome(
        verdict=decide(nothing),
        evidence=nothing,
        witness=witness,
        note=f"The noise cannot be followed: {trace.unfollowed[0]}.",
        tables=trace_tables(trace),
        estimates=(from_below(nothing, why="the noise cannot be followed"),),
    )


def _of_law(guarantee: PrivacyGuarantee, trace: PairTrace, witness: PlainData) -> Outcome:
    """Return the outcome of the whole laws of the output."""
    pair = trace.exact
    assert pair is not None  # noqa: S101  (the caller made sure)
    ways = map(loss_of(guarantee).measured, (pair, pair.reversed()))
    found = max(ways, key=lambda each: each.value)
    error = _NUMERICAL * max(1.0, abs(found.value)) if math.isfinite(found.value) else 0.0
    error = min(error, input_rounding(guarantee, trace) or error)
    lower = found.value - error
    if loss_of(guarantee).pure:
        lower = min(lower, max(map(_loss_beyond_rounding, (pair, pair.reversed()))))
    evidence = Evidence(
        kind=EvidenceKind.EXACT,
        quantity=found.quantity,
        value=found.value,
        lower=lower,
        upper=found.value + error,
        claimed=found.claimed,
        at=found.at,
    )
    if refutes(evidence):
        evidence = replace(evidence, odds=telling_output(guarantee, pair))
    count = pair.law.log_mass.size
    power = Power(
        quantity=found.quantity,
        smallest=found.claimed + (math.inf if math.isinf(found.value) else found.value - lower),
        claimed=found.claimed,
        detection=1.0,
        at=found.at,
        detail="on this pair",
    )
    return Outcome(
        verdict=decide(evidence, power=power),
        evidence=evidence,
        power=None if refutes(evidence) else power,
        witness=witness,
        note=_RUN_OF_ALL.format(count=count) + (_MISSED_PATHS if trace.missed else ""),
        tables=trace_tables(trace),
    )


def _loss_beyond_rounding(pair: FinitePair) -> float:
    """Return the loss that no rounding of probabilities next to 1 explains.

    The probability of the other way of a coin, 1 − p, is as inexact as p is. What is impossible on
    the neighbour alone, and likelier than ``_LIKELY``, loses infinitely much.
    """
    first, second = (np.exp(law.log_mass) for law in (pair.law, pair.neighbour_law))
    if np.any((second == 0) & (first > _LIKELY)):
        return math.inf
    left = np.maximum(first - _OF_ONE, 0.0)
    with np.errstate(divide="ignore"):
        return float(np.max(np.log(left) - np.log(second + _OF_ONE)))


def _of_far_values(
    guarantee: PrivacyGuarantee, trace: PairTrace, far: ValueLoss | None, witness: PlainData
) -> Outcome | None:
    """Return the outcome of outputs with noisy values far from the data; None if none refutes."""
    loss = loss_of(guarantee)
    if far is None or not loss.pure:
        return None
    evidence = Evidence(
        kind=EvidenceKind.EXACT,
        quantity=loss.quantity,
        value=far.loss,
        lower=far.least,
        upper=math.inf,
        claimed=loss.claimed,
    )
    if not refutes(evidence):
        return None
    return Outcome(
        verdict=decide(evidence),
        evidence=evidence,
        witness=witness | {"far_output": far.output},
        note=_far_note(far),
        tables=trace_tables(trace),
        estimates=(from_below(evidence, why=_OTHERS),),
    )


def _of_points(guarantee: PrivacyGuarantee, trace: PairTrace, witness: PlainData) -> Outcome | None:
    """Return the outcome of outputs that hold no continuous noise; None if none refutes."""
    if trace.points is None or not loss_of(guarantee).by_laws:
        return None
    found = _of_law(guarantee, replace(trace, exact=trace.points), witness)
    odds = found.evidence.odds
    if found.verdict is not Verdict.REFUTED or odds is None:
        return None
    evidence = replace(found.evidence, upper=math.inf)
    return replace(
        found,
        evidence=evidence,
        note=_POINT,
        tables=trace_tables(trace),
        estimates=(from_below(evidence, why=_OTHERS),),
    )


def _far_note(far: ValueLoss) -> str:
    if far.away:
        return _TAIL.format(away=far.away, loss=far.loss)
    return _FAR.format(output=far.output, ratio=math.exp(min(far.loss, _LARGEST)))


def input_rounding(guarantee: PrivacyGuarantee, trace: PairTrace) -> float | None:
    """Return the largest change of the loss from rounding each probability to a double.

    Each is taken for a number within half a unit in the last place of 1, and eight units in the
    last place of its own. None where the probabilities are no sums of doubles of the code.
    """
    pair = trace.exact
    if pair is None or not trace.elementary or not loss_of(guarantee).pure:
        return None
    masses = np.stack([pair.law.log_mass, pair.neighbour_law.log_mass])
    masses = masses[:, np.isfinite(masses).all(axis=0)]
    with np.errstate(over="ignore"):
        each = _HALF_ULP * np.exp(-masses) + TABLE_ROUNDING * (1 + np.abs(masses))
    largest = float(each.sum(axis=0).max(initial=0.0))
    return largest if largest < _NUMERICAL else None


def _of_paths(
    guarantee: PrivacyGuarantee,
    trace: PairTrace,
    significance: float,
    scope: Scope,
    witness: PlainData,
) -> Outcome:
    evidence, power = path_evidence(guarantee, trace, significance=significance)
    refuted = refutes(evidence)
    shown = trace.released or (scope is Scope.TRANSCRIPT and trace.additive and not trace.values)
    shows = evidence if shown else _held(evidence)
    departed = not refuted and any(sample.departed.any() for sample in trace.samples)
    if departed:  # past the noise nothing bounds the loss from above
        shows = replace(shows, value=math.inf)
    unsaid = (refuted and not shown) or departed
    return Outcome(
        verdict=decide(_held(evidence)) if unsaid else decide(evidence, power=power),
        evidence=shows,
        power=None if refuted or unsaid else power,
        witness=witness,
        note=_note(trace, refuted=refuted, shown=shown, exceeding=not refuted and power is None),
        tables=trace_tables(trace),
        estimates=(from_below(shows, why=_RARER if shown else _UNSHOWN),),
    )


def _held(evidence: Evidence) -> Evidence:
    """Return evidence of the transcript that says nothing of the release from below."""
    return replace(evidence, kind=EvidenceKind.INDICATIVE, lower=0.0, detail="of the transcript")


def _note(trace: PairTrace, *, refuted: bool, shown: bool, exceeding: bool) -> str:
    parts = [_hidden(trace)] if hides_infinity(trace) else []
    parts += [f"{leak}." for leak in trace.leaks[:3]]
    if refuted and not shown:
        parts.append(
            "Counted draw by draw, the noise is too small for the claim. That bounds the loss of "
            "the release from above only, and refutes nothing."
        )
    if exceeding:
        parts.append(_EXCEEDING)
    if not (trace.additive or shown):
        parts.append(_UNAMPLIFIED)
    if trace.values:
        parts.append("Comparisons of several draws count as if their values were revealed.")
    return " ".join(parts)


def _hidden(trace: PairTrace) -> str:
    """Return the reason why an infinite loss of the noise says nothing about the release."""
    lost = [line for line in trace.lines if math.isinf(line.mean_loss)]
    return _BOUNDED if all(line.law == "uniform" for line in lost) else _COMPARED
