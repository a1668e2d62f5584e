"""From targets to rows that estimate their privacy loss: one for each claim, or one without."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.estimates.pair_estimate import LossEstimation
from dpcp_audit.target_checks.target_pairs import pair_space
from dpcp_audit.target_checks.target_rows import require_once, row_for
from dpcp_audit.target_checks.trace_search import traced_target
from dpcp_audit.targets.calls import FunctionCaller
from dpcp_audit.words.checks import Row, Suite
from dpcp_audit.words.guarantees import PrivacyGuarantee
from dpcp_audit.words.options import Group, option, options_of
from dpcp_audit.words.results import Claim, Source
from dpcp_audit.words.values import Whole
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Outcome


DEFAULT_DRAWS = 20_000
"""Outputs in all, unless an option says otherwise."""
FALSE_ALARM = 0.05
"""The probability that any interval is wrong, unless an option says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """What is said of estimates alone."""

    paths: int = field(
        default=1000,
        metadata=option(
            Whole(at_least=0, at_most=10**6),
            "paths to trace in either direction for upper ends; 0 traces nothing",
            group=Group.RUN,
            metavar="N",
        ),
    )


ESTIMATE_OPTIONS = options_of(EstimateOptions)
"""Every option of estimates alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLoss:
    """The loss of a target on the worst pair found; the target is opened where the check runs."""

    spec: CheckSpec
    guarantee: PrivacyGuarantee | None
    paths: int

    @property
    def sampled(self) -> bool:
        """The intervals take from the error budget."""
        return True

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
    """Return how the loss of an open target is estimated; a command cannot be traced."""
    able = spec.trace and isinstance(target.caller, FunctionCaller)
    return LossEstimation(
        sample=target,
        pairs=pair_space(spec),
        guarantee=guarantee,
        draws=spec.draws or DEFAULT_DRAWS,
        randomness=target.randomness,
        traced=traced_target(target) if able else None,
        paths=paths,
    )


def rows_of_estimates(targets: Sequence[CheckSpec] = (), paths: int = 1000) -> list[Row]:
    """Return one row for each privacy claim of each target, and one for a target without."""
    return require_once([row for spec in targets for row in _rows(spec, paths)])


def _rows(spec: CheckSpec, paths: int) -> list[Row]:
    if not spec.privacy:
        check = TargetLoss(spec=spec, guarantee=None, paths=paths)
        return [Row(claim=unclaimed(spec.name, spec), check=check)]
    return [
        row_for(spec, each, TargetLoss(spec=spec, guarantee=each, paths=paths))
        for each in spec.privacy
    ]


def unclaimed(name: str, spec: CheckSpec | None = None) -> Claim:
    """Return what stands in for the claim of a target that claims no privacy."""
    return Claim(
        id=f"{name}[loss]",
        statement=f"What {name} loses of its input's privacy, on the worst pair found.",
        source=Source(paper=name, section="nothing is claimed"),
        expected=None,
        subject=name,
        parameters={} if spec is None else {"neighbours": str(spec.neighbours)},
        location=None if spec is None else spec.location,
    )


def without_coverage(spec: CheckSpec) -> CheckSpec:
    """Return a check without its claim of coverage, and with a number of draws.

    Raises
    ------
    UsageError
        If it has a budget: estimates take draws.
    """
    if spec.budget is not None:
        raise UsageError("estimate takes draws=, not budget=")
    if spec.shuffle_n is not None:
        raise UsageError("shuffle_n is for checks, and not for estimates or traces")
    privacy = tuple(each for each in spec.guarantees if isinstance(each, PrivacyGuarantee))
    return replace(spec, guarantees=privacy, draws=spec.draws or DEFAULT_DRAWS)


SUITE = Suite(
    summary="How much third-party code loses: the suite of 'dpcp-audit estimate'.",
    rows=rows_of_estimates,
    takes=frozenset({"targets", "paths"}),
    scaled=False,
    given_by="estimate",
)
