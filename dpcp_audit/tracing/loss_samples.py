"""The joint result of both inputs' paths: the law of the loss, its lines, and composition.

With L the loss of a path on the input, δ(ε) = E[(1 − e^(ε − L))₊]: a mean of values in [0, 1]. A
path whose replay departs counts as 1 in the upper limit and as 0 in the lower one.

A proof by composition pays for every noisy number that the code acts on, however little the code
lets be seen of it. On a path, draw i moves by Δᵢ between the inputs and has a scale sᵢ: a theorem
of composition that gives the claim must allow the product of these noises, shifted by Δᵢ/sᵢ.
Where later draws depend on earlier ones, paths may cost differently: then their mean speaks, since
the divergence of the whole is the mean over its paths of the sum of theirs.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.tracing.noise_laws import LAPLACE, NORMAL
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.results import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.laws import LawPair
    from dpcp_audit.tracing.draws import Line
    from dpcp_audit.tracing.path_losses import DrawLoss, PathLoss
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


ROUNDING = 1e-9
"""Relative error of a path's loss, by rounding and quadrature."""

RHO_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Orders of the divergences that ρ is estimated by: small ones, which are stable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate:
    """A mean with its two limits, each wrong with half of the stated probability."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossSample:
    """Losses of independent paths of one direction.

    Parameters
    ----------
    losses : ndarray, shape (paths,)
        log of the probability of a path on the input, over that on the neighbour.
    departed : ndarray of bool, shape (paths,)
        Where the replay departs, so that the loss may be anything: it is put at infinity.
    errors : ndarray, shape (paths,), optional
        How far each loss may be off, besides a relative ``ROUNDING``.

    Examples
    --------
    >>> sample = LossSample(losses=np.full(1000, 1.0), departed=np.zeros(1000, bool))
    >>> found = sample.delta(0.5, significance=0.01)
    >>> round(found.value, 3), found.lower <= found.value <= found.upper
    (0.393, True)
    """

    losses: FloatArray
    departed: BoolArray
    errors: FloatArray | None = None

    @classmethod
    def of(cls, paths: list[PathLoss]) -> LossSample:
        """Return the losses of paths."""
        return cls(
            losses=np.array([path.loss for path in paths]),
            departed=np.array(
                [path.divergence is not None and not path.certain for path in paths], dtype=bool
            ),
            errors=np.array([path.error for path in paths]),
        )

    @property
    def size(self) -> int:
        """The number of paths."""
        return self.losses.size

    @property
    def mean(self) -> float:
        """The mean loss: an estimate of the Kullback–Leibler divergence."""
        return float(np.mean(self.losses))

    def with_departures(self) -> LossSample:
        """Return the losses of all that is seen: to depart shows the other input."""
        return replace(self, departed=np.zeros_like(self.departed))

    @property
    def largest(self) -> float:
        """The largest loss of a path that does not depart, less its rounding: it is reached."""
        losses = self._moved(-1.0)[~self.departed]
        return float(losses.max()) if losses.size else 0.0

    def _moved(self, sign: float) -> FloatArray:
        """Return the losses less their errors, or with them added, shape (paths,)."""
        finite = np.where(np.isinf(self.losses), 0.0, self.losses)
        room = ROUNDING * np.maximum(1.0, np.abs(finite))
        if self.errors is not None:
            room = room + self.errors
        return np.where(np.isinf(self.losses), self.losses, finite + sign * room)

    def part(self, which: slice) -> LossSample:
        """Return some of the paths."""
        return LossSample(
            losses=self.losses[which],
            departed=self.departed[which],
            errors=None if self.errors is None else self.errors[which],
        )

    def exceedances(self, epsilon: float, *, upper: bool) -> FloatArray:
        """Return (1 − e^(ε − L))₊ of each path, rounded to the safe side, shape (paths,)."""
        return np.asarray(-np.expm1(np.minimum(0.0, epsilon - self.moved(upper=upper))))

    def moved(self, *, upper: bool) -> FloatArray:
        """Return the losses, rounded to the safe side, shape (paths,)."""
        if upper:
            return self._moved(1.0)
        return np.where(self.departed, -np.inf, self._moved(-1.0))

    def delta(self, epsilon: float, *, significance: float) -> MeanEstimate:
        """Return δ(ε) of the transcript with limits, each wrong with half of ``significance``."""
        _validate.non_negative(epsilon=epsilon)
        _validate.open_unit(significance=significance)
        bets = MeanBets()
        low, high = (self.exceedances(epsilon, upper=upper) for upper in (False, True))
        value = float(np.mean(high))
        return MeanEstimate(
            value=value,
            lower=min(value, bets.lower_limit(low, significance=significance / 2)),
            upper=max(value, bets.upper_limit(high, significance=significance / 2)),
        )

    def epsilon(self, delta: float) -> float:
        """Return the ε at which the estimated δ(ε) falls to ``delta``; the largest loss at 0."""
        _validate.closed_unit(delta=delta)
        ordered = np.sort(self.losses)
        if delta == 0 or math.isinf(ordered[-1]):
            return max(0.0, float(ordered[-1]))
        low, high = 0.0, max(0.0, float(ordered[-1]))
        for _ in range(60):
            middle = (low + high) / 2
            above = float(np.mean(self.exceedances(middle, upper=True))) > delta
            low, high = (middle, high) if above else (low, middle)
        return float(high)

    def renyi(self, alpha: float) -> float:
        """Return an estimate of D_α, for ``alpha`` >= 1 (1 is the mean loss); not certified."""
        _validate.order(alpha=alpha)
        if alpha == 1:
            return self.mean
        return float(logsumexp((alpha - 1) * self.losses) - math.log(self.size)) / (alpha - 1)

    def rho(self, orders: ArrayLike = RHO_ORDERS) -> float:
        """Return the largest estimated D_α/α over a few orders."""
        return max(self.renyi(float(alpha)) / float(alpha) for alpha in np.ravel(orders))


COMPOSED = frozenset({NORMAL, LAPLACE})
"""Laws of noise that is released by adding it to a number."""
_DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedNoise:
    """Independent Gaussian and Laplace noises against the same, shifted.

    Parameters
    ----------
    gaussian : float
        √Σ(Δ/σ)² of the Gaussian ones: together they are one of that shift.
    laplace : tuple of float
        Δ/b of the Laplace ones, the largest first.
    whole : bool
        True if the path drew nothing else that the code acted on.
    seed : int
        Of a path that they are drawn on; it does not count in comparisons.
    paths : tuple of int
        How many paths from each input draw them; it does not count in comparisons.

    Examples
    --------
    >>> ComposedNoise(gaussian=1.0, laplace=(0.5, 0.25)).epsilon
    inf
    >>> ComposedNoise(laplace=(0.5, 0.25)).epsilon
    0.75
    """

    gaussian: float = 0.0
    laplace: tuple[float, ...] = ()
    whole: bool = True
    seed: int = field(default=0, compare=False)
    paths: tuple[int, ...] = field(default=(), compare=False)

    @property
    def pairs(self) -> list[LawPair]:
        """The pairs of laws that are composed."""
        gaussian: list[LawPair] = [GaussianPair(self.gaussian)] if self.gaussian else []
        return [*gaussian, *(LaplacePair((shift,)) for shift in self.laplace)]

    @property
    def epsilon(self) -> float:
        """The largest loss."""
        return math.inf if self.gaussian else math.fsum(self.laplace)

    @property
    def divergence(self) -> float:
        """The Kullback-Leibler divergence, a sum: the mean loss."""
        laplace = (shift + math.expm1(-shift) for shift in self.laplace)
        return self.gaussian**2 / 2 + math.fsum(laplace)


def composed_noise(
    paths: Sequence[Sequence[PathLoss]], seeds: IntArray
) -> tuple[ComposedNoise, ...]:
    """Return what the noises of the paths from each input cost, without repetitions.

    Where something else was drawn and seen by itself, such as a sample of the rows, nothing is
    counted: of such a path other theorems speak than those of composition. Draws that were
    compared with each other are not counted either.
    """
    found = [
        Counter(_product(*each) for each in zip(listed, row.tolist(), strict=True))
        for listed, row in zip(paths, seeds, strict=True)
    ]
    together = dict.fromkeys(noise for counted in found for noise in counted)
    return tuple(replace(each, paths=tuple(way[each] for way in found)) for each in together)


def _product(path: PathLoss, seed: int) -> ComposedNoise:
    if path.divergence is not None or any(draw.law not in COMPOSED for draw in path.draws):
        return ComposedNoise(whole=False, seed=seed)
    moved = [draw for draw in path.draws if draw.shift > 0]
    squares = math.fsum(draw.shift**2 for draw in moved if draw.law is NORMAL)
    others = (_rounded(draw.shift) for draw in moved if draw.law is LAPLACE)
    return ComposedNoise(
        gaussian=_rounded(math.sqrt(squares)),
        laplace=tuple(sorted(others, reverse=True)),
        whole=not any(math.isnan(draw.shift) for draw in path.draws),
        seed=seed,
    )


def _rounded(shift: float) -> float:
    return float(f"{shift:.{_DIGITS}e}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLoss:
    """The privacy loss that a line of the target spends.

    Parameters
    ----------
    location : SourceLocation
        The line that draws.
    draws : float
        Observed draws a run, on average.
    law : str
        As the generator's method is called.
    scale : float
        The smallest noise scale, in the unit of the noisy number; NaN where it is not known.
    sensitivity : float
        The largest difference of that number between the inputs; NaN where it is not known.
    mean_loss : float
        Its loss a run, on average over the inputs' own paths: the larger of the two directions.
    largest_loss : float
        The largest loss of one of its draws.
    share : float
        Its part of the mean loss of all lines: of what was observed, not of what a claim counts.
    joined : bool
        True if its draws were compared with each other.
    """

    location: SourceLocation
    draws: float
    law: str
    scale: float
    sensitivity: float
    mean_loss: float
    largest_loss: float
    share: float
    joined: bool = False


def line_losses(paths: Sequence[Sequence[PathLoss]]) -> tuple[LineLoss, ...]:
    """Return what each line that draws spends, the largest first."""
    means = [_means(direction) for direction in paths]
    parts: dict[tuple[Line, str], list[DrawLoss]] = defaultdict(list)
    followed = 0
    for path in (path for direction in paths for path in direction):
        followed += path.divergence is None
        for part in path.draws:
            parts[part.line, part.name].append(part)
    largest = {key: max(each.get(key, 0.0) for each in means) for key in parts}
    total = math.fsum(value for value in largest.values() if math.isfinite(value))
    found = [
        _line(key, listed, largest[key], total=total, paths=followed)
        for key, listed in parts.items()
    ]
    return tuple(sorted(found, key=lambda line: -line.mean_loss))


def _means(paths: Sequence[PathLoss]) -> dict[tuple[Line, str], float]:
    sums: dict[tuple[Line, str], float] = defaultdict(float)
    followed = [path for path in paths if path.divergence is None]
    for part in (part for path in followed for part in path.draws):
        sums[part.line, part.name] += part.loss / len(followed)
    return sums


def _line(
    key: tuple[Line, str], parts: Sequence[DrawLoss], mean: float, *, total: float, paths: int
) -> LineLoss:
    scales = [part.scale for part in parts if not math.isnan(part.scale)]
    moves = [part.sensitivity for part in parts if not math.isnan(part.sensitivity)]
    return LineLoss(
        location=SourceLocation.of(*key[0]),
        draws=len(parts) / paths,
        law=key[1],
        scale=min(scales, default=math.nan),
        sensitivity=max(moves, default=math.nan),
        mean_loss=mean,
        largest_loss=max(part.loss for part in parts),
        share=mean / total if total > 0 and math.isfinite(mean) else 0.0,
        joined=any(part.law is not None and math.isnan(part.scale) for part in parts),
    )
