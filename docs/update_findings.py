"""Write the pages of findings and of planted bugs, and the README's findings, from results files.

Usage: dpcp-audit run --report json=papers.json
       dpcp-audit selftest --report json=zoo.json
       python docs/update_findings.py papers.json zoo.json
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import load
from dpcp_audit.reports.entry import entries_of
from dpcp_audit.reports.formats.markdown import escaped, markdown_table
from dpcp_audit.words.results import Standing
from dpcp_ledger.claims.papers_suite import found_in
from dpcp_ledger.claims.papers_suite import summary as statements_of

if TYPE_CHECKING:
    from dpcp_audit.reports.entry import Entry

ROOT = Path(__file__).parents[1]
MATTER_MOST = {
    "pcoqs.epsilon-equivalence": (
        "“(ε, 0)-DP if and only if it satisfies ε-zCDP”; the auditor's instance, P-COQS at "
        "ρ = ε = 1, has δ(1) = 0.173, not 0"
    ),
    "pcoqs.corollary-1[coverage=marginal,n=50,rho=0.05]": (
        "run at α\\* = 0 (n = 50, ρ = 0.05), P-COQS covers 1−α except with probability 0.01"
    ),
    "pcoqs.proposition-1.rank[scores=crowded,bound=printed]": (
        "the rank error exceeds τ\\* + M(Δ) with probability at most 0.01: α = 0.1, ρ = 0.5, "
        "Δ = 10⁻¹⁰, scores chosen for it"
    ),
    "pcoqs.remark-2[resolution=1/n]": (
        "at most L·Δ·n scores are expected in the fullest window: n = 1000, Δ = 1/n"
    ),
    "ldpcp.shuffle[n=2452]": (
        "shuffling 2452 reports of ε = 4 gives approximately ε/√n = 0.081; granted δ = 0.001, as "
        "none is stated (at 10⁻⁶: 0.784)"
    ),
    "dpskin.rdp-batch[q=0.01,sigma=1,alpha=16]": (
        "a Poisson-subsampled Gaussian step has a Rényi divergence of at most q²α/(2σ²): α = 16"
    ),
    "dpskin.rdp-total[epsilon]": (
        "ε at δ = 10⁻⁵ of nine epochs of DP-SGD at σ = 8.1, by the last formula at its best order "
        "(0.003549 is not printed; the printed 0.59812 holds)"
    ),
}
"""The README's findings, each in a line; all of them are the papers' own claims."""

_FINDINGS = """\
# Refuted claims

This page lists the claims of the papers that a run refutes. [The ledger](ledger.md) has every claim
with its verdict. `dpcp-audit run --only 'ID'` tests one again, and the report has its witness.
Numbers from samples are marked; all others were computed. Below a claim stands what there is to say
beside its statement: what the paper excludes, what the auditor chose, and where it is not refuted.
`docs/update_findings.py` writes this page from a results file.
"""
_STANDINGS = {
    Standing.PAPER: ("As printed", "The paper's own claim, within its hypotheses."),
    Standing.STATED: ("Of published code", "What the documentation of public code says."),
    Standing.READING: (
        "Other readings",
        "A reading of the printed sentence that the paper leaves open, or disclaims.",
    ),
    Standing.CORRECTED: ("Corrected forms", "A statement as its proof has it, or with its remedy."),
    Standing.OUTSIDE_HYPOTHESIS: (
        "Outside of the hypotheses",
        "The printed statement on data or with parameters that it does not admit.",
    ),
    Standing.ERRATUM: (
        "Errata",
        "A step of a proof, a printed constant, a table or a caption. The theorem may hold.",
    ),
    Standing.PRACTICE: ("Practice", "What a reader would take for granted, and nobody proves."),
    Standing.CONTROL: (
        "Positive controls",
        "Known to be false: the refutation shows that the audit has power.",
    ),
}
_BUGS = """\
# Planted bugs

`dpcp-audit selftest` runs every check on mechanisms with a planted bug, whose true loss is known,
and on correct twins. A cell says whether the check refutes the bug, after how many calls (none
where the law is computed); – marks what the check cannot detect, for the reason below the table.
The exit code is 1 if a bug is missed or a twin refuted. This page is written by
`docs/update_findings.py` from a results file.
"""


def findings_page(document: dict[str, Any]) -> str:
    """Return the page of refuted claims: a section for each standing."""
    entries = sorted(entries_of(document), key=lambda entry: entry.place)
    notes = {each["id"]: _note(each) for each in document["findings"]}
    parts = [_FINDINGS, _summary(document, entries)]
    for standing, (title, words) in _STANDINGS.items():
        refuted = [each for each in entries if each.refuted and each.standing is standing]
        if refuted:
            rows = [_row(each, notes[each.id]) for each in refuted]
            parts += [f"\n## {title}\n", f"{words}\n", *_HEAD, *rows]
    return "\n".join(parts) + "\n"


_HEAD = ("| claim | source | promised | found |", "|:--|:--|:--|:--|")


def _note(finding: dict[str, Any]) -> str:
    """Return the note of the printed statement that a claim tests; "" where there is none."""
    printed = finding["source"].get("printed") or {}
    return printed.get("note") or ""


def _row(entry: Entry, note: str) -> str:
    named = f"{escaped(entry.breach.quantity)}: " if entry.breach.quantity else ""
    *where, found = _cells(entry)
    beside = f"<br>{escaped(note)}" if note else ""
    return _line(f"`{entry.id}`: {escaped(entry.statement)}{beside}", *where, f"{named}{found}")


def _cells(entry: Entry) -> tuple[str, ...]:
    """Return source, promise and what was found."""
    breach = entry.breach
    sure = "" if breach.surety == "exact" else f" ({breach.surety})"
    cells = (f"{entry.paper}, {entry.section}", breach.promised, f"{breach.found}{sure}")
    return tuple(map(escaped, cells))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _summary(document: dict[str, Any], entries: list[Entry]) -> str:
    """Return how many statements have which verdict, and how many claims test them."""
    code = [entry.refuted for entry in entries if entry.standing is Standing.STATED]
    refuted = sum(entry.refuted for entry in entries)
    return (
        f"{escaped(statements_of(found_in(document)))} Of {len(code)} claims of published code "
        f"{sum(code)} are refuted. {len(entries)} claims test all this, of which {refuted} are "
        f"refuted, readings, errata and controls among them. "
        f"Profile `{document['profile']}`, seed {document['seed']}, false-alarm probability "
        f"{document['false_alarm']:g}."
    )


def readme_findings(document: dict[str, Any]) -> str:
    """Return the findings that matter most as a table, with a line on all of them."""
    entries = {entry.id: entry for entry in entries_of(document)}
    shown = [(entries[id_], words) for id_, words in MATTER_MOST.items()]
    rows = [_line(f"{words}<br>`{entry.id}`", *_cells(entry)) for entry, words in shown]
    return "\n".join([*_HEAD, *rows, "", _summary(document, [*entries.values()])])


def planted_bugs_page(document: dict[str, Any]) -> str:
    """Return the page of planted bugs: which check refutes which."""
    table = document["overview"]["tables"][0]
    *reasons, summary = table["notes"]
    said = [f"- {escaped(reason)}" for reason in reasons]
    lines = [*markdown_table(table), "", *said, "", summary]
    return "\n".join([_BUGS, *lines]) + "\n"


def _between(text: str, mark: str, content: str) -> str:
    """Replace what stands between two comments."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, rest = text.split(start)
    return f"{head}{start}\n{content}\n{end}{rest.split(end)[1]}"


def write(document: dict[str, Any]) -> None:
    """Write the pages of the suite that was run."""
    docs, readme = ROOT / "docs", ROOT / "README.md"
    if document["suite"] == "zoo":
        (docs / "planted_bugs.md").write_text(planted_bugs_page(document), encoding="utf-8")
        return
    (docs / "findings.md").write_text(findings_page(document), encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_between(text, "findings", readme_findings(document)), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the pages of each results file."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    for path in arguments:
        write(load(Path(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
