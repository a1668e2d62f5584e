"""Local-DP audits: exact channels, the three sampled tests, witnesses, and what is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.audits.local import (
    LocalPrivacy,
    Randomizer,
    channel_log_ratio,
    channel_outcome,
    choose_pair,
    guess_bound,
    guess_loss,
    guess_success,
)
from dpcp_audit.checks import Check
from dpcp_audit.guarantees import LocalDP
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
)
from dpcp_audit.results import EvidenceKind, Outcome, Verdict

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.computed import Computation


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
    assert 0 not in outcome.witness["event"]  # what the others lost is what tells them apart


def test_the_guess_alone_can_refute() -> None:
    """With many inputs the guess has all their samples, an event those of two."""
    k = 50
    outcome = audit(KaryRandomizedResponse(1.0, k).sample, epsilon=0.8, k=k, n_samples=4000)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.quantity == "epsilon"
    assert outcome.evidence.detail == "from the success of the best guess"
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


def test_the_same_context_gives_the_same_outcome() -> None:
    sample = KaryRandomizedResponse(1.0, 3).sample
    assert audit(sample, epsilon=1.0, k=3) == audit(sample, epsilon=1.0, k=3)


def test_the_pilot_takes_all_outputs_that_speak() -> None:
    counts = np.array([[300, 300, 200, 200], [100, 100, 400, 400], [250, 250, 250, 250]])
    event = choose_pair(counts, epsilon=0.1)
    assert event.inputs == (0, 1)
    assert event.outputs.tolist() == [0, 1]


@pytest.mark.parametrize(("epsilon", "k"), [(0.3, 2), (2.0, 10), (6.0, 40)])
def test_the_exact_channel_of_kary_response(epsilon: float, k: int) -> None:
    channel = channel_of(epsilon, k)
    assert channel_log_ratio(channel).value == pytest.approx(epsilon, rel=1e-12)
    assert guess_success(channel) == pytest.approx(guess_bound(epsilon, k), rel=1e-12)
    assert guess_loss(guess_bound(epsilon, k), k) == pytest.approx(epsilon)
    verdicts = [
        channel_outcome(LocalDP(epsilon * factor), channel).verdict
        for factor in (1 - 1e-12, 1.0, 1 + 1e-12)
    ]
    assert verdicts == [Verdict.REFUTED, Verdict.CONSISTENT, Verdict.PROVED]


def test_the_exact_channel_is_the_largest_ratio_of_all() -> None:
    rng = np.random.default_rng(0)
    channel = rng.dirichlet(np.ones(6), size=5)
    ratios = np.log(channel[:, None] / channel[None])
    worst = channel_log_ratio(channel)
    assert worst.value == pytest.approx(ratios.max())
    assert ratios[(*worst.inputs, worst.output)] == pytest.approx(worst.value)


def test_an_output_that_one_input_never_gives() -> None:
    held: Computation = channel_outcome(LocalDP(5.0), [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    assert held.verdict is Verdict.REFUTED
    assert math.isinf(held.value)
    assert channel_outcome(LocalDP(5.0), [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]).value == 0.0


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ([[0.5, 0.5]], "two rows"),
        ([[0.5, 0.4], [0.5, 0.5]], "sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "lie in"),
        ([0.5, 0.5], "dimension"),
    ],
)
def test_channels_that_are_none(channel: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=f"channel must .*{message}"):
        channel_log_ratio(channel)  # type: ignore[arg-type]


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


def test_the_pilot_never_compares_an_input_with_itself() -> None:
    event = choose_pair(np.full((3, 2), 100), epsilon=1.0)
    assert event.inputs[0] != event.inputs[1]
