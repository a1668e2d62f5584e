"""Fits the pools that are shipped, and writes their file.

Usage: python benchmarks/pool_fitting.py FILE
"""

from __future__ import annotations

import itertools
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.pools import (
    Classifier,
    Dataset,
    ProbabilityPool,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray


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


def fitted_pool(dataset: Dataset, classifier: Classifier) -> ProbabilityPool:
    """Return the pool of a classifier that is fitted here; needs scikit-learn."""
    fit_x, pool_x, fit_y, pool_y = split(*load_dataset(dataset.name.lower()))
    fitted = _model(classifier).fit(fit_x, fit_y)
    probabilities = np.asarray(fitted.predict_proba(pool_x), dtype=np.float64)
    return ProbabilityPool(f"{dataset}-{classifier}", probabilities, np.asarray(pool_y, np.int64))


def _model(classifier: Classifier) -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)
    from sklearn.naive_bayes import GaussianNB  # noqa: PLC0415  (slow to import)
    from sklearn.pipeline import Pipeline  # noqa: PLC0415  (slow to import)
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415  (slow to import)

    model = {
        Classifier.GAUSSIAN_NB: GaussianNB(),
        Classifier.LOGISTIC: LogisticRegression(C=0.1, max_iter=1000),
    }[classifier]
    return Pipeline([("scaled", StandardScaler()), ("model", model)])


def _write(file: Path) -> None:
    arrays: dict[str, np.ndarray] = {}
    for dataset, classifier in itertools.product(Dataset, Classifier):
        pool = fitted_pool(dataset, classifier)
        arrays[pool.name] = pool.probabilities
        arrays[dataset] = pool.labels.astype(np.int8)
    np.savez_compressed(file, allow_pickle=False, **arrays)


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
