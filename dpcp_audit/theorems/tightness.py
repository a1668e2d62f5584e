"""The tightness of a theorem: its failure probability against δ, and what correction would do."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import Computation
from dpcp_audit.words.results import Table, TableColumn

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dpcp_audit.words.quantities import Quantity
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

    class ExactTheorem(Scalable, Protocol):
        """One whose failures, bounds and case evidence can tell of."""

        @property
        def failure(self) -> Quantity:
            """The event that the failure probability is of."""
            ...

        @property
        def bounds(self) -> dict[str, float]:
            """The bounds on the statistic, by name."""
            ...

        @property
        def parameters(self) -> PlainData:
            """The case, as plain data."""
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
        What is added to the level for the theorem to hold, as its letter: "Δ_S".
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
    high = low + most / _COARSE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if failure(middle) <= allowed:
            high = middle
        else:
            low = middle
    return high


def tightness_of(theorem: Scalable) -> Tightness:
    """Compute how tight a theorem is in one case.

    Examples
    --------
    >>> from dpcp_audit.laws.populations import Uniform
    >>> from dpcp_audit.theorems.ldpcp_scores import ScoreTheorem
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
    theorem: ExactTheorem,
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
        How far the truth may lie from the number beside that, on both sides.
    detail : str
        Which failures are counted, if not all.
    ends : tuple of float, optional
        Bounds on the number, before its error and slack: the number itself by default.
    """
    value = theorem.failure_probability()
    least, most = ends or (value, value)
    return Computation(
        quantity=theorem.failure,
        value=value,
        claimed=theorem.allowed_failure,
        lower=max(0.0, least * (1 - error) - slack),
        upper=min(1.0, most * (1 + error) + slack),
        detail=detail,
        witness=theorem.parameters | {"limits": theorem.bounds},
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
