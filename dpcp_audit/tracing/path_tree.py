"""Runs that are told what they see: replays on other data, and the tree of all paths of an input.

A fork is an observation with several possible results; the law of the output is the sum over the
paths. Of a loop that draws until something is accepted, unlikely paths are left out.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.tracing.draws import (
    SAME,
    UNIFORM,
    ImpossibleError,
    NeedsValuesError,
    NotFiniteError,
    Observation,
    PathDivergedError,
    Seen,
    TraceEnd,
    UnfollowableError,
    target_line,
)
from dpcp_audit.tracing.outputs import ROUNDED, OutputLaw, of_python, same_atoms, without_marks
from dpcp_audit.tracing.path_likelihood import (
    LOST,
    log_likelihoods,
    log_of_region,
    numerical_error,
)
from dpcp_audit.tracing.path_runs import PathRun, Question, RevealedDraw

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.tracing.draws import Line, NoiseDraw, Ordering
    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.target_calls import TracedTarget


class ForcedRun(PathRun):
    """A replay, on other data, of the observations of a path.

    Parameters
    ----------
    transcript : sequence of Observation
        The observations that the program is made to see.
    """

    by_arrays = True

    def __init__(self, transcript: Sequence[Observation], *, values: bool = False) -> None:
        super().__init__(values=values)
        self.transcript = list(transcript)

    def chosen(self, choice: RevealedDraw, line: Line) -> Any:
        """Return the value that the other path saw."""
        entry = self._next(Seen.CHOICE, (self.count,), line)
        if entry.key[0] != choice.name:
            raise PathDivergedError(f"{choice.name} is drawn in place of {entry.key[0]}", line)
        if choice.key is not None and entry.key != (choice.name, choice.key):
            raise UnfollowableError(f"the parameters of {choice.name} depend on the data", line)
        return entry.result

    def decided(self, asked: Question) -> Any:
        """Return the value that the other path saw."""
        found = asked.found
        entry = self._next(found.kind, found.draws, found.line)
        result = entry.result
        if found.kind is Seen.SETTLED and not _same(found.offset, float(result), found.scale):
            raise PathDivergedError(
                f"a number that the noise seen so far settles is {found.offset:.6g} "
                f"in place of {float(result):.6g}",
                found.line,
            )
        self.events.append(found.with_result(result))
        return result

    def decided_all(self, found: Observation, plain: Any) -> Any:
        """Return the values that the other path saw of the same draws."""
        del plain
        entry = self.transcript[len(self.events)] if self._goes_on else None
        if entry is None or not entry.is_whole or entry.kind is not found.kind:
            return None
        if not np.array_equal(entry.draws, found.draws):
            return None
        self.events.append(found.with_result(entry.result))
        return entry.result

    @property
    def _goes_on(self) -> bool:
        return len(self.events) < len(self.transcript)

    def _next(self, kind: Seen, draws: tuple[int, ...], line: Line) -> Observation:
        if not self._goes_on:
            known = self.home is not None and draws and draws[0] < len(self.draws)
            stood = self.draws[draws[0]].line if known else line
            raise PathDivergedError("more is observed", stood, blames=False)
        place = len(self.events)
        self.transcript[place : place + 1] = self.transcript[place].one_by_one()
        entry = self.transcript[place]
        if entry.kind is not kind or entry.draws != draws:
            raise PathDivergedError(
                f"a {kind} of {len(draws)} draws in place of a {entry.kind} of "
                f"{len(entry.draws)} at line {entry.line[1]}",
                line,
            )
        return entry


class _ChangedRun(ForcedRun):
    """A replay on the same data that sees other noisy values: what returns them, changes too."""

    def decided(self, asked: Question) -> Any:
        """Return the changed value; what earlier ones settle is what they settle now."""
        if asked.found.kind is not Seen.SETTLED:
            return super().decided(asked)
        self._next(asked.found.kind, asked.found.draws, asked.found.line)
        self.events.append(asked.found.with_result(asked.found.offset))
        return asked.found.offset


def changed_run(path: PathRun) -> ForcedRun:
    """Return the replay of a path on the same data, in which each noisy value is a little larger.

    What returns these values, changes too.
    """
    changed = [
        each.with_result(_larger(each.result, each.scale)) if each.kind is Seen.VALUE else each
        for each in path.events
    ]
    return _ChangedRun(changed, values=path.values)


def _larger(value: Any, scale: Any) -> Any:
    if isinstance(scale, np.ndarray):
        return value + np.where(np.mod(value, 1) == 0, 1.0, 1e-3 * scale)
    if isinstance(value, int | np.integer):
        return type(value)(value + 1)
    return value + (1.0 if np.all(np.equal(np.mod(value, 1), 0)) else 1e-3 * (scale or 1.0))


def _same(first: float, second: float, size: float) -> bool:
    """Return True if numbers agree but for rounding, of what they were computed from too."""
    return first == second or abs(first - second) <= SAME * max(1.0, abs(first), abs(second), size)


Ways = Sequence[tuple[Any, float]]
"""The possible observations, each with its log-probability."""


def ways_of_bit(
    draw: NoiseDraw, coefficient: float, offset: float, how: Ordering
) -> list[tuple[bool, float]]:
    """Return the bits that are possible, with their conditional log-probabilities."""
    law = draw.law
    if law is None:
        raise NotFiniteError("a draw without a law is compared", draw.line)
    towards = how if coefficient > 0 else how.mirrored
    regions = [
        draw.region.narrowed(each, -offset / coefficient, discrete=law.discrete)
        for each in (towards, towards.negated)
    ]
    masses = log_of_region(law, regions)
    total = float(np.logaddexp(*masses))
    return [(bit, float(mass) - total) for bit, mass in zip((True, False), masses, strict=True)]


def ways_of_value(
    draw: NoiseDraw, coefficient: float, found: Observation
) -> list[tuple[float, float]]:
    """Return the values that are possible, with their conditional log-probabilities."""
    values = None if draw.law is None else draw.law.values()
    if values is None or draw.law is None:
        raise NotFiniteError(f"the value of a {draw.name} draw is read", found.line)
    inside = [z for z in values.tolist() if draw.region.holds(z, slack=0.0)]
    masses = draw.law.log_point(np.array(inside))
    masses -= logsumexp(masses)
    ways = [
        (_number(found.offset + coefficient * z), float(mass))
        for z, mass in zip(inside, masses, strict=True)
    ]
    return [way for way in ways if way[1] > LOST]


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else value


MOST_PATHS = 20_000
"""Paths of one input that are run before the tree counts as not finite."""
_PROBES = 16
_HOPELESS = 1
"""Times as many paths as may be run: an estimate of the tree's size that ends the enumeration."""
_ROUNDING = math.log(1e-15)
"""The log-probability of a fork that may be rounding, where the other one is certain."""


KnownWays = dict[tuple[int, tuple[int, ...]], Ways]
"""Ways by the number of observations before, and the forks taken before."""


_RARE = math.log(1e-16)
_DEEP, _ENDLESS = 64, -100.0
"""Forks, and the log-probability, of a path that seems to go on without an end."""
_MISSED = 1e-12
"""The largest probability of what is left out."""
_ADDED_UP = 1e-7
"""Numerical error of the sum of a fork's probabilities, beyond which they are not believed."""
_NOTHING_LEFT = 1e-14
"""The most mass that a fork's known probabilities may leave for the unknown ones."""


class _PrunedPathError(TraceEnd):
    """The path has become less likely than what is left out."""


class TreeRun(PathRun):
    """A path of the tree: it follows given forks, and the first way at later ones.

    Parameters
    ----------
    prefix : sequence of int
        Ways to go at the first forks.
    rng : Generator or None
        If given, draws later ways uniformly.
    most : int
        Forks of a path that are followed: a tree has more paths than any of them has forks.
    least : float
        Log-probability below which the path is left out.
    known : dict, optional
        The ways of comparisons that other paths of the same tree have come by, by their forks.
    """

    def __init__(
        self,
        prefix: Sequence[int],
        rng: np.random.Generator | None = None,
        *,
        most: int = MOST_PATHS,
        least: float = LOST,
        known: KnownWays | None = None,
    ) -> None:
        super().__init__()
        self.most = most
        self.least = least
        self.known: KnownWays = {} if known is None else known
        self.taken: list[int] = []
        self.prefix = prefix
        self.rng = rng
        self.forks: list[int] = []
        self.log_mass = 0.0
        self.dropped = 0.0

    @property
    def is_elementary(self) -> bool:
        """True if its probabilities are sums of the doubles it is handed: no integral, no tail."""
        laws = [draw.law for draw in self.draws]
        plain = all(law is None or law is UNIFORM or law.values() is not None for law in laws)
        return plain and not self.joined and not len(self.sums)

    def others(self, prefix: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the ways not taken at the forks after the given ones."""
        start = len(prefix)
        return [
            (*prefix, *(0,) * (depth - start), way)
            for depth in range(start, len(self.forks))
            for way in range(1, self.forks[depth])
        ]

    def weight(self, output: tuple[Atom, ...]) -> float:
        """Return what the path adds to the law of its output, as a log."""
        del output
        return self.log_mass

    def clock_read(self) -> None:
        """End the path: what follows from the time is no law."""
        raise NotFiniteError("a clock is read", target_line())

    def chosen(self, choice: RevealedDraw, line: Line) -> Any:
        """Fork over all that may be drawn."""
        ways = self._remembered(lambda: self._possible(choice))
        if not ways:
            raise NotFiniteError(f"{choice.name} has nothing to choose from", line)
        return self._way(ways)

    @staticmethod
    def _possible(choice: RevealedDraw) -> Ways:
        """Return all that may be drawn, with log-probabilities."""
        listed = [(each, choice.log_mass(each)) for each in choice.options()]
        return [(each, mass) for each, mass in listed if mass > LOST]

    def decided(self, asked: Question) -> Any:
        """Fork over both bits, or over the values of a discrete draw."""
        found = asked.found
        if found.kind is Seen.SETTLED:
            result: Any = found.offset
        else:
            ways = self._remembered(lambda: self._ways(asked))
            result = self._way(ways if asked.how is None else self._certain(ways))
        self.events.append(found._replace(result=result))
        return result

    def peak(self, found: Observation, numbers: Sequence[Any], how: Ordering) -> int:
        """Fork over all numbers that may be the largest, or the smallest."""
        options = [
            (place, partial(self.keep_peak, numbers, place, how)) for place in range(len(numbers))
        ]
        ways = self._remembered(lambda: self._likelier(options))
        place = int(self._way(self._certain(ways)))
        self.events.append(found._replace(result=place))
        return place

    def _remembered(self, ways: Callable[[], Ways]) -> Ways:
        """Return the ways of an observation, computed once for all paths that come by it."""
        key = len(self.events), tuple(self.taken)
        if key not in self.known:
            self.known[key] = ways()
        return self.known[key]

    def _certain(self, ways: Ways) -> Ways:
        """Return the ways that are likelier than rounding; the first path adds up others."""
        if len(self.forks) >= len(self.prefix):
            rare = [mass for _, mass in ways if mass <= _ROUNDING]
            self.dropped += math.exp(self.log_mass) * math.fsum(map(math.exp, rare))
        return [way for way in ways if way[1] > _ROUNDING]

    def _ways(self, asked: Question) -> Ways:
        terms, offset = asked.terms, asked.found.offset
        if asked.how is None:
            if len(terms) != 1 or any(draw.joined for draw in terms):
                raise NotFiniteError("the value of a sum of draws is read", asked.found.line)
            ((draw, coefficient),) = terms.items()
            return ways_of_value(draw, coefficient, asked.found)
        if len(terms) == 1 and not any(draw.joined for draw in terms):
            ((draw, coefficient),) = terms.items()
            return ways_of_bit(draw, coefficient, offset, asked.how)
        return self._likelier(
            [
                (bit, partial(self.constrain, offset, terms, how))
                for bit, how in ((True, asked.how), (False, asked.how.negated))
            ]
        )

    def _likelier(
        self, options: Sequence[tuple[Any, Callable[[], None]]]
    ) -> list[tuple[Any, float]]:
        """Return the conditional log-probabilities of options, each of which adds constraints."""
        before = float(log_likelihoods(self).sum())
        regions = [draw.region for draw in self.draws]
        flags, count = [draw.joined for draw in self.draws], len(self.joined)
        impossible = self.impossible
        ways: list[tuple[Any, float]] = []
        for result, keep in options:
            keep()
            ways.append((result, self._log_mass() - before))
            self.impossible = impossible
            del self.joined[count:]
            for draw, region, flag in zip(self.draws, regions, flags, strict=True):
                draw.region, draw.joined = region, flag
        known = [mass for _, mass in ways if not math.isnan(mass)]
        if not abs(logsumexp(known)) <= (_ADDED_UP if len(known) == len(ways) else _NOTHING_LEFT):
            raise NotFiniteError("the probabilities of a fork do not add up", target_line())
        return [(result, _ROUNDING if math.isnan(mass) else mass) for result, mass in ways]

    def _log_mass(self) -> float:
        """Return the log-probability of the path; NaN where it is not known."""
        try:
            return float(log_likelihoods(self).sum())
        except ImpossibleError:
            return LOST
        except NeedsValuesError:
            return math.nan

    def _way(self, ways: Ways) -> Any:
        place = 0
        if len(ways) > 1:
            depth = len(self.forks)
            if depth >= self.most or (depth > _DEEP and self.log_mass < _ENDLESS):
                raise NotFiniteError(f"a path has {depth} forks", target_line())
            if depth < len(self.prefix):
                place = self.prefix[depth]
            elif self.rng is not None:
                place = int(self.rng.integers(len(ways)))
            self.forks.append(len(ways))
            self.taken.append(place)
        result, log_mass = ways[place]
        self.log_mass += log_mass
        if self.log_mass < self.least:
            raise _PrunedPathError("a path is too unlikely to be run", target_line())
        return result


class _OtherOutputError(TraceEnd):
    """The path returns more noisy numbers than the output has."""


class _ShownRun(TreeRun):
    """A path of the tree that is made to return the noisy values of an output.

    Parameters
    ----------
    shown : sequence
        The values, in their order.
    prefix : sequence of int
        Ways to go at the first forks.
    """

    def __init__(self, shown: Sequence[Any], prefix: Sequence[int]) -> None:
        super().__init__(prefix)
        self.shown = list(shown)
        self.inside = False

    def decided(self, asked: Question) -> Any:
        """Return the output's next value, or fork."""
        if asked.found.kind is not Seen.VALUE:
            return super().decided(asked)
        if not self.shown:
            raise _OtherOutputError("more noise is read", asked.found.line)
        self.inside |= not asked.found.at_return
        value = self.shown.pop(0)
        self.events.append(asked.found.with_result(value))
        return value


_MOST_SUMMED = 32
"""Paths of one input that are run for the probability of one output."""


def output_log_density(
    target: TracedTarget, x: Any, output: tuple[Atom, ...], shown: Sequence[Any]
) -> tuple[float, float]:
    """Return the log-density of an output: the sum over the paths that return it, with its error.

    Parameters
    ----------
    output : tuple
        The output, as plain values.
    shown : sequence
        Those of its values that are noisy numbers, as they are.

    Raises
    ------
    NotFiniteError
        If its paths are too many, or may return it in a way that is not known.
    """
    waiting: list[tuple[int, ...]] = [()]
    masses, error, runs = [LOST], 0.0, 0
    while waiting:
        prefix = waiting.pop()
        path = _ShownRun(shown, prefix)
        with suppress(_OtherOutputError):
            found = _output(target, x, path, np.random.default_rng(0))
            if _returns(path, found, output):
                masses.append(float(log_likelihoods(path).sum()))
                error = max(error, numerical_error(path))
        waiting += path.others(prefix)
        if path.dropped or (runs := runs + 1) + len(waiting) > _MOST_SUMMED:
            raise NotFiniteError("too many paths return an output", target.home)
    return float(logsumexp(masses)), error


def _returns(path: _ShownRun, found: tuple[Atom, ...], output: tuple[Atom, ...]) -> bool:
    """Return True if a path returns an output, False if it cannot.

    Raises
    ------
    NotFiniteError
        If it is not known, since what was read was changed before it was returned, or rounded.
    """
    found, output = of_python(found), of_python(output)
    if not path.shown and same_atoms(found, output):
        return True
    if path.inside or same_atoms(without_marks(found), without_marks(output), ROUNDED):
        raise NotFiniteError("a noisy number is changed before it is returned", ("", 0))
    return False


def release_law(target: TracedTarget, x: Any, *, most: int = MOST_PATHS) -> OutputLaw:
    """Return the log-probability of every output of the target on one input.

    Of a loop that draws until something is accepted, paths that go on for long are left out: all
    together less likely than 10⁻¹².

    Raises
    ------
    NotFiniteError
        If the tree of its draws is not finite, or has more than ``most`` paths.
    UnfollowableError
        If a path cannot be followed.
    """
    law = law_of_paths(target, x, most, _RARE)
    if law.pruned:
        try:
            law = law_of_paths(target, x, most, LOST)
        except NotFiniteError:
            if not law:
                raise
    if law.missed > _MISSED:
        raise NotFiniteError(
            f"paths of a probability of {law.missed:.2g} are left out", target.home
        )
    return law


def law_of_paths(
    target: TracedTarget,
    x: Any,
    most: int,
    least: float,
    run: Callable[..., TreeRun] = TreeRun,
) -> OutputLaw:
    """Return the law of the paths that are no less likely than ``least``, a log.

    Parameters
    ----------
    run : callable
        Makes a path of the tree.
    """
    found: dict[tuple[Atom, ...], list[float]] = defaultdict(list)
    waiting: list[tuple[int, ...]] = [()]
    source, runs, missed, pruned = np.random.default_rng(0), 0, 0.0, False
    known: KnownWays = {}
    typed = elementary = True
    if _estimated_paths(target, x, most, partial(run, known=known)) > _HOPELESS * most:
        raise NotFiniteError(f"the tree has more than {most} paths", target.home)
    while waiting:
        prefix = waiting.pop()
        if (runs := runs + 1) > most:
            raise NotFiniteError(f"the tree has more than {most} paths", target.home)
        path = run(prefix, most=most, least=least, known=known)
        try:
            output = _output(target, x, path, source)
            weight = path.weight(output)
            typed &= all(each.kind is not Seen.VALUE for each in path.seen)
        except _PrunedPathError:
            missed, pruned = missed + math.exp(path.log_mass), True
        else:
            found[output].append(weight)
        elementary = elementary and path.is_elementary
        missed += path.dropped
        waiting += path.others(prefix)
    law = OutputLaw.of(found, typed=typed)
    law.missed, law.pruned, law.elementary = missed, pruned, elementary
    return law


def _estimated_paths(target: TracedTarget, x: Any, most: int, run: Callable[..., TreeRun]) -> float:
    """Return a cautious estimate of the number of paths: exact where the tree is balanced.

    The geometric mean of the sizes that random descents show, each an unbiased estimate (Knuth
    1975): below their mean, which one deep descent would carry away.
    """
    rng = np.random.default_rng(0)
    sizes: list[float] = []
    for _ in range(_PROBES):
        path = run((), rng, most=most)
        _output(target, x, path, np.random.default_rng(0))
        sizes.append(math.fsum(map(math.log, path.forks)))
    return math.exp(math.fsum(sizes) / len(sizes))


def _output(
    target: TracedTarget, x: Any, path: TreeRun, source: np.random.Generator
) -> tuple[Atom, ...]:
    try:
        return target.outputs(x, path, source)
    except NeedsValuesError as end:
        raise NotFiniteError(end.reason, end.line) from None
