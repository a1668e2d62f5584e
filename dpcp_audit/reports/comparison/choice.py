"""Which calibrator to use when: the smallest sets among those that cover."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.neighbours import Relation
from dpcp_audit.theorems.comparison.method import Trust
from dpcp_audit.theorems.comparison.methods import method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.theorems.comparison.study import Comparison, Row

CURATED = (Trust.CURATOR, Trust.SHUFFLER, Trust.NOBODY)
UNCURATED = (Trust.SHUFFLER, Trust.NOBODY)
_PREFERENCE = 0.02
_USELESS = 0.9


class Criterion(StrEnum):
    """When a calibrator counts as covering, judged by what was measured."""

    MEAN = "mean"
    """The mean coverage is at least 1−α, within three standard errors."""
    MOST_SETS = "most-sets"
    """The one set that a user holds covers 1−α with probability ≥ 1−failure, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The best calibrator of a case.

    Parameters
    ----------
    row : Row or None
        What was measured of it; None where no calibrator covers.
    excess : float
        Labels a set more than split conformal prediction's; nan where there is no row.
    useful : bool
        Whether its sets hold less than 90 % of all labels.
    """

    row: Row | None
    excess: float = math.nan
    useful: bool = False


def covers(row: Row, criterion: Criterion, *, failure: float) -> bool:
    """Tell whether a row meets the criterion."""
    if criterion is Criterion.MEAN:
        return row.covers
    error = math.sqrt(failure * (1 - failure) / row.trials)
    return row.failure_rate <= failure + 3 * error


def choose(
    comparison: Comparison,
    *,
    subject: str,
    n: int,
    alpha: float,
    epsilon: float,
    trusts: Sequence[Trust],
    criterion: Criterion = Criterion.MEAN,
) -> Choice:
    """Return the private calibrator with the smallest sets among those that cover.

    One with a promise about coverage goes before one without, where its sets are larger by
    less than 2 % of split conformal prediction's. Methods that protect labels alone do not
    stand for election: they do not keep the budget.
    """
    here = [r for r in comparison.rows if (r.subject, r.n, r.alpha) == (subject, n, alpha)]
    yardstick = next((r.set_size for r in here if not method(r.method).private), None)
    if yardstick is None:
        raise ValueError(
            f"subject must have been compared with split conformal sets, got {subject!r}"
        )
    fit = [
        r
        for r in here
        if r.epsilon == epsilon
        and method(r.method).private
        and method(r.method).trust in trusts
        and method(r.method).relation is Relation.SUBSTITUTION
        and covers(r, criterion, failure=comparison.grid.failure)
    ]
    if not fit:
        return Choice(row=None)
    smallest = min(_size(r) for r in fit)
    near = [
        r
        for r in fit
        if method(r.method).promise and _size(r) <= smallest + _PREFERENCE * yardstick
    ]
    row = min(near or fit, key=_size)
    return Choice(
        row=row,
        excess=_size(row) - yardstick,
        useful=_size(row) < _USELESS * (row.labels or 1),
    )


def _size(row: Row) -> float:
    return math.inf if row.set_size is None else row.set_size
