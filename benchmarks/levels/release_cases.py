"""The three rules of a test, and auditors of single releases, where the loss is known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from level_case import CheckTrial, LevelCase

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.guessing_game import choose_game
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.search.event_search import PilotCounts, ScalarValue, quantile_cuts
from dpcp_audit.audits.search.moment_test import PilotMoments
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.pilot_hypotheses import best_event, event_test
from dpcp_audit.audits.search.record_pairs import ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.laws import FinitePair, GaussianPair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    Neighbours,
    PureDP,
    Relation,
    RenyiDP,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.audits.search.pair_space import PairSpace, Sampler
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

DRAWS, PILOT = 1000, 330
"""Outputs of each input of one audit, pilot included, and of the pilot."""
_SEARCHED = 1000
"""Outputs of one search, on all inputs together."""
_GAUSSIAN = GaussianPair(1.0)
_PAIR: Neighbours[Any] = Neighbours(relation=Relation.SUBSTITUTION, value=1, neighbour=0)


def _mean(value: Any) -> float:
    return float(np.asarray(value, dtype=np.float64).mean())


@dataclass(frozen=True, slots=True)
class Laplace:
    """A number in [0, 1], or the mean of several, with noise for ``epsilon``."""

    epsilon: float

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs, shape (size,)."""
        scale = 1 / (self.epsilon * np.size(value))
        return np.asarray(_mean(value) + rng.laplace(scale=scale, size=size))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A number in [0, 1], or the mean of several, with noise for ``mu``-GDP."""

    mu: float

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs, shape (size,)."""
        scale = 1 / (self.mu * np.size(value))
        return np.asarray(_mean(value) + rng.normal(scale=scale, size=size))


@dataclass(frozen=True, slots=True)
class Response:
    """Randomised response over ``k`` values."""

    epsilon: float
    k: int = 2

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs, shape (size,)."""
        reports = self.report(np.full(size, value), rng=rng)
        return np.asarray(reports, dtype=np.float64)

    def report(self, values: Any, /, *, rng: np.random.Generator) -> Any:
        """Return one report for each value."""
        return KaryRandomizedResponse(self.epsilon, self.k).sample(values, rng=rng)

    def pair(self) -> FinitePair:
        """Return the laws of the reports of two values."""
        laws = KaryRandomizedResponse(self.epsilon, self.k).laws()
        return FinitePair(laws[0], laws[1])


_DELTA = _GAUSSIAN.delta_at(1.0)
_RHO = Response(1.0).pair().rho()
"""Of binary randomised response, which no pair of laws of that ρ is easier to tell apart than."""
RELEASES: dict[str, tuple[PrivacyGuarantee, Any, Any]] = {
    "ε-DP, Laplace": (PureDP(1.0), Laplace(1.0), Laplace(2.0)),
    "ε-LDP, 10-ary randomised response": (LocalDP(2.0), Response(2.0, 10), Response(4.0, 10)),
    "(ε, δ)-DP, Gaussian": (ApproxDP(1.0, _DELTA), Gaussian(1.0), Gaussian(2.0)),
    "μ-GDP, Gaussian": (GaussianDP(1.0), Gaussian(1.0), Gaussian(2.0)),
    "ρ-zCDP, randomised response": (ZCDP(_RHO), Response(1.0), Response(2.0)),
    "ρ-zCDP, Gaussian": (ZCDP(0.5), Gaussian(1.0), Gaussian(2.0)),
    "D₂, Gaussian": (RenyiDP(2.0, 1.0), Gaussian(1.0), Gaussian(2.0)),
    "largest advantage, Gaussian": (
        ApproxDP(0.0, _GAUSSIAN.delta_at(0.0)),
        Gaussian(1.0),
        Gaussian(2.0),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTrial:
    """A rule, chosen on a third of the outputs of either input and judged on the others."""

    guarantee: PrivacyGuarantee
    tight: Sampler
    twice_lost: Sampler
    choose: Callable[[PrivacyGuarantee, FloatArray, FloatArray, int], PairTest | None]

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the claim is refuted; never where the rule has nothing to say."""
        rng, sample = np.random.default_rng([seed, 5]), self.twice_lost if twice else self.tight
        pilot, fresh = (
            [np.asarray(sample(x, size, rng=rng), dtype=np.float64) for x in (1, 0)]
            for size in (PILOT, DRAWS - PILOT)
        )
        test = self.choose(self.guarantee, pilot[0], pilot[1], seed)
        if test is None:
            return False
        return test.judge(self.guarantee, fresh[0], fresh[1], significance=level).refuted


def event(guarantee: PrivacyGuarantee, first: FloatArray, second: FloatArray, _: int) -> PairTest:
    """Choose the event that exceeds the claim by most standard errors."""
    samples = first, second
    return event_test(guarantee, best_event(guarantee, samples), samples)


def moment(
    guarantee: PrivacyGuarantee, first: FloatArray, second: FloatArray, _: int
) -> PairTest | None:
    """Choose a step function, an order and a bet."""
    counts = PilotCounts.of((first, second), quantile_cuts(np.concatenate([first, second])))
    moments = PilotMoments.of(guarantee, (first, second), counts, thorough=True)
    return moments.best(guarantee, ScalarValue())


def game(
    guarantee: PrivacyGuarantee, first: FloatArray, second: FloatArray, seed: int
) -> PairTest | None:
    """Teach an observer."""
    return choose_game(guarantee, first, second, bounds=None, seed=seed)


def release_cases() -> Iterator[LevelCase]:
    """Yield every auditor that tests one pair of neighbours, or searches for one."""
    for claim in list(RELEASES)[:5]:
        yield _ruled("event", claim, event)
    for claim in (*list(RELEASES)[4:6], "D₂, Gaussian"):
        yield _ruled("moment", claim, moment)
    for claim in list(RELEASES)[:4]:
        yield _ruled("game", claim, game)
    for claim in (*list(RELEASES)[:2], "μ-GDP, Gaussian"):
        yield _case("black box, a given pair", claim, _given)
    for epsilon, k in ((0.5, 2), (2.0, 10)):
        yield LevelCase(
            auditor="local channel",
            claim=f"ε-LDP, {k}-ary randomised response",
            trial=CheckTrial(
                tight=_local(epsilon, epsilon, k), twice=_local(epsilon, 2 * epsilon, k)
            ),
        )
    for claim in (*list(RELEASES)[:4], "largest advantage, Gaussian"):
        yield _case("membership", claim, _attacked)
    yield from _searched()


def _ruled(
    rule: str,
    claim: str,
    choose: Callable[[PrivacyGuarantee, FloatArray, FloatArray, int], PairTest | None],
) -> LevelCase:
    guarantee, tight, twice = RELEASES[claim]
    trial = RuleTrial(guarantee=guarantee, tight=tight, twice_lost=twice, choose=choose)
    return LevelCase(auditor=f"rule: {rule}", claim=claim, trial=trial)


def _case(auditor: str, claim: str, check: Callable[[PrivacyGuarantee, Any], Check]) -> LevelCase:
    guarantee, tight, twice = RELEASES[claim]
    trial = CheckTrial(tight=check(guarantee, tight), twice=check(guarantee, twice))
    return LevelCase(auditor=auditor, claim=claim, trial=trial)


def _local(claimed: float, epsilon: float, k: int) -> Check:
    return LocalPrivacy(
        randomizer=Response(epsilon, k).report,
        guarantee=LocalDP(claimed),
        n_inputs=k,
        n_outputs=k,
        n_samples=DRAWS,
    )


def _attacked(guarantee: PrivacyGuarantee, sample: Any) -> Check:
    return MembershipInference(
        sample=sample, guarantee=guarantee, neighbours=_PAIR, n_samples=DRAWS
    )


def _given(guarantee: PrivacyGuarantee, sample: Any) -> Check:
    pairs = FixedPairs((_PAIR,))
    return BlackBoxPrivacy(sample=sample, guarantee=guarantee, pairs=pairs, draws=DRAWS)


def _searched() -> Iterator[LevelCase]:
    scores, values = ScorePairs(sizes=(1, 2)), ValuePairs(n_values=3)
    yield _search("ε-DP, Laplace mean", PureDP(1.0), (Laplace(1.0), Laplace(2.0)), scores)
    responses = Response(1.0, 3), Response(2.0, 3)
    yield _search("ε-LDP, randomised response", LocalDP(1.0), responses, values)
    yield _search("ρ-zCDP, Gaussian mean", ZCDP(0.5), (Gaussian(1.0), Gaussian(2.0)), scores)


def _search(
    claim: str, guarantee: PrivacyGuarantee, samples: tuple[Sampler, Sampler], pairs: PairSpace
) -> LevelCase:
    tight, twice = (
        BlackBoxPrivacy(sample=sample, guarantee=guarantee, pairs=pairs, draws=_SEARCHED)
        for sample in samples
    )
    trial = CheckTrial(tight=tight, twice=twice)
    return LevelCase(auditor="black-box search", claim=claim, trial=trial)
