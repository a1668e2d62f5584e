"""What is taken of scikit-learn, which has no types; importing it is slow, so late.

Labelled images, and the pool of probabilities that a classifier fitted to half of them gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.pools import Dataset, ProbabilityPool
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcp_audit.words.arrays import FloatArray, IntArray


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


_PUBLIC_BOUNDS = {Dataset.DIGITS: (0.0, 16.0)}


def unit_halves(dataset: Dataset) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the features of either half, mapped to [0, 1], and their labels."""
    fit_x, pool_x, fit_y, pool_y = split(*load_dataset(dataset.name.lower()))
    low, high = _PUBLIC_BOUNDS.get(dataset, (fit_x.min(axis=0), fit_x.max(axis=0)))
    fit_x, pool_x = (np.clip((part - low) / (high - low), 0.0, 1.0) for part in (fit_x, pool_x))
    return fit_x, pool_x, fit_y, pool_y


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageData:
    """Images with their labels.

    Parameters
    ----------
    name : str
        What the data are called.
    images : ndarray of uint8, shape (n, h, w, c)
        c is 1 for grey images and 3 for RGB.
    labels : ndarray of int, shape (n,)
        Places in ``classes``.
    classes : tuple of str
        The classes' names.
    """

    name: str
    images: NDArray[np.uint8]
    labels: IntArray
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        shape = self.images.shape
        if self.images.dtype != np.uint8 or len(shape) != 4 or shape[3] not in (1, 3):
            raise ValueError(
                "images must be uint8 of shape (n, h, w, 1 or 3), got "
                f"{self.images.dtype} of shape {shape}"
            )
        if 0 in shape:
            raise ValueError(f"images must not be empty, got shape {shape}")
        if len(self.classes) < 2:
            raise ValueError(f"classes must hold at least two names, got {self.classes!r}")
        _validate.labels(self.labels, n_classes=len(self.classes), shape=shape[:1])


def image_pool(
    data: ImageData, classifier: Any = None, *, components: int = 50, fit_share: float = 0.5
) -> ProbabilityPool:
    """Fit a classifier to a part of the images and return its probabilities of the rest.

    Pixels are scaled to [0, 1], flattened and reduced to principal components, which are found
    on the fitted part alone. The split is stratified and always the same.

    Parameters
    ----------
    data : ImageData
        At least two images of every class that occurs.
    classifier : scikit-learn classifier, optional
        With ``fit`` and ``predict_proba``; logistic regression where none is given.
    components : int
        Principal components, at most as many as there are images and pixels.
    fit_share : float
        The share of images, in (0, 1), that fits the classifier.
    """
    from sklearn.decomposition import PCA  # noqa: PLC0415  (slow to import)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    _validate.integer(components=components, at_least=1)
    _validate.open_unit(fit_share=fit_share)
    _check_counts(data)
    pixels = data.images.reshape(data.labels.size, -1) / 255
    fit_x, pool_x, fit_y, pool_y = split(pixels, data.labels, share=fit_share)
    reduced = PCA(min(components, *fit_x.shape), random_state=0)
    model = LogisticRegression(max_iter=1000) if classifier is None else classifier
    fitted = pipeline(reduced, model).fit(fit_x, fit_y)
    probabilities = np.zeros((pool_y.size, len(data.classes)))
    probabilities[:, fitted.classes_] = fitted.predict_proba(pool_x)
    return ProbabilityPool(data.name, probabilities, np.asarray(pool_y, dtype=np.int64))


def _check_counts(data: ImageData) -> None:
    seen, counts = np.unique(data.labels, return_counts=True)
    if seen.size < 2:
        raise ValueError(
            f"labels must name at least two classes, got {data.classes[seen[0]]!r} alone"
        )
    rare: list[str] = [data.classes[i] for i in seen[counts < 2]]
    if rare:
        raise ValueError(f"labels must hold every class twice or more, got {rare} once")
