"""Broken mechanisms that the sampled audit must catch, and broken audits that ours is not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.refusals import WaldTest, refutes
from support.samplers import context, gaussian, laplace, pair, response
from support.theorems import Coin

from dpcp_audit.audits.sampled import SampledPrivacy, Sampler, choose_event
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.theorems.theorem import FailureRate
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PrivacyGuarantee, PureDP
from dpcp_audit.words.results import Outcome, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Context

pytestmark = pytest.mark.known_bad

GAUSSIAN_DELTA = GaussianPair(1.0).delta_at(1.0)
LEVEL = WaldTest(allowed=0.05, excessive=0.2, false_alarm=1e-6)
BROKEN = WaldTest(allowed=0.05, excessive=0.2, false_alarm=1e-3)
"""Of a planted bug: an audit that holds its level would pass for one once in a thousand times."""


def verdict(
    sample: Sampler, guarantee: PrivacyGuarantee, value: object = 0, neighbour: object = 1
) -> Verdict:
    check = SampledPrivacy(
        sample=sample,
        guarantee=guarantee,
        neighbours=pair(value, neighbour),
        n_samples=40_000,
    )
    return check(context(0, significance=1e-6)).verdict


@pytest.mark.parametrize(
    ("bad", "correct", "guarantee"),
    [
        (laplace(0.5), laplace(1.0), PureDP(1.0)),
        (gaussian(0.5), gaussian(1.0), ZCDP(0.5)),
        (gaussian(1 / math.sqrt(2)), gaussian(1.0), ZCDP(0.5)),
        (gaussian(0.5), gaussian(1.0), ApproxDP(1.0, GAUSSIAN_DELTA)),
        (gaussian(1.0), laplace(1.0), PureDP(1.0)),
        (response(1.5), response(1.0), LocalDP(1.0)),
    ],
    ids=["half", "half-gaussian", "twice-rho", "half-approx", "wrong-noise", "large-epsilon"],
)
def test_too_little_noise(bad: Sampler, correct: Sampler, guarantee: PrivacyGuarantee) -> None:
    assert verdict(bad, guarantee) is Verdict.REFUTED
    assert verdict(correct, guarantee) is Verdict.CONSISTENT


def test_pcoqs_run_at_four_times_the_claimed_rho() -> None:
    """At five rounds, so that the audit's cells tell all releases apart."""
    claimed = PCOQS(alpha=0.1, rho=0.25, resolution=2**-5)
    pair_ = claimed.worst_pair(50)
    bad = replace(claimed, rho=4 * claimed.rho)
    assert verdict(bad.sample, claimed.guarantee, *pair_) is Verdict.REFUTED
    assert verdict(claimed.sample, claimed.guarantee, *pair_) is Verdict.CONSISTENT


def test_kary_response_with_the_keep_probability_of_two_classes() -> None:
    """Keeping the label with e^ε/(e^ε+1) whatever k is, as if there were two labels."""
    k, epsilon = 10, 1.0
    right = KaryRandomizedResponse(epsilon, k)

    def bad(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        kept = rng.random(size) < math.exp(epsilon) / (math.exp(epsilon) + 1)
        return np.where(kept, value, (value + rng.integers(1, k, size)) % k)

    def good(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return right.sample(np.full(size, value), rng=rng)

    assert verdict(bad, LocalDP(epsilon)) is Verdict.REFUTED
    assert verdict(good, LocalDP(epsilon)) is Verdict.CONSISTENT


def test_a_rare_leak_breaks_pure_privacy_and_not_approximate() -> None:
    """One time in a hundred the input itself is released."""

    def leak(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        noisy = np.round(value + rng.laplace(size=size))
        return np.where(rng.random(size) < 0.01, 1000.0 + value, noisy)

    assert verdict(leak, PureDP(1.0)) is Verdict.REFUTED
    assert verdict(leak, ApproxDP(1.0, 0.01)) is Verdict.CONSISTENT


@dataclass(frozen=True)
class CertifiesItsPilot:
    """An audit that certifies the event on the very samples that chose it."""

    sample: Sampler
    guarantee: PrivacyGuarantee
    n_samples: int = 500

    @property
    def sampled(self) -> bool:
        return True

    def __call__(self, surroundings: Context) -> Outcome:
        honest = SampledPrivacy(
            sample=self.sample,
            guarantee=self.guarantee,
            neighbours=pair(0, 1),
            n_samples=2 * self.n_samples,
        )
        outputs = [
            np.asarray(self.sample(x, self.n_samples, rng=surroundings.rng(i)))
            for i, x in enumerate((0, 1))
        ]
        event, swapped = choose_event(self.guarantee, *outputs)
        hits = [int(event.contains(x).sum()) for x in (outputs[::-1] if swapped else outputs)]
        return honest._judge(
            event,
            hits,
            self.n_samples,
            swapped=swapped,
            context=surroundings,
            complement=False,
            estimates=(),
        )


@pytest.mark.statistical(false_alarm=2e-6)
def test_certifying_the_pilot_breaks_the_level() -> None:
    """Without fresh samples, a quarter of the runs refutes Laplace noise that is 1-DP.

    The correct twin fails with 1e-6 at most; the bug passes with 2e-7 at the measured rate, 0.27.
    """
    bad = CertifiesItsPilot(laplace(1.0), PureDP(1.0), n_samples=2000)
    assert BROKEN.exceeded_by(refutes(bad, significance=0.05))
    good = SampledPrivacy(
        sample=laplace(1.0), guarantee=PureDP(1.0), neighbours=pair(0, 1), n_samples=400
    )
    assert not LEVEL.exceeded_by(refutes(good, significance=0.05))


@dataclass(frozen=True)
class TrustsItsMean:
    """A check that refutes wherever more trials failed than claimed."""

    theorem: Coin

    @property
    def sampled(self) -> bool:
        return True

    def __call__(self, surroundings: Context) -> Outcome:
        outcome = FailureRate(theorem=self.theorem, n_trials=500)(surroundings)
        rate = outcome.evidence.value
        low, _ = clopper_pearson(round(500 * rate), 500, significance=0.999)
        above = max(low, rate) > self.theorem.allowed_failure
        return replace(outcome, verdict=Verdict.REFUTED if above else Verdict.CONSISTENT)


@pytest.mark.statistical(false_alarm=2e-6)
def test_comparing_means_breaks_the_level() -> None:
    """The honest twin fails with 1e-6 at most; the bug, at a rate of 0.45, passes with 1e-13."""
    theorem = Coin(rate=0.1, allowed_failure=0.1)
    naive = TrustsItsMean(theorem)
    assert BROKEN.exceeded_by(refutes(naive, significance=0.05))
    honest = FailureRate(theorem=theorem, n_trials=500)
    assert not LEVEL.exceeded_by(refutes(honest, significance=0.05))
