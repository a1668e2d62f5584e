"""Theorem 4 of LDP-CP, of scores, and its failure probability without sampling."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from flint import arb, ctx

from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    LDPCPScores,
    Window,
    hoeffding_width,
)
from dpcp_audit.mechanisms.window_law import (
    EnclosedSearch,
    ThresholdLaw,
    enclosed_hoeffding_width,
    threshold_law,
)
from dpcp_audit.stats.enclosures import NEGLIGIBLE, UNIT, at_most, exact
from dpcp_audit.theorems.ldpcp_coverage import SearchTheorem, lower_bound, says_of
from dpcp_audit.theorems.statement import Statement, inputs_of
from dpcp_audit.theorems.theorem import outside
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import Computation
from dpcp_audit.words.options import parameter
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Figure, FigureKind, ProofMethod, Series, Source
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.theorems.theorem import TheoremTrials
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.results import PlainData

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
class ScoreTheorem(SearchTheorem):
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
        """Compute the failure probability."""
        return failure_probability(self)

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        return exact_failure(self)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run the algorithm on fresh users; the cost does not grow with n."""
        run = self.mechanism.trials(self.population, n=self.n, trials=count, rng=rng)
        return self._judged(run.coverage)


def exact_failure(theorem: ScoreTheorem) -> Computation:
    """Compute the failure probability of Theorem 4 on one population, against δ.

    The law of the threshold is enumerated (``threshold_law``) and the coverage of each
    threshold q is F(q), so nothing is sampled. Its verdict rests on ``enclosed_failure``, where
    the population encloses its F.
    """
    law = _law(theorem)
    coverage = theorem.population.cdf(law.threshold)
    mean = float(np.sum(law.mass * coverage))
    found = Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=law.probability(outside(coverage, theorem.bounds)),
        claimed=theorem.allowed_failure,
        slack=law.slack,
        witness=theorem.parameters | {"limits": theorem.bounds},
        note=(
            f"Mean coverage {mean:.4g}; the search misses its window with probability "
            f"{law.probability(law.missed):.3g}."
        ),
        figures=(_coverage_figure(coverage, law, theorem.bounds),),
    )
    return _enclosed(found, theorem)


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


def failure_probability(theorem: ScoreTheorem) -> float:
    """Compute the failure probability in floating point, at most the law's slack too low."""
    law = _law(theorem)
    return law.probability(outside(theorem.population.cdf(law.threshold), theorem.bounds))


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
