"""How often a test may refuse a true claim before that is no accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.stats import binom
from support.samplers import context

from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.checks import Check


def refusals(check: Check, *, repetitions: int, significance: float) -> int:
    """Return how many of the repetitions, on seeds 0, 1, …, refute."""
    return sum(
        check(context(seed, significance=significance)).verdict is Verdict.REFUTED
        for seed in range(repetitions)
    )


def most_refusals(repetitions: int, *, level: float, false_alarm: float) -> int:
    """Return a count that Binomial(repetitions, level) exceeds with at most ``false_alarm``."""
    return int(binom.isf(false_alarm, repetitions, level))
