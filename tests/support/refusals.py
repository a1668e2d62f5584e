"""How often a test may refuse a true claim before that is no accident."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING

from scipy.stats import binom
from support.samplers import context

from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpcp_audit.words.checks import Check


def refutes(check: Check, *, significance: float) -> Iterator[bool]:
    """Tell on seeds 0, 1, … whether a check refutes."""
    for seed in count():
        yield check(context(seed, significance=significance)).verdict is Verdict.REFUTED


def refusals(check: Check, *, repetitions: int, significance: float) -> int:
    """Return how many of the repetitions, on seeds 0, 1, …, refute."""
    return sum(islice(refutes(check, significance=significance), repetitions))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaldTest:
    """Wald's sequential probability ratio test of how often something happens.

    It takes as many independent outcomes as settle the matter: a fraction of what a fixed number
    with the same error probabilities takes. Those hold by Ville's inequality, for outcomes whose
    probability may depend on earlier ones too: the likelihood ratio of ``excessive`` to
    ``allowed`` is a supermartingale below the one, and its inverse above the other.

    Parameters
    ----------
    allowed, excessive : float
        A probability that is allowed, and a larger one that is not.
    false_alarm : float
        At most so likely does an outcome of probability ``allowed`` or less exceed it.
    missed : float
        At most so likely does an outcome of probability ``excessive`` or more pass.
    """

    allowed: float
    excessive: float
    false_alarm: float
    missed: float = 1e-4

    def exceeded_by(self, outcomes: Iterable[bool]) -> bool:
        """Return True if the outcomes are true too often."""
        evidence = 0.0
        for outcome in outcomes:
            evidence += self._gains[bool(outcome)]
            if evidence >= -math.log(self.false_alarm):
                return True
            if evidence <= math.log(self.missed):
                return False
        raise ValueError("outcomes end before they settle anything")

    @property
    def _gains(self) -> tuple[float, float]:
        """What an outcome that is false, and one that is true, adds to the log-ratio."""
        return (
            math.log1p(-self.excessive) - math.log1p(-self.allowed),
            math.log(self.excessive / self.allowed),
        )


def exceeds(outcomes: Iterable[bool], most: float, *, of: int) -> bool:
    """Return True if more than ``most`` of the first ``of`` outcomes are true.

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
