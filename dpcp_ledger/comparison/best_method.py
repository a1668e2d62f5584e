"""Which calibrator to use when: the smallest sets among those that cover."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Relation
from dpcp_ledger.comparison.known_methods import method
from dpcp_ledger.comparison.private_calibrator import Trust

if TYPE_CHECKING:
    from collections.abc import Collection

    from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow
    from dpcp_ledger.comparison.method import Method


OUTDONE = frozenset({"pcoqs-claimed", "pcoqs-claimed*", "exponq"})
"""Methods that leave a part of the budget unspent which a sibling spends."""
_TIE = 0.02
_USELESS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Which calibrators stand for election: a row of the map.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class BestMethod:
    """The best calibrator of a case.

    Parameters
    ----------
    row : ComparisonRow or None
        What was measured of it; None where no calibrator covers with useful sets.
    excess : float
        Labels a set more than split conformal prediction's; nan where there is no row.
    """

    row: ComparisonRow | None
    excess: float = math.nan


def choose(
    comparison: Comparison,
    *,
    subject: str,
    n: int,
    alpha: float,
    epsilon: float,
    panel: Panel,
) -> BestMethod:
    """Return the private calibrator with the smallest sets among those that cover.

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
        return BestMethod(row=None)
    smallest = min(size for _, size in fit)
    tied = [(row, size) for row, size in fit if size <= smallest + _TIE * reference]
    row, size = min(tied, key=lambda one: (shortfalls(comparison, one[0].method), one[1]))
    return BestMethod(row=row, excess=size - reference)


def elected(comparison: Comparison, *, subject: str, alpha: float, panel: Panel) -> Counter[str]:
    """Return in how many cases over n and ε each calibrator is chosen; "" where none is."""
    return Counter(
        choice.row.method if choice.row else ""
        for n in comparison.grid.sizes
        for epsilon in comparison.grid.epsilons
        for choice in [
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
