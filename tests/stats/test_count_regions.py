"""Regions of two binomial counts: windows, probabilities and dips, against the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.stats.curve_test import Region, TwoCounts, _chord_dip, _upper_tail

COUNTS = TwoCounts(n=40, n_prime=1000)


def test_the_window_by_hand() -> None:
    """Bernstein at e^−36: 100 ± 93.4 around a mean of 100 of 1000, within 0 and 1000."""
    first, last = COUNTS.window(np.array([0.1, 0.0, 1.0, 0.5, 5e-5]))
    assert first.tolist() == [6.0, 0.0, 976.0, 353.0, 0.0]
    assert last.tolist() == [194.0, 24.0, 1000.0, 647.0, 25.0]
    spread = 12 + math.sqrt(144 + 72 * 250)
    assert (math.floor(500 - spread), math.ceil(500 + spread)) == (353, 647)
    assert COUNTS.between(0.1, 0.5).tolist() == [float(y) for y in range(6, 648)]


def test_the_window_leaves_out_what_is_said() -> None:
    rates = np.linspace(0.001, 0.999, 99)
    first, last = COUNTS.window(rates)
    outside = binom.cdf(first - 1, 1000, rates) + binom.sf(last, 1000, rates)
    assert outside.max() <= 2 * math.exp(-36)


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
