"""Probabilities of what a path observes, against closed forms, integrals and counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_ndtr, log_softmax
from support import user_mechanisms as mine
from support.followed_paths import followed

from dpcp_audit.tracing.draws import (
    EXPONENTIAL,
    UNIFORM,
    JoinedBit,
    NeedsValuesError,
    NoiseDraw,
    Ordering,
)
from dpcp_audit.tracing.path_likelihood import component_log_probability

SCORES = np.linspace(0.02, 0.98, 25)
NEIGHBOUR = np.concatenate([SCORES[1:], [0.99]])
BOTH = (SCORES, NEIGHBOUR)


def loss_of(log_mass) -> Any:
    """Return the loss of an outcome from its log-probability on each input."""
    here, there = (log_mass(scores) for scores in BOTH)
    return here - there


@pytest.mark.parametrize("seed", range(10))
def test_bits_of_fresh_noise(seed) -> None:
    rounds, sigma = 12, math.sqrt(12)
    (threshold,), other, loss = followed(mine.noisy_search, *BOTH, seed=seed)

    def log_mass(scores) -> Any:
        left, right, total = 0.0, 1.0, 0.0
        for _ in range(rounds):
            middle = (left + right) / 2
            z = (24 - (scores <= middle).sum()) / sigma
            up = threshold > middle
            total += float(log_ndtr(z if up else -z))
            left, right = (middle, right) if up else (left, middle)
        return total

    assert other == (threshold,)
    assert loss == pytest.approx(loss_of(log_mass), abs=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_bits_of_one_draw_are_those_of_an_interval(seed) -> None:
    sigma = math.sqrt(12)
    (threshold,), _, loss = followed(mine.noisy_search, *BOTH, seed=seed, one_draw=True)

    def log_mass(scores) -> Any:
        left, right, low, high = 0.0, 1.0, -math.inf, math.inf
        for _ in range(12):
            middle = (left + right) / 2
            z = (24 - (scores <= middle).sum()) / sigma
            if threshold > middle:
                left, high = middle, min(high, z)
            else:
                right, low = middle, max(low, z)
        return math.log(stats.norm.cdf(high) - stats.norm.cdf(low)) if low < high else -math.inf

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_value_has_its_density(seed) -> None:
    (mean,), _, loss = followed(mine.noisy_mean, *BOTH, seed=seed)
    assert loss == pytest.approx(
        loss_of(lambda scores: stats.laplace.logpdf(mean, scores.mean(), 1 / 25)), abs=1e-9
    )


def test_a_histogram_is_the_sum_of_its_bins() -> None:
    def plain(scores, *, rng) -> Any:
        return np.histogram(scores, bins=8, range=(0, 1))[0] + rng.laplace(scale=2.0, size=8)

    (_, *bins), _, loss = followed(plain, *BOTH)

    def log_mass(scores) -> Any:
        counts = np.histogram(scores, bins=8, range=(0, 1))[0]
        return stats.laplace.logpdf(bins, counts, 2.0).sum()

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_clamped_value_is_an_atom_or_a_density(seed) -> None:
    def clamped(scores, *, rng) -> Any:
        return min(max(scores.mean() + rng.normal(scale=0.5), 0.2), 0.6)

    (value,), _, loss = followed(clamped, *BOTH, seed=seed)

    def log_mass(scores) -> Any:
        law = stats.norm(scores.mean(), 0.5)
        if value == 0.2:
            return law.logcdf(0.2)
        return law.logsf(0.6) if value == 0.6 else law.logpdf(value)

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_of_gumbel_scores_is_a_softmax(seed) -> None:
    (place,), _, loss = followed(mine.exponential_mechanism, *BOTH, seed=seed)

    def log_mass(scores) -> Any:
        points = np.linspace(0, 1, 9)
        utility = [-abs((scores <= point).sum() - len(scores) / 2) for point in points]
        return log_softmax(np.array(utility) / 2)[place]

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("law", ["laplace", "normal", "exponential"])
def test_the_largest_of_noisy_scores_is_an_integral(seed, law) -> None:
    def largest(scores, *, rng) -> Any:
        counts = np.histogram(scores, bins=4, range=(0, 1))[0]
        return int(np.argmax(counts + getattr(rng, law)(scale=2.0, size=4)))

    (place,), _, loss = followed(largest, *BOTH, seed=seed)
    noise = {"laplace": stats.laplace, "normal": stats.norm, "exponential": stats.expon}[law]

    def log_mass(scores) -> Any:
        counts = np.histogram(scores, bins=4, range=(0, 1))[0] / 2.0
        others = [c for index, c in enumerate(counts) if index != place]

        def density(z) -> Any:
            below = [noise.cdf(counts[place] + z - c) for c in others]
            return noise.pdf(z) * math.prod(below)

        kinks = sorted({0.0, *(c - counts[place] for c in others)})
        return math.log(integrate.quad(density, -40, 60, points=kinks, limit=400)[0])

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_a_shared_threshold_is_one_integral(seed) -> None:
    (place,), _, loss = followed(mine.sparse_vector, *BOTH, seed=seed)

    def log_mass(scores) -> Any:
        counts = [(scores <= point).sum() for point in np.linspace(0, 1, 6)]
        last = 6 if place is None else place

        def density(tau) -> Any:
            bound = 0.7 * len(scores) + tau
            total = stats.laplace.pdf(tau, scale=2.0)
            for each in counts[:last]:
                total *= stats.laplace.cdf(bound - each, scale=4.0)
            return total * (stats.laplace.sf(bound - counts[last], scale=4.0) if last < 6 else 1)

        kinks = sorted({0.0, *(count - 0.7 * len(scores) for count in counts)})
        return math.log(integrate.quad(density, -90, 90, points=kinks, limit=400)[0])

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_the_difference_of_geometric_draws_is_discrete_laplace(seed) -> None:
    def noisy(count, *, rng) -> Any:
        return int(count + rng.geometric(0.3) - rng.geometric(0.3))

    (value,), _, loss = followed(noisy, 3, 4, seed=seed)
    assert loss == pytest.approx((abs(value - 4) - abs(value - 3)) * -math.log(0.7), abs=1e-10)


def test_a_bit_of_discrete_noise() -> None:
    def above(count, *, rng) -> Any:
        return bool(count + rng.geometric(0.3) >= 5)

    (bit,), _, loss = followed(above, 2, 3)
    here, there = (stats.geom.sf(4 - count, 0.3) for count in (2, 3))
    expected = math.log(here / there) if bit else math.log((1 - here) / (1 - there))
    assert loss == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_equality_of_discrete_noise_excludes_a_value(seed) -> None:
    def other(count, *, rng) -> Any:
        noisy = count + rng.binomial(4, 0.5)
        return noisy == 3, noisy <= 4

    (_, equal, few), _, loss = followed(other, 1, 0, seed=seed)

    def log_mass(count) -> Any:
        seen = [z for z in range(5) if (z + count == 3, z + count <= 4) == (equal, few)]
        return math.log(stats.binom.pmf(seen, 4, 0.5).sum()) if seen else -math.inf

    assert loss == pytest.approx(log_mass(1) - log_mass(0), abs=1e-12)


def test_a_sum_of_normal_draws_is_normal() -> None:
    def noisy(x, *, rng) -> Any:
        return sum(x) + rng.normal(scale=3, size=4).sum() + rng.normal(scale=8)

    (value,), _, loss = followed(noisy, [1.0], [2.0])
    assert loss == pytest.approx(
        stats.norm.logpdf(value, 1, 10) - stats.norm.logpdf(value, 2, 10), abs=1e-12
    )


def test_a_law_that_depends_on_the_data_is_followed() -> None:
    def noisy(x, *, rng) -> Any:
        return rng.normal(x, 1 + x)

    (value,), _, loss = followed(noisy, 1.0, 2.0)
    assert loss == pytest.approx(
        stats.norm.logpdf(value, 1, 2) - stats.norm.logpdf(value, 2, 3), abs=1e-12
    )


def test_a_choice_has_its_probability() -> None:
    (point,), _, loss = followed(mine.exponential_choice, *BOTH)

    def log_mass(scores) -> Any:
        points = np.linspace(0, 1, 9)
        utility = [-abs((scores <= each).sum() - len(scores) / 2) for each in points]
        return log_softmax(np.array(utility) / 2)[round(8 * point)]

    assert loss == pytest.approx(loss_of(log_mass), abs=1e-12)


def test_noise_that_cannot_be_negative_excludes_a_neighbour() -> None:
    def noisy(x, *, rng) -> Any:
        return x + rng.exponential()

    (value,), _, loss = followed(noisy, 0.0, 100.0)
    assert value < 100
    assert loss == math.inf


def test_comparisons_in_a_ring_have_their_values_revealed() -> None:
    def ring(x, *, rng) -> Any:
        a, b, c, d = x + rng.laplace(size=4)
        return a < b, a < c, b < d, c < d

    inputs = np.zeros(4), np.ones(4) * 0.5
    with pytest.raises(NeedsValuesError, match="no draw is shared"):
        followed(ring, *inputs)
    output, other, loss = followed(ring, *inputs, values=True)
    assert output == other
    assert abs(loss) <= 2.0


NEAR = (0.0, 1e-13, 1e-9, 3.2e-6, 1e-5, 1e-4, 3e-4, 9e-4, 1e-3, 0.1, 1.0, 20.0)


@pytest.mark.known_bad
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("value", NEAR)
def test_the_difference_of_exponential_draws_is_laplace(value, sign) -> None:
    """The density of one jumps where the other has that value, however near to its end."""
    found = log_density(EXPONENTIAL, sign * value, -1.0)
    assert found == pytest.approx(-value - math.log(2), abs=1e-9)


@pytest.mark.known_bad
@pytest.mark.parametrize("value", NEAR[1:-2])
def test_the_sum_of_uniform_draws_is_triangular(value) -> None:
    assert log_density(UNIFORM, value, 1.0) == pytest.approx(math.log(value), abs=1e-9)
    assert log_density(UNIFORM, 1 + value, 1.0) == pytest.approx(math.log1p(-value), abs=1e-9)


def log_density(law, value, coefficient) -> float:
    first, second = (
        NoiseDraw(index=index, law=law, name=law.name, line=("", index)) for index in (0, 1)
    )
    terms = ((first, 1.0), (second, coefficient))
    return component_log_probability([JoinedBit(offset=-value, terms=terms, how=Ordering.EQUAL)])[1]
