"""Gradient canaries: examples of the attacker's choice whose gradient is known beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.mechanisms.dpsgd.training_settings import Clipping

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, IntArray


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
        Which canaries are in each replica's data.
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
