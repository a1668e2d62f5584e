"""The trace of a pair of inputs: paths in both directions, their loss, and the lines that spend.

With L the loss of a path on the input, δ(ε) = E[(1 − e^(ε − L))₊]: a mean of values in [0, 1]. A
path whose replay departs counts as 1 in the upper limit and as 0 in the lower one.

A proof by composition pays for every noisy number that the code acts on, however little the code
lets be seen of it. On a path, draw i moves by Δᵢ between the inputs and has a scale sᵢ: a theorem
of composition that gives the claim must allow the product of these noises, shifted by Δᵢ/sᵢ.
Where later draws depend on earlier ones, paths may cost differently: then their mean speaks, since
the divergence of the whole is the mean over its paths of the sum of theirs.

By post-processing, the loss of what the paths observe bounds that of the release from above, as
long as the output follows from the observations. It does where replays return the same.

Of an output that differs although all noisy values are the same, the line that returns it is no
culprit: a name may be returned there that another line has set, from the data alone.
"""

from __future__ import annotations

import ast
import linecache
import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.stats.bounded_mean import MeanBets
from dpcp_audit.stats.roots import turn
from dpcp_audit.targets.answers import KeptOutputError
from dpcp_audit.tracing.draws import (
    LAPLACE,
    NORMAL,
    NeedsValuesError,
    NotFiniteError,
    TraceEnd,
    UnfollowableError,
)
from dpcp_audit.tracing.outputs import (
    as_written,
    pair_of,
    rounded_output,
    without_marks,
    without_rounding,
)
from dpcp_audit.tracing.path_losses import (
    is_shown_by_change,
    line_losses,
    path_loss,
    remarks,
    require_replay,
    require_untraced,
)
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import output_log_density, release_law
from dpcp_audit.tracing.target_calls import put_back
from dpcp_audit.tracing.value_losses import ValueLoss, point_laws, tail_losses, value_loss
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Estimate, LineLoss, Remark, SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.laws import FinitePair, LawPair
    from dpcp_audit.tracing.draws import Line
    from dpcp_audit.tracing.outputs import OutputLaw
    from dpcp_audit.tracing.path_losses import NoisyNumber, PathLoss
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


ROUNDING = 1e-9
"""Relative error of a path's loss, by rounding and quadrature."""

RHO_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
"""Orders of the divergences that ρ is estimated by: small ones, which are stable."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossSample:
    """Losses of independent paths of one direction.

    Parameters
    ----------
    losses : ndarray, shape (paths,)
        log of the probability of a path on the input, over that on the neighbour.
    departed : ndarray of bool, shape (paths,)
        True where the replay departs, so that the loss may be anything: it counts as infinite.
    errors : ndarray, shape (paths,), optional
        Largest error of each loss, besides a relative ``ROUNDING``.

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

    def part(self, which: slice | BoolArray) -> LossSample:
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

    def delta(self, epsilon: float, *, significance: float) -> Estimate:
        """Return δ(ε) of the transcript with limits, each wrong with half of ``significance``."""
        _validate.non_negative(epsilon=epsilon)
        _validate.open_unit(significance=significance)
        bets = MeanBets()
        low, high = (self.exceedances(epsilon, upper=upper) for upper in (False, True))
        value = float(np.mean(high))
        return Estimate(
            quantity=Quantity.DELTA,
            at={"epsilon": epsilon},
            value=value,
            lower=min(value, bets.lower_limit(low, significance=significance / 2)),
            upper=max(value, bets.upper_limit(high, significance=significance / 2)),
            confidence=1 - significance,
        )

    def epsilon(self, delta: float) -> float:
        """Return the ε at which the estimated δ(ε) falls to ``delta``; the largest loss at 0."""
        _validate.closed_unit(delta=delta)
        ordered = np.sort(self.losses)
        if delta == 0 or math.isinf(ordered[-1]):
            return max(0.0, float(ordered[-1]))

        def is_below(epsilon: float) -> bool:
            return float(np.mean(self.exceedances(epsilon, upper=True))) <= delta

        return turn(is_below, 0.0, max(0.0, float(ordered[-1])), steps=60).holds

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
        Seed of a path that draws them; it does not count in comparisons.
    paths : tuple of int
        Numbers of paths that draw them, from each input; they do not count in comparisons.

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
    """Return the composed noises of the paths from each input, without repetitions.

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
    moved = [(draw.law, each) for draw in path.draws for each in draw.shift.tolist() if each > 0]
    squares = math.fsum(shift**2 for law, shift in moved if law is NORMAL)
    others = (_rounded(shift) for law, shift in moved if law is LAPLACE)
    return ComposedNoise(
        gaussian=_rounded(math.sqrt(squares)),
        laplace=tuple(sorted(others, reverse=True)),
        whole=not any(np.isnan(draw.shift).any() for draw in path.draws),
        seed=seed,
    )


def _rounded(shift: float) -> float:
    return float(f"{shift:.{_DIGITS}e}")


REPLAYS = 12
"""Paths that are replayed on their own input."""
_UNTRACED = 4
"""Calls of either input that are made without a trace, too."""
_CHANGED = 3
"""Paths of either input that are run again with other noisy values."""
_TREE = 1000
"""Paths of a tree that are tried before it counts as large."""
_NOTHING = "the target returns None: return what is released"
_KEEPS = "the target keeps noise of one call for later ones"
_NEAR = 1e-9
"""How far an input that is new lies from one that was tried, towards 0.5."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTrace:
    """The trace of a function on two neighbouring inputs.

    Parameters
    ----------
    forward, backward : LossSample
        Losses of the first input's paths against the second, and the other way round.
    exact : FinitePair or None
        The whole laws of the output, where its randomness is finite and small.
    written : FinitePair or None
        The same, where equal numbers are told apart by how they are written: to the last bit, and
        by their type.
    missed : float
        The probability that these laws leave out, of either input.
    lines : tuple of LineLoss
        The lines that spend, the largest first.
    leaks : tuple of Remark
        Data that reaches the output or the control flow without noise, and noise of scale 0.
    unfollowed : tuple of Remark
        Draws or values that could not be followed; if there are any, nothing is judged.
    values : bool
        True if values were revealed in place of comparisons of several draws: an upper bound.
    released : bool
        True if all that was observed is what the function returned, so that the loss of the
        observations is that of the release.
    additive : bool
        True if all that was drawn and seen is noise of an unbounded law: no sample of the rows,
        coin, choice or order, which may be revealed more finely than the release shows it.
    composed : tuple of ComposedNoise
        The noises of single paths, whose losses add up by composition.
    elementary : bool
        True if the whole laws' probabilities are sums and products of the doubles that the code
        hands to its generator.
    drawn : bool
        True if any draw is seen; else the code is deterministic, or draws where it is not seen.
    noisy : tuple of NoisyNumber
        The numbers that are returned with one draw of noise, of the same law on every path.
    far : ValueLoss or None
        The largest loss of outputs that hold noisy values far from the data, where not all that
        was observed is returned.
    tails : tuple of ValueLoss
        Losses of outputs ever farther from the data, where all that was observed is returned: of
        noise that is Gaussian, or has another scale on the neighbour.
    points : FinitePair or None
        The laws of the outputs without continuous noise, all others taken as one, where there are
        both.
    """

    forward: LossSample
    backward: LossSample
    exact: FinitePair | None
    lines: tuple[LineLoss, ...]
    leaks: tuple[Remark, ...]
    unfollowed: tuple[Remark, ...]
    values: bool
    released: bool
    additive: bool = True
    composed: tuple[ComposedNoise, ...] = ()
    drawn: bool = True
    missed: float = 0.0
    elementary: bool = False
    noisy: tuple[NoisyNumber, ...] = ()
    written: FinitePair | None = None
    far: ValueLoss | None = None
    tails: tuple[ValueLoss, ...] = ()
    points: FinitePair | None = None

    @property
    def followed(self) -> bool:
        """True if all noise was followed."""
        return not self.unfollowed

    @property
    def samples(self) -> tuple[LossSample, LossSample]:
        """Both directions."""
        return self.forward, self.backward


def trace_target(
    target: TracedTarget,
    x: Any,
    neighbour: Any,
    *,
    draws: int,
    rng: np.random.Generator | int | None,
    replays: int = REPLAYS,
    tree: int = _TREE,
    release: bool = True,
) -> PairTrace:
    """Return the losses of a target's noise on two inputs.

    Parameters
    ----------
    draws : int
        Paths in each direction.
    rng : Generator, int or None
        Source of the paths' randomness.
    replays : int
        Paths that are replayed on their own input, to see that all randomness is followed.
    tree : int
        Paths of either input's tree that are run for the whole law; with 0 it is not sought.
    release : bool
        True if the losses of the release are sought where the paths show more than it.
    """
    _validate.integer(draws=draws, at_least=1)
    ways = ((x, neighbour), (neighbour, x))
    seeds = _validate.generator(rng).integers(2**62, size=(len(ways), draws))
    asked = _Asked(ways=ways, seeds=seeds, replays=replays, tree=tree, release=release)
    found = _traced(target, asked)
    if not _is_lost(found):
        return found
    again = _traced(replace(target, unread=True), asked)
    return found if _is_lost(again) or not again.followed else again


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The paths that are asked for; see ``trace_target``."""

    ways: tuple[tuple[Any, Any], ...]
    seeds: IntArray
    replays: int
    tree: int
    release: bool


def _is_lost(trace: PairTrace) -> bool:
    """Return True if the noise loses infinitely much, and the release may lose less."""
    if trace.exact is not None or not any(np.isinf(each.losses).any() for each in trace.samples):
        return False
    return not trace.released or any(each.departed.any() for each in trace.samples)


def _traced(target: TracedTarget, asked: _Asked) -> PairTrace:
    ways, seeds = asked.ways, asked.seeds
    try:
        with put_back(target.written) as keeps:
            _warm_up(target, *ways[0], keeps)
            for each, _ in ways:
                for seed in range(asked.replays):
                    require_replay(target, each, seed)
                for seed in range(min(_UNTRACED, asked.replays)):
                    require_untraced(target, each, seed)
            exact, laws = _laws(target, *ways[0], asked.tree) if asked.tree else (None, ())
            paths, values = _paths(target, ways, seeds)
            _require_support(target, laws, paths)
            everything = [path for direction in paths for path in direction]
            shown = all(path.certain or path.shown is not None for path in everything)
            shown = shown and _changes(target, ways, seeds, paths, values=values)
            released = shown and all(map(_is_release, everything))
            wanted = shown and asked.release and exact is None and not released
            summed = _summed(target, ways, paths) if wanted else []
            if any(each.departed.any() for each in summed):  # it decides nothing more
                summed = []
            written = _lines_written(target, ways, seeds, paths, values=values)
            beyond = asked.tree > 0 and exact is None
            hidden, open_ = beyond and not released, beyond and released
            far = value_loss(target, *ways[0], everything, seeds) if hidden else None
            tails = tail_losses(target, *ways[0], paths, seeds) if open_ else ()
            points = point_laws(target, *ways[0]) if hidden else None
    except UnfollowableError as end:
        return _unfollowed(end)
    exact, aside = (None, 0.0) if exact is None else without_rounding(exact)
    forward, backward = summed or map(LossSample.of, paths)
    leaks, unfollowed = _remarks(everything, summed, written, exact)
    return PairTrace(
        forward=forward,
        backward=backward,
        exact=exact,
        lines=line_losses(paths),
        leaks=leaks,
        unfollowed=unfollowed,
        values=values,
        released=released or bool(summed),
        additive=all(draw.additive for path in everything for draw in path.draws),
        composed=() if summed else composed_noise(paths, seeds),
        drawn=any(map(_is_drawn, everything)),
        elementary=bool(laws) and all(law.elementary for law in laws),
        missed=max((law.missed for law in laws), default=0.0) + aside,
        noisy=_noisy_on_all(paths) if released else (),
        written=None if exact is None else without_rounding(as_written(*laws))[0],
        far=far,
        tails=tails,
        points=points,
    )


def _remarks(
    paths: Sequence[PathLoss],
    summed: Sequence[LossSample],
    written: dict[Line, Line],
    exact: FinitePair | None,
) -> tuple[tuple[Remark, ...], tuple[Remark, ...]]:
    """Return the leaks, and what could not be followed: what the release's loss explains is not."""
    if summed:
        paths = [replace(each, divergence=None) for each in paths]
    leaks, unfollowed = remarks(paths, written)
    if exact is None:
        return leaks, unfollowed
    if not any(path.certain for path in paths):
        infinite = any(math.isinf(way.max_divergence()) for way in (exact, exact.reversed()))
        known = [_at(line) for line in written.values()] if infinite else []
        leaks = tuple(leak for leak in leaks if leak.location in known)
    return leaks, ()


_MOST_SUMMED = 100
"""Paths of either input of which the losses of their outputs are found."""


def _summed(
    target: TracedTarget, ways: Sequence[tuple[Any, Any]], paths: Sequence[Sequence[PathLoss]]
) -> list[LossSample]:
    """Return the losses of the paths' outputs, both ways; none where they are not known.

    The probability of an output is the sum over the paths that return it.
    """
    try:
        return [
            _losses_of_outputs(target, way, listed[:_MOST_SUMMED])
            for way, listed in zip(ways, paths, strict=True)
        ]
    except TraceEnd:
        return []


def _losses_of_outputs(
    target: TracedTarget, way: tuple[Any, Any], paths: Sequence[PathLoss]
) -> LossSample:
    found = [
        [output_log_density(target, x, path.output, path.shown or ()) for x in way]
        for path in paths
    ]
    if not all(math.isfinite(here) for (here, _), _ in found):
        raise UnfollowableError("a probability is lost to rounding", target.home)
    losses = np.array([here - there for (here, _), (there, _) in found])
    errors = np.array([first + second for (_, first), (_, second) in found])
    return LossSample(losses=losses, departed=np.isinf(losses), errors=errors)


def _noisy_on_all(paths: Sequence[Sequence[PathLoss]]) -> tuple[NoisyNumber, ...]:
    """Return the noisy numbers of the output that are the same on all paths."""
    forward, backward = ([dict.fromkeys(path.noisy) for path in way] for way in paths)
    first = forward[0] if forward else {}
    back = [{each.reversed() for each in noisy} for noisy in backward]
    return tuple(each for each in first if all(each in noisy for noisy in (*forward, *back)))


def _warm_up(target: TracedTarget, x: Any, neighbour: Any, keeps: Callable[[], bool]) -> None:
    """Run the target twice: what it imports may draw, the first time.

    Raises
    ------
    UnfollowableError
        If it keeps noise, and draws less in its next call.
    KeptOutputError
        If it keeps an output for each input.
    """
    first, _ = _drawn(target, x)
    again, _ = _drawn(target, x)
    if not again:
        _require_no_memory(target, x, neighbour)
    if keeps() and again < first:
        raise UnfollowableError(_KEEPS, target.home)


def require_no_memory(target: TracedTarget, x: Any, neighbour: Any) -> None:
    """Make sure that a target does not return again what it has drawn on an input.

    Of noise that is drawn once for all inputs the outputs tell the inputs apart: such a target
    draws nothing on an input that is new, and passes.

    Raises
    ------
    KeptOutputError
        If it draws on an input that is new, draws nothing on it again, and returns the same.
    """
    with put_back(target.written):
        if not _drawn(target, x)[0] or not _drawn(target, x)[0]:
            _require_no_memory(target, x, neighbour)


def _require_no_memory(target: TracedTarget, x: Any, neighbour: Any) -> None:
    """Try an input that is new after the first one, and most like it that the target takes.

    Not the neighbour at first: of another size, it may draw a noise that is for all of that size.
    """
    for new in (_next_to(x, "f"), _next_to(x, "fiu"), neighbour):
        first, output = (0, ()) if new is None else _drawn(target, new)
        if output:
            again, same = _drawn(target, new)
            if first and not again and output == same:
                raise KeptOutputError
            return


def _next_to(x: Any, kinds: str) -> Any:
    """Return an input whose numbers of some kinds differ in the tenth digit; None without any."""
    if type(x) in (list, tuple):
        listed: list[Any] = list(x)
        parts = [_next_to(each, kinds) for each in listed]
        new = [old if part is None else part for old, part in zip(listed, parts, strict=True)]
        return None if all(part is None for part in parts) else type(x)(new)
    if isinstance(x, int | float | np.ndarray) and np.asarray(x).dtype.kind in kinds:
        return x + (0.5 - x) * _NEAR
    return None


def _drawn(target: TracedTarget, x: Any) -> tuple[int, tuple[Any, ...]]:
    """Return how many numbers a run draws, and its output; () where it has no end."""
    path, output = SampledRun(), tuple[Any, ...]()
    with suppress(TraceEnd):
        output = target.outputs(x, path, np.random.default_rng(0))
    if output == (None,):
        raise UnfollowableError(_NOTHING, target.home)
    return len(path.draws), output


def _is_drawn(path: PathLoss) -> bool:
    return bool(path.draws or path.silent or path.seeded or (path.divergence and not path.certain))


def _is_release(path: PathLoss) -> bool:
    return path.certain or (path.released and path.divergence is None)


def _changes(
    target: TracedTarget,
    ways: Sequence[tuple[Any, Any]],
    seeds: IntArray,
    paths: Sequence[Sequence[PathLoss]],
    *,
    values: bool,
) -> bool:
    """Return True if the output changes with what was observed, on the first paths of both ways."""
    return all(
        path.certain or is_shown_by_change(target, x, np.random.default_rng(seed), values=values)
        for (x, _), row, direction in zip(ways, seeds, paths, strict=True)
        for seed, path in zip(row[:_CHANGED], direction, strict=False)
    )


def _laws(
    target: TracedTarget, x: Any, neighbour: Any, most: int
) -> tuple[FinitePair | None, Sequence[OutputLaw]]:
    """Return the whole laws of the output, together and each; none where they are not finite."""
    try:
        laws = [release_law(target, each, most=most) for each in (x, neighbour)]
        return pair_of(*laws), laws
    except NotFiniteError:
        return None, ()


def _require_support(
    target: TracedTarget, laws: Sequence[OutputLaw], paths: Sequence[Sequence[PathLoss]]
) -> None:
    """Make sure that every path returned what its law has: else there is other randomness."""
    for law, direction in zip(laws, paths, strict=False):
        known = {without_marks(each) for each in law}
        if any(rounded_output(without_marks(path.output)) not in known for path in direction):
            raise UnfollowableError(
                "the target has randomness that is not followed: it returned what its draws do "
                "not give",
                target.home,
            )


def _paths(
    target: TracedTarget,
    ways: Sequence[tuple[Any, Any]],
    seeds: IntArray,
) -> tuple[list[list[PathLoss]], bool]:
    """Return the paths of both directions, and whether they had to reveal values."""
    for values in (False, True):
        try:
            found = [
                [
                    path_loss(target, *way, np.random.default_rng(seed), values=values)
                    for seed in row
                ]
                for way, row in zip(ways, seeds, strict=True)
            ]
        except NeedsValuesError:
            continue
        return found, values
    raise UnfollowableError("its comparisons of several draws are not followed", target.home)


def _unfollowed(end: UnfollowableError) -> PairTrace:
    none = LossSample(losses=np.empty(0), departed=np.empty(0, dtype=bool))
    return PairTrace(
        forward=none,
        backward=none,
        exact=None,
        lines=(),
        leaks=(),
        unfollowed=(Remark(says=end.reason, location=_at(end.line)),),
        values=False,
        released=False,
    )


def _at(line: Line) -> SourceLocation:
    return SourceLocation.of(*line)


def _lines_written(
    target: TracedTarget,
    ways: Sequence[tuple[Any, Any]],
    seeds: IntArray,
    paths: Sequence[Sequence[PathLoss]],
    *,
    values: bool,
) -> dict[Line, Line]:
    """Return the lines that write the data which is returned without noise, as far as known."""
    found: dict[Line, Line | None] = {}
    for (x, _), row, direction in zip(ways, seeds, paths, strict=True):
        for seed, path in zip(row, direction, strict=True):
            line = path.differs_at
            if line is not None and line not in found:
                rng = np.random.default_rng(seed)
                found[line] = line_of_data(target, x, SampledRun(values=values), rng)
    return {line: written for line, written in found.items() if written is not None}


_CASTS = {"float", "int"}
_OWNERS = {"self", "cls"}
_LONGEST = 20
"""Names that are followed from the return to where the value is written."""


def line_of_data(
    target: TracedTarget, x: Any, path: PathRun, source: np.random.Generator
) -> Line | None:
    """Run a target and return the line of the data that it returns; None where there is none.

    A value counts that is written of the first argument and of names that are not the function's
    own: then no noise is in it.
    """
    code = target.code
    if code is None:
        return None
    ran = target.lines_run(x, path, source)
    module = _module(code)
    if not ran or module is None:
        return None
    statements, stores = _statements(module), _stores(module)
    names = [name for name in code.co_varnames[: code.co_argcount] if name not in _OWNERS]
    data, own = set(names[:1]), {*code.co_varnames, *code.co_cellvars}
    last = statements.get(ran.pop())
    value = last.value if isinstance(last, ast.Return) else None
    for _ in range(_LONGEST):
        if last is None or value is None:
            return None
        value = _uncast(value)
        read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        if read & data:
            return (code.co_filename, last.lineno) if read & own <= data else None
        if not isinstance(value, ast.Name):
            return None
        while ran and (ran[-1], value.id) not in stores:
            ran.pop()
        last = statements.get(ran.pop()) if ran else None
        value = last.value if isinstance(last, ast.Assign) and _is_plain(last) else None
    return None


def _module(code: CodeType) -> ast.Module | None:
    """Return the file of a function, parsed; None if it has no source."""
    try:
        return ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None


def _statements(module: ast.Module) -> dict[int, ast.stmt]:
    """Return the returns and assignments of a file by their lines."""
    plain = (each for each in ast.walk(module) if isinstance(each, ast.Return | ast.Assign))
    return {
        line: each
        for each in plain
        for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }


def _stores(module: ast.Module) -> set[tuple[int, str]]:
    """Return the lines at which names are set, in whatever way."""
    return {
        (each.lineno, each.id)
        for each in ast.walk(module)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _is_plain(statement: ast.Assign) -> bool:
    """Return True if one name alone is set."""
    return len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)


def _uncast(value: ast.expr) -> ast.expr:
    """Return the argument of a call of ``float`` or ``int``."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return value
    cast = value.func.id in _CASTS and len(value.args) == 1
    return value.args[0] if cast else value
