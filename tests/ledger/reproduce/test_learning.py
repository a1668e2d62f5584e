"""The boundary to scikit-learn."""

import numpy as np
import pytest

from dpcp_ledger.mechanisms.score_pools import load_dataset, split


@pytest.mark.parametrize(("name", "shape"), [("digits", (1797, 64)), ("breast_cancer", (569, 30))])
def test_load_dataset(name: str, shape: tuple[int, int]) -> None:
    features, labels = load_dataset(name)
    assert features.shape == shape
    assert labels.shape == shape[:1]


def test_split_is_stratified_and_the_same_each_time() -> None:
    features, labels = load_dataset("digits")
    fit_x, rest_x, fit_y, rest_y = split(features, labels, share=0.25)
    assert (len(fit_x), len(fit_y)) == (449, 449)
    assert (len(rest_x), len(rest_y)) == (1348, 1348)
    assert np.abs(np.bincount(fit_y) - np.bincount(labels) / 4).max() < 1
    assert (split(features, labels, share=0.25)[0] == fit_x).all()
