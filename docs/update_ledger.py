"""Write the ledger of paper claims, with its verdicts, from the results of a run.

Usage: dpcp-audit run --report json=papers.json
       dpcp-audit run --suite training --report json=training.json
       dpcp-audit run --suite tables --report json=tables.json
       python docs/update_ledger.py papers.json training.json tables.json
"""

from __future__ import annotations

import html
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from dpcp_audit.reports.document import load
from dpcp_audit.reports.entry import entries_of
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.claims.statement_list import found_in, summary

_HEAD = """\
# The ledger of claims

What the papers claim and what a run found. This page is written by `docs/update_ledger.py` from a
results file of each suite. `dpcp-audit run --only 'ID'` tests a claim again.

- [What the verdicts mean](explanation/certified.md), and
  [what CONSISTENT does not mean](explanation/consistent.md).
- *Measured* is the number that decided, *claimed* the value that the claim allows it. An interval
  stands beside a sampled number; a number without one was computed.
- A claim that is known to be false is *expected* to be refuted. A verdict that contradicts its
  expectation is marked **!**.
- *Standing* is whose claim it is. Only `paper` is a statement as printed, inside its hypotheses.
  `reading` is another reading of it, or a corrected form; `outside-hypothesis` the statement on
  data that it does not admit; `erratum` a step of a proof, a printed constant or a caption;
  `practice` what a reader would take for granted; `control` what is known to be false, to show
  that the audit can refute; `stated` what the documentation of public code says.
"""
RUNS = "these runs test"
_TITLES = {
    "LDP-CP": "Privacy-Preserving Conformal Prediction Under Local Differential Privacy",
    "P-COQS": "Differentially Private Conformal Prediction via Quantile Binary Search",
    "DP-SKIN": "Differential Privacy Enabled Deep Skin Image Classification Model Development",
}
_SUITES = {
    "training": "Private training under attack (`--suite training`)",
    "tables": "Tables and figures, reproduced (`--suite tables`)",
}
_SAID = {
    Verdict.REFUTED: "refuted",
    Verdict.VACUOUS: "vacuous",
    Verdict.PROVED: "proved",
    Verdict.CONSISTENT: "not refuted",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.ERROR: "failed",
}
_SPECIAL = re.compile(r"([\\`*_\[\]~|$#])")


def ledger(*documents: dict[str, Any]) -> str:
    """Return the ledger as Markdown: a part a run, a section a paper, a table row a claim."""
    found = {id_: each for document in documents for id_, each in found_in(document).items()}
    said = f"\n{_text(summary(found, runs=RUNS))} [Statement by statement](statements.md).\n"
    return _HEAD + said + "".join(_part(document) for document in documents)


def _part(document: dict[str, Any]) -> str:
    entries = sorted(entries_of(document), key=lambda entry: entry.place)
    counts = document["summary"]
    summary = (
        f"{len(entries)} claims: {counts['REFUTED']} refuted, {counts.get('VACUOUS', 0)} vacuous, "
        f"{counts['PROVED']} proved, "
        f"{counts['CONSISTENT']} not refuted, {counts['INCONCLUSIVE']} undecided, "
        f"{counts['ERROR']} failed; {counts['contradictions']} verdicts contradict what was "
        f"expected. Profile `{document['profile']}`, seed {document['seed']}, false-alarm "
        f"probability {document['false_alarm']:g}, dpcp-audit {document['tool']['version']}."
    )
    suite = str(document["suite"])
    standings = ["", *_standings(entries), ""]
    if suite in _SUITES:
        parts = [f"\n## {_SUITES[suite]}\n", summary, *standings, *_table(entries)]
        return "\n".join(parts) + "\n"
    parts = ["", summary, *standings[:-1]]
    for paper in dict.fromkeys(entry.paper for entry in entries):
        title = f", “{_TITLES[paper]}”" if paper in _TITLES else ""
        parts += [f"\n## {paper}{title}\n"]
        parts += _table([entry for entry in entries if entry.paper == paper])
    return "\n".join(parts) + "\n"


def _standings(entries: list[Any]) -> list[str]:
    """Return how many claims of each standing have which verdict."""
    counts = Counter((entry.standing, entry.verdict) for entry in entries)
    verdicts = [verdict for verdict in _SAID if any(counts[s, verdict] for s in Standing)]
    lines = [
        f"| standing | {' | '.join(_SAID[verdict] for verdict in verdicts)} | all |",
        f"|:--|{'--:|' * (len(verdicts) + 1)}",
    ]
    for standing in Standing:
        cells = [counts[standing, verdict] for verdict in verdicts]
        if any(cells):
            lines.append(f"| {standing} | {' | '.join(map(str, [*cells, sum(cells)]))} |")
    return lines


def _table(entries: list[Any]) -> list[str]:
    head = ["| claim | standing | verdict | measured | claimed |", "|:--|:--|:--|:--|:--|"]
    return head + [_row(entry) for entry in entries]


def _row(entry: Any) -> str:
    measured = f"{_text(entry.quantity)}: {entry.measured} {_text(entry.interval)}".rstrip()
    verdict = f"{entry.verdict} **!**" if entry.contradicts else str(entry.verdict)
    claim = f"`{entry.id}`<br>{_text(entry.statement)} ({_text(entry.section)})"
    return f"| {claim} | {entry.standing} | {verdict} | {measured} | {entry.claimed} |"


def _text(text: str) -> str:
    """Escape a text so that Markdown prints it as it is."""
    flat = html.escape(" ".join(text.split()), quote=False)
    return _SPECIAL.sub(r"\\\1", flat)


def main(arguments: list[str]) -> int:
    """Write ``docs/ledger.md``."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    page = Path(__file__).parent / "ledger.md"
    page.write_text(ledger(*(load(Path(path)) for path in arguments)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
