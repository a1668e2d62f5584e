"""Cells of a reproduced table, and the rule by which a published number differs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import ProbabilityPool
    from dpcp_ledger.reproduce.simulation_study import Demand, Measured


PUBLISHED_RUNS = 1000


class Form(StrEnum):
    """What a printed number is compared with."""

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
        Of the reference mechanism.
    comparable : bool
        Whether ``as_written`` is the same quantity on the same data as ``printed``.
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
        """Return what the printed number is compared with, if there is anything."""
        if self.printed is None or (form is Form.WRITTEN and not self.comparable):
            return None
        return self.ours(form)

    def strain(self, form: Form, *, level: float) -> float | None:
        """Return how far the printed number is from ours, as a multiple of what errors allow.

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
        """Tell whether the printed number differs from ours; None where they are not compared.

        It differs where it is further away than c standard errors of the difference and half a
        unit of its last digit. The error is that of the printed number over its own runs and of
        ours, taken as independent and to spread no less than the printed one, or, where ours
        repeats the first K of the published draws, that of a mean over K of them. c is the
        two-sided normal or Student quantile at ``level``.
        """
        strain = self.strain(form, level=level)
        return None if strain is None else strain > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A table or figure, reproduced."""

    id: str
    title: str
    source: str
    cells: tuple[TableCell, ...]
    notes: tuple[str, ...] = field(default=())


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
class Inputs:
    """What an experiment computes its cells from.

    Parameters
    ----------
    measured : mapping
        The simulation study's trials, by demand.
    seed : int
        The run's seed.
    pools : tuple of callable
        Real scores, for experiments in kind.
    trials : int
        Trials of an experiment in kind.
    """

    seed: int
    trials: int
    pools: tuple[Callable[[], ProbabilityPool], ...]
    measured: Mapping[Demand, Measured] = field(default_factory=dict["Demand", "Measured"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A table or a figure of a paper.

    Parameters
    ----------
    demands : tuple of Demand
        What it needs of the simulation study.
    compute : callable
        From the inputs to the cells, in the paper's order.
    compared : tuple of Form
        What its printed numbers are compared with; empty where none are printed.
    notes : tuple of str
        What a reader must know to read the numbers.
    """

    id: str
    title: str
    source: str
    compute: Callable[[Inputs], list[TableCell]]
    demands: tuple[Demand, ...] = ()
    compared: tuple[Form, ...] = ()
    notes: tuple[str, ...] = ()

    def reproduce(self, inputs: Inputs) -> Reproduction:
        """Compute the cells."""
        return Reproduction(
            id=self.id,
            title=self.title,
            source=self.source,
            cells=tuple(self.compute(inputs)),
            notes=self.notes,
        )
