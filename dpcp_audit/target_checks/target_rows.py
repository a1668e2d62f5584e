"""From what is to be checked of targets to rows: a claim each, with the check that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit._format import all_digits
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
from dpcp_audit.target_checks.units import COVERAGE_SIZE
from dpcp_audit.targets import Takes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.checks import Check
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import PlainData
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.claim_options import Guarantee
    from dpcp_audit.target_checks.target_claim import TargetClaim


_DIFFERENCES = {
    Relation.SUBSTITUTION: "one record is replaced by another",
    Relation.ADD_REMOVE: "one record is added or taken away",
    Relation.ONE_LABEL: "one record changes its label",
}
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


def check_of(spec: CheckSpec, guarantee: Guarantee) -> TargetClaim:
    """Return the check of one of a target's claims; what it needs is imported here alone."""
    if isinstance(guarantee, Coverage):
        from dpcp_audit.target_checks.target_coverage import TargetCoverage  # noqa: PLC0415

        return TargetCoverage(spec=spec, guarantee=guarantee)
    if isinstance(guarantee, SetSize):
        from dpcp_audit.target_checks.target_set_size import TargetSetSize  # noqa: PLC0415

        return TargetSetSize(spec=spec, guarantee=guarantee)
    if spec.shuffle_n is not None:
        from dpcp_audit.target_checks.target_shuffled import TargetShuffled  # noqa: PLC0415

        return TargetShuffled(spec=spec, guarantee=guarantee)
    from dpcp_audit.target_checks.target_privacy import TargetPrivacy  # noqa: PLC0415

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


SUITE = Suite(
    summary="What third-party code claims: the suite of 'dpcp-audit check'.",
    rows=rows_of_targets,
    takes=frozenset({"targets"}),
    scaled=False,
    given_by="check",
)
