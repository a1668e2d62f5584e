"""P-COQS's theorems marginally: exact, and on scores that are exchangeable alone.

The proofs use exchangeability alone, and here they are tightest: no sampling of the scores blurs
what a noisy comparison does, and the failure probability over the noise is computed.

So is the law of the rank at which the search ends, on given scores, and on scores in random order
of which one is held out for testing: the noise being the same whichever it is, all of them walk
together until a noisy count lies between the two counts that they see, one with and one without
the score that is held out. Then the scores up to the midpoint are covered and the others are not.
Intervals without scores are followed no further, so that the tree has at most about as many leaves
as there are scores, and only those are pruned that are reached with probability 0 in floating
point.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtr

from dpcp_audit.extensions.claims import Computation, Quantity, Standing, Verdict
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import PCOQS, coverage_given_noise
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    Stated,
    TheoremTrials,
    failure_evidence,
    outside,
)
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import BoolArray, Check, FloatArray, PlainData
    from dpcp_audit.extensions.laws import Population
    from dpcp_audit.extensions.theorems import Statement


class _RankLaw(NamedTuple):
    """A law of ranks.

    Attributes
    ----------
    rank, mass : ndarray, shape (m,)
        Numbers of scores at or below the threshold, and their probabilities; ranks may repeat.
    """

    rank: FloatArray
    mass: FloatArray

    def probability(self, event: BoolArray) -> float:
        """Return the mass of the ranks in ``event``, shape (m,)."""
        return min(1.0, float(self.mass[event].sum()))


class _Nodes(NamedTuple):
    left: FloatArray
    right: FloatArray
    mass: FloatArray

    def where(self, keep: BoolArray) -> _Nodes:
        return _Nodes(*(part[keep] for part in self))


def rank_law(mechanism: PCOQS, scores: ArrayLike) -> _RankLaw:
    """Return the law of #{s ≤ q} for the threshold q calibrated on ``scores``, shape (n,)."""
    values = np.sort(_validate.scores(scores, within=mechanism.bounds))
    return _follow(mechanism, values, mechanism.rank(values.size), held_out=False)


def held_out_law(mechanism: PCOQS, scores: ArrayLike) -> _RankLaw:
    """Return the law, over the noise, of how many of n + 1 scores are covered when held out.

    Given the noise, the coverage of scores in random order is that number over n + 1.

    Parameters
    ----------
    scores : array_like, shape (n + 1,)
        A finite population: in each order, the last is tested and the others calibrate.
    """
    values = np.sort(_validate.scores(scores, within=mechanism.bounds))
    return _follow(mechanism, values, mechanism.rank(values.size - 1), held_out=True)


def _follow(mechanism: PCOQS, values: FloatArray, rank: int, *, held_out: bool) -> _RankLaw:
    low, high = mechanism.bounds
    nodes = _Nodes(np.array([low]), np.array([high]), np.ones(1))
    ends: list[tuple[FloatArray, FloatArray]] = []
    for done in range(mechanism.rounds):
        drift = (mechanism.rounds - done) * mechanism.resolution
        first, last = np.minimum(nodes.left, nodes.right), np.maximum(nodes.left, nodes.right)
        seen = _counts(values, first)
        settled = seen == _counts(values, last + drift)
        ends.append((seen[settled], nodes.mass[settled]))
        nodes = nodes.where(~settled & (nodes.mass > 0))
        middle = (nodes.left + nodes.right) / 2
        count = _counts(values, middle)
        below, apart, least = _answers(
            (rank - count) / mechanism.noise_scale, mechanism, held_out=held_out
        )
        ends.append((count, nodes.mass * apart))
        nodes = _Nodes(
            np.concatenate([middle + mechanism.resolution, nodes.left]),
            np.concatenate([nodes.right, middle]),
            np.concatenate([nodes.mass * below, nodes.mass * least]),
        )
    ends.append((_counts(values, (nodes.left + nodes.right) / 2), nodes.mass))
    ranks, masses = (np.concatenate(part) for part in zip(*ends, strict=True))
    return _RankLaw(ranks, masses)


def _counts(values: FloatArray, points: FloatArray) -> FloatArray:
    return np.searchsorted(values, points, side="right").astype(np.float64)


def _answers(
    ahead: FloatArray, mechanism: PCOQS, *, held_out: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of "below" for all, of a split, and of "at least" for all.

    ``ahead`` is how far the count with every score is short of the rank, in noise scales.
    """
    below = ndtr(ahead)
    if not held_out:
        return below, np.zeros_like(below), ndtr(-ahead)
    without = ahead + 1 / mechanism.noise_scale
    upper = without > 0
    apart = np.where(upper, ndtr(-ahead) - ndtr(-without), ndtr(without) - below)
    return below, np.maximum(apart, 0.0), ndtr(-without)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Exchangeable(Stated):
    """Theorem 1 or Corollary 1, read marginally, on scores that are exchangeable alone."""

    about: ClassVar[Statement] = CoverageTheorem.about
    correction_name = CoverageTheorem.correction_name

    theorem: CoverageTheorem
    statistic: str = field(default="coverage", init=False)

    def __post_init__(self) -> None:
        if self.theorem.reading is not CoverageReading.MARGINAL:
            raise ValueError("theorem must be read marginally, over calibration and test data")

    @property
    def says(self) -> Statement:
        """The theorem's statement."""
        return self.theorem.says

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.theorem.beta

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds on the coverage."""
        return self.theorem.bounds

    @property
    def calibrator(self) -> PCOQS:
        """The mechanism that runs."""
        return self.theorem.calibrator

    def scaled(self, factor: float) -> Self:
        """Return the theorem with τ* multiplied."""
        return replace(self, theorem=self.theorem.scaled(factor))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FiniteCoverage(_Exchangeable):
    """Theorem 1 or Corollary 1, marginally, where n + 1 scores come in random order.

    Parameters
    ----------
    theorem : CoverageTheorem
        The theorem, in its marginal reading; its population is not used.
    scores : ndarray, shape (n + 1,)
        The finite population: one is tested, the others calibrate.
    name : str
        The population's name, where that tells the scores: it stands in the witness for them.
    """

    scores: FloatArray
    name: str = ""

    def __post_init__(self) -> None:
        _Exchangeable.__post_init__(self)
        values = _validate.scores(self.scores, within=self.theorem.mechanism.bounds)
        object.__setattr__(self, "scores", np.sort(values))

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self.theorem.parameters | {
            "population": self.name or "finite",
            "order": "random, without replacement",
            **({} if self.name else {"scores": self.scores.tolist()}),
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the noise ``count`` times; the coverage given the noise has a known law."""
        law = held_out_law(self.calibrator, self.scores)
        chosen = rng.choice(law.rank.size, size=count, p=law.mass / law.mass.sum())
        coverage = law.rank[chosen] / (self.theorem.n + 1)
        return TheoremTrials(coverage, outside(coverage, self.bounds))

    @property
    def computed(self) -> bool:
        """Yes, over the noise."""
        return True

    def failure_probability(self) -> float:
        """Compute the probability, over the noise, that the coverage leaves its bounds."""
        law = held_out_law(self.calibrator, self.scores)
        return law.probability(outside(law.rank / (self.theorem.n + 1), self.bounds))

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        return failure_evidence(
            self,
            note=(
                "Computed over the noise; given the noise, the coverage is averaged over the order "
                "of the scores."
            ),
        )


_TRIALS = 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnOnceCoverage(_Exchangeable):
    """Theorem 1 or Corollary 1, marginally, where one of several laws is drawn for all scores.

    Such as a random location or scale: each law is as likely, and the n + 1 scores are i.i.d.
    given the law. Given the noise, the coverage is the mean over the laws.

    Parameters
    ----------
    theorem : CoverageTheorem
        The theorem, in its marginal reading; its population is not used.
    populations : tuple of Population
        The laws.
    """

    populations: tuple[Population, ...]

    def __post_init__(self) -> None:
        _Exchangeable.__post_init__(self)

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        names = " or ".join(law.name for law in self.populations)
        return self.theorem.parameters | {"population": names, "law": "drawn once for all scores"}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the noise ``count`` times, and compute the coverage given it."""
        mechanism = self.calibrator
        noise = rng.standard_normal((mechanism.rounds, count))
        parts = [
            coverage_given_noise(mechanism, law, n=self.theorem.n, noise=noise)
            for law in self.populations
        ]
        means = np.mean([part.coverage for part in parts], axis=0)
        error = max(part.error for part in parts)
        clearly = outside(means, self.bounds, margin=error)
        undecided = outside(means, self.bounds, margin=-error) & ~clearly
        return TheoremTrials(means, clearly, undecided)

    def check(self, *, n_trials: int = _TRIALS) -> Check:
        """Return the check of the failure probability, on so many draws of the noise."""
        return FailureRate(theorem=self, n_trials=min(n_trials, _TRIALS), chunk_trials=_TRIALS)


paper = Paper(title="P-COQS", subject=Heading.SEARCH_COVERAGE)
_ERROR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalGrid:
    """Cases of a theorem whose failure probability over the noise is computed.

    The n + 1 scores are a finite population in random order: exchangeable, not independent.

    Parameters
    ----------
    levels : int or None
        Number of distinct scores; None where all are.
    corrected : bool
        True if the theorem is Corollary 1, run at α*.
    clamped : bool
        True if cases count where α < τ/(n+1), which Corollary 1 runs at α* = 0.
    """

    sizes: tuple[int, ...] = (20, 60, 200, 500)
    alphas: tuple[float, ...] = (0.02, 0.1, 0.3)
    betas: tuple[float, ...] = (0.01, 0.1, 0.4)
    rhos: tuple[float, ...] = (0.05, 0.5, 5.0)
    levels: int | None = None
    corrected: bool = False
    clamped: bool = True

    @property
    def parameters(self) -> PlainData:
        """The grid, as plain data."""
        return {
            "n": list(self.sizes),
            "alpha": list(self.alphas),
            "beta": list(self.betas),
            "rho": list(self.rhos),
        } | ({} if self.levels is None else {"levels": self.levels})

    def cases(self) -> Iterator[FiniteCoverage]:
        """Yield the theorem in every case; M(Δ) is that of the scores, ties included."""
        for n, alpha, beta, rho in product(self.sizes, self.alphas, self.betas, self.rhos):
            scores = self.scores(n)
            theorem = CoverageTheorem(
                mechanism=PCOQS(alpha=alpha, rho=rho),
                n=n,
                beta=beta,
                corrected=self.corrected,
                window_count=int(np.unique(scores, return_counts=True)[1].max()),
            )
            if self.clamped or theorem.calibrator.alpha > 0:
                yield FiniteCoverage(theorem=theorem, scores=scores)

    def scores(self, n: int) -> FloatArray:
        """Return n + 1 evenly spaced scores, or that many on so many levels."""
        count = n + 1 if self.levels is None else self.levels
        return np.sort((np.arange(n + 1) % count + 0.5) / count)

    def worst(self) -> Computation:
        """Compute the largest failure probability over β in the grid."""
        found = [(case.failure_probability() / case.theorem.beta, case) for case in self.cases()]
        value, case = max(found, key=lambda pair: pair[0])
        theorem = case.theorem
        failing = sum(share > 1 for share, _ in found)
        aside = self._aside([case for share, case in found if share > 1], [c for _, c in found])
        return Computation(
            quantity=Quantity.RATIO,
            detail=f"largest failure probability over β, of {len(found)} cases",
            value=value,
            claimed=1.0,
            error=_ERROR,
            witness={
                "n": theorem.n,
                "alpha": theorem.mechanism.alpha,
                "beta": theorem.beta,
                "rho": theorem.mechanism.rho,
                "tau": theorem.rank_error,
                "run_at": theorem.calibrator.alpha,
                "failing": failing,
            },
            note=(
                f"The theorem fails in {failing} of {len(found)} cases{aside}. Given the noise, "
                "the coverage is averaged over the order of the scores; over the noise its law is "
                "computed."
            ),
        )

    def _aside(self, failing: list[FiniteCoverage], every: list[FiniteCoverage]) -> str:
        """Say where the failures are, or how many cases no coverage could make fail."""
        if self.corrected:
            clamped = sum(case.calibrator.alpha == 0 for case in failing)
            return f", {clamped} of them at α* = 0, where q = b would cover" if failing else ""
        empty = sum(
            case.bounds["lower bound"] <= 0 and case.bounds["upper bound"] >= 1 for case in every
        )
        return f"; in {empty} its bounds are below 0 and above 1, and nothing could fail"


_WORDS = "With probability at least 1−β over the noise the coverage"
_THEOREM = f"{_WORDS} lies between 1−α−τ/(n+1) and 1−α+(τ+1)/(n+1), over calibration and test data"
_COROLLARY = f"Run at α*, {_WORDS[0].lower()}{_WORDS[1:]} is at least 1−α"
_BOUNDS, _CORRECTION = "1−α−τ/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)", "α* = max(0, α − τ/(n+1))"
for _name, _words, _kind, _grid, _expected in (
    ("Theorem 1", _THEOREM, "distinct", MarginalGrid(), Verdict.CONSISTENT),
    (
        "Theorem 1",
        f"{_THEOREM}, with ties, for which the theorem allows one rank more below",
        "tied",
        MarginalGrid(levels=10),
        Verdict.CONSISTENT,
    ),
    (
        "Corollary 1",
        f"{_COROLLARY}, where α ≥ τ/(n+1)",
        "unclamped",
        MarginalGrid(corrected=True, clamped=False),
        Verdict.CONSISTENT,
    ),
    (
        "Corollary 1",
        f"{_COROLLARY}, also where α < τ/(n+1) and so α* = 0",
        "clamped",
        MarginalGrid(corrected=True),
        Verdict.REFUTED,
    ),
):
    paper.claim(
        f"pcoqs.{_name.lower().replace(' ', '-')}[coverage=marginal,grid={_kind}]",
        _name,
        _expected,
        f"{_words}.",
        _CORRECTION if _grid.corrected else _BOUNDS,
        standing=Standing.PAPER if _grid.clamped else Standing.CORRECTED,
        parameters=_grid.parameters | {"grid": _kind},
    )(_grid.worst)
