"""Theorems 1, 3 and 4 of LDP-CP: the uniform estimate F̂c, and the coverage that searches promise.

The failure probability of Theorem 4, of scores, is computed without sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from flint import arb, ctx

from dpcp_audit.laws.pools import hps
from dpcp_audit.mechanisms.local_labels import CellCounts, LDPCPLabels, NoiseAwareLabels, dkw_width
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    EnclosedSearch,
    LabelSearch,
    LDPCPScores,
    OnMiss,
    ThresholdLaw,
    Window,
    enclosed_hoeffding_width,
    hoeffding_width,
    threshold_law,
)
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.enclosures import NEGLIGIBLE, UNIT, at_most, exact
from dpcp_audit.theorems.statement import Stated, Statement, inputs_of
from dpcp_audit.theorems.theorem import TheoremTrials, outside
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import Computation
from dpcp_audit.words.options import ALPHA, DELTA, EPSILON, ROUNDS, N, parameter
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Figure, FigureKind, ProofMethod, Series, Source
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.laws.pools import ProbabilityPool
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.mechanisms.local_scores import WindowSearch
    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray


ON_MISS = parameter(Choice(OnMiss), "what is returned where no estimate met the window")
SEARCH = parameter(Choice(LabelSearch), "the aggregator's search: Algorithm 2's, or NACP's own")
_RETURNS = {
    OnMiss.LAST_MIDPOINT: "the last midpoint",
    OnMiss.UPPER_END: "the upper end of the bracket",
}


def says_of(about: Statement, search: WindowSearch) -> Statement:
    """Return a statement in the words of a case: starred or not, and what a miss returns."""
    nacp = isinstance(search, NoiseAwareLabels)
    returning = (
        "by the search of NACP's public code"
        if nacp
        else f"returning {_RETURNS[search.on_miss]} on a miss"
    )
    if not search.starred:
        return replace(about, words=f"{about.words.rstrip('.')}, {returning}.")
    mechanism, correction = ("LDP-CP-S", "Δ_S") if "Δ_S" in about.bound else ("LDP-CP-L", "Δ_L")
    return replace(
        about,
        words=(
            f"Calibrated at 1−α+{correction}, {mechanism} covers at least 1−α with probability at "
            f"least 1−δ, {returning}."
        ),
        formula="P(F(q̂) ≥ 1−α) ≥ 1−δ",
        source=Source(paper="LDP-CP", section="Section 2.2 and Table 1"),
    )


def lower_bound(search: WindowSearch) -> dict[str, float]:
    """Return 1−α−Δ, or 1−α where the calibration is starred."""
    if search.starred:
        return {"1−α": 1 - search.alpha}
    return {"1−α−Δ": 1 - search.alpha - search.window_width}


@dataclass(frozen=True, slots=True, kw_only=True)
class _SearchTheorem(Stated):
    """A bisection of LDP-CP on n users covers 1−α−Δ, or starred 1−α, with probability ≥ 1−δ."""

    n: int = field(metadata=N)
    epsilon: float = field(metadata=EPSILON)
    delta: float = field(metadata=DELTA)
    rounds: int = field(default=10, metadata=ROUNDS)
    alpha: float = field(default=0.1, metadata=ALPHA)
    on_miss: OnMiss = field(default=OnMiss.LAST_MIDPOINT, metadata=ON_MISS)
    starred: bool = False
    correction: float = 1.0
    statistic: str = field(default="coverage", init=False)

    @property
    def allowed_failure(self) -> float:
        """δ."""
        return self.delta

    @property
    def mechanism(self) -> WindowSearch:
        """The algorithm, with a window as wide as the bound."""
        raise NotImplementedError

    @property
    def says(self) -> Statement:
        """The printed statement, starred or not, with the value that a miss returns."""
        return says_of(self.about, self.mechanism)

    @property
    def bounds(self) -> dict[str, float]:
        """The lower bound on the coverage."""
        return lower_bound(self.mechanism)

    @property
    def _case(self) -> PlainData:
        """The parameters that all cases share, as plain data."""
        search = self.mechanism
        return {
            "n": self.n,
            "alpha": search.alpha,
            "rounds": search.rounds,
            "window_width": search.window_width,
            "window": str(search.window),
            "on_miss": str(search.on_miss),
            "starred": search.starred,
            "delta": self.delta,
            "epsilon": self.epsilon,
        } | ({"correction": self.correction} if self.correction != 1 else {})

    def _judged(self, coverage: FloatArray) -> TheoremTrials:
        return TheoremTrials(coverage, outside(coverage, self.bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTheorem(_SearchTheorem):
    """Theorem 3: LDP-CP-L covers at least 1−α−Δ with probability ≥ 1−δ.

    Δ is Theorem 1's ``dkw_width``. The users are drawn with replacement from a pool of a
    classifier's probabilities on real data; the score is HPS.

    Parameters
    ----------
    pool_name : str
        The pool's name.
    pool : callable
        Returns the pool; called when trials run.
    k : int
        Number of classes of the pool.
    """

    about: ClassVar[Statement] = Statement(
        words="LDP-CP-L covers at least 1−α−Δ_L with probability at least 1−δ.",
        formula="P(F(q̂) ≥ 1−α−Δ_L) ≥ 1−δ",
        source=Source(paper="LDP-CP", section="Theorem 3"),
        assumptions=(
            "i.i.d. users, scores in [0, 1], T = ⌈log2(1/τ)⌉ where no interval of length τ holds "
            "more than Δ_L of the true-label scores"
        ),
        bound="Δ_L = √(log(4/δ)/(2nh²)) with h = (1−β)/(1+β), in units of coverage",
    )

    correction_name = "Δ_L"

    pool_name: str
    pool: Callable[[], ProbabilityPool]
    k: int
    search: LabelSearch = field(default=LabelSearch.WINDOW, metadata=SEARCH)

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.open_unit(delta=self.delta)
        _validate.choice(LabelSearch, search=self.search)

    @property
    def mechanism(self) -> LDPCPLabels:
        """The algorithm, with a window as wide as the bound."""
        beta = KaryRandomizedResponse(self.epsilon, self.k).beta
        width = dkw_width(n=self.n, beta=beta, delta=self.delta)
        searching = NoiseAwareLabels if self.search is LabelSearch.NACP else LDPCPLabels
        return searching(
            alpha=self.alpha,
            epsilon=self.epsilon,
            k=self.k,
            rounds=self.rounds,
            window_width=self.correction * width,
            on_miss=self.on_miss,
            starred=self.starred,
        )

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self._case | {
            "k": self.k,
            "population": self.pool_name,
            **({} if self.search is LabelSearch.WINDOW else {"search": str(self.search)}),
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run the algorithm on users drawn from the pool."""
        pool = self.pool()
        run = self.mechanism.trials(
            hps(pool.probabilities), pool.labels, n=self.n, trials=count, rng=rng
        )
        return self._judged(run.coverage)


@dataclass(frozen=True, kw_only=True)
class UniformEvent(Stated):
    """Theorem 1's event: sup_q F̂c(q) − F^c(q) ≤ Δ with probability ≥ 1−δ.

    That is what "any q with F̂c(q) ≥ 1−α" needs; the preprint's form is two-sided,
    sup_q |F̂c − F^c|.

    The proof treats F̂r, an average of |C_q|/k, as if it were an ECDF. It is the conditional
    mean of one (of the scores of uniform labels, given the features), so by Jensen's
    inequality its error is smaller for every convex loss; Massart's constant for tail
    probabilities does not follow from that alone. The trials show how much room there is.
    """

    about: ClassVar[Statement] = Statement(
        words=(
            "With probability at least 1−δ the noise-aware estimate exceeds the true coverage by "
            "at most Δ_L at every threshold."
        ),
        formula="P(sup_q F̂c(q) − F^c(q) ≤ Δ_L) ≥ 1−δ",
        source=Source(paper="LDP-CP", section="Theorem 1"),
        assumptions="i.i.d. users whose labels pass through k-RR with a known β",
        bound="Δ_L = √(log(4/δ)/(2nh²)) with h = (1−β)/(1+β), in units of coverage",
    )

    failure = Quantity.FAILURE
    correction_name = "Δ_L"

    n: int = field(metadata=N)
    epsilon: float = field(metadata=EPSILON)
    delta: float = field(metadata=DELTA)
    k: int
    correction: float = 1.0
    pool_name: str
    pool: Callable[[], ProbabilityPool]
    two_sided: bool = False
    statistic: str = field(default="uniform error of F̂c", init=False)

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.integer(k=self.k, at_least=2)
        _validate.open_unit(delta=self.delta)
        _validate.non_negative(correction=self.correction)

    @property
    def allowed_failure(self) -> float:
        """δ."""
        return self.delta

    @property
    def response(self) -> KaryRandomizedResponse:
        """The k-RR of the labels."""
        return KaryRandomizedResponse(self.epsilon, self.k)

    @property
    def says(self) -> Statement:
        """Theorem 1, or the preprint's two-sided form."""
        if not self.two_sided:
            return self.about
        return replace(
            self.about,
            words=(
                "With probability at least 1−δ the noise-aware estimate is within Δ_L of the true "
                "coverage at every threshold."
            ),
            formula="P(sup_q |F̂c(q) − F^c(q)| ≤ Δ_L) ≥ 1−δ",
            source=Source(paper="LDP-CP", section="Theorem 2.1 of the preprint"),
        )

    @property
    def bounds(self) -> dict[str, float]:
        """Δ = sqrt(log(4/δ)/(2nh²)), multiplied by the correction."""
        width = dkw_width(n=self.n, beta=self.response.beta, delta=self.delta)
        return {"Δ": self.correction * width}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        case = {"n": self.n, "epsilon": self.epsilon, "delta": self.delta, "k": self.k}
        planted = {"correction": self.correction} if self.correction != 1 else {}
        return case | planted | {"two_sided": self.two_sided, "population": self.pool_name}

    @cached_property
    def _cells(self) -> CellCounts:
        pool = self.pool()
        return CellCounts(hps(pool.probabilities), pool.labels, self.response)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw n users ``count`` times and take the supremum over all scores."""
        (limit,) = self.bounds.values()
        parts: list[FloatArray] = []
        for start in range(0, count, self._cells.chunk):
            size = min(self._cells.chunk, count - start)
            error = self._cells.estimates(self.n, size, rng=rng) - self._cells.true_cdf
            parts.append((np.abs(error) if self.two_sided else error).max(axis=1))
        supremum = np.concatenate(parts)
        return TheoremTrials(supremum, supremum > limit, uncorrected=supremum > 0)


_ARGUMENT = (
    "Given its midpoint, a block's sum of reports is binomial, and rounds are independent: the law "
    "of the threshold is a tree of at most 2^T midpoints. F does not decrease, so that beside each "
    "midpoint of one path through the tree all thresholds fail or none does. The failure "
    "probability is a sum of products of at most T binomial tails."
)


_LEAST = 1e-9
"""The multiple of Δ_S that stands in for none: a window has a width."""
_TINY = 1e-15
"""A δ so small that what is pruned by default is not negligible beside it."""
_BITS, _DIGITS = (96, 192, 384), 60
"""The precisions that are tried, and the relative accuracy that is enough, in bits."""
_ROUNDING = 1e-14
"""The rounding error of a few operations on doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTheorem(_SearchTheorem):
    """Theorem 4: LDP-CP-S covers at least 1−α−Δ with probability ≥ 1−δ.

    Δ is ``hoeffding_width``, the explicit form of the paper's O(·); the algorithm's window
    has the same width. Scores are admissible if no interval of length 2^(−T) holds more than
    Δ of their mass. Starred, it runs at 1−α+Δ and is to cover at least 1−α.

    ``two_sided`` adds what the proof says of the output, that it is the (1−α)-quantile: a
    window of width Δ and estimates within Δ put the coverage at 1−α+2Δ at most.
    """

    about: ClassVar[Statement] = Statement(
        words="LDP-CP-S covers at least 1−α−Δ_S with probability at least 1−δ.",
        formula="P(F(q̂) ≥ 1−α−Δ_S) ≥ 1−δ",
        source=Source(paper="LDP-CP", section="Theorem 4"),
        assumptions=(
            "i.i.d. scores in [0, 1]; no interval of length τ = 2^(−T) holds more than Δ_S of "
            "their mass; each user is asked once and the sum is divided by the block's size"
        ),
        bound="Δ_S = (e^ε+1)/(e^ε−1)·√(T·log(2T/δ)/(2n)), in units of coverage",
    )

    correction_name = "Δ_S"

    population: Population
    window: Window = field(
        default=Window.FINAL,
        metadata=parameter(Choice(Window), "the edition whose window ends the search"),
    )
    debiasing: Debiasing = field(
        default=Debiasing.CORRECTED,
        metadata=parameter(Choice(Debiasing), "what a block's sum is divided by"),
    )
    blocks: Blocks = field(
        default=Blocks.CORRECTED,
        metadata=parameter(Choice(Blocks), "which users each round asks"),
    )
    two_sided: bool = False

    def __post_init__(self) -> None:
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.integer(n=self.n, at_least=self.rounds)
        _validate.open_unit(delta=self.delta)
        _validate.positive(correction=self.correction)

    @property
    def says(self) -> Statement:
        """Theorem 4, starred calibration, or what Algorithm 3 is said to return."""
        if not self.two_sided:
            return says_of(self.about, self.mechanism)
        return replace(
            self.about,
            words=(
                f"Algorithm 3 ({self.debiasing}) returns the (1−α)-quantile up to Δ_S: the "
                "coverage lies in [1−α−Δ_S, 1−α+2Δ_S] with probability at least 1−δ."
            ),
            formula="P(1−α−Δ_S ≤ F(q̂) ≤ 1−α+2Δ_S) ≥ 1−δ",
            source=Source(paper="LDP-CP", section="Algorithm 3 and the proof of Theorem 4"),
        )

    @property
    def mechanism(self) -> LDPCPScores:
        """The algorithm, with a window as wide as the bound."""
        whole_blocks = self.n - self.n % self.rounds
        width = hoeffding_width(
            n=whole_blocks, epsilon=self.epsilon, rounds=self.rounds, delta=self.delta
        )
        return LDPCPScores(
            alpha=self.alpha,
            epsilon=self.epsilon,
            rounds=self.rounds,
            window_width=self.correction * width,
            window=self.window,
            on_miss=self.on_miss,
            debiasing=self.debiasing,
            blocks=self.blocks,
            starred=self.starred,
        )

    @property
    def bounds(self) -> dict[str, float]:
        """The lower bound on the coverage, and the upper one where the claim is two-sided."""
        search = self.mechanism
        upper = {"1−α+2Δ": 1 - search.alpha + 2 * search.window_width}
        return lower_bound(search) | (upper if self.two_sided else {})

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self._case | {
            "debiasing": str(self.debiasing),
            "blocks": str(self.blocks),
            "population": self.population.name,
        }

    def scaled(self, factor: float) -> Self:
        """Return the theorem with Δ_S multiplied by ``factor`` ≥ 0, in bound and window."""
        return replace(self, correction=max(factor, _LEAST))

    @property
    def computed(self) -> bool:
        """Yes, by the law of the threshold."""
        return True

    def failure_probability(self) -> float:
        """Compute the failure probability in floating point, at most the law's slack too low."""
        law = _law(self)
        return law.probability(outside(self.population.cdf(law.threshold), self.bounds))

    def exact(self) -> Computation:
        """Compute the failure probability on the population, against δ.

        The law of the threshold is enumerated (``threshold_law``) and the coverage of each
        threshold q is F(q), so nothing is sampled. Its verdict rests on ``enclosed_failure``,
        where the population encloses its F.
        """
        law = _law(self)
        coverage = self.population.cdf(law.threshold)
        mean = float(np.sum(law.mass * coverage))
        found = Computation(
            quantity=Quantity.COVERAGE_FAILURE,
            value=law.probability(outside(coverage, self.bounds)),
            claimed=self.allowed_failure,
            slack=law.slack,
            witness=self.parameters | {"limits": self.bounds},
            note=(
                f"Mean coverage {mean:.4g}; the search misses its window with probability "
                f"{law.probability(law.missed):.3g}."
            ),
            figures=(_coverage_figure(coverage, law, self.bounds),),
        )
        return _enclosed(found, self)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run the algorithm on fresh users; the cost does not grow with n."""
        run = self.mechanism.trials(self.population, n=self.n, trials=count, rng=rng)
        return self._judged(run.coverage)


def _law(theorem: ScoreTheorem) -> ThresholdLaw:
    """Return the law of the threshold; what is pruned is far less likely than a failure may be."""
    if theorem.delta > _TINY:
        return threshold_law(theorem.mechanism, theorem.population, n=theorem.n)
    prune = theorem.delta * _TINY
    return threshold_law(theorem.mechanism, theorem.population, n=theorem.n, prune=prune)


def coverage_law(theorem: ScoreTheorem) -> tuple[FloatArray, FloatArray, float]:
    """Return the coverages that are possible, their probabilities, and what is left out of 1."""
    law = _law(theorem)
    return theorem.population.cdf(law.threshold), law.mass, law.slack


def enclosed_failure(theorem: ScoreTheorem) -> arb:
    """Enclose the failure probability of Theorem 4 at FLINT's current precision.

    Of the algorithm in exact arithmetic, with a window as wide as Δ_S itself (see
    ``EnclosedSearch``). A window or a bound that is not Δ_S or 1−α−Δ_S rounded, as in a planted
    error, is the double that it is.

    Raises
    ------
    NotImplementedError
        If the population does not enclose its F.
    """
    search = theorem.mechanism
    formula = theorem.correction * enclosed_hoeffding_width(
        n=theorem.n - theorem.n % theorem.rounds,
        epsilon=theorem.epsilon,
        rounds=theorem.rounds,
        delta=theorem.delta,
    )
    width = arb(_unrounded(search.window_width, formula))
    law = EnclosedSearch(mechanism=search, population=theorem.population, n=theorem.n, width=width)
    least, *most = theorem.bounds.values()
    low = law.below(_unrounded(least, law.target if search.starred else law.target - width))
    high = (law.above(_unrounded(bound, law.target + 2 * width)) for bound in most)
    return sum(high, low)


def _unrounded(rounded: float, formula: Number) -> Number:
    """Return a formula's value where a double is that value rounded, else the double."""
    close = abs(rounded - float(formula)) <= _ROUNDING * max(1.0, abs(rounded))
    return formula if close else exact(rounded)


def _enclosed(found: Computation, theorem: ScoreTheorem) -> Computation:
    """Return the computation between rigorous ends, with its proof."""
    try:
        within = at_most(_failing(theorem), _narrow(theorem), found.claimed)
    except NotImplementedError:
        return found
    proved = found.between(
        within,
        method=ProofMethod.ENUMERATION,
        argument=_ARGUMENT,
        parameters=inputs_of(theorem),
    )
    return replace(proved, upper=min(within.left[1], 1.0))


def _narrow(theorem: ScoreTheorem) -> arb:
    """Enclose the failure probability to more digits than a double has.

    Where the law meets the bound with equality no precision tells the sides apart: the ball at
    the last one is what is known.
    """
    found = UNIT
    for bits in _BITS:
        with ctx.workprec(bits):
            found = enclosed_failure(theorem)
        if found < NEGLIGIBLE or found.rel_accuracy_bits() > _DIGITS:
            break
    return found


def _failing(theorem: ScoreTheorem) -> str:
    low = "1−α" if theorem.mechanism.starred else "1−α−Δ_S"
    high = " or F(q̂) > 1−α+2Δ_S" if theorem.two_sided else ""
    return f"P(F(q̂) < {low}{high}) ≤ δ"


def _coverage_figure(coverage: FloatArray, law: ThresholdLaw, bounds: dict[str, float]) -> Figure:
    order = np.argsort(coverage)
    points = coverage[order]
    below = np.minimum(1.0, np.cumsum(law.mass[order]))
    return Figure(
        kind=FigureKind.LINES,
        title="Law of the coverage, exact",
        x_label="coverage",
        y_label="P(coverage ≤ x)",
        series=[
            Series(
                name="distribution function",
                x=np.repeat(points, 2).tolist(),
                y=np.concatenate([[0.0], np.repeat(below, 2)[:-1]]).tolist(),
            )
        ],
        marks=dict(bounds),
        description=(
            "The distribution function of the coverage over calibration users and noise, "
            "computed exactly, with the bounds of the theorem as vertical lines."
        ),
    )
