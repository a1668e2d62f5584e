"""A linear score of vectors whose noise may have heavy tails, fitted to tell two inputs apart.

Squashed coordinates follow the log-ratio of Laplace noise, which is bounded, and tell as much of
Gaussian noise; one that moves by its spread is not drowned by a few outputs far out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.audits.search.features import SquashedSum

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray


def squashed_score(outputs: FloatArray, coins: BoolArray) -> SquashedSum:
    """Return the log-odds of the coin by logistic regression; 0 if all coins are alike.

    Parameters
    ----------
    outputs : ndarray, shape (size, d)
    coins : ndarray of bool, shape (size,)
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    low, centre, high = np.quantile(outputs, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    with np.errstate(invalid="ignore"):
        spread = high - low
    centre = np.where(np.isfinite(centre), centre, 0.0)
    scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
    weights: FloatArray = np.zeros((2 * outputs.shape[1],))
    if coins.any() and not coins.all():
        terms = SquashedSum(centre=centre, scale=scale, weights=weights).terms(outputs)
        model = cast("Any", LogisticRegression(C=1.0, max_iter=200))
        model.fit(terms, coins)
        weights = cast("FloatArray", model.coef_[0])
    return SquashedSum(centre=centre, scale=scale, weights=weights)
