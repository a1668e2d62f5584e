"""dp-accounting's distributions of the privacy loss: made and read by arrays, not loss by loss.

The library takes the Gaussian's grid, δ at many ε and ε at a δ one loss at a time, in Python, and
transforms real masses as complex numbers. What is here does the same arithmetic on whole grids.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import fft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.arrays import FloatArray


_BLOCK = 2**16
"""Losses that are held at a time, of up to a million."""
_CUT = 1e-15
"""What a composition may cut off from both tails together, and adds at infinity."""
_ORDERS: FloatArray = np.concatenate([np.arange(-20.0, 0.0), np.arange(1.0, 21.0)])
"""Orders of the moments that bound the tails, times the number of losses."""


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
    return max(_epsilon(grid, delta) for grid in _grids(loss))


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
        Whether δ is bounded from above (by connecting the dots of the privacy profile) or from
        below (losses rounded down).
    """
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )
    from dp_accounting.pld import privacy_loss_mechanism as mechanisms  # noqa: PLC0415

    kinds = mechanisms.AdjacencyType
    ways = (kinds.REMOVE,) if sampling_rate == 1 else (kinds.REMOVE, kinds.ADD)
    laws = [
        mechanisms.GaussianPrivacyLoss(
            noise_multiplier,
            pessimistic_estimate=pessimistic,
            sampling_prob=sampling_rate,
            adjacency_type=way,
        )
        for way in ways
    ]
    grid = _connected if pessimistic else _rounded_down
    return pld.PrivacyLossDistribution(*(grid(law, interval) for law in laws))


def self_composed(loss: Any, count: int) -> Any:
    """Return the loss of ``count`` independent releases, of a loss on a grid.

    The library's own composition, but by Fourier transforms of real numbers, in half the time.
    """
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )

    return pld.PrivacyLossDistribution(
        *(_convolved(pmf.to_dense_pmf(), count) for pmf in _directions(loss))
    )


def _convolved(pmf: Any, count: int) -> Any:
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415  (slow to import)

    mass: FloatArray = np.asarray(pmf._probs, dtype=np.float64)  # noqa: SLF001
    low, high = _kept(mass, count)
    length = fft.next_fast_len(max(high - low + 1, mass.size), real=True)
    whole = fft.irfft(fft.rfft(mass, length) ** count, length)  # indices wrap around
    infinity = _CUT - math.expm1(count * math.log1p(-pmf._infinity_mass))  # noqa: SLF001
    return pld_pmf.DensePLDPmf(
        pmf._discretization,  # noqa: SLF001
        pmf._lower_loss * count + low,  # noqa: SLF001
        np.roll(whole, -low)[: high - low + 1],
        infinity,
        pmf._pessimistic_estimate,  # noqa: SLF001
    )


def _kept(mass: FloatArray, count: int) -> tuple[int, int]:
    """Return the places that all but ``_CUT`` of a composition lies between (Chernoff's bound)."""
    low, high, places = 0, (mass.size - 1) * count, np.arange(mass.size, dtype=np.float64)
    for order in _ORDERS / mass.size:
        largest = max(0.0, order * (mass.size - 1))
        total = float(mass @ np.exp(order * places - largest))
        if total <= 0:  # all of it lies at infinity
            continue
        moment = largest + math.log(total)
        bound = (count * moment + math.log(2 / _CUT)) / order
        if order > 0:
            high = min(high, math.ceil(bound))
        else:
            low = max(low, math.floor(bound))
    return low, high


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
    return [_Grid(pmf) for pmf in _directions(loss)]


def _directions(loss: Any) -> list[Any]:
    return [loss._pmf_remove] if loss._symmetric else [loss._pmf_remove, loss._pmf_add]  # noqa: SLF001


def _deltas(grid: _Grid, epsilons: FloatArray) -> FloatArray:
    above = grid.mass.size - np.searchsorted(grid.losses, epsilons, side="right")
    upper, lower = np.full(above.shape, grid.infinity), np.zeros(above.shape)
    for place, tail in enumerate(grid.from_above()):
        within = above - place * _BLOCK
        here = (within > 0) & (within <= tail.losses.size)
        upper[here], lower[here] = tail.upper[within[here]], tail.lower[within[here]]
    return upper - np.exp(epsilons) * lower


def _epsilon(grid: _Grid, delta: float) -> float:
    if grid.infinity > delta:
        return math.inf
    upper, lower = grid.infinity, 0.0
    for tail in grid.from_above():
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            turns = np.log((tail.upper[:-1] - delta) / tail.lower[:-1])
        lost = (tail.upper[1:] >= delta) & (tail.lower[1:] == 0)  # e^−loss is no double
        reached = (tail.upper[:-1] > delta) & (tail.lower[:-1] > 0) & (turns >= tail.losses)
        stop = int(np.argmax(reached)) if reached.any() else reached.size
        if lost[:stop].any():
            return max(0.0, float(tail.losses[int(np.argmax(lost))]))
        upper, lower = float(tail.upper[stop]), float(tail.lower[stop])
        if stop < reached.size:
            break
    if upper <= lower + delta:
        return 0.0
    return float(np.log((upper - delta) / lower))


def _inverse(law: Any, losses: FloatArray) -> FloatArray:
    """Return the largest outcome whose loss is at least so much, of losses that are reached."""
    rate, sigma = law.sampling_prob, law.standard_deviation
    adding = law.adjacency_type.name == "ADD"
    whole = losses
    if rate < 1:
        signed = -losses if adding else losses
        beyond = signed + math.log(1 / rate)
        with np.errstate(divide="ignore"):
            whole = beyond + np.log1p(-np.exp(math.log(1 / rate - 1) - beyond))
        whole = -whole if adding else whole
    return np.asarray((0.5 if adding else -0.5) - whole * sigma**2)


def _connected(law: Any, interval: float) -> Any:
    """Return the masses whose privacy profile connects the law's at the grid's points."""
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415  (slow to import)

    ends = law.connect_dots_bounds()
    low = math.floor(float(ends.epsilon_lower) / interval)
    high = math.ceil(float(ends.epsilon_upper) / interval)
    epsilons: FloatArray = np.arange(low, high + 1, dtype=np.float64) * interval
    deltas, inside = np.zeros(epsilons.shape), np.ones(epsilons.shape, dtype=np.bool_)
    limit = -math.log1p(-law.sampling_prob) if law.sampling_prob < 1 else math.inf
    if law.adjacency_type.name == "ADD":
        inside = epsilons < limit
    else:
        inside = epsilons > -limit
        deltas[~inside] = -np.expm1(epsilons[~inside])
    cut = _inverse(law, epsilons[inside])
    deltas[inside] = law.mu_upper_cdf(cut) - np.exp(epsilons[inside] + law.mu_lower_log_cdf(cut))
    deltas = np.clip(deltas, 0.0, 1.0)
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, low, high, deltas)


def _rounded_down(law: Any, interval: float) -> Any:
    """Return the masses of the losses, each rounded down to the grid."""
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415  (slow to import)

    tail = law.privacy_loss_tail()
    low, high = tail.lower_x_truncation, tail.upper_x_truncation
    first, last = (float(law.privacy_loss(x)) / interval for x in (low, high))
    places: FloatArray = np.arange(math.floor(first), math.floor(last) - 1, -1.0)
    places = places[: int(np.sum(interval * places > interval * last)) + 1]
    cuts = np.concatenate([[low], _inverse(law, interval * places[:-1]), [high]])
    inside: FloatArray = np.diff(law.mu_upper_cdf(cuts))
    masses = dict(zip(places.astype(int).tolist(), inside.tolist(), strict=True))
    for loss, mass in tail.tail_probability_mass_function.items():
        place = math.floor(loss / interval)
        masses[place] = masses.get(place, 0.0) + mass
    return pld_pmf.create_pmf(masses, interval, 0.0, pessimistic_estimate=False)
