"""The law of an output, and the pair of two inputs' laws: outputs that rounding parts are one.

Rounding must never make a loss. Outputs that differ by it alone count as one, and what is as
unlikely as rounding on both inputs is set aside: a proof is asked of the laws to the last bit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.mechanisms.laws import FiniteLaw, FinitePair
from dpcp_audit.tracing.joined_draws import LOST
from dpcp_audit.tracing.output_atoms import same_atoms
from dpcp_audit.tracing.trace_errors import NotFiniteError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.tracing.output_atoms import Atom

ROUNDED = 1e-8
"""Relative difference of two outputs that may be one, after rounding to 10 digits."""
_CHANGED = 1e-10
"""The largest relative change of a probability by what is left out."""
_UNDERFLOW = math.log(1e-200)
"""Below it a probability is of a weight that has lost its digits, or is 0 by rounding."""
_ROUNDING = math.log(1e-15)
"""Below it a probability may be the rounding of one that is 0."""


Told = tuple[tuple[str, "Atom"], ...]
"""Plain values with what tells equal ones apart: 1 from 1.0 and from True, 0.0 from -0.0."""


def told_apart(output: tuple[Atom, ...]) -> Told:
    """Return the plain values of an output, each with its type and the sign of a zero.

    Examples
    --------
    >>> told_apart((1, -0.0))
    (('int', 1), ('-float', -0.0))
    """
    return tuple((_told(each), each) for each in output)


def _told(value: Atom) -> str:
    below = isinstance(value, float) and not value and math.copysign(1.0, value) < 0
    return ("-" if below else "") + type(value).__name__


class OutputLaw(dict[Any, float]):
    """The log-probabilities of outputs.

    Attributes
    ----------
    missed : float
        The probability of the paths that were left out: those of a loop without an end, and
        those after a fork that is as unlikely as rounding.
    unrounded : mapping
        The log-probabilities of outputs to the last bit, types and signs of zeros too.
    """

    missed: float = 0.0
    pruned: bool = False
    unrounded: Mapping[Any, float] = MappingProxyType({})

    @classmethod
    def of(cls, found: Mapping[Told, list[float]]) -> OutputLaw:
        """Return the law of paths: the log-probabilities of those that return an output."""
        near: dict[tuple[Atom, ...], list[float]] = defaultdict(list)
        for output, masses in found.items():
            near[rounded_output(tuple(each for _, each in output))] += masses
        law = cls(_added_up(near))
        law.unrounded = _added_up(found)
        return law


def _added_up(found: Mapping[Any, list[float]]) -> dict[Any, float]:
    return {output: float(logsumexp(masses)) for output, masses in found.items()}


def rounded_output(output: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Return an output with its floats to 10 digits: what noise settles is known up to rounding."""
    return tuple(
        float(f"{each:.9e}") if isinstance(each, float) and math.isfinite(each) else each
        for each in output
    )


def pair_of(law: Mapping[Any, float], neighbour: Mapping[Any, float]) -> FinitePair:
    """Return two laws over the outputs of both; what differs by rounding is one output.

    Raises
    ------
    NotFiniteError
        If what the laws leave out could change the ratio of a probability.
    """
    alone = [output for output in law if output not in neighbour]
    near: dict[Any, list[float]] = defaultdict(list)
    for output, mass in neighbour.items():
        near[_matched(output, law, alone)].append(mass)
    pair = exact_pair(law, _added_up(near))
    missed = max(getattr(each, "missed", 0.0) for each in (law, neighbour))
    least = min(float(each.log_mass.min()) for each in (pair.law, pair.neighbour_law))
    if missed > 0 and not least >= math.log(missed / _CHANGED):
        raise NotFiniteError("an output is as unlikely as what is left out of a loop", ("", 0))
    return pair


def exact_pair(law: Mapping[Any, float], neighbour: Mapping[Any, float]) -> FinitePair:
    """Return two laws over the outputs of both; only what is equal is one output."""
    outputs = [*law, *(each for each in neighbour if each not in law)]
    ones = np.zeros(len(outputs))
    first, second = (
        FiniteLaw(np.array([each.get(output, LOST) for output in outputs]), ones)
        for each in (law, neighbour)
    )
    return FinitePair(first, second)


def _matched(output: Any, law: Mapping[Any, float], alone: Sequence[Any]) -> Any:
    """Return an output as the other law has it, if it has it but for rounding."""
    if output in law:
        return output
    return next((other for other in alone if same_atoms(output, other, ROUNDED)), output)


def without_rounding(pair: FinitePair) -> tuple[FinitePair, float]:
    """Set aside what rounding alone may make likelier on one input than on the other.

    Outputs whose probability is lost to underflow on both inputs, and those that one input never
    gives and the other one with less than 10⁻¹⁵.

    Returns
    -------
    pair : FinitePair
    aside : float
        The probability that is set aside, of either input.

    Examples
    --------
    >>> none = np.zeros(3)
    >>> laws = (FiniteLaw(np.array(mass), none) for mass in ([0.0, -740, -40], [0.0, -739, LOST]))
    >>> pair, aside = without_rounding(FinitePair(*laws))
    >>> pair.max_divergence(), aside < 1e-15
    (0.0, True)
    """
    masses = np.stack([pair.law.log_mass, pair.neighbour_law.log_mass])
    high, low = masses.max(axis=0), masses.min(axis=0)
    lost = (high < _UNDERFLOW) | ((low == LOST) & (high < _ROUNDING))
    if not lost.any():
        return pair, 0.0
    none = np.zeros(int(np.count_nonzero(~lost)))
    kept = FinitePair(*(FiniteLaw(row[~lost], none) for row in masses))
    return kept, max(float(np.exp(high[lost]).sum()), np.finfo(float).tiny)
