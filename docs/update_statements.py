"""Write the pages on the papers' statements, with the verdicts of the ledger.

Usage: python docs/update_statements.py        (after dpcp-audit ledger wrote docs/ledger.md)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.claims.papers_suite import (
    PAPERS,
    Quantifier,
    StatementVerdict,
    counted,
    in_words,
    listed_statements,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_ledger.claims.papers_suite import Found, ListedStatement

DOCS = Path(__file__).parent
OVERVIEW = DOCS / "statements.md"
PAGES = {
    "LDP-CP": DOCS / "statements_ldpcp.md",
    "P-COQS": DOCS / "statements_pcoqs.md",
    "DP-SKIN": DOCS / "statements_dpskin.md",
}
_ROW = re.compile(
    r"^\| `([^`]+)`<br>.*\) \| ([a-z-]+) \| ([A-Z]+)(?: \*\*!\*\*)? \| ", re.MULTILINE
)
_OVERVIEW = """\
# Statements of the papers

Every theorem, remark, equation, algorithm, table, figure and sentence with a number that could be
true or false is one record: as printed, with its quantifier and hypotheses, the claims that test it
and what they found. {summary}

| paper | {verdicts} | all |
|:--|{rules}--:|
{rows}

- *Refuted as printed*: some case within the printed hypotheses refutes it. A claim of a corrected
  form never counts for the printed one.
- *Erratum*: a proof's step, a constant or a caption is wrong, and no theorem falls with it.
- *Tested in another form*: the paper leaves the meaning open, or does not claim it: a reading, a
  practice or a control is tested.
- *Vacuous as printed*: true, even of an algorithm that ignores its data: it promises nothing.
- *Undecided*: the runs lacked something, such as a library or enough trials.
- *Read, not run*: the print itself shows it. *Not in these runs*: the ledger's runs leave it out.

Most statements are about every case within their hypotheses. The others are marked. *There exists*:
some algorithm does it. *Printed numbers*: numbers in the paper show it. *Left open*: a word such as
“similar” does not say what would break the statement; if it is refuted, its claim names the number
that fails.

[The ledger](ledger.md) has every claim. This page and those of the papers are written by
`docs/update_statements.py` from the records and the ledger's verdicts.

```{{toctree}}
:maxdepth: 1
{toctree}
```
"""
_PAGE = """\
# {paper}, statement by statement

{count} statements: {counts}. “…” is the sentence as printed, formulas set as plain text;
*corrected* marks claims of a corrected form. [What the verdicts mean](statements.md).
"""
_HEAD = "| place | statement | verdict | claims, and what they leave unsaid |\n|:--|:--|:--|:--|"


def found_in_ledger() -> dict[str, tuple[Standing, Verdict]]:
    """Return standing and verdict of each claim of the ledger's page, by id."""
    text = (DOCS / "ledger.md").read_text(encoding="utf-8")
    return {
        row: (Standing(standing), Verdict(found)) for row, standing, found in _ROW.findall(text)
    }


def pages() -> dict[Path, str]:
    """Return the overview and a page a paper, by path."""
    found = found_in_ledger()
    return {OVERVIEW: _overview(found)} | {PAGES[paper]: _page(paper, found) for paper in PAPERS}


def _overview(found: Found) -> str:
    shown = [verdict for verdict in StatementVerdict if counted(found)[verdict]]
    rows = [_counts(paper, counted(found, paper), shown) for paper in PAPERS]
    return _OVERVIEW.format(
        summary=summary(found, runs="the runs of the ledger test"),
        verdicts=" | ".join(shown),
        rules="--:|" * len(shown),
        rows="\n".join([*rows, _counts("all", counted(found), shown)]),
        toctree="\n".join(page.stem for page in PAGES.values()),
    )


def _counts(
    name: str, counts: Mapping[StatementVerdict, int], shown: list[StatementVerdict]
) -> str:
    cells = [counts[verdict] for verdict in shown]
    return f"| {name} | {' | '.join(map(str, [*cells, sum(cells)]))} |"


def _page(paper: str, found: Found) -> str:
    statements = [each for each in listed_statements() if each.paper == paper]
    counts = in_words(counted(found, paper), StatementVerdict)
    head = _PAGE.format(paper=paper, count=len(statements), counts=counts)
    return "\n".join([head, _HEAD, *(_line(each, found) for each in statements)]) + "\n"


def _line(statement: ListedStatement, found: Found) -> str:
    cells = (statement.place, _said(statement), statement.verdict(found), _told(statement, found))
    return f"| {' | '.join(cells)} |"


def _said(statement: ListedStatement) -> str:
    """Return what is said, the sentence as printed, its quantifier and its hypotheses."""
    quantifier = "" if statement.quantifier is Quantifier.FOR_ALL else f"*{statement.quantifier}*"
    parts = [
        statement.says,
        f"“{_escaped(statement.quote)}”" if statement.quote else "",
        quantifier,
        f"Hypotheses: {_escaped(statement.hypotheses)}." if statement.hypotheses else "",
    ]
    return "<br>".join(part for part in parts if part)


def _told(statement: ListedStatement, found: Found) -> str:
    """Return the claims with their verdicts, and what there is to say beside them."""
    rows = [
        f"`{row}` {_verdict(found, row, repaired=row in statement.repaired)}".rstrip()
        for row in statement.rows
    ]
    return "<br>".join(filter(None, [*rows, statement.reason_alone or statement.note]))


def _verdict(found: Found, row: str, *, repaired: bool) -> str:
    if row not in found:
        return "corrected" if repaired else ""
    standing, verdict = found[row]
    words = ["corrected"] if repaired else []
    words += [str(standing)] if standing not in {Standing.PAPER, Standing.CORRECTED} else []
    return f"({', '.join([*words, verdict])})"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
