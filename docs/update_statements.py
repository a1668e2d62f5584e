"""Write the page on the statements that are hard to test.

Usage: python docs/update_statements.py
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from dpcp_audit.papers.claims.statement_list import (
    ListedStatement,
    StatementFate,
    listed_statements,
    printed_sentences,
)

PAGE = Path(__file__).parent / "statements.md"
_HEAD = """\
# Statements of the papers, one by one

{total} statements that are easily overlooked, or hard to put to a fair test: sentences, remarks,
steps of proofs, printed tables. Each has rows in [the ledger](ledger.md), where the verdicts stand,
or a reason why no run can decide it here. This page is written by `docs/update_statements.py`.

{counts}
"""


_PRINTED = """
## As printed

What the papers print where the rows that stand as their own claims say it in other words. Formulas
are set as plain text.

| paper | section | “…” |
|:--|:--|:--|
"""


def page() -> str:
    """Return the page as Markdown: a section a paper, a table row a statement; then sentences."""
    statements = listed_statements()
    counts = Counter(statement.fate for statement in statements)
    said = ", ".join(f"{counts[fate]} {fate}" for fate in StatementFate)
    parts = [_HEAD.format(total=len(statements), counts=f"{said[0].upper()}{said[1:]}.")]
    for paper in dict.fromkeys(statement.paper for statement in statements):
        lines = [_line(statement) for statement in statements if statement.paper == paper]
        head = ["| statement | place | | rows, and what they leave unsaid |", "|:--|:--|:--|:--|"]
        parts.append("\n".join([f"\n## {paper}\n", *head, *lines]) + "\n")
    rows = [
        f"| {each.paper} | {', '.join(each.sections)} | {_escaped(each.text)} |\n"
        for each in printed_sentences()
    ]
    return "".join([*parts, _PRINTED, *rows])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _line(statement: ListedStatement) -> str:
    cells = [*(f"`{row}`" for row in statement.rows), statement.reason]
    told = "<br>".join(cell for cell in cells if cell)
    return f"| {statement.says} | {statement.place} | {statement.fate} | {told} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
