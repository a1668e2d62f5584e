"""Cells of a reproduced table, and the rule by which a published number differs.

A reproduction as a table: published, as published and as written, cell by cell.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import Table, TableColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.reproduce.simulation import Demand, Measured


PUBLISHED_RUNS = 1000


@cache
def printed_tables(name: str) -> dict[str, Any]:
    """Return a paper's printed tables, from a TOML file of this package."""
    file = resources.files("dpcp_ledger.reproduce").joinpath(name)
    return tomllib.loads(file.read_text(encoding="utf-8"))


class Form(StrEnum):
    """The form that a printed number is compared with."""

    PUBLISHED = "as published"
    WRITTEN = "as written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A number as the paper prints it.

    Parameters
    ----------
    value : float
    spread : float or None
        The standard deviation over runs behind "±" or in parentheses.
    decimals : int
        Digits after the point.
    runs : int
        Number of runs behind it.
    """

    value: float
    spread: float | None = None
    decimals: int = 4
    runs: int = PUBLISHED_RUNS

    @property
    def half_unit(self) -> float:
        """Half a unit of the last digit."""
        return 0.5 * 10.0**-self.decimals

    @classmethod
    def parse(cls, text: str) -> Printed:
        """Read "0.9005±0.0101"."""
        value, _, spread = text.partition("±")
        return cls(
            value=float(value),
            spread=float(spread) if spread else None,
            decimals=len(value.partition(".")[2]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproducedNumber:
    """A reproduced number; ``spread`` is its standard deviation over ``trials``, 0 if exact.

    Parameters
    ----------
    repeats : bool
        The trials are the published ones, draw for draw.
    """

    value: float
    spread: float = 0.0
    trials: int | None = None
    repeats: bool = False

    @property
    def standard_error(self) -> float:
        """The Monte-Carlo standard error; 0 where nothing was sampled."""
        return 0.0 if self.trials is None else self.spread / math.sqrt(self.trials)

    @classmethod
    def of(cls, values: FloatArray, *, repeats: bool = False) -> ReproducedNumber:
        """Average trials, shape (trials,)."""
        spread = float(np.std(values, ddof=1)) if values.size > 1 else math.inf
        return cls(value=float(np.mean(values)), spread=spread, trials=values.size, repeats=repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One number of a table, three times.

    Parameters
    ----------
    row, column : str
    printed : Printed or None
        As the paper prints it; None where it prints no number for this.
    as_published : ReproducedNumber or None
        Under the published choices.
    as_written : ReproducedNumber or None
        Number of the reference mechanism.
    comparable : bool
        True if ``as_written`` is the same quantity on the same data as ``printed``.
    note : str
        Why a number is missing or not compared.
    """

    row: str
    column: str
    printed: Printed | None = None
    as_published: ReproducedNumber | None = None
    as_written: ReproducedNumber | None = None
    comparable: bool = True
    note: str = ""

    @property
    def matches(self) -> bool | None:
        """True if mean and spread come out to the printed digit; None if not all were run."""
        if self.printed is None or self.as_published is None:
            return None
        if self.as_published.trials not in (None, self.printed.runs):
            return None
        spread = self.printed.spread
        return _rounds_to(self.as_published.value, self.printed.value, self.printed) and (
            spread is None or _rounds_to(self.as_published.spread, spread, self.printed)
        )

    def ours(self, form: Form) -> ReproducedNumber | None:
        """Return our number of one form."""
        return self.as_published if form is Form.PUBLISHED else self.as_written

    def compared(self, form: Form) -> ReproducedNumber | None:
        """Return the number that the printed one is compared with, if there is one."""
        if self.printed is None or (form is Form.WRITTEN and not self.comparable):
            return None
        return self.ours(form)

    def strain(self, form: Form, *, level: float) -> float | None:
        """Return the distance of the printed number from ours, in multiples of the allowed error.

        Parameters
        ----------
        level : float
            Probability of more than 1 though the numbers agree in mean.
        """
        ours = self.compared(form)
        if self.printed is None or ours is None:
            return None
        return abs(ours.value - self.printed.value) / _allowed(self.printed, ours, level)

    def differs(self, form: Form, *, level: float) -> bool | None:
        """Return True if the printed number differs from ours; None where they are not compared.

        It differs where it is further away than c standard errors of the difference and half a
        unit of its last digit. The error is that of the printed number over its own runs and of
        ours, taken as independent and to spread no less than the printed one, or, where ours
        repeats the first K of the published draws, that of a mean over K of them. c is the
        two-sided normal or Student quantile at ``level``.
        """
        strain = self.strain(form, level=level)
        return None if strain is None else strain > 1


def _rounds_to(value: float, printed: float, cell: Printed) -> bool:
    return abs(value - printed) <= cell.half_unit * (1 + 1e-6)


def _allowed(printed: Printed, ours: ReproducedNumber, level: float) -> float:
    """Return the largest distance that the errors of both numbers explain."""
    spread = printed.spread or 0.0
    if ours.trials is None:
        allowed = _quantile(level) * spread / math.sqrt(printed.runs) if spread else 0.0
    elif ours.repeats:
        left_out = max(0.0, 1 / ours.trials - 1 / printed.runs)
        allowed = _quantile(level) * max(spread, printed.half_unit) * math.sqrt(left_out)
    else:
        ours_at_least = max(ours.spread, spread)  # a few equal trials show no spread
        error = math.hypot(spread / math.sqrt(printed.runs), ours_at_least / math.sqrt(ours.trials))
        allowed = _quantile(level, ours.trials) * error
    return allowed + printed.half_unit * (1 + 1e-6)


def _quantile(level: float, trials: int | None = None) -> float:
    """Return the two-sided c for a normal mean, or for a Student mean of few trials."""
    from scipy import special  # noqa: PLC0415

    tail = level / 2
    if trials is None:
        return float(-special.ndtri(tail))
    return float(-special.stdtrit(trials - 1, tail)) if trials > 1 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A table or a figure of a paper.

    Parameters
    ----------
    demands : tuple of Demand
        The trials that it needs from the simulation study.
    compute : callable
        A function from the simulation study's trials, by demand, to the cells in the paper's order.
    compared : tuple of Form
        Forms of the algorithm that its printed numbers are compared with.
    notes : tuple of str
        Sentences that a reader must know to read the numbers.
    """

    id: str
    title: str
    source: str
    compute: Callable[[Mapping[Demand, Measured]], list[TableCell]]
    compared: tuple[Form, ...]
    demands: tuple[Demand, ...] = ()
    notes: tuple[str, ...] = ()


_LEGEND = (
    "Value ± standard deviation over runs (standard error). = the printed digits come out, ≠ the "
    "published number differs beyond errors, no mark: it agrees, or is not compared."
)


def cell_table(experiment: Experiment, cells: Sequence[TableCell], *, level: float) -> Table:
    """Return the cells of an experiment as a table, a row a number.

    Parameters
    ----------
    level : float
        Probability that one comparison marks numbers that agree in mean.
    """
    remarks = dict.fromkeys(cell.note for cell in cells if cell.note)
    return Table(
        title=f"{experiment.source}: {experiment.title}",
        columns=[
            TableColumn(name="row", texts=[cell.row for cell in cells]),
            TableColumn(name="number", texts=[cell.column for cell in cells]),
            _published([cell.printed for cell in cells]),
            *(_ours(cells, form, level) for form in Form),
        ],
        notes=[_counted(cells, level), _LEGEND, *experiment.notes, *remarks],
    )


def choices_table() -> Table:
    """Return the choices of the published computation that P-COQS's text does not make."""
    names = {
        "choice": "name",
        "as published": "published",
        "as written": "written",
        "source": "source",
    }
    choices: list[dict[str, str]] = printed_tables("pcoqs_choices.toml")["choice"]
    return Table(
        title="What “as published” means in P-COQS's tables",
        columns=[
            TableColumn(name=name, texts=[choice[key] for choice in choices])
            for name, key in names.items()
        ],
    )


def _published(numbers: Sequence[Printed | None]) -> TableColumn:
    return TableColumn(
        name="published",
        texts=["" if p is None else _spread(p.value, p.spread, p.decimals) for p in numbers],
        values=[math.nan if p is None else p.value for p in numbers],
        details={"spread": [_known(None if p is None else p.spread) for p in numbers]},
    )


def _ours(cells: Sequence[TableCell], form: Form, level: float) -> TableColumn:
    numbers = [cell.ours(form) for cell in cells]
    differs = [cell.differs(form, level=level) for cell in cells]
    return TableColumn(
        name=form,
        texts=[
            _text(cell, form, differing=bool(off)) for cell, off in zip(cells, differs, strict=True)
        ],
        values=[math.nan if ours is None else ours.value for ours in numbers],
        details={
            "spread": [_known(ours and ours.spread) for ours in numbers],
            "standard error": [_known(ours and ours.standard_error) for ours in numbers],
            "trials": [_known(ours and ours.trials) for ours in numbers],
            "differs": [_known(None if off is None else float(off)) for off in differs],
        },
        marked=[place for place, off in enumerate(differs) if off],
    )


def _known(number: float | ReproducedNumber | None) -> float:
    return float(number) if isinstance(number, int | float) else math.nan


def _text(cell: TableCell, form: Form, *, differing: bool) -> str:
    ours = cell.ours(form)
    if ours is None:
        return ""
    decimals = 4 if cell.printed is None else cell.printed.decimals
    text = _estimate(ours, decimals)
    if form is Form.PUBLISHED and cell.matches:
        return f"{text} ="
    return f"{text} ≠" if differing else text


def _estimate(ours: ReproducedNumber, decimals: int) -> str:
    if ours.trials is None or not math.isfinite(ours.standard_error):
        return _spread(ours.value, ours.spread or None, decimals)
    error = f"({ours.standard_error:.{decimals + 1}f})"
    return f"{_spread(ours.value, ours.spread or None, decimals)} {error}"


def _spread(value: float, spread: float | None, decimals: int) -> str:
    if spread is None or not math.isfinite(spread):
        return f"{value:.{decimals}f}"
    return f"{value:.{decimals}f} ± {spread:.{decimals}f}"


def _counted(cells: Sequence[TableCell], level: float) -> str:
    """Return a sentence on how the printed numbers fared."""
    printed = [cell for cell in cells if cell.printed is not None]
    compared = {
        form: [off for cell in printed if (off := cell.differs(form, level=level)) is not None]
        for form in Form
    }
    if not any(compared.values()):
        return f"None of the {len(printed)} printed numbers was compared."
    said = [f"{len(compared[Form.PUBLISHED])} of {len(printed)} printed numbers compared"]
    if compared[Form.PUBLISHED]:
        said.append(f"{sum(compared[Form.PUBLISHED])} differ")
    if in_full := [cell.matches for cell in printed if cell.matches is not None]:
        said.append(
            f"{sum(in_full)} of the {len(in_full)} over all published runs come out to the "
            "printed digit"
        )
    if written := compared[Form.WRITTEN]:
        said.append(f"{sum(written)} of {len(written)} differ from the algorithm as written")
    return f"{', '.join(said)}."
