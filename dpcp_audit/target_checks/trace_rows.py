"""From what is to be checked of targets to rows whose checks follow the noise of the code."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dpcp_audit._plain_data import is_sequence
from dpcp_audit.audits.traced_privacy import Scope, TracedPrivacy
from dpcp_audit.errors import UsageError
from dpcp_audit.guarantees import Coverage, PureDP
from dpcp_audit.neighbours import Neighbours, Relation
from dpcp_audit.suite import Suite
from dpcp_audit.target_checks.target_rows import require_once, row_for
from dpcp_audit.target_checks.trial_inputs import pair_space
from dpcp_audit.targets import Kind
from dpcp_audit.targets.function_calls import FunctionCaller
from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Outcome
    from dpcp_audit.rows import Row
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.tracing.pair_traces import PairTrace

_PAIRS, _PILOT = 10, 16
"""Pairs that are tried, and paths of each in either direction."""
DEFAULT_PATHS = 1000
"""Paths in each direction, unless ``draws`` says otherwise."""


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
    """

    spec: CheckSpec
    guarantee: PrivacyGuarantee
    scope: Scope = Scope.RELEASE

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Open the target, choose a pair by a few paths, and trace it with others."""
        with self.spec.target.open() as target:
            traced = traced_target(target)
            audit = partial(
                TracedPrivacy,
                target=traced,
                guarantee=self.guarantee,
                draws=self.spec.draws or DEFAULT_PATHS,
                scope=self.scope,
            )
            pair = max(self._pairs(), key=partial(self._badness, traced, context))
            return audit(neighbours=pair)(context)

    def _pairs(self) -> list[Neighbours[Any]]:
        """Return the pairs that are tried: of a small domain all, else the first ones."""
        domain = self.spec.target.domain
        if self.spec.target.kind is Kind.RANDOMIZER and domain is not None:
            values = combinations(range(min(domain, _PAIRS)), 2)
            return [
                Neighbours(relation=Relation.SUBSTITUTION, value=a, neighbour=b) for a, b in values
            ]
        listed = pair_space(self.spec).candidates()
        return [candidate.neighbours for candidate in listed[:_PAIRS]]

    def _badness(
        self, target: TracedTarget, context: Context, pair: Neighbours[Any]
    ) -> tuple[bool, float]:
        """Return how bad a pair looks by a few paths; one that cannot be followed is the last."""
        trace = trace_target(
            target, pair.value, pair.neighbour, draws=_PILOT, rng=context.rng(1), replays=1
        )
        return trace.followed, _seen_loss(self.guarantee, trace)


def _seen_loss(guarantee: PrivacyGuarantee, trace: PairTrace) -> float:
    if trace.exact is not None:
        pair = trace.exact
        return max(each.max_divergence() for each in (pair, pair.reversed()))
    if not trace.forward.size:
        return -math.inf
    if isinstance(guarantee, PureDP):
        return max(sample.epsilon(0.0) for sample in trace.samples)
    return max(sample.mean for sample in trace.samples)


def traced_target(target: Target) -> TracedTarget:
    """Return a target as a function of one input that is handed a recording generator.

    Raises
    ------
    UsageError
        If it is a command: its noise is drawn in another process.
    """
    caller = target.caller
    if not isinstance(caller, FunctionCaller):
        raise UsageError("a command cannot be traced: its noise is drawn in another process")
    size = {"size": 1} if caller.vectorised and target.kind is not Kind.RANDOMIZER else {}
    named = {"rng"} if caller.convention.rng else set[str]()
    named |= {caller.convention.seed} - {""}
    many = caller.vectorised and target.kind is Kind.RANDOMIZER

    def call(x: Any, *, rng: Any) -> Any:
        inputs: list[Any] = [*x] if is_sequence(x) else [[x] if many else x]
        keywords = dict.fromkeys(named, rng)
        return caller.function(*inputs, **keywords, **size, **caller.options)

    code = code_of(caller.function)
    home = ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
    return TracedTarget(function=call, options={}, keyword="rng", home=home)


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
    return [_row(spec, guarantee, scope) for guarantee in spec.privacy]


def _row(spec: CheckSpec, guarantee: PrivacyGuarantee, scope: Scope) -> Row:
    row = row_for(spec, guarantee, TargetTrace(spec=spec, guarantee=guarantee, scope=scope))
    parameters = row.claim.parameters | {"scope": str(scope)}
    return replace(row, claim=replace(row.claim, parameters=parameters))


def without_coverage(spec: CheckSpec) -> CheckSpec:
    """Return a check without its claim of coverage, and with a number of paths."""
    privacy = tuple(each for each in spec.guarantees if not isinstance(each, Coverage))
    return replace(spec, guarantees=privacy, draws=spec.draws or DEFAULT_PATHS)


SUITE = Suite(
    summary="What third-party code spends of its privacy budget: the suite of 'dpcp-audit trace'.",
    rows=rows_of_traces,
    takes=frozenset({"targets", "scope"}),
    scaled=False,
)
