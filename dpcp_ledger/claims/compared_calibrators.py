"""The comparison as tables of a results document, and which calibrator to choose when.

Rows for all calibrators at equal privacy: what none of the papers compares.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.extensions.claims import (
    Evidence,
    EvidenceKind,
    Outcome,
    PlainData,
    Power,
    Quantity,
    Relation,
    Row,
    Sampled,
    Standing,
    Suite,
    Table,
    TableColumn,
    Verdict,
    claims_of,
    conclude,
    in_place,
    whole,
)
from dpcp_audit.extensions.statistics import MeanBets
from dpcp_ledger.comparison import calibrator_study
from dpcp_ledger.comparison.calibrator_study import QUICK, Comparison, Grid, method
from dpcp_ledger.comparison.method import MEAN_COVERAGE, SkippedMethod, Trust, known_name
from dpcp_ledger.reproduce.experiments import Extent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dpcp_audit.extensions.claims import Context
    from dpcp_ledger.comparison.calibrator_study import ComparisonRow
    from dpcp_ledger.comparison.method import Method


NUMBERS = {
    "n": "n",
    "alpha": "α",
    "epsilon": "ε",
    "coverage": "mean coverage",
    "failure_rate": "P(F(q̂) < 1−α)",
    "set_size": "mean set size",
}
"""Fields of a row that are columns, with their names."""
DETAILS = {
    "coverage_error": "standard error",
    "distance": "mean |F(q̂) − (1−α)|",
    "delta": "δ",
    "trials": "runs",
    "labels": "labels",
}
"""Fields that a results file and ``--report cells=`` have of each coverage."""
BOUGHT = "bought"
_NOTES = (
    "± is a standard error; ✗ marks a mean coverage that is short of 1−α by more than three.",
    "F(q̂) is the coverage of one calibration; bought is what (ε, δ) buys of the calibrator.",
)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Return the rows as a table, and what was left out as another one, if anything was."""
    rows, names = comparison.rows, " and ".join(comparison.names)
    coverages = [
        f"{r.coverage:.4f} ± {r.coverage_error:.4f}{'' if r.covers else ' ✗'}" for r in rows
    ]
    columns = {
        "n": [f"{row.n}" for row in rows],
        "alpha": [f"{row.alpha:g}" for row in rows],
        "epsilon": [f"{row.epsilon:g}" if math.isfinite(row.epsilon) else "∞" for row in rows],
        "coverage": coverages,
        "failure_rate": [f"{row.failure_rate:.3f}" for row in rows],
        "set_size": ["–" if row.set_size is None else f"{row.set_size:.3f}" for row in rows],
    }
    found = Table(
        title=f"Every calibrator on {names}",
        columns=[
            TableColumn(name="calibrator", texts=[method(row.method).label for row in rows]),
            *(
                TableColumn(
                    name=NUMBERS[field],
                    texts=texts,
                    values=_numbers(rows, field),
                    details={name: _numbers(rows, each) for each, name in DETAILS.items()}
                    if field == "coverage"
                    else {},
                    marked=[place for place, text in enumerate(texts) if "✗" in text],
                )
                for field, texts in columns.items()
            ),
            TableColumn(name=BOUGHT, texts=[row.parameter for row in rows]),
        ],
        notes=list(_NOTES),
    )
    if not comparison.skipped:
        return (found,)
    left_out = Table(
        title=f"Left out on {names}",
        columns=[
            TableColumn(name="key", texts=[key for key, _ in comparison.skipped]),
            TableColumn(name="left out because", texts=[why for _, why in comparison.skipped]),
        ],
    )
    return (found, left_out)


def _numbers(rows: Iterable[ComparisonRow], field: str) -> list[float]:
    cells = (getattr(row, field) for row in rows)
    return [math.nan if cell is None else float(cell) for cell in cells]


OUTDONE = frozenset({"pcoqs-claimed", "pcoqs-claimed*", "exponq"})
"""Methods that leave a part of the budget unspent which a sibling spends."""
_TIE = 0.02
_USELESS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A row of the map: the calibrators that compete in it.

    Parameters
    ----------
    trusts : collection of Trust
        Whom the people in the data may be asked to trust.
    promised : bool
        Take only calibrators with a theorem about their coverage.
    """

    title: str
    trusts: Collection[Trust]
    promised: bool = False


PANELS = (
    Panel(
        title="A curator is trusted; with a theorem about coverage",
        trusts=frozenset(Trust),
        promised=True,
    ),
    Panel(title="A curator is trusted; coverage as measured", trusts=frozenset(Trust)),
    Panel(
        title="No curator, at most a shuffler; coverage as measured",
        trusts=frozenset({Trust.SHUFFLER, Trust.NOBODY}),
    ),
)


def choose(
    comparison: Comparison, *, subject: str, n: int, alpha: float, epsilon: float, panel: Panel
) -> ComparisonRow | None:
    """Return the private calibrator with the smallest sets among those that cover, if any does.

    A calibrator covers where its mean coverage is at least 1−α within three standard errors,
    and its sets are useful where they hold less than 90 % of all labels. Among those within 2 %
    of the smallest, by split conformal prediction's size, the one that covers in most cases of
    the whole comparison is taken. Methods that protect labels alone do not stand for election:
    they do not keep the budget.
    """
    here = [r for r in comparison.rows if (r.subject, r.n, r.alpha) == (subject, n, alpha)]
    reference = next((r.set_size for r in here if not method(r.method).private), None)
    if reference is None:
        raise ValueError(f"subject must have split conformal sets to compare with, got {subject!r}")
    fit = [
        (row, size)
        for row in here
        if (size := row.set_size) is not None
        and row.epsilon == epsilon
        and row.covers
        and size < _USELESS * (row.labels or 1)
        and _eligible(method(row.method), panel)
    ]
    if not fit:
        return None
    smallest = min(size for _, size in fit)
    tied = [(row, size) for row, size in fit if size <= smallest + _TIE * reference]
    return min(tied, key=lambda one: (shortfalls(comparison, one[0].method), one[1]))[0]


def elected(comparison: Comparison, *, subject: str, alpha: float, panel: Panel) -> Counter[str]:
    """Return in how many cases over n and ε each calibrator is chosen; "" where none is."""
    return Counter(
        best.method if best else ""
        for n in comparison.grid.sizes
        for epsilon in comparison.grid.epsilons
        for best in [
            choose(comparison, subject=subject, n=n, alpha=alpha, epsilon=epsilon, panel=panel)
        ]
    )


def told(tally: Counter[str]) -> str:
    """Return in words what ``elected`` counts, the most frequent first."""
    return "; ".join(
        f"{method(key).label if key else 'none'} ({count})" for key, count in tally.most_common()
    )


def shortfalls(comparison: Comparison, key: str) -> float:
    """Return the share of a method's cases, of all subjects, in which it does not cover."""
    rows = [row for row in comparison.rows if row.method == key]
    return sum(not row.covers for row in rows) / len(rows)


def _eligible(candidate: Method, panel: Panel) -> bool:
    return (
        candidate.private
        and candidate.key not in OUTDONE
        and candidate.relation is Relation.SUBSTITUTION
        and candidate.trust in panel.trusts
        and bool(candidate.promise or not panel.promised)
    )


_claim = claims_of(
    "Comparison", subject="All calibrators at equal privacy", standing=Standing.PRACTICE
)


def rows(
    pools: Sequence[str] = (), alphas: Sequence[float] = (), delta: float | None = None
) -> list[Row]:
    """Return one row a subject of the comparison.

    Parameters
    ----------
    pools : sequence of str
        Further subjects (see ``subjects.subject``): files of saved pools.
    alphas : sequence of float
        Miscoverage levels, in place of the grid's.
    delta : float, optional
        δ of every budget, in place of the grid's.

    Raises
    ------
    UsageError
        If a pool is none of these.
    """
    with in_place("pool"):
        names = {name: known_name(name) for name in (*QUICK.subjects, *pools)}
    return [
        _row(Compared(subject=subject, alphas=tuple(alphas), delta=delta), name)
        for subject, name in names.items()
    ]


def _row(check: Compared, name: str) -> Row:
    grid = check.grid(effort=1.0, seed=0)
    return Row(
        claim=_claim(
            f"compared[scores={name}]",
            "equal privacy",
            Verdict.CONSISTENT,
            "With the noise that (ε, δ)-DP asks of each, the calibrators whose theorem promises a "
            "mean coverage of 1−α keep it at every n and ε.",
            parameters={
                "n": list(grid.sizes),
                "alpha": list(grid.alphas),
                "epsilon": list(grid.epsilons),
                "delta": grid.delta,
                "population": name,
            },
        ),
        check=check,
    )


class _Limits(NamedTuple):
    """Confidence limits of a mean coverage, and the case that they are of."""

    method: str
    n: int
    alpha: float
    epsilon: float
    mean: float
    low: float
    high: float
    runs: int
    smallest: float
    """The smallest mean miscoverage that is refuted with probability 0.95."""

    @property
    def shortfall(self) -> float:
        """The least shortfall of the coverage from 1−α."""
        return 1 - self.alpha - self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Sampled):
    """Measure every calibrator on one subject, and test the theorems on mean coverage.

    The runs are those of ``dpcp-audit compare-calibrators`` at the same seed: their streams are
    keyed by the seed, the method and the case, not by the finding. Calibrators that promise no mean
    coverage are measured beside the others. With the full profile the cases are those of
    ``--full``.

    :Null hypothesis: Every calibrator that promises a mean coverage has it, in every case of the
        subject.
    :Statistic: The capital of bets on the coverages of independent runs (``MeanBets``).
    :Level: At most the significance, shared by the calibrators and cases with a promise, by Ville's
        inequality.
    :Power: The mean coverage that is refuted with probability 0.95, of coverages that vary as those
        measured.
    :Reference: Waudby-Smith and Ramdas (2024), Section 4; Ville (1939).

    Parameters
    ----------
    subject : str
        Name of the subject (see ``subjects.subject``).
    alphas, delta : tuple of float, float or None
        Levels and δ of the cases, in place of the grid's.
    """

    subject: str
    alphas: tuple[float, ...] = ()
    delta: float | None = None

    def __call__(self, context: Context) -> Outcome:
        """Run all cases and judge."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of families of methods at one ε each."""
        return len(list(calibrator_study.tasks(self._grid(context))))

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run one family of methods at one ε."""
        grid = self._grid(context)
        keys, epsilon = list(calibrator_study.tasks(grid))[index]
        level = context.significance / (2 * _promises(grid))
        found: PlainData = {"rows": [], "limits": [], "skipped": []}
        for chosen, case in calibrator_study.cases(grid, keys, epsilon):
            runs = calibrator_study.perform(chosen, case, trials=grid.trials, seed=grid.seed)
            if isinstance(runs, SkippedMethod):
                found["skipped"].append([chosen.key, runs.reason])
                continue
            found["rows"].append(asdict(runs.row()))
            if chosen.promise == MEAN_COVERAGE:
                found["limits"].append(list(_limits(runs, epsilon, level=level)))
        return found

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the worst of the promises."""
        grid = self._grid(context)
        limits = [_Limits(*each) for result in results for each in result["limits"]]
        worst = max(limits, key=lambda each: (each.shortfall, 1 - each.alpha - each.mean))
        comparison = Comparison(
            grid=grid,
            rows=calibrator_study.ordered(
                grid,
                (
                    calibrator_study.ComparisonRow(**plain)
                    for result in results
                    for plain in result["rows"]
                ),
            ),
            skipped=tuple(
                dict.fromkeys((key, why) for result in results for key, why in result["skipped"])
            ),
        )
        return conclude(
            _evidence(worst, limits, context.significance),
            lambda: _power(limits),
            witness={
                "method": worst.method,
                "subject": self.subject,
                "n": worst.n,
                "alpha": worst.alpha,
                "epsilon": worst.epsilon,
                "delta": grid.delta,
                "trials": worst.runs,
                "seed": grid.seed,
            },
            note=_note(comparison),
            tables=comparison_tables(comparison),
        )

    def grid(self, *, effort: float, seed: int) -> Grid:
        """Return the cases that are run."""
        extent = Extent.at(effort)
        grid = Grid() if extent is Extent.FULL else QUICK
        return replace(
            grid,
            subjects=(self.subject,),
            alphas=self.alphas or grid.alphas,
            delta=grid.delta if self.delta is None else self.delta,
            seed=seed,
            trials=grid.trials // 2 if extent is Extent.SMOKE else grid.trials,
        )

    def _grid(self, context: Context) -> Grid:
        return self.grid(effort=context.effort, seed=context.seed)


def _promises(grid: Grid) -> int:
    """Return on how many cases a mean coverage is promised; the non-private reference has one ε."""
    promising = [chosen for key in grid.methods if (chosen := method(key)).promise == MEAN_COVERAGE]
    budgets = sum(len(grid.epsilons) if chosen.private else 1 for chosen in promising)
    return budgets * len(grid.subjects) * len(grid.sizes) * len(grid.alphas)


def _limits(runs: calibrator_study.Runs, epsilon: float, *, level: float) -> _Limits:
    coverages, bets = runs.coverages, MeanBets()
    return _Limits(
        method=runs.method.key,
        n=runs.case.n,
        alpha=runs.case.alpha,
        epsilon=epsilon if runs.method.private else math.inf,
        mean=float(coverages.mean()),
        low=bets.lower_limit(coverages, significance=level),
        high=bets.upper_limit(coverages, significance=level),
        runs=coverages.size,
        smallest=runs.case.alpha
        + bets.smallest_violation(
            coverages, at_least=1 - runs.case.alpha, n_values=coverages.size, significance=level
        ),
    )


def _power(limits: Sequence[_Limits]) -> Power:
    """Return the power of the case in which a miscoverage is hardest to refute."""
    hardest = max(limits, key=lambda each: each.smallest / each.alpha)
    return Power(
        quantity=Quantity.MISCOVERAGE,
        smallest=hardest.smallest,
        claimed=hardest.alpha,
        detail="in every case",
    )


def _evidence(worst: _Limits, limits: Sequence[_Limits], significance: float) -> Evidence:
    target = 1 - worst.alpha
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=Quantity.DIFFERENCE,
        detail="shortfall of the mean coverage below 1−α, where it is largest",
        value=target - worst.mean,
        lower=worst.shortfall,
        upper=max(1 - each.alpha - each.low for each in limits),
        claimed=0.0,
        confidence=1 - significance,
        n_samples=sum(each.runs for each in limits),
    )


def _note(comparison: Comparison) -> str:
    said = []
    if any(row.labels for row in comparison.rows):
        said = [f"{panel.title}: {_elected(comparison, panel)}." for panel in PANELS]
        said.insert(0, "The smallest sets among those that cover, over all n and ε (how often).")
    short = dict.fromkeys(
        method(row.method).label
        for row in comparison.rows
        if not row.covers and method(row.method).promise != MEAN_COVERAGE
    )
    if short:
        said.append(
            f"Without such a promise, and short of 1−α on average in some case: {'; '.join(short)}."
        )
    left_out: dict[str, list[str]] = {}
    for key, why in comparison.skipped:
        left_out.setdefault(why, []).append(method(key).label)
    said += [f"Left out: {'; '.join(labels)} ({why})." for why, labels in left_out.items()]
    said.append("Coverage is F(q̂), exactly, for each of the runs.")
    return " ".join(said)


def _elected(comparison: Comparison, panel: Panel) -> str:
    (name,), alpha = comparison.names, min(comparison.grid.alphas, key=lambda a: abs(a - 0.1))
    return told(elected(comparison, subject=name, alpha=alpha, panel=panel))


SUITE = Suite(
    summary="All calibrators at equal privacy: which keep their promise, which to use when.",
    rows=rows,
    takes=frozenset({"pools", "alphas", "delta"}),
)
