"""Write the page on private calibrators at equal privacy, from a run's results.

Usage: dpcp-audit compare-calibrators --profile full --report json=comparison.json
       python docs/update_comparison.py comparison.json
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import ApproxDP, number
from dpcp_audit.extensions.mechanisms import PCOQS, claimed_rho, proven_rho, worst_known_pair
from dpcp_audit.extensions.statistics import turn_by_factor
from dpcp_ledger.claims.compared_calibrators import BOUGHT, DETAILS, NUMBERS, PANELS, elected, told
from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow, Grid, method, methods
from dpcp_ledger.comparison.method import LOG_SCORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DOCS = Path(__file__).parent
_WHOLE = frozenset({"n", "trials", "labels"})
_PREFIX = "Every calibrator on "
_LEFT_OUT_ON = "Left out on "


def comparison_of(document: Mapping[str, Any]) -> Comparison:
    """Return the comparison that a results document holds.

    Raises
    ------
    ValueError
        If it holds none.
    """
    tables = [table for finding in document["findings"] for table in finding.get("tables", ())]
    rows = [row for each in tables if each["title"].startswith(_PREFIX) for row in _rows(each)]
    if not rows:
        raise ValueError("document must hold the comparison of a subject, got none")
    left_out = [
        pair
        for each in tables
        if each["title"].startswith(_LEFT_OUT_ON)
        for pair in zip(*(column["texts"] for column in each["columns"]), strict=True)
    ]
    skipped = tuple((str(key), str(why)) for key, why in dict.fromkeys(left_out))
    tried = {row.method for row in rows} | {key for key, _ in skipped}
    grid = Grid(
        methods=tuple(m.key for m in methods() if m.key in tried),
        subjects=tuple(dict.fromkeys(row.subject for row in rows)),
        sizes=tuple(sorted({row.n for row in rows})),
        epsilons=tuple(sorted({row.epsilon for row in rows if math.isfinite(row.epsilon)})),
        alphas=tuple(sorted({row.alpha for row in rows})),
        delta=min(row.delta for row in rows),
        trials=max(row.trials for row in rows),
        seed=int(document["seed"]),
    )
    return Comparison(grid=grid, rows=tuple(rows), skipped=skipped)


def _rows(table: Mapping[str, Any]) -> Iterator[ComparisonRow]:
    columns = {column["name"]: column for column in table["columns"]}
    details = columns[NUMBERS["coverage"]]["details"]
    keys = {each.label: each.key for each in methods()}
    numbers = {field: columns[name]["values"] for field, name in NUMBERS.items()}
    numbers |= {field: details[name] for field, name in DETAILS.items()}
    for place, label in enumerate(columns["calibrator"]["texts"]):
        yield ComparisonRow(
            method=keys[label],
            subject=table["title"].removeprefix(_PREFIX),
            parameter=columns[BOUGHT]["texts"][place],
            **{field: _field(field, cells[place]) for field, cells in numbers.items()},
        )


def _field(name: str, cell: str | float) -> Any:
    value = float(cell)
    if math.isnan(value):
        return None
    return int(value) if name in _WHOLE else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Standard deviations of P-COQS's count noise, in counts, at one budget.

    Parameters
    ----------
    claimed, proved : float
        What the conversion of ρ-zCDP asks for, and what suffices over all neighbours.
    least : float
        With less, the known worst pair exceeds δ.
    published : float
        That of ρ = ε²/2 (P-COQS paper, Section 5).
    published_epsilon : float
        ε at δ that the known worst pair attains under the published noise: what that spends,
        or more.
    """

    epsilon: float
    claimed: float
    proved: float
    least: float
    published: float
    published_epsilon: float


def spending(budget: ApproxDP, *, resolution: float = 1e-10) -> Spending:
    """Compute the noise that a budget buys, at the resolution Δ on [0, 1]."""
    rounds = PCOQS(alpha=0.1, rho=1.0, resolution=resolution).rounds

    def scale(rho: float) -> float:
        return math.sqrt(rounds / (2 * rho))

    published = scale(budget.epsilon**2 / 2)
    pair = worst_known_pair(noise_scale=published, rounds=rounds)
    return Spending(
        epsilon=budget.epsilon,
        claimed=scale(claimed_rho(budget)),
        proved=scale(proven_rho(budget, rounds=rounds)),
        least=_least_scale(budget, rounds),
        published=published,
        published_epsilon=max(way.epsilon_at(budget.delta) for way in (pair, pair.reversed())),
    )


def _least_scale(budget: ApproxDP, rounds: int) -> float:
    """Return the σ at which the known worst pair attains δ at ε, to 0.1 % below."""

    def exceeds(noise_scale: float) -> bool:
        pair = worst_known_pair(noise_scale=noise_scale, rounds=rounds)
        return any(way.delta_at(budget.epsilon) > budget.delta for way in (pair, pair.reversed()))

    low = high = 1 / budget.epsilon
    while not exceeds(low):
        low /= 2
    while exceeds(high):
        high *= 2
    return turn_by_factor(exceeds, high, low, ratio=1.001).holds


_CURRENCY = """\
Every private calibrator below but LDP-CP-L releases a threshold that is (ε, δ)-DP under
substitution of one record, over *all* neighbours, with δ = {delta}. The parameter of each
mechanism is the most favourable one for which that is proved; mechanisms of pure ε-DP leave δ
unspent. Papers that compare calibrators "at the same ε" compare ρ = ε²/2 of zCDP with pure ε and
with local ε, which are three different promises. Starred calibrators (\\*) aim higher so that
their coverage theorem speaks of 1−α, but for a probability of 0.1: β of P-COQS, and the δ of
LDP-CP's coverage, which is not the δ of privacy. The others run as they are. Coverage is F(q̂),
exactly; sets are counted on the whole pool.
"""
_LESSONS = """\
The table counts the cases (every n with every ε) in which each is chosen: the smallest
sets among those whose mean coverage, as measured, reaches 1−α; among equals, the one that covers
in most cases of the whole grid.

**The scale of the score.** An over-confident classifier heaps its scores up at 1, where a
search over [0, 1] of any fixed resolution sees one point. On the same classifier, with a theorem
about coverage and the score 1−p, useful sets come out in {plain} of {cells} cases; with
log(1−log p), which orders the labels alike, in {log}. Such a scale is to be chosen before looking
at the data.
"""
_NOISE = """\
P-COQS adds noise to counts. Its zCDP claim asks for more of it than the bits it releases need:
at ε = {epsilon}, a standard deviation of {claimed} counts against {proved} that are proved to be
enough over all neighbours ({share} of it); with less than {least} the known worst pair breaks the
budget. The paper's own ρ = ε²/2 is a standard deviation of {published}: on that pair it spends at
least ε = {spent} at δ = {delta} where it says {epsilon}.
"""
_PRICE = """\
Over all cases of the grid. The price is the mean of F(q̂) − (1−α) over the cases that cover, in
points of coverage.
"""
_LEFT_OUT = """\
LDP-CP-L keeps labels private and shows features, so it spends less than the others: it stands in
the tables, and is not chosen. Shuffling does not help it, because whoever sees the features knows
whose report it is. For LDP-CP-S each round's block of n/10 users is shuffled.
"""
_RERUN = """\
`dpcp-audit compare-calibrators --profile full --report json=comparison.json` does the whole grid,
without `--profile full` the quick one, and `docs/update_comparison.py comparison.json` writes this
page. `--pool mine.npz` adds your own classifier's scores. The numbers above come out of the run
that wrote this page ({rows} rows:
n = {sizes}; ε = {epsilons}; α = {alphas}; seed {seed}, {trials} runs a case, fewer where a run
costs O(n)); those of OpenDP, which draws from the system's entropy, change within their errors.
"""


def comparison_page(comparison: Comparison) -> str:
    """Return the page as Markdown."""
    grid = comparison.grid
    spent = [spending(ApproxDP(epsilon, grid.delta)) for epsilon in sorted(grid.epsilons)]
    middle = min(spent, key=lambda s: abs(math.log(s.epsilon)))
    alpha = min(grid.alphas, key=lambda a: abs(a - 0.1))
    n = min(grid.sizes, key=lambda size: abs(math.log(size / 1000)))
    parts = [
        "# Private calibrators at equal privacy",
        _CURRENCY.format(delta=number(grid.delta)),
        *_elections(comparison, alpha),
        "## Trust and promises of each method",
        method_table(comparison),
        _LEFT_OUT,
        "## What a budget buys of P-COQS",
        _noise_text(middle, grid.delta),
        _spending_table(spent),
        "## How often the mean coverage falls short, and the price where it does not",
        _PRICE,
        _shortfall_table(comparison),
        f"## Case by case: n = {n}, ε = {middle.epsilon:g}, α = {alpha:g}",
        "✗ marks a mean coverage below 1−α by more than three standard errors.",
        *_case_sections(comparison, n=n, alpha=alpha, epsilon=middle.epsilon),
        "## Run it again",
        _RERUN.format(
            rows=len(comparison.rows),
            sizes=_listed(grid.sizes),
            epsilons=_listed(grid.epsilons),
            alphas=_listed(grid.alphas),
            seed=grid.seed,
            trials=grid.trials,
        ),
        *_skipped(comparison),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _elections(comparison: Comparison, alpha: float) -> list[str]:
    labelled = {row.subject for row in comparison.rows if row.labels is not None}
    pools = [name for name in comparison.names if name in labelled]
    tallies = {
        (panel.title, name): elected(comparison, subject=name, alpha=alpha, panel=panel)
        for panel in PANELS
        for name in pools
    }
    table = markdown_table(
        ["", *pools],
        ([panel.title, *(told(tallies[panel.title, name]) for name in pools)] for panel in PANELS),
    )
    parts = ["## Which to use when", table]
    plain = next((name for name in pools if f"{name}{LOG_SCORE}" in pools), None)
    if plain is None:
        return parts
    theorem = next(panel.title for panel in PANELS if panel.promised)
    useful = [
        tallies[theorem, name].total() - tallies[theorem, name][""]
        for name in (plain, f"{plain}{LOG_SCORE}")
    ]
    cells = tallies[theorem, plain].total()
    return [*parts, _LESSONS.format(plain=useful[0], log=useful[1], cells=cells)]


def _noise_text(at: Spending, delta: float) -> str:
    return _NOISE.format(
        epsilon=f"{at.epsilon:g}",
        claimed=number(at.claimed, digits=3),
        proved=number(at.proved, digits=3),
        share=f"{at.proved / at.claimed:.0%}",
        least=number(at.least, digits=3),
        published=number(at.published, digits=3),
        spent=number(at.published_epsilon, digits=3),
        delta=number(delta),
    )


def _spending_table(spent: Iterable[Spending]) -> str:
    return markdown_table(
        ["ε", "σ claimed", "σ proved", "σ at least", "σ of ρ = ε²/2", "which spends ε ≥"],
        (
            [
                f"{s.epsilon:g}",
                *(
                    number(value, digits=3)
                    for value in (s.claimed, s.proved, s.least, s.published, s.published_epsilon)
                ),
            ]
            for s in spent
        ),
    )


def _shortfall_table(comparison: Comparison) -> str:
    names = comparison.names
    return markdown_table(
        ["method", "price", *(f"short on {name}" for name in names)],
        (
            [
                method(key).label,
                _price([r for r in comparison.rows if r.method == key and r.covers]),
                *(
                    _short([r for r in comparison.rows if (r.method, r.subject) == (key, name)])
                    for name in names
                ),
            ]
            for key in comparison.grid.methods
            if any(row.method == key for row in comparison.rows)
        ),
    )


def _price(rows: Sequence[ComparisonRow]) -> str:
    if not rows:
        return "–"
    return f"{100 * np.mean([row.coverage - (1 - row.alpha) for row in rows]):.2f}"


def _short(rows: Sequence[ComparisonRow]) -> str:
    return f"{sum(not row.covers for row in rows)} of {len(rows)}" if rows else "–"


def _case_sections(comparison: Comparison, *, n: int, alpha: float, epsilon: float) -> list[str]:
    parts: list[str] = []
    for name in comparison.names:
        table = case_table(comparison, subject=name, n=n, alpha=alpha, epsilon=epsilon)
        parts += [f"### {name}", table]
    return parts


def _listed(values: Iterable[float]) -> str:
    return ", ".join(number(value) for value in sorted(values))


def _skipped(comparison: Comparison) -> list[str]:
    lines = [f"- {method(key).label}: {reason}." for key, reason in comparison.skipped]
    return ["Left out in this run:", "\n".join(lines)] if lines else []


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
        ["method", "trusted party", "promise", "source of δ(ε)"],
        (
            [m.label, m.trust, m.promise or "none", m.privacy]
            for m in map(method, comparison.grid.methods)
        ),
    )


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    found = comparison_of(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    text = comparison_page(found)
    (DOCS / "comparison.md").write_text(text, encoding="utf-8")
