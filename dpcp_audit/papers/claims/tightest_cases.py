"""Rows that test each coverage theorem where it is tightest, by computation.

The scores are placed against the theorem's own constants, so that a wrong constant is refuted on
them. Every theorem is tried at a usual failure probability and at a tiny one: there its union
bound costs little, and a constant that is a few per cent too small shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.data.populations import Uniform
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.papers.claims.headings import Heading
from dpcp_audit.papers.computations.pcoqs_rank import FixedRankError, on_too_few_below
from dpcp_audit.results import Standing, Verdict
from dpcp_audit.rows import Row
from dpcp_audit.theorems.ldpcp_coverage import ScoreTheorem
from dpcp_audit.theorems.ldpcp_labels_exact import BinaryLabels, NoiselessEvent
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, NoiseBound
from dpcp_audit.theorems.search.hostile_cases import on_staircase, undercovered
from dpcp_audit.theorems.search.hostile_theorem import HostileTheorem
from dpcp_audit.theorems.statement import claim_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TINY = 1e-30
"""A failure probability at which the constants are all but tight."""


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


def _search_cases(beta: float) -> Iterator[TightCase]:
    """P-COQS: the settings of the paper's Remark 7, and much noise, where one rank is little."""
    for rho, n in ((0.5, 1000), (0.005, 10_000)):
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


def _label_cases(delta: float) -> Iterator[TightCase]:
    """LDP-CP-L: without noise, where Δ_L is Massart's constant, and at ε = 4."""
    for two_sided in (False, True):
        event = NoiselessEvent(n=2000, epsilon=120.0, delta=delta, two_sided=two_sided)
        yield TightCase("ldpcp.theorem-1", _as_it_is(event), Heading.LABEL_COVERAGE)
    for epsilon in (4.0, 12.0):
        binary = BinaryLabels(n=20_000, epsilon=epsilon, delta=delta, alpha=0.5)
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
                standing=Standing.PAPER,
                note="on scores placed against its constants",
            ),
            check=case.hostile.check(),
        )
