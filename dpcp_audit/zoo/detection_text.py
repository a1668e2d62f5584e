"""The zoo's table, in Markdown and on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from dpcp_audit.zoo.detection_table import Mark, failures, lines_of, reasons
from dpcp_audit.zoo.specimen import SpecimenCheck
from dpcp_audit.zoo.specimens import mutants, twins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.zoo.detection_table import Line

_MINIMUM_WIDTH = 170


def markdown(document: Mapping[str, Any]) -> str:
    """Return both tables, and the reasons for what cannot be seen."""
    lines = lines_of(document, of=mutants())
    head = ["planted bug", "true, for claimed", *map(str, SpecimenCheck), "witness"]
    table = [_row(head), _row(["---"] * len(head))]
    table += [
        _row(
            [
                f"`{line.specimen.name}`: {line.specimen.words}",
                line.truth,
                *(line.cells[column].text for column in SpecimenCheck),
                line.witness,
            ]
        )
        for line in lines
    ]
    told = [f"- {reason}" for reason in reasons(document)]
    return "\n".join([*table, "", *told, "", summary(document)])


def summary(document: Mapping[str, Any]) -> str:
    """Return the run in two sentences."""
    bad, good = (lines_of(document, of=of) for of in (mutants(), twins()))
    caught = sum(_has(line, Mark.CAUGHT) and not _has(line, Mark.MISSED) for line in bad)
    alarmed = sum(_has(line, Mark.ALARM) for line in good)
    return (
        f"{caught} of {len(bad)} planted bugs are caught by every check that is meant to see them; "
        f"of {len(good)} correct twins, {alarmed or 'none'} {'are' if alarmed > 1 else 'is'} "
        f"refuted (profile `{document['profile']}`, seed {document['seed']}, false-alarm "
        f"probability {document['false_alarm']:g})."
    )


def print_zoo(document: Mapping[str, Any], *, stream: TextIO = sys.stdout) -> None:
    """Print the table of the mutants, that of the twins, the reasons, and what went wrong."""
    from rich.console import Console  # noqa: PLC0415  (slow to import)
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=_MINIMUM_WIDTH)
    for title, of in (("planted bug", mutants()), ("correct twin", twins())):
        if lines := lines_of(document, of=of):
            console.print(_table(title, lines))
    for reason in reasons(document):
        console.print(Text(f"–  {reason}"))
    for failure in failures(document):
        console.print(Text(failure, style="bold red"))
    console.print(Text(summary(document)))


def _table(title: str, lines: list[Line]) -> Any:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    table.add_column("true, for claimed", no_wrap=True)
    shown = [
        c for c in SpecimenCheck if any(line.cells[c].mark is not Mark.ABSENT for line in lines)
    ]
    for column in shown:
        table.add_column(str(column), no_wrap=True)
    witness = any(line.witness for line in lines)
    if witness:
        table.add_column("witness", overflow="fold")
    for line in lines:
        cells = [line.specimen.name, line.truth, *(line.cells[c].text for c in shown)]
        table.add_row(*(Text(cell) for cell in [*cells, *([line.witness] if witness else [])]))
    return table


def _has(line: Line, mark: Mark) -> bool:
    return any(cell.mark is mark for cell in line.cells.values())


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
