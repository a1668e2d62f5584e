"""Theorems 1 and 3 of LDP-CP: the uniform estimate F̂c, and the coverage that a search promises."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit.laws.pools import hps
from dpcp_audit.mechanisms.local_labels import CellCounts, LDPCPLabels, NoiseAwareLabels, dkw_width
from dpcp_audit.mechanisms.local_scores import LabelSearch, OnMiss
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.theorems.statement import Stated, Statement
from dpcp_audit.theorems.theorem import TheoremTrials, outside
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.options import ALPHA, DELTA, EPSILON, ROUNDS, N, parameter
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Source
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.laws.pools import ProbabilityPool
    from dpcp_audit.mechanisms.local_scores import WindowSearch
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.results import PlainData


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
class SearchTheorem(Stated):
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
class LabelTheorem(SearchTheorem):
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
