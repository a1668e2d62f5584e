"""The suite of the zoo: its rows, and which check catches which planted bug, in one view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import Overview, Suite, Table, TableColumn
from dpcp_ledger.zoo.detection_table import WRONG, Mark, failures, heat_map, lines_of, reasons
from dpcp_ledger.zoo.specimen import SpecimenCheck
from dpcp_ledger.zoo.zoo_rows import mutants, rows, twins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_ledger.zoo.detection_table import Line


def overview(document: Mapping[str, Any]) -> Overview:
    """Return which check catches which bug, as a figure and a table, and what the twins show."""
    bad, good = (lines_of(document, of=of) for of in (mutants(), twins()))
    wrong, blind = failures(document), list(reasons(document))
    tables = [
        _table("planted bug", bad, notes=[*wrong, *blind, summary(document)]) if bad else None,
        _table("correct twin", good, notes=[] if bad else wrong) if good else None,
    ]
    return Overview(
        figures=(heat_map(document),) if bad else (),
        tables=tuple(table for table in tables if table is not None),
    )


def summary(document: Mapping[str, Any]) -> str:
    """Return the run in a sentence."""
    bad, good = (lines_of(document, of=of) for of in (mutants(), twins()))
    caught = sum(_has(line, Mark.CAUGHT) and not _has(line, Mark.MISSED) for line in bad)
    alarmed = sum(_has(line, Mark.ALARM) for line in good)
    return (
        f"{caught} of {len(bad)} planted bugs are caught by every check that is meant to see them; "
        f"of {len(good)} correct twins, {alarmed or 'none'} {'are' if alarmed > 1 else 'is'} "
        f"refuted (profile `{document['profile']}`, seed {document['seed']}, false-alarm "
        f"probability {document['false_alarm']:g})."
    )


def _table(what: str, lines: Sequence[Line], *, notes: list[str]) -> Table:
    shown = [
        check
        for check in SpecimenCheck
        if any(line.cells[check].mark is not Mark.ABSENT for line in lines)
    ]
    witness = TableColumn(name="witness", texts=[line.witness for line in lines])
    words = "what is wrong" if what == "planted bug" else "what it is"
    return Table(
        title=f"Which check sees which {what}",
        columns=[
            TableColumn(name=what, texts=[line.specimen.name for line in lines]),
            TableColumn(name=words, texts=[line.specimen.words for line in lines]),
            TableColumn(name="true, for claimed", texts=[line.truth for line in lines]),
            *(_column(check, lines) for check in shown),
            *([witness] if any(witness.texts) else []),
        ],
        notes=notes,
    )


def _column(check: SpecimenCheck, lines: Sequence[Line]) -> TableColumn:
    cells = [line.cells[check] for line in lines]
    return TableColumn(
        name=check,
        texts=[cell.text for cell in cells],
        marked=[place for place, cell in enumerate(cells) if cell.mark in WRONG],
    )


def _has(line: Line, mark: Mark) -> bool:
    return any(cell.mark is mark for cell in line.cells.values())


SUITE = Suite(
    summary="Planted bugs and their correct twins: what the checks detect, and what they do not.",
    rows=rows,
    overview=overview,
)
