"""From what is to be checked of targets to rows, each with the check that decides it.

A claim has a row; so has what a target loses, by a trace or by estimates from outputs. A trace
follows the noise on the worst of the pairs that are tried; an estimate has a row for each claim, or
one of a target that claims nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits import blackbox
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.exact import exact_outcome, worst_measurement
from dpcp_audit.audits.pair_estimate import LossEstimation
from dpcp_audit.audits.search.record_pairs import (
    ShuffledPairs,
    ShuffledReports,
    nothing_merged,
    shuffled_pairs,
)
from dpcp_audit.audits.traced_privacy import Scope
from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE, Unit
from dpcp_audit.target_checks.planned_calls import pair_space
from dpcp_audit.target_checks.target_claims import PrivacyClaim, closed, reports_labels
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch, traced_target
from dpcp_audit.targets import Kind, Takes, TargetError
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.targets.kinds import tried
from dpcp_audit.words.checks import Row, Sampled, Suite
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.formatting import all_digits
from dpcp_audit.words.guarantees import (
    Coverage,
    PrivacyGuarantee,
    Relation,
)
from dpcp_audit.words.options import Group, option, options_of
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import INDEPENDENT_DRAWS, Claim, Source, Standing, Verdict
from dpcp_audit.words.values import Pair, Whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.search.record_pairs import Change
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.target_checks.check_options import Guarantee
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.target_claims import TargetClaim
    from dpcp_audit.target_checks.trace_search import TraceResult
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.answers import Drawable
    from dpcp_audit.words.checks import Check, Context
    from dpcp_audit.words.evidence import Computation
    from dpcp_audit.words.results import Outcome, PlainData
    from dpcp_audit.words.validate import FloatArray


_DIFFERENCES = {
    Relation.SUBSTITUTION: "one {unit} is replaced by another",
    Relation.ADD_REMOVE: "one {unit} is added or taken away",
    Relation.ONE_LABEL: "one {unit} changes its label",
}


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
            raise UsageError(f"{id_} is claimed twice", hint="leave one out")
    return rows


def _rows(spec: CheckSpec) -> list[Row]:
    return [row_for(spec, guarantee, check_of(spec, guarantee)) for guarantee in spec.guarantees]


def check_of(spec: CheckSpec, guarantee: Guarantee) -> TargetClaim:
    """Return the check of one of a target's claims; what it needs is imported here alone."""
    if isinstance(guarantee, Coverage):
        from dpcp_audit.target_checks.target_claims import TargetCoverage  # noqa: PLC0415

        return TargetCoverage(spec=spec, guarantee=guarantee)
    from dpcp_audit.target_checks.target_claims import (  # noqa: PLC0415
        ProvedAlone,
        TargetPrivacy,
    )

    if spec.group > 1:
        return ProvedAlone(spec=spec, guarantee=guarantee)
    if spec.shuffle_n is not None:
        return _TargetShuffled(spec=spec, guarantee=guarantee)

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
        assumptions=INDEPENDENT_DRAWS,
        parameters=_parameters(spec, guarantee),
        location=spec.location,
    )
    return Row(claim=claim, check=check)


def _parameters(spec: CheckSpec, guarantee: Guarantee) -> PlainData:
    """Return the parameters of the claim; a guarantee's own α is the order of its divergence."""
    fixed: PlainData = {}
    if sizes := _sizes(spec, guarantee):
        fixed["n"] = sizes[0] if len(sizes) == 1 else list(sizes)
    if spec.target.kind.takes in {Takes.SCORES, Takes.CLIENTS}:
        fixed["bounds"] = Pair().as_data(spec.target.bounds)
    if spec.alpha is not None:
        fixed["alpha"] = spec.alpha
    if spec.shuffle_n is not None:
        fixed["shuffle_n"] = spec.shuffle_n
    if spec.group > 1 and not isinstance(guarantee, Coverage):
        fixed["group"] = spec.group
    if not isinstance(guarantee, Coverage):
        fixed["neighbours"] = str(spec.neighbours)
    return fixed | guarantee.parameters


def _short(spec: CheckSpec, guarantee: Guarantee) -> str:
    if isinstance(guarantee, Coverage):
        confident = (
            "" if guarantee.confidence == 1 else f",confidence={all_digits(guarantee.confidence)}"
        )
        each = "class-" if guarantee.per_class else ""
        return f"{each}coverage>={all_digits(guarantee.at_least)}{confident}"
    values = ",".join(f"{name}={all_digits(value)}" for name, value in guarantee.parameters.items())
    shuffled = "" if spec.shuffle_n is None else f",shuffled={spec.shuffle_n}"
    group = "" if spec.group == 1 else f",group={spec.group}"
    return f"{type(guarantee).__name__.lower()}:{values}{shuffled}{group}"


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
    if spec.shuffle_n is not None:
        return (
            f"The shuffled reports of {spec.shuffle_n} users of {spec.name} are "
            f"{_words(guarantee)}, where one user's value is replaced by another{_together(spec)}"
        )
    differs = _DIFFERENCES[spec.neighbours].format(unit=_unit(spec))
    return f"{spec.name} is {_words(guarantee)}, where {differs}{_together(spec)}"


def _together(spec: CheckSpec) -> str:
    """Return the number of such differences between neighbours, if there is more than one."""
    return "" if spec.group == 1 else f", up to {spec.group} times"


def _unit(spec: CheckSpec) -> str:
    """Return the difference between two neighbours, in words."""
    if spec.target.kind.takes is Takes.VALUE:
        return "user's value"
    if spec.target.kind.takes is Takes.CLIENTS and spec.unit is Unit.RECORD:
        return "record of a client"
    return str(spec.unit)


def _words(guarantee: PrivacyGuarantee) -> str:
    values = {name: all_digits(value) for name, value in guarantee.parameters.items()}
    return guarantee.adjective.format(**values)


def _setting(spec: CheckSpec, guarantee: Guarantee) -> str:
    sizes = _sizes(spec, guarantee)
    at = f", at n = {', '.join(map(str, sizes))}" if sizes else ""
    if sizes and spec.target.kind.takes is Takes.CLIENTS:
        at += f" scores of one law in equal parts of {spec.clients} clients"
    return f"{at}, assuming: {spec.hypotheses}" if spec.hypotheses else at


def _sizes(spec: CheckSpec, guarantee: Guarantee) -> tuple[int, ...]:
    """Return the sizes that a claim speaks of; a claim of privacy speaks of all."""
    return (spec.n or (COVERAGE_SIZE,)) if isinstance(guarantee, Coverage) else ()


SUITE = Suite(
    summary="What third-party code claims: the suite of 'dpcp-audit check'.",
    rows=rows_of_targets,
    takes=frozenset({"targets"}),
    scaled=False,
    given_by="check",
)


_PATHS = 2000
_MERGED = " Some reports were merged: counted apart, they may show a larger loss."


@dataclass(frozen=True, slots=True, kw_only=True)
class _TargetShuffled(PrivacyClaim):
    """A claim of privacy on what n users report in random order."""

    @property
    def fewest(self) -> int:
        """Fewer than of other claims, since each output takes n reports."""
        return 2**14

    def __call__(self, context: Context) -> Outcome:
        """Enumerate one user's law and compute the shuffled one; else sample shuffled reports."""
        from dpcp_audit.target_checks.source_proofs import (  # noqa: PLC0415  (slow to import)
            proved_by_source,
        )

        with self.spec.target.open() as target:
            proved = proved_by_source(self.spec, self.guarantee, target, context)
            if proved is not None:
                return proved
            channel = self._channel(target) if self.spec.trace else None
            found = [] if channel is None else list(shuffled_pairs(channel, self._n))
            if channel is None or not found:
                return self.audit(target, self.spec.calls(self.guarantee))(context)
            merged = "" if nothing_merged(channel, self._n) else _MERGED
        return Computed(partial(self._computed, found, merged))(context)

    def audit(self, target: Drawable, calls: int) -> BlackBoxPrivacy:
        """Return the audit of an opened target's shuffled reports."""
        opened = self._unopened(calls)
        return replace(opened, sample=self._reports(target), randomness=target.randomness)

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Compute the law again, or test the event of a witness, on the code as it is."""
        if "n_samples" not in witness:
            return self(context)
        with self.spec.target.open() as target:
            return blackbox.confirm(
                witness,
                self._reports(target),
                guarantee=self.guarantee,
                context=context,
            )

    @property
    def _n(self) -> int:
        return self.spec.shuffle_n or 2

    @property
    def _values(self) -> tuple[float, ...]:
        """The users' possible values: all of them, or the ends of the bounds and points between."""
        spec = self.spec.target
        if spec.domain is not None:
            return tuple(range(spec.domain))
        low, high = tried(spec.bounds)
        return low, high, (low + high) / 2

    def _reports(self, target: Drawable) -> ShuffledReports:
        spec = self.spec.target
        counted = spec.kind is Kind.RANDOMIZER and reports_labels(target, spec.domain or 0)
        return ShuffledReports(reporter=target, n=self._n, values=self._values, counted=counted)

    def _channel(self, target: Target) -> FloatArray | None:
        """Return the law of a report on every value, shape (K, m); None where it is not finite."""
        if self.spec.target.command:
            return None
        from dpcp_audit.target_checks.trace_search import traced_target  # noqa: PLC0415  (slow)
        from dpcp_audit.tracing.draws import TraceEnd  # noqa: PLC0415
        from dpcp_audit.tracing.path_losses import require_replay  # noqa: PLC0415
        from dpcp_audit.tracing.path_tree import release_law  # noqa: PLC0415
        from dpcp_audit.tracing.target_calls import put_back  # noqa: PLC0415

        traced = traced_target(target)
        try:
            with put_back(traced.written):
                for value in self._values:
                    require_replay(traced, value, 0)
                laws = [release_law(traced, value, most=_PATHS) for value in self._values]
        except (TraceEnd, Exception):  # noqa: BLE001  (a target may raise anything)
            return None
        reports = list(dict.fromkeys(report for law in laws for report in law))
        table = [[law.get(report, -np.inf) for report in reports] for law in laws]
        return np.exp(np.array(table, dtype=np.float64))

    def _computed(self, found: list[tuple[Change, FinitePair]], merged: str) -> Computation:
        """Return the loss of the worst change; from below alone where reports are merged."""
        change, pair = max(
            found, key=lambda each: worst_measurement(self.guarantee, [each[1]])[0].value
        )
        value, neighbour, others = (self._values[each] for each in change)
        computed = exact_outcome(
            self.guarantee,
            [pair],
            witness={"value": value, "neighbour": neighbour, "others": others, "n": self._n},
            note=(
                f"Every path of one report was run, and the counts of {self._n} users' reports "
                f"enumerated, for {len(found)} changes of one value where all others agree. The "
                f"worst: {value} becomes {neighbour} among users who hold {others}.{merged}"
            ),
        )
        most = 1.0 if computed.quantity is Quantity.DELTA else math.inf
        return replace(computed, upper=most) if merged else computed

    def _unopened(self, calls: int) -> BlackBoxPrivacy:
        return BlackBoxPrivacy(
            sample=closed,
            guarantee=self.guarantee,
            pairs=ShuffledPairs(n_values=len(self._values)),
            draws=calls,
            detect=self.spec.detect,
        )


DEFAULT_PATHS = 1000
"""Paths in each direction, unless ``draws`` says otherwise."""
_EFFORT = TraceEffort(
    pairs=10,
    pilot=16,
    paths=DEFAULT_PATHS,
    tree=1000,
    pilot_tree=600,
    replays=12,
    bounded=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTrace(Sampled):
    """A target's privacy claim, decided by ``TracedPrivacy`` on the worst of the pairs tried.

    Parameters
    ----------
    spec : CheckSpec
        The target, and how it is tried.
    guarantee : PrivacyGuarantee
        The claim.
    scope : Scope
        The scope of the claim.
    paths : int or None
        Paths in each direction; None takes the check's ``draws``.
    """

    spec: CheckSpec
    guarantee: PrivacyGuarantee
    scope: Scope = Scope.RELEASE
    paths: int | None = None

    def __call__(self, context: Context) -> Outcome:
        """Open the target, choose a pair by a few paths, and trace it with others.

        Raises
        ------
        TargetError
            If the target raises, untraced as well.
        """
        with self.spec.target.open() as target:
            search = self._search(target)
            found = search.worst(context)
            if found.reason:
                search.require_answer(target, found, context)
            return self._with_proof(found, target, context)

    def _with_proof(self, found: TraceResult, target: Target, context: Context) -> Outcome:
        """Return the outcome of a trace; of what it leaves open, that of a proof from the source.

        A composition draw by draw bounds the loss of a noisy maximum or of a sparse vector far
        from above; the verifier knows better.
        """
        from dpcp_audit.target_checks.source_proofs import (  # noqa: PLC0415  (slow to import)
            SourceProof,
            answers,
        )

        traced = found.outcome
        one_report = self.spec.target.kind.takes is Takes.VALUE
        wanted = self.spec.prove and not one_report
        proof = SourceProof.of(self.spec, self.guarantee, target) if wanted else None
        left_open = traced is None or traced.verdict is Verdict.INCONCLUSIVE
        asked = left_open and self.scope is Scope.RELEASE
        if proof is not None and proof.proved and asked and answers(self.spec, target, context):
            return _proved_beside(proof.outcome(), traced)
        if traced is None:
            raise TargetError(f"{self.spec.name} cannot be followed: {found.reason}")
        if proof is None or (proof.proved and not asked):  # it is of the release alone
            return traced
        return proof.beside(traced)

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Run the pair and the paths of a witness again, on the code as it is."""
        with self.spec.target.open() as target:
            return self._search(target).again(witness, context)

    def _search(self, target: Target) -> TraceSearch:
        effort = replace(_EFFORT, paths=self.paths or self.spec.draws or DEFAULT_PATHS)
        return TraceSearch.of(self.spec, self.guarantee, target, effort=effort, scope=self.scope)


_COUNTED = (
    "The trace counts the loss of each draw as if it were seen, which bounds the loss of the "
    "release from above; the proof bounds it more tightly."
)


def _proved_beside(proved: Outcome, traced: Outcome | None) -> Outcome:
    """Return the proof's outcome, with the tables and the note of a trace that decides nothing."""
    if traced is None:
        return proved
    unfollowed = traced.traced is not None and traced.traced.unfollowed
    note = f"{proved.note} {traced.note if unfollowed else _COUNTED}"
    return replace(proved, note=note, tables=traced.tables, traced=traced.traced)


def rows_of_traces(targets: Sequence[CheckSpec] = (), scope: str = Scope.RELEASE) -> list[Row]:
    """Return one row for each privacy claim of each target, in their order.

    Raises
    ------
    UsageError
        If a target claims no privacy, or one thing twice.
    """
    return require_once([row for spec in targets for row in _traced_rows(spec, Scope(scope))])


def _traced_rows(spec: CheckSpec, scope: Scope) -> list[Row]:
    if not spec.privacy:
        raise UsageError(
            f"{spec.name} claims no privacy: there is nothing to trace", hint="such as --pure-dp 1"
        )
    return [row_of_trace(spec, guarantee, scope) for guarantee in spec.privacy]


def row_of_trace(
    spec: CheckSpec, guarantee: PrivacyGuarantee, scope: Scope, paths: int | None = None
) -> Row:
    """Return the row of one claim of privacy; its parameters name the scope."""
    check = TargetTrace(spec=spec, guarantee=guarantee, scope=scope, paths=paths)
    row = row_for(spec, guarantee, check)
    parameters = row.claim.parameters | {"scope": str(scope)}
    return replace(row, claim=replace(row.claim, parameters=parameters))


def without_coverage(spec: CheckSpec, draws: int = DEFAULT_PATHS) -> CheckSpec:
    """Return a check without its claim of coverage, and with a number of paths or outputs."""
    for name, given in {"shuffle_n": spec.shuffle_n is not None, "group": spec.group > 1}.items():
        if given:
            raise UsageError(
                f"{name} is for checks, and not for estimates or traces", hint=f"leave {name} out"
            )
    privacy = tuple(each for each in spec.guarantees if isinstance(each, PrivacyGuarantee))
    return replace(spec, guarantees=privacy, draws=spec.draws or draws)


TRACES = Suite(
    summary="What third-party code spends of its privacy budget: the suite of 'dpcp-audit trace'.",
    rows=rows_of_traces,
    takes=frozenset({"targets", "scope"}),
    scaled=False,
    given_by="trace",
)


ESTIMATE_DRAWS = 20_000
"""Outputs in all, unless an option says otherwise."""
FALSE_ALARM = 0.05
"""The probability that any interval is wrong, unless an option says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _EstimateOptions:
    """The options of estimates alone."""

    paths: int = field(
        default=1000,
        metadata=option(
            Whole(at_least=0, at_most=10**6),
            "paths to trace in either direction for upper ends; 0 traces nothing",
            group=Group.RUN,
            metavar="N",
        ),
    )


ESTIMATE_OPTIONS = options_of(_EstimateOptions)
"""Every option of estimates alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TargetLoss(Sampled):
    """The loss of a target on the worst pair found; the target is opened where the check runs."""

    spec: CheckSpec
    guarantee: PrivacyGuarantee | None
    paths: int

    def __call__(self, context: Context) -> Outcome:
        """Open the target and estimate its loss."""
        with self.spec.target.open() as target:
            return estimation(self.spec, target, self.guarantee, self.paths)(context)


def estimation(
    spec: CheckSpec,
    target: Target,
    guarantee: PrivacyGuarantee | None,
    paths: int,
) -> LossEstimation:
    """Return the estimation of an open target's loss; a command cannot be traced."""
    able = spec.trace and isinstance(target.caller, FunctionCaller)
    return LossEstimation(
        sample=target,
        pairs=pair_space(spec),
        guarantee=guarantee,
        draws=spec.draws or ESTIMATE_DRAWS,
        randomness=target.randomness,
        traced=traced_target(target) if able else None,
        paths=paths,
    )


def rows_of_estimates(targets: Sequence[CheckSpec] = (), paths: int = 1000) -> list[Row]:
    """Return one row for each privacy claim of each target, and one for a target without."""
    return require_once([row for spec in targets for row in _estimated_rows(spec, paths)])


def _estimated_rows(spec: CheckSpec, paths: int) -> list[Row]:
    if not spec.privacy:
        check = _TargetLoss(spec=spec, guarantee=None, paths=paths)
        return [Row(claim=unclaimed(spec.name, spec), check=check)]
    return [
        row_for(spec, each, _TargetLoss(spec=spec, guarantee=each, paths=paths))
        for each in spec.privacy
    ]


def unclaimed(name: str, spec: CheckSpec | None = None) -> Claim:
    """Return a stand-in for the claim of a target that claims no privacy."""
    return Claim(
        id=f"{name}[loss]",
        statement=f"What {name} loses of its input's privacy, on the worst pair found.",
        source=Source(paper=name, section="nothing is claimed"),
        expected=None,
        subject=name,
        parameters={} if spec is None else {"neighbours": str(spec.neighbours)},
        location=None if spec is None else spec.location,
    )


def privacy_alone(spec: CheckSpec) -> CheckSpec:
    """Return a check without its claim of coverage, and with a number of draws.

    Raises
    ------
    UsageError
        If it has a budget: estimates take draws.
    """
    if spec.budget is not None:
        raise UsageError("estimate takes draws=, not budget=", hint="give draws")
    return without_coverage(spec, ESTIMATE_DRAWS)


ESTIMATES = Suite(
    summary="How much third-party code loses: the suite of 'dpcp-audit estimate'.",
    rows=rows_of_estimates,
    takes=frozenset({"targets", "paths"}),
    scaled=False,
    given_by="estimate",
)
