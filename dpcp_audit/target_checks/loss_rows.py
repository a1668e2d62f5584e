"""Rows of what a target loses: followed by a trace, or estimated from outputs.

A trace follows the noise on the worst of the pairs that are tried; an estimate has a row for each
claim, or one of a target that claims nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.pair_estimate import LossEstimation
from dpcp_audit.audits.traced_privacy import Scope
from dpcp_audit.target_checks.source_proofs import SourceProof, answers
from dpcp_audit.target_checks.target_rows import require_once, row_for
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch, traced_target
from dpcp_audit.target_checks.tried_inputs import pair_space
from dpcp_audit.targets import Takes, TargetError
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.words.checks import Row, Sampled, Suite
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import PrivacyGuarantee
from dpcp_audit.words.options import Group, option, options_of
from dpcp_audit.words.results import Claim, Source, Verdict
from dpcp_audit.words.values import Whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.trace_search import TraceResult
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Outcome, PlainData


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
