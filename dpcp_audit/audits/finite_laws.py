"""Known channels of a finite domain: the exact loss, and how well inputs are guessed.

Exact laws of n shuffled reports of any randomizer whose law on every value is known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.audits.enclosed_laws import channel_ratio, rows_add_up
from dpcp_audit.audits.search.record_pairs import changes
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.shuffle import hidden_laws
from dpcp_audit.stats.enclosures import at_most
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.computed import Computation
from dpcp_audit.words.proofs import (
    Proof,
    ProofMethod,
)
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import BoolArray, FloatArray
    from dpcp_audit.words.guarantees import LocalDP
    from dpcp_audit.words.results import PlainData


class LogRatio(NamedTuple):
    """The largest log-ratio of a channel, and where it is attained."""

    value: float
    inputs: tuple[int, int]
    output: int


def channel_log_ratio(channel: ArrayLike) -> LogRatio:
    """Return the largest log P(y|x)/P(y|x′) over all pairs of inputs and all outputs.

    Over sets of outputs it is no larger: a ratio of sums lies below the largest ratio.

    Parameters
    ----------
    channel : array_like, shape (k, m)
        P(y|x), an input a row; at least two rows, each summing to 1 within 1e-6.

    Examples
    --------
    >>> channel_log_ratio([[0.75, 0.25], [0.5, 0.5]])
    LogRatio(value=0.6931471805599453, inputs=(1, 0), output=1)
    """
    mass = _channel(channel)
    high, low = mass.argmax(axis=0), mass.argmin(axis=0)
    outputs = np.arange(int(mass.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(mass[high, outputs]) - np.log(mass[low, outputs])
    worst = int(np.nanargmax(ratios))
    return LogRatio(float(ratios[worst]), (int(high[worst]), int(low[worst])), worst)


def guess_success(channel: ArrayLike) -> float:
    """Return the chance of the best guess of a uniform input, Σ_y max_x P(y|x)/k.

    Parameters
    ----------
    channel : array_like, shape (k, m)
        P(y|x), an input a row.
    """
    mass = _channel(channel)
    return float(mass.max(axis=0).sum() / mass.shape[0])


def guess_bound(epsilon: float, k: int) -> float:
    """Return e^ε/(e^ε+k−1), the largest chance of a guess that ε-LDP allows.

    The input is uniform over k values; the posterior of one is at most e^ε times that of any
    other, whatever the report.
    """
    _validate.positive(epsilon=epsilon)
    _validate.integer(k=k, at_least=2)
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


def channel_outcome(
    guarantee: LocalDP, channel: ArrayLike, *, witness: PlainData | None = None
) -> Computation:
    """Test ε-LDP against a known channel matrix, shape (k, m), over all pairs of inputs.

    The matrix is a table of doubles, each known up to a few units in its last place: a claim that
    only their rounding decides is neither proved nor refuted.
    """
    mass = _channel(channel)
    worst = channel_log_ratio(mass)
    ratio = channel_ratio(mass)
    compared = at_most("the largest log-ratio ≤ ε", ratio, guarantee.epsilon)
    low, high = compared.left
    return Computation(
        quantity=Quantity.EPSILON,
        detail="largest log-ratio",
        value=worst.value,
        claimed=guarantee.epsilon,
        lower=low if math.isfinite(low) else None,
        upper=high,
        proof=Proof(
            method=ProofMethod.ENUMERATION,
            argument="All pairs of inputs and all outputs are compared.",
            premises=(rows_add_up(mass), compared),
            parameters={"epsilon": guarantee.epsilon},
        ),
        witness=(witness or {})
        | {
            "epsilon": guarantee.epsilon,
            "value": worst.inputs[0],
            "neighbour": worst.inputs[1],
            "event": [worst.output],
        },
        note=(
            f"Output {worst.output} has probability {mass[worst.inputs[0], worst.output]:.4g} on "
            f"input {worst.inputs[0]} and {mass[worst.inputs[1], worst.output]:.4g} on input "
            f"{worst.inputs[1]}. The best guess of a uniform input succeeds with probability "
            f"{guess_success(mass):.4g}; ε-LDP allows "
            f"{guess_bound(guarantee.epsilon, mass.shape[0]):.4g}."
        ),
    )


def _channel(channel: ArrayLike) -> FloatArray:
    mass = _validate.probabilities(channel, name="channel")
    if mass.shape[0] < 2:
        raise ValueError(f"channel must have at least two rows, got shape {mass.shape}")
    return mass


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
