from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool, hps, true_label_scores
from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.local_labels import LDPCPLabels, dkw_width
from dpcp_audit.mechanisms.local_scores import (
    LDPCPScores,
    hoeffding_width,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def on_scores(**fields: Any) -> LDPCPScores:
    return LDPCPScores(
        **{"alpha": 0.1, "epsilon": 4.0, "rounds": 10, "window_width": 0.05} | fields
    )


def on_labels(**fields: Any) -> LDPCPLabels:
    defaults = {"alpha": 0.1, "epsilon": 4.0, "k": 10, "rounds": 10, "window_width": 0.05}
    return LDPCPLabels(**defaults | fields)


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
