"""Traced losses agree with the exact laws of the reference mechanisms, written as users do.

A set of losses is drawn once and split into repetitions. δ(ε) is inside its limits in all of them
but for the stated error; ρ and D_α, whose estimates have no certified limits, lie within their
standard errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support import user_mechanisms as mine
from support.followed_paths import enumerated, trace_pair
from support.transcripts import report_pair

from dpcp_audit.laws.laws import FinitePair, LaplacePair
from dpcp_audit.mechanisms.local_scores import LDPCPScores
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.tracing.pair_traces import LossSample
from dpcp_audit.tracing.path_losses import path_loss
from dpcp_audit.tracing.target_calls import TracedTarget

pytestmark = pytest.mark.statistical(false_alarm=0)
_SEARCH = PCOQS(alpha=0.1, rho=0.5)
_ERROR = 1e-8


def search(scores, *, rng) -> Any:
    """P-COQS: 34 rounds of a bisection by noisy counts."""
    left, right = 0.0, 1.0
    rank = _SEARCH.rank(len(scores))
    for _ in range(34):
        middle = (left + right) / 2
        if np.count_nonzero(scores <= middle) + rng.normal(0, _SEARCH.noise_scale) < rank:
            left = middle + 1e-10
        else:
            right = middle
    return (left + right) / 2


def _histogram(scores, *, rng) -> Any:
    counts, _ = np.histogram(scores, bins=8, range=(0, 1))
    return counts + rng.laplace(scale=2.0, size=8)


_FAR = np.full(12, 0.05), np.append(np.full(11, 0.05), 0.95)
_EDGES = np.full(30, 0.5), np.append(np.full(29, 0.5), 0.9)
_ANSWERS = np.linspace(0.05, 0.95, 6), np.append(0.95, np.linspace(0.05, 0.95, 6)[1:])


def renyi_error(sample, alpha: float) -> float:
    """Return the standard error of an estimate of D_α, by the delta method."""
    if alpha == 1:
        return float(np.std(sample.losses)) / math.sqrt(sample.size)
    weights = np.exp((alpha - 1) * (sample.losses - np.max(sample.losses)))
    relative = float(np.std(weights) / np.mean(weights)) / math.sqrt(sample.size)
    return relative / (alpha - 1)


def covers(sample: LossSample, exact, *, repetitions: int, epsilons=(0.25, 0.5, 1.0)) -> None:
    """Make sure that every part of a sample covers the exact δ(ε), and estimates ρ and D_α."""
    for part in np.array_split(np.arange(sample.size), repetitions):
        losses = sample.part(slice(int(part[0]), int(part[-1]) + 1))
        for epsilon in epsilons:
            limits = losses.delta(epsilon, significance=_ERROR)
            assert limits.lower <= exact.delta_at(epsilon) <= limits.upper
    for alpha in (1.0, 1.5, 2.0):
        error = 6 * renyi_error(sample, alpha) + 1e-9
        assert sample.renyi(alpha) == pytest.approx(exact.renyi(alpha), abs=error)


@pytest.mark.statistical(false_alarm=3.6e-7)
def test_a_noisy_search_has_the_loss_of_pcoqs() -> None:
    """False alarms: 3 × 5 limits at 1e-8; three estimates beyond 6 standard errors, 6e-9."""
    inputs = _SEARCH.worst_pair(20)
    exact = FinitePair(*_SEARCH.laws(*inputs))
    found = trace_pair(search, *inputs, draws=200, rng=3)
    covers(found.forward, exact, repetitions=5)
    orders = 1.0, 1.25, 1.5, 2.0, 3.0, 4.0
    error = max(6 * renyi_error(found.forward, alpha) / alpha for alpha in orders)
    largest = max(exact.renyi(alpha) / alpha for alpha in orders)
    assert found.forward.rho() == pytest.approx(largest, abs=error)


@pytest.mark.statistical(false_alarm=3.6e-7)
def test_a_noisy_histogram_has_the_loss_of_histlap() -> None:
    """Noise of scale 2/ε on two counts that move by one. False alarms as above, 3.6e-7."""
    found = trace_pair(_histogram, *_FAR, draws=300, rng=4)
    assert found.released
    covers(found.forward, LaplacePair((0.5, 0.5)), repetitions=6, epsilons=(0.25, 0.5, 0.75))
    assert found.forward.largest == pytest.approx(1.0)


def exponq(scores, *, rng, epsilon=1.0, candidates=100, alpha=0.1) -> Any:
    """ExponQ: an edge by the exponential mechanism on its distance in rank from the quantile."""
    edges = np.linspace(0, 1, candidates + 1)[1:]
    rank = math.ceil((1 - alpha) * (len(scores) + 1))
    counts = np.searchsorted(np.sort(scores), edges, side="right")
    weights = np.exp(-epsilon / 2 * np.abs(counts - rank))
    return rng.choice(edges, p=weights / weights.sum())


def test_the_exponential_mechanism_is_exact() -> None:
    found = trace_pair(exponq, *_EDGES, draws=2, rng=0).exact
    assert found is not None
    edges = np.linspace(0, 1, 101)[1:]
    log_mass = []
    for scores in _EDGES:
        utility = -np.abs((scores[:, None] <= edges).sum(axis=0) - 28) / 2
        log_mass.append(utility - np.logaddexp.reduce(utility))
    loss = log_mass[0] - log_mass[1]
    assert found.max_divergence() == pytest.approx(loss.max(), abs=1e-10)
    assert found.renyi(2.0) == pytest.approx(
        float(np.logaddexp.reduce(log_mass[0] + loss)), abs=1e-10
    )


@pytest.mark.known_bad
def test_probabilities_that_underflow_make_no_loss() -> None:
    """Edges far off have a probability of e^-742, whose digits are lost: a loss of 0.56, not ½."""
    inputs = np.full(1650, 0.5), np.append(np.full(1649, 0.5), 0.0)
    found = trace_pair(exponq, *inputs, draws=2, rng=0)
    assert found.exact is not None
    assert found.missed > 0
    assert found.exact.reversed().max_divergence() <= 0.5 + 1e-9
    near = [each[:200] for each in inputs]
    found = trace_pair(exponq, near[0], np.append(near[0][1:], 0.0), draws=2, rng=0)
    assert found.missed == 0


def test_exponq_itself_is_followed_to_its_law() -> None:
    mechanism = ExponQ(alpha=0.1, epsilon=1.0, n_candidates=60, gamma=0.01)
    exact = FinitePair(*mechanism.laws(*_EDGES))
    found = trace_pair(
        lambda x, *, rng: mechanism.sample(x, 1, rng=rng)[0], *_EDGES, draws=2, rng=0
    )
    assert found.exact is not None
    for epsilon in (0.0, 0.1, 0.3):
        assert found.exact.delta_at(epsilon) == pytest.approx(exact.delta_at(epsilon), abs=1e-9)


def asked_once(scores, *, rng, epsilon=2.0, rounds=3) -> Any:
    """LDP-CP-S: every block of users answers one question of the bisection, all is sent."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    left, right, sent = 0.0, 1.0, []
    for block in np.array_split(scores, rounds):
        middle = (left + right) / 2
        bits = block <= middle
        reports = [bool(bit) if rng.random() < keep else not bit for bit in bits]
        sent.append(reports)
        share = (sum(reports) / len(reports) - (1 - keep)) / (2 * keep - 1)
        left, right = (middle, right) if share < 0.7 else (left, middle)
    return sent, right


def test_a_local_search_loses_what_one_answer_does() -> None:
    """LDP-CP-S's transcript: the pair of one user's report, whichever user differs."""
    exact = report_pair(LDPCPScores(alpha=0.1, epsilon=2.0, rounds=3, window_width=0.1))
    found = trace_pair(asked_once, *_ANSWERS, draws=2, rng=0).exact
    assert found is not None
    assert found.max_divergence() == pytest.approx(exact.max_divergence(), abs=1e-10)
    for epsilon in (0.5, 1.0, 1.9):
        assert found.delta_at(epsilon) == pytest.approx(exact.delta_at(epsilon), abs=1e-10)


def _studied() -> dict[str, tuple[Any, Any, Any]]:
    """Return of each mechanism a user's code, its pair, and the exact laws.

    By the mechanisms' own modules; ExponQ's by enumeration, which a test compares with its formula.
    """
    worst = _SEARCH.worst_pair(20)
    exponq_laws = enumerated(exponq, *_EDGES)
    response = KaryRandomizedResponse(epsilon=2.0, k=10)
    local = report_pair(LDPCPScores(alpha=0.1, epsilon=2.0, rounds=3, window_width=0.1))
    return {
        "P-COQS": (search, worst, FinitePair(*_SEARCH.laws(*worst))),
        "ExponQ": (exponq, _EDGES, exponq_laws),
        "HistLap": (_histogram, _FAR, LaplacePair((0.5, 0.5))),
        "LDP-CP-S": (asked_once, _ANSWERS, local),
        "k-RR": (mine.randomised_response, (0, 1), FinitePair(*response.laws()[:2])),
    }


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.study
@pytest.mark.parametrize("name", ["P-COQS", "ExponQ", "HistLap", "LDP-CP-S", "k-RR"])
def test_two_thousand_repetitions_cover(name) -> None:
    """Limits at 0.95 of δ(½), of 10 traced losses each."""
    repetitions, paths, level = 2000, 10, 0.05
    function, inputs, exact = _studied()[name]
    target, rng = TracedTarget.of(function, {}), np.random.default_rng(0)
    drawn = [path_loss(target, *inputs, rng, values=False) for _ in range(repetitions * paths)]
    pool, delta, missed = LossSample.of(drawn), exact.delta_at(0.5), 0
    for start in range(0, pool.size, paths):
        within = pool.part(slice(start, start + paths)).delta(0.5, significance=level)
        missed += not within.lower <= delta <= within.upper
    print(f"{name}: missed {missed} of {repetitions}")  # noqa: T201  (the figure)
    assert missed <= binom.isf(1e-8, repetitions, level)
