"""A search for the law of scores that a calibrator covers worst, in a few calls of it.

Nothing that is found here is evidence: the calls that choose a law are not those that judge it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.targets.answers import DegenerateTargetError, draw_each
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import of_mean, of_rate
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Count, Power

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.theorems.law_space import LawSpace
    from dpcp_audit.theorems.row_laws import CalibrationSource
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import Coverage
    from dpcp_audit.words.results import Evidence
    from dpcp_audit.words.validate import FloatArray


_ROUNDING = 1e-12
_FIRST_BATCH, _LARGEST_BATCH = 32, 4096
_NUMBERS = 2**19
"""Scores held in memory at once, unless a single calibration set has more."""
_PRIOR = 2.0
"""Calls without gain or loss that are added to those of a law when laws are ranked."""
_KEPT = 4
"""One law of so many stays in the race from one heat to the next."""
_SURVIVORS, _MOVES = 16, 16
_BETS = MeanBets()


Calibrate: TypeAlias = "Callable[..., Any]"
"""A target that turns a calibration set into thresholds: ``calibrate(value, size, rng=…)``.

It returns ``size`` independent ones, an array of shape (size,).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a claim, as a mean of X in [0, 1] that is claimed to be >= a level.

    Parameters
    ----------
    guarantee : Coverage
        The claim; ``confidence`` 1 speaks of the mean coverage, less of single calibrations.
    upper : bool
        True if the upper bound of a mean is meant.
    """

    guarantee: Coverage
    upper: bool = False

    @property
    def per_calibration(self) -> bool:
        """True if the claim is about the share of calibrations within the bounds."""
        return self.guarantee.confidence < 1

    @property
    def claimed(self) -> float:
        """The smallest mean of X that is claimed."""
        if self.per_calibration:
            return self.guarantee.confidence
        return 1 - self.guarantee.at_most if self.upper else self.guarantee.at_least

    @property
    def quantity(self) -> Quantity:
        """The quantity that the claim bounds: the coverage, or how often it fails."""
        return Quantity.COVERAGE_FAILURE if self.per_calibration else Quantity.COVERAGE

    @property
    def bound(self) -> Bound:
        """On which side the claim bounds its quantity."""
        from_above = self.upper or self.per_calibration
        return Bound.AT_MOST if from_above else Bound.AT_LEAST

    @property
    def bounded(self) -> float:
        """The claimed bound of the quantity."""
        return self.natural((self.claimed, self.claimed))[0]

    def natural(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return an interval of the mean of X as one of the quantity."""
        low, high = interval
        if self.bound is Bound.AT_LEAST:
            return low, high
        return 1 - high, 1 - low

    def power(self, shortfall: float, detail: str) -> Power:
        """Return the power to refute a mean of X that falls short by so much."""
        return Power(
            quantity=self.quantity,
            smallest=self.bounded + (shortfall if self.bound is Bound.AT_MOST else -shortfall),
            claimed=self.bounded,
            bound=self.bound,
            detail=detail,
        )

    def values(self, coverage: FloatArray) -> FloatArray:
        """Return X of each call, from its coverage; shape (calls,)."""
        if self.per_calibration:
            low, high = self.guarantee.at_least - _ROUNDING, self.guarantee.at_most + _ROUNDING
            return ((coverage >= low) & (coverage <= high)).astype(np.float64)
        return 1 - coverage if self.upper else coverage


def sides(guarantee: Coverage) -> tuple[Side, ...]:
    """Return the sides of a claim that code could fail.

    Raises
    ------
    ValueError
        If the claim bounds the coverage neither from below nor from above.
    """
    if guarantee.confidence < 1:
        _validate.open_unit(confidence=guarantee.confidence)
        found: tuple[Side, ...] = (Side(guarantee=guarantee),)
    else:
        both = Side(guarantee=guarantee), Side(guarantee=guarantee, upper=True)
        found = tuple(side for side in both if 0 < side.claimed < 1)
    if not found or (guarantee.at_least <= 0 and guarantee.at_most >= 1):
        raise ValueError(
            f"guarantee must bound the coverage by a number in (0, 1), got {guarantee}"
        )
    return found


class Calls:
    """Calls of the target within a budget; each batch of them has random streams of its own.

    Parameters
    ----------
    calibrate : Calibrate
    context : Context
        The check's context. Its streams 2i and 2i + 1 draw the data and the target's noise of batch
        i.
    budget : int
        Calls at most.
    strict : bool
        True if sets are {y : score < threshold}.
    tolerance : float
        Thresholds count as so much larger, in units of score.
    """

    def __init__(
        self,
        calibrate: Calibrate,
        context: Context,
        budget: int,
        *,
        strict: bool = False,
        tolerance: float = 0.0,
    ) -> None:
        self._calibrate = calibrate
        self._context = context
        self._strict = strict
        self._budget = budget
        self.tolerance = tolerance
        self._batches = 0
        self.spent = 0

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self._budget - self.spent

    def coverage(self, source: CalibrationSource, n: int, count: int) -> FloatArray:
        """Calibrate ``count`` times, or as often as is left, and return the coverages."""
        count = min(count, self.left)
        parts = [np.zeros(0)]
        while count > 0:
            size = min(count, max(1, _NUMBERS // n))
            parts.append(self._batch(source, n, size))
            count -= size
        return np.concatenate(parts)

    def _batch(self, source: CalibrationSource, n: int, size: int) -> FloatArray:
        data, noise = (self._context.rng(2 * self._batches + which) for which in (0, 1))
        self._batches += 1
        self.spent += size
        sets = source.draw(n, size, rng=data)
        thresholds = draw_each(self._calibrate, sets, rng=noise)
        if not source.takes_arrays and thresholds.ndim != 1:
            raise DegenerateTargetError("calibrate must return one threshold a call, got vectors")
        return source.coverage(thresholds + self.tolerance, strict=self._strict)


@dataclass(slots=True, kw_only=True, eq=False)
class Contender:
    """A law with a number of scores, and the coverages of the calls spent on choosing it."""

    source: CalibrationSource
    n: int
    coverage: FloatArray = field(default_factory=lambda: np.zeros(0))

    def promise(self, side: Side) -> float:
        """Return by how much a call is expected to raise the log-capital against the claim."""
        if self.coverage.size == 0:
            return -math.inf
        values = side.values(self.coverage)
        return _BETS.growth(values, at_least=side.claimed, prior=_PRIOR)


class LawRace:
    """Successive halving, by a quarter at a time, over laws that are added as it goes on."""

    def __init__(self, contenders: list[Contender], claim: tuple[Side, ...], calls: Calls) -> None:
        self.contenders = contenders
        self._sides = claim
        self._calls = calls
        self._running = contenders
        self._leader = contenders[0]

    def run(self, budget: int) -> None:
        """Spend calls on the laws that are in the race, most of them on the promising ones.

        Each heat has an equal share of the budget; the laws that cannot have a call each are
        left out, the last ones first.
        """
        running = self._running[: max(1, budget // 2)]
        heats = max(1, math.ceil(math.log(len(running), _KEPT)))
        for heat in range(heats):
            each = max(1, budget // heats // len(running))
            for contender in running:
                drawn = self._calls.coverage(contender.source, contender.n, each)
                contender.coverage = np.concatenate([contender.coverage, drawn])
            running = sorted(running, key=self._rank, reverse=True)
            if heat < heats - 1:
                running = running[: math.ceil(len(running) / _KEPT)]
        self._leader = running[0]

    def leader(self) -> tuple[Contender, Side]:
        """Return the most promising law of the last race, and the side that is in danger."""
        return self._leader, max(self._sides, key=self._leader.promise)

    def renew(
        self,
        space: LawSpace,
        source: Callable[[PiecewiseConstant], CalibrationSource],
        rng: np.random.Generator,
    ) -> None:
        """Set up the next race: the best laws so far, steps from them, and random laws."""
        ranked = sorted(self.contenders, key=self._rank, reverse=True)
        movable = [entry for entry in ranked if _movable(entry, space)][:_KEPT]
        fresh: list[Contender] = []
        for step in range(_MOVES):
            from_best = step < _MOVES // 2
            parent = movable[0 if from_best else step % len(movable)] if movable else None
            law = parent.source.law if parent and step % _KEPT < _KEPT - 1 else None
            n = parent.n if parent else ranked[0].n
            moved = (
                space.neighbour(law, rng=rng)
                if isinstance(law, PiecewiseConstant)
                else space.draw(rng=rng)
            )
            fresh.append(Contender(source=source(moved), n=n))
        self.contenders = self.contenders + fresh
        self._running = ranked[:_SURVIVORS] + fresh

    def _rank(self, contender: Contender) -> float:
        return max(contender.promise(side) for side in self._sides)


def _movable(contender: Contender, space: LawSpace) -> bool:
    law = contender.source.law
    return isinstance(law, PiecewiseConstant) and space.contains(law)


@dataclass(slots=True, kw_only=True, eq=False)
class JudgedLaw:
    """A law on which the claim is judged, by fresh calls, at a share of the significance.

    Parameters
    ----------
    contender : Contender
        The law; the calls that chose it set the bets.
    significance : float
        The probability with which a claim that holds on this law is refuted, however many
        calls are made and whenever they end.
    stage : int
        The how-manieth law that was judged.
    """

    contender: Contender
    side: Side
    significance: float
    stage: int
    coverage: FloatArray = field(default_factory=lambda: np.zeros(0))
    refuted: bool = False
    bets: MeanBets = field(init=False)
    _log_wealth: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        seen = self.side.values(self.contender.coverage)
        tilt = seen.size > 0
        self.bets = _BETS.tilted(seen, at_least=self.side.claimed) if tilt else _BETS
        self._log_wealth = np.zeros(self.bets.bets.size)

    @property
    def values(self) -> FloatArray:
        """X of each call."""
        return self.side.values(self.coverage)

    def evidence(self, *, significance: float, other: float, detail: str) -> Evidence:
        """Return the evidence of all calls, with the claim on the verdict's side.

        Parameters
        ----------
        significance : float
            Significance of the whole audit.
        other : float
            Significance of the limit that cannot refute.
        """
        side, values = self.side, self.values
        confidence = 1 - significance
        interval = self._settled(
            side.natural(
                (
                    self.bets.lower_limit(values, significance=other),
                    self.bets.upper_limit(values, significance=self.significance),
                )
            )
        )
        if side.per_calibration:
            failures = round(float(np.sum(1 - values)))
            tally = Count(of="failures", hits=failures, trials=values.size, any_time=True)
            return of_rate(
                side.quantity,
                interval,
                tally,
                claimed=side.bounded,
                confidence=confidence,
                detail=detail,
            )
        mean, _ = side.natural((float(values.mean()), float(values.mean())))
        return of_mean(
            side.quantity,
            mean,
            interval,
            claimed=side.bounded,
            confidence=confidence,
            trials=values.size,
            variance=float(values.var(ddof=1)) if values.size > 1 else 0.0,
            bound=side.bound,
            limits=(0.0, 1.0),
            detail=detail,
            any_time=True,
        )

    def power(self, detail: str) -> Power:
        """Return the smallest shortfall that as many calls refute, on this law."""
        shortfall = self.bets.smallest_violation(
            self.values,
            at_least=self.side.claimed,
            n_values=max(1, self.coverage.size),
            significance=self.significance,
        )
        return self.side.power(shortfall, detail)

    def _settled(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return the interval with the claim on the verdict's side: a limit is rounded."""
        (low, high), claimed = interval, self.side.bounded
        if self.side.bound is Bound.AT_MOST:
            beyond = math.nextafter(claimed, math.inf)
            return (max(low, beyond) if self.refuted else min(low, claimed)), high
        beyond = math.nextafter(claimed, -math.inf)
        return low, (min(high, beyond) if self.refuted else max(high, claimed))

    def judge(self, calls: Calls, budget: int) -> None:
        """Call until the claim is refuted on this law or ``budget`` calls are made."""
        size = _FIRST_BATCH
        while not self.refuted and budget > 0 and calls.left > 0:
            drawn = calls.coverage(self.contender.source, self.contender.n, min(size, budget))
            budget -= drawn.size
            size = min(2 * size, _LARGEST_BATCH)
            self._bet(drawn)

    def _bet(self, coverage: FloatArray) -> None:
        values = self.side.values(coverage)
        path = self._log_wealth + self.bets.log_wealth_path(values, at_least=self.side.claimed)
        reached = self.bets.log_capital(path) >= -math.log(self.significance)
        self.refuted = bool(reached.any())
        used = int(reached.argmax()) + 1 if self.refuted else values.size
        self._log_wealth = path[used - 1]
        self.coverage = np.concatenate([self.coverage, coverage[:used]])
