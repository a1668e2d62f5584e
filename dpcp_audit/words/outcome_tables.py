"""Tables as plain data: what a check or a suite shows cell by cell; the reports print them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpcp_audit.words.plain import Number, Whole  # noqa: TC001  (resolved by pydantic)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table: a text or a number in each row.

    Parameters
    ----------
    texts : list of str
        What is printed in the cells; without, the values are.
    values : list of float
        The numbers in full precision (NaN: none); without, the column holds texts alone.
    details : dict
        Further numbers of each cell by their name, such as its standard error; the results file
        and the ``cells`` report have them.
    marked : list of int
        The rows, from 0, whose cell stands out, because something is wrong there.
    """

    name: str
    texts: list[str] = field(default_factory=list[str])
    values: list[Number] = field(default_factory=list[float])
    details: dict[str, list[Number]] = field(default_factory=dict[str, list[float]])
    marked: list[Whole] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        numbers = [part for part in (self.values, *self.details.values()) if part]
        lengths = {len(self.texts)} if self.texts else set[int]()
        lengths |= set(map(len, numbers))
        if len(lengths) > 1:
            raise ValueError(
                f"texts, values and details must have the same length, got {sorted(lengths)} in "
                f"column {self.name!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, column by column.

    Parameters
    ----------
    columns : list of TableColumn
        All of the same length; the first one names the rows.
    notes : list of str
        What a reader must know to read it, a sentence or two each.
    """

    title: str
    columns: list[TableColumn]
    notes: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        lengths = {len(column.texts or column.values) for column in self.columns}
        if len(lengths) > 1:
            raise ValueError(
                f"columns must have the same length, got {sorted(lengths)} in {self.title!r}"
            )
