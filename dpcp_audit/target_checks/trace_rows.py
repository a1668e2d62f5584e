"""From what is to be checked of targets to rows whose checks follow the noise of the code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.traced_privacy import Scope
from dpcp_audit.target_checks.target_rows import require_once, row_for
from dpcp_audit.target_checks.trace_search import TraceEffort, TraceSearch
from dpcp_audit.targets import TargetError
from dpcp_audit.words.checks import Suite
from dpcp_audit.words.guarantees import PrivacyGuarantee
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context, Row
    from dpcp_audit.words.results import Outcome, PlainData


DEFAULT_PATHS = 1000
"""Paths in each direction, unless ``draws`` says otherwise."""
_EFFORT = TraceEffort(pairs=10, pilot=16, paths=DEFAULT_PATHS, tree=1000, replays=12, bounded=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTrace:
    """A target's privacy claim, against the traces of the worst of the pairs that are tried.

    Parameters
    ----------
    spec : CheckSpec
        The target, and how it is tried.
    guarantee : PrivacyGuarantee
        The claim.
    scope : Scope
        Of what the claim speaks.
    paths : int or None
        Paths in each direction; None takes the check's ``draws``.
    """

    spec: CheckSpec
    guarantee: PrivacyGuarantee
    scope: Scope = Scope.RELEASE
    paths: int | None = None

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

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
        if found.outcome is None:
            raise TargetError(f"{self.spec.name} cannot be followed: {found.reason}")
        return found.outcome

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Run the pair and the paths of a witness again, on the code as it is."""
        with self.spec.target.open() as target:
            return self._search(target).again(witness, context)

    def _search(self, target: Target) -> TraceSearch:
        effort = replace(_EFFORT, paths=self.paths or self.spec.draws or DEFAULT_PATHS)
        return TraceSearch.of(self.spec, self.guarantee, target, effort=effort, scope=self.scope)


def rows_of_traces(targets: Sequence[CheckSpec] = (), scope: str = Scope.RELEASE) -> list[Row]:
    """Return one row for each privacy claim of each target, in their order.

    Raises
    ------
    UsageError
        If a target claims no privacy, or one thing twice.
    """
    return require_once([row for spec in targets for row in _rows(spec, Scope(scope))])


def _rows(spec: CheckSpec, scope: Scope) -> list[Row]:
    if not spec.privacy:
        raise UsageError(f"{spec.name} claims no privacy: there is nothing to trace")
    return [row_of_trace(spec, guarantee, scope) for guarantee in spec.privacy]


def row_of_trace(
    spec: CheckSpec, guarantee: PrivacyGuarantee, scope: Scope, paths: int | None = None
) -> Row:
    """Return the row of one claim of privacy; its parameters name the scope."""
    check = TargetTrace(spec=spec, guarantee=guarantee, scope=scope, paths=paths)
    row = row_for(spec, guarantee, check)
    parameters = row.claim.parameters | {"scope": str(scope)}
    return replace(row, claim=replace(row.claim, parameters=parameters))


def without_coverage(spec: CheckSpec) -> CheckSpec:
    """Return a check without its claim of coverage, and with a number of paths."""
    if spec.shuffle_n is not None:
        raise UsageError("shuffle_n is for checks, and not for estimates or traces")
    privacy = tuple(each for each in spec.guarantees if isinstance(each, PrivacyGuarantee))
    return replace(spec, guarantees=privacy, draws=spec.draws or DEFAULT_PATHS)


SUITE = Suite(
    summary="What third-party code spends of its privacy budget: the suite of 'dpcp-audit trace'.",
    rows=rows_of_traces,
    takes=frozenset({"targets", "scope"}),
    scaled=False,
    given_by="trace",
)
