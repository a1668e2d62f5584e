"""A target's claims of privacy and of coverage, each opened where its check runs.

A privacy claim is decided from both sides: the noise is followed, and the outputs are searched.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast

import numpy as np

from dpcp_audit.audits.search.pair_space import input_as_data, input_from_data, pair_from_data
from dpcp_audit.laws.losses import claims_delta, loss_of
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE, rows_for
from dpcp_audit.target_checks.planned_calls import calls_for, pair_space, typical, with_cut, within
from dpcp_audit.target_checks.source_proofs import (
    SourceProof,
    answers,
    decided_coverage,
    proved_by_source,
    require_proof,
    what_stops,
)
from dpcp_audit.targets import Kind, Takes, TargetError, TargetUnusableError
from dpcp_audit.targets.answers import ConstantOutputsError, DegenerateTargetError, SingleDraws
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import REPRESENTATION, Representation, violation_by
from dpcp_audit.words.formatting import rounded_down
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, Table, TableColumn, Verdict

if TYPE_CHECKING:
    from dpcp_audit.audits.blackbox import BlackBoxPrivacy
    from dpcp_audit.audits.local import LocalPrivacy
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.trace_search import TraceResult, TraceSearch
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.answers import Drawable
    from dpcp_audit.theorems.coverage_audit import CoverageAudit
    from dpcp_audit.theorems.row_laws import LawCatalogue, RowLaws
    from dpcp_audit.words.checks import Check, Context, Planned
    from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee, PureDP
    from dpcp_audit.words.results import Evidence, Outcome, PlainData, Power
    from dpcp_audit.words.validate import IntArray


_ROUNDING = 1e-9
"""A relative difference of two results that is none."""
_WIDER = 2.5
"""An interval at confidence 0.95 that is so much wider has a confidence of 1 − 10⁻⁶."""
_TRACED = 0.1
"""The share of the significance that the traces have: half before the search, half after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSidedPrivacy(Sampled):
    """Trace a target, and audit it as a black box unless the traces refute the claim.

    :Null hypothesis: The guarantee, on every pair of neighbours that is tried.
    :Statistic: In turn, that of ``TracedPrivacy`` on proposed pairs, of ``BlackBoxPrivacy`` or
        ``LocalPrivacy`` on the outputs, and of ``TracedPrivacy`` on the worst pair of that search.
    :Level: At most the significance s, by a union bound: s/20, 9s/10 and s/20. The pairs are chosen
        on other paths and outputs than those that test them.
    :Power: That of the audit of the outputs; or that of the trace, if its upper bound stays within
        the claim.
    :Reference: Those of the three checks.

    Parameters
    ----------
    black_box : Check
        A check of the same claim by outputs alone; its witness holds the pair.
    trace : TraceSearch
    """

    black_box: Check
    trace: TraceSearch

    def __call__(self, context: Context) -> Outcome:
        """Trace the pairs that are proposed, search the outputs, and trace the worst pair."""
        first = self.trace.worst(_part(context, "proposed", _TRACED / 2))
        if not first.reason and _is_refuted(first):
            return _of(first)
        found = self.black_box(replace(context, significance=(1 - _TRACED) * context.significance))
        found = replace(
            found, evidence=replace(found.evidence, confidence=1 - context.significance)
        )
        if first.reason:
            note = f"{found.note} The noise cannot be followed: {first.reason}."
            return replace(found, note=note)
        return self._joined(found, first, context)

    def _joined(self, found: Outcome, first: TraceResult, context: Context) -> Outcome:
        """Return the outcome of both sides, if the first traces refuted nothing."""
        second = first
        if not _same_pair(found.witness, first):
            second = self.trace.on(
                pair_from_data(found.witness), _part(context, "searched", _TRACED / 2)
            )
        if found.verdict is not Verdict.REFUTED and not second.reason and _is_refuted(second):
            return _of(second)
        shown = first if second.reason or first.every else second
        traced = _of(shown)
        contradiction = _contradiction(found, shown, same=shown is second)
        if contradiction and found.verdict is Verdict.REFUTED:
            return replace(found, note=f"{found.note} {contradiction}")
        if contradiction:
            raise TargetError(contradiction)
        comparable = shown is second or first.every
        crossed = comparable and _is_crossed(found.evidence, traced.evidence)
        tables = traced.tables
        if comparable and not crossed:
            tables = (_bracket(found, traced, same=shown is second), *tables)
        settled = first.every or self._settles(traced, found)
        if found.verdict is Verdict.REFUTED or not settled:
            note = f"{found.note} {traced.note}{_PAST_THE_NOISE if crossed else ''}"
            within = traced.verdict is Verdict.CONSISTENT or crossed
            leaks = shown.trace is not None and bool(shown.trace.leaks)
            line = None if within and not leaks else traced.location
            return replace(found, note=note, tables=tables, location=line, traced=traced.traced)
        if traced.evidence.kind is EvidenceKind.EXACT:
            traced = max(traced, _of(first), key=_exact_loss)
        note = f"{traced.note} {found.note}"
        warning = {key: found.witness[key] for key in (REPRESENTATION,) if key in found.witness}
        return replace(
            traced,
            witness=traced.witness | warning,
            note=note,
            figures=found.figures,
            tables=tables,
            estimates=found.estimates,
            extent=found.extent,
        )

    def _settles(self, traced: Outcome, found: Outcome) -> bool:
        """Return True if the traces settle what the outputs leave open.

        The largest loss of a few paths says nothing of a rare one: ε-DP needs the whole law.
        """
        exact = traced.evidence.kind is EvidenceKind.EXACT
        settling = exact or not loss_of(self.trace.guarantee).pure
        return (
            settling
            and found.verdict is Verdict.INCONCLUSIVE
            and traced.verdict is Verdict.CONSISTENT
        )


def _exact_loss(traced: Outcome) -> float:
    """Return the loss of a pair on which all paths were run; −∞ of any other."""
    exact = traced.evidence.kind is EvidenceKind.EXACT
    return traced.evidence.value if exact else -math.inf


def _part(context: Context, name: str, share: float) -> Context:
    """Return a context with streams of its own, and a share of the significance."""
    return replace(
        context, name=f"{context.name} {name}", significance=share * context.significance
    )


def _of(result: TraceResult) -> Outcome:
    assert result.outcome is not None  # noqa: S101  (the caller made sure)
    return result.outcome


def _is_refuted(result: TraceResult) -> bool:
    return _of(result).verdict is Verdict.REFUTED


def _same_pair(witness: PlainData, result: TraceResult) -> bool:
    if result.pair is None:
        return False
    traced = [input_as_data(each) for each in (result.pair.value, result.pair.neighbour)]
    return [witness["value"], witness["neighbour"]] in (traced, traced[::-1])


def _contradiction(found: Outcome, shown: TraceResult, *, same: bool) -> str:
    """Return the sentence on an enumerated loss below the certified one; "" if it is not below."""
    evidence = _of(shown).evidence
    if evidence.kind is not EvidenceKind.EXACT or not (same or shown.every):
        return ""
    upper, certified = evidence.upper, found.evidence
    if (evidence.quantity, evidence.at) != (certified.quantity, certified.at):
        exact = None if shown.trace is None else shown.trace.exact
        if exact is None or certified.quantity is not Quantity.EPSILON or shown.every:
            return ""
        delta = certified.at.get("delta", 0.0)
        upper = max(each.epsilon_at(delta) for each in (exact, exact.reversed()))
    beyond = upper + _ROUNDING * max(1.0, upper)
    unit = certified.quantity, certified.at
    sampled = [each for each in found.estimates if (each.quantity, each.at) == unit]
    least = [each.value - _WIDER * (each.value - each.lower) for each in sampled]
    lower = max([certified.lower, *(each for each in least if math.isfinite(each))])
    if lower <= beyond:
        return ""
    return (
        f"Two results contradict each other: by enumeration the {certified.label} is at most "
        f"{upper:.6g}, by the outputs it is at least {lower:.6g}. The code must draw differently "
        "when it is not traced: nothing is proved."
    )


_PAST_THE_NOISE = (
    " The outputs show a larger loss than the traced paths: data reaches them without noise."
)


def _is_crossed(below: Evidence, above: Evidence) -> bool:
    """Return True if the outputs certify more than the paths of the noise show."""
    same = (below.quantity, below.at) == (above.quantity, above.at)
    return same and below.lower > above.value + _ROUNDING


def _bracket(found: Outcome, traced: Outcome, *, same: bool) -> Table:
    """Return the loss on the searched pair: certified from below, followed from above."""
    sides = (found.evidence, traced.evidence)
    pairs = ["the witness's", "the witness's" if same else "the worst of all"]
    return Table(
        title="The loss from both sides",
        columns=[
            TableColumn(name="side", texts=["of the outputs", "of the noise"]),
            TableColumn(name="method", texts=["black box", "trace"]),
            TableColumn(name="pair", texts=pairs),
            TableColumn(name="quantity", texts=[each.label for each in sides]),
            TableColumn(name="loss", texts=[_below(found.evidence), _above(traced.evidence)]),
        ],
        notes=[_NOTE],
    )


_NOTE = (
    "By post-processing the outputs on a pair lose at most what the noise reveals there: the black "
    "box bounds the loss from below, the trace from above."
)


def _below(evidence: Evidence) -> str:
    return f"at least {rounded_down(evidence.lower)}, at confidence {evidence.confidence:.6g}"


def _above(evidence: Evidence) -> str:
    if evidence.kind is EvidenceKind.EXACT:
        return f"{evidence.value:.4g}, exact"
    if math.isinf(evidence.value):
        return "no upper limit"
    return f"{evidence.value:.4g}, estimated on {evidence.n_samples} paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetClaim(Sampled, ABC):
    """A claim of a target, decided by the check that ``audit`` returns.

    A witness of it can be tested alone, without a search.

    Attributes
    ----------
    few : int
        Calls for which an audit can be made, where its power at others is asked for.
    """

    spec: CheckSpec
    guarantee: Any

    few: ClassVar[int] = 100

    @property
    def planned_calls(self) -> int:
        """The calls of the target that the claim is tested with."""
        return self.planned().spec.calls(self.guarantee)

    def planned(self) -> Self:
        """Return the check with the calls that it takes, where none are planned."""
        if self.spec.draws is not None or self.spec.planned:
            return self
        alone = replace(self.spec, guarantees=(self.guarantee,), planned=(calls_for(self),))
        return replace(self, spec=alone)

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest violation that the calls refute with probability 0.95."""
        return self._unopened(self.planned_calls).smallest_violation(context)

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the calls that refute a violation, likewise."""
        return self._unopened(self.few).draws_needed(violation, significance=significance)

    @property
    @abstractmethod
    def fewest(self) -> int:
        """The calls that are planned at least."""

    @abstractmethod
    def __call__(self, context: Context) -> Outcome:
        """Open the target, and test the claim."""

    @abstractmethod
    def decided(self, target: Target, context: Context) -> Outcome | None:
        """Return the outcome of a claim that the source decides; None where calls have to."""

    @abstractmethod
    def audit(self, target: Any, calls: int) -> Check:
        """Return the audit of an opened target."""

    @abstractmethod
    def violation(self, factor: float) -> float:
        """Return the value at which the claim is broken by a factor of the noise."""

    @abstractmethod
    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test a witness on the code as it is."""

    @abstractmethod
    def _unopened(self, calls: int) -> Planned:
        """Return the audit of so many calls, of a target that is not open yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyClaim(TargetClaim):
    """A privacy claim, decided by the check that ``audit`` returns; a violation is a loss."""

    guarantee: PrivacyGuarantee

    few: ClassVar[int] = 600

    def violation(self, factor: float) -> float:
        """Return the loss at which the claim is broken by a factor of the noise."""
        loss = loss_of(self.guarantee)
        return violation_by(factor, loss.quantity, loss.claimed)


def closed(value: object, size: int = 1, /, *, rng: object) -> NoReturn:
    """Stand in for a target of which no output is asked."""
    del value, size, rng
    raise RuntimeError("the target is not open: its power is asked for, and no output")


def import_audits() -> None:
    """Import what tests claims by calls: before time is taken, or processes are forked."""
    for name in _AUDITS:
        import_module(f"dpcp_audit.{name}")


_AUDITS = (
    "audits.blackbox",
    "audits.local",
    "theorems.coverage_audit",
    "theorems.row_laws",
    "target_checks.trace_search",
)
"""The modules that make calls; what a source proves is told without them."""
_CAUSE = "cause"
"""The key of a witness that says what keeps the noise the same in every call."""
_BITS = "The proof is of ideal numbers; the last bits were sampled, too, and do not refute it."
_ONLY_HERE = (
    "On this pair every call on one input returned the same output, though outputs vary on other "
    "inputs: here the noise does not reach the output."
)
_MOST_VALUES, _FEWEST_REPORTS = 128, 200
"""Values of a randomizer that are drawn from, at most, and reports on each, at least: the choice of
a rule takes time with the cube of the values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPrivacy(PrivacyClaim):
    """A target's privacy claim, decided by a proof (``ProvedAlone``) or by ``TwoSidedPrivacy``.

    The target is opened where the check runs.
    """

    @property
    def fewest(self) -> int:
        """Twice as many calls where δ is claimed: an event of a thousandth of them shows then."""
        return 2**18 if claims_delta(self.guarantee) else 2**17

    def __call__(self, context: Context) -> Outcome:
        """Prove the claim from the source; else follow the noise and sample the outputs."""
        with self.spec.target.open() as target:
            proof = self._source_proof(target)
            if proof is not None and proof.proved and answers(self.spec, target, context):
                return self._beside_bits(proof.outcome(), target, context)
            calls = self.planned_calls
            try:
                outcome = self._audited(target, context)
            except ConstantOutputsError as error:
                place = target.caller.fixed_seed()
                raise (error if place is None else error.of_seed(place)) from None
            if proof is not None:
                outcome = proof.beside(outcome)
            else:
                stopped = what_stops(self.spec, self.guarantee, target)
                outcome = replace(outcome, unproved=stopped)
            return with_cut(self, _with_cause(outcome, target, context, typical(self.spec)), calls)

    def decided(self, target: Target, context: Context) -> Outcome | None:
        """Return the outcome of a claim that the source proves, unless last bits count."""
        one_report = self.spec.target.kind.takes is Takes.VALUE  # whose law is enumerated instead
        if one_report or self.spec.representation is Representation.STRICT:
            return None
        return proved_by_source(self.spec, self.guarantee, target, context)

    def _beside_bits(self, proved: Outcome, target: Target, context: Context) -> Outcome:
        """Return a proof's outcome; where last bits count, that of outputs that refute it."""
        if self.spec.representation is not Representation.STRICT:
            return proved
        sampled = self._audited(target, context)
        if sampled.verdict is Verdict.REFUTED:
            return sampled
        return replace(proved, note=f"{proved.note} {_BITS}", extent=sampled.extent)

    def _source_proof(self, target: Target) -> SourceProof | None:
        one_report = self.spec.target.kind.takes is Takes.VALUE  # whose law is enumerated instead
        if one_report or not self.spec.prove:
            return None
        return SourceProof.of(self.spec, self.guarantee, target)

    def _audited(self, target: Target, context: Context) -> Outcome:
        drawn = within(target, self.spec, self.planned_calls)
        try:
            return self._both_sides(target, drawn)(context)
        except DegenerateTargetError:  # batches of one seed vary within, and not between
            if not self._seeds_batches(target, context):
                raise
            return self._both_sides(target, SingleDraws(target=drawn))(context)

    def audit(self, target: Drawable, calls: int) -> BlackBoxPrivacy | LocalPrivacy:
        """Return the audit of an opened target's outputs."""
        from dpcp_audit.audits.local import LocalPrivacy  # noqa: PLC0415  (slow to import)

        audit = self._unopened(calls)
        if isinstance(audit, LocalPrivacy) and not reports_labels(target, audit.n_outputs):
            audit = self._black_box(calls)
        if isinstance(audit, LocalPrivacy):
            return replace(
                audit, randomizer=_Reports(target, audit.n_outputs), randomness=target.randomness
            )
        return replace(audit, sample=target, randomness=target.randomness)

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the calls that refute a violation, likewise."""
        from dpcp_audit.audits.local import LocalPrivacy  # noqa: PLC0415  (slow to import)

        audit = self._unopened(self.fewest)
        needed = audit.draws_needed(violation, significance=significance)
        return needed * audit.n_inputs if isinstance(audit, LocalPrivacy) else needed

    def _both_sides(self, target: Target, drawn: Drawable) -> Check:
        """Return the audit of outputs; beside that of the noise, where it can be followed."""
        audit = self.audit(drawn, self.planned_calls)
        if not self.spec.trace or self.spec.target.command:
            return audit

        return TwoSidedPrivacy(black_box=audit, trace=self._search(target))

    def _seeds_batches(self, target: Target, context: Context) -> bool:
        rng = replace(context, name=f"{context.name}, single").rng()
        batches = self.spec.target.vectorised or bool(self.spec.target.command)
        return batches and bool(target.frozen(typical(self.spec), rng=rng))

    def _search(self, target: Target) -> TraceSearch:
        from dpcp_audit.target_checks.trace_search import (  # noqa: PLC0415  (slow to import)
            TraceEffort,
            TraceSearch,
        )

        effort = TraceEffort(pairs=10, pilot=2, paths=200, tree=1000, pilot_tree=200, replays=4)
        spec = self.planned().spec
        return TraceSearch.of(spec, self.guarantee, target, effort=effort)

    def _unopened(self, calls: int) -> BlackBoxPrivacy | LocalPrivacy:
        from dpcp_audit.audits.local import LocalPrivacy  # noqa: PLC0415  (slow to import)

        loss = loss_of(self.guarantee)
        if (
            loss.pure
            and loss.linear is not None
            and self._over_all_values(calls, loss.linear.epsilon)
        ):
            values = self.spec.target.domain or 0
            return LocalPrivacy(
                randomizer=closed,
                guarantee=cast("PureDP", self.guarantee),
                n_inputs=values,
                n_outputs=values,
                n_samples=calls // values,
                detect=self.spec.detect,
            )
        return self._black_box(calls)

    def _black_box(self, calls: int) -> BlackBoxPrivacy:
        from dpcp_audit.audits.blackbox import BlackBoxPrivacy  # noqa: PLC0415  (slow to import)

        return BlackBoxPrivacy(
            sample=closed,
            guarantee=self.guarantee,
            pairs=pair_space(self.spec),
            draws=calls,
            detect=self.spec.detect,
            representation=self.spec.representation,
        )

    def _over_all_values(self, calls: int, epsilon: float) -> bool:
        """Return True if the claim is of a randomizer of few enough values to draw from all."""
        from dpcp_audit.stats.rates import LARGEST_EPSILON  # noqa: PLC0415  (slow to import)

        spec, values = self.spec, self.spec.target.domain
        return (
            spec.target.kind is Kind.RANDOMIZER
            and values is not None
            and values <= min(_MOST_VALUES, calls // _FEWEST_REPORTS)
            and spec.pair is None
            and epsilon <= LARGEST_EPSILON
        )

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the pair of a witness on the code as it is: its event, its guesses or its paths."""
        from dpcp_audit.audits import blackbox  # noqa: PLC0415  (slow to import)
        from dpcp_audit.audits.local import LocalPrivacy  # noqa: PLC0415  (slow to import)

        with self.spec.target.open() as target:
            if "path_seed" in witness:
                return self._search(target).again(witness, context)
            audit = self.audit(
                SingleDraws(target=target) if _CAUSE in witness else target, self.fewest
            )
            if isinstance(audit, LocalPrivacy):
                return audit.confirm(witness, context)
            return blackbox.confirm(
                witness,
                SingleDraws(target=target) if _CAUSE in witness else target,
                guarantee=self.guarantee,
                context=context,
            )


_LOOKED_AT = 8
"""Reports that say whether a randomizer reports integers: no test sees them."""


def reports_labels(target: Drawable, domain: int) -> bool:
    """Return True if a randomizer reports integers in {0, …, K−1}, and no texts or the like."""
    rng = np.random.default_rng(0)
    drawn = [target(k % domain, 1, rng=rng) for k in range(_LOOKED_AT)]
    return all(each.ndim == 1 and each[0] < domain for each in drawn)


@dataclass(frozen=True, slots=True)
class _Reports:
    """Asks a target for the reports of many values, all of one value at a time."""

    target: Drawable
    domain: int

    def __call__(self, values: IntArray, /, *, rng: np.random.Generator) -> IntArray:
        """Return a report for each value."""
        reports = np.empty(values.shape, dtype=np.int64)
        for value in np.unique(values).tolist():
            of_value = values == value
            drawn = self.target(value, int(of_value.sum()), rng=rng)
            if drawn.ndim > 1 or drawn.max() >= self.domain:
                raise TargetUnusableError(
                    f"the randomizer reports integers in 0..{self.domain - 1}, and on the value "
                    f"{value} something else: return reports of one type, or say kind local"
                )
            reports[of_value] = drawn
        return reports


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedAlone(TargetPrivacy):
    """Decide a claim of privacy by a proof for every input, and by nothing else.

    :Null hypothesis: The guarantee, for every pair of neighbours of the stated size and range.
    :Statistic: The total charge of all uses of noise, which the verifier reads from the source.
    :Level: No false alarms: a proof confirms and never refutes. Its comparisons are of exact
        fractions or in ball arithmetic.
    :Power: None: a proof that stops is INCONCLUSIVE, and names the line that stops it.
    :Reference: Zhang and Kifer (2017), for proofs from the source; the finding names each theorem
        that it uses.
    """

    def __call__(self, context: Context) -> Outcome:
        """Open the target, and prove its claim: INCONCLUSIVE where the proof stops.

        Raises
        ------
        TargetError
            If the verifier does not take the claim or the target.
        """
        with self.spec.target.open() as target:
            return self.decided(target, context)

    def decided(self, target: Target, context: Context) -> Outcome:
        """Return the outcome of the proof."""
        return require_proof(self.spec, self.guarantee, target, context)


def _with_cause(outcome: Outcome, target: Target, context: Context, usual: Any) -> Outcome:
    """Say beside a refutation that the noise is the same in every call, where it is.

    Where it varies on the neighbour or on a usual input, it is this input that it does not reach.
    """
    if outcome.verdict is not Verdict.REFUTED or "value" not in outcome.witness:
        return outcome
    odds = outcome.evidence.odds
    if outcome.evidence.kind is EvidenceKind.EXACT and odds is not None and 0 < odds.value < 1:
        return outcome  # an output that is sometimes returned: a few calls may still agree
    rng = replace(context, name=f"{context.name}, frozen").rng()
    value, neighbour = (input_from_data(outcome.witness[key]) for key in ("value", "neighbour"))
    cause = target.frozen(value, rng=rng)
    if not cause:
        return outcome
    if target.caller.fixed_seed() is None:
        with suppress(TargetError, DegenerateTargetError):
            if not all(target.frozen(each, rng=rng) for each in (neighbour, usual)):
                return replace(outcome, note=f"{_ONLY_HERE} {outcome.note}")
    witness = {_CAUSE: cause} | outcome.witness
    return replace(outcome, witness=witness, note=f"{cause} {outcome.note}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCoverage(TargetClaim):
    """A target's coverage claim, decided by a proof from the source, or by ``CoverageAudit``.

    The target is opened where the check runs.
    """

    guarantee: Coverage

    @property
    def fewest(self) -> int:
        """As many calls as find more than the miss that power is stated of."""
        return 2**14

    def __call__(self, context: Context) -> Outcome:
        """Prove or refute the claim from the source; else calibrate on fresh scores."""
        with self.spec.target.open() as target:
            decided = self.decided(target, context)
            if decided is not None:
                return decided
            calls = self.planned_calls
            outcome = self.audit(within(target, self.spec, calls), calls)(context)
            return with_cut(self, outcome, calls)

    def decided(self, target: Target, context: Context) -> Outcome | None:
        """Return the outcome of a claim that the source proves or refutes."""
        return decided_coverage(self.spec, self.guarantee, target, context)

    def audit(self, target: Drawable, calls: int) -> CoverageAudit:
        """Return the audit of an opened target."""
        return replace(self._unopened(calls), calibrate=target)

    def violation(self, factor: float) -> float:
        """Return the coverage, or rate of failures, at which the claim is broken by a factor."""
        from dpcp_audit.theorems.worst_law import sides  # noqa: PLC0415  (slow to import)

        side = sides(self.guarantee)[0]
        return violation_by(factor, side.quantity, side.bounded, side.bound)

    def _unopened(self, calls: int) -> CoverageAudit:
        from dpcp_audit.theorems.coverage_audit import CoverageAudit  # noqa: PLC0415  (slow to import)

        return CoverageAudit(
            calibrate=closed,
            kind=self.spec.target.kind,
            guarantee=self.guarantee,
            n=self.spec.n or (COVERAGE_SIZE,),
            draws=calls,
            bounds=self.spec.target.bounds,
            laws=_laws(self.spec, self.guarantee),
            strict=self.spec.open_sets,
            tolerance=self.spec.tolerance,
            detect=self.spec.detect,
        )

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the law of a witness on fresh calls of the code as it is."""
        from dpcp_audit.theorems import coverage_audit  # noqa: PLC0415  (slow to import)

        with self.spec.target.open() as target:
            return coverage_audit.confirm(
                witness, target, seed=context.seed, significance=context.significance
            )


def _laws(spec: CheckSpec, guarantee: Coverage) -> LawCatalogue | RowLaws:
    from dpcp_audit.theorems.row_laws import LawCatalogue, RowLaws  # noqa: PLC0415  (slow to import)

    kind = spec.target.kind
    if kind.takes is not Takes.ROWS:
        return LawCatalogue(
            ties=spec.ties,
            per_class=guarantee.per_class,
            classes=spec.target.domain,
            clients=spec.clients if kind.takes is Takes.CLIENTS else 0,
        )
    pool = rows_for(kind, spec.data)
    return RowLaws(pool=pool, per_class=guarantee.per_class)
