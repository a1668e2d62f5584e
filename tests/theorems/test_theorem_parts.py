"""Unbiasedness of F̂c, the uniform event, admissible laws, noise bounds, marginal coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import betainc

from dpcp_audit.laws.pools import ProbabilityPool, hps
from dpcp_audit.laws.populations import (
    Beta,
    Deferred,
    PiecewiseConstant,
    Pool,
    Population,
    Uniform,
    atoms,
)
from dpcp_audit.mechanisms.local_labels import CellCounts
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import conformal_rank
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.theorems.catalogue import (
    admissible_rounds,
    largest_interval_mass,
)
from dpcp_audit.theorems.ldpcp import UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import noise_rank_error
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError, evenly_spaced

RNG = np.random.default_rng(0)
POOL = ProbabilityPool(
    name="thirty",
    probabilities=RNG.dirichlet([0.8, 0.5, 0.3, 0.3], size=30),
    labels=RNG.integers(0, 4, size=30),
)


class ExpectedCounts(CellCounts):
    """Holds the expected number of users in every cell, so that estimates are expectations."""

    def _draw(self, n: int, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.tile(n * self._chances, (trials, 1))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("step", [1e-9, 0.25], ids=["spread", "tied"])
def test_the_debiased_estimate_is_unbiased_at_every_threshold(epsilon: float, step: float) -> None:
    """Eq. (2): E[F̂c(q)] = F^c(q), exactly; F̂c is linear in the counts of the cells."""
    scores = np.round(hps(POOL.probabilities) / step) * step
    cells = ExpectedCounts(scores, POOL.labels, KaryRandomizedResponse(epsilon, 4))
    expected = cells.estimates(7, 1, rng=np.random.default_rng(0))[0]
    np.testing.assert_allclose(expected, cells.true_cdf, atol=1e-11 / epsilon)
    own = scores[np.arange(30), POOL.labels]
    by_hand = (own <= cells.points[:, None]).mean(axis=1)
    np.testing.assert_allclose(cells.true_cdf, by_hand, atol=1e-15)


@pytest.mark.parametrize("n", [5, 5000])
def test_the_supremum_of_the_error_is_taken_over_all_thresholds(n: int) -> None:
    """Few and many users; recounted at every score, and just below it."""
    event = uniform(n=n)
    supremum = event.trials(20, rng=np.random.default_rng(1)).statistic
    cells = event._cells
    estimates = cells.estimates(n, 20, rng=np.random.default_rng(1))
    places = np.concatenate([[-1.0, 2.0], cells.points, np.nextafter(cells.points, -1)])
    truth = POOL.hps_population().cdf(places)
    padded = np.column_stack([np.zeros(20), estimates])
    error = padded[:, np.searchsorted(cells.points, places, side="right")].T - truth[:, None]
    np.testing.assert_allclose(supremum, np.max(error, axis=0), atol=1e-12)
    both = replace(event, two_sided=True).trials(20, rng=np.random.default_rng(1)).statistic
    np.testing.assert_allclose(both, np.abs(error).max(axis=0), atol=1e-12)


def uniform(**more: object) -> UniformEvent:
    arguments = {"n": 500, "epsilon": 2.0, "delta": 0.1, "k": 4} | more
    return UniformEvent(pool_name="thirty", pool=lambda: POOL, **arguments)  # type: ignore[arg-type]


def test_uniform_event_by_hand() -> None:
    event = uniform()
    h = (math.exp(2) - 1) / (2 * 4 - 1 + math.exp(2))
    assert event.bounds == pytest.approx({"Δ": math.sqrt(math.log(40) / (1000 * h**2))})
    assert event.parameters["two_sided"] is False
    assert event.allowed_failure == 0.1
    run = event.trials(50, rng=np.random.default_rng(0))
    assert (run.failed == (run.statistic > event.bounds["Δ"])).all()
    for bad, name in (({"n": 0}, "n"), ({"delta": 1.0}, "delta")):
        with pytest.raises(ValueError, match=f"^{name} must "):
            uniform(**bad)


def test_uniform_trials_do_not_depend_on_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither their number nor their law; the streams of few users are drawn otherwise."""
    event = uniform()
    whole = event.trials(30, rng=np.random.default_rng(2)).statistic
    monkeypatch.setattr("dpcp_audit.mechanisms.local_labels._CHUNK_CELLS", 7 * 120)
    parts = event.trials(30, rng=np.random.default_rng(2)).statistic
    np.testing.assert_array_equal(whole, parts)


MIXTURE = PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),))
TENTH = Pool(np.linspace(0.05, 0.95, 10), "ten")


@dataclass(frozen=True)
class Opaque(Population):
    """A law known by its functions alone."""

    inside: Population

    @property
    def name(self) -> str:
        return "opaque"

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return self.inside.cdf(x)

    def cdf_left(self, x: np.ndarray) -> np.ndarray:
        return self.inside.cdf_left(x)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        return self.inside.quantile(u)


@pytest.mark.parametrize(
    ("population", "length", "mass"),
    [
        (Uniform(), 0.1, 0.1),
        (Uniform(), 2.0**-30, 2.0**-30),
        (Uniform(), 5.0, 1.0),
        (MIXTURE, 0.1, 0.37),
        (MIXTURE, 2.0**-30, 0.3),
        (Opaque(MIXTURE), 2.0**-30, 0.3),
        (Deferred("later", lambda: MIXTURE), 2.0**-30, 0.3),
        (TENTH, 0.25, 0.3),
        (TENTH, 1e-9, 0.1),
        (Beta(1, 0.5), 0.01, 0.1),
        (Beta(5, 5), 0.2, float(betainc(5, 5, 0.6) - betainc(5, 5, 0.4))),
    ],
)
def test_largest_interval_mass(population: Population, length: float, mass: float) -> None:
    found = largest_interval_mass(population, length)
    assert (
        mass - 2.0**-14 - 1e-4 * (mass == 0.4712) <= found <= mass + 1e-9 + 1e-4 * (mass == 0.4712)
    )


def test_rounds_that_a_law_admits() -> None:
    """T = ⌈log2(1/τ)⌉ for an interval of length τ that holds Δ: 2^(−4) <= 0.1 < 2^(−3)."""
    assert admissible_rounds(Uniform(), width=0.1) == 4
    assert admissible_rounds(Uniform(), width=0.1, most=3) is None
    assert admissible_rounds(TENTH, width=0.15) == 4


@pytest.mark.parametrize("population", [MIXTURE, Opaque(MIXTURE), atoms([0.3], [1], name="one")])
def test_no_number_of_rounds_resolves_an_atom(population: Population) -> None:
    assert admissible_rounds(population, width=0.25) is None


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: largest_interval_mass(Uniform(), 0.0), "length"),
        (lambda: admissible_rounds(Uniform(), width=-0.1), "width"),
        (lambda: admissible_rounds(Uniform(), width=0.1, most=0), "most"),
    ],
)
def test_bad_admissibility_arguments_are_refused(call, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()


def test_rank_errors_of_fixed_scores_are_those_of_releases() -> None:
    """Counted score by score, on shuffled scores with ties."""
    mechanism = PCOQS(alpha=0.3, rho=0.2, resolution=2**-6)
    scores = np.random.default_rng(5).permutation(np.round(evenly_spaced(40), 1))
    theorem = FixedRankError(mechanism=mechanism, scores=scores, beta=0.1, windows=2)
    run = theorem.trials(300, rng=np.random.default_rng(6))
    released = mechanism.sample(np.sort(scores), 300, rng=np.random.default_rng(6))
    rank = conformal_rank(40, alpha=0.3)
    assert run.statistic.tolist() == [abs(int((scores <= q).sum()) - rank) for q in released]
    most = max(int(((scores > s - 2**-6) & (scores <= s)).sum()) for s in scores)
    assert theorem.window_count == most
    limit = noise_rank_error(mechanism, beta=0.1) + 2 * most
    assert theorem.bounds == pytest.approx({"τ* + 2M(Δ)": limit})
    assert (run.failed == (run.statistic > limit)).all()
