"""A theorem object: what it says, the check that tests it, and how tight its bound is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from dpcp_audit.stats.roots import turn
from dpcp_audit.theorems.theorem import FailureRate
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.formatting import in_setting, rounded_down, rounded_up
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Source, Standing, Table, TableColumn, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData

    class Scalable(Protocol):
        """A theorem whose correction can be multiplied, and whose failures can be computed."""

        @property
        def allowed_failure(self) -> float:
            """The δ that the theorem allows."""
            ...

        @property
        def correction_name(self) -> str:
            """The correction, as its letter."""
            ...

        def scaled(self, factor: float) -> Scalable:
            """Return the theorem with its correction multiplied."""
            ...

        def failure_probability(self) -> float:
            """Compute the failure probability."""
            ...

        def exact(self) -> Computation:
            """Compute the failure probability, as evidence."""
            ...


_MOST = 2.0
"""The largest multiple that is tried."""
_COARSE = 32
"""Steps of the grid that is searched downward for a multiple that fails."""
_HALVINGS = 4
"""The number of times that a step of that grid is halved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tightness:
    """The tightness of a theorem in one case.

    Parameters
    ----------
    correction : str
        Letter of the correction that is added to the level for the theorem to hold: "Δ_S".
    failure, allowed : float
        The true failure probability, and the δ that the theorem allows.
    multiple : float
        The smallest multiple of the correction at which it would still hold; 0 where it would
        without any; infinity where none that was tried would do.
    """

    correction: str
    failure: float
    allowed: float
    multiple: float

    @property
    def ratio(self) -> float:
        """The failure probability over δ: 1 where the theorem cannot be improved."""
        return self.failure / self.allowed

    @property
    def shown(self) -> str:
        """The smallest multiple, as tables have it."""
        none = math.isinf(self.multiple)
        return f"none up to {_MOST:g}" if none else f"{self.correction} × {self.multiple:.3g}"

    @property
    def words(self) -> str:
        """The result in a phrase: "Δ_S × 0.31 would do"."""
        if math.isinf(self.multiple):
            return f"No multiple of {self.correction} up to {_MOST:g} would do."
        return f"{self.correction} × {self.multiple:.2f} would do."

    def table(self) -> Table:
        """Return the numbers as a table of one row."""
        return tightness_table({"here": self})


def tightness_table(cases: dict[str, Tightness]) -> Table:
    """Return the tightness of several cases, a row for each by its name."""
    found = list(cases.values())
    return Table(
        title="How tight the theorem is",
        columns=[
            TableColumn(name="case", texts=list(cases)),
            TableColumn(name="failure probability", values=[each.failure for each in found]),
            TableColumn(name="allowed", values=[each.allowed for each in found]),
            TableColumn(name="failure/allowed", values=[each.ratio for each in found]),
            TableColumn(
                name="smallest multiple that would do",
                texts=[each.shown for each in found],
                values=[each.multiple for each in found],
            ),
        ],
        notes=[
            "The multiple scales the correction, in the bound and in the algorithm that uses it."
        ],
    )


def least_multiple(
    failure: Callable[[float], float], allowed: float, *, most: float = _MOST
) -> float:
    """Return the multiple, to ``most``/512, from which on the failure probability is allowed.

    Scores that follow the correction may fail less often without any than with a little: a grid
    is searched from ``most`` downward for a multiple that fails, and the step above it bisected.
    The result is a multiple that would do, as every larger one of the grid; or infinity, where
    ``most`` itself fails.
    """
    _validate.open_unit(allowed=allowed)
    grid = [most * step / _COARSE for step in range(_COARSE, -1, -1)]
    low = next((multiple for multiple in grid if failure(multiple) > allowed), None)
    if low is None:
        return 0.0
    if low == most:
        return math.inf
    step = most / _COARSE
    return turn(lambda by: failure(by) <= allowed, low, low + step, steps=_HALVINGS).holds


def tightness_of(theorem: Scalable) -> Tightness:
    """Compute how tight a theorem is in one case.

    Examples
    --------
    >>> from dpcp_audit.laws.populations import Uniform
    >>> from dpcp_audit.theorems.ldpcp import ScoreTheorem
    >>> case = ScoreTheorem(population=Uniform(), n=11_080, epsilon=4.0, delta=0.1)
    >>> print(tightness_of(case).words)
    Δ_S × 0.13 would do.
    """
    allowed = theorem.allowed_failure
    return Tightness(
        correction=theorem.correction_name,
        failure=theorem.failure_probability(),
        allowed=allowed,
        multiple=least_multiple(lambda by: theorem.scaled(by).failure_probability(), allowed),
    )


def failure_evidence(
    theorem: Stated,
    *,
    note: str,
    error: float = 1e-9,
    slack: float = 0.0,
    detail: str = "",
    ends: tuple[float, float] | None = None,
) -> Computation:
    """Return a computed failure probability, however small, with its numerical error.

    Parameters
    ----------
    error : float
        Relative numerical error, on both sides.
    slack : float
        Largest distance of the truth from the number, on both sides.
    detail : str
        Words for the failures that are counted, if not all.
    ends : tuple of float, optional
        Bounds on the number, before its error and slack: the number itself by default.
    """
    case: Any = theorem
    value = case.failure_probability()
    least, most = ends or (value, value)
    return Computation(
        quantity=theorem.failure,
        value=value,
        claimed=case.allowed_failure,
        lower=max(0.0, least * (1 - error) - slack),
        upper=min(1.0, most * (1 + error) + slack),
        detail=detail,
        witness=case.parameters | {"limits": case.bounds},
        note=note,
    )


def with_tightness(theorem: Scalable) -> Computation:
    """Compute the failure probability, and how tight the theorem is."""
    computed = theorem.exact()
    tightness = tightness_of(theorem)
    return replace(
        computed,
        note=f"{computed.note} {tightness.words}".strip(),
        tables=(*computed.tables, tightness.table()),
    )


_DERIVED = frozenset({"window_width", "tau", "limits", "scores"})
"""A theorem's parameters that are not inputs, for its witness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A theorem in words.

    Parameters
    ----------
    words, formula : str
        The statement, in words and as a formula.
    source : Source
        Source of the statement.
    assumptions : str
        The assumptions; outside of them the checks report what happens.
    bound : str
        The bound as a function of the parameters, with its unit and explicit constant.
    """

    words: str
    formula: str
    source: Source
    assumptions: str
    bound: str


class Stated:
    """A theorem object: what it says, the check that tests it, and its planted errors.

    A subclass is a dataclass with ``bounds``, ``parameters`` and ``allowed_failure``. Where its
    failure probability is computed, it sets ``computed`` and defines ``failure_probability`` and
    ``exact``; else ``trials``.
    """

    __slots__ = ()
    about: ClassVar[Statement]
    correction_name = "the correction"
    """The correction that its bound adds, as a letter."""
    failure = Quantity.COVERAGE_FAILURE
    """The quantity of the failure probability."""

    @property
    def says(self) -> Statement:
        """The statement in this case; a variant has its own words."""
        return self.about

    @property
    def computed(self) -> bool:
        """True if ``check`` computes the failure probability."""
        return False

    def scaled(self, factor: float) -> Self:
        """Return the theorem with its correction multiplied by ``factor`` ≥ 0."""
        theorem: Any = self
        return cast("Self", replace(theorem, correction=factor))

    def check(self, *, n_trials: int = 20_000) -> Check:
        """Return the best check of the failure probability.

        Computed where its law is known, with how tight the theorem is; else sampled, with
        ``n_trials`` trials at effort 1.
        """
        theorem: Any = self
        if self.computed:
            return Computed(partial(with_tightness, theorem))
        return FailureRate(theorem=theorem, n_trials=n_trials)


def claim_of(
    theorem: Stated,
    id_: str,
    expected: Verdict | None,
    *,
    subject: str,
    standing: Standing = Standing.PAPER,
    note: str = "",
    source: Source | None = None,
    parameters: PlainData | None = None,
) -> Claim:
    """Return the claim of a theorem in one case, in the theorem object's own words.

    Parameters
    ----------
    note : str
        Words that follow the statement and say what it leaves open, such as the origin of the case.
    source : Source, optional
        Source of the statement, if not that of the theorem object.
    parameters : dict, optional
        Parameters that the check fixes beside the theorem's own, or in their place.
    """
    says = theorem.says
    vacuous = promises_nothing(theorem)
    fixed = inputs_of(theorem) | (parameters or {})
    words = f"{says.words.rstrip('.')}, {note}." if note else says.words
    return Claim(
        id=id_,
        statement=f"{vacuous} {in_setting(words, fixed)}".lstrip(),
        source=source or says.source,
        expected=expected,
        formula=says.formula,
        subject=subject,
        standing=standing,
        assumptions=says.assumptions,
        parameters=fixed,
        vacuous=vacuous,
    )


def promises_nothing(theorem: Stated) -> str:
    """Return the reason why a coverage theorem promises nothing, as a sentence; else nothing.

    Its bounds hold of every coverage in [0, 1], or its algorithm asks for a level above 1, which
    the set of all labels meets and no calibration can tell from any other level above 1.
    """
    if getattr(theorem, "statistic", "") != "coverage":
        return ""
    case: Any = theorem
    lower, *upper = case.bounds.values()
    if lower <= 0 and all(bound >= 1 for bound in upper):
        most = "".join(f" and ≤ {rounded_up(bound)}" for bound in upper)
        least = rounded_down(lower).replace("-", "−")
        return f"Vacuous: it promises coverage ≥ {least}{most}, which every set satisfies."
    search: Any = getattr(case, "mechanism", None)
    level = 1 - search.alpha + search.window_width if getattr(search, "starred", False) else 0.0
    if level > 1:
        return f"Vacuous: it is calibrated at {level:.3g}, above 1, as the set of all labels is."
    return ""


def inputs_of(theorem: Stated) -> PlainData:
    """Return the parameters of a theorem's case that no other parameters give."""
    case: Any = theorem
    return {name: v for name, v in case.parameters.items() if name not in _DERIVED}
