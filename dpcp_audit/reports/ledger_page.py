"""The ledger: the claims of several runs on one page, sorted by paper, with dates and versions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.entry import STANDINGS, entries_of, overall_of
from dpcp_audit.reports.formats.html import page_environment
from dpcp_audit.reports.formats.markdown import escaped, rows_of
from dpcp_audit.words.formatting import DASH
from dpcp_audit.words.results import Standing, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpcp_audit.reports.entry import Entry

TITLE = "The ledger of claims"
_MEASURED = (
    "Measured is the number that decided the verdict, claimed is the value that the claim allows. "
    "Numbers from samples are marked, and their intervals hold with the run's confidence. All "
    "other numbers were computed, and their intervals enclose them."
)
_VERDICTS = (
    "CONSISTENT is no proof: a check that would have seen a violation of a stated size found none. "
    "PROVED holds in every case of the statement."
)
_EXPECTED = (
    "Claims that are known to be false are expected to be refuted. An exclamation mark shows a "
    "verdict that contradicts the expected one."
)
_LEGEND = (_MEASURED, _VERDICTS, _EXPECTED)
_SAID = {
    Verdict.REFUTED: "refuted",
    Verdict.VACUOUS: "vacuous",
    Verdict.PROVED: "proved",
    Verdict.CONSISTENT: "not refuted",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.ERROR: "failed",
}
_RUN_COLUMNS = ("suite", "date", "with", "profile", "seed", "false alarm", "claims", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class _LedgerPage:
    """The contents of the page.

    Parameters
    ----------
    papers : dict
        The claims of each paper, by its name, in alphabetical order.
    counted : tuple of tuple of str
        The number of claims by standing and verdict; a head, and a row for each standing.
    runs : tuple of tuple of str
        A head, and a row a run: its suite, its date, the versions, and how it was made.
    said : tuple of str
        The suites' summaries of their runs as a whole.
    missing : tuple of tuple of str
        The installed suites without a run here, and what each tests.
    """

    papers: Mapping[str, Sequence[Entry]]
    counted: tuple[tuple[str, ...], ...]
    runs: tuple[tuple[str, ...], ...]
    said: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]


def ledger_of(data: Mapping[str, Any]) -> _LedgerPage:
    """Return the ledger of ``runs``, results documents, and ``missing``, summaries by suite."""
    documents: Sequence[Mapping[str, Any]] = data["runs"]
    entries = [
        entry
        for document in documents
        for entry in sorted(entries_of(document), key=lambda each: each.place)
    ]
    papers: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda each: each.paper.casefold()):
        papers.setdefault(entry.paper, []).append(entry)
    return _LedgerPage(
        papers=papers,
        counted=tuple(_counted(entries)),
        runs=(_RUN_COLUMNS, *map(_run, documents)),
        said=tuple(f"{each['suite']}: {told}" for each in documents if (told := overall_of(each))),
        missing=tuple(data["missing"].items()),
    )


def _counted(entries: Sequence[Entry]) -> Iterable[tuple[str, ...]]:
    counts = Counter((entry.standing, entry.verdict) for entry in entries)
    verdicts = [each for each in _SAID if any(counts[standing, each] for standing in Standing)]
    yield ("standing", *(_SAID[each] for each in verdicts), "all")
    for standing in Standing:
        cells = [counts[standing, each] for each in verdicts]
        if any(cells):
            yield (f"{standing}: {STANDINGS[standing]}", *map(str, cells), str(sum(cells)))


def _run(document: Mapping[str, Any]) -> tuple[str, ...]:
    provenance: Mapping[str, Any] = document.get("provenance") or {}
    libraries: Mapping[str, str] = document.get("libraries") or {}
    tool = document["tool"]
    versions = [f"{tool['name']} {tool['version']}"]
    versions += [f"{name} {version}" for name, version in libraries.items()]
    return (
        str(document["suite"]),
        str(provenance.get("finished") or "")[:10] or DASH,
        ", ".join(versions),
        str(document["profile"]),
        str(document["seed"]),
        f"{document['false_alarm']:g}",
        str(len(document["findings"])),
        str(len(document.get("skipped") or ())),
    )


def render_markdown(data: Mapping[str, Any]) -> str:
    """Return the page as Markdown: a section a paper, a table row a claim."""
    ledger = ledger_of(data)
    parts = [f"# {TITLE}\n", *(f"- {line}" for line in _LEGEND), ""]
    parts += [f"{escaped(said)}\n" for said in ledger.said]
    parts += [*_table(ledger.counted), "\n## Runs\n", *_table(ledger.runs)]
    if ledger.missing:
        parts += ["\nInstalled, and not in these runs:\n"]
        parts += [f"- `{name}`: {escaped(summary)}" for name, summary in ledger.missing]
    columns = ("claim", "standing", "verdict", "measured", "claimed")
    head: dict[str, str] = dict.fromkeys(columns, ":--")
    for paper, entries in ledger.papers.items():
        parts += [f"\n## {escaped(paper)}\n", *rows_of(head, map(_row, entries))]
    return "\n".join(parts) + "\n"


def _row(entry: Entry) -> tuple[str, ...]:
    verdict = f"{entry.verdict} **!**" if entry.contradicts else str(entry.verdict)
    name = entry.id.replace("`", "'").replace("|", "\\|")
    measured = f"{entry.measured} {escaped(entry.interval)}".rstrip()
    return (
        f"`{name}`<br>{escaped(entry.statement)} ({escaped(entry.section)})",
        str(entry.standing),
        verdict,
        ", ".join(filter(None, [f"{escaped(entry.quantity)}: {measured}", entry.basis])),
        entry.claimed,
    )


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return rows_of(dict.fromkeys(rows[0], ":--"), (map(escaped, row) for row in rows[1:]))


def render_page(data: Mapping[str, Any]) -> str:
    """Return the page as one HTML file without scripts.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    template = page_environment().get_template("ledger.html.jinja")
    return template.render(title=TITLE, legend=_LEGEND, ledger=ledger_of(data))
