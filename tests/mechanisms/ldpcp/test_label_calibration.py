from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool, hps, true_label_scores
from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.local_labels import LDPCPLabels, dkw_width
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    LDPCPScores,
    Window,
    hoeffding_width,
)
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from collections.abc import Callable


def on_scores(**fields: Any) -> LDPCPScores:
    return LDPCPScores(
        **{"alpha": 0.1, "epsilon": 4.0, "rounds": 10, "window_width": 0.05} | fields
    )


def on_labels(**fields: Any) -> LDPCPLabels:
    defaults = {"alpha": 0.1, "epsilon": 4.0, "k": 10, "rounds": 10, "window_width": 0.05}
    return LDPCPLabels(**defaults | fields)


def test_windows_of_both_editions() -> None:
    assert Window.FINAL.limits(alpha=0.1, width=0.04, starred=False) == (0.9, 0.94)
    assert Window.PREPRINT.limits(alpha=0.1, width=0.04, starred=False) == (0.88, 0.92)
    assert Window.FINAL.limits(alpha=0.7, width=0.1, starred=True) == (0.4, 0.5)
    assert on_scores(window=Window.PREPRINT).limits == (0.875, 0.925)


def test_guarantees_are_local() -> None:
    assert on_scores(epsilon=2.0).guarantee == LocalDP(2.0)
    assert on_labels(epsilon=3.0).guarantee == LocalDP(3.0)


def test_printed_blocks_never_ask_the_first_users_and_run_past_the_last() -> None:
    printed = on_scores(rounds=4, blocks=Blocks.PRINTED)
    blocks = [block.tolist() for block in printed.blocks_of(14)]
    assert blocks == [[3, 4, 5], [6, 7, 8], [9, 10, 11], [12, 13]]
    assert on_scores(rounds=4, blocks=Blocks.PRINTED).block_sizes(12) == [3, 3, 3, 0]
    assert on_scores(rounds=4).block_sizes(14) == [4, 4, 3, 3]


@pytest.mark.parametrize("rounds", [7, 10])
def test_printed_debiasing_drives_the_threshold_to_its_ceiling(rounds: int) -> None:
    """Z is at most (gain·n′/n): below 1−α in every round, whatever the scores."""
    printed = on_scores(rounds=rounds, debiasing=Debiasing.PRINTED)
    for scores in (np.zeros(11080), np.linspace(0, 1, 11080)):
        np.testing.assert_array_equal(printed.sample(scores, 50, rng=0), 1 - 2.0**-rounds)
    np.testing.assert_array_equal(
        printed.trials(Uniform(), n=11080, trials=50, rng=0).coverage, 1 - 2.0**-rounds
    )


def test_starred_calibration_aims_higher() -> None:
    plain = on_scores().trials(Uniform(), n=10**7, trials=50, rng=4)
    starred = on_scores(starred=True).trials(Uniform(), n=10**7, trials=50, rng=4)
    assert 0.899 < plain.coverage.min() <= plain.coverage.max() < 0.951
    assert 0.949 < starred.coverage.min() <= starred.coverage.max() < 1.001


def test_noiseless_labels_cover_as_split_conformal_does() -> None:
    pool = classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC)
    scores = hps(pool.probabilities)
    mechanism = on_labels(epsilon=60.0, window_width=0.01)
    own = true_label_scores(scores, pool.labels)
    threshold = mechanism.from_noisy(scores, pool.labels)
    assert 0.9 <= (own <= threshold[0]).mean() <= 0.91
    np.testing.assert_array_equal(
        mechanism.sample(scores, pool.labels, 3, rng=0), threshold[[0] * 3]
    )


def test_chunks_do_not_change_how_many_runs_come_back() -> None:
    scores, labels = np.tile([[0.2, 0.8]], (1500, 1)), np.zeros(1500, dtype=np.int64)
    mechanism = on_labels(k=2, rounds=3)
    assert mechanism.sample(scores, labels, 3001, rng=0).shape == (3001,)
    run = mechanism.trials(scores, labels, n=700_000, trials=7, rng=0)
    assert run.coverage.shape == run.missed.shape == (7,)


def test_the_widths_of_the_papers() -> None:
    """Table 1's starred rows put OCTMNIST's Δ_L at 2.2 points, with δ = 0.001."""
    beta = KaryRandomizedResponse(4.0, 4).beta
    assert dkw_width(n=10832, beta=beta, delta=0.001) == pytest.approx(0.0225, abs=5e-5)
    e = math.exp(4.0)
    expected = (e + 1) / (e - 1) * math.sqrt(7 * math.log(140) / (2 * 10**5))
    assert hoeffding_width(n=10**5, epsilon=4.0, rounds=7, delta=0.1) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: on_scores(alpha=1.0), "alpha"),
        (lambda: on_scores(epsilon=0), "epsilon"),
        (lambda: on_scores(rounds=0), "rounds"),
        (lambda: on_scores(window_width=0.0), "window_width"),
        (lambda: on_scores(window="final"), "window"),
        (lambda: on_scores(debiasing="printed"), "debiasing"),
        (lambda: on_scores(blocks=True), "blocks"),
        (lambda: on_scores(on_miss=None), "on_miss"),
        (lambda: on_scores().sample([0.5] * 9, 1), "n"),
        (lambda: on_scores().sample([0.5, math.nan] * 9, 1), "scores"),
        (lambda: on_scores().sample([0.5] * 20, 0), "size"),
        (lambda: on_scores().trials(Uniform(), n=9, trials=1), "n"),
        (lambda: on_scores().trials(Uniform(), n=20, trials=0), "trials"),
        (lambda: on_scores().trials(Uniform(), n=20, trials=1, rng="x"), "rng"),
        (lambda: on_labels(k=1), "k"),
        (lambda: on_labels(epsilon=-1.0), "epsilon"),
        (lambda: on_labels().sample(np.full((3, 9), 0.5), [0, 0, 0], 1), "scores"),
        (lambda: on_labels().sample(np.full((3, 10), 0.5), [0, 0], 1), "labels"),
        (lambda: on_labels().sample(np.full((3, 10), 0.5), [0, 0, 10], 1), "labels"),
        (lambda: on_labels().from_noisy(np.full((3, 10), 0.5), [0, 0]), "noisy_labels"),
        (lambda: on_labels().trials(np.full((3, 10), 2.0), [0, 0, 0], n=1, trials=1), "scores"),
        (lambda: on_labels().trials(np.full((3, 10), 0.5), [0] * 3, n=0, trials=1), "n"),
        (lambda: hoeffding_width(n=10, epsilon=0.0, rounds=1, delta=0.1), "epsilon"),
        (lambda: hoeffding_width(n=10, epsilon=1.0, rounds=1, delta=1.0), "delta"),
        (lambda: dkw_width(n=10, beta=1.0, delta=0.1), "beta"),
        (lambda: dkw_width(n=0, beta=0.5, delta=0.1), "n"),
    ],
)
def test_bad_input_names_the_argument(call: Callable[[], object], name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must"):
        call()
