"""Limits of what a sample of path losses shows: ε at δ, quantiles of the loss, D_α and ρ.

All hold at any number of paths. A path whose replay departs may lose anything: it counts as what is
least in lower limits and as infinite in upper ones. Moments of e^L have no upper limit without a
bound of the loss: D_α and ρ are bounded from below alone.

What the noises of a path cost together, each noisy number taken to be released.

A proof by composition pays for every noisy number that the code acts on, however little the code
lets be seen of it. On a path, draw i moves by Δᵢ between the inputs and has a scale sᵢ: a theorem
of composition that gives the claim must allow the product of these noises, shifted by Δᵢ/sᵢ.
Where later draws depend on earlier ones, paths may cost differently: then their mean speaks, since
the divergence of the whole is the mean over its paths of the sum of theirs.

What the lines that draw spend of the loss.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import rel_entr

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.stats.intervals import binomial_exceeded, binomial_reached
from dpcp_audit.stats.roots import turn
from dpcp_audit.tracing.loss_samples import RHO_ORDERS
from dpcp_audit.tracing.noise_laws import LAPLACE, NORMAL
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.results import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.laws.laws import LawPair
    from dpcp_audit.tracing.loss_samples import LossSample
    from dpcp_audit.tracing.path_losses import DrawLoss, PathLoss
    from dpcp_audit.tracing.source_lines import Line
    from dpcp_audit.words.arrays import FloatArray, IntArray


_KEPT = 0.95
"""The quantile of half of the losses, above which those of the other half count as that."""


class LossLimits(NamedTuple):
    """A lower and an upper limit, each wrong with half of the stated probability."""

    lower: float
    upper: float


def epsilon_limits(sample: LossSample, delta: float, *, significance: float) -> LossLimits:
    """Return limits of the ε at which δ(ε) falls to ``delta``.

    A mean of n values in [0, 1] lies at a level m or beyond with probability at most
    exp(−n kl(m, p)), p its expectation (Hoeffding 1963, theorem 1). The limits of δ(ε) that this
    gives fall with ε as the mean does, so that they are crossed once. At δ = 0 the largest loss is
    reached for certain, and no sample has an upper limit.

    Examples
    --------
    >>> from dpcp_audit.tracing.loss_samples import LossSample
    >>> sample = LossSample(losses=np.full(1000, 1.0), departed=np.zeros(1000, bool))
    >>> [round(each, 3) for each in epsilon_limits(sample, 0.1, significance=0.05)]
    [0.865, 0.922]
    """
    _validate.closed_unit(delta=delta)
    _validate.open_unit(significance=significance)
    if delta == 0:
        return LossLimits(sample.largest, math.inf)
    room = math.log(2 / significance) / sample.size
    low, high = (_level(delta, room, above=above) for above in (True, False))
    return LossLimits(
        0.0 if low is None else _crossing(sample, low, upper=False),
        math.inf if high is None else _crossing(sample, high, upper=True),
    )


def _level(p: float, room: float, *, above: bool) -> float | None:
    """Return the mean above or below p whose relative entropy to p is ``room``; None if none."""
    end = 1.0 if above else 0.0
    if _relative_entropy(end, p) <= room:
        return None
    found = turn(lambda mean: _relative_entropy(mean, p) >= room, p, end)
    return found.holds


def _relative_entropy(m: float, p: float) -> float:
    return float(rel_entr(m, p) + rel_entr(1 - m, 1 - p))


def _crossing(sample: LossSample, level: float, *, upper: bool) -> float:
    """Return the ε at which the mean exceedance falls to a level, rounded to the safe side."""

    def within(epsilon: float) -> bool:
        return float(np.mean(sample.exceedances(epsilon, upper=upper))) <= level

    top = float(np.max(sample.losses, where=np.isfinite(sample.losses), initial=0.0)) + 1.0
    if within(0.0):
        return 0.0
    if not within(top):
        return math.inf if upper else top
    ends = turn(within, 0.0, top)
    return ends.holds if upper else ends.fails


def quantile_limits(sample: LossSample, share: float, *, significance: float) -> LossLimits:
    """Return order statistics that bound a quantile of the loss.

    Examples
    --------
    >>> from dpcp_audit.tracing.loss_samples import LossSample
    >>> sample = LossSample(losses=np.arange(1000.0), departed=np.zeros(1000, bool))
    >>> [round(each) for each in quantile_limits(sample, 0.5, significance=0.05)]
    [468, 531]
    """
    _validate.open_unit(share=share, significance=significance)
    low, high = (np.sort(sample.moved(upper=upper)) for upper in (False, True))
    below = int(binomial_reached(significance / 2, sample.size, share))
    above = int(binomial_exceeded(significance / 2, sample.size, share))
    return LossLimits(
        float(low[below - 1]) if below > 0 else -math.inf,
        float(high[above]) if above < sample.size else math.inf,
    )


def renyi_lower_limit(sample: LossSample, alpha: float, *, significance: float) -> float:
    """Return a lower limit of D_α, ``alpha`` > 1.

    Losses beyond a quantile of one half of the paths count as that in the other half, which leaves
    a mean of bounded numbers.
    """
    _validate.order(alpha=alpha)
    losses = sample.moved(upper=False)
    first, second = losses[: sample.size // 2], losses[sample.size // 2 :]
    kept = first[np.isfinite(first)]
    if alpha <= 1 or not kept.size:
        return 0.0
    most = float(np.quantile(kept, _KEPT))
    with np.errstate(over="ignore"):
        values: FloatArray = np.exp((alpha - 1) * (np.minimum(second, most) - most))
    mean = MeanBets().lower_limit(values, significance=significance)
    return max(0.0, most + math.log(mean) / (alpha - 1)) if mean > 0 else 0.0


def rho_lower_limit(sample: LossSample, *, significance: float) -> float:
    """Return a lower limit of ρ, the largest D_α/α, with the significance split over the orders."""
    orders = [alpha for alpha in RHO_ORDERS if alpha > 1]
    each = significance / len(orders)
    return max(renyi_lower_limit(sample, a, significance=each) / a for a in orders)


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
        Whether the path drew nothing else that the code acted on.
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
        Whether its draws were compared with each other.
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
