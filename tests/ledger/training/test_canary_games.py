"""Games: what an attacker sees of a training, and what he makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from dpcp_ledger.training.canary_games import (
    BlackBoxGame,
    CanaryStatistic,
    OutsideCanaries,
    Watcher,
    WhiteBoxGame,
    first_digits,
    idle_weights,
    lone_pixels,
    mislabelled_digits,
    wiped_digits,
)
from dpcp_ledger.training.dpsgd import Step
from dpcp_ledger.training.examples import DPSGD, Adam, Poisson, digits

SETTINGS = DPSGD(
    sampling=Poisson(0.1), lot_size=20, steps=10, noise_multiplier=0.7, learning_rate=0.5
)
ADAM = DPSGD(
    sampling=Poisson(0.1),
    lot_size=20,
    steps=60,
    noise_multiplier=0.7,
    learning_rate=0.01,
    optimiser=Adam(),
)
PLACES = np.array([2, 0])


def follow(watch: Watcher, sums: np.ndarray) -> None:
    """Show the moves of plain SGD on noisy sums of shape (steps, replicas, d)."""
    at = np.zeros(sums.shape[1:])
    for index, total in enumerate(sums):
        after = at - watch.settings.learning_rate * total / watch.settings.lot_size
        watch(Step(index=index, before=torch.tensor(at), after=torch.tensor(after)))
        at = after


def ratio(sums: np.ndarray) -> np.ndarray:
    return np.log(0.9 + 0.1 * norm.pdf(sums, 1, 0.7) / norm.pdf(sums, 0, 0.7))


def test_the_scores_of_sgd_are_the_likelihood_ratios_of_the_noisy_sums() -> None:
    sums = np.random.default_rng(0).normal(size=(10, 3, 4))
    watch = Watcher(attack=CanaryStatistic.LIKELIHOOD, settings=SETTINGS, coordinates=PLACES)
    follow(watch, sums)
    np.testing.assert_allclose(watch.scores, ratio(sums[:, :, PLACES]).sum(axis=0), rtol=1e-9)


def test_noise_that_was_learnt_is_taken_off() -> None:
    noise = np.random.default_rng(1).normal(size=(10, 1, 4))
    watch = Watcher(attack=CanaryStatistic.REPLAYED_NOISE, settings=SETTINGS, coordinates=PLACES)
    at = np.zeros((1, 4))
    for index, total in enumerate(noise):
        after = at - 0.5 * total / 20
        watch.learn(Step(index=index, before=torch.tensor(at), after=torch.tensor(after)))
        at = after
    hit = np.zeros((10, 1, 4))
    hit[4, 0, 2] = 1.0
    follow(watch, noise + hit)
    np.testing.assert_allclose(watch.scores, ratio(hit[:, :, PLACES]).sum(axis=0), atol=1e-9)


def test_what_adam_was_fed_is_found_from_its_moves() -> None:
    """Scores from the moves are nearly those from the gradients themselves."""
    rng = np.random.default_rng(2)
    coins = rng.random((50, 4)) < 0.5
    sums = 0.7 * rng.normal(size=(60, 50, 4)) + (coins & (rng.random((60, 50, 4)) < 0.1))
    watch = Watcher(attack=CanaryStatistic.LIKELIHOOD, settings=ADAM, coordinates=np.arange(4))
    at, first, second = np.zeros((50, 4)), np.zeros((50, 4)), np.zeros((50, 4))
    for index, total in enumerate(sums / 20):
        first = 0.9 * first + 0.1 * total
        second = 0.999 * second + 0.001 * total**2
        unbiased = second / (1 - 0.999 ** (index + 1))
        after = at - 0.01 * first / (1 - 0.9 ** (index + 1)) / (np.sqrt(unbiased) + 1e-8)
        watch(Step(index=index, before=torch.tensor(at), after=torch.tensor(after)))
        at = after
    ideal = ratio(sums).sum(axis=0)
    assert np.corrcoef(watch.scores.ravel(), ideal.ravel())[0, 1] > 0.8


def test_scales_are_of_the_last_move_or_of_all() -> None:
    sums = np.ones((3, 2, 4)) * np.array([1.0, 2.0, 3.0])[:, None, None]
    sums[:, 1] *= 2
    for attack, shape in (
        (CanaryStatistic.WEIGHT_SCALE, (2, 2)),
        (CanaryStatistic.UPDATE_SCALE, (2, 1)),
    ):
        watch = Watcher(attack=attack, settings=SETTINGS, coordinates=PLACES)
        follow(watch, sums)
        assert watch.scores.shape == shape
        np.testing.assert_allclose(watch.scores[0] - watch.scores[1], 2 * np.log(2), rtol=1e-6)


def test_canaries_stand_where_the_data_hardly_are() -> None:
    data = first_digits(900)
    places = idle_weights(data, 10)
    energy = np.square(data.inputs).mean(axis=0)
    assert places.size == 10 * (energy <= 1e-3).sum() == 120
    assert (energy[places % 64] <= 1e-3).all()
    pixels = lone_pixels(data)
    assert ((pixels.inputs > 0).sum(axis=1) == 1).all()
    wrong, right = mislabelled_digits(50, after=900), digits().take(np.arange(900, 950))
    assert (wrong.labels == (right.labels + 1) % 10).all()
    assert (wrong.inputs == right.inputs).all()


def test_games_give_scores_that_tell_members() -> None:
    """Planted sizes: without noise to speak of every canary that was sampled is told."""
    quiet = DPSGD(
        sampling=Poisson(0.5), lot_size=50, steps=8, noise_multiplier=0.05, learning_rate=0.5
    )
    played = WhiteBoxGame(settings=quiet, canaries=20, examples=100).play(
        6, rng=np.random.default_rng(3)
    )
    assert played.scores.shape == played.members.shape == (6, 20)
    order = np.argsort(-played.scores.ravel())
    assert played.members.ravel()[order[:50]].all()
    game = BlackBoxGame(
        settings=replace(quiet, learning_rate=20.0),
        inputs=OutsideCanaries.LONE_PIXELS,
        canaries=6,
        examples=100,
        references=20,
    )
    scores, members = game.play(20, rng=np.random.default_rng(4))
    assert scores[members].mean() > scores[~members].mean() + 1


@pytest.mark.parametrize("settings", [SETTINGS, ADAM])
@pytest.mark.parametrize(("runs", "played", "canaries"), [(20, 3, 40), (2, 2, 5)])
def test_without_noise_every_canary_that_was_sampled_is_told(
    settings, runs, played, canaries
) -> None:
    """An eighth of the runs, or of a few runs' canaries; Adam's first moves count, too."""
    game = WhiteBoxGame(settings=replace(settings, steps=12), canaries=40, examples=300)
    bare = game.play_noiseless(runs, rng=np.random.default_rng(5))
    assert bare.scores.shape == bare.members.shape == (played, canaries)
    least = bare.scores.min()
    assert (bare.scores[~bare.members] == least).all()
    assert (bare.scores[bare.members] > least).mean() > 0.3


def test_plain_examples_leave_nothing_on_the_canaries_weights() -> None:
    data = wiped_digits(900)
    assert idle_weights(data, 1).size == 28
    assert not data.inputs[:, idle_weights(data, 1)].any()
    kept = np.setdiff1d(np.arange(64), idle_weights(data, 1))
    assert (data.inputs[:, kept] == first_digits(900).inputs[:, kept]).all()
    assert first_digits(900).inputs[:, 31].any()


def test_a_black_box_game_without_noise_takes_half_of_the_trainings() -> None:
    game = BlackBoxGame(
        settings=SETTINGS, inputs=OutsideCanaries.LONE_PIXELS, canaries=6, examples=100
    )
    assert game.play_noiseless(96, rng=np.random.default_rng(6)).scores.shape == (40, 6)


@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("sigma", [0.05, 0.1, 1.0])
def test_the_log_ratio_is_that_of_the_densities(rate: float, sigma: float) -> None:
    """Also where the exponent is −200 or 800 and every step holds the canary."""
    watcher = Watcher(
        attack=CanaryStatistic.LIKELIHOOD,
        settings=DPSGD(sampling=Poisson(rate), lot_size=5, steps=2, noise_multiplier=sigma),
        coordinates=np.array([0]),
    )
    sums = np.linspace(-1.0, 2.5, 71)
    without, included = norm.logpdf(sums, 0, sigma), norm.logpdf(sums, 1, sigma)
    out = np.log1p(-rate) + without if rate < 1 else np.full(71, -np.inf)
    expected = np.logaddexp(out, np.log(rate) + included) - without
    assert watcher._log_ratio(sums) == pytest.approx(expected, rel=1e-9, abs=1e-12)
