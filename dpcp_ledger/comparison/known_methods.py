"""Other libraries' private quantiles as calibrators, where they are installed.

All calibrators that are compared: those of this package, of libraries, and of other packages.

A package brings its own by an entry point of the group ``dpcp_audit.calibrators``, which names a
``dpcp_ledger.comparison.method.PrivateCalibrator``.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.mechanisms import conformal_rank
from dpcp_ledger.comparison.method import (
    Calibrated,
    Method,
    PrivateCalibrator,
    SkippedMethod,
    Trust,
)
from dpcp_ledger.comparison.own_methods import OWN
from dpcp_ledger.libraries.noise_adapters import diffprivlib_quantile, opendp_quantile

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.comparison.method import Case


if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.comparison.method import Case

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


GROUP = "dpcp_audit.calibrators"


def methods() -> tuple[Method, ...]:
    """Return all methods: the non-private reference first, those of other packages last."""
    return _methods(tuple(sys.path))


def method(key: str) -> Method:
    """Return a method by its key."""
    found = {candidate.key: candidate for candidate in methods()}
    if key not in found:
        raise ValueError(f"key must be one of {', '.join(found)}, got {key!r}")
    return found[key]


@lru_cache(maxsize=1)
def _methods(path: tuple[str, ...]) -> tuple[Method, ...]:  # noqa: ARG001  (where they lie)
    known = (*OWN, *THIRD_PARTY)
    taken = {each.key for each in known}
    others = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value))
    return (*known, *(_registered(entry, taken) for entry in others))


def _build(calibrator: PrivateCalibrator, case: Case) -> Calibrated:
    budget = case.budget

    def quantile(scores: FloatArray, rng: np.random.Generator) -> float:
        found = calibrator.calibrate(
            scores, alpha=case.alpha, epsilon=budget.epsilon, delta=budget.delta, rng=rng
        )
        if not np.isfinite(found):
            raise ValueError(f"{calibrator.label} must return a finite threshold, got {found!r}")
        return float(found)

    return released_one_by_one(case, quantile, f"ε = {budget.epsilon:.4g}")


def _registered(entry: EntryPoint, taken: set[str]) -> Method:
    """Return the method of an entry point; where its name is taken it is that of its object."""
    key = entry.name if entry.name not in taken else entry.value
    taken.add(key)
    made = partial(Method, key=key, family=key)
    try:
        found: object = entry.load()
    except Exception as error:  # noqa: BLE001  (a package may raise anything)
        return _unusable(made, entry, f"cannot be loaded: {type(error).__name__}: {error}")
    if not isinstance(found, PrivateCalibrator):
        return _unusable(made, entry, f"is no PrivateCalibrator but a {type(found).__name__}")
    return made(
        label=found.label,
        trust=found.trust,
        promise=found.promise,
        privacy=found.privacy,
        build=partial(_build, found),
    )


def _unusable(made: partial[Method], entry: EntryPoint, why: str) -> Method:
    def skipped(case: Case) -> SkippedMethod:  # noqa: ARG001  (of every case)
        return SkippedMethod(f"{entry.value} {why}")

    return made(
        label=entry.name,
        trust=Trust.CURATOR,
        promise="",
        privacy="not known",
        build=skipped,
    )
