"""Calibrators of the zoo: split conformal classification, right and wrong, as users write it.

Each function takes probabilities (n, K) and labels (n,) and returns a threshold on 1 − p_y.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.mechanisms import conformal_rank

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray


ALPHA = 0.1


def split_conformal(
    probabilities: FloatArray,
    labels: IntArray,
    *,
    rng: np.random.Generator,
    score: str = "true-label",
) -> float:
    """Return the conformal quantile of 1 − p_y; "predicted-label" scores the likeliest label."""
    del rng
    own = probabilities[np.arange(len(labels)), labels]
    scores = 1 - (own if score == "true-label" else probabilities.max(axis=1))
    rank = conformal_rank(len(scores), alpha=ALPHA)
    return math.inf if rank > len(scores) else float(np.sort(scores)[rank - 1])


def rounded_down(probabilities: FloatArray, labels: IntArray, *, rng: np.random.Generator) -> float:
    """Round the conformal quantile to two decimals."""
    return round(split_conformal(probabilities, labels, rng=rng), 2)
