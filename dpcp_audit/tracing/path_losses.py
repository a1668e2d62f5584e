"""The privacy loss of one path: it is run on one input and replayed on its neighbour.

Of many paths, what each line spends, and where data leaves the noise behind.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.tracing.draws import (
    SAME,
    SEED,
    UNIFORM,
    NeedsValuesError,
    PathDivergedError,
    Seen,
    TraceEnd,
    UnfollowableError,
)
from dpcp_audit.tracing.outputs import (
    ROUNDED,
    difference_in_form,
    same_atoms,
    without_marks,
)
from dpcp_audit.tracing.path_likelihood import log_likelihoods, numerical_error
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import ForcedRun, changed_run
from dpcp_audit.words.results import LineLoss, Remark, SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcp_audit.tracing.draws import Line, NoiseLaw, Observation
    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.validate import FloatArray


_REPLAYED = 1e-6
"""The largest loss, by rounding, of a draw against its replay on the same input."""


_AGAIN = 16
"""Calls that agree where the generator at hand is all that they draw from; one coin does not."""


class _Departure(StrEnum):
    """The neighbour's departure from a path whose observations it is given."""

    OUTPUT = "output"
    """It returns something else."""
    WAY = "control flow"
    """It observes something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Divergence:
    """Data that reaches the output or the control flow without noise.

    Parameters
    ----------
    departure : _Departure
        The part of the run that differs.
    says : str
        In words, both runs side by side.
    line : tuple
        The line of the neighbour's run at that moment.
    blames : bool
        False where an earlier line leads past the noise of this one.
    """

    departure: _Departure
    says: str
    line: Line
    blames: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawLoss:
    """The loss that one draw adds to a path, or each of a vector of them: then in arrays.

    Parameters
    ----------
    line : tuple
        The line where it was drawn.
    name : str
        As the generator's method is called.
    scale : ndarray
        The noise scale in the unit of the number that was observed; NaN where it is not known.
    sensitivity : ndarray
        The difference of that number's noiseless part between the inputs; NaN likewise.
    loss : ndarray
        The part of the log-ratio from this draw.
    law : NoiseLaw or None
        The law of Z; None if the draw was revealed as it was made.
    shift : ndarray
        The largest sensitivity in noise scales; NaN where it is not known.
    """

    line: Line
    name: str
    scale: FloatArray
    sensitivity: FloatArray
    loss: FloatArray
    law: NoiseLaw | None
    shift: FloatArray

    @property
    def additive(self) -> bool:
        """True if it is noise of an unbounded law."""
        law = self.law
        return law is not None and law is not UNIFORM and law.values() is None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumber:
    """A number of the output that is one draw of symmetric noise on a centre of each input.

    Parameters
    ----------
    place : int or None
        The index of the number among the numbers of the output, from 0; None if it is the only one.
    law : NoiseLaw
        The law of Z.
    centres, scales : tuple of float
        The centres and scales on the input and on the neighbour.
    """

    place: int | None
    law: NoiseLaw
    centres: tuple[float, float]
    scales: tuple[float, float]

    def reversed(self) -> NoisyNumber:
        """Return the same with the inputs in the other order."""
        return replace(self, centres=self.centres[::-1], scales=self.scales[::-1])

    def chances(self, limit: float, *, above: bool) -> tuple[float, float]:
        """Return the probabilities, on either input, that it is above a limit, or below it."""
        ends = (np.array([limit]) - self.centres) / self.scales
        infinite = np.full(2, math.inf)
        logs = self.law.log_interval(*((ends, infinite) if above else (-infinite, ends)))
        first, second = np.exp(logs).tolist()
        return first, second


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLoss:
    """The privacy loss of one path.

    Parameters
    ----------
    loss : float
        log of the probability of all that was observed on the input, over that on the neighbour;
        infinite where the neighbour's run departs.
    draws : tuple of _DrawLoss
        The parts of the loss, one for each draw.
    divergence : _Divergence or None
        The departure.
    certain : bool
        True if a departure shows an infinite loss: nothing was drawn, and the outputs differ.
    revealed : tuple of lines
        The lines where noise was revealed before data was added to it, which may explain a
        departure.
    shown : tuple or None
        The values that were observed, if all of them are returned as they are.
    forked : bool
        True if something else was observed besides, such as a comparison or a choice.
    silent : tuple of lines
        The lines where noise of scale 0 was drawn.
    output : tuple
        The plain values that the target returned.
    noisy : tuple of NoisyNumber
        The numbers that are returned with one draw of noise, where everything is released.
    answers : tuple of pairs of float, or None
        The noiseless part and the noise scale of every noisy value that is read; None if one of
        them is not returned as it is.
    error : float
        A bound on the error of the loss from quadrature and rounding.
    seeded : bool
        True if a generator was made of a seed that was drawn.
    """

    loss: float
    draws: tuple[_DrawLoss, ...]
    divergence: _Divergence | None
    certain: bool
    revealed: tuple[Line, ...]
    shown: tuple[Any, ...] | None
    forked: bool
    silent: tuple[Line, ...]
    output: tuple[Atom, ...]
    noisy: tuple[NoisyNumber, ...] = ()
    answers: tuple[tuple[float, float], ...] | None = None
    error: float = 0.0
    seeded: bool = False

    @property
    def released(self) -> bool:
        """True if everything that was observed is returned as it is."""
        return self.shown is not None and not self.forked

    @property
    def differs_at(self) -> Line | None:
        """Where the neighbour's run returns something else, if that is how it departs."""
        found = self.divergence
        return found.line if found and found.departure is _Departure.OUTPUT else None


def path_loss(
    target: TracedTarget, x: Any, neighbour: Any, rng: np.random.Generator, *, values: bool
) -> PathLoss:
    """Run the target on ``x`` and replay the path on ``neighbour``.

    Parameters
    ----------
    values : bool
        True if values are revealed in place of comparisons of several draws.

    Raises
    ------
    UnfollowableError, NeedsValuesError
        If the path cannot be followed; or not without revealing values.
    """
    path, start = SampledRun(values=values), rng.bit_generator.state
    output = target.outputs(x, path, rng)
    other = ForcedRun(path.events, values=values)
    shown = _shown_seed(path, output)
    divergence = shown or _replayed(target, neighbour, other, output)
    here = log_likelihoods(path)
    if not np.isfinite(here).all():
        raise UnfollowableError("a probability is lost to rounding", target.home)
    parts = _parts(path, other, here) if divergence is None else ()
    places = _places(path, output)
    loss = math.inf if divergence else math.fsum(x for each in parts for x in each.loss.tolist())
    return PathLoss(
        loss=loss,
        draws=parts,
        divergence=divergence,
        certain=_is_certain(divergence, path, other)
        or (shown is not None and _seed_settles(target, neighbour, path, output, rng, start)),
        revealed=_revealed(path),
        shown=None if places is None else _values(path),
        forked=any(each.kind not in _VALUES and not _is_seed(each) for each in path.events),
        silent=tuple(sorted(path.silent)),
        output=output,
        error=0.0 if divergence else numerical_error(path) + numerical_error(other),
        answers=None if places is None else _answers(path),
        noisy=() if divergence or places is None else _noisy_numbers(path, other, output, places),
        seeded=bool(path.seeded),
    )


def _shown_seed(path: PathRun, output: tuple[Atom, ...]) -> _Divergence | None:
    """Return the divergence of an output that holds a seed of its noise; None if it holds none."""
    shown = {float(each) for each in output if isinstance(each, int | float | np.number)}
    seeds = {each for each in path.seeded if float(each) in shown}
    for found in path.seen if seeds else ():
        if _is_seed(found) and seeds.intersection(np.ravel(found.result).tolist()):
            says = "the output holds the seed that its noise is drawn from"
            return _Divergence(departure=_Departure.OUTPUT, says=says, line=found.line)
    return None


def _seed_settles(  # noqa: PLR0917  (a path, and how it was drawn)
    target: TracedTarget,
    neighbour: Any,
    path: PathRun,
    output: tuple[Atom, ...],
    rng: np.random.Generator,
    start: Any,
) -> bool:
    """Return True if a returned seed gives the input away: all noise is drawn from it alone."""
    end = rng.bit_generator.state
    if len(path.seeded) != 1 or end not in path.seeded.values():
        return False
    rng.bit_generator.state = start
    try:
        found = target.outputs(neighbour, SampledRun(values=True), rng)
    finally:
        rng.bit_generator.state = end
    return not same_atoms(output, found)


def require_untraced(target: TracedTarget, x: Any, seed: int) -> None:
    """Make sure that a call without a trace returns what the traced one does, to the last bits.

    Where the same generator does not settle what an untraced call returns, it draws elsewhere, and
    there is nothing to compare.

    Raises
    ------
    UnfollowableError
        If it returns something else: the code does not draw, or act, as it does under a trace.
    """
    path = SampledRun(values=True)
    traced = target.outputs(x, path, np.random.default_rng(seed))
    if target.unread:
        read = replace(target, unread=False)
        found = read.outputs(x, SampledRun(values=True), np.random.default_rng(seed))
        if not same_atoms(without_marks(traced), without_marks(found), ROUNDED):
            raise UnfollowableError("it returns something else where noise is kept", target.home)
    if not target.keyword or not path.own_stream:
        return
    first = without_marks(target.plainly(x, seed))
    if same_atoms(without_marks(traced), first, ROUNDED):
        return
    if all(without_marks(target.plainly(x, seed)) == first for _ in range(_AGAIN)):
        raise UnfollowableError(
            f"without a trace the target returns {_shown(first)} in place of "
            f"{_shown(without_marks(traced))}, from the same generator",
            target.home,
        )


def require_replay(target: TracedTarget, x: Any, seed: int) -> None:
    """Make sure that a replay on the same input is the same path: all randomness is followed.

    Raises
    ------
    UnfollowableError
        If it is not.
    """
    try:
        _require_replay(target, x, seed, values=False)
    except NeedsValuesError:
        try:
            _require_replay(target, x, seed, values=True)
        except NeedsValuesError as end:
            raise UnfollowableError(end.reason, end.line) from None


def _require_replay(target: TracedTarget, x: Any, seed: int, *, values: bool) -> None:
    path = SampledRun(values=values)
    output = target.outputs(x, path, np.random.default_rng(seed))
    again = ForcedRun(path.events, values=values)
    divergence = _replayed(target, x, again, output, seed=seed + 1)
    if divergence is not None:
        raise UnfollowableError(
            "the target has randomness that is not followed, or keeps a state between its calls: "
            f"replayed on the same input, {divergence.says}",
            divergence.line,
        )
    for part in _parts(path, again, log_likelihoods(path)):
        if not np.all(np.abs(part.loss) <= _REPLAYED):
            raise UnfollowableError(
                "the target has randomness that is not followed, or keeps a state between its "
                f"calls: replayed on the same input, its {part.name} draw is added to another "
                "number",
                part.line,
            )


def _replayed(
    target: TracedTarget, x: Any, path: ForcedRun, output: tuple[Atom, ...], *, seed: int = 0
) -> _Divergence | None:
    try:
        found = target.outputs(x, path, np.random.default_rng(seed))
    except PathDivergedError as end:
        return _Divergence(
            departure=_Departure.WAY, says=end.reason, line=end.line, blames=end.blames
        )
    if len(path.events) < len(path.transcript):
        unseen = path.transcript[len(path.events)].one_by_one()[0]
        indices: tuple[int, ...] = unseen.draws
        drawn = [path.draws[each].line for each in indices if each < path.count]
        line = drawn[0] if drawn else unseen.line
        says = "the noise of this line is not seen"
        return _Divergence(departure=_Departure.WAY, says=says, line=line, blames=False)
    if not same_atoms(output, found):
        says = f"the output is {_shown(found)} in place of {_shown(output)}"
        if form := difference_in_form(found, output):
            says = f"the output holds {form}"
        again = ForcedRun(path.transcript, values=path.values)
        ran = target.lines_run(x, again, np.random.default_rng(seed))
        line = (target.home[0], ran[-1]) if ran else target.home
        return _Divergence(departure=_Departure.OUTPUT, says=says, line=line)
    return None


def is_shown_by_change(
    target: TracedTarget, x: Any, rng: np.random.Generator, *, values: bool
) -> bool:
    """Return True if the values in the output change where the observed values change.

    Equal values may stand in an output by chance, as a whole number does in a list of all of them.
    """
    path = SampledRun(values=values)
    output = target.outputs(x, path, rng)
    changed = changed_run(path)
    try:
        found = target.outputs(x, changed, np.random.default_rng(0))
    except TraceEnd:
        return False
    places = _places(path, output)
    return places is not None and places == _places(changed, found)


_VALUES = frozenset({Seen.VALUE, Seen.SETTLED})


def _values(path: PathRun) -> tuple[Any, ...]:
    """Return the observed values that no earlier ones settle, in order."""
    found: list[Any] = []
    for each in path.events:
        if each.kind is Seen.VALUE:
            found += each.result.tolist() if each.is_whole else [each.result]
    return tuple(found)


def _answers(path: PathRun) -> tuple[tuple[float, float], ...] | None:
    """Return the noiseless parts and scales of the values read; None where they have none."""
    found: list[tuple[float, float]] = []
    for each in path.events:
        if each.kind is Seen.VALUE and each.is_whole:
            found += zip(each.offset.tolist(), each.scale.tolist(), strict=True)
        elif each.kind is Seen.VALUE:
            if np.ndim(each.offset):
                return None
            found.append((float(each.offset), each.scale))
    return tuple(found)


def _places(path: PathRun, output: tuple[Atom, ...]) -> list[int] | None:
    """Return the places of the observed values in the output, in order; None if one is missing.

    A value that is sorted, chosen or rounded first is not unchanged; some path shows it.
    """
    values = [value for observed in _values(path) for value in _listed(observed)]
    places: list[int] = []
    for place, atom in enumerate(without_marks(output)):
        if len(places) == len(values):
            break
        if values[len(places)] == atom:
            places.append(place)
    return places if len(places) == len(values) else None


def _listed(value: Any) -> list[Any]:
    return cast("Any", value).ravel().tolist() if isinstance(value, np.ndarray) else [value]


def _noisy_numbers(
    path: PathRun, other: PathRun, output: tuple[Atom, ...], places: Sequence[int]
) -> tuple[NoisyNumber, ...]:
    """Return the released numbers that are one draw of symmetric noise each."""
    if any(each.kind is not Seen.VALUE for each in path.events):
        return ()
    pairs = list(zip(path.seen, other.seen, strict=True))
    if len(places) != len(pairs):  # of a vector that is observed at once no scale is known
        return ()
    numbers = [isinstance(each, int | float) for each in without_marks(output)]
    before = list(accumulate(numbers, initial=0))
    found: list[NoisyNumber] = []
    for place, (first, second) in zip(places, pairs, strict=True):
        indices: tuple[int, ...] = first.draws
        law = path.draws[indices[0]].law if len(indices) == 1 else None
        scales = first.scale, second.scale
        centres = _number(first.offset), _number(second.offset)
        sized = all(0 < each < math.inf for each in scales) and all(map(math.isfinite, centres))
        if law is None or not sized or not _is_symmetric(law):
            continue
        found.append(
            NoisyNumber(
                place=before[place] if before[-1] > 1 else None,
                law=law,
                centres=centres,
                scales=scales,
            )
        )
    return tuple(found)


def _number(offset: Any) -> float:
    """Return the part without noise of one number, which may stand in an array."""
    return float(np.ravel(offset)[0])


@cache
def _is_symmetric(law: NoiseLaw) -> bool:
    z = np.array([0.5, 1.0, 2.0])
    return not law.discrete and np.allclose(law.log_point(z), law.log_point(-z))


def _is_seed(found: Observation) -> bool:
    return found.kind is Seen.CHOICE and found.key[0] == SEED


def _is_certain(divergence: _Divergence | None, path: PathRun, other: PathRun) -> bool:
    """Return True if two runs that draw nothing return different outputs."""
    drawn = path.count or other.count
    return divergence is not None and divergence.departure is _Departure.OUTPUT and not drawn


def _shown(output: tuple[Atom, ...]) -> str:
    text = ", ".join(
        f"{each:.6g}" if isinstance(each, float) else str(each) for each in without_marks(output)
    )
    return text if len(text) <= 60 else f"{text[:57]}..."


def _revealed(path: PathRun) -> tuple[Line, ...]:
    pure = {draw.line for draw in path.singles if draw.pure or draw.law is None}
    return tuple(sorted(pure | {made.line for made in path.vectors if made.pure.any()}))


def _parts(path: PathRun, other: PathRun, here: np.ndarray) -> tuple[_DrawLoss, ...]:
    first, second = _kinds(path), _kinds(other)
    common = min(first.size, second.size)
    unlike = np.flatnonzero(first[:common] != second[:common])
    if unlike.size:
        raise UnfollowableError(
            "a law is discrete on one input alone", path.draws[int(unlike[0])].line
        )
    there = log_likelihoods(other)
    scale, move, shift, observed = _sizes(path, other)
    with np.errstate(invalid="ignore"):
        losses = here - there
    found: list[_DrawLoss] = []
    for draw in path.groups:
        seen = np.flatnonzero(observed[draw.places]) + draw.places.start
        if seen.size and draw.name != SEED:
            found.append(
                _DrawLoss(
                    line=draw.line,
                    name=draw.name,
                    scale=scale[seen],
                    sensitivity=move[seen],
                    loss=losses[seen],
                    law=draw.law,
                    shift=shift[seen],
                )
            )
    return tuple(found)


def _kinds(path: PathRun) -> np.ndarray:
    """Return whether each draw is continuous or discrete, or was revealed as it was made."""
    found = np.zeros(path.count, dtype=int)
    for draw in path.groups:
        found[draw.places] = 0 if draw.law is None else 1 + draw.law.discrete
    return found


def _sizes(path: PathRun, other: PathRun) -> tuple[np.ndarray, ...]:
    """Return scale, realised sensitivity and shift of each draw, and whether it was observed.

    NaN stands where it was not observed alone.
    """
    scale, move, shift = (np.full(path.count, math.nan) for _ in range(3))
    observed = np.zeros(path.count, dtype=bool)
    rows: list[tuple[int, float, float, float]] = []
    for first, second in _side_by_side(path, other):
        observed[list(first.draws)] = True
        if first.is_whole:
            columns = first.draws, abs(first.offset - second.offset), first.scale, second.scale
            rows += zip(*(each.tolist() for each in columns), strict=True)
        elif len(first.draws) == 1 and first.kind in {Seen.BIT, Seen.VALUE}:
            moved = _distance(first.offset, second.offset)
            rows.append((first.draws[0], moved, first.scale, second.scale))
    if rows:
        draws, moves, scales, others = map(np.array, zip(*rows, strict=True))
        alike = np.abs(scales - others) <= SAME * np.maximum(scales, others)
        scale[draws], move[draws], shift[draws] = scales, 0.0, 0.0
        with np.errstate(invalid="ignore"):
            np.maximum.at(move, draws, moves)
            np.maximum.at(shift, draws, np.where(alike, moves / scales, math.nan))
    return scale, move, shift, observed


def _side_by_side(path: PathRun, other: PathRun) -> Iterator[tuple[Observation, Observation]]:
    """Yield what was observed on both inputs; of arrays one by one where either run did so."""
    if any(a.is_whole != b.is_whole for a, b in zip(path.events, other.events, strict=False)):
        return zip(path.seen, other.seen, strict=True)
    return zip(path.events, other.events, strict=True)


def _distance(first: Any, second: Any) -> float:
    """Return the distance of the noiseless parts; of vectors the Euclidean distance."""
    if isinstance(first, np.ndarray):
        return float(np.linalg.norm(first - second))
    return abs(float(first - second))


def line_losses(paths: Sequence[Sequence[PathLoss]]) -> tuple[LineLoss, ...]:
    """Return the losses of the lines that draw noise, the largest first."""
    means = [_means(direction) for direction in paths]
    parts: dict[tuple[Line, str], list[_DrawLoss]] = defaultdict(list)
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
        sums[part.line, part.name] += float(part.loss.sum()) / len(followed)
    return sums


def _line(
    key: tuple[Line, str], parts: Sequence[_DrawLoss], mean: float, *, total: float, paths: int
) -> LineLoss:
    scales, moves, losses = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("scale", "sensitivity", "loss")
    )
    return LineLoss(
        location=SourceLocation.of(*key[0]),
        draws=losses.size / paths,
        moved=int((moves > 0).sum()) / paths,
        law=key[1],
        scale=float(np.fmin.reduce(scales)),
        sensitivity=float(np.fmax.reduce(moves)),
        mean_loss=mean,
        largest_loss=float(losses.max()),
        share=mean / total if total > 0 and math.isfinite(mean) else 0.0,
        joined=any(part.law is not None and bool(np.isnan(part.scale).any()) for part in parts),
    )


def remarks(
    paths: Sequence[PathLoss], written: Mapping[Line, Line]
) -> tuple[tuple[Remark, ...], tuple[Remark, ...]]:
    """Return the leaks, and what could not be followed.

    A replay may depart because noise was revealed before data was added to it: then that is why.
    """
    departed: dict[tuple[Line, str], list[_Divergence]] = defaultdict(list)
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
            location=SourceLocation.of(
                *written.get(line, line) if kind is _Departure.OUTPUT else line
            ),
            paths=len(found),
            blames=line in written if kind is _Departure.OUTPUT else found[0].blames,
        )
        for (line, kind), found in departed.items()
    ]
    silent = Counter(line for path in paths for line in path.silent)
    leaks += [
        Remark(says="noise of scale 0 is drawn", location=SourceLocation.of(*line), paths=count)
        for line, count in silent.items()
    ]
    unfollowed = [
        Remark(
            says="noise is revealed here before data is added to it",
            location=SourceLocation.of(*line),
            paths=count,
        )
        for line, count in revealed.items()
    ]
    return tuple(leaks), tuple(unfollowed)
