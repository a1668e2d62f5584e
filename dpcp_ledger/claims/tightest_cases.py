"""Rows that test each coverage theorem where it is tightest, by computation.

The scores are placed against the theorem's own constants, so that a wrong constant is refuted on
them. Every theorem is tried at a usual failure probability and at a tiny one: there its union
bound costs little, and a constant that is a few per cent too small shows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Row, Standing, Verdict
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    NoiseBound,
    ScoreTheorem,
    claim_of,
)
from dpcp_ledger.ldpcp.tightest_labels import ConfidentLabels, NoiselessEvent
from dpcp_ledger.paper import Heading
from dpcp_ledger.pcoqs.crowded_scores import (
    CrowdedCoverage,
    CrowdedRankError,
    coverage_on_crowd,
    rank_on_crowd,
)
from dpcp_ledger.pcoqs.hostile_scores import (
    HostileTheorem,
    clustered,
    on_staircase,
    undercovered,
)
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError, on_too_few_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


TINY = 1e-100
"""A failure probability at which the constants are all but tight."""
_HEADINGS = {
    "pcoqs.proposition-1.rank": Heading.SEARCH_RANK,
    "pcoqs.remark-3": Heading.SEARCH_RANK,
    "pcoqs.theorem-1": Heading.SEARCH_COVERAGE,
    "pcoqs.corollary-1": Heading.SEARCH_COVERAGE,
    "ldpcp.theorem-1": Heading.LABEL_COVERAGE,
    "ldpcp.theorem-3": Heading.LABEL_COVERAGE,
    "ldpcp.theorem-4": Heading.SCORE_COVERAGE,
}
_RANKED = {
    NoiseBound.UNION: "pcoqs.proposition-1.rank",
    NoiseBound.GAUSSIAN: "pcoqs.remark-3",
}
_COVERED = {False: "pcoqs.theorem-1", True: "pcoqs.corollary-1"}
_FINE = {"halvings": 40, "clusters": 2}
_SEARCHED: dict[str, dict[str, float]] = {
    "pcoqs.proposition-1.rank": {"n": 736, "alpha": 0.0801, "rho": 0.00103, "beta": 0.5} | _FINE,
    "pcoqs.remark-3": {"n": 297, "alpha": 0.0789, "rho": 0.00385, "beta": 0.0515} | _FINE,
    "pcoqs.theorem-1": {"n": 4631, "alpha": 0.0624, "rho": 0.00104, "beta": 0.5} | _FINE,
    "pcoqs.corollary-1": {"n": 4911, "alpha": 0.0918, "rho": 0.00104, "beta": 0.5} | _FINE,
    "ldpcp.theorem-1": {"n": 10_000, "delta": 0.5},
    "ldpcp.theorem-3": {"n": 100, "epsilon": 11.1, "delta": 0.5, "alpha": 0.42},
    "ldpcp.theorem-4": {"n": 2832, "epsilon": 0.415, "delta": 0.5, "alpha": 0.5, "rounds": 12},
}
"""Found by ``docs/tightest_settings.py --evaluations 1500 --seed 0``."""


_UNIFORM = "ldpcp.theorem-1"
"""Read, as in the other suites, as a statement of every threshold at once."""


class TightCase(NamedTuple):
    """A theorem on the worst scores known for it.

    Attributes
    ----------
    name : str
        Of the theorem, as ids begin.
    hostile : HostileTheorem
        The theorem, on scores that follow its constants.
    """

    name: str
    hostile: HostileTheorem


def ranked(
    mechanism: PCOQS, *, n: int, beta: float, bound: NoiseBound = NoiseBound.UNION
) -> HostileTheorem:
    """Return Proposition 1 or Remark 3 on n scores at both ends of the interval."""
    theorem = FixedRankError(
        mechanism=mechanism, scores=np.linspace(0, 1, n), beta=beta, noise_bound=bound
    )
    return HostileTheorem(theorem=theorem, worst=on_too_few_below)


def covered(
    mechanism: PCOQS, *, n: int, beta: float, corrected: bool, clusters: int = 2
) -> HostileTheorem:
    """Return Theorem 1 or Corollary 1 on scores in so many clusters, placed against τ*."""
    theorem = CoverageTheorem(
        mechanism=mechanism,
        n=n,
        beta=beta,
        reading=CoverageReading.MARGINAL,
        corrected=corrected,
    )
    worst = clustered(clusters - 2) if clusters > 2 else undercovered
    return HostileTheorem(theorem=theorem, worst=worst)


def on_steps(**settings: Any) -> HostileTheorem:
    """Return Theorem 4 on the staircase of scores that follows its constants."""
    theorem = ScoreTheorem(population=Uniform(), **settings)
    return HostileTheorem(theorem=theorem, worst=on_staircase)


def as_it_is(theorem: Any) -> HostileTheorem:
    """Return a theorem whose scores follow its constants by themselves."""
    return HostileTheorem(theorem=theorem, worst=_itself)


def _itself(theorem: Any) -> Any:
    return theorem


def _searched(setting: Mapping[str, Any]) -> PCOQS:
    return PCOQS(alpha=setting["alpha"], rho=setting["rho"], resolution=2.0 ** -setting["halvings"])


def _crowds(setting: Mapping[str, Any], scores: int) -> bool:
    """Return whether so many scores cannot lie 2Δ apart on half of the interval."""
    return bool(2 * scores * 2.0 ** -setting["halvings"] > 0.5)


def _rank_at(bound: NoiseBound, setting: Mapping[str, Any]) -> HostileTheorem | None:
    if _crowds(setting, setting["n"]):
        return None
    return ranked(_searched(setting), n=setting["n"], beta=setting["beta"], bound=bound)


def _coverage_at(setting: Mapping[str, Any], *, corrected: bool) -> HostileTheorem | None:
    if _crowds(setting, setting["n"] + 1):
        return None
    hostile = covered(
        _searched(setting),
        n=setting["n"],
        beta=setting["beta"],
        corrected=corrected,
        clusters=setting["clusters"],
    )
    refuted = corrected and hostile.theorem.calibrator.alpha == 0  # see the papers' suite
    return None if refuted else hostile


def _scores_at(setting: Mapping[str, Any]) -> HostileTheorem | None:
    hostile = on_steps(**{**setting, "n": max(setting["n"], setting["rounds"])})
    return None if on_staircase(hostile.theorem) is None else hostile


def _event_at(setting: Mapping[str, Any]) -> HostileTheorem:
    return as_it_is(NoiselessEvent(n=setting["n"], epsilon=120.0, delta=setting["delta"]))


def _labels_at(setting: Mapping[str, Any]) -> HostileTheorem:
    return as_it_is(ConfidentLabels(**setting))


AT_SETTINGS: dict[str, Callable[[Mapping[str, Any]], HostileTheorem | None]] = {
    "pcoqs.proposition-1.rank": partial(_rank_at, NoiseBound.UNION),
    "pcoqs.remark-3": partial(_rank_at, NoiseBound.GAUSSIAN),
    "pcoqs.theorem-1": partial(_coverage_at, corrected=False),
    "pcoqs.corollary-1": partial(_coverage_at, corrected=True),
    "ldpcp.theorem-1": _event_at,
    "ldpcp.theorem-3": _labels_at,
    "ldpcp.theorem-4": _scores_at,
}
"""Each theorem at given settings; None where it says nothing there, or M(Δ) is not 1."""


def tight_cases() -> Iterator[TightCase]:
    """Yield every theorem where it is tightest, at a usual and at a tiny failure probability."""
    for failure in (0.01, TINY):
        yield from _search_cases(failure)
        yield from _label_cases(failure)
        for n, epsilon, alpha in ((100_000, 4.0, 0.1), (1_000_000, 1.0, 0.5)):
            hostile = on_steps(n=n, epsilon=epsilon, delta=failure, rounds=10, alpha=alpha)
            yield TightCase("ldpcp.theorem-4", hostile)
    yield from _crowd_cases()
    yield from _searched_cases()


def _searched_cases() -> Iterator[TightCase]:
    """Yield the settings at which a search of 1500 evaluations found the largest failure/δ."""
    for name, setting in _SEARCHED.items():
        hostile = AT_SETTINGS[name](setting)
        if hostile is not None:
            yield TightCase(name, hostile)


def _search_cases(beta: float) -> Iterator[TightCase]:
    """P-COQS: the settings of the paper's Remark 7, and much noise, where one rank is little."""
    for rho, n in ((0.5, 2000), (0.005, 20_000)):
        mechanism = PCOQS(alpha=0.1, rho=rho)
        for bound in NoiseBound:
            hostile = ranked(mechanism, n=n, beta=beta, bound=bound)
            yield TightCase(_RANKED[bound], hostile)
        for corrected in (False, True):
            hostile = covered(mechanism, n=n, beta=beta, corrected=corrected)
            yield TightCase(_COVERED[corrected], hostile)


def _crowd_cases() -> Iterator[TightCase]:
    """P-COQS where M(Δ) decides: half of the scores lie closer together than Δ, at the rank."""
    mechanism, n, beta = PCOQS(alpha=0.6, rho=0.5), 4000, 0.01
    for bound in NoiseBound:
        rank = CrowdedRankError(
            mechanism=mechanism, scores=np.linspace(0, 1, n), beta=beta, noise_bound=bound
        )
        hostile = HostileTheorem(theorem=rank, worst=rank_on_crowd)
        yield TightCase(_RANKED[bound], hostile)
    for corrected in (False, True):
        crowded = CrowdedCoverage(
            mechanism=mechanism,
            n=n,
            beta=beta,
            reading=CoverageReading.MARGINAL,
            corrected=corrected,
            crowd=n // 2,
            window_count=n // 2,
        )
        on_crowd = HostileTheorem(theorem=crowded, worst=coverage_on_crowd)
        yield TightCase(_COVERED[corrected], on_crowd)


def _label_cases(delta: float) -> Iterator[TightCase]:
    """LDP-CP-L: without noise, where Δ_L is Massart's constant, and at ε = 4."""
    for two_sided in (False, True):
        event = NoiselessEvent(n=2000, epsilon=480.0, delta=delta, two_sided=two_sided)
        yield TightCase("ldpcp.theorem-1", as_it_is(event))
    for epsilon in (4.0, 12.0):
        binary = ConfidentLabels(n=20_000, epsilon=epsilon, delta=delta, alpha=0.5)
        yield TightCase("ldpcp.theorem-3", as_it_is(binary))


def tightest_rows() -> Iterator[Row]:
    """Return the rows of every theorem where it is tightest."""
    for case in tight_cases():
        theorem: Any = case.hostile.case
        allowed = theorem.allowed_failure
        settings = ",".join(
            f"{name}={theorem.parameters[name]:g}"
            for name in ("n", "rho", "epsilon", "alpha", "two_sided")
            if name in theorem.parameters
        )
        yield Row(
            claim=claim_of(
                theorem,
                f"tightest.{case.name}[{settings},failure={allowed:g}]",
                Verdict.CONSISTENT,
                subject=_HEADINGS[case.name],
                standing=Standing.READING if case.name == _UNIFORM else Standing.PAPER,
                note="on scores placed against its constants",
            ),
            check=case.hostile.check(),
        )
