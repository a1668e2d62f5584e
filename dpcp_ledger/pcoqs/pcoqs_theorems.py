"""P-COQS's coverage: Proposition 1's ranks, Theorem 1 and Corollary 1."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit.extensions.claims import Computed, Quantity, Source, Standing, Verdict, rounded_up
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import Classifier, PiecewiseConstant
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    NoiseBound,
    RankError,
    Stated,
    Statement,
    TheoremTrials,
    failure_evidence,
    noise_rank_error,
    planted,
    standing_of,
    window_count_for,
    with_errors,
    with_tightness,
)
from dpcp_ledger.mechanisms.score_pools import digits
from dpcp_ledger.paper import Heading, Paper
from dpcp_ledger.pcoqs.marginal_grid import rank_law

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Check, Computation, FloatArray, IntArray, PlainData
    from dpcp_audit.extensions.laws import Population


_CELLS = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCount:
    """Remark 2: E[M(Δ)] ≤ L·Δ·n for scores with a density bounded by L.

    M(Δ) is the largest number of scores in a half-open interval (t, t+Δ]. The statistic is
    min(M, cap), whose mean bounds E[M] from below.
    """

    population: Population
    density_bound: float
    n: int
    resolution: float
    cap: int = 20
    statistic: str = field(default="M(Δ), scores in the fullest window", init=False)
    allowed_failure: float = field(default=0.0, init=False)
    failure: Quantity = field(default=Quantity.FAILURE, init=False)

    @property
    def bounds(self) -> dict[str, float]:
        """L·Δ·n, in scores."""
        return {"L·Δ·n": self.density_bound * self.resolution * self.n}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.n,
            "resolution": self.resolution,
            "density_bound": self.density_bound,
            "population": self.population.name,
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw score sets and count their fullest windows."""
        windows = np.empty(count)
        rows = max(1, _CELLS // self.n)
        for start in range(0, count, rows):
            part = windows[start : start + rows]
            scores = np.sort(self.population.sample((part.size, self.n), rng=rng), axis=1)
            part[:] = np.minimum(largest_windows(scores, self.resolution), self.cap)
        return TheoremTrials(windows, np.zeros(count, dtype=bool))


def largest_windows(scores: FloatArray, resolution: float) -> IntArray:
    """Return the most scores in any (t, t+Δ], for each row of sorted scores, shape (rows,).

    A fullest window can be taken to end at a score, and holds the scores above that score
    less Δ.
    """
    rank = np.arange(1, int(scores.shape[1]) + 1)
    rows: list[FloatArray] = list(scores)
    below = [np.searchsorted(row, row - resolution, "right") for row in rows]
    return np.array([(rank - at).max() for at in below], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FixedRankError(Stated):
    """Proposition 1 on one score array: rank error ≤ τ* + windows·M(Δ) w.p. ≥ 1−β.

    The printed bound has ``windows`` = 1. The search sets left ← mid + Δ, which may jump over
    the r-th score, and then ends up to Δ/2 further on: between mid and the result lie up to
    1.5Δ, so that the argument of the proof gives τ* + 2·M(Δ).
    """

    about: ClassVar[Statement] = Statement(
        words="With probability at least 1−β the rank error is at most τ* + windows·M(Δ).",
        formula="P(|#{s ≤ q} − r| ≤ τ* + windows·M(Δ)) ≥ 1−β",
        source=Source(paper="P-COQS", section="Proposition 1"),
        assumptions="any scores in [a, b]; the printed bound has one window, two suffice",
        bound="τ* = √((N/ρ)·log(2N/β)) and M(Δ) = max_t #{t < s ≤ t+Δ}, in ranks",
    )
    correction_name = "τ*"
    failure = Quantity.FAILURE

    mechanism: PCOQS
    scores: FloatArray
    beta: float
    windows: int = 1
    noise_bound: NoiseBound = NoiseBound.UNION
    correction: float = 1.0
    noise: float = 1.0
    rank_shift: int = 0
    name: str = ""
    statistic: str = field(default="rank error", init=False)

    def __post_init__(self) -> None:
        values = _validate.scores(self.scores, within=self.mechanism.bounds)
        object.__setattr__(self, "scores", np.sort(values))

    @property
    def says(self) -> Statement:
        """Proposition 1 as printed, or with so many windows."""
        source = "Proposition 1" if self.noise_bound is NoiseBound.UNION else "Remark 3"
        limit = "τ* + M(Δ)" if self.windows == 1 else f"τ* + {self.windows}·M(Δ)"
        return replace(
            self.about,
            words=f"With probability at least 1−β the rank error is at most {limit}.",
            formula=f"P(|#{{s ≤ q}} − r| ≤ {limit}) ≥ 1−β",
            source=Source(paper="P-COQS", section=source),
        )

    @property
    def window_count(self) -> int:
        """M(Δ) of the scores."""
        return int(largest_windows(self.scores[None, :], self.mechanism.resolution)[0])

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.beta

    @property
    def bounds(self) -> dict[str, float]:
        """The limit on the rank error."""
        noise = noise_rank_error(self.mechanism, beta=self.beta, bound=self.noise_bound)
        name = "τ* + M(Δ)" if self.windows == 1 else f"τ* + {self.windows}M(Δ)"
        return {name: self.correction * noise + self.windows * self.window_count}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.scores.size,
            "alpha": self.mechanism.alpha,
            "rho": self.mechanism.rho,
            "resolution": self.mechanism.resolution,
            "beta": self.beta,
            "window_count": self.window_count,
            "scores": self.name or self.scores.tolist(),
            "noise_bound": str(self.noise_bound),
            **planted(correction=self.correction, noise=self.noise, rank_shift=self.rank_shift),
        }

    @property
    def run(self) -> PCOQS:
        """The mechanism that runs, with the planted errors."""
        n = self.scores.size
        return with_errors(self.mechanism, n=n, noise=self.noise, rank_shift=self.rank_shift)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Release thresholds from the scores and compare their ranks with r."""
        thresholds = self.run.sample(self.scores, count, rng=rng)
        ranks = np.searchsorted(self.scores, thresholds, side="right")
        error = np.abs(ranks - self.mechanism.rank(self.scores.size)).astype(np.float64)
        (limit,) = self.bounds.values()
        return TheoremTrials(error, error > limit)

    def check(self, *, n_trials: int = 20_000) -> Check:  # noqa: ARG002  (nothing is sampled)
        """Return the check: the failure probability, and how tight the printed bound is."""
        return Computed(partial(with_tightness, self) if self.windows == 1 else self.exact)

    def failure_probability(self) -> float:
        """Compute the probability that the rank error exceeds its limit."""
        law = rank_law(self.run, self.scores)
        (limit,) = self.bounds.values()
        return law.probability(np.abs(law.rank - self.mechanism.rank(self.scores.size)) > limit)

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        law, rank = rank_law(self.run, self.scores), self.mechanism.rank(self.scores.size)
        (limit,) = self.bounds.values()
        ends = np.unique(law.rank)
        masses = [law.probability(law.rank == end) for end in ends]
        end = int(ends[np.argmax(masses)])
        note = (
            f"Computed over the noise. The rank is r = {rank}. The most likely threshold has "
            f"#{{s ≤ q}} = {end}, with probability {max(masses):.4g}: a rank error of "
            f"{abs(end - rank)}, where {limit - self.windows * self.window_count:.4g} + "
            f"{self.windows}·{self.window_count} = {rounded_up(limit)} is allowed."
        )
        event = {"rank": rank, "count": end, "probability": max(masses), "error": abs(end - rank)}
        found = failure_evidence(self, note=note)
        return replace(found, witness=found.witness | event)


def evenly_spaced(n: int) -> FloatArray:
    """Return the n scores (i + 1/2)/n for i = 0, …, n−1."""
    return (np.arange(n) + 0.5) / n


def crowded(n: int, *, crowd: int, first: int, place: float, width: float) -> FloatArray:
    """Return n scores in [0, 1], of which ``crowd`` share a place and the others are far apart.

    Parameters
    ----------
    first : int
        The rank of the first of the crowd.
    place, width : float
        Beginning and length of the crowd, in units of the scores.
    """
    below = first - 1
    above = n - below - crowd
    return np.concatenate(
        [
            place * (np.arange(below) + 0.5) / max(below, 1),
            place + width * np.arange(crowd) / crowd,
            place + (1 - place) * (np.arange(above) + 0.5) / max(above, 1),
        ]
    )


ranks = Paper(title="P-COQS", subject=Heading.SEARCH_RANK)
paper = Paper(title="P-COQS", subject=Heading.SEARCH_COVERAGE)
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_WIDTH = 4 * _DEFAULT.resolution
_CROWDED = PiecewiseConstant(edges=(0.0, 0.5, 0.5 + _WIDTH, 1.0), cells=(898, 102, 0))
_CROWDED_N = 1_000_000
_MARGINAL, _CONDITIONAL = CoverageReading.MARGINAL, CoverageReading.CONDITIONAL


# Proposition 1 and Remark 3 on uniform scores.
_RANK = RankError(mechanism=_DEFAULT, n=2400, beta=0.01)
for _theorem, _name in (
    (_RANK, "proposition-1.rank"),
    (replace(_RANK, noise_bound=NoiseBound.GAUSSIAN), "remark-3"),
):
    ranks.theorem(
        _theorem,
        f"pcoqs.{_name}",
        Verdict.CONSISTENT,
        FailureRate(theorem=_theorem, n_trials=40_000),
    )


# Proposition 1 at the paper's own Δ, α and ρ, as printed and as its argument has it, on scores
# that crowd just above the first midpoint: it counts too few, and left ← 1/2 + Δ jumps over a
# quarter of the crowd, the r-th score with it. All later midpoints lie behind them.
for _windows, _name, _standing, _expected in (
    (1, "printed", Standing.PAPER, Verdict.REFUTED),
    (2, "doubled", Standing.CORRECTED, Verdict.CONSISTENT),
):
    _fixed = FixedRankError(
        mechanism=_DEFAULT,
        scores=crowded(20_000, crowd=2_010, first=17_991, place=0.5, width=_WIDTH),
        name="17,990 evenly below 1/2, 2,010 evenly in [1/2, 1/2 + 4Δ)",
        beta=0.01,
        windows=_windows,
    )
    ranks.theorem(
        _fixed,
        f"pcoqs.proposition-1.rank[scores=crowded,bound={_name}]",
        _expected,
        _fixed.check(),
        standing=_standing,
        note="at the default Δ, where one score in ten lies within 4Δ above 1/2",
        parameters={"bound": _name, "population": "crowded"},
    )


# Proposition 1 and Theorem 1 on i.i.d. scores that crowd so; a coverage counts the scores at the
# threshold itself.
_CROWD = partial(window_count_for, _CROWDED, n=_CROWDED_N, resolution=_DEFAULT.resolution)
"""Returns an M(Δ) that so many scores exceed with a probability of at most β/4."""
_CROWDED_RANK = RankError(
    mechanism=_DEFAULT,
    n=_CROWDED_N,
    beta=0.01,
    window_count=_CROWD(beta=0.01),
    population=_CROWDED,
)
_CROWDED_COVERAGE = CoverageTheorem(
    mechanism=_DEFAULT,
    n=_CROWDED_N,
    beta=0.1,
    window_count=_CROWD(beta=0.1, lost=1),
    population=_CROWDED,
)
for _topic, _iid, _name, _trials in (
    (ranks, _CROWDED_RANK, "proposition-1.rank[scores=crowded-iid", 10_000),
    (paper, _CROWDED_COVERAGE, "theorem-1[coverage=marginal,scores=crowded-iid", 1_000),
):
    for _windows, _suffix, _expected in (
        (1, "", Verdict.REFUTED),
        (2, ",windows=2", Verdict.CONSISTENT),
    ):
        _at = replace(_iid, windows=_windows)
        _topic.theorem(
            _at,
            f"pcoqs.{_name}{_suffix}]",
            _expected,
            FailureRate(theorem=_at, n_trials=_trials),
            standing=standing_of(_at),
            note="at the default Δ, on i.i.d. scores of which one in ten lies within 4Δ above 1/2",
            parameters={"population": "crowded"},
        )


def _covers(
    theorem: CoverageTheorem,
    variant: str,
    expected: Verdict,
    standing: Standing = Standing.PAPER,
    *,
    note: str = "",
    remark: str = "",
) -> None:
    name = "corollary-1" if theorem.corrected else "theorem-1"
    check = theorem.check(n_trials=40_000)
    if isinstance(check, FailureRate):
        check = replace(check, remark=remark)
    paper.theorem(
        theorem,
        f"pcoqs.{name}[coverage={theorem.reading}{variant}]",
        expected,
        check,
        standing=standing,
        note=note,
    )


# Theorem 1 and Corollary 1 on uniform scores, on average and for one calibrated set.
_AVERAGED = CoverageTheorem(mechanism=_DEFAULT, n=500, beta=0.1, reading=_MARGINAL)
_CALIBRATED = CoverageTheorem(mechanism=_DEFAULT, n=2400, beta=0.01, reading=_CONDITIONAL)
for _corrected in (False, True):
    _covers(replace(_AVERAGED, corrected=_corrected), "", Verdict.CONSISTENT)
    _covers(replace(_CALIBRATED, corrected=_corrected), "", Verdict.REFUTED, Standing.READING)
_covers(
    CoverageTheorem(
        mechanism=PCOQS(alpha=0.1, rho=0.05), n=50, beta=0.01, reading=_MARGINAL, corrected=True
    ),
    ",n=50,rho=0.05",
    Verdict.REFUTED,
    note="also where α < τ/(n+1), so that α* = 0",
    remark=(
        "At α* = 0 the rank is r = n + 1, and only q = b would always cover. The noise lifts a "
        "count below r to r in some round of most runs, and the search then ends below b. The "
        "maximum in the corollary allows α* = 0; Algorithms 1 and 2 ask for α in (0, 1). Where "
        "α ≥ τ/(n+1), the corollary is not refuted: pcoqs.corollary-1[coverage=marginal,"
        "grid=unclamped]."
    ),
)
# On real scores, drawn with replacement, duplicates make M(Δ) exceed 1. At n = 500 from a pool of
# about 900, a score is drawn nine times with probability below 1e-4 in all, so M(Δ) is taken as
# 8, plus the rank that unbroken ties cost.
_covers(
    CoverageTheorem(
        mechanism=replace(_DEFAULT, rho=0.02),
        n=500,
        beta=0.1,
        reading=_MARGINAL,
        window_count=8 + 1,
        population=digits(Classifier.LOGISTIC),
    ),
    ",scores=digits-logistic",
    Verdict.CONSISTENT,
    note="where unbroken ties cost one rank more",
)


_MANY = 10**12
_LARGEST = replace(
    _CALIBRATED,
    n=_MANY,
    window_count=window_count_for(
        _CALIBRATED.population,
        n=_MANY,
        resolution=_DEFAULT.resolution,
        beta=_CALIBRATED.beta,
        lost=1,
    ),
)
paper.theorem(
    _LARGEST,
    "pcoqs.theorem-1[coverage=conditional,n=any]",
    Verdict.REFUTED,
    FailureRate(theorem=_LARGEST, n_trials=4_000),
    standing=Standing.READING,
    note="at any n, however large: it varies by 1/√n, the bound by 1/n",
)
