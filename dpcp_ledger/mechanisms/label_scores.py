"""Scores of labels that papers compare: APS, as defined and as printed, RAPS; and their sets.

Ties between probabilities are handled as each formula says; APS divides by the row's sum (1 up to
rounding), so that rounding takes no score past the end of its range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import BoolArray, FloatArray, IntArray


def aps(probabilities: ArrayLike, *, u: ArrayLike | None = None) -> FloatArray:
    """Return APS of every label as Romano, Sesia and Candès (2020) define it.

    Σ_{j: p_j > p_i} p_j + u·p_i, or without ``u`` the non-randomised Σ_{j: p_j >= p_i} p_j;
    where no probabilities are tied, that is u = 1.

    Parameters
    ----------
    probabilities : array_like, shape (n, k)
        Class probabilities; rows sum to 1.
    u : array_like, shape (n,) or (n, k), optional
        Uniform draws in [0, 1]: one a row, or one a label.

    Returns
    -------
    ndarray, shape (n, k)
        In [0, 1].

    Examples
    --------
    >>> aps([[0.5, 0.25, 0.25]])
    array([[0.5, 1. , 1. ]])
    >>> aps([[0.5, 0.25, 0.25]], u=[0.5])
    array([[0.25 , 0.625, 0.625]])
    """
    p = _validate.probabilities(probabilities)
    sums = _sums_of_larger(p)
    if u is None:
        return sums.at_least / sums.total
    return (sums.larger + _uniforms(u) * p) / sums.total


def raps(
    probabilities: ArrayLike, *, penalty: float, spared: int, u: ArrayLike | None = None
) -> FloatArray:
    """Return RAPS of every label (Angelopoulos, Bates, Jordan and Malik 2021), within [0, 1].

    APS plus ``penalty`` for every place of the label's rank beyond ``spared``, divided by the most
    that it can be: private calibration searches a public interval, and an order is all it needs.

    Parameters
    ----------
    probabilities : array_like, shape (n, k)
        Class probabilities; rows sum to 1. Of tied labels, each has the highest rank.
    penalty : float
        λ >= 0.
    spared : int
        Ranks without a penalty, from 1 to k.
    u : array_like, optional
        As for ``aps``.

    Examples
    --------
    >>> raps([[0.5, 0.25, 0.25]], penalty=0.5, spared=2)
    array([[0.33333333, 1.        , 1.        ]])
    """
    p = _validate.probabilities(probabilities)
    ranks = (p[:, None, :] >= p[:, :, None]).sum(axis=2)
    charged = penalty * np.maximum(0, ranks - spared)
    most = 1 + penalty * (p.shape[1] - spared)
    return np.asarray((aps(p, u=u) + charged) / most, dtype=np.float64)


def aps_as_printed(probabilities: ArrayLike, *, u: ArrayLike) -> FloatArray:
    """Return Σ_{j: p_j >= p_i} p_j + u·p_i, as the LDP-CP paper prints APS (Section 2.1).

    The label's own probability is counted twice, so the scores reach 2 as p_i and u reach 1.

    Parameters
    ----------
    probabilities : array_like, shape (n, k)
        Class probabilities; rows sum to 1.
    u : array_like, shape (n,) or (n, k)
        Uniform draws in [0, 1]: one a row, or one a label.

    Returns
    -------
    ndarray, shape (n, k)
        In [0, 2].

    Examples
    --------
    >>> aps_as_printed([[0.75, 0.25]], u=[1.0])
    array([[1.5 , 1.25]])
    """
    p = _validate.probabilities(probabilities)
    sums = _sums_of_larger(p)
    return (sums.at_least + _uniforms(u) * p) / sums.total


def prediction_sets(scores: ArrayLike, threshold: float) -> BoolArray:
    """Return C_q(x) = {y: S(x, y) <= q} of every row, as membership.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Scores of every label.
    threshold : float
        q; +∞ gives the full set.

    Returns
    -------
    ndarray of bool, shape (n, k)
    """
    values = _validate.array(scores, name="scores", ndim=2)
    return values <= threshold


class _Sums(NamedTuple):
    """For every label, the sums of p_j over p_j > p_i and over p_j >= p_i; and the row's sum."""

    larger: FloatArray
    at_least: FloatArray
    total: FloatArray


def _sums_of_larger(p: FloatArray) -> _Sums:
    n, k = p.shape
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    running = np.concatenate([np.zeros((n, 1)), np.cumsum(ranked, axis=1)], axis=1)
    place = np.arange(int(k))
    differs = ranked[:, 1:] != ranked[:, :-1]
    starts = np.concatenate([np.ones((n, 1), dtype=np.bool_), differs], axis=1)
    ends = np.concatenate([differs, np.ones((n, 1), dtype=np.bool_)], axis=1)
    started = cast("IntArray", np.where(starts, place, 0))
    ended = cast("IntArray", np.where(ends, place, int(k)))
    first = np.maximum.accumulate(started, axis=1)
    last = np.minimum.accumulate(ended[:, ::-1], axis=1)[:, ::-1]
    larger, at_least = np.empty_like(p), np.empty_like(p)
    np.put_along_axis(larger, order, np.take_along_axis(running, first, axis=1), axis=1)
    np.put_along_axis(at_least, order, np.take_along_axis(running, last + 1, axis=1), axis=1)
    return _Sums(larger, at_least, running[:, -1:])


def _uniforms(u: ArrayLike) -> FloatArray:
    given = _validate.reals(u, name="u")
    values = _validate.array(given, name="u", ndim=2 if given.ndim == 2 else 1)
    return values if values.ndim == 2 else values[:, None]
