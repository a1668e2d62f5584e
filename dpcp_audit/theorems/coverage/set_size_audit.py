"""Claims on the mean size of prediction sets, tested by bets on 1 − size/K.

Rows are drawn evenly from a pool, with replacement, and the code is fitted to n of them and
predicts all rows of the pool, so that the mean size of a call is a sum, exactly: no test set is
drawn. Size is of one law, not of all: a claim on it says nothing of other data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpcp_audit.laws.piecewise import PiecewiseConstant
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.theorems.coverage.row_laws import LawOfRows
from dpcp_audit.theorems.coverage.worst_law import Calls, Contender, JudgedLaw, Side
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import DETECT, conclude
from dpcp_audit.words.guarantees import Coverage, SetSize

if TYPE_CHECKING:
    from dpcp_audit.laws.pools import RowPool
    from dpcp_audit.theorems.coverage.worst_law import Calibrate
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Outcome, Power

_SPREAD = 0.1
"""The spread of the mean size from call to call that plans assume, as a share of the labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSizeAudit:
    """Test whether the mean size of a predictor's sets is at most what is claimed.

    Each n has an equal share of the calls, and of half of the significance α. A claim that holds
    is refuted with probability at most α/2, whenever the calls end.

    Parameters
    ----------
    calibrate : Calibrate
        ``calibrate(value, size, rng=...)`` returns the sets of all rows of the pool.
    guarantee : SetSize
        Of fewer labels than there are.
    pool : RowPool
    labels : int
        The number K of labels, at least 2.
    n : tuple of int
        Numbers of rows that the claim holds for.
    draws : int
        Calls at effort 1, at most.
    detect : float
        The factor of the size that is to be refuted; it decides what is CONSISTENT.
    """

    calibrate: Calibrate
    guarantee: SetSize
    pool: RowPool
    labels: int
    n: tuple[int, ...]
    draws: int = 2000
    detect: float = DETECT

    def __post_init__(self) -> None:
        _validate.integer(labels=self.labels, at_least=2)
        if not self.guarantee.at_most < self.labels:
            raise ValueError(
                f"set_size_at_most must be below the number of labels, {self.labels}, which no "
                f"set exceeds, got {self.guarantee.at_most:g}"
            )
        _validate.integer(draws=self.draws, at_least=100)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Call at each n until a bet wins or the calls are made."""
        budget = context.samples(self.draws)
        calls = Calls(self.calibrate, context, budget)
        cases = [self._case(n, context, stage) for stage, n in enumerate(self.n, 1)]
        for case in cases:
            case.judge(calls, budget // len(cases))
            if case.refuted:
                break
        judged = [case for case in cases if case.values.size]
        worst = next((each for each in judged if each.refuted), None) or min(
            judged, key=lambda each: float(each.values.mean())
        )
        return self._outcome(worst, calls.spent, context)

    def smallest_violation(self, context: Context) -> Power:
        """Return a mean size that is refuted with probability at least 0.95, of planned calls."""
        shortfall = MeanBets().smallest_violation(
            self._typical,
            at_least=self._side.claimed,
            n_values=max(1, context.samples(self.draws) // len(self.n)),
            significance=self._share(context),
        )
        return self._side.power(shortfall, "of sets whose mean size varies by a tenth of K")

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return a ``draws`` that refutes such a mean size, likewise; infinity where none does."""
        shifted = np.clip(self._typical + self._side.claimed - self._typical.mean(), 0, 1)
        shortfall = (violation - self.guarantee.at_most) / self.labels
        needed = MeanBets().draws_needed(
            np.clip(shifted - shortfall, 0, 1),
            at_least=self._side.claimed,
            significance=significance / 2 / len(self.n),
        )
        return max(100.0, math.ceil(needed) * len(self.n))

    @property
    def _side(self) -> Side:
        """The claim on the mean of 1 − size/K, which has the form of a claim of coverage."""
        size = self.guarantee.at_most
        return Side(guarantee=Coverage(1 - size / self.labels), size=size, labels=self.labels)

    @property
    def _typical(self) -> FloatArray:
        parts = (np.arange(100) + 0.5) / 100
        claimed = self._side.claimed
        spread = min(_SPREAD, claimed / 3, (1 - claimed) / 3)
        return np.asarray(np.clip(claimed + spread * ndtri(parts), 0.0, 1.0))

    def _share(self, context: Context) -> float:
        return context.significance / 2 / len(self.n)

    def _case(self, n: int, context: Context, stage: int) -> JudgedLaw:
        even = PiecewiseConstant(cells=(1,))
        source = LawOfRows(pool=self.pool, law=even, sizes=self.labels)
        return JudgedLaw(
            contender=Contender(source=source, n=n),
            side=self._side,
            significance=self._share(context),
            stage=stage,
        )

    def _outcome(self, case: JudgedLaw, spent: int, context: Context) -> Outcome:
        count, n = case.values.size, case.contender.n
        sizes = self.labels * (1 - case.values)
        mean, spread = float(sizes.mean()), float(sizes.std())
        return conclude(
            case.evidence(
                significance=context.significance,
                other=case.significance,
                detail=f"even rows, n = {n}",
            ),
            lambda: case.power("of sets that vary as these"),
            witness={
                "law": case.contender.source.as_data(),
                "n": n,
                "calls": count,
                "spent": spent,
                "seed": context.seed,
                "draws": self.draws,
            },
            note=(
                f"On even rows of the data with n = {n}, the sets of {count} calls held "
                f"{mean:.4g} of {self.labels} labels on average (standard deviation {spread:.2g})."
            ),
            detect=self.detect,
        )
