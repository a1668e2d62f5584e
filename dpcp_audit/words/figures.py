"""Figures as plain data; the reports draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dpcp_audit.words.plain import Number  # noqa: TC001  (resolved by pydantic)


class FigureKind(StrEnum):
    """The type of a figure."""

    LINES = "lines"
    HISTOGRAM = "histogram"
    HEATMAP = "heatmap"
    """A table of coloured cells: one series a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One named curve: x and y of the same length.

    In a histogram, x holds the m+1 bin edges and y the m counts. In a heat map, a series is a
    row: x holds the columns' numbers, in the order in which they are drawn, y the cells' values
    (NaN: not tried) and ``texts`` what stands in the cells; without, the values are printed.
    """

    name: str
    x: list[Number]
    y: list[Number]
    texts: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as plain data; the reports draw it.

    Parameters
    ----------
    marks : dict
        Vertical reference lines by their label, for example a bound. In a heat map, one limit:
        cells above it are drawn in another colour.
    columns : list of str
        Of a heat map: the columns' labels; without, the numbers of the first row's x.
    description : str
        What the figure shows, in words, for readers who cannot see it.
    """

    kind: FigureKind
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    description: str
    marks: dict[str, Number] = field(default_factory=dict[str, float])
    log_x: bool = False
    log_y: bool = False
    columns: list[str] = field(default_factory=list[str])
