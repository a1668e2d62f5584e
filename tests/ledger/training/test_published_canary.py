"""The published training's worst record, by answers that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from dpcp_ledger.training.published_script import (
    HeadFeatures,
    PublishedCanary,
    PublishedView,
    as_published,
)

SHORT = replace(as_published, epochs=10)


def games(game: PublishedCanary, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return game(1, count, rng=rng), game(0, count, rng=rng)


@pytest.mark.parametrize("view", PublishedView)
def test_a_replayed_seed_tells_every_game(view: PublishedView) -> None:
    inside, outside = games(PublishedCanary(settings=SHORT, view=view), 3)
    assert inside.min() > outside.max()
    assert len({*inside}) == len({*outside}) == 1


@pytest.mark.statistical(false_alarm=1e-8)
def test_scores_of_fresh_noise_are_log_likelihood_ratios_of_what_the_records_move() -> None:
    """Of shift μ the mean is ±μ²/2 and the variance μ², with μ about 1.7·√10/8.1 = 0.66."""
    inside, outside = games(PublishedCanary(settings=replace(SHORT, noise_seed=None)), 400)
    mu = np.sqrt(inside.mean() - outside.mean())
    assert mu == pytest.approx(0.66, abs=0.33)
    assert np.r_[inside - inside.mean(), outside - outside.mean()].std() == pytest.approx(
        mu, rel=0.6
    )


def test_the_records_differ_in_one_and_the_features_may_be_learned_elsewhere() -> None:
    game = PublishedCanary(settings=SHORT, features=HeadFeatures.LEARNED, reach=2.0)
    inside, outside = game.data(inside=True), game.data(inside=False)
    assert (inside.inputs != outside.inputs).any(axis=1).tolist() == [True] + [False] * 19
    assert (inside.labels == outside.labels).all()


@pytest.mark.known_bad
def test_too_little_noise_shows() -> None:
    weak = replace(SHORT, noise_seed=None, noise_multiplier=0.01)
    inside, outside = games(PublishedCanary(settings=weak), 5)
    assert inside.min() > 100
    assert outside.max() < -100
