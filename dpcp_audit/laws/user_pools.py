"""Pools that users bring: saved probabilities, or images to which a classifier is fitted."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.laws.loaders import arrays_of, load_cifar10, load_medmnist
from dpcp_audit.laws.models import image_pool
from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import FloatArray


_PROBABILITIES = {"probabilities", "labels"}
_MEDMNIST = {"train_images", "train_labels"}


@functools.cache
def load_pool(path: str) -> ProbabilityPool:
    """Read a pool from a user's file or folder; it is read once a process.

    Parameters
    ----------
    path : str
        An ``.npz`` written by ``numpy.savez(path, probabilities=..., labels=...)``: class
        probabilities, shape (m, k), and true labels in {0, ..., k−1}, shape (m,), whose name is
        the file's without its ending; or images, to a half of which a logistic regression on
        principal components is fitted (see ``image_pool``): a MedMNIST ``.npz``, or the folder of
        CIFAR-10's Python batches.

    Raises
    ------
    ValueError
        If the path names none of these.
    """
    if _is_folder(path):
        return image_pool(load_cifar10(path))
    held = _read(path)
    if held.keys() >= _MEDMNIST:
        splits = [s for s in ("train", "val", "test") if f"{s}_images" in held]
        return image_pool(load_medmnist(path, splits=splits))
    missing = sorted(_PROBABILITIES - held.keys())
    if missing:
        raise ValueError(f"path must hold probabilities and labels, {path!r} lacks {missing}")
    probabilities = _validate.probabilities(held["probabilities"])
    m, n_classes = probabilities.shape
    labels = _validate.labels(held["labels"], n_classes=n_classes, shape=(m,))
    return ProbabilityPool(Path(path).stem.replace(" ", "_"), probabilities, labels)


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError as error:  # a name that is too long
        raise ValueError(f"path must name a file or a folder, got {path!r}") from error


def _read(path: str) -> dict[str, FloatArray]:
    try:
        return arrays_of(Path(path))
    except ValueError as error:
        raise ValueError(f"path must name a readable .npz file, got {path!r} ({error})") from error
