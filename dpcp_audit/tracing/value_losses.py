"""The exact loss of outputs that hold noisy values, at values far from the data.

A sparse vector that returns the noisy answer which crossed loses most where that answer lies far
below the data, which hardly any call shows. For given values of all noisy numbers that are read,
the tree of the other observations is finite: the sum over its paths is the density of an output
that holds these values, on either input. If each value that is read is returned as it is, no other
values give that output, so that the ratio of the densities is the loss of the release there, and
near it: it is a lower bound of ε.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcp_audit.tracing.draws import (
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    NORMAL,
    UNIFORM,
    NeedsValuesError,
    NotFiniteError,
    TraceEnd,
)
from dpcp_audit.tracing.outputs import plain_output, without_marks
from dpcp_audit.tracing.path_likelihood import LOST, log_likelihoods, numerical_error
from dpcp_audit.tracing.path_tree import TreeRun, Ways, law_of_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.path_losses import PathLoss
    from dpcp_audit.tracing.path_runs import Question
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.validate import IntArray


class ValueLoss(NamedTuple):
    """The loss of an output that holds noisy values.

    Parameters
    ----------
    loss : float
        The log-ratio of its densities on the inputs, or of its probabilities if on its paths no
        value is read, in nats; never negative.
    output : object
        The output, as plain data.
    """

    loss: float
    output: Any

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


class _GivenValues(TreeRun):
    """A path of the tree on which the noisy values that are read are given ones, in turn."""

    def __init__(self, values: Sequence[float], *prefix: Any, **options: Any) -> None:
        super().__init__(*prefix, **options)
        self.given = values
        self.read_values: list[float] = []

    def decided(self, asked: Question) -> Any:
        """Give a value of continuous noise; other observations fork."""
        if asked.how is not None or not asked.terms or self._is_finite(asked):
            return super().decided(asked)
        if len(self.read_values) == len(self.given):
            raise NotFiniteError("more values are read than are given", asked.found.line)
        value = self.given[len(self.read_values)]
        self.read_values.append(value)
        self.seen.append(asked.found.with_result(value))
        return value

    @staticmethod
    def _is_finite(asked: Question) -> bool:
        """Return True if no continuous noise is read: a whole number may stand there by chance."""
        return any(draw.law is None or draw.law.discrete for draw in asked.terms)

    def _certain(self, ways: Ways) -> Ways:
        """Return all ways: given values make some of them unlikely."""
        return [way for way in ways if way[1] > LOST]

    def weight(self, output: tuple[Atom, ...]) -> float:
        """Return the log-density of the output by this path.

        Raises
        ------
        NotFiniteError
            If a value that was read is not returned as it is, and in order; if the law of a draw
            is not known far from its centre; or if rounding changes a probability.
        """
        if [each for each in without_marks(output) if each in self.given] != self.read_values:
            raise NotFiniteError("a noisy value is read and not returned", self.draws[0].line)
        for draw in self.draws:
            if draw.law is not None and not draw.law.discrete and draw.law not in _FAR_REACHING:
                raise NotFiniteError(f"the far tail of {draw.name} is not known", draw.line)
        try:
            weight = float(log_likelihoods(self).sum())
        except NeedsValuesError as end:
            raise NotFiniteError(end.reason, end.line) from None
        if weight > LOST and numerical_error(self) > _QUADRATURE:
            raise NotFiniteError("a probability is lost to rounding", self.draws[0].line)
        return weight


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
