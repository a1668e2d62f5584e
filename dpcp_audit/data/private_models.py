"""Differentially private classifiers, trained by diffprivlib, as pools of probabilities."""

from __future__ import annotations

import importlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.data.learning import load_dataset, split
from dpcp_audit.data.pools import Dataset, ProbabilityPool

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray

_CLASSES = {Dataset.DIGITS: 10, Dataset.BREAST_CANCER: 2}
_PUBLIC_BOUNDS = {Dataset.DIGITS: (0.0, 16.0)}


class PrivateModel(StrEnum):
    """What is trained, ε-DP under the neighbours of diffprivlib."""

    GAUSSIAN_NB = "dp-gaussian-nb"
    """Gaussian naive Bayes with noisy counts, means and variances."""
    FOREST = "dp-forest"
    """A forest of random trees with private leaves."""


def private_pool(
    dataset: Dataset, model: PrivateModel, epsilon: float, *, seed: int = 0
) -> ProbabilityPool:
    """Train a private classifier on half of the data and return its probabilities of the rest.

    The features are mapped to [0, 1] by public bounds where these are known (digits: 0 to
    16), and elsewhere by the bounds of the fitted half, which are taken as public.

    Parameters
    ----------
    dataset : Dataset
        What scikit-learn ships.
    model : PrivateModel
        What is trained.
    epsilon : float
        Privacy parameter ε > 0 of the training.
    seed : int
        Of the training's noise; another seed is another draw of the model.

    Raises
    ------
    RuntimeError
        If diffprivlib is not installed.
    """
    _validate.choice(Dataset, dataset=dataset)
    _validate.choice(PrivateModel, model=model)
    _validate.positive(epsilon=epsilon)
    _validate.integer(seed=seed, at_least=0)
    untrained = _untrained(model, epsilon=epsilon, seed=seed, n_classes=_CLASSES[dataset])
    fit_x, pool_x, fit_y, pool_y = unit_halves(dataset)
    probabilities = _normalised(untrained.fit(fit_x, fit_y).predict_proba(pool_x))
    name = f"{dataset}-{model}-eps{epsilon:g}"
    return ProbabilityPool(name, probabilities, np.asarray(pool_y, dtype=np.int64))


def _untrained(model: PrivateModel, *, epsilon: float, seed: int, n_classes: int) -> Any:
    models = _diffprivlib("models")
    common = {
        "epsilon": epsilon,
        "bounds": (0.0, 1.0),
        "random_state": seed,
        "accountant": _diffprivlib("accountant").BudgetAccountant(),
    }
    if model is PrivateModel.GAUSSIAN_NB:
        return models.GaussianNB(**common)
    return models.RandomForestClassifier(n_estimators=50, classes=np.arange(n_classes), **common)


def unit_halves(dataset: Dataset) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the features of either half, mapped to [0, 1], and their labels."""
    fit_x, pool_x, fit_y, pool_y = split(*load_dataset(dataset.name.lower()))
    low, high = _PUBLIC_BOUNDS.get(dataset, (fit_x.min(axis=0), fit_x.max(axis=0)))
    fit_x, pool_x = (np.clip((part - low) / (high - low), 0.0, 1.0) for part in (fit_x, pool_x))
    return fit_x, pool_x, fit_y, pool_y


def _normalised(probabilities: Any) -> Any:
    """Return rows that sum to 1; a row without mass becomes uniform."""
    values = np.nan_to_num(np.asarray(probabilities, dtype=np.float64), nan=0.0)
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), 1 / values.shape[1])


def _diffprivlib(module: str) -> Any:
    try:
        return importlib.import_module(f"diffprivlib.{module}")
    except ImportError as error:
        raise RuntimeError(
            "diffprivlib is not installed; install it with: pip install 'dpcp-audit[targets]'"
        ) from error
