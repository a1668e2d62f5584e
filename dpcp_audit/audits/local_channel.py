"""Known channels of a finite domain: the exact loss, and how well inputs are guessed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.law_enclosures import channel_ratio, rows_add_up
from dpcp_audit.audits.loss_bounds import log_ratio
from dpcp_audit.computed import Computation
from dpcp_audit.proofs import Proof, ProofMethod
from dpcp_audit.quantities import Quantity
from dpcp_audit.stats.enclosures import at_most

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray
    from dpcp_audit.guarantees import LocalDP
    from dpcp_audit.results import PlainData


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


def guess_loss(success: float, k: int) -> float:
    """Return the least ε at which a guess of one of k values may succeed so often.

    Examples
    --------
    >>> round(guess_loss(guess_bound(2.0, 10), 10), 12)
    2.0
    """
    _validate.closed_unit(success=success)
    _validate.integer(k=k, at_least=2)
    return max(0.0, log_ratio(success * (k - 1), 1 - success))


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
