"""The power of a search: how many calls a planted twin takes, and which twin so many refute."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.blackbox import search
from support.refusals import exceeds
from support.samplers import context

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.guessing_game import Twin
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.record_pairs import NumberPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import noise_factor, reaches
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
from dpcp_audit.words.results import Verdict
from dpcp_ledger.zoo import broken_mechanisms

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Sampler
    from dpcp_audit.words.guarantees import PrivacyGuarantee

LEVEL = 1e-6
GRID = 2**12
TWINS = [
    Twin(guarantee=PureDP(0.5)),
    Twin(guarantee=ApproxDP(1.0, 1e-5)),
    Twin(guarantee=ApproxDP(1.0, 0.01)),
    Twin(guarantee=LocalDP(2.0), inputs=10),
    Twin(guarantee=ZCDP(0.5)),
    Twin(guarantee=ZCDP(0.5), detect=1.2),
    Twin(guarantee=ZCDP(0.5), inputs=10),
    Twin(guarantee=GaussianDP(1.0)),
    Twin(guarantee=GaussianDP(1.0), of_numbers=True),
    Twin(guarantee=RenyiDP(2.0, 1.0)),
]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: f"{twin.guarantee}-{twin.detect:g}")
def test_more_noise_missing_takes_fewer_calls_and_a_lower_level_more(twin: Twin) -> None:
    calls = [twin.calls(factor, significance=LEVEL) for factor in (1.0, 1.35, 1.7, 2.0, 4.0, 64.0)]
    assert calls == sorted(calls, reverse=True)
    assert math.isinf(calls[0])
    assert calls[3] < 2**20
    assert twin.calls(1.7, significance=1e-9) > twin.calls(1.7, significance=1e-3)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: f"{twin.guarantee}-{twin.detect:g}")
def test_power_and_calls_are_each_others_inverse(twin: Twin) -> None:
    power = twin.power(200_000, significance=LEVEL)
    assert twin.calls_for(power.smallest, significance=LEVEL) == pytest.approx(200_000, rel=0.02)
    factor = noise_factor(power.smallest, power.quantity, power.claimed)
    assert 1 < factor < 2
    assert reaches(power, factor * 1.001)
    assert not reaches(power, factor * 0.999)


@pytest.mark.parametrize("calls", [10, 1_000])
def test_no_violation_is_seen_by_fewer_calls_than_a_search_needs(calls: int) -> None:
    power = Twin(guarantee=PureDP(1.0)).power(calls, significance=LEVEL)
    assert math.isinf(power.smallest)
    assert power.detail == "of a Laplace mechanism"


def test_a_bisection_shows_less_than_its_noise() -> None:
    """Two thirds of ρ, and a search takes 10 times the outputs in place of 6."""
    bisection, release = Twin(guarantee=ZCDP(0.5)), Twin(guarantee=ZCDP(0.5), inputs=10)
    assert bisection.bisects
    assert not release.bisects
    shown = math.sqrt(2 / math.pi)
    calls = bisection.calls(2.0, significance=LEVEL) / bisection.searched(bisecting=True)
    released = release.calls(2.0 * shown, significance=LEVEL) / release.searched(bisecting=False)
    assert calls == pytest.approx(released)
    assert "noisy bisection with 0." in bisection.power(2**17, significance=LEVEL).detail


def test_what_a_bisection_cannot_show_is_asked_of_a_gaussian_release() -> None:
    """And the bisection of the least factor of one is found besides."""
    usual = Twin(guarantee=ZCDP(0.5))
    assert math.isinf(usual.calls(1.2, significance=LEVEL))
    nightly = Twin(guarantee=ZCDP(0.5), detect=1.2)
    calls = nightly.calls(1.2, significance=LEVEL)
    assert calls == pytest.approx(usual.calls(1.1 * math.sqrt(math.pi / 2), significance=LEVEL))
    assert "Gaussian release" in nightly.power(math.ceil(calls), significance=LEVEL).detail
    assert "noisy bisection" in nightly.power(2**18, significance=LEVEL).detail


def test_claims_that_sampling_cannot_refute_need_infinitely_many() -> None:
    assert math.isinf(Twin(guarantee=ApproxDP(1.0, 1.0)).calls(2.0, significance=LEVEL))
    assert Twin(guarantee=RenyiDP(32.0, 1.0)).calls(2.0, significance=LEVEL) > 2**28


def laplace(noise: float) -> Sampler:
    def sample(scores, size, *, rng) -> np.ndarray:
        released = np.quantile(scores, 0.9, method="higher") + rng.laplace(scale=noise, size=size)
        return np.round(released * GRID) / GRID  # a sum's last bits would show its summands

    return sample


def gaussian(noise: float) -> Sampler:
    def sample(scores, size, *, rng) -> np.ndarray:
        return np.quantile(scores, 0.9, method="higher") + rng.normal(scale=noise, size=size)

    return sample


def bisection(noise: float) -> Sampler:
    def sample(scores, size, *, rng) -> np.ndarray:
        return broken_mechanisms.search(scores, size=size, rng=rng, noise=noise)

    return sample


@pytest.mark.parametrize("claim", [ZCDP(0.5), GaussianDP(1.0), RenyiDP(2.0, 1.0)])
def test_the_twin_of_one_number_is_a_release_of_it(claim) -> None:
    """A bisection, which shows less, is of scores."""
    audit = BlackBoxPrivacy(
        sample=gaussian(1.0), guarantee=claim, pairs=NumberPairs(limits=(0.0, 1.0)), draws=60_000
    )
    power = audit.smallest_violation(context(0))
    assert power.detail.startswith("of a Gaussian release with 0.")
    scored = replace(audit, pairs=ScorePairs())
    assert scored.smallest_violation(context(0)).smallest > power.smallest


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1.1e-7)
@pytest.mark.parametrize(
    ("mechanism", "claim", "draws"),
    [(laplace, PureDP(1.0), 12_000), (gaussian, ZCDP(0.5), 40_000), (bisection, ZCDP(0.5), 60_000)],
)
def test_the_twin_of_the_stated_power_is_refuted(mechanism, claim, draws) -> None:
    """Each seed refutes with probability 0.95: fewer than 2 of 7 do with 1.05e-7."""
    inputs = 2 if mechanism is gaussian else None
    power = Twin(guarantee=claim, inputs=inputs).power(draws, significance=1e-4)
    noise = 1 / noise_factor(power.smallest, power.quantity, power.claimed)
    seen = (_refuted(mechanism(noise), claim, draws, seed) for seed in range(7))
    assert exceeds(seen, 1, of=7)


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1.1e-7)
@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [(laplace, PureDP(1.0)), (gaussian, GaussianDP(1.0)), (gaussian, ZCDP(0.5))],
)
def test_a_given_pair_takes_the_calls_that_are_stated(mechanism, claim) -> None:
    """Of half of the noise, likewise; a search for the pair takes some times as many."""
    searched = Twin(guarantee=claim)
    stated = replace(searched, given=True)
    draws = math.ceil(stated.calls(2.0, significance=1e-4))
    assert 2 * draws < searched.calls(2.0, significance=1e-4)
    pair = Neighbours(relation=Relation.SUBSTITUTION, value=[1.0], neighbour=[0.0])
    audit = BlackBoxPrivacy(
        sample=mechanism(0.5), guarantee=claim, pairs=FixedPairs((pair,)), draws=draws
    )
    assert (
        audit.smallest_violation(context(0)).smallest
        < searched.power(draws, significance=context(0).significance).smallest
    )
    seen = (
        audit(Context(seed=seed, name="given", significance=1e-4)).verdict is Verdict.REFUTED
        for seed in range(7)
    )
    assert exceeds(seen, 1, of=7)


def _refuted(sample: Sampler, claim: PrivacyGuarantee, draws: int, seed: int) -> bool:
    pairs = ScorePairs(sizes=(200,), alpha=0.1)
    return search(sample, claim, pairs, draws=draws, seed=seed).verdict is Verdict.REFUTED
