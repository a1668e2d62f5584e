"""Rows that test each coverage theorem where it is tightest, by computation.

The scores are placed against the theorem's own constants, so that a wrong constant is refuted on
them. Every theorem is tried at a usual failure probability and at a tiny one: there its union
bound costs little, and a constant that is a few per cent too small shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Row, Standing, Verdict
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    ConfidentLabels,
    CoverageReading,
    CoverageTheorem,
    HostileTheorem,
    NoiseBound,
    NoiselessEvent,
    ScoreTheorem,
    claim_of,
    on_staircase,
    undercovered,
)
from dpcp_ledger.computations.crowded_scores import (
    CrowdedCoverage,
    CrowdedRankError,
    coverage_on_crowd,
    rank_on_crowd,
)
from dpcp_ledger.computations.pcoqs_rank import FixedRankError, on_too_few_below
from dpcp_ledger.computations.tightest_settings import SPACES
from dpcp_ledger.headings import Heading

if TYPE_CHECKING:
    from collections.abc import Iterator


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
_SEARCHED: dict[str, dict[str, float]] = {
    "pcoqs.proposition-1.rank": {
        "n": 736,
        "alpha": 0.0801,
        "rho": 0.00103,
        "beta": 0.5,
        "halvings": 40,
        "clusters": 2,
    },
    "pcoqs.remark-3": {
        "n": 297,
        "alpha": 0.0789,
        "rho": 0.00385,
        "beta": 0.0515,
        "halvings": 40,
        "clusters": 2,
    },
    "pcoqs.theorem-1": {
        "n": 4631,
        "alpha": 0.0624,
        "rho": 0.00104,
        "beta": 0.5,
        "halvings": 40,
        "clusters": 2,
    },
    "pcoqs.corollary-1": {
        "n": 4911,
        "alpha": 0.0918,
        "rho": 0.00104,
        "beta": 0.5,
        "halvings": 40,
        "clusters": 2,
    },
    "ldpcp.theorem-1": {"n": 10_000, "delta": 0.5},
    "ldpcp.theorem-3": {"n": 100, "epsilon": 11.1, "delta": 0.5, "alpha": 0.42},
    "ldpcp.theorem-4": {"n": 2832, "epsilon": 0.415, "delta": 0.5, "alpha": 0.5, "rounds": 12},
}
"""By ``tightest_settings --evaluations 1500 --seed 0``."""


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
    heading : Heading
        What it is about.
    """

    name: str
    hostile: HostileTheorem[Any]
    heading: Heading


def tight_cases() -> Iterator[TightCase]:
    """Yield every theorem where it is tightest, at a usual and at a tiny failure probability."""
    for failure in (0.01, TINY):
        yield from _search_cases(failure)
        yield from _label_cases(failure)
        yield from _score_cases(failure)
    yield from _crowd_cases()
    yield from _searched_cases()


def _searched_cases() -> Iterator[TightCase]:
    """Yield the settings at which a search of 1500 evaluations found the largest failure/δ."""
    for name, setting in _SEARCHED.items():
        hostile = SPACES[name].build(setting)
        if hostile is not None:
            yield TightCase(name, hostile, _HEADINGS[name])


def _search_cases(beta: float) -> Iterator[TightCase]:
    """P-COQS: the settings of the paper's Remark 7, and much noise, where one rank is little."""
    for rho, n in ((0.5, 2000), (0.005, 20_000)):
        mechanism = PCOQS(alpha=0.1, rho=rho)
        for bound in NoiseBound:
            rank = FixedRankError(
                mechanism=mechanism, scores=np.linspace(0, 1, n), beta=beta, noise_bound=bound
            )
            name = "proposition-1.rank" if bound is NoiseBound.UNION else "remark-3"
            hostile = HostileTheorem(theorem=rank, worst=on_too_few_below)
            yield TightCase(f"pcoqs.{name}", hostile, Heading.SEARCH_RANK)
        for corrected in (False, True):
            covered = CoverageTheorem(
                mechanism=mechanism,
                n=n,
                beta=beta,
                reading=CoverageReading.MARGINAL,
                corrected=corrected,
            )
            name = "corollary-1" if corrected else "theorem-1"
            hostile_coverage = HostileTheorem(theorem=covered, worst=undercovered)
            yield TightCase(f"pcoqs.{name}", hostile_coverage, Heading.SEARCH_COVERAGE)


def _crowd_cases() -> Iterator[TightCase]:
    """P-COQS where M(Δ) decides: half of the scores lie closer together than Δ, at the rank."""
    mechanism, n, beta = PCOQS(alpha=0.6, rho=0.5), 4000, 0.01
    for bound in NoiseBound:
        rank = CrowdedRankError(
            mechanism=mechanism, scores=np.linspace(0, 1, n), beta=beta, noise_bound=bound
        )
        name = "proposition-1.rank" if bound is NoiseBound.UNION else "remark-3"
        hostile = HostileTheorem(theorem=rank, worst=rank_on_crowd)
        yield TightCase(f"pcoqs.{name}", hostile, Heading.SEARCH_RANK)
    for corrected in (False, True):
        covered = CrowdedCoverage(
            mechanism=mechanism,
            n=n,
            beta=beta,
            reading=CoverageReading.MARGINAL,
            corrected=corrected,
            crowd=n // 2,
            window_count=n // 2,
        )
        name = "corollary-1" if corrected else "theorem-1"
        hostile_coverage = HostileTheorem(theorem=covered, worst=coverage_on_crowd)
        yield TightCase(f"pcoqs.{name}", hostile_coverage, Heading.SEARCH_COVERAGE)


def _label_cases(delta: float) -> Iterator[TightCase]:
    """LDP-CP-L: without noise, where Δ_L is Massart's constant, and at ε = 4."""
    for two_sided in (False, True):
        event = NoiselessEvent(n=2000, epsilon=480.0, delta=delta, two_sided=two_sided)
        yield TightCase("ldpcp.theorem-1", _as_it_is(event), Heading.LABEL_COVERAGE)
    for epsilon in (4.0, 12.0):
        binary = ConfidentLabels(n=20_000, epsilon=epsilon, delta=delta, alpha=0.5)
        yield TightCase("ldpcp.theorem-3", _as_it_is(binary), Heading.LABEL_COVERAGE)


def _score_cases(delta: float) -> Iterator[TightCase]:
    for n, epsilon, alpha in ((100_000, 4.0, 0.1), (1_000_000, 1.0, 0.5)):
        score = ScoreTheorem(
            population=Uniform(), n=n, epsilon=epsilon, delta=delta, rounds=10, alpha=alpha
        )
        hostile = HostileTheorem(theorem=score, worst=on_staircase)
        yield TightCase("ldpcp.theorem-4", hostile, Heading.SCORE_COVERAGE)


def _as_it_is(theorem: Any) -> HostileTheorem[Any]:
    """Return a theorem whose scores follow its constants by themselves."""
    return HostileTheorem(theorem=theorem, worst=_itself)


def _itself(theorem: Any) -> Any:
    return theorem


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
                subject=case.heading,
                standing=Standing.READING if case.name == _UNIFORM else Standing.PAPER,
                note="on scores placed against its constants",
            ),
            check=case.hostile.check(),
        )
