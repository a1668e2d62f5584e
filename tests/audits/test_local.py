"""Local-DP audits by guessing games: verdicts, levels, witnesses, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom
from support.samplers import context

from dpcp_audit.audits.local import (
    LocalPrivacy,
    Randomizer,
)
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
)
from dpcp_audit.stats.rates import GuessingTest
from dpcp_audit.words.checks import Check
from dpcp_audit.words.guarantees import LocalDP
from dpcp_audit.words.results import EvidenceKind, Outcome, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray, IntArray


def channel_of(epsilon: float, k: int) -> FloatArray:
    return np.exp([law.log_mass for law in KaryRandomizedResponse(epsilon, k).laws()])


def through(channel: FloatArray) -> Randomizer:
    """A randomiser with this channel, by inversion."""
    cumulative = np.cumsum(channel, axis=1)[:, :-1]

    def randomizer(values: IntArray, *, rng: np.random.Generator) -> IntArray:
        return (rng.random(values.size)[:, None] >= cumulative[values]).sum(axis=1)

    return randomizer


def audit(randomizer: Randomizer, *, epsilon: float, k: int, n_samples: int = 20_000) -> Outcome:
    check = LocalPrivacy(
        randomizer=randomizer,
        guarantee=LocalDP(epsilon),
        n_inputs=k,
        n_outputs=k,
        n_samples=n_samples,
    )
    return check(context(0, significance=1e-6))


def moved(*, to: int, share: float, k: int = 5, epsilon: float = 1.0) -> FloatArray:
    """k-RR whose alternatives are not uniform: a share of what goes elsewhere goes to one."""
    channel = channel_of(epsilon, k)
    for x in range(k):
        if x != to:
            others = [y for y in range(k) if y not in (x, to)]
            taken = share * channel[x, others].sum()
            channel[x, others] *= 1 - share
            channel[x, to] += taken
    return channel


def test_it_is_a_sampled_check() -> None:
    response = BinaryRandomizedResponse(1.0)
    check = LocalPrivacy(
        randomizer=response.sample, guarantee=LocalDP(1.0), n_inputs=2, n_outputs=2
    )
    assert isinstance(check, Check)
    assert check.sampled


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 2), (2.0, 10), (4.0, 100)])
def test_kary_response_meets_its_epsilon_and_no_smaller(epsilon: float, k: int) -> None:
    response = KaryRandomizedResponse(epsilon, k)
    held = audit(response.sample, epsilon=epsilon, k=k)
    assert held.verdict is Verdict.CONSISTENT
    assert held.evidence.kind is EvidenceKind.CERTIFIED
    assert 0.7 * epsilon < held.evidence.lower <= epsilon  # valid, and not vacuous
    assert audit(response.sample, epsilon=0.75 * epsilon, k=k).verdict is Verdict.REFUTED


def test_bits_may_be_booleans() -> None:
    outcome = audit(BinaryRandomizedResponse(1.0).sample, epsilon=1.0, k=2)
    assert outcome.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_alternatives_that_are_not_uniform(share: float) -> None:
    outcome = audit(through(moved(to=0, share=share)), epsilon=1.0, k=5)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.witness["guesses"][0] == -1  # what the others lost is what tells them apart


def test_where_all_inputs_leak_all_are_in_play() -> None:
    """With many inputs the guess has all their samples, an event those of two."""
    k = 50
    outcome = audit(KaryRandomizedResponse(1.0, k).sample, epsilon=0.8, k=k, n_samples=4000)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.quantity == "epsilon"
    assert outcome.evidence.detail == "from guesses of the input"
    assert (outcome.evidence.claimed, outcome.evidence.lower > 0.8) == (0.8, True)
    assert outcome.witness["guesses"] == list(range(k))


def test_the_witness_shows_the_ratio_that_refutes() -> None:
    channel = np.full((4, 4), 0.25)
    channel[2] = [0.05, 0.25, 0.25, 0.45]
    outcome = audit(through(channel), epsilon=1.0, k=4)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.witness["event"] == [0]
    assert outcome.witness["neighbour"] == 2


def test_too_few_samples_to_refute_anything() -> None:
    outcome = audit(KaryRandomizedResponse(8.0, 2).sample, epsilon=8.0, k=2, n_samples=400)
    assert outcome.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("randomizer", "message"),
    [
        (lambda values, *, rng: values + 1, "randomizer's outputs must lie in 0..2"),
        (lambda values, *, rng: values / 2, "randomizer's outputs must hold integers"),
        (lambda values, *, rng: values[:-1], "randomizer must return shape"),
    ],
    ids=["outside", "fractions", "shape"],
)
def test_odd_randomizers_are_refused(randomizer: Randomizer, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(randomizer, epsilon=1.0, k=3)


@pytest.mark.parametrize("arguments", [{"n_inputs": 1}, {"n_outputs": 1}, {"n_samples": 10}])
def test_odd_arguments_are_refused(arguments: dict[str, int]) -> None:
    valid = {"n_inputs": 2, "n_outputs": 2, "n_samples": 1000}
    with pytest.raises(ValueError, match=f"{next(iter(arguments))} must be an integer"):
        LocalPrivacy(
            randomizer=BinaryRandomizedResponse(1.0).sample,
            guarantee=LocalDP(1.0),
            **(valid | arguments),
        )


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize(
    ("channel", "epsilon", "draws", "least"),
    [("a pair", 1.8, 4000, 0.9), ("a rare output", 1.0, 1200, 0.9)],
)
def test_a_loss_that_one_input_suffers_is_found(channel, epsilon, draws, least) -> None:
    """False alarm at most 1e-7 of each: of 30 audits at 5 %, so many refute."""
    if channel == "a pair":
        rows = channel_of(1.8, 10)
        rows[3, 3] += rows[3, 4] / 2
        rows[3, 4] /= 2
    else:
        rows = np.full((4, 20), 1 / 20)
        rows[1] = [0.0005, *np.full(19, 0.9995 / 19)]
    check = LocalPrivacy(
        randomizer=through(rows),
        guarantee=LocalDP(epsilon),
        n_inputs=len(rows),
        n_outputs=rows.shape[1],
        n_samples=draws,
    )
    found = sum(
        check(context(seed, significance=0.05)).verdict is Verdict.REFUTED for seed in range(30)
    )
    assert found >= binom.ppf(1e-7, 30, least)


def test_an_epsilon_too_large_for_any_guess_is_refused() -> None:
    with pytest.raises(ValueError, match="guarantee must have an ε of at most 50"):
        audit(KaryRandomizedResponse(1.0, 2).sample, epsilon=51.0, k=2)


@pytest.mark.known_bad
def test_each_half_of_the_pilot_and_the_game_have_a_stream_of_their_own() -> None:
    """A game on the pilot's random numbers would be played by a rule that has seen them."""
    response, streams = KaryRandomizedResponse(1.0, 3), {}

    def watched(values: IntArray, *, rng: np.random.Generator) -> IntArray:
        seeds = rng.bit_generator.seed_seq
        streams.setdefault(str(seeds), []).append(values.size)
        return np.asarray(response.sample(values, rng=rng))

    audit(watched, epsilon=1.0, k=3, n_samples=2000)
    drawn = [sizes for sizes in streams.values() if sizes[0] != 64]  # the probe has its own
    assert drawn == [[500] * 3, [500] * 3, [3000]]


def test_no_power_is_stated_for_fewer_than_two_hundred_outputs() -> None:
    check = LocalPrivacy(
        randomizer=BinaryRandomizedResponse(1.0).sample,
        guarantee=LocalDP(1.0),
        n_inputs=2,
        n_outputs=2,
    )
    assert check.draws_needed(30.0, significance=0.05) == 200


def test_all_outputs_count_those_of_the_pilot_too() -> None:
    response = KaryRandomizedResponse(1.0, 3)
    assert audit(response.sample, epsilon=1.0, k=3, n_samples=2001).evidence.n_samples == 6003


def test_the_draws_needed_are_those_of_guesses_between_two_inputs() -> None:
    """Of more inputs than outputs two are in play, and one of their two outputs is guessed."""
    check = LocalPrivacy(
        randomizer=KaryRandomizedResponse(1.0, 4).sample,
        guarantee=LocalDP(1.0),
        n_inputs=5,
        n_outputs=4,
    )
    needed, own = check.draws_needed(1.2, significance=0.01), np.exp(1.2) / (np.exp(1.2) + 3)

    def power(n: int) -> float:
        rounds = 5 * (n - 2 * (n // 4))
        guesses = round((own + own / np.exp(1.2)) * rounds)
        test = GuessingTest(rounds=rounds, guesses=guesses, epsilon=1.0, inputs=2)
        return test.power(np.exp(1.2) / (np.exp(1.2) + 1), significance=0.999 * 0.01)

    assert power(needed) >= 0.95
    assert power(round(0.95 * needed)) < 0.95
