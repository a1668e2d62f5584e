"""Event searches: what each finds, and events as plain data."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.samplers import context, gaussian, pair

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search import pilot_hypotheses
from dpcp_audit.audits.search.event_search import (
    Coordinate,
    CutFeature,
    Event,
    Feature,
    Ones,
    PilotCounts,
    Quadratic,
    Rank,
    ScalarValue,
    _Unions,
    feature_as_data,
    feature_from_data,
    promised_excess,
    quantile_cuts,
)
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.pilot_hypotheses import (
    EventTest,
    best_event,
    best_of,
    cut_features,
    event_test,
    of_classifier,
    of_coordinates,
    of_listed,
    of_squashed,
)
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.words.guarantees import PrivacyGuarantee

    Search = Callable[..., list[CutFeature]]

BISECTION = PCOQS(alpha=0.1, rho=0.5)
QUADRATIC = Quadratic(
    centre=np.array([1.0, 0.0]), scale=np.array([2.0, 1.0]), weights=np.array([1.0, 0, 0, 1.0, 0])
)


def correlated(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Two standard normals whose correlation, 0.8 or −0.8, is all that tells the inputs apart."""
    first, second = rng.normal(size=(2, size))
    return np.stack([first, (1.6 * value - 0.8) * first + 0.6 * second], axis=1)


def cells(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Vectors from a small set, of which only the parity of the sum tells the inputs apart."""
    free = rng.integers(0, 2, (size, 3))
    parity = (free.sum(axis=1) + (rng.random(size) < 0.1 + 0.8 * value)) % 2
    return np.concatenate([free, parity[:, None]], axis=1)


SIZE, PILOT = 20_000, 6_600


def chosen(sample: Any, search: Search, guarantee: PrivacyGuarantee) -> EventTest:
    """Return the test of the event that a pilot of a third of the outputs chooses."""
    pilot = tuple(sample(x, PILOT, rng=np.random.default_rng([0, x])) for x in (0, 1))
    samples = pilot[0], pilot[1]
    return event_test(guarantee, best_of(guarantee, search(samples)), samples)


def audit(sample: Any, search: Search, guarantee: PrivacyGuarantee) -> Judgement:
    """Judge that event on the other outputs, at a significance of 1e-4."""
    fresh = [sample(x, SIZE - PILOT, rng=np.random.default_rng([1, x])) for x in (0, 1)]
    return chosen(sample, search, guarantee).judge(guarantee, *fresh, significance=1e-4)


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.study) for i in (1, 2))])
def test_ones_tell_apart_what_no_threshold_does(seed: int) -> None:
    """P-COQS at ρ = 0.5 is not 1-DP on this pair: δ(1) = 0.064."""
    neighbours = pair(*BISECTION.worst_pair(50))
    verdicts = []
    for bounds in (BISECTION.bounds, None):
        check = BlackBoxPrivacy(
            sample=BISECTION.sample,
            guarantee=PureDP(1.0),
            pairs=FixedPairs((neighbours,), bounds=bounds),
            draws=80_000,
        )
        verdicts.append(check(context(seed, significance=1e-4)).verdict)
    assert verdicts == [Verdict.REFUTED, Verdict.CONSISTENT]


def test_bits_are_those_of_the_search() -> None:
    """Decoded from the release, without noise: the bits of 0.7 are 1011…, and its ones add up."""
    plain = np.array([0.7, 0.3, 0.0, 1.0])
    assert Ones(bounds=(0.0, 1.0), rounds=4)(plain).tolist() == [3.0, 1.0, 0.0, 4.0]


def released(bits: np.ndarray, resolution: float) -> np.ndarray:
    """Return what Algorithm 1 releases after each row of bits, on [0, 1]."""
    left, right = np.zeros(len(bits)), np.ones(len(bits))
    for bit in bits.T:
        middle = (left + right) / 2
        left, right = np.where(bit, middle + resolution, left), np.where(bit, right, middle)
    return (left + right) / 2


def test_bits_follow_the_resolution() -> None:
    """Each string of 8 bits is read back from its release; without Δ some are not."""
    bits = (np.arange(256)[:, None] >> np.arange(8)) % 2
    outputs = released(bits, 1e-3)
    read = Ones(bounds=(0.0, 1.0), rounds=8, resolution=1e-3)(outputs)
    assert read.tolist() == bits.sum(axis=1).tolist()
    assert Ones(bounds=(0.0, 1.0), rounds=8)(outputs).tolist() != read.tolist()


@pytest.mark.parametrize("search", [of_classifier, cut_features])
def test_a_classifier_finds_a_correlation(search: Search) -> None:
    assert audit(correlated, search, PureDP(1.0)).refuted


def leaf(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Return four noisy sums that one record moves: ε = 4 in all, and 1 each."""
    return value + rng.laplace(size=(size, 4))


def test_a_score_of_squashed_coordinates_shows_more_than_the_best_single_one() -> None:
    """No coordinate loses more than 1; all together lose 4."""
    assert audit(leaf, cut_features, PureDP(2.0)).refuted
    assert not audit(leaf, of_coordinates, PureDP(1.0)).refuted


def test_no_single_coordinate_shows_a_correlation() -> None:
    assert not audit(correlated, of_coordinates, PureDP(1.0)).refuted


@pytest.mark.parametrize("search", [of_listed, pytest.param(cut_features, marks=pytest.mark.study)])
def test_a_parity_is_found_among_discrete_vectors(search: Search) -> None:
    """P(odd) is 0.1 against 0.9: ε = log 9 = 2.197."""
    assert audit(cells, search, PureDP(2.0)).refuted
    assert not audit(cells, search, PureDP(2.2)).refuted


def test_outputs_that_never_come_twice_are_not_listed() -> None:
    samples = np.random.default_rng(0).normal(size=(2, 100, 3))
    assert of_listed((samples[0], samples[1])) == []


def test_discrete_stands_up_to_many_values(monkeypatch) -> None:
    """Beyond so many outputs the rare ones are one cell, and unseen ones lie in it."""
    rng = np.random.default_rng(0)
    samples = rng.integers(0, 50, 1000).astype(float), np.zeros(1000)
    monkeypatch.setattr(pilot_hypotheses, "_LISTED", 2)
    rank = of_listed(samples)[0].feature
    assert isinstance(rank, Rank)
    assert len(rank.listed) == 2
    assert rank(np.array([-7.0, 0.0])).tolist() == [2.0, 0.0]


def test_infinite_vectors_are_classified() -> None:
    def maybe(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        q = np.where(rng.random(size) < 0.1 + 0.7 * value, np.inf, rng.normal(size=size))
        return np.stack([q, rng.normal(size=size)], axis=1)

    assert audit(maybe, of_classifier, PureDP(1.0)).refuted


def test_the_best_of_several_is_taken() -> None:
    rng = np.random.default_rng(0)
    samples = correlated(0.0, 4000, rng=rng), correlated(1.0, 4000, rng=rng)
    best = best_event(PureDP(1.0), samples)
    assert isinstance(best.event.feature, Quadratic)
    (of_score,) = of_classifier(samples)
    assert best.excess == of_score.best(PureDP(1.0)).excess
    assert best.excess > best_of(PureDP(1.0), of_coordinates(samples)).excess


@pytest.mark.parametrize(
    ("sample", "search"),
    [
        (gaussian(0.5), cut_features),
        (correlated, of_classifier),
        (leaf, of_squashed),
        (lambda v, n, *, rng: v + rng.normal(size=(n, 2)), of_coordinates),
        (cells, of_listed),
    ],
)
def test_a_witness_event_survives_json(sample: Any, search: Search) -> None:
    witness = chosen(sample, search, PureDP(1.0)).as_data()
    event = Event.from_data(json.loads(json.dumps(witness["event"])))
    rng = np.random.default_rng(1)
    ordered = (1.0, 0.0) if witness["swapped"] else (0.0, 1.0)
    rates = [event.contains(sample(x, 50_000, rng=rng)).mean() for x in ordered]
    assert rates[0] > rates[1]
    again = Event.from_data(event.as_data())
    outputs = sample(0.0, 1000, rng=rng)
    assert (again.contains(outputs) == event.contains(outputs)).all()


@pytest.mark.parametrize(
    "feature",
    [ScalarValue(), Coordinate(1), Ones(bounds=(0.0, 2.0), rounds=5), QUADRATIC,
     Rank(np.array([[0.0, 1.0], [2.0, 3.0]]))],
    ids=lambda feature: type(feature).__name__,
)  # fmt: skip
def test_a_feature_survives_json(feature: Feature) -> None:
    again = feature_from_data(json.loads(json.dumps(feature_as_data(feature))))
    vectors = not isinstance(feature, ScalarValue | Ones)
    outputs = np.array([[0.0, 1.0], [2.0, 3.0], [0.5, -math.inf]])
    outputs = outputs if vectors else outputs[:, 0]
    assert type(again) is type(feature)
    assert again(outputs).tolist() == feature(outputs).tolist()


def test_the_bits_of_a_bisection_are_read_from_files_of_earlier_versions() -> None:
    kept = feature_as_data(Ones(bounds=(0.0, 2.0), rounds=5))
    assert feature_as_data(feature_from_data(kept | {"start": 0, "stop": 0})) == kept
    with pytest.raises(ValueError, match="must count all bits of a bisection"):
        feature_from_data(kept | {"start": 2})


def test_an_event_and_its_intervals_agree() -> None:
    event = Event(np.array([0.0, 1.0, 2.0]), np.array([True, False, True, True]))
    outputs = np.array([-5.0, 0.0, 0.5, 1.0, 1.5, 2.0, 7.0])
    assert event.contains(outputs).tolist() == [True, True, False, False, True, True, True]
    assert event.as_intervals() == [[-math.inf, 0.0], [1.0, math.inf]]


def test_events_of_the_ends_keep_them() -> None:
    event = Event(np.array([-np.inf, 0.0]), np.array([True, False, True]))
    again = Event.from_data(event.as_data())
    probes = np.array([-np.inf, -1.0, 0.0, 1.0, np.inf])
    assert again.contains(probes).tolist() == [True, False, False, True, True]
    below = Event(np.array([0.0]), np.array([True, False]))
    assert Event.from_data(below.as_data()).cuts.tolist() == [0.0]


def test_the_excess_of_rates_by_hand() -> None:
    """In standard errors, that of p and e^ε times that of q; a rate of 0 or 1 has that of 1/n."""
    positive, claim = Event(np.array([0.0]), np.array([False, True])), PureDP(math.log(2))
    half, few, all_, none = (np.where(np.arange(100) < k, 1.0, -1.0) for k in (50, 10, 100, 0))
    q = 10.5 / 101
    found = promised_excess(claim, positive, (half, few))
    error = math.sqrt(0.25 / 100 + 4 * q * (1 - q) / 100)
    assert found == pytest.approx((0.5 - 2 * q) / error, rel=1e-3)
    found = promised_excess(claim, positive, (all_, none))
    expected = (100.5 - 2 * 0.5) / 101 / math.sqrt(0.01**2 + (2 * 0.01) ** 2)
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ones(bounds=(0, 1), rounds=0), "rounds must be an integer >= 1, got 0"),
        (lambda: Ones(bounds=(1, 0), rounds=3), "bounds must be finite with a < b"),
        (lambda: feature_from_data({"kind": "?"}), "must name a kind of feature, got '?'"),
        (
            lambda: ScalarValue()(np.zeros((3, 2))),
            r"outputs must have shape \(size,\), got shape \(3, 2",
        ),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("outputs", "cuts"), [(60, 59), (64, 63), (1000, 7), (2000, 11), (3000, 17), (20_000, 63)]
)
def test_cells_hold_eighty_outputs_of_either_input_and_are_eight_to_64(outputs, cuts) -> None:
    """Values that are all different; up to 64 of them are their own cells."""
    assert quantile_cuts(np.arange(float(outputs))).size == cuts


def test_one_half_orders_the_cells_and_the_other_says_how_many_to_take() -> None:
    """Outputs at odd places say that 1 alone is telling, those at even places nothing of it."""

    def outputs(even: list[int], odd: list[int]) -> np.ndarray:
        found = np.zeros(400)
        found[::2], found[1::2] = np.repeat(range(3), even), np.repeat(range(3), odd)
        return found

    samples = (outputs([72, 58, 70], [50, 100, 50]), outputs([60, 70, 70], [90, 20, 90]))
    found = CutFeature.of(ScalarValue(), samples).best(PureDP(0.1))
    assert found.event.inside.tolist() == [True, True, False]
    assert found.excess < 2.0


def test_the_orders_of_the_cells_and_their_shares_by_hand() -> None:
    """Shares are of half an output more a cell: of 6 + 1.5 or 12 + 1.5 outputs."""
    counts = PilotCounts(
        np.array([0.0, 1.0]), np.array([[4, 0, 2], [1, 3, 2]]), np.array([[2, 2, 2], [0, 6, 0]])
    )
    unions = _Unions.of(counts)
    along, back = [0, 1, 2], [2, 1, 0]
    assert unions.orders.tolist() == [along, back, [0, 2, 1], along, back, [1, 2, 0]]
    first, second = np.array([6.5, 2.5, 4.5]) / 13.5, np.array([1.5, 9.5, 2.5]) / 13.5
    judged, other = np.array([2.5, 2.5, 2.5]) / 7.5, np.array([0.5, 6.5, 0.5]) / 7.5
    likelier = [first, first[::-1], judged[[0, 2, 1]], second, second[::-1], other[[1, 2, 0]]]
    neighbours = [second, second[::-1], other[[0, 2, 1]], first, first[::-1], judged[[1, 2, 0]]]
    assert unions.likelier == pytest.approx(np.cumsum(likelier, axis=1))
    assert unions.other == pytest.approx(np.cumsum(neighbours, axis=1))


@pytest.mark.parametrize(("cells", "handicap"), [(2, 0.0), (16, 0.0), (17, 1.0), (64, 1.0)])
def test_unions_of_more_than_16_cells_must_promise_one_deviation_more(cells, handicap) -> None:
    same = np.ones((2, cells), dtype=np.int64)
    unions = _Unions.of(PilotCounts(np.arange(cells - 1.0), same, same))
    assert unions.handicaps.tolist() == [0.0, 0.0, handicap] * 2


@pytest.mark.parametrize("seed", range(8))
def test_cuts_are_quantiles_of_the_empirical_law(seed) -> None:
    rng = np.random.default_rng(seed)
    pooled = rng.normal(size=int(rng.integers(200, 9000))).round(6 - seed % 5)
    cells = np.clip(pooled.size // 160, 8, 64)
    listed = np.unique(pooled)
    found = np.quantile(pooled, np.linspace(0, 1, cells + 1)[1:], method="inverted_cdf")
    expected = np.unique(found) if listed.size > 64 else listed
    assert quantile_cuts(pooled).tolist() == expected[:-1].tolist()


@pytest.mark.parametrize("rounds", [1, 10, 24, 50])
def test_ones_of_fractions_are_those_of_the_bisection(rounds) -> None:
    """Of [0, 2] every round is gone through."""
    rng = np.random.default_rng(rounds)
    grid = rng.integers(-1, 2**rounds + 2, size=300) / 2**rounds
    values = np.concatenate(
        [rng.random(300), grid, np.nextafter(grid, 2), np.nextafter(grid, -1), [-np.inf, np.inf]]
    )
    plain = Ones(bounds=(0.0, 1.0), rounds=rounds)
    scaled = Ones(bounds=(0.0, 2.0), rounds=rounds)
    assert plain(values).tolist() == scaled(2 * values).tolist()
