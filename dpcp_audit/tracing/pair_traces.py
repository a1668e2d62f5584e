"""The trace of a pair of inputs: paths in both directions, the lines that spend, what is not seen.

By post-processing, the loss of what the paths observe bounds that of the release from above, as
long as the output follows from the observations. It does where replays return the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.draws import (
    NeedsValuesError,
    NotFiniteError,
    TraceEnd,
    UnfollowableError,
)
from dpcp_audit.tracing.loss_samples import LineLoss, LossSample, composed_noise, line_losses
from dpcp_audit.tracing.outputs import pair_of, rounded_output, without_marks, without_rounding
from dpcp_audit.tracing.path_losses import (
    NOT_SEEN,
    Departure,
    Divergence,
    is_shown_by_change,
    path_loss,
    require_replay,
    require_untraced,
)
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import release_law
from dpcp_audit.tracing.target_calls import put_back
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.results import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.tracing.draws import Line
    from dpcp_audit.tracing.loss_samples import ComposedNoise
    from dpcp_audit.tracing.outputs import OutputLaw
    from dpcp_audit.tracing.path_losses import PathLoss
    from dpcp_audit.tracing.target_calls import KeptNoise, TracedTarget
    from dpcp_audit.words.arrays import IntArray

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that the traces say of a line.

    Parameters
    ----------
    says : str
    location : SourceLocation
    paths : int
    blames : bool
        True if the line is where the data leave the noise behind. Of an output that differs only
        the line that returns it is known.
    """

    says: str
    location: SourceLocation
    paths: int = 1
    blames: bool = True

    def __str__(self) -> str:
        return f"{self.location.file}:{self.location.line}: {self.says}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTrace:
    """The trace of a function on two neighbouring inputs.

    Parameters
    ----------
    forward, backward : LossSample
        Losses of the first input's paths against the second, and the other way round.
    exact : FinitePair or None
        The whole laws of the output, where its randomness is finite and small.
    missed : float
        The probability that these laws leave out, of either input.
    lines : tuple of LineLoss
        The lines that spend, the largest first.
    leaks : tuple of Remark
        Data that reaches the output or the control flow without noise, and noise of scale 0.
    unfollowed : tuple of Remark
        What could not be followed: then nothing is judged.
    values : bool
        True if values were revealed in place of comparisons of several draws: an upper bound.
    released : bool
        True if all that was observed is what the function returned, so that the loss of the
        observations is that of the release.
    additive : bool
        True if all that was drawn and seen is noise of an unbounded law: no sample of the rows,
        coin, choice or order, which may be revealed more finely than the release shows it.
    composed : tuple of ComposedNoise
        What the noises of single paths cost together, by composition.
    elementary : bool
        True if the whole laws' probabilities are sums and products of the doubles that the code
        hands to its generator.
    drawn : bool
        True if any draw is seen; else the code is deterministic, or draws where it is not seen.
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
) -> PairTrace:
    """Return what a target's noise loses on two inputs.

    Parameters
    ----------
    draws : int
        Paths in each direction.
    rng : Generator, int or None
        Of the paths.
    replays : int
        Paths that are replayed on their own input, to see that all randomness is followed.
    tree : int
        Paths of either input's tree that are run for the whole law; with 0 it is not sought.
    """
    _validate.integer(draws=draws, at_least=1)
    generator = _validate.generator(rng)
    ways = ((x, neighbour), (neighbour, x))
    try:
        with put_back(target.written) as kept:
            _warm_up(target, x, kept)
            for each, _ in ways:
                for seed in range(replays):
                    require_replay(target, each, seed)
                for seed in range(min(_UNTRACED, replays)):
                    require_untraced(target, each, seed)
            exact, laws = _laws(target, x, neighbour, tree) if tree else (None, ())
            seeds = generator.integers(2**62, size=(len(ways), draws))
            paths, values = _paths(target, ways, seeds)
            _require_support(target, laws, paths)
            released = all(_is_release(path) for direction in paths for path in direction)
            released = released and _changes(target, ways, seeds, paths, values=values)
    except UnfollowableError as end:
        return _unfollowed(end)
    exact, aside = (None, 0.0) if exact is None else without_rounding(exact)
    everything = [path for direction in paths for path in direction]
    leaks, unfollowed = _remarks(everything)
    return PairTrace(
        forward=LossSample.of(paths[0]),
        backward=LossSample.of(paths[1]),
        exact=exact,
        lines=line_losses(paths),
        leaks=leaks if exact is None or any(path.certain for path in everything) else (),
        unfollowed=unfollowed if exact is None else (),
        values=values,
        released=released,
        additive=all(draw.additive for path in everything for draw in path.draws),
        composed=composed_noise(paths, seeds),
        drawn=any(_is_drawn(path) for path in everything),
        elementary=all(law.elementary for law in laws),
        missed=max((law.missed for law in laws), default=0.0) + aside,
    )


def _warm_up(target: TracedTarget, x: Any, kept: KeptNoise) -> None:
    """Run the target once: what it imports may draw, the first time.

    Raises
    ------
    UnfollowableError
        If it keeps noise, and draws less in its next call.
    """
    first = _numbers_drawn(target, x)
    if kept.found and _numbers_drawn(target, x) < first:
        raise UnfollowableError(_KEEPS, target.home)


def _numbers_drawn(target: TracedTarget, x: Any) -> int:
    path, output = SampledRun(), tuple[Any, ...]()
    with suppress(TraceEnd):
        output = target.outputs(x, path, np.random.default_rng(0))
    if output == (None,):
        raise UnfollowableError(_NOTHING, target.home)
    return len(path.draws)


def _is_drawn(path: PathLoss) -> bool:
    return bool(path.draws or path.silent or (path.divergence and not path.certain))


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
    """Tell whether the output changes with what was observed, on the first paths of both ways."""
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


def _remarks(paths: Sequence[PathLoss]) -> tuple[tuple[Remark, ...], tuple[Remark, ...]]:
    """Return the leaks, and what could not be followed.

    A replay may depart because noise was revealed before data was added to it: then that is why.
    """
    departed: dict[tuple[Line, str], list[Divergence]] = defaultdict(list)
    revealed: Counter[Line] = Counter()
    for path in paths:
        if path.divergence is None:
            continue
        if path.revealed and not path.certain:
            revealed.update(path.revealed)
        else:
            departed[path.divergence.line, path.divergence.departure].append(path.divergence)
    leaks = [
        Remark(
            says=f"data reaches the {kind} without noise: on the neighbour, with the same noisy "
            f"values, {found[0].says}",
            location=_at(line),
            paths=len(found),
            blames=kind is not Departure.OUTPUT and found[0].says != NOT_SEEN,
        )
        for (line, kind), found in departed.items()
    ]
    silent = Counter(line for path in paths for line in path.silent)
    leaks += [
        Remark(says="noise of scale 0 is drawn", location=_at(line), paths=count)
        for line, count in silent.items()
    ]
    unfollowed = [
        Remark(
            says="noise is revealed here before data is added to it",
            location=_at(line),
            paths=count,
        )
        for line, count in revealed.items()
    ]
    return tuple(leaks), tuple(unfollowed)
