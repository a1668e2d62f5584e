"""The coverage theorems of P-COQS: Proposition 1, Theorem 1, Corollary 1 and Remark 3."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtri

from dpcp_audit.laws.populations import Population, Uniform
from dpcp_audit.mechanisms.iid_coverage import coverage_given_noise, coverage_outside
from dpcp_audit.theorems.statement import Stated, Statement
from dpcp_audit.theorems.theorem import ROUNDING, FailureRate, TheoremTrials, outside
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.options import BETA, WINDOW_COUNT, WINDOWS, N, parameter
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Source
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.pcoqs import PCOQS
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray


_DRAWS = 400
"""Draws of the noise in a chunk of a check."""
_MOST_DRAWS = 1_200
"""Draws in a check at effort 1: enough to refute 1.5 times a β of 0.1."""
_MOST_COMPUTED = 10_000
"""The largest n at which the law of the coverage is computed; it takes O(√n) intervals."""


class NoiseBound(StrEnum):
    """A bound on the noise of all rounds."""

    UNION = "union"
    """τ* = sqrt((N/ρ)·log(2N/β)), Proposition 1."""
    GAUSSIAN = "gaussian"
    """τ* = σ·Φ⁻¹(1 − β/(2N)), Remark 3."""


class CoverageReading(StrEnum):
    """Over what the coverage in Theorem 1 is a probability."""

    MARGINAL = "marginal"
    """Over calibration and test data, given the noise: what the proof shows."""
    CONDITIONAL = "conditional"
    """Over the test point, given the calibrated set: what someone with one set obtains."""


_OVER = {
    CoverageReading.MARGINAL: "over calibration and test data, given the noise,",
    CoverageReading.CONDITIONAL: "of the one calibrated set that a user holds",
}

_ROUNDED_UP = 1 + 2**-49
"""More than the relative error of a normal quantile in floating point."""


def noise_rank_error(
    mechanism: PCOQS, *, beta: float, bound: NoiseBound = NoiseBound.UNION
) -> float:
    """Return τ*, in ranks: what the noise of no round exceeds with probability 1 − β.

    P-COQS, Proposition 1 (union bound) or Remark 3 (Gaussian quantile). The quantile is rounded
    up by a few units in the last place, so that its promise holds for the doubles.
    """
    _validate.open_unit(beta=beta)
    _validate.choice(NoiseBound, bound=bound)
    rounds = mechanism.rounds
    if bound is NoiseBound.UNION:
        return math.sqrt(rounds / mechanism.rho * math.log(2 * rounds / beta))
    return mechanism.noise_scale * -float(ndtri(beta / (2 * rounds))) * _ROUNDED_UP


def with_errors(mechanism: PCOQS, *, n: int, noise: float = 1.0, rank_shift: int = 0) -> PCOQS:
    """Return a mechanism with planted errors, for theorems that speak of the right one.

    Parameters
    ----------
    noise : float
        The noise's scale, in units of that which ρ asks for.
    rank_shift : int
        Excess over r of the rank that is searched for.
    """
    _validate.positive(noise=noise)
    run = mechanism if noise == 1 else replace(mechanism, rho=mechanism.rho / noise**2)
    if not rank_shift:
        return run
    return replace(run, alpha=1 - (mechanism.rank(n) + rank_shift - 0.5) / (n + 1))


def planted(*, correction: float = 1.0, noise: float = 1.0, rank_shift: int = 0) -> PlainData:
    """Return the planted errors that there are, by name."""
    errors = {"correction": correction, "noise": noise}
    found: PlainData = {name: factor for name, factor in errors.items() if factor != 1}
    return found | ({"rank_shift": rank_shift} if rank_shift else {})


def _rank_limit(windows: int) -> str:
    """Return τ, as printed or in the corrected variant."""
    return "τ* + M(Δ)" if windows == 1 else f"τ* + {windows}·M(Δ)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SearchCase(Stated):
    """P-COQS on n scores, and a bound that holds with probability ≥ 1−β over its noise.

    ``window_count`` is the value used for M(Δ), the most scores in any half-open Δ-interval: 1
    for distinct scores further apart than Δ. ``windows`` = 1 is the printed bound τ* + M(Δ), which
    a coarse Δ can break; 2 is the corrected variant τ* + 2·M(Δ). ``correction`` multiplies τ*, and
    ``noise`` the mechanism's noise: planted errors.
    """

    correction_name = "τ*"

    mechanism: PCOQS
    n: int = field(metadata=N)
    beta: float = field(metadata=BETA)
    window_count: int = field(default=1, metadata=WINDOW_COUNT)
    windows: int = field(default=1, metadata=WINDOWS)
    correction: float = 1.0
    noise: float = 1.0
    population: Population = field(default_factory=Uniform)

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.integer(window_count=self.window_count, at_least=0)
        _validate.integer(windows=self.windows, at_least=1)
        _validate.open_unit(beta=self.beta)

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.beta

    @property
    def _case(self) -> PlainData:
        """The parameters that all cases share, as plain data."""
        mechanism = self.mechanism
        case: PlainData = {
            "n": self.n,
            "alpha": mechanism.alpha,
            "rho": mechanism.rho,
            "beta": self.beta,
            "resolution": mechanism.resolution,
            "bounds": list(mechanism.bounds),
            "population": self.population.name,
            "window_count": self.window_count,
        }
        doubled = {} if self.windows == 1 else {"windows": self.windows}
        return case | doubled | planted(correction=self.correction, noise=self.noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankError(_SearchCase):
    """Proposition 1: with probability ≥ 1−β the rank error is at most τ* + M(Δ).

    ``window_count`` is the value used for M(Δ), and ``windows`` how often it is added.
    """

    about: ClassVar[Statement] = Statement(
        words="With probability at least 1−β the rank error is at most τ* + M(Δ).",
        formula="P(|#{s ≤ q} − r| ≤ τ* + M(Δ)) ≥ 1−β",
        source=Source(paper="P-COQS", section="Proposition 1"),
        assumptions="scores in [a, b], of which M(Δ) is the most in an interval (t, t+Δ]",
        bound="τ* = √((N/ρ)·log(2N/β)), in ranks",
    )

    failure = Quantity.FAILURE

    noise_bound: NoiseBound = NoiseBound.UNION
    statistic: str = field(default="rank error", init=False)

    def __post_init__(self) -> None:
        _SearchCase.__post_init__(self)
        _validate.choice(NoiseBound, noise_bound=self.noise_bound)

    @property
    def says(self) -> Statement:
        """Proposition 1, or Remark 3's sharper form."""
        limit = _rank_limit(self.windows)
        words = f"With probability at least 1−β the rank error is at most {limit}."
        about = replace(self.about, words=words, formula=f"P(|#{{s ≤ q}} − r| ≤ {limit}) ≥ 1−β")
        if self.noise_bound is NoiseBound.UNION:
            return about
        return replace(
            about,
            words=f"{words.rstrip('.')}, with τ* by the sharper Gaussian quantile.",
            source=Source(paper="P-COQS", section="Remark 3"),
            bound="τ* = σ·Φ⁻¹(1 − β/(2N)), in ranks",
        )

    @property
    def limit(self) -> float:
        """τ* + windows·M(Δ), in ranks."""
        return (
            self.correction
            * noise_rank_error(self.mechanism, beta=self.beta, bound=self.noise_bound)
            + self.windows * self.window_count
        )

    @property
    def bounds(self) -> dict[str, float]:
        """The limit on the rank error."""
        return {_rank_limit(self.windows): self.limit}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self._case | {"noise_bound": str(self.noise_bound)}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run the search on fresh scores and compare the count at its result with the rank."""
        mechanism = with_errors(self.mechanism, n=self.n, noise=self.noise)
        run = mechanism.trials(self.population, n=self.n, trials=count, rng=rng)
        uncorrected = run.rank_error > self.window_count if self.windows == 1 else None
        return TheoremTrials(run.rank_error, run.rank_error > self.limit, uncorrected=uncorrected)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageTheorem(_SearchCase):
    """Theorem 1: 1−α−τ/(n+1) ≤ coverage ≤ 1−α+(τ+1)/(n+1) with probability ≥ 1−β.

    With ``corrected``, Corollary 1: the algorithm runs at α* = max(0, α − τ/(n+1)) and the
    coverage is to be at least 1−α.
    In the marginal reading a trial is the noise of all rounds, and the coverage is averaged over
    calibration sets by computation; a trial is undecided within the numerical error of a bound.
    In the other reading the failure probability itself can be computed, see ``exact``.
    """

    about: ClassVar[Statement] = Statement(
        words=(
            "With probability at least 1−β the coverage lies between 1−α−τ/(n+1) and "
            "1−α+(τ+1)/(n+1)."
        ),
        formula="1−α−τ/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)",
        source=Source(paper="P-COQS", section="Theorem 1"),
        assumptions="exchangeable scores in [a, b]; without ties, or one rank is lost to them",
        bound="τ/(n+1) with τ = τ* + M(Δ), in units of coverage",
    )

    reading: CoverageReading = field(
        default=CoverageReading.MARGINAL,
        metadata=parameter(Choice(CoverageReading), "over what the coverage is a probability"),
    )
    corrected: bool = False
    rank_shift: int = 0
    statistic: str = field(default="coverage", init=False)

    def __post_init__(self) -> None:
        _validate.choice(CoverageReading, reading=self.reading)
        _SearchCase.__post_init__(self)
        _validate.non_negative(correction=self.correction)

    @property
    def says(self) -> Statement:
        """Theorem 1 or Corollary 1, in the reading of this case."""
        coverage = f"with probability at least 1−β the coverage {_OVER[self.reading]}"
        limit = _rank_limit(self.windows)
        about = replace(self.about, bound=f"τ/(n+1) with τ = {limit}, in units of coverage")
        if not self.corrected:
            where = "" if self.windows == 1 else f", with τ = {limit}"
            bounds = f"lies between 1−α−τ/(n+1) and 1−α+(τ+1)/(n+1){where}."
            return replace(about, words=f"{coverage.capitalize()} {bounds}")
        return replace(
            about,
            words=f"Run at α*, {coverage} is at least 1−α.",
            formula="α* = max(0, α − τ/(n+1)), P(Y ∈ C) ≥ 1−α",
            source=Source(paper="P-COQS", section="Corollary 1"),
        )

    @property
    def rank_error(self) -> float:
        """τ = τ* + windows·M(Δ), in ranks; ``correction`` multiplies τ*."""
        noise = noise_rank_error(self.mechanism, beta=self.beta)
        return self.correction * noise + self.windows * self.window_count

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds on the coverage."""
        nominal = 1 - self.mechanism.alpha
        if self.corrected:
            return {"1−α": nominal}
        return {
            "lower bound": nominal - self.rank_error / (self.n + 1),
            "upper bound": nominal + (self.rank_error + 1) / (self.n + 1),
        }

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        read = {"reading": str(self.reading), "corrected": self.corrected, "tau": self.rank_error}
        return self._case | read | planted(rank_shift=self.rank_shift)

    @property
    def calibrator(self) -> PCOQS:
        """The mechanism that runs: at α*, where the theorem is Corollary 1."""
        run = self.mechanism
        if self.corrected:
            alpha = max(0.0, run.alpha - self.rank_error / (self.n + 1))
            run = replace(run, alpha=alpha)
        return with_errors(run, n=self.n, noise=self.noise, rank_shift=self.rank_shift)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run ``count`` trials in the theorem's reading."""
        if self.reading is CoverageReading.CONDITIONAL:
            run = self.calibrator.trials(self.population, n=self.n, trials=count, rng=rng)
            failed = outside(run.coverage, self.bounds)
            return TheoremTrials(run.coverage, failed, uncorrected=self._uncorrected(run.coverage))
        noise = rng.standard_normal((self.mechanism.rounds, count))
        means, error = coverage_given_noise(self.calibrator, self.population, n=self.n, noise=noise)
        clearly = outside(means, self.bounds, margin=error)
        undecided = outside(means, self.bounds, margin=-error) & ~clearly
        return TheoremTrials(means, clearly, undecided, uncorrected=self._uncorrected(means, error))

    def _uncorrected(self, coverage: FloatArray, error: float = 0.0) -> BoolArray | None:
        """Return True for trials that would fail without τ*, for the printed τ; else None."""
        if self.corrected or self.windows > 1:
            return None
        short = (1 - self.mechanism.alpha - coverage + error) * (self.n + 1)
        over = (coverage + error - (1 - self.mechanism.alpha)) * (self.n + 1) - 1
        return np.asarray(np.maximum(short, over) > self.window_count)

    def check(self, *, n_trials: int = 20_000) -> Check:
        """Return the check: computed for one calibrated set of at most 10⁴ scores, else sampled."""
        if self.computed:
            return Computed(self.exact)
        if self.reading is CoverageReading.CONDITIONAL:
            return FailureRate(theorem=self, n_trials=n_trials)
        return FailureRate(theorem=self, n_trials=min(n_trials, _MOST_DRAWS), chunk_trials=_DRAWS)

    @property
    def computed(self) -> bool:
        """True if ``check`` computes the failure probability."""
        return self.reading is CoverageReading.CONDITIONAL and self.n <= _MOST_COMPUTED

    def exact(self) -> Computation:
        """Compute the failure probability over scores and noise, for one calibrated set.

        Raises
        ------
        ValueError
            If the reading is marginal: only the coverage given the noise is computed.
        """
        if self.reading is CoverageReading.MARGINAL:
            raise ValueError("reading must be conditional for an exact failure probability")
        lower, *upper = self.bounds.values()
        value, error = coverage_outside(
            self.calibrator,
            self.population,
            n=self.n,
            lower=lower - ROUNDING,
            upper=upper[0] + ROUNDING if upper else 1.0,
        )
        return Computation(
            quantity=self.failure,
            value=value,
            claimed=self.allowed_failure,
            slack=error,
            error=min(1.0, error / value) if value else 0.0,
            witness=self.parameters | {"limits": self.bounds},
            note="Computed over i.i.d. scores and noise, for the coverage of one calibrated set.",
        )
