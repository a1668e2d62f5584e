"""What a count of false alarms says of a level: limits, and what so many repetitions resolve."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binom

from dpcp_audit.stats.rates import clopper_pearson


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelTest:
    """Tests a true level against ``level`` by the number of refuted true claims.

    Parameters
    ----------
    level : float
        The largest probability of a refutation that is allowed.
    repetitions : int
    false_alarm : float
        The probability with which an auditor of exactly that level may fail, at most.

    Examples
    --------
    >>> test = LevelTest(level=0.05, repetitions=2000, false_alarm=1e-3)
    >>> test.most, test.passes(0.05) >= 0.999, round(test.passes(0.1), 7)
    (131, True, 1e-07)
    """

    level: float
    repetitions: int
    false_alarm: float

    @property
    def most(self) -> int:
        """The largest number of refutations that passes."""
        return int(binom.isf(self.false_alarm, self.repetitions, self.level))

    @property
    def resolved(self) -> float:
        """The largest upper 99 % limit that passes: the level, and what is not resolved."""
        return self.limits(self.most)[1]

    def passes(self, level: float) -> float:
        """Return the probability that an auditor of this true level passes."""
        return float(binom.cdf(self.most, self.repetitions, level))

    def limits(self, refuted: int) -> tuple[float, float]:
        """Return the Clopper–Pearson limits of the true level, at 99 %."""
        low, high = clopper_pearson(refuted, self.repetitions, significance=0.01)
        return float(low), float(high)
