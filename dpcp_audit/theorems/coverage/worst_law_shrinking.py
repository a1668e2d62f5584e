"""Simpler laws on which a claim still fails, each certified on fresh calls of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.data.piecewise import PiecewiseConstant
from dpcp_audit.theorems.coverage.worst_law import Contender, JudgedLaw
from dpcp_audit.theorems.search.law_shrinking import complexity, simplifications

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.data.populations import Population
    from dpcp_audit.theorems.coverage.calibration_sources import CalibrationSource
    from dpcp_audit.theorems.coverage.worst_law import Calls
    from dpcp_audit.theorems.search.law_space import LawSpace

ATTEMPTS = 16
"""Simpler laws that are certified at most; each has an equal share of the significance."""
_STANDARD = (
    PiecewiseConstant(cells=(1,)),
    *(PiecewiseConstant(atoms=((place, 1.0),)) for place in (0.5, 0.0, 1.0)),
)
_FEWEST_CALLS, _PATIENCE = 8, 3
_SCREENING, _STANDARD_SCREENING = 4, 2
"""A law is screened by one call for so many that the law at hand took; standard ones by more."""
_PROMISE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinking:
    """Where a simpler law may come from, and what may be spent on it.

    Parameters
    ----------
    space : LawSpace
        Laws outside of it are not tried.
    source : callable
        From a law on [0, 1] to what the target is fed with.
    significance : float
        Of all attempts together.
    budget : int
        Calls at most.
    """

    space: LawSpace
    source: Callable[[PiecewiseConstant], CalibrationSource]
    significance: float
    budget: int

    def simplest(self, case: JudgedLaw, calls: Calls) -> JudgedLaw:
        """Return the case of the simplest law found on which the claim is refuted again.

        A few calls show whether a simpler law promises at least a quarter of the growth that
        the law at hand does; where it does, fresh ones judge it, at most three times as many
        as the law at hand took.
        """
        end = calls.spent + min(self.budget, calls.left)
        tried: set[PiecewiseConstant] = set()
        attempts, again = 0, True
        while again:
            again = False
            for law in self._simpler(case.contender.source.law):
                if calls.spent >= end or attempts >= ATTEMPTS:
                    return case
                if law in tried:
                    continue
                tried.add(law)
                rival = self._screened(law, case, calls)
                if rival is None:
                    continue
                attempts += 1
                rival.judge(calls, min(_PATIENCE * case.coverage.size + 50, end - calls.spent))
                if rival.refuted:
                    case, again = rival, True
                    break
        return case

    def _screened(self, law: PiecewiseConstant, case: JudgedLaw, calls: Calls) -> JudgedLaw | None:
        contender = Contender(source=self.source(law), n=case.contender.n)
        part = _STANDARD_SCREENING if law in _STANDARD else _SCREENING
        count = max(_FEWEST_CALLS, case.coverage.size // part)
        contender.coverage = calls.coverage(contender.source, contender.n, count)
        here = Contender(source=case.contender.source, n=contender.n, coverage=case.coverage)
        if contender.promise(case.side) < _PROMISE * here.promise(case.side):
            return None
        return JudgedLaw(
            contender=contender,
            side=case.side,
            significance=self.significance / ATTEMPTS,
            stage=case.stage,
        )

    def _simpler(self, law: Population) -> Iterator[PiecewiseConstant]:
        least = complexity(law) if isinstance(law, PiecewiseConstant) else None
        standard = (known for known in _STANDARD if least is None or complexity(known) < least)
        for known in standard:
            if self._admits(known):
                yield known
        if isinstance(law, PiecewiseConstant):
            for simpler in simplifications(law):
                if complexity(simpler) < complexity(law) and self._admits(simpler):
                    yield simpler

    def _admits(self, law: PiecewiseConstant) -> bool:
        ties = self.space.most_atoms > 0 or not law.atoms
        return ties and self.space.admits(law)
