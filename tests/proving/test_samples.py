"""What is private of a sample without replacement is more so of all records, by a known amount."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import binom, hypergeom, laplace, norm

import dpcp_audit as dp
from dpcp_audit.proving import loss_distributions, spending


def of_a_sample(scores, *, rng, size=2, epsilon=1.0) -> float:
    sample = rng.choice(scores, size=size, replace=False)
    return np.count_nonzero(sample > 0.5) + rng.laplace(0, 1 / epsilon)


def log_density(places, n, ones, size, epsilon) -> np.ndarray:
    """Return the logarithm of the exact density of ``of_a_sample``, for ``ones`` large scores."""
    counts = np.arange(size + 1)
    with np.errstate(divide="ignore"):
        chances = hypergeom(n, ones, size).logpmf(counts)
    of_noise = math.log(epsilon / 2) - epsilon * np.abs(places[:, None] - counts)
    return logsumexp(chances + of_noise, axis=1)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 30),
    size=st.integers(1, 30),
    ones=st.integers(0, 29),
    epsilon=st.floats(0.1, 4),
)
def test_the_exact_loss_is_at_most_what_is_proved(n, size, ones, epsilon) -> None:
    """It is reached by the first large score, far out."""
    size, ones = min(size, n), min(ones, n - 1)
    proof = dp.prove(
        of_a_sample, dp.PureDP(epsilon), n=n, options={"size": size, "epsilon": epsilon}
    )
    assert proof.proved
    places = np.linspace(-5.0, n + 5.0, 200)
    one, other = (log_density(places, n, k, size, epsilon) for k in (ones, ones + 1))
    loss = np.max(np.abs(one - other))
    assert loss <= proof.total * (1 + 1e-9)
    if ones == 0:
        assert loss == pytest.approx(proof.total, rel=1e-6)


def at_places(scores, *, rng, size=2, epsilon=1.0) -> float:
    places = rng.choice(len(scores), size=size, replace=False)
    return np.count_nonzero(scores[places] > 0.5) + rng.laplace(0, 1 / epsilon)


def test_places_that_are_chosen_are_a_sample() -> None:
    for n, size in ((9, 3), (40, 10)):
        given = {"size": size, "epsilon": 1.5}
        one, other = (
            dp.prove(f, dp.PureDP(1.5), n=n, options=given) for f in (at_places, of_a_sample)
        )
        assert one.proved
        assert one.total == other.total == pytest.approx(math.log(1 + math.expm1(1.5) * size / n))


def poisson(scores, *, rng, share=0.1, epsilon=1.0) -> float:
    batch = scores[rng.random(len(scores)) < share]
    return np.count_nonzero(batch > 0.5) + rng.laplace(0, 1 / epsilon)


def log_poisson(places, ones, share, epsilon) -> np.ndarray:
    """Return the logarithm of the exact density of ``poisson``, for ``ones`` large scores."""
    counts = np.arange(ones + 1)
    chances = binom(ones, share).logpmf(counts)
    of_noise = math.log(epsilon / 2) - epsilon * np.abs(places[:, None] - counts)
    return logsumexp(chances + of_noise, axis=1)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 30),
    ones=st.integers(0, 29),
    share=st.floats(0.01, 0.99),
    epsilon=st.floats(0.1, 4),
    neighbours=st.sampled_from(["substitution", "add-remove"]),
)
def test_the_exact_loss_of_a_poisson_sample_is_at_most_what_is_proved(
    n, ones, share, epsilon, neighbours
) -> None:
    """It is reached by the first large score, far out: one more large score is both neighbours."""
    ones = min(ones, n - 1)
    given = {"share": share, "epsilon": epsilon}
    proof = dp.prove(poisson, dp.PureDP(epsilon), n=n, options=given, neighbours=neighbours)
    assert proof.proved
    places = np.linspace(-5.0, n + 5.0, 200)
    one, other = (log_poisson(places, k, share, epsilon) for k in (ones, ones + 1))
    loss = np.max(np.abs(one - other))
    assert loss <= proof.total * (1 + 1e-9)
    if ones == 0:
        assert loss == pytest.approx(proof.total, rel=1e-6)


@pytest.mark.known_bad
def test_an_amplification_that_is_a_tenth_too_small_is_noticed(monkeypatch) -> None:
    made = spending.amplified
    monkeypatch.setattr(spending, "amplified", lambda *given: made(*given) * Fraction(9, 10))
    proof = dp.prove(poisson, dp.PureDP(1.0), n=5)
    places = np.linspace(-5.0, 10.0, 200)
    one, other = (log_poisson(places, k, 0.1, 1.0) for k in (0, 1))
    assert np.max(np.abs(one - other)) > proof.total


def test_a_sum_over_a_poisson_sample_moves_by_a_record_that_leaves_it() -> None:
    """Scores in [2, 3]: one that is replaced moves the sum by 1, one that leaves by 3."""

    def summed(scores, *, rng) -> float:
        return np.sum(scores[rng.random(len(scores)) < 0.5]) + rng.laplace(0, 3.0)

    proof = dp.prove(summed, dp.PureDP(1.0), n=9, bounds=(2, 3))
    assert proof.total == pytest.approx(math.log1p(0.5 * math.expm1(1.0)))


def test_two_statistics_of_one_sample_add_up_before_it_counts_as_a_sample() -> None:
    def two(scores, *, rng) -> list[float]:
        sample = rng.choice(scores, 10, replace=False)
        return [np.sum(sample) + rng.laplace(), np.count_nonzero(sample > 0.5) + rng.laplace()]

    proof = dp.prove(two, dp.PureDP(2.0), n=40)
    assert proof.total == pytest.approx(math.log(1 + (math.exp(2) - 1) / 4))


@pytest.mark.known_bad
@pytest.mark.parametrize("settings_of_n", [{"neighbours": "add-remove"}, {"n": 1}])
def test_a_sample_needs_a_public_number_that_is_large_enough(settings_of_n) -> None:
    assert not dp.prove(of_a_sample, dp.PureDP(9.0), **settings_of_n).proved


def steps(scores, *, rng, share=0.1, sigma=2.0, rounds=1, law="normal") -> list[float]:
    seen = []
    for _ in range(rounds):
        batch = scores[rng.random(len(scores)) < share]
        noise = rng.normal(0.0, sigma) if law == "normal" else rng.laplace(0.0, sigma)
        seen.append(np.count_nonzero(batch > 0.5) + noise)
    return seen


def delta_on_grid(epsilon, share, law, sigma) -> float:
    """Return δ(ε) of one step on the scores (1, 0, ..., 0) and (0, ..., 0), by a sum over a grid.

    The positive part of the difference of densities has one sign change, so that a midpoint sum
    over 40,000 cells is off by less than 1e-7.
    """
    places, width = np.linspace(-40 * sigma, 1 + 40 * sigma, 40_001, retstep=True)
    density = (norm if law == "normal" else laplace)(scale=sigma).pdf
    mixed = (1 - share) * density(places) + share * density(places - 1.0)
    return float(np.sum(np.maximum(mixed - math.exp(epsilon) * density(places), 0.0)) * width)


@settings(max_examples=6, deadline=None)
@given(
    share=st.floats(0.02, 0.9),
    sigma=st.floats(0.4, 4),
    epsilon=st.floats(0.01, 1.0),
    law=st.sampled_from(["normal", "laplace"]),
    neighbours=st.sampled_from(["substitution", "add-remove"]),
)
def test_delta_of_one_poisson_step_is_reached(share, sigma, epsilon, law, neighbours) -> None:
    given_options = {"share": share, "sigma": sigma, "law": law}
    claim = dp.ApproxDP(epsilon, 0.5)
    proof = dp.prove(steps, claim, n=5, options=given_options, neighbours=neighbours)
    exact = delta_on_grid(epsilon, share, law, sigma)
    assert proof.total is not None
    assert exact - 2e-6 <= proof.total <= exact * 1.01 + 2e-6


@settings(max_examples=6, deadline=None)
@given(
    share=st.floats(0.01, 0.5),
    sigma=st.floats(0.8, 6),
    rounds=st.integers(2, 20),
    epsilon=st.floats(0.1, 2.0),
)
def test_delta_of_several_poisson_steps_is_at_most_what_is_proved(
    share, sigma, rounds, epsilon
) -> None:
    """A record that is taken away is a neighbour as well: its δ is not larger, and not far less."""
    given_options = {"share": share, "sigma": sigma, "rounds": rounds}
    proof = dp.prove(steps, dp.ApproxDP(epsilon, 0.5), n=5, options=given_options)
    made = {"sampling_prob": share, "pessimistic_estimate": False}
    known = privacy_loss_distribution.from_gaussian_mechanism(sigma, **made).self_compose(rounds)
    lower = float(known.get_delta_for_epsilon(epsilon))
    assert proof.total is not None
    assert lower * (1 - 1e-6) - 1e-9 <= proof.total <= 20 * lower + 1e-6


def moment_on_grid(order, share, sigma) -> float:
    """Return the larger D_α of one step on (1, 0, ..., 0) and (0, ..., 0), by a midpoint sum."""
    places, width = np.linspace(-40 * sigma, 1 + order + 40 * sigma, 400_001, retstep=True)
    plain = norm(scale=sigma).logpdf(places)
    with_record = norm(loc=1, scale=sigma).logpdf(places)
    mixed = np.logaddexp(math.log1p(-share) + plain, math.log(share) + with_record)
    found = [
        logsumexp(order * one + (1 - order) * other) + math.log(width)
        for one, other in ((mixed, plain), (plain, mixed))
    ]
    return max(found) / (order - 1)


@settings(max_examples=12, deadline=None)
@given(
    share=st.floats(0.01, 0.9),
    sigma=st.floats(0.5, 6),
    order=st.one_of(st.integers(2, 20), st.floats(1.1, 20)),
    rounds=st.integers(1, 5),
)
def test_the_moment_of_poisson_steps_is_reached_at_whole_orders(
    share, sigma, order, rounds
) -> None:
    """Of an added record; at an order between two whole ones it is at most the next one's."""
    given_options = {"share": share, "sigma": sigma, "rounds": rounds}
    claim = dp.RenyiDP(order, 1e6)
    proof = dp.prove(steps, claim, options=given_options, neighbours="add-remove")
    assert proof.proved
    assert rounds * moment_on_grid(order, share, sigma) <= proof.total * (1 + 1e-6) + 1e-9
    in_full = rounds * order / (2 * sigma**2)
    reached = min(in_full, rounds * moment_on_grid(math.ceil(order), share, sigma))
    assert proof.total <= reached * (1 + 1e-6) + 1e-9


@pytest.mark.known_bad
def test_a_moment_of_a_smaller_share_is_noticed(monkeypatch) -> None:
    made = spending.sampled_moment
    smaller = lambda squares, share, order: made(squares, share * Fraction(9, 10), order)  # noqa: E731
    monkeypatch.setattr(spending, "sampled_moment", smaller)
    proof = dp.prove(steps, dp.RenyiDP(8, 99.0), neighbours="add-remove")
    assert proof.total < moment_on_grid(8, 0.1, 2.0)


def test_a_replaced_record_of_a_sample_has_no_smaller_moment() -> None:
    proof = dp.prove(steps, dp.RenyiDP(8, 99.0), n=9)
    assert proof.total == pytest.approx(8 / (2 * 2.0**2))


def test_two_uses_of_one_sample_are_amplified_together() -> None:
    def twice(scores, *, rng, share=0.2) -> tuple[float, float]:
        batch = scores[rng.random(len(scores)) < share]
        one = np.count_nonzero(batch > 0.5) + rng.normal(0.0, 2.0)
        return one, np.count_nonzero(batch > 0.5) + rng.normal(0.0, 2.0)

    proof = dp.prove(twice, dp.ApproxDP(0.5, 0.5), n=5)
    # two draws of σ = 2 on one count are one of σ = √2
    assert proof.total == pytest.approx(delta_on_grid(0.5, 0.2, "normal", math.sqrt(2)), rel=0.01)


def test_a_use_of_no_one_sample_makes_all_count_in_full() -> None:
    def beside(scores, *, rng, share=0.2) -> tuple[float, float]:
        batch = scores[rng.random(len(scores)) < share]
        one = np.count_nonzero(batch > 0.5) + rng.normal(0.0, 2.0)
        return one, np.sum(scores) + np.sum(batch) + rng.normal(0.0, 4.0)

    def plain(scores, *, rng) -> tuple[float, float]:
        one = np.count_nonzero(scores > 0.5) + rng.normal(0.0, 2.0)
        return one, 2 * np.sum(scores) + rng.normal(0.0, 4.0)

    found = [dp.prove(f, dp.ApproxDP(0.5, 0.5), n=5).total for f in (beside, plain)]
    assert found[0] == found[1]


@pytest.mark.known_bad
def test_a_share_that_is_a_tenth_too_small_is_noticed(monkeypatch) -> None:
    made = loss_distributions._of_sample
    smaller = lambda one, share, grid: made(one, 0.9 * share, grid)  # noqa: E731
    loss_distributions._delta_of_blocks.cache_clear()
    monkeypatch.setattr(loss_distributions, "_of_sample", smaller)
    proof = dp.prove(steps, dp.ApproxDP(0.3, 0.5), n=5, options={"share": 0.3})
    loss_distributions._delta_of_blocks.cache_clear()
    assert proof.total is not None
    assert proof.total < delta_on_grid(0.3, 0.3, "normal", 2.0) * 0.99
