"""How often a test may refuse a true claim before that is no accident."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING

from scipy.stats import binom
from support.samplers import context

from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpcp_audit.checks import Check


def refutes(check: Check, *, significance: float) -> Iterator[bool]:
    """Tell on seeds 0, 1, … whether a check refutes."""
    for seed in count():
        yield check(context(seed, significance=significance)).verdict is Verdict.REFUTED


def refusals(check: Check, *, repetitions: int, significance: float) -> int:
    """Return how many of the repetitions, on seeds 0, 1, …, refute."""
    return sum(islice(refutes(check, significance=significance), repetitions))


def exceeds(outcomes: Iterable[bool], most: float, *, of: int) -> bool:
    """Tell whether more than ``most`` of the first ``of`` outcomes are true.

    No more of them are asked for than settle it, so that the answer, and with it the error
    probabilities of a test, are those of all.
    """
    seen = 0
    for done, outcome in enumerate(islice(outcomes, of), start=1):
        seen += outcome
        if seen > most or seen + of - done <= most:
            break
    return seen > most


def most_refusals(repetitions: int, *, level: float, false_alarm: float) -> int:
    """Return a count that Binomial(repetitions, level) exceeds with at most ``false_alarm``."""
    return int(binom.isf(false_alarm, repetitions, level))
