"""The report of an audit of coverage, and simpler laws on which a refuted claim still fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.laws.populations import PiecewiseConstant, Pool
from dpcp_audit.theorems.coverage.law_shrinking import complexity, simplifications
from dpcp_audit.theorems.coverage.worst_law import Contender, JudgedLaw
from dpcp_audit.words.evidence import DETECT, conclude
from dpcp_audit.words.results import (
    Figure,
    FigureKind,
    Series,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.theorems.coverage.law_space import LawSpace
    from dpcp_audit.theorems.coverage.row_laws import CalibrationSource
    from dpcp_audit.theorems.coverage.worst_law import Calls
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.results import Outcome, PlainData, Power


_GRID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of an audit.

    Parameters
    ----------
    case : JudgedLaw
        The law that the verdict speaks of.
    found : JudgedLaw
        The law that the search found, before it was simplified.
    laws_tried, calls : int
        In all.
    significance : float
        Of the whole audit.
    power : callable or None
        What the search would have refuted; None asks for what the case's own calls would.
    detect : float
        The factor that a claim is to be refuted by.
    spared : float or None
        A tolerance at which the claim seems to hold on the case's law.
    witness : dict
        What a run needs beside the law and the calls.
    """

    case: JudgedLaw
    found: JudgedLaw
    laws_tried: int
    calls: int
    significance: float
    witness: PlainData
    power: Callable[[], Power] | None = None
    detect: float = DETECT
    spared: float | None = None

    def outcome(self) -> Outcome:
        """Return the outcome."""
        contender = self.case.contender
        return conclude(
            self.case.evidence(
                significance=self.significance,
                other=self.case.significance / 4,
                detail=f"{contender.source.name}, n = {self._n}",
            ),
            self.power or (lambda: self.case.power("on this law")),
            detect=self.detect,
            witness=self.witness
            | {
                "law": contender.source.as_data(),
                "n": contender.n,
                "upper": self.case.side.upper,
                "calls": self.case.coverage.size,
                "spent": self.calls,
                "stage": self.case.stage,
            },
            note=self._note(),
            figures=(self._histogram(), self._law_figure()),
        )

    @property
    def _n(self) -> int:
        return self.case.contender.n

    def _note(self) -> str:
        case, coverage = self.case, self.case.coverage
        tried = f"{_number(self.laws_tried, 'law')} tried in {_number(self.calls, 'call')}. "
        judged = (
            f"On scores of {case.contender.source.name} with n = {self._n}, "
            f"{coverage.size} fresh calls covered {coverage.mean():.4g} on average "
            f"(standard deviation {coverage.std():.2g})"
        )
        if case.refuted:
            found = self.found.contender.source.name
            simplified = f", a simplification of {found}" if self.found is not case else ""
            return (
                f"{tried}{judged}{simplified}; the last of them refuted the claim."
                f"{self._rounding()}"
            )
        return f"{tried}{judged}: the worst law found."

    def _rounding(self) -> str:
        if self.spared is None:
            return ""
        return (
            f" Thresholds larger by {self.spared:.2g} would have covered enough: if the code "
            "computes in single precision, or to a stated resolution, give a tolerance."
        )

    def _histogram(self) -> Figure:
        coverage, guarantee = self.case.coverage, self.case.side.guarantee
        counts, edges = np.histogram(coverage, bins=40)
        marks = {"claimed: at least": guarantee.at_least} if guarantee.at_least > 0 else {}
        if guarantee.at_most < 1:
            marks["claimed: at most"] = guarantee.at_most
        return Figure(
            kind=FigureKind.HISTOGRAM,
            title=f"Coverage of {coverage.size} calibrations",
            x_label="coverage F(q̂)",
            y_label="calibrations",
            series=[Series(name="calibrations", x=edges.tolist(), y=counts.astype(float).tolist())],
            marks=marks,
            description=(
                f"Histogram of the coverage of {coverage.size} calibrations on scores of "
                f"{self.case.contender.source.name}, with the claimed level as a vertical line."
            ),
        )

    def _law_figure(self) -> Figure:
        law = self.case.contender.source.law
        places = _places(law)
        below, upto = law.cdf_left(places), law.cdf(places)
        fails = "fails" if self.case.refuted else "comes closest to failing"
        return Figure(
            kind=FigureKind.LINES,
            title=f"The law on which the claim {fails}",
            x_label="score",
            y_label="F(score)",
            series=[
                Series(
                    name="distribution function",
                    x=np.repeat(places, 2).tolist(),
                    y=np.stack([below, upto], axis=1).ravel().tolist(),
                )
            ],
            description=f"The distribution function of {law.name}.",
        )


def _places(law: Population) -> FloatArray:
    """Return the points between which F is nearly linear, those of its jumps among them."""
    population = getattr(law, "population", law)  # of a deferred one
    if isinstance(population, PiecewiseConstant):
        return np.unique([*population.edges, *(place for place, _ in population.atoms)])
    if isinstance(population, Pool):
        values = np.unique(population.scores)
        kept = np.linspace(0, values.size - 1, min(values.size, _GRID)).round().astype(int)
        return np.asarray(values[kept])
    return np.linspace(0, 1, _GRID + 1)


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


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
    """The sources of a simpler law, and the budget for finding one.

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
