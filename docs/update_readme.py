"""Write a table of the README from a results file: its findings, or what the zoo shows.

Usage: python docs/update_readme.py results.json [README.md]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import interval
from dpcp_audit.reports.document import load
from dpcp_audit.reports.findings.severity import named
from dpcp_audit.reports.table_texts import lines

if TYPE_CHECKING:
    from collections.abc import Sequence


def findings_table(document: dict[str, Any]) -> str:
    """Return the refuted claims as a Markdown table, with a line on the rest."""
    findings = document["findings"]
    refuted = [f for f in findings if f["verdict"] == "REFUTED"]
    lines = ["| refuted claim | source | claimed | found |", "|---|---|---|---|"]
    lines += [_row(finding) for finding in refuted]
    counts = document["summary"]
    summary = (
        f"Of {len(findings)} claims, {counts['REFUTED']} are refuted, {counts['PROVED']} proved "
        f"and {counts['CONSISTENT']} not refuted (profile `{document['profile']}`, seed "
        f"{document['seed']}, false-alarm probability {document['false_alarm']:g})."
    )
    lines += ["", summary]
    return "\n".join(lines)


def zoo_table(document: dict[str, Any]) -> str:
    """Return the planted bugs as a Markdown table, and what is to be said of them."""
    table = document["overview"]["tables"][0]
    bug, _, *names = (column["name"] for column in table["columns"])
    head = [bug, *names]
    rows = [[f"`{name}`: {words}", *rest] for name, words, *rest in lines(table)]
    *blind, summary = table["notes"]
    said = [*(f"- {note}" for note in blind), "", summary]
    return "\n".join([*map(_line, [head, ["---"] * len(head), *rows]), "", *said])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _row(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    found = f"{named(evidence)}: {_number(evidence['value'])}"
    if evidence["kind"] != "exact":
        found = f"{found} {interval(evidence)}".rstrip()
    cells = (
        f"`{finding['id']}`: {finding['statement']}",
        f"{finding['source']['paper']}, {finding['source']['section']}",
        _number(evidence["claimed"]),
        found,
    )
    return _line(cells)


def _number(value: float | str) -> str:
    number = float(value)
    return "∞" if number == float("inf") else f"{number:.4g}"


def main(arguments: list[str]) -> int:
    """Replace what stands between the README's markers of the suite that was run."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    readme = Path(arguments[1] if len(arguments) == 2 else "README.md")
    document = load(Path(arguments[0]))
    zoo = document["suite"] == "zoo"
    name, table = ("zoo", zoo_table(document)) if zoo else ("findings", findings_table(document))
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, rest = readme.read_text(encoding="utf-8").split(start)
    tail = rest.split(end)[1]
    readme.write_text(f"{head}{start}\n{table}\n{end}{tail}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
