"""The line between the promise for ideal numbers and the way that numbers are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.blackbox import search
from support.leaks import last_bit
from support.samplers import pair

from dpcp_audit.audits.blackbox import confirm
from dpcp_audit.audits.search.event_search import feature_as_data, feature_from_data
from dpcp_audit.audits.search.pair_race import Bank, PairRace, PublicGrid
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.search.record_pairs import ValuePairs
from dpcp_audit.audits.search.representation import written_leak
from dpcp_audit.targets.answers import Randomness
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import REPRESENTATION, Representation
from dpcp_audit.words.guarantees import LocalDP, PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.guarantees import PrivacyGuarantee

PAIRS, CLAIM = ValuePairs(n_values=2), LocalDP(0.2)


@pytest.mark.known_bad
def test_a_last_bit_that_tells_the_input_is_a_warning_and_the_promise_stands() -> None:
    found = search(last_bit(1.0), CLAIM, PAIRS, draws=5000)
    assert found.verdict is not Verdict.REFUTED
    assert "floating-point representation" in found.witness[REPRESENTATION]
    twin = search(last_bit(0.2), CLAIM, PAIRS, draws=5000)
    assert REPRESENTATION not in twin.witness


@pytest.mark.known_bad
def test_with_strict_it_is_refuted_and_replays() -> None:
    strict = {"representation": Representation.STRICT}
    found = search(last_bit(1.0), CLAIM, PAIRS, draws=5000, **strict)
    assert found.verdict is Verdict.REFUTED
    assert 0.2 < found.evidence.lower <= 1.0
    witness = json.loads(json.dumps(found.witness))
    context = Context(seed=1, name="again", significance=0.05)
    again = confirm(witness, last_bit(1.0), guarantee=CLAIM, context=context)
    assert again.verdict is Verdict.REFUTED
    twin = search(last_bit(0.2), CLAIM, PAIRS, draws=5000, **strict)
    assert twin.verdict is not Verdict.REFUTED


def raced(
    sample: Any, claim: PrivacyGuarantee, pairs: Any, *, seed: int = 0, size: int = 400
) -> tuple[PairRace, Any]:
    """Return a race, and its first pair with some outputs of either input."""
    bank = Bank(sample=sample, context=Context(seed=seed, name="written", significance=0.05))
    race = PairRace(bank=bank, guarantee=claim, pairs=pairs, randomness=Randomness.GENERATOR)
    shown = pairs.candidates()[0]
    for value in shown.inputs:
        bank.fresh(value, size)
    return race, shown


def rejections(claim: float, *, repetitions: int) -> int:
    """Return how often last bits of loss 1 refute a claim of so much at 0.05, on two pairs."""
    pairs = FixedPairs((pair(0, 1), pair(2, 3)))
    found = 0

    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return last_bit(1.0)(value % 2, size, rng=rng)

    for seed in range(repetitions):
        race, shown = raced(sample, PureDP(claim), pairs, seed=seed)
        found += written_leak(race, shown, room=1600, significance=0.05) is not None
    return found


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize(
    ("repetitions", "most"), [(30, 10), pytest.param(2000, 149, marks=pytest.mark.study)]
)
def test_a_claim_that_last_bits_just_keep_is_refuted_at_the_level(
    repetitions: int, most: int
) -> None:
    """Each with probability at most 0.05; of 30 more than 10, of 2,000 more than 149: < 1e-6."""
    assert rejections(1.0, repetitions=repetitions) <= most


@pytest.mark.known_bad
@pytest.mark.parametrize(("loss", "found"), [(1.0, True), (0.2, False)])
def test_last_bits_that_tell_another_pair_apart_are_seen(loss: float, found: bool) -> None:
    """The pair that a search has shown is 2 and 3, on which the last bit is the same."""

    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return last_bit(loss)(min(value, 1), size, rng=rng)

    pairs = FixedPairs((pair(2, 3), pair(0, 1)))
    race, shown = raced(sample, CLAIM, pairs)
    leak = written_leak(race, shown, room=8000, significance=1e-6)
    assert (leak is not None) is found
    assert leak is None or set(leak.candidate.inputs) == {0, 1}


@pytest.mark.known_bad
@pytest.mark.parametrize(("loss", "found"), [(1.0, True), (0.2, False)])
def test_the_last_bits_of_a_coordinate_are_seen_and_come_back_from_data(loss, found) -> None:
    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.stack([rng.laplace(size=size), last_bit(loss)(value, size, rng=rng)], axis=1)

    race, shown = raced(sample, CLAIM, FixedPairs((pair(0, 1),)), size=4000)
    leak = written_leak(race, shown, room=0, significance=1e-6)
    assert (leak is not None) is found
    if leak is not None:
        again = feature_from_data(
            json.loads(json.dumps(feature_as_data(leak.pair_test.event.feature)))
        )
        assert again == leak.pair_test.event.feature
        assert feature_as_data(again)["coordinate"] == 1


def test_outputs_on_the_public_grid_have_no_last_bits() -> None:
    def sample(value: int, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return value + rng.geometric(0.5, size) / 8.0

    race, shown = raced(sample, PureDP(0.1), FixedPairs((pair(0, 1),)))
    assert written_leak(race, shown, room=0, significance=0.05) is None


def test_sums_in_another_order_and_equal_numbers_stay_together() -> None:
    grid = PublicGrid.of(np.random.default_rng(0).laplace(size=50))
    assert grid is not None
    assert grid(np.array([0.1 + 0.2]))[0] == grid(np.array([0.3]))[0]
    dyadic = np.array([0.5 - 2.0**-54, 0.5, 0.5 + 2.0**-53])
    assert np.unique(grid(dyadic)).size == 1
    assert grid(np.array([0.25, 3 / 2**24, -1.0])).tolist() == [0.25, 3 / 2**24, -1.0]


def test_integers_infinities_and_other_shapes_stay_as_they_are() -> None:
    whole = np.array([10.0**12, 10.0**12 + 1, -5.0, np.inf, -np.inf])
    grid = PublicGrid.of(whole)
    assert grid is not None
    assert grid(whole).tolist() == whole.tolist()
    assert grid(np.ones((2, 3)) / 3).tolist() == (np.ones((2, 3)) / 3).tolist()
    assert PublicGrid.of(np.array([0.0, 0.0, np.inf])) is None


def test_each_coordinate_has_a_step() -> None:
    rng = np.random.default_rng(0)
    grid = PublicGrid.of(rng.laplace(size=(50, 2)) * np.array([1.0, 2.0**20]))
    assert grid is not None
    assert 2**15 < grid.steps[1] / grid.steps[0] < 2**25
