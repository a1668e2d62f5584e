"""What is taken of scikit-learn, which has no types; importing it is slow, so late."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray


def load_dataset(name: str) -> tuple[FloatArray, IntArray]:
    """Return the features and labels of data that scikit-learn ships, such as "digits"."""
    load: Any = getattr(import_module("sklearn.datasets"), f"load_{name}")
    features, labels = load(return_X_y=True)
    return np.asarray(features), np.asarray(labels)


def split(
    features: FloatArray, labels: IntArray, *, share: float = 0.5
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Split the records, each class alike; ``share`` of them make the first part.

    Returns
    -------
    tuple
        The features of either part, and the labels of either.
    """
    train_test_split: Any = import_module("sklearn.model_selection").train_test_split
    fit_x, rest_x, fit_y, rest_y = train_test_split(
        features, labels, train_size=share, stratify=labels, random_state=0
    )
    return fit_x, rest_x, fit_y, rest_y


def pipeline(*steps: object) -> Any:
    """Return the steps as one estimator."""
    return import_module("sklearn.pipeline").make_pipeline(*steps)
