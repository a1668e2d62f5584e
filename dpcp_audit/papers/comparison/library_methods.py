"""Other libraries' private quantiles as calibrators, where they are installed."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.libraries.quantile_adapters import diffprivlib_quantile, opendp_quantile
from dpcp_audit.mechanisms.conformal import conformal_rank
from dpcp_audit.papers.comparison.method import Calibrated, Method, SkippedMethod
from dpcp_audit.private_calibrator import Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import FloatArray
    from dpcp_audit.papers.comparison.method import Case

    Release = Callable[[FloatArray, np.random.Generator], float]

_SCORES_A_CELL = 2_000_000
_MOST_TRIALS, _LEAST_TRIALS = 100, 20
_OPENDP_CANDIDATES = 2000


def _per_release(
    case: Case, package: str, prepare: Callable[[Case], tuple[Release, str]]
) -> Calibrated | SkippedMethod:
    """Build a calibrator of a package, where it is installed."""
    if importlib.util.find_spec(package) is None:
        return SkippedMethod(f"{package} is not installed; install it with: pip install {package}")
    return released_one_by_one(case, *prepare(case))


def released_one_by_one(case: Case, quantile: Release, parameter: str) -> Calibrated:
    """Return a calibrator of code that releases one threshold at a time, at a cost O(n)."""
    population, n = case.subject.population, case.n

    def draw(trials: int, rng: np.random.Generator) -> FloatArray:
        runs = (quantile(population.sample(n, rng=rng), rng) for _ in range(trials))
        return np.fromiter(runs, dtype=np.float64, count=trials)

    def release(rng: np.random.Generator) -> Callable[[], object]:
        scores = population.sample(n, rng=rng)
        return lambda: quantile(scores, rng)

    affordable = min(_MOST_TRIALS, max(_LEAST_TRIALS, _SCORES_A_CELL // n))
    return Calibrated(draw=draw, release=release, parameter=parameter, most_trials=affordable)


def _level(case: Case) -> float:
    """Return the conformal level ⌈(1−α)(n+1)⌉/n, at most 1."""
    return min(1.0, conformal_rank(case.n, alpha=case.alpha) / case.n)


def _diffprivlib(case: Case) -> tuple[Release, str]:
    level, epsilon = _level(case), case.budget.epsilon

    def quantile(scores: FloatArray, rng: np.random.Generator) -> float:
        return diffprivlib_quantile(scores, rng=rng, level=level, epsilon=epsilon)

    return quantile, f"ε = {epsilon:.4g}"


def _opendp(case: Case) -> tuple[Release, str]:
    level, epsilon = _level(case), case.budget.epsilon

    def quantile(scores: FloatArray, rng: np.random.Generator) -> float:  # noqa: ARG001
        return opendp_quantile(  # draws from the system's entropy
            scores,
            level=level,
            n_candidates=_OPENDP_CANDIDATES,
            epsilon=epsilon,
            size_is_public=True,
        )

    return quantile, f"ε = {epsilon:.4g}, m = {_OPENDP_CANDIDATES}"


THIRD_PARTY = (
    Method(
        key="diffprivlib",
        label="diffprivlib",
        family="diffprivlib",
        trust=Trust.CURATOR,
        promise="",
        privacy="proved on paper: pure ε (exponential mechanism over intervals)",
        build=partial(_per_release, package="diffprivlib", prepare=_diffprivlib),
    ),
    Method(
        key="opendp",
        label="OpenDP",
        family="opendp",
        trust=Trust.CURATOR,
        promise="",
        privacy="proved by its authors: pure ε, also in floating point",
        build=partial(_per_release, package="opendp", prepare=_opendp),
    ),
)
