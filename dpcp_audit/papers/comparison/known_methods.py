"""All calibrators that are compared: those of this package, of libraries, and of other packages.

A package brings its own by an entry point of the group ``dpcp_audit.calibrators``, which names a
``dpcp_audit.private_calibrator.PrivateCalibrator``.
"""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.papers.comparison.library_methods import THIRD_PARTY, released_one_by_one
from dpcp_audit.papers.comparison.method import Method, SkippedMethod
from dpcp_audit.papers.comparison.own_methods import OWN
from dpcp_audit.private_calibrator import PrivateCalibrator, Trust

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from dpcp_audit._types import FloatArray
    from dpcp_audit.papers.comparison.method import Calibrated, Case

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
