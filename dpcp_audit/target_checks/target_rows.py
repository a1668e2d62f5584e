"""From what is to be checked of targets to rows: a claim each, with the check that decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit._format import all_digits
from dpcp_audit.audits import blackbox
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.pair_space import input_from_data
from dpcp_audit.audits.search.rare_atoms import claims_delta
from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.decisions import violation_by
from dpcp_audit.errors import UsageError
from dpcp_audit.guarantees import (
    ZCDP,
    ApproxDP,
    Coverage,
    GaussianDP,
    LocalDP,
    RenyiDP,
    SetSize,
)
from dpcp_audit.neighbours import Relation
from dpcp_audit.results import Claim, Source, Standing, Verdict
from dpcp_audit.rows import Row
from dpcp_audit.suite import Suite
from dpcp_audit.target_checks.planned_calls import cut_words
from dpcp_audit.target_checks.row_data import rows_for
from dpcp_audit.target_checks.target_claim import PrivacyClaim, TargetClaim, closed
from dpcp_audit.target_checks.target_set_size import TargetSetSize
from dpcp_audit.target_checks.target_shuffled import TargetShuffled
from dpcp_audit.target_checks.time_limits import Timed, within
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch
from dpcp_audit.target_checks.trial_inputs import pair_space, typical
from dpcp_audit.target_checks.two_sided import TwoSidedPrivacy
from dpcp_audit.target_checks.units import COVERAGE_SIZE
from dpcp_audit.targets import Takes
from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.targets.single_draws import SingleDraws
from dpcp_audit.theorems.coverage import coverage_audit
from dpcp_audit.theorems.coverage.coverage_audit import CoverageAudit
from dpcp_audit.theorems.coverage.row_laws import RowLaws
from dpcp_audit.theorems.coverage.trial_laws import LawCatalogue
from dpcp_audit.theorems.coverage.worst_law import sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.checks import Check, Context
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Outcome, PlainData
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.claim_options import Guarantee
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.single_draws import Drawable


_CAUSE = "cause"
"""Of a witness: what keeps the noise the same in every call."""
_AGAIN = 5
"""Times the outputs of a witness, on which the same loss is refuted almost surely."""
_TRACED = TraceEffort(pairs=10, pilot=2, paths=200, tree=1000, replays=4)
_DIFFERENCES = {
    Relation.SUBSTITUTION: "one record is replaced by another",
    Relation.ADD_REMOVE: "one record is added or taken away",
    Relation.ONE_LABEL: "one record changes its label",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPrivacy(PrivacyClaim):
    """A target's privacy claim; the target is opened where the check runs."""

    @property
    def fewest(self) -> int:
        """Twice as many calls where δ is claimed: an event of a thousandth of them shows then."""
        return 2**18 if claims_delta(self.guarantee) else 2**17

    def __call__(self, context: Context) -> Outcome:
        """Open the target, follow its noise where it can be, and audit it as a black box."""
        with self.spec.target.open() as target:
            calls = self.spec.calls(self.guarantee)
            drawn = within(target, self.spec, calls)
            try:
                outcome = self._both_sides(target, drawn)(context)
            except DegenerateTargetError:  # batches of one seed vary within, and not between
                if not self._seeds_batches(target, context):
                    raise
                outcome = self._both_sides(target, SingleDraws(target=drawn))(context)
            return _with_cut(self, _with_cause(outcome, target, context), calls)

    def audit(self, target: Drawable, calls: int) -> BlackBoxPrivacy | SequentialPrivacy:
        """Return the audit of an opened target's outputs."""
        return replace(self._unopened(calls), sample=target, randomness=target.randomness)

    def _both_sides(self, target: Target, drawn: Drawable) -> Check:
        """Return the audit of outputs; beside that of the noise, where it can be followed."""
        audit = self.audit(drawn, self.spec.calls(self.guarantee))
        if not self.spec.trace or self.spec.target.command:
            return audit
        return TwoSidedPrivacy(black_box=audit, trace=self._search(target))

    def _seeds_batches(self, target: Target, context: Context) -> bool:
        rng = replace(context, name=f"{context.name}, single").rng()
        batches = self.spec.target.vectorised or bool(self.spec.target.command)
        return batches and bool(target.frozen(typical(self.spec), rng=rng))

    def _search(self, target: Target) -> TraceSearch:
        return TraceSearch.of(self.spec, self.guarantee, target, effort=_TRACED)

    def _unopened(self, calls: int) -> BlackBoxPrivacy | SequentialPrivacy:
        return (SequentialPrivacy if self.spec.sequential else BlackBoxPrivacy)(
            sample=closed,
            guarantee=self.guarantee,
            pairs=pair_space(self.spec),
            draws=calls,
            detect=self.spec.detect,
        )

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Test the pair of a witness on the code as it is: its event, or its paths."""
        with self.spec.target.open() as target:
            if "path_seed" in witness:
                return self._search(target).again(witness, context)
            return blackbox.confirm(
                witness,
                SingleDraws(target=target) if _CAUSE in witness else target,
                guarantee=self.guarantee,
                context=context,
                n_samples=_AGAIN * witness["n_samples"] + 100,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCoverage(TargetClaim):
    """A target's coverage claim; the target is opened where the check runs."""

    guarantee: Coverage

    @property
    def fewest(self) -> int:
        """As many calls as find more than the miss that power is stated of."""
        return 2**14

    def __call__(self, context: Context) -> Outcome:
        """Open the target and calibrate with it on fresh scores."""
        with self.spec.target.open() as target:
            calls = self.spec.calls(self.guarantee)
            outcome = self.audit(within(target, self.spec, calls), calls)(context)
            return _with_cut(self, outcome, calls)

    def audit(self, target: Target | Timed, calls: int) -> CoverageAudit:
        """Return the audit of an opened target."""
        return replace(self._unopened(calls), calibrate=target)

    def violation(self, factor: float) -> float:
        """Return the coverage, or rate of failures, at which the claim is broken by a factor."""
        side = sides(self.guarantee)[0]
        return violation_by(factor, side.quantity, side.bounded, side.bound)

    def _unopened(self, calls: int) -> CoverageAudit:
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


TargetCheck = TargetPrivacy | TargetCoverage | TargetSetSize | TargetShuffled
"""A check whose witness can be tested alone, without a search."""

_INDEPENDENT = (
    "outputs are independent draws; dependence is probed among those of one batch, in their order, "
    "and not between batches or processes"
)


def rows_of_targets(targets: Sequence[CheckSpec] = ()) -> list[Row]:
    """Return one row for each claim of each target, in their order.

    Raises
    ------
    UsageError
        If a target makes one claim twice.
    """
    return require_once([row for spec in targets for row in _rows(spec)])


def require_once(rows: list[Row]) -> list[Row]:
    """Return rows, refusing a claim that is made twice."""
    ids = [row.claim.id for row in rows]
    for id_ in ids:
        if ids.count(id_) > 1:
            raise UsageError(f"{id_} is claimed twice")
    return rows


def _rows(spec: CheckSpec) -> list[Row]:
    return [row_for(spec, guarantee, check_of(spec, guarantee)) for guarantee in spec.guarantees]


def check_of(spec: CheckSpec, guarantee: Guarantee) -> TargetCheck:
    """Return the check of one of a target's claims."""
    if isinstance(guarantee, Coverage):
        return TargetCoverage(spec=spec, guarantee=guarantee)
    if isinstance(guarantee, SetSize):
        return TargetSetSize(spec=spec, guarantee=guarantee)
    if spec.shuffle_n is not None:
        return TargetShuffled(spec=spec, guarantee=guarantee)
    return TargetPrivacy(spec=spec, guarantee=guarantee)


def row_for(spec: CheckSpec, guarantee: Guarantee, check: Check) -> Row:
    """Return the row of a claim that a check tests."""
    claim = Claim(
        id=f"{spec.name}[{_short(spec, guarantee)}]",
        statement=f"{_promise(spec, guarantee)}{_setting(spec, guarantee)}.",
        source=Source(
            paper=spec.paper or spec.name, section=spec.theorem or "the claim to be checked"
        ),
        expected=Verdict.CONSISTENT,
        subject=spec.name,
        standing=Standing.STATED,
        assumptions=_INDEPENDENT,
        parameters=_parameters(spec, guarantee),
        location=spec.location,
    )
    return Row(claim=claim, check=check)


def _parameters(spec: CheckSpec, guarantee: Guarantee) -> PlainData:
    """Return what the claim fixes; a guarantee's own α is the order of its divergence."""
    fixed: PlainData = {}
    if sizes := _sizes(spec, guarantee):
        fixed["n"] = sizes[0] if len(sizes) == 1 else list(sizes)
    if spec.alpha is not None:
        fixed["alpha"] = spec.alpha
    if spec.shuffle_n is not None:
        fixed["shuffle_n"] = spec.shuffle_n
    if not isinstance(guarantee, Coverage | SetSize):
        fixed["neighbours"] = str(spec.neighbours)
    return fixed | guarantee.parameters


def _short(spec: CheckSpec, guarantee: Guarantee) -> str:
    if isinstance(guarantee, Coverage):
        confident = (
            "" if guarantee.confidence == 1 else f",confidence={all_digits(guarantee.confidence)}"
        )
        each = "class-" if guarantee.per_class else ""
        return f"{each}coverage>={all_digits(guarantee.at_least)}{confident}"
    if isinstance(guarantee, SetSize):
        return f"set-size<={all_digits(guarantee.at_most)}"
    values = ",".join(f"{name}={all_digits(value)}" for name, value in guarantee.parameters.items())
    shuffled = "" if spec.shuffle_n is None else f",shuffled={spec.shuffle_n}"
    return f"{type(guarantee).__name__.lower()}:{values}{shuffled}"


def _promise(spec: CheckSpec, guarantee: Guarantee) -> str:
    if isinstance(guarantee, Coverage):
        how = (
            "on average over calibration data and noise"
            if guarantee.confidence == 1
            else f"with probability {all_digits(guarantee.confidence)} over calibration data "
            "and noise"
        )
        of = "of each class " if guarantee.per_class else ""
        return f"{spec.name} covers at least {all_digits(guarantee.at_least)} {of}{how}"
    if isinstance(guarantee, SetSize):
        most = all_digits(guarantee.at_most)
        return f"The sets of {spec.name} hold at most {most} labels on average over even rows"
    if spec.shuffle_n is not None:
        return (
            f"The shuffled reports of {spec.shuffle_n} users of {spec.name} are "
            f"{_words(guarantee)}, where one user's value is replaced by another"
        )
    return f"{spec.name} is {_words(guarantee)}, where {_DIFFERENCES[spec.neighbours]}"


def _words(guarantee: PrivacyGuarantee) -> str:
    values = {name: all_digits(value) for name, value in guarantee.parameters.items()}
    if isinstance(guarantee, LocalDP):
        return f"{values['epsilon']}-locally differentially private"
    if isinstance(guarantee, ZCDP):
        return f"{values['rho']}-zCDP"
    if isinstance(guarantee, RenyiDP):
        return f"({values['alpha']}, {values['epsilon']})-Rényi differentially private"
    if isinstance(guarantee, GaussianDP):
        return f"{values['mu']}-Gaussian differentially private"
    if isinstance(guarantee, ApproxDP):
        return f"({values['epsilon']}, {values['delta']})-differentially private"
    return f"{values['epsilon']}-differentially private"


def _setting(spec: CheckSpec, guarantee: Guarantee) -> str:
    sizes = _sizes(spec, guarantee)
    at = f", at n = {', '.join(map(str, sizes))}" if sizes else ""
    if sizes and spec.target.kind.takes is Takes.CLIENTS:
        at += f" scores of one law in equal parts of {spec.clients} clients"
    return f"{at}, provided that {spec.hypotheses}" if spec.hypotheses else at


def _sizes(spec: CheckSpec, guarantee: Guarantee) -> tuple[int, ...]:
    """Return the sizes that a claim speaks of; a claim of privacy speaks of all."""
    of_sets = isinstance(guarantee, Coverage | SetSize)
    return (spec.n or (COVERAGE_SIZE,)) if of_sets else ()


def _with_cause(outcome: Outcome, target: Target, context: Context) -> Outcome:
    """Say beside a refutation that the noise is the same in every call, where it is."""
    if outcome.verdict is not Verdict.REFUTED or "value" not in outcome.witness:
        return outcome
    rng = replace(context, name=f"{context.name}, frozen").rng()
    cause = target.frozen(input_from_data(outcome.witness["value"]), rng=rng)
    if not cause:
        return outcome
    witness = {_CAUSE: cause} | outcome.witness
    return replace(outcome, witness=witness, note=f"{cause} {outcome.note}")


def _with_cut(check: TargetCheck, outcome: Outcome, calls: int) -> Outcome:
    """Say beside an outcome that a budget has cut its calls, where it does not refute."""
    cut = "" if outcome.verdict is Verdict.REFUTED else cut_words(check, calls)
    return replace(outcome, note=f"{outcome.note} {cut}") if cut else outcome


SUITE = Suite(
    summary="What third-party code claims: the suite of 'dpcp-audit check'.",
    rows=rows_of_targets,
    takes=frozenset({"targets"}),
    scaled=False,
)
