"""dp-accounting's distributions of the privacy loss: made, composed, and read at many ε at once.

The library takes δ at many ε one ε at a time: a trade-off curve of 2000 points takes it seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.arrays import FloatArray


_BLOCK = 2**16
"""Losses that are held at a time, of up to a million."""


def deltas_of(loss: Any, epsilons: FloatArray) -> FloatArray:
    """Return δ at every ε, of the worse direction.

    Parameters
    ----------
    loss : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
    epsilons : ndarray, shape (k,)
    """
    return np.asarray(np.max([_deltas(grid, epsilons) for grid in _grids(loss)], axis=0))


def epsilon_of(loss: Any, delta: float) -> float:
    """Return the least ε ≥ 0 whose δ is at most ``delta``, of the worse direction."""
    return float(loss.get_epsilon_for_delta(delta))


def gaussian_step(
    noise_multiplier: float, sampling_rate: float, *, interval: float, pessimistic: bool
) -> Any:
    """Return the loss of one subsampled Gaussian step, both directions of add/remove.

    Parameters
    ----------
    noise_multiplier : float
        σ > 0.
    sampling_rate : float
        q in (0, 1].
    interval : float
        Width of the grid of losses, in nats.
    pessimistic : bool
        True for an upper bound of δ (by connecting the dots of the privacy profile), False for a
        lower one (losses rounded down).
    """
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )

    return pld.from_gaussian_mechanism(
        noise_multiplier,
        pessimistic_estimate=pessimistic,
        value_discretization_interval=interval,
        sampling_prob=sampling_rate,
        use_connect_dots=pessimistic,
    )


def self_composed(loss: Any, count: int) -> Any:
    """Return the loss of ``count`` independent releases."""
    return loss.self_compose(count)


class _Grid:
    """One direction's masses on rising losses, and at infinity."""

    def __init__(self, pmf: Any) -> None:
        dense = pmf.to_dense_pmf()
        self.infinity = float(dense._infinity_mass)  # noqa: SLF001
        self.mass: FloatArray = np.asarray(dense._probs, dtype=np.float64)  # noqa: SLF001
        self._lowest = int(dense._lower_loss)  # noqa: SLF001
        self._interval = float(dense._discretization)  # noqa: SLF001

    @property
    def losses(self) -> FloatArray:
        """The losses, shape (m,)."""
        return self._losses(0, self.mass.size)

    def from_above(self) -> Iterator[_Tail]:
        """Yield the tails of the k largest losses, from k = 0 on, a block at a time."""
        upper, lower = self.infinity, 0.0
        for end in range(self.mass.size, 0, -_BLOCK):
            begin = max(0, end - _BLOCK)
            mass, losses = self.mass[begin:end][::-1], self._losses(begin, end)[::-1]
            with np.errstate(over="ignore", invalid="ignore"):
                other = np.where(mass > 0, mass * np.exp(-losses), 0.0)
            tail = _Tail(
                losses,
                np.cumsum(np.concatenate([[upper], mass])),
                np.cumsum(np.concatenate([[lower], other])),
            )
            yield tail
            upper, lower = float(tail.upper[-1]), float(tail.lower[-1])

    def _losses(self, begin: int, end: int) -> FloatArray:
        losses: FloatArray = (np.arange(begin, end) + self._lowest) * np.float64(self._interval)
        return losses


class _Tail(NamedTuple):
    """P and Q of losses from above: before each of a block of falling losses, and after the last.

    Infinity is among P's.
    """

    losses: FloatArray
    upper: FloatArray
    lower: FloatArray


def _grids(loss: Any) -> list[_Grid]:
    """Return the directions of a distribution; one where both are alike."""
    symmetric = loss._symmetric  # noqa: SLF001
    ways = [loss._pmf_remove] if symmetric else [loss._pmf_remove, loss._pmf_add]  # noqa: SLF001
    return [_Grid(pmf) for pmf in ways]


def _deltas(grid: _Grid, epsilons: FloatArray) -> FloatArray:
    above = grid.mass.size - np.searchsorted(grid.losses, epsilons, side="right")
    upper, lower = np.full(above.shape, grid.infinity), np.zeros(above.shape)
    for place, tail in enumerate(grid.from_above()):
        within = above - place * _BLOCK
        here = (within > 0) & (within <= tail.losses.size)
        upper[here], lower[here] = tail.upper[within[here]], tail.lower[within[here]]
    return upper - np.exp(epsilons) * lower
