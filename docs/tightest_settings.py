"""A search over settings and score laws for where each coverage theorem fails most, for its δ.

What is maximised is computed, so that chance only decides which settings are tried: the ratio of
a setting that is returned is that of the setting, whatever the seed.

    python docs/tightest_settings.py --evaluations 2000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
)
from dpcp_ledger.claims.tightest_cases import AT_SETTINGS, as_it_is
from dpcp_ledger.pcoqs.hostile_scores import heaped
from dpcp_ledger.pcoqs.marginal_grid import FiniteCoverage
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError, evenly_spaced, largest_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.pcoqs.hostile_scores import HostileTheorem


_FIRST = 0.4
"""The part of the evaluations that are drawn at random; the rest are steps from the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingScale:
    """The values that a parameter may take, evenly on a logarithmic scale or not."""

    low: float
    high: float
    log: bool = True
    whole: bool = False

    def at(self, place: float) -> float:
        """Return the value at a place in [0, 1]."""
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + (self.high - self.low) * place
        return round(value) if self.whole else float(f"{value:.3g}")


class FoundSetting(NamedTuple):
    """The setting with the largest failure probability over δ."""

    setting: dict[str, float]
    hostile: HostileTheorem
    ratio: float


class SettingSpace(NamedTuple):
    """A theorem's settings, and how one is built: None where it says nothing there."""

    scales: Mapping[str, SettingScale]
    build: Callable[[Mapping[str, Any]], HostileTheorem | None]


_N = SettingScale(low=30, high=10_000, whole=True)
_ALPHA = SettingScale(low=0.02, high=0.5)
_FAILURE = SettingScale(low=1e-8, high=0.5)
_SEARCH = {
    "n": _N,
    "alpha": _ALPHA,
    "rho": SettingScale(low=1e-3, high=30.0),
    "beta": _FAILURE,
    "halvings": SettingScale(low=4, high=40, whole=True, log=False),
    "clusters": SettingScale(low=2, high=5, whole=True, log=False),
}


def _coarse_rank(setting: Mapping[str, Any]) -> HostileTheorem:
    """Return Proposition 1 as printed, at any Δ, on scores that fill the interval evenly."""
    mechanism = PCOQS(alpha=setting["alpha"], rho=setting["rho"], resolution=setting["resolution"])
    scores = evenly_spaced(setting["n"])
    theorem = FixedRankError(mechanism=mechanism, scores=scores, beta=setting["beta"])
    return as_it_is(theorem)


def _coarse_coverage(setting: Mapping[str, Any]) -> HostileTheorem:
    """Return Theorem 1 as printed, at any Δ, on n + 1 scores that fill the interval, also tied."""
    n = setting["n"]
    resolution = setting["resolution"]
    mechanism = PCOQS(alpha=setting["alpha"], rho=setting["rho"], resolution=resolution)
    scores = heaped(n + 1, ties=min(setting["ties"], n + 1))
    theorem = CoverageTheorem(
        mechanism=mechanism,
        n=n,
        beta=setting["beta"],
        reading=CoverageReading.MARGINAL,
        window_count=int(largest_windows(scores[None, :], resolution)[0]),
    )
    name = f"evenly spaced, {setting['ties']} at each place"
    return as_it_is(FiniteCoverage(theorem=theorem, scores=scores, name=name))


_USERS = SettingScale(low=100, high=10**7, whole=True)
_EPSILON = SettingScale(low=0.1, high=16.0)
_SCALES = dict.fromkeys(
    ("pcoqs.proposition-1.rank", "pcoqs.remark-3", "pcoqs.theorem-1", "pcoqs.corollary-1"),
    _SEARCH,
) | {
    "ldpcp.theorem-1": {"n": _N, "delta": _FAILURE},
    "ldpcp.theorem-3": {"n": _USERS, "epsilon": _EPSILON, "delta": _FAILURE, "alpha": _ALPHA},
    "ldpcp.theorem-4": {
        "n": _USERS,
        "epsilon": _EPSILON,
        "delta": _FAILURE,
        "alpha": _ALPHA,
        "rounds": SettingScale(low=3, high=12, whole=True, log=False),
    },
}
SPACES = {name: SettingSpace(scales, AT_SETTINGS[name]) for name, scales in _SCALES.items()}
"""What is searched for each theorem; P-COQS's coverage also over the number of clusters.

P-COQS's scores lie 2Δ apart here, so that M(Δ) = 1 and τ* decides: 2nΔ is at most 1/2.
"""
_COARSE = {name: scale for name, scale in _SEARCH.items() if name not in ("halvings", "clusters")}
_COARSE["resolution"] = SettingScale(low=1e-5, high=0.1)
COARSE_SPACES: dict[str, SettingSpace] = {
    "pcoqs.proposition-1.rank": SettingSpace(_COARSE, _coarse_rank),
    "pcoqs.theorem-1": SettingSpace(
        _COARSE | {"ties": SettingScale(low=1, high=50, whole=True)}, _coarse_coverage
    ),
}
"""The same at any Δ, where M(Δ) decides: the printed bound fails there."""


def search_settings(
    space: SettingSpace, *, evaluations: int, rng: np.random.Generator | int | None = None
) -> FoundSetting:
    """Search for the setting with the largest failure probability over δ.

    Random settings first, then smaller and smaller steps from the best one.

    Raises
    ------
    ValueError
        If the theorem says nothing at any setting that was tried.
    """
    _validate.integer(evaluations=evaluations, at_least=2)
    generator = _validate.generator(rng)
    best: tuple[float, FloatArray, FoundSetting] | None = None
    for step in range(evaluations):
        if best is None or step < _FIRST * evaluations:
            place = generator.random(len(space.scales))
        else:
            size = 0.2 * 0.02 ** (step / evaluations)
            moved = best[1] + size * generator.standard_normal(len(space.scales))
            place = np.clip(moved, 0.0, 1.0)
        found = _evaluated(space, place)
        if found is not None and (best is None or found.ratio > best[0]):
            best = (found.ratio, place, found)
    if best is None:
        raise ValueError(f"space must hold a setting, got none in {evaluations} tries")
    return best[2]


def _evaluated(space: SettingSpace, place: FloatArray) -> FoundSetting | None:
    values = zip(space.scales.items(), place.tolist(), strict=True)
    setting = {name: scale.at(where) for (name, scale), where in values}
    hostile = space.build(setting)
    if hostile is None or hostile.worst(hostile.theorem) is None:
        return None
    return FoundSetting(setting, hostile, hostile.failure_probability() / hostile.allowed_failure)


def main() -> int:
    """Print the tightest setting that a search finds for every theorem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    spaces = (
        *SPACES.items(),
        *((f"{name}, any Δ", space) for name, space in COARSE_SPACES.items()),
    )
    for name, space in spaces:
        found = search_settings(space, evaluations=given.evaluations, rng=given.seed)
        settings = ", ".join(f"{key} = {value:g}" for key, value in found.setting.items())
        sys.stdout.write(f"{name}: failure/δ {found.ratio:.3g} at {settings}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
