"""The exact loss of outputs that hold noisy values, at values far from the data.

A sparse vector that returns the noisy answer which crossed loses most where that answer lies far
below the data, which hardly any call shows. For given values of all noisy numbers that are read,
the tree of the other observations is finite: the sum over its paths is the density of an output
that holds these values, on either input. If each value that is read is returned as it is, no other
values give that output, so that the ratio of the densities is the loss of the release there, and
near it: it is a lower bound of ε. Where nothing else is observed there is one path, whose density
is a product of known ones however far it lies: the loss of Gaussian noise grows without an end.

An output without continuous noise, such as a sum that one call in a thousand returns bare, has the
probability of the paths that return it. If continuous noise is read as the function returns, and
never before, no such noise returns that output.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.tracing.draws import (
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    NORMAL,
    SAME,
    UNIFORM,
    NeedsValuesError,
    NotFiniteError,
    TraceEnd,
    target_line,
)
from dpcp_audit.tracing.outputs import pair_of, plain_output, without_marks
from dpcp_audit.tracing.path_likelihood import LOST, log_likelihoods, numerical_error
from dpcp_audit.tracing.path_tree import TreeRun, Ways, law_of_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.tracing.outputs import Atom, OutputLaw
    from dpcp_audit.tracing.path_losses import PathLoss
    from dpcp_audit.tracing.path_runs import Question
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.validate import FloatArray, IntArray


class ValueLoss(NamedTuple):
    """The loss of an output that holds noisy values.

    Parameters
    ----------
    loss : float
        The log-ratio of its densities on the inputs, or of its probabilities if on its paths no
        value is read, in nats; never negative.
    output : object
        The output, as plain data.
    away : float
        Noise scales of its values from their centres, where its density is no integral; else 0.
    """

    loss: float
    output: Any
    away: float = 0.0

    @property
    def least(self) -> float:
        """The loss, less what the integrals may be off."""
        return self.loss - _QUADRATURE * max(1.0, self.loss)


_QUADRATURE = 1e-6
"""Relative error of a density that is an integral."""
_AWAY = (3.0, 12.0, 60.0)
"""Noise scales from the data at which values are given, less than one more."""
_APART = 1e-3
"""The largest difference of two values of a path, in noise scales."""
_MOST = 256
"""Paths of a tree, at most."""
_LEAST = -300.0
"""The least log-density that is compared: the integrals leave out less than e^-700."""
_FAR_REACHING = {NORMAL, LAPLACE, EXPONENTIAL, GUMBEL, UNIFORM}
"""Laws whose integrals leave out so little; of others they may leave out 10⁻¹⁵."""
_ALONG = (4.0, 8.0, 1e2, 1e4, 1e6)
"""Noise scales from the data at which values are given where densities are no integrals."""
_ROUNDED = 1e-12
"""Relative error of a log-density that is a sum of known ones."""
_LONGEST = 256
"""Values of an output, at most, which are given far from the data."""


def _is_finite(asked: Question) -> bool:
    """Return True if no continuous noise is read: a whole number may stand there by chance."""
    return any(draw.law is None or draw.law.discrete for draw in asked.terms)


class _GivenValues(TreeRun):
    """A path of the tree on which the noisy values that are read are given ones, in turn."""

    def __init__(self, values: Sequence[float], *prefix: Any, **options: Any) -> None:
        super().__init__(*prefix, **options)
        self.given = values
        self.read_values: list[float] = []

    def decided(self, asked: Question) -> Any:
        """Give a value of continuous noise; other observations fork."""
        if asked.how is not None or not asked.terms or _is_finite(asked):
            return super().decided(asked)
        if len(self.read_values) == len(self.given):
            raise NotFiniteError("more values are read than are given", asked.found.line)
        value = self.given[len(self.read_values)]
        self.read_values.append(value)
        self.seen.append(asked.found.with_result(value))
        return value

    def _certain(self, ways: Ways) -> Ways:
        """Return all ways: given values make some of them unlikely."""
        return [way for way in ways if way[1] > LOST]

    def weight(self, output: tuple[Atom, ...]) -> float:
        """Return the log-density of the output by this path.

        Raises
        ------
        NotFiniteError
            As of ``density``; or if rounding changes a probability.
        """
        weight = self.density(output)
        if weight > LOST and numerical_error(self) > _QUADRATURE:
            raise NotFiniteError("a probability is lost to rounding", self.draws[0].line)
        return weight

    def density(self, output: tuple[Atom, ...]) -> float:
        """Return the log-density of the output by this path, as it is computed.

        Raises
        ------
        NotFiniteError
            If a value that was read is not returned as it is, and in order; or if the law of a
            draw is not known far from its centre.
        """
        if [each for each in without_marks(output) if each in self.given] != self.read_values:
            raise NotFiniteError("a noisy value is read and not returned", self.draws[0].line)
        for draw in self.draws:
            if draw.law is not None and not draw.law.discrete and draw.law not in _FAR_REACHING:
                raise NotFiniteError(f"the far tail of {draw.name} is not known", draw.line)
        try:
            return float(log_likelihoods(self).sum())
        except NeedsValuesError as end:
            raise NotFiniteError(end.reason, end.line) from None


def value_loss(
    target: TracedTarget,
    x: Any,
    neighbour: Any,
    paths: Sequence[PathLoss],
    seeds: IntArray,
) -> ValueLoss | None:
    """Return the largest loss of an output that holds noisy values; None where it is not known.

    Parameters
    ----------
    paths : sequence of PathLoss
        Sampled paths of both inputs: all values that they read are returned, or nothing is said.
    seeds : array of int
        Those of the paths, from which the places of the far values are drawn.
    """
    read = [path.answers for path in paths]
    numbers = [each for answers in read for each in answers or ()]
    if not numbers or None in read or not all(scale > 0 for _, scale in numbers):
        return None
    centres, scales = np.array(numbers).T
    scale, most = float(scales.max()), max(len(answers or ()) for answers in read)
    found, rng = list[ValueLoss](), np.random.default_rng(seeds.ravel())
    try:
        for away in _AWAY:
            steps = scale * (away + rng.random(2))
            for end in (float(centres.min() - steps[0]), float(centres.max() + steps[1])):
                values = (end + scale * _APART * rng.random(most)).tolist()
                found += _losses(target, x, neighbour, values)
    except (TraceEnd, Exception):  # noqa: BLE001  (far from the data a target may raise anything)
        return None
    return max(found, default=None, key=lambda each: each.loss)


def _losses(
    target: TracedTarget, x: Any, neighbour: Any, values: Sequence[float]
) -> list[ValueLoss]:
    """Return the losses of all outputs with given values that both inputs may return."""
    run = partial(_GivenValues, values)
    first, second = (law_of_paths(target, each, _MOST, LOST, run) for each in (x, neighbour))
    return [
        ValueLoss(abs(density - second[output]), plain_output(output))
        for output, density in first.items()
        if min(density, second.get(output, LOST)) > _LEAST and math.isfinite(density)
    ]


def tail_losses(
    target: TracedTarget,
    x: Any,
    neighbour: Any,
    ways: Sequence[Sequence[PathLoss]],
    seeds: IntArray,
) -> tuple[ValueLoss, ...]:
    """Return losses of outputs ever farther from the data, if noisy values are all that is seen.

    They grow without an end where noise is Gaussian, or has another scale on the neighbour. Of
    other noise the sampled paths show the largest loss, and nothing is returned.

    Parameters
    ----------
    ways : sequence of sequences of PathLoss
        Sampled paths of ``x`` and of the neighbour.
    seeds : array of int
        Those of the paths.
    """
    first, second = (listed[0].answers or () for listed in ways)
    if len(first) != len(second) or not 0 < len(first) <= _LONGEST:
        return ()
    here_and_there: list[FloatArray] = [*np.array(first).T, *np.array(second).T]
    centres, scales, others, other_scales = here_and_there
    wider = np.abs(scales - other_scales) > SAME * scales
    normal = any(draw.law is NORMAL for path in ways[0] for draw in path.draws)
    if not (normal or wider.any()) or not (scales > 0).all():
        return ()
    toward: FloatArray = np.where(wider, 1.0, np.sign(centres - others))
    rng = np.random.default_rng(seeds[0])
    found = list[ValueLoss]()
    try:
        for away in _ALONG:
            steps = away * toward + _APART * rng.random(scales.size)
            values = (centres + scales * steps).tolist()
            (here, output), (there, same) = (_at(target, each, values) for each in (x, neighbour))
            if output == same:
                lost = _ROUNDED * max(abs(here), abs(there))
                least = max(0.0, abs(here - there) - lost)
                found.append(ValueLoss(least, plain_output(output), away))
    except (TraceEnd, Exception):  # noqa: BLE001  (far from the data a target may raise anything)
        return tuple(found)
    return tuple(found)


def _at(target: TracedTarget, x: Any, values: Sequence[float]) -> tuple[float, tuple[Atom, ...]]:
    """Return the log-density of the output with given values, a sum of known ones.

    Raises
    ------
    NotFiniteError
        If other paths return it too, or it is an integral.
    """
    path = _GivenValues(values, ())
    output = target.outputs(x, path, np.random.default_rng(0))
    density = path.density(output)
    if path.forks or path.joined or len(path.sums) or not math.isfinite(density):
        raise NotFiniteError("the density of an output is no product of known ones", target.home)
    return density, output


_OTHER_OUTPUTS = ("any other output",)
_MOST_POINTS = 64
"""Paths of a tree whose outputs without continuous noise are found."""
_AWAY_FROM_DATA = math.pi * 1e3
"""What is added to data where noise is, so that no other output looks like it."""
_RARE = math.log(1e-12)
"""The log-probability of an output that counts among the others: it may be rounding."""
_FEW = 1e-9
"""A probability of all other outputs that may be rounding."""


class _PointRun(TreeRun):
    """A path of the tree that may return any value of continuous noise: none has a probability."""

    def __init__(self, *prefix: Any, **options: Any) -> None:
        super().__init__(*prefix, **options)
        self.spread = False

    def decided(self, asked: Question) -> Any:
        """Return some value of continuous noise, as the target returns; other observations fork."""
        if asked.how is not None or not asked.terms or _is_finite(asked):
            return super().decided(asked)
        if not asked.found.at_return:
            raise NotFiniteError("a noisy value is read before it is returned", asked.found.line)
        self.spread = True
        value = float(asked.found.offset + _AWAY_FROM_DATA)
        self.events.append(asked.found.with_result(value))
        return value

    def weight(self, output: tuple[Atom, ...]) -> float:
        """Return the log-probability of the output; minus infinity of continuous noise.

        Raises
        ------
        NotFiniteError
            If the probability is an integral, or the output is no number.
        """
        if self.spread:
            return LOST
        if self.joined or len(self.sums) or any(each != each for each in output):  # noqa: PLR0124
            raise NotFiniteError("the probability of an output is not exact", target_line())
        return self.log_mass


def point_laws(target: TracedTarget, x: Any, neighbour: Any) -> FinitePair | None:
    """Return the laws of the outputs without continuous noise, and of all others as one.

    By post-processing the release loses at least what they lose. None where they are not known, or
    where there are none.
    """
    read = replace(target, unread=True)
    try:
        first, second, *again = (
            law_of_paths(read, each, _MOST_POINTS, LOST, _PointRun)
            for each in (x, neighbour, neighbour, x)
        )
        masses = [_with_rest(each) for each in (first, second)]
        if again != [second, first]:  # what changes from call to call alone tells none apart
            return None
        if first.typed != second.typed or max(map(len, masses)) < _POINTS:
            return None
        return pair_of(*masses)
    except (TraceEnd, Exception):  # noqa: BLE001  (on a rare path a target may raise anything)
        return None


_POINTS = 2
"""An output without continuous noise, and all others."""


def _with_rest(law: OutputLaw) -> dict[Any, float]:
    """Return the probabilities, as logs, of outputs without continuous noise, and of the rest.

    Raises
    ------
    NotFiniteError
        If paths are left out, or the rest is lost to rounding.
    """
    points = {output: mass for output, mass in law.items() if mass > _RARE}
    rest = 1 - math.fsum(map(math.exp, points.values()))
    if law.missed or (len(points) < len(law) and rest < _FEW):
        raise NotFiniteError("paths are left out", ("", 0))
    return points | ({_OTHER_OUTPUTS: math.log(rest)} if len(points) < len(law) else {})
