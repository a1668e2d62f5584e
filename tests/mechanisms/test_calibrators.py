"""Calibrators keep the guarantee that they carry and cover as they promise, by their exact laws."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr

import dpcp_audit as dp
from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.laws.populations import Beta, Uniform
from dpcp_audit.mechanisms.calibrators import ProvedCalibrator, calibrators
from dpcp_audit.mechanisms.calibrators import _UpperEnd as UpperEnd
from dpcp_audit.mechanisms.iid_coverage import coverage_outside, mean_coverage
from dpcp_audit.mechanisms.local_scores import LDPCPScores, threshold_law
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ
from dpcp_ledger.mechanisms.releases import worst_log_ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS = (1.5, 2.0, 8.0, 64.0)
GUARANTEES = (
    dp.PureDP(1.0),
    dp.ApproxDP(1.0, 1e-6),
    dp.ZCDP(0.5),
    dp.GaussianDP(1.0),
    dp.RenyiDP(8.0, 2.0),
)


def searches(**asked: Any) -> list[PCOQS]:
    return [each.mechanism for each in calibrators(**asked) if isinstance(each.mechanism, PCOQS)]


def tables(**asked: Any) -> list[ExponQ]:
    return [each.mechanism for each in calibrators(**asked) if isinstance(each.mechanism, ExponQ)]


def thresholds(calibrator: ProvedCalibrator, scores: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield each threshold with its probability, path by path for the search."""
    run = calibrator.mechanism
    if isinstance(run, ExponQ):
        yield from zip(run.edges, np.exp(run.laws(scores)[0].log_mass), strict=True)
        return
    assert isinstance(run, PCOQS)
    for bits in itertools.product((True, False), repeat=run.rounds):
        (left, right), chance = run.bounds, 1.0
        for below in bits:
            middle = (left + right) / 2
            ahead = (run.rank(scores.size) - np.sum(scores <= middle)) / run.noise_scale
            chance *= float(ndtr(ahead if below else -ahead))
            left, right = (middle + run.resolution, right) if below else (left, middle)
        yield min(right, 1.0), chance
        assert (left + right) / 2 + calibrator.lift >= right


def coverages(calibrator: ProvedCalibrator, atoms: np.ndarray, mass: np.ndarray) -> Iterator[tuple]:
    """Yield F(q) and its probability, over calibration scores on a few atoms and the noise."""
    n = calibrator.n
    for counts in itertools.product(range(n + 1), repeat=atoms.size):
        if sum(counts) != n:
            continue
        ways = math.factorial(n) / math.prod(map(math.factorial, counts))
        drawn = ways * float(np.prod(mass ** np.array(counts)))
        for threshold, chance in thresholds(calibrator, np.repeat(atoms, counts)):
            yield float(mass[atoms <= threshold].sum()), drawn * chance


LAWS = (
    (np.array([0.1, 0.5, 0.9]), np.array([0.55, 0.1, 0.35])),
    (np.array([0.24, 0.26, 0.6]), np.array([0.59, 0.02, 0.39])),
)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("guarantee", "name"), [(dp.ZCDP(3.0), "P-COQS"), (dp.PureDP(12.0), "ExponQ")]
)
def test_tied_scores_are_covered_by_the_exact_law(law, guarantee, name) -> None:
    asked: dict[str, Any] = {"n": 11, "alpha": 0.4, "resolution": 0.2}
    mean, sure = (calibrators(guarantee, **asked, confidence=level)[0] for level in (1.0, 0.8))
    assert mean.name.startswith(name)
    assert not mean.every_label
    assert not sure.every_label
    found = list(coverages(mean, *law))
    assert sum(chance for _, chance in found) == pytest.approx(1)
    assert sum(level * chance for level, chance in found) >= 0.6
    failing = sum(chance for level, chance in coverages(sure, *law) if level < 0.6 - 1e-12)
    assert failing <= 0.2


@pytest.mark.parametrize(("guarantee", "n"), [(dp.ZCDP(0.5), 200), (dp.GaussianDP(0.4), 200)])
def test_even_scores_are_covered_as_promised_and_hardly_more_than_the_rank_says(
    guarantee, n
) -> None:
    (search,) = searches(guarantee=guarantee, n=n, alpha=0.1)
    covered = mean_coverage(search, Uniform(), n=n)
    low = float(covered.coverage[0]) + search.resolution / 2 + covered.error
    assert 0.9 <= low <= search.rank(n) / (n + 1) + 0.01


def test_the_share_of_calibrations_that_fall_short_is_as_promised() -> None:
    asked: dict[str, Any] = {"guarantee": dp.ZCDP(0.5), "n": 300, "alpha": 0.1}
    (search,) = searches(**asked, confidence=0.95)
    failing, error = coverage_outside(search, Uniform(), n=300, lower=0.9)
    assert 0 < failing <= 0.05 + error
    (mean,) = searches(**asked)
    assert coverage_outside(mean, Uniform(), n=300, lower=0.9)[0] > 0.1


@pytest.mark.parametrize("confidence", [1.0, 0.9])
def test_a_step_of_large_noise_is_on_the_safe_side(confidence) -> None:
    """Numbers are taken two at a time where σ ≥ 2000, and cost 0.2 % of the ranks at most."""
    search = PCOQS(alpha=0.5, rho=14 / (2 * 2500.0**2), resolution=1e-4)
    end = UpperEnd(search=search, n=10**5, alpha=0.1, confidence=confidence)
    assert end._step == 2
    coarse = end.least_rank
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UpperEnd, "_step", 1)
        fine = end.least_rank
    assert 0 <= coarse - fine <= 10


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_best_comes_first_and_carries_what_was_asked_for(guarantee) -> None:
    found = calibrators(guarantee, n=1000, alpha=0.1)
    assert [each.rank for each in found] == sorted(each.rank for each in found)
    assert {each.guarantee for each in found} == {guarantee}
    assert {each.coverage for each in found if not each.every_label} == {dp.Coverage(0.9)}
    assert len(found) == (1 if isinstance(guarantee, dp.PureDP) else 2)


def pair_at(search: PCOQS, n: int, count: int) -> FinitePair:
    """Return the laws on ``count`` scores at a, the rest at b, and on one more at a."""
    at, more = (np.where(np.arange(n) < c, *search.bounds) for c in (count, count + 1))
    return FinitePair(*search.laws(at, more))


@pytest.mark.parametrize("n", [300, 2000])
def test_every_search_keeps_its_guarantee(n) -> None:
    """``renyi_supremum`` is over all neighbours, the laws are those of the worst known pair."""
    (search,) = searches(guarantee=dp.ZCDP(0.5), n=n, alpha=0.1)
    assert all(search.renyi_supremum(order) <= 0.5 * order for order in ORDERS)
    (search,) = searches(guarantee=dp.RenyiDP(8.0, 2.0), n=n, alpha=0.1)
    assert search.renyi_supremum(8.0) <= 2.0
    (search,) = searches(guarantee=dp.ApproxDP(1.0, 1e-6), n=n, alpha=0.1)
    spent = [pair_at(search, n, count) for count in range(search.rank(n) - 40, n, 10)]
    assert 0 < max(max(p.delta_at(1.0), p.reversed().delta_at(1.0)) for p in spent) <= 1e-6
    assert dp.ZCDP(search.rho).epsilon_at(1e-6) > 1.1  # what its zCDP alone would promise
    (search,) = searches(guarantee=dp.GaussianDP(1.0), n=n, alpha=0.1)
    pair = FinitePair(*search.laws(*search.worst_pair(n)))
    for epsilon in (0.0, 0.5, 2.0):
        assert pair.delta_at(epsilon) <= dp.GaussianDP(1.0).delta_at(epsilon)


@pytest.mark.parametrize("n", [60, 200])
def test_every_table_keeps_its_guarantee(n) -> None:
    asked: dict[str, Any] = {"n": n, "alpha": 0.3, "resolution": 0.02}
    (table,) = tables(guarantee=dp.PureDP(2.0), **asked)
    worst = worst_log_ratio(table, n)
    assert 1.0 < worst.log_ratio <= 2.0
    assert table.guarantee.epsilon > 2.0  # what holds of it at every n
    for guarantee in (dp.ZCDP(1.0), dp.GaussianDP(2.0), dp.RenyiDP(8.0, 6.0)):
        (table,) = tables(guarantee=guarantee, **asked)
        worst = worst_log_ratio(table, n)
        pair = FinitePair(*table.laws(worst.scores, worst.neighbour_scores))
        for way in (pair, pair.reversed()):
            if isinstance(guarantee, dp.ZCDP):
                assert all(way.renyi(order) <= order for order in ORDERS)
            elif isinstance(guarantee, dp.RenyiDP):
                assert way.renyi(8.0) <= 6.0
            else:
                assert all(way.delta_at(e) <= guarantee.delta_at(e) for e in (0.0, 0.5, 2.0))


@pytest.mark.parametrize("confidence", [1.0, 0.95])
@pytest.mark.parametrize("population", [Uniform(), Beta(5.0, 0.2)])
def test_reports_of_every_law_cover_by_the_exact_law(population, confidence) -> None:
    (found,) = calibrators(dp.LocalDP(3.0), n=9000, alpha=0.1, confidence=confidence)
    assert isinstance(found.mechanism, LDPCPScores)
    assert not found.every_label
    assert found.mechanism.guarantee == found.guarantee == dp.LocalDP(3.0)
    law = threshold_law(found.mechanism, population, n=9000)
    covered = np.asarray(population.cdf(law.threshold))
    assert float(law.mass @ covered) >= 0.9
    if confidence < 1:
        assert law.probability(covered < 0.9) <= 0.05


@pytest.mark.parametrize(
    ("guarantee", "offers"),
    [
        (dp.ZCDP(1e-300), 2),
        (dp.ZCDP(1e300), 2),
        (dp.ApproxDP(1.0, 1e-12), 2),  # by zCDP's own conversion
        (dp.ApproxDP(1.0, 0.9), 1),
        (dp.ApproxDP(1.0, 0.0), 1),
    ],
)
def test_extreme_guarantees_are_kept_or_cost_every_label(guarantee, offers) -> None:
    found = calibrators(guarantee, n=500, alpha=0.1, confidence=0.9)
    assert len(found) == offers
    assert all(each.every_label == (each.rank > 500) for each in found)
    if guarantee == dp.ApproxDP(1.0, 1e-12):
        (search,) = searches(guarantee=guarantee, n=500, alpha=0.1)
        assert dp.ZCDP(search.rho).delta_at(1.0) <= 1e-12


def test_n_is_that_of_the_calibrator() -> None:
    found = calibrators(dp.ZCDP(0.5), n=200, alpha=0.1)[0]
    scores = np.linspace(0, 1, 201)
    with pytest.raises(ValueError, match=r"scores must be n = 200 numbers, got 201"):
        found.sample(scores, 1, rng=0)
    drawn = found.sample(scores[:200], 500, rng=0)
    assert drawn.shape == (500,)
    assert drawn.max() <= 1
    assert found.trials(Uniform(), trials=7, rng=0).shape == (7,)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"guarantee": dp.Coverage(0.9)}, "guarantee must be PureDP"),
        ({"guarantee": dp.ApproxDP(0.0, 0.1)}, "guarantee must be PureDP"),
        ({"n": 0}, "n must be an integer >= 1"),
        ({"alpha": 1.0}, r"alpha must lie in \(0, 1\)"),
        ({"confidence": 0.0}, r"confidence must lie in \(0, 1\]"),
        ({"confidence": 1.5}, "confidence must lie in"),
        ({"bounds": (1.0, 0.0)}, "bounds must be finite with a < b"),
        ({"resolution": 2.0}, "resolution must be below b - a"),
        ({"resolution": 1e-17}, "resolution must be >= "),
        ({"guarantee": dp.LocalDP(1.0), "bounds": (0.0, 2.0)}, r"bounds must be \(0, 1\)"),
    ],
)
def test_bad_input_is_refused(changed, message) -> None:
    asked: dict[str, Any] = {"guarantee": dp.ZCDP(0.5), "n": 100, "alpha": 0.1}
    with pytest.raises(ValueError, match=message):
        calibrators(**asked | changed)
