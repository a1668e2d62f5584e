"""Randomizers of a finite domain: the best guess that ε-LDP allows, and n shuffled reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.record_pairs import changes
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.shuffle import hidden_laws
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.arrays import BoolArray, FloatArray


def guess_bound(epsilon: float, k: int) -> float:
    """Return e^ε/(e^ε+k−1), the largest chance of a guess that ε-LDP allows.

    The input is uniform over k values; the posterior of one is at most e^ε times that of any
    other, whatever the report.
    """
    _validate.positive(epsilon=epsilon)
    _validate.integer(k=k, at_least=2)
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


_SMALL, _LARGE = 120, 10_000
"""Users up to which counts of four groups of reports are enumerated, of three; beyond, of two."""
_SAME, _ROUNDING = 9, 1e-9
"""Decimals to which two log-ratios are one, and by which two probabilities may differ."""


def shuffled_pairs(
    channel: FloatArray, n: int
) -> Iterator[tuple[tuple[int, int, int], FinitePair]]:
    """Yield (a, b, c) with the laws of the counts where one of n users holds a, or b, the others c.

    Reports are merged into those that speak most for a, most for b, and the rest, of which those
    that are likeliest on c are apart where n is small. What is merged can only hide: the loss is
    exact where reports of a group are alike, as of k-ary response of few users, and a lower
    bound elsewhere (``nothing_merged``). A report that the others never give is not hidden among
    theirs: the laws are those of whether there is one.

    Parameters
    ----------
    channel : ndarray, shape (K, m)
        The probability of each report on each value.
    n : int
        The number of users.
    """
    for a, b, c in changes(len(channel)):
        groups = _groups(channel[a], channel[b], channel[c], n)
        merged = np.stack([channel[:, group].sum(axis=1) for group in groups], axis=1)
        merged /= merged.sum(axis=1, keepdims=True)
        if (merged[c] > 0).all():
            yield (a, b, c), FinitePair(*hidden_laws(n, merged[c], [merged[a], merged[b]]))
        else:
            yield (a, b, c), FinitePair(*(_bare(channel[v], channel[c] == 0) for v in (a, b)))


def nothing_merged(channel: FloatArray, n: int) -> bool:
    """Tell whether all reports of every group are alike, so that the laws are exact.

    Examples
    --------
    >>> nothing_merged(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]), 50)
    True
    >>> nothing_merged(np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]), 50_000)
    False
    """
    return all(
        _alike(channel[[a, b, c]][:, group])
        for a, b, c in changes(len(channel))
        for group in _groups(channel[a], channel[b], channel[c], n)
    )


def _alike(columns: FloatArray) -> bool:
    """Tell whether columns are in proportion, to rounding, and each report can come from others."""
    shares = columns / columns.sum(axis=0)
    return bool(columns[2].all() and np.ptp(shares, axis=1).max() < _ROUNDING)


def _bare(law: FloatArray, never: BoolArray) -> FiniteLaw:
    """Return the law of whether a user's report is one that the others never give."""
    shown = float(np.clip(law[never].sum(), 0.0, 1.0))
    with np.errstate(divide="ignore"):
        return FiniteLaw(np.log([shown, 1 - shown]), np.zeros(2))


def _groups(law: FloatArray, other: FloatArray, crowd: FloatArray, n: int) -> list[BoolArray]:
    """Return which reports speak for the first law, for the other one, for the crowd's, and not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.round(np.log(law / other), _SAME)
    ratio = np.nan_to_num(ratio, nan=0.0)
    first, last = ratio == ratio.max(), ratio == ratio.min()
    if n > _LARGE:
        return [group for group in (first, ~first) if group.any()]
    rest = ~(first | last)
    likely = rest & (crowd >= np.max(crowd[rest], initial=0.0) * (1 - _ROUNDING))
    split = [likely, rest & ~likely] if n <= _SMALL else [rest]
    return [group for group in (first, last & ~first, *split) if group.any()]
