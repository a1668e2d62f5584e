"""Options of checks: what a target claims, what was learned before it, and how checks are run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dpcp_audit.targets import Kind, Takes, TargetSpec, kinds_that
from dpcp_audit.words import options
from dpcp_audit.words.errors import UsageError, shown
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    Coverage,
    GaussianDP,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.words.options import (
    Group,
    Option,
    Spelling,
    dashed,
    not_of,
    read,
)
from dpcp_audit.words.results import SourceLocation
from dpcp_audit.words.values import (
    KeywordTable,
    Probability,
    Text,
    Value,
    Whole,
    is_sequence,
    is_whole,
    number,
    number_of,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_OF_ALL = "claim coverage over all of them"
_NO_SETS: dict[str, str] = {
    Kind.VECTOR: "return the threshold that defines the sets (kind quantile)",
    Kind.RANDOMIZER: "claim it for the threshold made from the reports (kind quantile)",
    Kind.LOCAL: "claim it for the threshold made from the reports (kind quantile)",
    Kind.MODEL: (
        "hand over an object with fit and predict_set (kind predictor), "
        "or with predict_interval (kind regression)"
    ),
}
_NO_LABELS = f"a score has no label: take probabilities and labels (kind calibrator), or {_OF_ALL}"
_NO_CLASSES: dict[str, str] = {
    Kind.QUANTILE: _NO_LABELS,
    Kind.FEDERATED: _NO_LABELS,
    Kind.REGRESSION: f"outcomes have no classes: {_OF_ALL}",
}
_VALUES = kinds_that(take=Takes.VALUE)


def _others(kinds: Iterable[Kind], advice: str) -> dict[str, str]:
    return {kind: advice for kind in Kind if kind not in kinds}


REFUSED: Mapping[str, Mapping[str, str]] = {
    "local_dp": _others(
        _VALUES, "it is about one user's report: use PureDP (pure-dp) for a data set"
    ),
    "coverage_at_least": _NO_SETS,
    "class_conditional_coverage": _NO_SETS | _NO_CLASSES,
    "with_confidence": _NO_SETS,
    "shuffle_n": _others(
        _VALUES, "hand over the function of one user's value (kind randomizer or local)"
    ),
}
"""For each option that claims something: the kinds without a test of it, and the advice."""


def kinds_for(claim: str) -> tuple[Kind, ...]:
    """Return the kinds of which a claim is tested.

    Parameters
    ----------
    claim : str
        The name of the option that claims it.

    Examples
    --------
    >>> [str(kind) for kind in kinds_for("class_conditional_coverage")]
    ['calibrator', 'predictor']
    """
    return tuple(kind for kind in Kind if kind not in REFUSED[claim])


Guarantee = PrivacyGuarantee | Coverage
_ALSO = {"eps": "epsilon"}
"""Other common names of parameters."""
COVERAGE = "coverage"
"""The name of a claim of coverage."""


@dataclass(frozen=True, slots=True)
class Claims(Value):
    """Guarantees of one class, as the parameters of one or as a list of such."""

    guarantee: type[PrivacyGuarantee]

    @property
    def size(self) -> int:
        """The number of a guarantee's parameters."""
        return len(fields(self.guarantee))  # type: ignore[arg-type]

    def read(self, value: object, name: str) -> tuple[PrivacyGuarantee, ...]:
        """Return the guarantees."""
        listed = value if is_sequence(value) else [value]
        if self.size > 1 and not any(is_sequence(item) for item in listed):
            listed = [listed]
        return tuple(self._one(item, value, name) for item in listed)

    def of_words(self, words: list[Any], name: str) -> object:  # noqa: ARG002
        """Return a list of numbers, or of lists of them."""
        if self.size == 1:
            return [number_of(word) for word in words]
        return [[number_of(word) for word in each] for each in words]

    def as_data(self, value: Iterable[PrivacyGuarantee]) -> list[Any]:
        """Return a list of parameters, or of lists of them."""
        found = [list(each.parameters.values()) for each in value]
        return found if self.size > 1 else [parameter for (parameter,) in found]

    def arguments(self, *, default: object) -> dict[str, Any]:  # noqa: ARG002
        """Return argparse's settings: repeatable, with the number of words."""
        return {"action": "append"} | ({"nargs": self.size} if self.size > 1 else {})

    def _one(self, item: object, value: object, name: str) -> PrivacyGuarantee:
        each = item if is_sequence(item) else [item]
        if len(each) != self.size:
            shape = "a number" if self.size == 1 else f"{self.size} numbers"
            raise wrong(
                name,
                f"{shape}, or a list of such",
                value,
                hint="such as 0.5, or one number for each part of the claim",
            )
        try:
            return self.guarantee(*(number(part, name) for part in each))
        except UsageError:
            raise
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error


def _privacy(
    name: str, guarantee: type[PrivacyGuarantee], help_: str, metavar: str, **others: Any
) -> Option:
    return Option(
        name=name,
        value=Claims(guarantee),
        help=help_,
        group=Group.CLAIM,
        metavar=metavar,
        python=False,
        **others,
    )


def _of_some_kinds(name: str, help_: str, metavar: str) -> Option:
    return Option(
        name=name,
        value=Probability(),
        help=help_,
        group=Group.CLAIM,
        metavar=metavar,
        kinds=kinds_for(name),
        advice=REFUSED[name],
        python=False,
    )


PRIVACY = (
    _privacy("pure_dp", PureDP, "E-differential privacy", "E"),
    _privacy("approx_dp", ApproxDP, "(E, D)-differential privacy", "E D"),
    _privacy("zcdp", ZCDP, "R-zero-concentrated differential privacy", "R"),
    _privacy(
        *("local_dp", LocalDP, "E-local differential privacy", "E"),
        kinds=kinds_for("local_dp"),
        advice=REFUSED["local_dp"],
    ),
    _privacy("renyi_dp", RenyiDP, "a Renyi divergence of order A of at most E", "A E"),
    _privacy("gaussian_dp", GaussianDP, "M-Gaussian differential privacy", "M"),
    _privacy("gdp", GaussianDP, "the same as --gaussian-dp", "M"),
)
AT_LEAST = _of_some_kinds(
    "coverage_at_least",
    "coverage of at least C, on average over calibration data, noise and test point",
    "C",
)
PER_CLASS = _of_some_kinds(
    "class_conditional_coverage", "coverage of at least C for each class", "C"
)
CONFIDENCE = _of_some_kinds(
    "with_confidence", "the coverage holds with probability P over calibration data and noise", "P"
)
_COVERAGES = (AT_LEAST, PER_CLASS)
CLAIMS = (*PRIVACY, *_COVERAGES, CONFIDENCE)


def claims_with(word: str) -> dict[str, str]:
    """Return the options that are given a parameter, or are called so, with their guarantees.

    Examples
    --------
    >>> claims_with("rho"), claims_with("nothing")
    ({'zcdp': 'ZCDP'}, {})
    """
    called = _ALSO.get(word, word)
    return {
        each.name: each.value.guarantee.__name__
        for each in PRIVACY
        if isinstance(each.value, Claims)
        and called in {each.name, *(field.name for field in fields(each.value.guarantee))}  # type: ignore[arg-type]
    }


def as_option(word: str) -> str:
    """Return the hint for a word that is no option; "" where it is no claim's parameter."""
    names = [dashed(name) for name in claims_with(word)]
    return f"it is what {' or '.join(names)} is given" if names else ""


def key_of(guarantee: Guarantee) -> str:
    """Return the key of a guarantee: the option that claims it, or "coverage".

    Examples
    --------
    >>> key_of(ZCDP(0.5)), key_of(Coverage(at_least=0.9))
    ('zcdp', 'coverage')

    Raises
    ------
    UsageError
        If its class is not among the options, as one that a user defines.
    """
    option = _option_of(guarantee)
    return COVERAGE if option is AT_LEAST else option.name


def _option_of(guarantee: Guarantee) -> Option:
    """Return the option that claims a guarantee."""
    for each in PRIVACY:
        assert isinstance(each.value, Claims)  # noqa: S101  (for the type checker)
        if type(guarantee) is each.value.guarantee:
            return each
    if type(guarantee) is not Coverage:
        raise UsageError(
            f"guarantee must be one such as ZCDP(0.5) or Coverage(0.9), got {shown(guarantee, 80)}",
            hint=_mistaken(guarantee),
        )
    return PER_CLASS if guarantee.per_class else AT_LEAST


def _mistaken(claimed: object) -> str:
    """Return advice for an object that is no guarantee, where there is any; "" elsewhere."""
    if isinstance(claimed, type):
        return "give the class its parameters"
    if is_sequence(claimed):
        return "give several one after the other"
    return "the function comes before it" if callable(claimed) else "such as dp.ZCDP(0.5)"


def guarantees_of(given: Mapping[str, object], *, required: bool = True) -> tuple[Guarantee, ...]:
    """Return the guarantees that the options claim, at least one where that is ``required``.

    Raises
    ------
    UsageError
        If an option is invalid, or if nothing is claimed.
    """
    values = read(CLAIMS, given, dashed)
    found: list[Guarantee] = [one for each in PRIVACY for one in values.get(each.name, ())]
    confidence = values.get(CONFIDENCE.name)
    covering = [
        Coverage(
            at_least=values[each.name],
            confidence=1.0 if confidence is None else confidence,
            per_class=each is PER_CLASS,
        )
        for each in _COVERAGES
        if each.name in values
    ]
    if confidence is not None and not covering:
        raise UsageError(
            f"{dashed(CONFIDENCE.name)} needs {dashed(AT_LEAST.name)}",
            hint=f"such as {dashed(AT_LEAST.name)} 0.9",
        )
    found += covering
    if required and not found:
        known = ", ".join(dashed(each.name) for each in (*PRIVACY, *_COVERAGES))
        raise UsageError("nothing is claimed", hint=f"give at least one of {known}")
    return tuple(found)


def require_claims(guarantees: Iterable[Guarantee], kind: Kind) -> None:
    """Refuse guarantees that cannot be tested of a target of this kind, or not at once."""
    covering: list[bool] = []
    for each in guarantees:
        claimed = _option_of(each)
        if claimed.kinds and kind not in claimed.kinds:
            each_class = "of each class " if claimed is PER_CLASS else ""
            raise not_of(claimed, f"{type(each).__name__} {each_class}".strip(), kind)
        _require_delta(each)
        if isinstance(each, Coverage):
            covering.append(each.per_class)
            _require_probabilities(each)
            if each.at_most != 1:
                raise UsageError(
                    f"at_most must be 1, an upper bound is not tested, got {each!r}",
                    hint="claim at_least alone",
                )
    if len(covering) > len(set(covering)):
        raise UsageError("Coverage must be claimed once", hint="make one check for each")


def _require_delta(claimed: Guarantee) -> None:
    """Refuse a δ with which another guarantee is claimed, or none."""
    delta = claimed.parameters.get("delta")
    if delta == 0:
        raise UsageError(f"delta must be above 0, got {claimed}", hint="without δ it is PureDP")
    if delta == 1:
        raise UsageError(
            f"delta must be below 1, got {claimed}",
            hint="such as 1e-6: at δ = 1 nothing is claimed",
        )


def _require_probabilities(claimed: Coverage) -> None:
    """Refuse what the options of coverage refuse; a confidence of 1 is one not given."""
    Probability().read(claimed.at_least, "at_least")
    if claimed.confidence != 1:
        Probability().read(claimed.confidence, "confidence")


def claims_as_data(guarantees: Iterable[Guarantee]) -> dict[str, Any]:
    """Return the options that claim these guarantees, as plain data."""
    data: dict[str, Any] = {}
    for each in PRIVACY:
        if claimed := [one for one in guarantees if key_of(one) == each.name]:
            data[dashed(each.name)] = each.value.as_data(claimed)
    for one in guarantees:
        if isinstance(one, Coverage):
            data[dashed((PER_CLASS if one.per_class else AT_LEAST).name)] = one.at_least
            if one.confidence < 1:
                data[dashed(CONFIDENCE.name)] = one.confidence
    return data


LEARNED = ("location", "planned")
"""The keys of a check's data."""


def location_of(place: object) -> SourceLocation | None:
    """Return the file and line of a target."""
    if place is None:
        return None
    table = KeywordTable().read(place, "location")
    options.require_known(table, ("file", "line", "text"))
    return SourceLocation(
        file=Text().read(table.get("file"), "file"),
        line=Whole().read(table.get("line"), "line"),
        text=Text().read(text, "text") if (text := table.get("text")) else "",
    )


def planned_of(data: object, claims: int) -> tuple[int, ...]:
    """Return the calls that were planned for each of so many claims."""
    calls = tuple(data) if is_sequence(data) else ()
    if (calls or data) and (len(calls) != claims or not all(is_whole(n) and n > 0 for n in calls)):
        raise wrong("planned", f"{claims} whole numbers", data)
    return calls


TARGET_OPTIONS = options.options_of(TargetSpec)


def target_of(
    given: Mapping[str, Any],
    kind: type[TargetSpec] = TargetSpec,
    *,
    spell: Spelling,
    **others: Any,
) -> TargetSpec:
    """Return the target that the given options describe.

    Parameters
    ----------
    kind : type
        Class of the target to make.
    **others
        Fields of the target that are no options.

    Raises
    ------
    UsageError
        If an option is invalid; the message names it and its value.
    """
    values = options.read(TARGET_OPTIONS, given, spell) | others
    try:
        options.require_kind(TARGET_OPTIONS, given, values["kind"], spell)
        return kind(**values)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def name_of(target: TargetSpec) -> str:
    """Return the name of a target's findings, where none is given."""
    name = target.target or " ".join(target.command)
    return "_".join(name.split()) or "target"
