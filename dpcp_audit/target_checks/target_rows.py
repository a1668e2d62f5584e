"""From what is to be checked of targets to rows, one a claim, with the check that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.target_checks.given_inputs import COVERAGE_SIZE, Unit
from dpcp_audit.target_checks.target_claims import ProvedAlone, TargetCoverage, TargetPrivacy
from dpcp_audit.targets import Takes
from dpcp_audit.words.checks import Row, Suite
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.formatting import all_digits
from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee, Relation
from dpcp_audit.words.results import INDEPENDENT_DRAWS, Claim, Source, Standing, Verdict
from dpcp_audit.words.values import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.target_checks.check_options import Guarantee
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.target_claims import TargetClaim
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData


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
    """Return the check of one of a target's claims."""
    if isinstance(guarantee, Coverage):
        return TargetCoverage(spec=spec, guarantee=guarantee)
    if spec.group > 1:
        return ProvedAlone(spec=spec, guarantee=guarantee)
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
