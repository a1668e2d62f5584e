"""``theorem`` and ``explore`` of the Python interface: a theorem at one case, and over a grid."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.faces.audits import checked_here
from dpcp_audit.faces.keywords import seed_of
from dpcp_audit.faces.result import aligned, frame_of, preformatted
from dpcp_audit.reports.charts import plot_figure
from dpcp_audit.theorems.catalogue import law_of_probabilities, law_of_scores
from dpcp_audit.theorems.theorem_case import (
    CONFIDENCE,
    SUITE_NAME,
    GridCell,
    TheoremCase,
    TheoremGrid,
)
from dpcp_audit.words import options as tables
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.formatting import DASH, number, setting
from dpcp_audit.words.options import RUN_OPTIONS
from dpcp_audit.words.results import Figure, FigureKind, Series, Table, TableColumn
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from dpcp_audit.faces.keywords import TheoremKeywords
    from dpcp_audit.faces.result import Result
    from dpcp_audit.theorems.catalogue import ScoreLaw


_QUIET_SECONDS = 5.0
"""The least time between two lines on how far a grid has come."""
_UNMET = "*"
"""Marks a case whose scores the theorem does not admit."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Exploration:
    """The coverage that a theorem promises and the one that is reached, over a parameter grid.

    Parameters
    ----------
    theorem : str
        Name of the theorem.
    source, words : str
        Source and statement of the theorem.
    varied : tuple of str
        The parameters with several values, in the order of the cells; n is the last.
    fixed : dict
        The other parameters.
    cells : tuple of GridCell
        A cell for each combination of values.
    """

    theorem: str
    source: str
    words: str
    varied: tuple[str, ...]
    fixed: Mapping[str, Any]
    cells: tuple[GridCell, ...]

    @property
    def document(self) -> dict[str, Any]:
        """The exploration as plain data, for JSON; coverages and levels are probabilities."""
        return {
            "theorem": self.theorem,
            "source": self.source,
            "words": self.words,
            "fixed": dict(self.fixed),
            "cells": [self._row(each) for each in self.cells],
        }

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with a row for each case.

        Parameters
        ----------
        library : str
            "pandas" or "polars".

        Raises
        ------
        ImportError
            If it is not installed.
        """
        rows = [self._row(each) for each in self.cells]
        return frame_of({name: [row[name] for row in rows] for name in rows[0]}, library)

    def table(self) -> Table:
        """Return the table that is printed."""
        cells = self.cells
        levels = [each.level for each in cells]
        exceeded = [each.reached.value for each in cells]
        least = [math.nan if (n := each.least_n) is None else n for each in cells]
        unmet = [each.unmet for each in cells if each.unmet]
        broken = any(each.slack < 0 and not each.vacuous for each in cells)
        return Table(
            title=f"{self.source}: {setting(self.fixed)}",
            columns=[
                *(_column(name, [each.case[name] for each in cells]) for name in self.varied),
                TableColumn(
                    name=cells[0].name,
                    texts=["vacuous" if each.vacuous else _promised(each.level) for each in cells],
                    values=levels,
                ),
                TableColumn(
                    name="exceeded",
                    texts=[
                        f"{_decimal(value)}{_UNMET if each.unmet else ''}"
                        for value, each in zip(exceeded, cells, strict=True)
                    ],
                    values=exceeded,
                ),
                TableColumn(
                    name="slack",
                    texts=[_decimal(each.slack) for each in cells],
                    values=[each.slack for each in cells],
                ),
                TableColumn(
                    name="not vacuous from n",
                    texts=[DASH if math.isnan(each) else number(each) for each in least],
                    values=least,
                ),
            ],
            notes=[
                self.words,
                self._key,
                *(["A slack below 0: the promise is not kept."] if broken else []),
                *(f"{_UNMET} Not what the theorem admits: {each}." for each in unmet[:1]),
            ],
        )

    def figure(self) -> Figure:
        """Return the slack as a heat map: columns are the last parameter's values."""
        across = self.varied[-1]
        rows: dict[str, list[GridCell]] = {}
        for each in self.cells:
            others = {name: each.case[name] for name in self.varied[:-1]}
            rows.setdefault(setting(others) or self.theorem, []).append(each)
        return Figure(
            kind=FigureKind.HEATMAP,
            title=f"{self.theorem}: slack",
            x_label=f"{across}; coverage exceeded with probability {self._chance}, less promised",
            y_label="",
            columns=[number(each.case[across]) for each in next(iter(rows.values()))],
            series=[
                Series(
                    name=name,
                    x=[float(place) for place in range(len(row))],
                    y=[math.nan if each.vacuous else each.slack for each in row],
                    texts=["–" if each.vacuous else number(each.slack, digits=2) for each in row],
                )
                for name, row in rows.items()
            ],
            description=(
                f"The slack of {self.source} over {', '.join(self.varied)}; a dash where the "
                "theorem promises nothing."
            ),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the slack as a heat map.

        Parameters
        ----------
        ax : Axes, optional
            The axes to draw on; by default those of a new figure of pyplot.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        axes: Axes = plot_figure(asdict(self.figure()), ax)
        return axes

    def __repr__(self) -> str:
        return aligned(self.table())

    def _repr_html_(self) -> str:
        return preformatted(repr(self))

    @property
    def _key(self) -> str:
        return (
            f"{self.cells[0].name} is promised; exceeded is the coverage exceeded with probability "
            f"{self._chance}, {self._method}; slack is the difference."
        )

    @property
    def _chance(self) -> str:
        return "1−β" if "beta" in (*self.varied, *self.fixed) else "1−δ"

    @property
    def _method(self) -> str:
        sampled = any(each.reached.sampled for each in self.cells)
        return f"sampled (to_frame has {CONFIDENCE:.0%} intervals)" if sampled else "computed"

    def _row(self, each: GridCell) -> dict[str, Any]:
        return {
            **each.case,
            "promise": each.name,
            "promised": each.level,
            "vacuous": each.vacuous,
            "exceeded": each.reached.value,
            "exceeded_low": each.reached.low,
            "exceeded_high": each.reached.high,
            "slack": each.slack,
            "least_n": each.least_n,
            "unmet": each.unmet,
        }


def theorem(
    name: str,
    *,
    pool: str | Path | None = None,
    scores: str | Path | ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    k: int | None = None,
    profile: Literal["smoke", "ci", "full"] = "ci",
    seed: int = 0,
    rng: int | np.random.Generator | None = None,
    false_alarm: float = 1e-3,
    strict: bool = False,
    **parameters: Unpack[TheoremKeywords],
) -> Result:
    """Test a theorem on your own scores, or on a named law, at your own parameters.

    The same case and seed give the same result as ``dpcp-audit theorem``.

    Parameters
    ----------
    name : str
        Name of the theorem, such as "ldpcp-4" or "pcoqs-theorem-1"; ``dpcp-audit theorem --list``
        shows all, with their parameters.
    pool : str or Path, optional
        Saved probabilities and labels (``FILE.npz``), or the name of a pool that is fitted here,
        such as "digits-logistic".
    scores : str or array_like, shape (m,), optional
        A law, "uniform" or "beta(5,0.2)", or scores at hand, from which calibration scores are
        drawn with replacement.
    probabilities, labels : array_like, shapes (m, k) and (m,), optional
        A classifier's probabilities at hand, and the true labels in {0, ..., k−1}; the score is
        1 − p_y.
    k : int, optional
        The number of classes, without data: the true labels' scores are spread evenly over [0, 1].
    profile : str
        The effort: "smoke", "ci" or "full".
    seed : int
        Seed of every random stream, >= 0.
    rng : int or Generator, optional
        The seed, as in ``audit``.
    false_alarm : float
        Probability that the run refutes a true theorem, in (0, 1).
    strict : bool
        True if an inconclusive verdict contradicts the expected one.
    **parameters
        Parameters of the theorem, such as ``n``, ``alpha`` and ``epsilon``.

    Returns
    -------
    Result
        The result, with one claim named after the theorem.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> result = dp.theorem("ldpcp-4", scores="uniform", n=20_000, epsilon=2, delta=0.05)
    >>> result["ldpcp-4"].estimate.value < 0.05
    True
    >>> [each.claim for each in dp.theorem("split-conformal", scores=[0.1, 0.4, 0.7], n=9)]
    ... # doctest: +ELLIPSIS
    ['Sets calibrated by split conformal prediction cover at least 1−α, ...']
    """
    said = tables.read(
        RUN_OPTIONS,
        {"seed": seed_of(seed, rng), "false_alarm": false_alarm, "strict": strict},
    )
    law, sources = law_given(pool, scores, probabilities, labels, k=k)
    asked = TheoremCase.of(name, {**parameters, **sources}, law=law)
    source = sources if law is None else {"scores": law.name}
    case = {"theorem": name} | source | asked.as_data()
    settings = RunSettings(
        suite=SUITE_NAME,
        profile=Choice(Profile).read(profile, "profile"),
        options={"case": case},
        **said,
    )
    return checked_here([asked.row()], [name], settings, replayable=law is None)


def law_given(
    pool: object,
    scores: Any,
    probabilities: ArrayLike | None,
    labels: ArrayLike | None,
    *,
    k: object = None,
) -> tuple[ScoreLaw | None, dict[str, Any]]:
    """Return the law of arrays at hand, or else what names one; no more than one is given."""
    named: dict[str, Any] = {
        key: str(value)
        for key, value in (("pool", pool), ("scores", scores))
        if isinstance(value, str | Path)
    }
    named |= {} if k is None else {"k": k}
    at_hand = {"scores": scores, "probabilities": probabilities}
    arrays = [key for key, value in at_hand.items() if value is not None and key not in named]
    given = [*named, *arrays]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} are two laws of the scores", hint="give one")
    if (probabilities is None) is not (labels is None):
        raise UsageError("probabilities and labels go together", hint="give both")
    if pool is not None and "pool" not in named:
        raise UsageError(
            f"pool must name a file or a pool, got {type(pool).__name__}",
            hint="give arrays as scores, or as probabilities and labels",
        )
    if not arrays:
        return None, named
    if probabilities is not None and labels is not None:
        return law_of_probabilities(probabilities, labels), {}
    return law_of_scores(scores), {}


def explore(
    name: str,
    *,
    pool: str | Path | None = None,
    scores: str | Path | ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    seed: int = 0,
    rng: int | np.random.Generator | None = None,
    **parameters: Any,
) -> Exploration:
    """Tabulate the promised and the actual coverage of a theorem over its parameters.

    Like ``dpcp-audit theorem`` with ranges. Each case has the promised level, the coverage that
    is exceeded with probability 1−δ (or 1−β), the slack between them, and the smallest n at
    which the theorem promises anything.

    Parameters
    ----------
    name : str
        Name of a coverage theorem, such as "ldpcp-4" or "pcoqs-theorem-1".
    pool, scores, probabilities, labels
        The law of the scores, as for ``theorem``; uniform unless given.
    seed : int
        Seed of the sampled cases, >= 0.
    rng : int or Generator, optional
        The seed, as in ``audit``.
    **parameters
        Parameters of the theorem, and k, the number of classes without data: a number, a list, or a
        text such as "0.5,1,2" or "100..1e6". Parameters that are left out have a typical value.

    Returns
    -------
    Exploration
        A cell for each combination of values; n varies fastest.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it and its value.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> found = dp.explore("ldpcp-4", n=[100, 100_000], epsilon=[1, 2])
    >>> [(cell.case["n"], cell.vacuous) for cell in found.cells]
    [(100, True), (100000, False), (100, False), (100000, False)]
    >>> found.cells[0].name, found.cells[0].least_n
    ('1−α−Δ_S', 180)
    """
    said = tables.read(RUN_OPTIONS, {"seed": seed_of(seed, rng)})
    if "seed" not in said:
        raise UsageError(
            "seed must be a whole number of at least 0, got None", hint="leave seed out for 0"
        )
    law, sources = law_given(pool, scores, probabilities, labels)
    grid = TheoremGrid.of(name, parameters | sources, law=law)
    return exploration(grid, said["seed"])


def exploration(
    grid: TheoremGrid, seed: int, *, tell: Callable[[str], None] | None = None
) -> Exploration:
    """Return the promises of a theorem over a grid.

    Parameters
    ----------
    tell : callable, optional
        Is called between two cases with how far the grid has come, where nothing was told for
        a few seconds.

    Raises
    ------
    UsageError
        If a case is none, or the grid is larger than a heat map.
    """
    with tables.in_place(""):
        return Exploration(
            theorem=grid.named.name,
            source=str(grid.named.statement.source),
            words=grid.words,
            varied=grid.varied,
            fixed=grid.fixed,
            cells=tuple(_told(grid, seed, tell)),
        )


def _told(grid: TheoremGrid, seed: int, tell: Callable[[str], None] | None) -> Iterator[GridCell]:
    said = time.monotonic()
    for done, cell in enumerate(grid.promises(seed=seed), start=1):
        yield cell
        if tell is not None and time.monotonic() - said > _QUIET_SECONDS and done < grid.size:
            said = time.monotonic()
            tell(f"{done} of {grid.size} cases")


def _column(name: str, values: list[Any]) -> TableColumn:
    return TableColumn(name=name, texts=[number(value) for value in values], values=values)


def _promised(level: float) -> str:
    """Return a lower bound on the coverage, rounded down to four places."""
    return _decimal(Decimal(repr(level)).quantize(Decimal("0.0001"), rounding=ROUND_FLOOR))


def _decimal(value: float | Decimal) -> str:
    """Return a coverage to four places: columns of them line up."""
    return f"{value:.4f}".replace("-", "−")
