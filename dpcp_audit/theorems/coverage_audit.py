"""Coverage claims of targets, tested on the law of scores on which they cover worst.

A threshold q̂ that the code computes from n i.i.d. scores covers F(q̂) exactly, F the law's
distribution function, so that no test set is needed. What the law is, is searched; what is
found is judged by fresh calls, of which none has chosen anything.

What cannot be seen: the claim speaks of i.i.d. calibration scores, and those are what the code
gets. A classifier that was fitted to its own calibration data gives scores that are *not*
i.i.d. with those of a test point; since the audit draws the scores, no threshold can tell.
That bug is in the caller's pipeline: it is seen where the pipeline itself fits the classifier
(a function of features and labels), or on a pool of the rows that it was fitted to against
held-out rows, and not by an audit of the calibrator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv

from dpcp_audit.laws.populations import PiecewiseConstant, Pool
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.targets.answers import require_independent
from dpcp_audit.targets.kinds import Kind, tried
from dpcp_audit.theorems.law_space import PLAIN_LAWS
from dpcp_audit.theorems.row_laws import LawCatalogue, source_from_data
from dpcp_audit.theorems.worst_law import Calls, Contender, JudgedLaw, LawRace, Side, sides
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Context, Sampled
from dpcp_audit.words.evidence import DETECT, conclude
from dpcp_audit.words.guarantees import Coverage
from dpcp_audit.words.results import (
    Extent,
    Figure,
    FigureKind,
    Series,
)
from dpcp_audit.words.values import Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.theorems.row_laws import CalibrationSource, RowLaws
    from dpcp_audit.theorems.worst_law import Calibrate
    from dpcp_audit.words.results import Outcome, PlainData, Power
    from dpcp_audit.words.validate import FloatArray


_GRID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """The outcome of an audit.

    Parameters
    ----------
    case : JudgedLaw
        The law that the verdict speaks of.
    found : JudgedLaw
        The law that the search found, before plain ones were tried.
    laws_tried, calls : int
        In all.
    significance : float
        Significance of the whole audit.
    power : callable or None
        A function that returns the power of the search; None takes that of the case's own calls.
    detect : float
        The factor that a claim is to be refuted by.
    spared : float or None
        A tolerance at which the claim seems to hold on the case's law.
    witness : dict
        What a run needs beside the law and the calls, as plain data.
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
            extent=Extent(
                cases=self.laws_tried,
                of="law of scores" if self.laws_tried == 1 else "laws of scores",
                sizes=(self._n,),
                calls=self.calls,
                planned=max(self.calls, self.witness["draws"]),
            ),
            figures=(self._histogram(), self._law_figure()),
        )

    @property
    def _n(self) -> int:
        return self.case.contender.n

    def _note(self) -> str:
        case, coverage = self.case, self.case.coverage
        tried = f"{_number(self.laws_tried, 'law')} tried in {_number(self.calls, 'call')}. "
        judged = (
            f"On {case.contender.source.name}, n = {self._n}, "
            f"{coverage.size} fresh calls covered {coverage.mean():.4g} on average "
            f"(standard deviation {coverage.std():.2g})"
        )
        if case.refuted:
            found = self.found.contender.source.name
            plainer = f", plainer than {found}" if self.found is not case else ""
            return (
                f"{tried}{judged}{plainer}; the last of them refuted the claim.{self._rounding()}"
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
                f"Histogram of the coverage of {coverage.size} calibrations on "
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
            description=f"The distribution function of scores {law.words}.",
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


_FEWEST_CALLS, _PATIENCE = 8, 3
_SCREENING = 2
"""A plain law is screened by one call for so many that the law at hand took."""
_PROMISE = 0.25
_FIRST_ROUND = 2000
_RACE_SHARE = 0.4
_PLAIN_SHARE = 0.25
_FEWEST_PLAIN_CALLS = 2000
_RENEWALS = 2**31
"""The first of the random streams that new laws are drawn from, beyond those of the calls."""
_LOYALTY = 0.5
"""Part of another law's promise at which the law that was judged last is judged again."""
_SINGLE_PRECISION, _DIAGNOSIS = 1e-6, 50
_PROBE = 500
"""Calls on the law that refutes, beyond the budget, that are probed for serial dependence."""
_COVERING = (
    *(Kind.QUANTILE, Kind.CALIBRATOR, Kind.FEDERATED),
    *(Kind.PREDICTOR, Kind.REGRESSION),
)
_LAST_CASE = 1 / 3
"""The share of all calls that the last round's judging has at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageAudit(Sampled):
    """Test a coverage claim of code that turns a calibration set into a threshold.

    The rounds have 2000, 4000, 8000, … calls. In each, a race among laws of the scores chooses the
    law on which the coverage seems worst, and fresh calls bet against the claim on that law.
    Between rounds, steps from the best laws and random laws join the race. The claim is REFUTED as
    soon as a bet wins; plain laws, uniform scores first, are then tried in its place.

    The laws judged have at most half of the significance together, the plain laws a quarter,
    and the other ends of the intervals the rest. Of that a millionth probes calls on the law that
    refutes for serial dependence, by 500 calls beyond the budget.

    :Null hypothesis: The coverage is at least (or at most) the claimed number on every law of
        i.i.d. scores that the catalogue has: its mean over calibration sets and noise; with a
        confidence below 1, the share of calibration sets that reach the bound.
    :Statistic: The capital of bets on the exact coverage F(q̂) of each fresh threshold q̂, on the
        law that the race chose.
    :Level: At most the significance, by Ville's inequality, whenever the audit stops. The j-th law
        that is judged has the share α/(2j(j+1)).
    :Power: ``smallest_violation``: the miss that is refuted with probability 0.95, of a target
        whose coverage varies as that of split conformal prediction does.
    :Reference: Waudby-Smith and Ramdas (2024), Section 4; Ville (1939); Vovk (2012), for the law of
        split conformal coverage.

    Parameters
    ----------
    calibrate : Calibrate
        ``calibrate(value, size, rng=...)`` returns thresholds of shape (size,); one is asked
        for a call, on a calibration set that is fresh each time. A threshold may be infinite.
    kind : Kind
        QUANTILE: the value is an array of n scores. CALIBRATOR: it is a pair of probabilities
        (n, K) and labels (n,), and the threshold is one on the score 1 − p_y, or one for each
        class. FEDERATED: n scores in a tuple of the clients' arrays.
    guarantee : Coverage
        The claim. With ``confidence`` 1 it is on the mean coverage, over calibration sets and
        noise; below 1, on the coverage of that share of calibrations.
    n : int or tuple of int
        Numbers of scores that the claim holds for; each is tried on each law.
    draws : int
        Calls of ``calibrate`` at effort 1, at most.
    bounds : tuple of float
        The interval that a quantile's scores lie in.
    laws : LawCatalogue or RowLaws
        The laws that the scores, or the rows of a predictor, may have.
    strict : bool
        True if sets are {y : score < threshold}; by default they are {y : score <= threshold}.
    tolerance : float
        Slack in units of score: thresholds count as larger by so much. 0 tests code to the last
        atom; 1e-6 suits code that computes in single precision. For claims without an upper bound.
    detect : float
        The factor, of what is not covered, that is to be refuted, > 1; it decides what is
        CONSISTENT.
    witness : dict
        Parameters of the code, as plain data.
    """

    calibrate: Calibrate
    kind: Kind
    guarantee: Coverage
    n: int | tuple[int, ...]
    draws: int = 20_000
    bounds: tuple[float, float] = (0.0, 1.0)
    laws: LawCatalogue | RowLaws = field(default_factory=LawCatalogue)
    strict: bool = False
    tolerance: float = 0.0
    detect: float = DETECT
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.kind not in _COVERING:
            raise ValueError(f"kind must be one of {', '.join(_COVERING)}, got {self.kind!r}")
        object.__setattr__(self, "kind", Kind(self.kind))
        sides(self.guarantee)
        _validate.integer(draws=self.draws, at_least=100)
        _validate.non_negative(tolerance=self.tolerance)
        if self.tolerance > 0 and self.guarantee.at_most < 1:
            raise ValueError(
                f"tolerance must be 0 where the coverage is bounded from above, got "
                f"{self.tolerance!r}"
            )
        object.__setattr__(self, "bounds", _validate.interval(self.bounds))
        if not self.sizes:
            raise ValueError("n must not be empty, got ()")
        for n in self.sizes:
            _validate.integer(n=n, at_least=1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of scores, the smallest first: there fallbacks and clips show."""
        return tuple(sorted(set(self.n))) if isinstance(self.n, tuple) else (self.n,)

    def __call__(self, context: Context) -> Outcome:
        """Search, judge, and try plain laws in the place of what was found."""
        budget = context.samples(self.draws)
        calls = Calls(self.calibrate, context, budget, strict=self.strict, tolerance=self.tolerance)
        race = LawRace(self._contenders(), sides(self.guarantee), calls)
        cases = self._judged(race, calls, context)
        worst = cases[-1]
        if worst.refuted:
            self._probe(worst.contender, context)
            worst = self._plainest(worst, calls, context)
        spared = self._spared(worst, calls) if worst.refuted else None
        return _Report(
            case=worst,
            found=cases[-1],
            laws_tried=len({id(entry.source) for entry in race.contenders}),
            calls=calls.spent,
            significance=context.significance,
            power=lambda: self.smallest_violation(context),
            detect=self.detect,
            spared=spared,
            witness=self.witness | self._setting() | {"seed": context.seed, "draws": self.draws},
        ).outcome()

    def smallest_violation(self, context: Context) -> Power:
        """Return a miss of the mean that is refuted with probability at least 0.95.

        Of a target whose coverage varies as that of split conformal prediction does (of a
        claim with a confidence: which fails as often as is allowed, and the miss more),
        if the race finds the law in the last round at the latest, as the first one judged.
        Infinity where none is.
        """
        side = sides(self.guarantee)[0]
        shortfall = MeanBets().smallest_violation(
            self._typical(side),
            at_least=side.claimed,
            n_values=max(1, round(_LAST_CASE * context.samples(self.draws))),
            significance=context.significance / 4,
        )
        where = "if it varies between calibrations as that of split conformal does"
        return side.power(shortfall, where)

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return a ``draws`` that refutes such a coverage, likewise; infinity where none does."""
        _validate.open_unit(violation=violation, significance=significance)
        side = sides(self.guarantee)[0]
        values, shortfall = self._typical(side), abs(violation - side.bounded)
        shifted = np.clip(values - values.mean() + side.claimed - shortfall, 0.0, 1.0)
        needed = MeanBets().draws_needed(
            shifted, at_least=side.claimed, significance=significance / 4
        )
        return max(100.0, math.ceil(needed / _LAST_CASE))

    def _judged(self, race: LawRace, calls: Calls, context: Context) -> list[JudgedLaw]:
        """Return the cases that were judged; the one that decides at the end."""
        cases: list[JudgedLaw] = []
        for round_ in count():
            size = _FIRST_ROUND * 2**round_
            if calls.left == 0:
                break
            budget = size if calls.left >= 2 * size else calls.left
            end = calls.spent + budget
            contender, side = self._raced(race, budget, round_, context)
            if cases and _promises_enough(cases[-1], contender.promise(side)):
                contender, side = cases[-1].contender, cases[-1].side
            case = _find(cases, contender, side, significance=context.significance / 2)
            before = case.coverage.size
            case.judge(calls, end - calls.spent)
            contender.coverage = np.concatenate([contender.coverage, case.coverage[before:]])
            if case.refuted:
                break
        return cases

    def _raced(
        self, race: LawRace, budget: int, round_: int, context: Context
    ) -> tuple[Contender, Side]:
        """Race for the round's share of calls: one race more in each round, on renewed laws."""
        races = round_ + 1
        each = round(_RACE_SHARE * budget / races)
        first = _RENEWALS + races * round_ // 2
        for which in range(races):
            if round_ > 0:
                renewal = context.rng(first + which)
                race.renew(self.laws.moving_space(), self._source, renewal)
            race.run(each)
        return race.leader()

    def _plainest(self, case: JudgedLaw, calls: Calls, context: Context) -> JudgedLaw:
        """Return the case of the plainest law on which fresh calls refute the claim again.

        A few calls show whether a plain law promises at least a quarter of the growth that the law
        at hand does; where it does, fresh ones judge it, at most three times as many as that took.
        """
        share = max(_FEWEST_PLAIN_CALLS, round(_PLAIN_SHARE * context.samples(self.draws)))
        end = calls.spent + min(share, calls.left)
        n, taken = case.contender.n, case.coverage.size
        here = Contender(source=case.contender.source, n=n, coverage=case.coverage)
        for law in self._plain_laws(case.contender.source.law):
            contender = Contender(source=self._source(law), n=n)
            screened = min(max(_FEWEST_CALLS, taken // _SCREENING), end - calls.spent)
            contender.coverage = calls.coverage(contender.source, n, screened)
            if contender.promise(case.side) < _PROMISE * here.promise(case.side):
                continue
            plain = JudgedLaw(
                contender=contender,
                side=case.side,
                significance=context.significance / 4 / len(PLAIN_LAWS),
                stage=case.stage,
            )
            plain.judge(calls, min(_PATIENCE * taken + 50, end - calls.spent))
            if plain.refuted:
                return plain
        return case

    def _plain_laws(self, law: Population) -> Iterator[PiecewiseConstant]:
        """Yield the admitted laws that are plainer than one."""
        space = self.laws.moving_space()
        for plain in takewhile(lambda each: each != law, PLAIN_LAWS):
            if space.admits(plain) and (space.most_atoms > 0 or not plain.atoms):
                yield plain

    def _probe(self, contender: Contender, context: Context) -> None:
        """Refuse calls that depend on each other: calls of their own, on the law that refutes."""
        own = replace(context, name=f"{context.name}, probed")
        calls = Calls(self.calibrate, own, _PROBE, strict=self.strict, tolerance=self.tolerance)
        coverage = calls.coverage(contender.source, contender.n, _PROBE)
        require_independent(coverage, significance=context.significance)

    def _spared(self, case: JudgedLaw, calls: Calls) -> float | None:
        """Return a tolerance that would restore the claim on the case's law, if rounding does."""
        finest = _SINGLE_PRECISION * max(map(abs, tried(self.bounds)))
        if case.side.upper or self.guarantee.at_most < 1 or self.tolerance >= finest:
            return None
        calls.tolerance = finest
        contender = case.contender
        values = case.side.values(calls.coverage(contender.source, contender.n, _DIAGNOSIS))
        restored = values.size > 0 and values.mean() >= case.side.claimed
        return finest if restored else None

    def _contenders(self) -> list[Contender]:
        sources = self.laws.sources(self.kind, level=self._level, bounds=self.bounds)
        return [Contender(source=source, n=n) for source in sources for n in self.sizes]

    def _source(self, law: PiecewiseConstant) -> CalibrationSource:
        return self.laws.source(self.kind, law, bounds=self.bounds)

    @property
    def _level(self) -> float:
        """The coverage that matters: the lower bound, or else the upper one."""
        low, high = self.guarantee.at_least, self.guarantee.at_most
        return min(0.999, max(0.001, low if low > 0 else high))

    def _typical(self, side: Side) -> FloatArray:
        """Return X of a correct target, as 100 equally likely values."""
        parts = (np.arange(100) + 0.5) / 100
        if side.per_calibration:
            return (parts < side.claimed).astype(np.float64)
        n = self.sizes[0]
        rank = min(n, math.ceil(side.claimed * (n + 1)))
        return np.asarray(betaincinv(rank, n + 1 - rank, parts))

    def _setting(self) -> PlainData:
        return {
            "kind": str(self.kind),
            "bounds": Pair().as_data(self.bounds),
            "strict": self.strict,
            "tolerance": self.tolerance,
            "guarantee": {
                "at_least": self.guarantee.at_least,
                "at_most": self.guarantee.at_most,
                "confidence": self.guarantee.confidence,
            },
        }


def confirm(
    witness: PlainData,
    calibrate: Calibrate,
    *,
    seed: int,
    draws: int | None = None,
    significance: float = 1e-3,
) -> Outcome:
    """Judge the claim once more on the law of a witness, by fresh calls.

    Parameters
    ----------
    witness : dict
        Witness of an ``Outcome`` of ``CoverageAudit``.
    calibrate : Calibrate
        The target.
    seed : int
        Another one than the witness's.
    draws : int, optional
        Calls at most; five times as many as the witness took, if None.
    """
    kind = Kind(witness["kind"])
    bounds = Pair().read(witness["bounds"], "bounds")
    source = source_from_data(witness["law"], kind=kind, bounds=bounds)
    budget = 5 * witness["calls"] + 100 if draws is None else draws
    _validate.integer(draws=budget, at_least=1)
    context = Context(seed=seed, name="confirm", significance=significance)
    calls = Calls(
        calibrate,
        context,
        budget,
        strict=witness["strict"],
        tolerance=witness["tolerance"],
    )
    case = JudgedLaw(
        contender=Contender(source=source, n=witness["n"]),
        side=Side(guarantee=Coverage(**witness["guarantee"]), upper=witness["upper"]),
        significance=significance / 2,
        stage=1,
    )
    case.judge(calls, budget)
    return _Report(
        case=case,
        found=case,
        laws_tried=1,
        calls=calls.spent,
        significance=significance,
        witness=witness | {"seed": seed, "draws": budget},
    ).outcome()


def _promises_enough(case: JudgedLaw, promise: float) -> bool:
    """Return True if the old case, with what it has won, promises more than a new law."""
    return case.contender.promise(case.side) >= _LOYALTY * promise > 0


def _find(
    cases: list[JudgedLaw], contender: Contender, side: Side, *, significance: float
) -> JudgedLaw:
    """Return the case of a law, moved to the end; a new one has the next share."""
    for index, case in enumerate(cases):
        if case.contender is contender and case.side == side:
            cases.append(cases.pop(index))
            return case
    stage = len(cases) + 1
    share = significance / (stage * (stage + 1))
    cases.append(JudgedLaw(contender=contender, side=side, significance=share, stage=stage))
    return cases[-1]
