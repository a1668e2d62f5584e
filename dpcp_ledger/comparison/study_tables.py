"""The comparison as CSV and as Markdown tables."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import fields
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import number
from dpcp_ledger.comparison.calibrator_study import ComparisonRow
from dpcp_ledger.comparison.known_methods import method

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcp_ledger.comparison.calibrator_study import Comparison


def rows_csv(rows: Iterable[ComparisonRow]) -> str:
    """Return the rows as CSV, a column for each field; what does not exist is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(ComparisonRow)]
    writer.writerow(names)
    for row in rows:
        plain = row.as_plain()
        writer.writerow(["" if plain[name] is None else plain[name] for name in names])
    return text.getvalue()


def markdown_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first are set flush right."""
    rule = [":--", *["--:"] * (len(head) - 1)]
    lines = [head, rule, *body]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def case_table(
    comparison: Comparison, *, subject: str, n: int, alpha: float, epsilon: float
) -> str:
    """Return every method on one case, the non-private reference included, as Markdown."""
    rows = [
        row
        for key in comparison.grid.methods
        for row in comparison.rows
        if (row.method, row.subject, row.n, row.alpha) == (key, subject, n, alpha)
        and row.epsilon in {epsilon, math.inf}
    ]
    if not rows:
        raise ValueError(f"subject, n, alpha and epsilon must be on the grid, got {subject!r}, {n}")
    return markdown_table(
        ["method", "mean coverage", "± s.e.", "P(F(q̂) < 1−α)", "mean set size", "bought"],
        (
            [
                method(row.method).label,
                f"{row.coverage:.4f}" + ("" if row.covers else " ✗"),
                f"{row.coverage_error:.4f}",
                f"{row.failure_rate:.3f}",
                "–" if row.set_size is None else f"{row.set_size:.3f}",
                row.parameter,
            ]
            for row in rows
        ),
    )


def method_table(comparison: Comparison) -> str:
    """Return what each method asks for and promises, as Markdown."""
    return markdown_table(
        ["method", "whom its people trust", "promise", "how δ(ε) is known"],
        (
            [m.label, m.trust, m.promise or "none", m.privacy]
            for m in map(method, comparison.grid.methods)
        ),
    )


def timing_table(comparison: Comparison) -> str:
    """Return the milliseconds of one release of each method at each n, as Markdown."""
    seconds = {(t.method, t.n): t.seconds for t in comparison.timings}
    sizes = sorted(comparison.grid.sizes)
    return markdown_table(
        ["method", *(f"n = {n}" for n in sizes)],
        (
            [method(key).label, *(_milliseconds(seconds.get((key, n))) for n in sizes)]
            for key in comparison.grid.methods
            if any((key, n) in seconds for n in sizes)
        ),
    )


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{number(1e3 * seconds)} ms"


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("*", "\\*")
