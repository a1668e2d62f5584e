"""Labelled examples to train on, and canaries whose gradient is known beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.mechanisms.dpsgd.training_settings import Clipping
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcp_audit.words.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Examples with their labels.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n, ...)
        Features (n, f), or images (n, channels, height, width). Other real numbers are rounded
        to float32.
    labels : ndarray of int, shape (n,)
        The classes, in {0, ..., n_classes−1}.
    n_classes : int
        At least 2.
    """

    inputs: NDArray[np.float32]
    labels: IntArray
    n_classes: int

    def __post_init__(self) -> None:
        _validate.integer(n_classes=self.n_classes, at_least=2)
        inputs = network_inputs(self.inputs)
        labels = _validate.labels(self.labels, n_classes=self.n_classes, shape=inputs.shape[:1])
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "labels", np.ascontiguousarray(labels))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: NDArray[Any]) -> Examples:
        """Return the examples at these places (indices or a mask)."""
        return Examples(
            inputs=self.inputs[places], labels=self.labels[places], n_classes=self.n_classes
        )

    def joined(self, other: Examples) -> Examples:
        """Return these examples followed by others of the same shape and classes."""
        if other.n_classes != self.n_classes or other.inputs.shape[1:] != self.inputs.shape[1:]:
            raise ValueError(
                f"other must have {self.n_classes} classes and inputs of shape "
                f"(n, {', '.join(map(str, self.inputs.shape[1:]))}), got {other.n_classes} and "
                f"shape {other.inputs.shape}"
            )
        return Examples(
            inputs=np.concatenate([self.inputs, other.inputs]),
            labels=np.concatenate([self.labels, other.labels]),
            n_classes=self.n_classes,
        )


def network_inputs(inputs: NDArray[Any]) -> NDArray[np.float32]:
    """Return inputs (n, ...) as a contiguous float32 array; they must be finite real numbers."""
    given = np.asarray(inputs)
    if given.ndim < 2 or 0 in given.shape:
        raise ValueError(f"inputs must have shape (n, ...), got shape {given.shape}")
    if given.dtype.kind not in "fiu":
        raise ValueError(f"inputs must be real numbers, got {given.dtype}")
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(given, dtype=np.float32)
    if not np.isfinite(single).all():
        raise ValueError(f"inputs must be finite in float32, got {given[~np.isfinite(single)][:3]}")
    return single


def digits() -> Examples:
    """Return scikit-learn's digits: 1797 images of 8 × 8 pixels as features in [0, 1]."""
    from sklearn import datasets  # noqa: PLC0415  (slow to import)

    features, labels = cast("Any", datasets).load_digits(return_X_y=True)
    return Examples(
        inputs=np.asarray(features / 16, dtype=np.float32),
        labels=np.asarray(labels, dtype=np.int64),
        n_classes=10,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientCanaries:
    """Canaries with the gradient norm·e_j at every step, each on a parameter j of its own.

    They are sampled, clipped and summed as any other example. Being orthogonal, they do not
    disturb one another (Nasr et al. 2023, the Dirac canary).

    Parameters
    ----------
    coordinates : ndarray of int, shape (m,)
        The parameter of each canary, from 0 on, all different.
    members : ndarray of bool, shape (replicas, m)
        True where a canary is in a replica's data.
    norm : float
        The gradient's norm before clipping.
    """

    coordinates: IntArray
    members: BoolArray
    norm: float = 1.0

    def __post_init__(self) -> None:
        _validate.positive(norm=self.norm)
        if self.coordinates.ndim != 1 or np.unique(self.coordinates).size != len(self.coordinates):
            raise ValueError("coordinates must be a vector of different parameters")
        if not np.issubdtype(self.coordinates.dtype, np.integer) or (self.coordinates < 0).any():
            raise ValueError(f"coordinates must be integers >= 0, got {self.coordinates!r}")
        if self.members.dtype != np.bool_:
            raise ValueError(f"members must be bool, got {self.members.dtype}")
        if self.members.ndim != 2 or self.members.shape[1] != len(self.coordinates):
            raise ValueError(
                f"members must have shape (replicas, {len(self.coordinates)}), "
                f"got shape {self.members.shape}"
            )

    def clipped_norm(self, *, clip: Clipping, limit: float, n_layers: int) -> float:
        """Return the norm that is left after clipping to ``limit``."""
        share = limit if clip is Clipping.FLAT else limit / math.sqrt(n_layers)
        return min(self.norm, share)
