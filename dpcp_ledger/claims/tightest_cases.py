"""Rows that test each coverage theorem where it is tightest, by computation.

The scores are placed against the theorem's own constants, so that a wrong constant is refuted on
them. Every theorem is tried at a usual failure probability and at a tiny one: there its union bound
costs little, and a constant that is a few per cent too small shows. Of LDP-CP's Theorems 1 and 3
the law of what they bound is known there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import smirnov
from scipy.stats import binom, kstwo

from dpcp_audit.extensions.claims import Row, Standing, Verdict
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    LabelTheorem,
    NoiseBound,
    ScoreTheorem,
    Statement,
    TheoremTrials,
    UniformEvent,
    claim_of,
    failure_evidence,
)
from dpcp_ledger.paper import Heading
from dpcp_ledger.pcoqs.hostile_scores import (
    CrowdedCoverage,
    CrowdedRankError,
    HostileTheorem,
    clustered,
    coverage_on_crowd,
    on_staircase,
    rank_on_crowd,
    too_few_below,
    undercovered,
)
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dpcp_audit.extensions.claims import Computation, PlainData
    from dpcp_audit.extensions.laws import ProbabilityPool


_EDGE = 1e-9
"""The distance of a coverage past its bound: enough to count, too little to matter."""


def _no_pool() -> ProbabilityPool:
    raise ValueError("the scores are of any continuous law, and come from no pool")


@dataclass(frozen=True, kw_only=True)
class _WithoutPool(UniformEvent):
    """A case of k-RR whose failure probability is computed, whatever pool the scores are from."""

    k: int = 2
    pool_name: str = "any continuous law"
    pool: Callable[[], ProbabilityPool] = _no_pool

    @property
    def computed(self) -> bool:
        """Yes: by the law of what the theorem bounds."""
        return True


@dataclass(frozen=True, kw_only=True)
class NoiselessEvent(_WithoutPool):
    """Theorem 1's event on continuous scores, where ε is so large that hardly a label changes.

    F̂c is then the empirical distribution function of n scores, except with a probability of
    nβ, and its largest excess has Smirnov's law (Birnbaum and Tingey 1951), or Kolmogorov's
    for both sides. The theorem is as tight there as it gets: its constant is Massart's for δ/4.
    """

    @property
    def changed(self) -> float:
        """A bound on the probability that some label changes, nβ."""
        return min(1.0, self.n * self.response.beta)

    @property
    def _limit(self) -> float:
        """Δ_L in terms of the scores' own distribution function, at most 1."""
        return min(1.0, (1 - self.response.beta) * self.bounds["Δ"])

    def failure_probability(self) -> float:
        """Compute P(sup F̂ − F > Δ_L) of n uniform scores, ``changed`` aside."""
        if self.two_sided:
            return float(kstwo.sf(self._limit, self.n))
        return float(smirnov(self.n, self._limit))

    @property
    def _ends(self) -> tuple[float, float]:
        """Bounds on the failure probability, ``changed`` aside.

        An excess above F is a decreasing event of the ordered scores and one below an increasing
        event, and these are associated (Karlin and Rinott 1980): both happen with a probability
        of at most p² where each has p, and one or the other with 2p − p² to 2p.
        """
        each = float(smirnov(self.n, self._limit))
        return (2 * each - each**2, 2 * each) if self.two_sided else (each, each)

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence; two-sided, between bounds on it."""
        return failure_evidence(
            self,
            ends=self._ends,
            slack=self.changed,
            note=f"No label changes, except with a probability of at most {self.changed:.2g}.",
        )

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw n uniform scores ``count`` times."""
        scores = np.sort(rng.random((count, self.n)), axis=1)
        upto = np.arange(1, self.n + 1) / self.n
        error = (upto - scores).max(axis=1)
        if self.two_sided:
            error = np.maximum(error, (scores - upto + 1 / self.n).max(axis=1))
        return TheoremTrials(error, error > (1 - self.response.beta) * self.bounds["Δ"])


@dataclass(frozen=True, kw_only=True)
class ConfidentLabels(_WithoutPool):
    """Theorem 3 for confident predictions, where F̂c is a binomial variable.

    One label of each user has an HPS score near 0 and the others have scores near 1; it is the
    true one with probability f, just less than 1−α−Δ_L. At any midpoint between, F̂r = 1/k, every
    early midpoint sees the same F̂c, and the bound fails if that reaches 1−α. (It also fails where
    a later midpoint jumps over the window back to these; that comes on top.)
    The scores near 0 and 1 are spread widely enough to be admissible, for T of that size.
    """

    about: ClassVar[Statement] = LabelTheorem.about
    failure = LabelTheorem.failure

    alpha: float = 0.1
    statistic: str = field(default="F̂c at the first midpoint", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()

    @property
    def width(self) -> float:
        """Δ_L, multiplied by the correction."""
        return super().bounds["Δ"]

    @property
    def bounds(self) -> dict[str, float]:
        """The bound 1−α: F̂c of a threshold that covers too little has to stay below it."""
        return {"1−α": 1 - self.alpha}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        case = {"n": self.n, "epsilon": self.epsilon, "delta": self.delta, "k": self.k}
        planted = {"correction": self.correction} if self.correction != 1 else {}
        scores = f"near 0 with {self.covered:.6g}"
        return case | planted | {"rounds": self.rounds, "alpha": self.alpha, "population": scores}

    @property
    def covered(self) -> float:
        """f, the coverage of every early midpoint."""
        return max(0.0, 1 - self.alpha - self.width - _EDGE)

    @property
    def rounds(self) -> int:
        """T, enough for 2^(−T) to hold at most Δ_L of the mass spread over quarters of [0, 1]."""
        return max(2, math.ceil(math.log2(8 / min(1.0, max(self.width, 1e-12)))))

    @property
    def _reports(self) -> tuple[int, float]:
        """The fewest reports of a label near 0 that fail, and the probability of one."""
        beta = self.response.beta
        level = (1 - beta) * (1 - self.alpha) + beta / self.k
        return math.ceil(self.n * level - _EDGE), (1 - beta) * self.covered + beta / self.k

    def failure_probability(self) -> float:
        """Compute the probability that F̂c of an early midpoint reaches 1−α.

        It is 0 where the bound is vacuous.
        """
        if self.covered == 0:
            return 0.0
        least, chance = self._reports
        return float(binom.sf(least - 1, self.n, chance))

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        return failure_evidence(
            self,
            detail="at an early midpoint",
            note="Every early midpoint sees one binomial number of reports.",
        )

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the reports ``count`` times."""
        least, chance = self._reports
        reports = rng.binomial(self.n, chance, size=count)
        beta = self.response.beta
        return TheoremTrials((reports / self.n - beta / self.k) / (1 - beta), reports >= least)


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
_RANKED = {NoiseBound.UNION: "pcoqs.proposition-1.rank", NoiseBound.GAUSSIAN: "pcoqs.remark-3"}
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


class _TightCase(NamedTuple):
    """A theorem on the worst scores known for it.

    Attributes
    ----------
    name : str
        Name of the theorem, with which the ids begin.
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
    return HostileTheorem(theorem=theorem, worst=too_few_below)


def covered(
    mechanism: PCOQS, *, n: int, beta: float, corrected: bool, clusters: int = 2
) -> HostileTheorem:
    """Return Theorem 1 or Corollary 1 on scores in so many clusters, placed against τ*."""
    theorem = CoverageTheorem(
        mechanism=mechanism, n=n, beta=beta, reading=CoverageReading.MARGINAL, corrected=corrected
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
    """Return True if so many scores cannot lie 2Δ apart on half of the interval."""
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


def tight_cases() -> Iterator[_TightCase]:
    """Yield every theorem where it is tightest, at a usual and at a tiny failure probability."""
    for failure in (0.01, TINY):
        yield from _search_cases(failure)
        yield from _label_cases(failure)
        for n, epsilon, alpha in ((100_000, 4.0, 0.1), (1_000_000, 1.0, 0.5)):
            hostile = on_steps(n=n, epsilon=epsilon, delta=failure, rounds=10, alpha=alpha)
            yield _TightCase("ldpcp.theorem-4", hostile)
    yield from _crowd_cases()
    yield from _searched_cases()


def _searched_cases() -> Iterator[_TightCase]:
    """Yield the settings at which a search of 1500 evaluations found the largest failure/δ."""
    for name, setting in _SEARCHED.items():
        hostile = AT_SETTINGS[name](setting)
        if hostile is not None:
            yield _TightCase(name, hostile)


def _search_cases(beta: float) -> Iterator[_TightCase]:
    """P-COQS: the settings of the paper's Remark 7, and much noise, where one rank is little."""
    for rho, n in ((0.5, 2000), (0.005, 20_000)):
        mechanism = PCOQS(alpha=0.1, rho=rho)
        for bound in NoiseBound:
            hostile = ranked(mechanism, n=n, beta=beta, bound=bound)
            yield _TightCase(_RANKED[bound], hostile)
        for corrected in (False, True):
            hostile = covered(mechanism, n=n, beta=beta, corrected=corrected)
            yield _TightCase(_COVERED[corrected], hostile)


def _crowd_cases() -> Iterator[_TightCase]:
    """P-COQS where M(Δ) decides: half of the scores lie closer together than Δ, at the rank."""
    mechanism, n, beta = PCOQS(alpha=0.6, rho=0.5), 4000, 0.01
    for bound in NoiseBound:
        rank = CrowdedRankError(
            mechanism=mechanism, scores=np.linspace(0, 1, n), beta=beta, noise_bound=bound
        )
        hostile = HostileTheorem(theorem=rank, worst=rank_on_crowd)
        yield _TightCase(_RANKED[bound], hostile)
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
        yield _TightCase(_COVERED[corrected], on_crowd)


def _label_cases(delta: float) -> Iterator[_TightCase]:
    """LDP-CP-L: without noise, where Δ_L is Massart's constant, and at ε = 4."""
    for two_sided in (False, True):
        event = NoiselessEvent(n=2000, epsilon=480.0, delta=delta, two_sided=two_sided)
        yield _TightCase("ldpcp.theorem-1", as_it_is(event))
    for epsilon in (4.0, 12.0):
        binary = ConfidentLabels(n=20_000, epsilon=epsilon, delta=delta, alpha=0.5)
        yield _TightCase("ldpcp.theorem-3", as_it_is(binary))


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
