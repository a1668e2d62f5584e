"""The calls that test a target's claims, of privacy and of coverage.

What a source decides is told without these modules, which take longer to import than a proof takes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dpcp_audit.audits import blackbox
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.search.pair_space import input_from_data
from dpcp_audit.laws.losses import claims_delta, loss_of
from dpcp_audit.stats.rates import LARGEST_EPSILON
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE, rows_for
from dpcp_audit.target_checks.planned_calls import ClaimAudit, closed, with_cut, within
from dpcp_audit.target_checks.shuffled_claims import ShuffledAudit, reports_labels
from dpcp_audit.target_checks.source_proofs import what_stops
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch, traced_target
from dpcp_audit.target_checks.tried_inputs import pair_space, typical
from dpcp_audit.target_checks.two_sided import TwoSidedPrivacy
from dpcp_audit.targets import Kind, Takes, TargetError, TargetUnusableError
from dpcp_audit.targets.answers import ConstantOutputsError, DegenerateTargetError, SingleDraws
from dpcp_audit.theorems import coverage_audit
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.theorems.row_laws import LawCatalogue, RowLaws
from dpcp_audit.theorems.worst_law import sides
from dpcp_audit.tracing.draws import TraceEnd
from dpcp_audit.tracing.pair_traces import require_no_memory
from dpcp_audit.words.evidence import violation_by
from dpcp_audit.words.guarantees import Coverage
from dpcp_audit.words.results import EvidenceKind, Verdict

if TYPE_CHECKING:
    from dpcp_audit.target_checks.check_options import Guarantee
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.source_proofs import SourceProof
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.answers import Drawable
    from dpcp_audit.words.checks import Check, Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee, PureDP
    from dpcp_audit.words.results import Outcome, PlainData
    from dpcp_audit.words.validate import IntArray


def audit_of(spec: CheckSpec, guarantee: Guarantee) -> ClaimAudit:
    """Return the audit of one of a target's claims."""
    if isinstance(guarantee, Coverage):
        return TargetCoverageAudit(spec=spec, guarantee=guarantee)
    if spec.shuffle_n is not None:
        return ShuffledAudit(spec=spec, guarantee=guarantee)
    return PrivacyAudit(spec=spec, guarantee=guarantee)


_CAUSE = "cause"
"""The key of a witness that says what keeps the noise the same in every call."""
_ONLY_HERE = (
    "On this pair every call on one input returned the same output, though outputs vary on other "
    "inputs: here the noise does not reach the output."
)
_MOST_VALUES, _FEWEST_REPORTS = 128, 200
"""Values of a randomizer that are drawn from, at most, and reports on each, at least: the choice of
a rule takes time with the cube of the values."""
_EFFORT = TraceEffort(pairs=10, pilot=2, paths=200, tree=1000, pilot_tree=200, replays=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyAudit(ClaimAudit):
    """The calls that test a claim of privacy: ``TwoSidedPrivacy``, or its outputs alone."""

    guarantee: PrivacyGuarantee

    @property
    def fewest(self) -> int:
        """Twice as many calls where δ is claimed: an event of a thousandth of them shows then."""
        return 2**18 if claims_delta(self.guarantee) else 2**17

    def beside(self, proof: SourceProof | None, target: Target, context: Context) -> Outcome:
        """Return what the calls say beside a proof that leaves the claim open."""
        try:
            outcome = self.sampled(target, context)
        except ConstantOutputsError as error:
            place = target.caller.fixed_seed()
            raise (error if place is None else error.of_seed(place)) from None
        if proof is not None:
            outcome = proof.beside(outcome)
        else:
            stopped = what_stops(self.spec, self.guarantee, target)
            outcome = replace(outcome, unproved=stopped)
        return with_cut(self, _with_cause(outcome, target, context, typical(self.spec)))

    def sampled(self, target: Target, context: Context) -> Outcome:
        """Return what the calls alone say.

        Raises
        ------
        KeptOutputError
            If they refute a target that returns again what it has drawn on an input.
        """
        found = self._sampled(target, context)
        if found.verdict is Verdict.REFUTED and not self.spec.target.command:
            with suppress(TraceEnd):
                require_no_memory(traced_target(target), *[typical(self.spec)] * 2)
        return found

    def _sampled(self, target: Target, context: Context) -> Outcome:
        drawn = within(target, self.spec, self.calls)
        try:
            return self._both_sides(target, drawn)(context)
        except DegenerateTargetError:  # batches of one seed vary within, and not between
            if not self._seeds_batches(target, context):
                raise
            return self._both_sides(target, SingleDraws(target=drawn))(context)

    def on(self, target: Drawable, calls: int) -> BlackBoxPrivacy | LocalPrivacy:
        """Return the audit of an opened target's outputs."""
        audit = self.of(calls)
        if isinstance(audit, LocalPrivacy) and not reports_labels(target, audit.n_outputs):
            audit = self._black_box(calls)
        if isinstance(audit, LocalPrivacy):
            return replace(
                audit, randomizer=_Reports(target, audit.n_outputs), randomness=target.randomness
            )
        return replace(audit, sample=target, randomness=target.randomness)

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the calls that refute a violation with probability 0.95."""
        audit = self.of(self.fewest)
        needed = audit.draws_needed(violation, significance=significance)
        return needed * audit.n_inputs if isinstance(audit, LocalPrivacy) else needed

    def _both_sides(self, target: Target, drawn: Drawable) -> Check:
        """Return the audit of outputs; beside that of the noise, where it can be followed."""
        audit = self.on(drawn, self.calls)
        if not self.spec.trace or self.spec.target.command:
            return audit
        return TwoSidedPrivacy(black_box=audit, trace=self._search(target))

    def _seeds_batches(self, target: Target, context: Context) -> bool:
        rng = replace(context, name=f"{context.name}, single").rng()
        batches = self.spec.target.vectorised or bool(self.spec.target.command)
        return batches and bool(target.frozen(typical(self.spec), rng=rng))

    def _search(self, target: Target) -> TraceSearch:
        spec = self.planned().spec
        return TraceSearch.of(spec, self.guarantee, target, effort=_EFFORT)

    def of(self, calls: int) -> BlackBoxPrivacy | LocalPrivacy:
        """Return the audit of so many calls, of a target that is not open yet."""
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
        with self.spec.target.open() as target:
            if "path_seed" in witness:
                return self._search(target).again(witness, context)
            audit = self.on(
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
class TargetCoverageAudit(ClaimAudit):
    """The calls that test a claim of coverage: ``CoverageAudit``."""

    guarantee: Coverage

    few: ClassVar[int] = 100

    @property
    def fewest(self) -> int:
        """As many calls as find more than the miss that power is stated of."""
        return 2**14

    def sampled(self, target: Target, context: Context) -> Outcome:
        """Calibrate on fresh scores."""
        drawn = within(target, self.spec, self.calls)
        return with_cut(self, self.on(drawn, self.calls)(context))

    def on(self, target: Drawable, calls: int) -> CoverageAudit:
        """Return the audit of an opened target."""
        return replace(self.of(calls), calibrate=target)

    def violation(self, factor: float) -> float:
        """Return the coverage, or rate of failures, at which the claim is broken by a factor."""
        side = sides(self.guarantee)[0]
        return violation_by(factor, side.quantity, side.bounded, side.bound)

    def of(self, calls: int) -> CoverageAudit:
        """Return the audit of so many calls, of a target that is not open yet."""
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
        with self.spec.target.open() as target:
            return coverage_audit.confirm(
                witness, target, seed=context.seed, significance=context.significance
            )


def _laws(spec: CheckSpec, guarantee: Coverage) -> LawCatalogue | RowLaws:
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
