from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
    debiased_cdf,
)
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = [(0.01, 2), (1.0, 3), (4.0, 10), (4.0, 100), (30.0, 5)]


@pytest.mark.parametrize(("epsilon", "k"), SETTINGS)
def test_k_rr_is_the_uniform_noise_model_of_equation_1(epsilon: float, k: int) -> None:
    mechanism = KaryRandomizedResponse(epsilon, k)
    e = math.exp(epsilon)
    assert mechanism.keep_probability == pytest.approx(e / (k - 1 + e), rel=1e-14)
    assert mechanism.beta == pytest.approx(k / (k - 1 + e), rel=1e-14)
    assert mechanism.h == pytest.approx((1 - mechanism.beta) / (1 + mechanism.beta), rel=1e-12)
    expected = (1 - mechanism.beta) * np.eye(k) + mechanism.beta / k
    got = np.exp([law.log_mass for law in mechanism.laws()])
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-13)


@pytest.mark.parametrize(("epsilon", "k"), SETTINGS)
def test_the_largest_log_ratio_of_k_rr_is_epsilon_for_every_pair(epsilon: float, k: int) -> None:
    mechanism = KaryRandomizedResponse(epsilon, k)
    laws = mechanism.laws()
    for i, j in [(0, 1), (k - 1, 0)]:
        assert FinitePair(laws[i], laws[j]).max_divergence() == pytest.approx(epsilon, rel=1e-13)
    assert mechanism.guarantee.epsilon == epsilon


@pytest.mark.parametrize(("epsilon", "k"), SETTINGS)
def test_debiased_cdf_undoes_k_rr_exactly(epsilon: float, k: int) -> None:
    """The mean of F^n under the exact law gives F^c back, for coverage sets of every size."""
    mechanism = KaryRandomizedResponse(epsilon, k)
    laws = np.exp([law.log_mass for law in mechanism.laws()])
    for size in range(k + 1):
        inside = np.arange(k) < size
        noisy = laws @ inside
        clean = debiased_cdf(noisy, np.full(k, size / k), beta=mechanism.beta)
        np.testing.assert_allclose(
            clean, inside, atol=1e-12 * mechanism.beta / (1 - mechanism.beta) + 1e-13
        )


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0, 50.0, 800.0])
def test_binary_rr_is_debiased_exactly(epsilon: float) -> None:
    rr = BinaryRandomizedResponse(epsilon)
    p = np.linspace(0, 1, 11)
    np.testing.assert_allclose(rr.debias(rr.report_probability(p)), p, atol=1e-15 * rr.gain + 1e-15)
    assert rr.keep_probability + rr.flip_probability == pytest.approx(1, rel=1e-15)


def test_binary_rr_is_k_rr_with_two_labels() -> None:
    rr, kary = BinaryRandomizedResponse(1.5), KaryRandomizedResponse(1.5, 2)
    assert rr.keep_probability == kary.keep_probability
    for one, other in zip(rr.laws(), kary.laws(), strict=True):
        np.testing.assert_allclose(one.log_mass, other.log_mass, rtol=1e-14)


def test_samples_keep_their_shape_and_follow_the_seed() -> None:
    labels = np.arange(12).reshape(3, 4) % 5
    first = KaryRandomizedResponse(1.0, 5).sample(labels, rng=3)
    np.testing.assert_array_equal(first, KaryRandomizedResponse(1.0, 5).sample(labels, rng=3))
    assert first.shape == (3, 4)
    assert first.min() >= 0
    assert first.max() < 5
    np.testing.assert_array_equal(KaryRandomizedResponse(60.0, 5).sample(labels, rng=0), labels)
    assert BinaryRandomizedResponse(1.0).sample(labels > 1, rng=0).shape == (3, 4)
    bits = np.array([0, 1, 1])
    np.testing.assert_array_equal(BinaryRandomizedResponse(60.0).sample(bits, rng=0), bits == 1)


def count_law_by_fractions(ones: int, n: int, epsilon: float) -> np.ndarray:
    """Multiply out Π (r+z) Π (1+rz) with exact rationals; return natural logarithms."""
    r = Fraction(math.exp(-epsilon))
    mass = [Fraction(1)]
    for user in range(n):
        zero, one = (r, Fraction(1)) if user < ones else (Fraction(1), r)
        longer = [m * zero for m in mass] + [Fraction(0)]
        for s, m in enumerate(mass):
            longer[s + 1] += m * one
        mass = longer
    return np.array([log_of(m / sum(mass)) for m in mass])


def log_of(value: Fraction) -> float:
    power = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** power) + power * math.log(2)


@pytest.mark.parametrize(
    ("ones", "n", "epsilon"),
    [
        (0, 1, 1.0),
        (1, 1, 1.0),
        (0, 40, 4.0),
        (17, 40, 4.0),
        (40, 40, 0.1),
        (30, 60, 40.0),
        (9, 25, 250.0),
    ],
)
def test_the_shuffled_count_is_exact_in_the_farthest_tails(
    ones: int, n: int, epsilon: float
) -> None:
    law = ShuffledBinaryResponse(epsilon).law(ones, n)
    expected = count_law_by_fractions(ones, n, epsilon)
    np.testing.assert_allclose(law.log_mass, expected, rtol=1e-14, atol=1e-12)


def test_the_shuffled_count_of_thousands_is_a_convolution_of_binomials() -> None:
    n, ones, rr = 11080, 4000, BinaryRandomizedResponse(4.0)
    law = ShuffledBinaryResponse(4.0).law(ones, n)
    first = binom.pmf(np.arange(ones + 1), ones, rr.keep_probability)
    second = binom.pmf(np.arange(n - ones + 1), n - ones, rr.flip_probability)
    mass = np.convolve(first, second)
    likely = mass > 1e-200
    assert likely.sum() > 500
    np.testing.assert_allclose(np.exp(law.log_mass[likely]), mass[likely], rtol=1e-9)
    assert law.total == pytest.approx(1, abs=1e-11)
    assert law.log_mass.min() < -10_000


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: KaryRandomizedResponse(0.0, 3), "epsilon"),
        (lambda: KaryRandomizedResponse(1.0, 1), "k"),
        (lambda: KaryRandomizedResponse(1.0, 3).sample([3]), "labels"),
        (lambda: KaryRandomizedResponse(1.0, 3).sample([0], rng="x"), "rng"),
        (lambda: BinaryRandomizedResponse(math.inf), "epsilon"),
        (lambda: BinaryRandomizedResponse(1.0).sample([2]), "bits"),
        (lambda: BinaryRandomizedResponse(1.0).sample_counts(-1, 3), "ones"),
        (lambda: BinaryRandomizedResponse(1.0).sample_counts(1, 0.5), "zeros"),
        (lambda: BinaryRandomizedResponse(1.0).report_probability(1.5), "p"),
        (lambda: BinaryRandomizedResponse(1.0).debias("x"), "mean"),
        (lambda: debiased_cdf(0.5, 0.5, beta=1.0), "beta"),
        (lambda: debiased_cdf(math.nan, 0.5, beta=0.5), "noisy"),
    ],
)
def test_bad_input_names_the_argument(call: Callable[[], object], name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must"):
        call()


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 2.0, 20.0, 60.0])
@pytest.mark.parametrize("k", [2, 3, 1000])
def test_what_is_drawn_with_is_private_and_private_only_just(epsilon: float, k: int) -> None:
    """The double moves labels at least as often as ε asks for, and no double less does."""
    move = KaryRandomizedResponse(epsilon, k).move_probability
    with mpmath.workdps(50):
        asked = (k - 1) / (k - 1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert math.nextafter(move, 0.0) < asked <= move
    if k == 2:
        assert BinaryRandomizedResponse(epsilon).flip_probability == move
