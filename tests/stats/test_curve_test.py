"""The test of a concave power curve: its level against brute force, and what it is worth."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.stats import curve_test
from dpcp_audit.stats.curve_test import CurveTest, Region, TwoCounts, _chord_dip, _upper_tail
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP

if TYPE_CHECKING:
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import BoolArray, FloatArray


GUARANTEES: tuple[PrivacyGuarantee, ...] = (
    GaussianDP(1.0),
    ZCDP(0.5),
    RenyiDP(8.0, 1.0),
    PureDP(1.0),
    ApproxDP(0.5, 0.1),
    SubsampledGaussian(sampling_rate=0.5, steps=2, noise_multiplier=2.0),
)
LEVEL = 0.05


def p_values(guarantee: PrivacyGuarantee, n: int, m: int) -> FloatArray:
    test = CurveTest(n=n, n_prime=m, curve=guarantee.power)
    return np.array(
        [
            [test.p_value(x, y, nuisance_error=LEVEL / 1000) for y in range(m + 1)]
            for x in range(n + 1)
        ]
    )


def size(rejected: BoolArray, p: FloatArray, q: FloatArray) -> float:
    """Return the largest probability of the rejected (x, y) at pairs of rates."""
    n, m = (length - 1 for length in rejected.shape)
    left = binom.pmf(np.arange(n + 1)[:, None], n, p)
    right = binom.pmf(np.arange(m + 1)[:, None], m, q)
    return float(np.einsum("xi,xy,yi->i", left, rejected.astype(float), right).max())


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_the_size_is_at_most_the_level_for_any_curve(guarantee: PrivacyGuarantee) -> None:
    """Nothing is sampled: all counts of 9 and 8 trials, at 1,500 rates on the boundary."""
    values = p_values(guarantee, 9, 8)
    assert (np.diff(values, axis=0) <= 1e-12).all()
    assert (np.diff(values, axis=1) >= -1e-12).all()
    rates = np.concatenate([np.geomspace(1e-9, 0.01, 300), np.linspace(0.01, 1, 1200)])
    for level in (0.2, LEVEL, 0.01):
        assert size(values <= level, guarantee.power(rates), rates) <= level


@pytest.mark.parametrize(
    ("guarantee", "rate"), list(zip(GUARANTEES, (0.05, 0.16) * 3, strict=True))
)
def test_nearly_the_whole_level_is_spent(guarantee: PrivacyGuarantee, rate: float) -> None:
    """Nothing is sampled: the exact size at 300 outputs of either input is 4 to 5 % of 5 %."""
    n, p = 300, float(guarantee.power(rate))
    test = CurveTest(n=n, n_prime=n, curve=guarantee.power)
    counts = np.unique(binom.ppf([0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.999], n, rate))
    critical: list[int] = []
    for y in counts.astype(int).tolist():
        critical.append(_critical(test, y, above=critical[-1] if critical else 0))
    every = np.arange(counts[0], counts[-1] + 1)
    least = np.interp(every, counts, critical)
    spent = float(binom.pmf(every, n, rate) @ binom.sf(np.round(least) - 1, n, p))
    assert 0.04 <= spent <= 0.0515


def _critical(test: CurveTest, y: int, *, above: int) -> int:
    """Return the least x that is refuted at the level; it rises with y."""

    def refuted(x: int) -> bool:
        return test.p_value(x, y, nuisance_error=LEVEL / 1000) <= LEVEL

    low, step = above, 8
    while low + step <= test.n and not refuted(low + step):
        low, step = low + step, 2 * step
    return bisect_left(range(test.n + 1), True, low, min(low + step, test.n + 1), key=refuted)


def test_the_outline_lies_above_the_curve() -> None:
    """Between its points a concave curve lies above its chords, which would not do."""
    points = np.array([0.0, 0.1, 0.4, 0.7, 1.0])
    power = GaussianDP(1.0).power
    p, p_prime = curve_test._outlined(points, power(points))
    rates = np.linspace(p_prime[0], p_prime[-1], 400)
    assert (np.interp(rates, p_prime, p) >= power(rates) - 1e-12).all()
    assert (np.interp(rates, points, power(points)) < power(rates) - 1e-3).any()


@pytest.mark.parametrize(("x", "y"), [(20, 2), (30, 6), (39, 12), (40, 0), (12, 0)])
def test_the_level_of_counts_is_the_least_at_which_the_box_refutes(x: int, y: int) -> None:
    """Just below it one more output is needed."""
    test = CurveTest(n=40, n_prime=30, curve=GaussianDP(0.5).power)
    level = test._level(x, y)
    for factor, least in ((1.0, x), (1 - 1e-6, x + 1)):
        region = test._region(factor * level, y / 30, y / 30)
        assert region.critical[region.counts == y].tolist() == [least]


def test_extreme_counts() -> None:
    test = CurveTest(n=50, n_prime=60, curve=GaussianDP(1.0).power)
    assert test.p_value(0, 0) == test.p_value(0, 60) == test.p_value(50, 60) == 1
    assert test.p_value(50, 0) < 1e-5
    with pytest.raises(ValueError, match="x and y must be at most n and n_prime, got 51 of 50"):
        test.p_value(51, 0)
    with pytest.raises(ValueError, match="n must be an integer >= 1"):
        CurveTest(n=0, n_prime=5, curve=GaussianDP(1.0).power)
    with pytest.raises(ValueError, match="nuisance_error must lie in"):
        test.p_value(3, 1, nuisance_error=0.0)


def test_at_one_rate_the_supremum_is_the_probability_there() -> None:
    test = CurveTest(n=40, n_prime=30, curve=GaussianDP(1.0).power)
    region = test._region(0.01, 0.2, 0.2)
    p = float(GaussianDP(1.0).power(0.2))
    masses = binom.pmf(region.counts, 30, 0.2) * binom.sf(np.ceil(region.critical) - 1, 40, p)
    assert test._supremum(region, 0.2, 0.2) == pytest.approx(masses.sum(), rel=1e-9)


COUNTS = TwoCounts(n=40, n_prime=1000)


def test_the_window_by_hand() -> None:
    """Bernstein at e^−36: 100 ± 93.4 around a mean of 100 of 1000, within 0 and 1000."""
    first, last = COUNTS.window(np.array([0.1, 0.0, 1.0, 0.5, 5e-5]))
    assert first.tolist() == [6.0, 0.0, 976.0, 353.0, 0.0]
    assert last.tolist() == [194.0, 24.0, 1000.0, 647.0, 25.0]
    spread = 12 + math.sqrt(144 + 72 * 250)
    assert (math.floor(500 - spread), math.ceil(500 + spread)) == (353, 647)
    assert COUNTS.between(0.1, 0.5).tolist() == [float(y) for y in range(6, 648)]


def test_probabilities_are_sums_over_the_region() -> None:
    region = Region(counts=np.arange(0.0, 1001.0), critical=np.minimum(41.0, np.arange(1001) / 20))
    p, p_prime = np.array([0.3, 0.9]), np.array([0.4, 0.02])
    found = COUNTS.probability(region, p, p_prime)
    masses = [binom.pmf(np.arange(1001), 1000, rate) for rate in p_prime]
    tails = [binom.sf(np.ceil(region.critical) - 1, 40, rate) for rate in p]
    part = Region(region.counts, np.ceil(region.critical))
    exact = [float(mass @ tail) for mass, tail in zip(masses, tails, strict=True)]
    assert COUNTS.probability(part, p, p_prime) == pytest.approx(exact, abs=1e-12)
    assert found.shape == (2,)


@pytest.mark.parametrize("slope", [20, 0.5], ids=["by masses", "by tails"])
def test_a_region_that_begins_at_another_count_is_summed_from_there(slope: float) -> None:
    """Of the window alone, 6 to 194 at the rate 0.1, whatever else the region holds."""
    many, (first, last) = TwoCounts(n=2000, n_prime=1000), (6, 194)
    for begins, ends in ((6, 194), (4, 647), (40, 150), (150, 300)):
        counts = np.arange(float(begins), ends + 1)
        critical = np.ceil(counts / slope) + 60
        inside = (counts >= first) & (counts <= last)
        masses = binom.pmf(counts[inside], 1000, 0.1)
        expected = masses @ binom.sf(critical[inside] - 1, 2000, 0.1)
        found = many.probability(Region(counts, critical), np.array([0.1]), np.array([0.1]))
        assert found == pytest.approx([expected], rel=1e-9, abs=1e-14)


def test_the_upper_tail_at_its_ends() -> None:
    found = _upper_tail(np.array([0.0, 1.0, 5.0, 6.0]), 5, 0.5)
    assert found == pytest.approx([1.0, 31 / 32, 1 / 32, 0.0])


def test_the_dip_below_a_chord() -> None:
    """Of log(1 + e^η) between η = −1 and 2: the largest gap on a fine grid."""
    ends = np.array([-1.0, 2.0])
    eta = np.linspace(*ends, 100_001)
    values = np.log1p(np.exp(eta))
    gap = np.interp(eta, ends, np.log1p(np.exp(ends))) - values
    rates = 1 / (1 + np.exp(-ends))
    assert _chord_dip(rates) == pytest.approx([gap.max()], rel=1e-6)
    assert COUNTS.dip(rates, rates) == pytest.approx([1040 * gap.max()], rel=1e-6)
    assert _chord_dip(np.array([0.3, 0.3])).tolist() == [0.0]


@pytest.mark.parametrize(
    ("x", "y", "name"),
    [(-1, 0, "x must"), (0, -1, "y must"), (41, 0, "x and y"), (0, 1001, "x and y")],
)
def test_counts_that_cannot_come_up_are_refused(x, y, name) -> None:
    with pytest.raises(ValueError, match=f"^{name}"):
        COUNTS.require(x, y)
    COUNTS.require(40, 1000)
