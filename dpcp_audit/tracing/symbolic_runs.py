# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The exact laws of outputs made of independent draws: one run an input, no enumeration.

Where every value that the target returns is a step function of one draw, and nothing was acted on
before, the output's law is a product over the draws. Unary encodings of any length, RAPPOR and
other bitwise responses on arrays are of that kind.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.mechanisms.laws import FiniteLaw, FinitePair
from dpcp_audit.tracing.output_atoms import same_atoms
from dpcp_audit.tracing.output_laws import ROUNDED, pair_of, rounded_output
from dpcp_audit.tracing.path_runs import PathRun, folded
from dpcp_audit.tracing.step_numbers import StepNumber, joint_law, plain, refuse
from dpcp_audit.tracing.trace_errors import NotFiniteError
from dpcp_audit.tracing.traced_numbers import Traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit._types import FloatArray
    from dpcp_audit.tracing.draws import Ordering
    from dpcp_audit.tracing.target_calls import TracedTarget

_MOST = 200_000
"""Losses that a product is kept as."""
_DIGITS = 11


class SymbolicRun(PathRun):
    """A run that computes with all draws at once; it ends where one is acted on."""

    symbolic = True

    def clock_read(self) -> None:
        """End the run."""
        refuse()

    def decided(self, asked: Any) -> Any:
        """End the run."""
        del asked
        return refuse()

    def chosen(self, choice: Any, line: Any) -> Any:
        """End the run."""
        del choice, line
        return refuse()

    def extreme(self, numbers: Sequence[Any], *, largest: bool) -> int:
        """End the run."""
        del numbers, largest
        return int(refuse())

    def compare(self, left: Traced, how: Ordering, right: Any) -> Any:
        """Return the comparison as a step function of the draw."""
        form: Any = left - right
        if not isinstance(form, Traced):
            return how.holds(form, 0)
        offset, terms = folded(form)
        if len(terms) != 1:
            refuse()
        ((draw, coefficient),) = terms.items()
        if draw.law is None or draw.law.discrete:
            refuse()
        cut = -offset / coefficient
        sides = (-1.0, 1.0) if coefficient > 0 else (1.0, -1.0)
        return StepNumber(draw, (cut,), tuple(how.holds(side, 0.0) for side in sides))


@dataclass(frozen=True, slots=True, eq=False)
class ProductLaw:
    """The values that a target returns on one input, as functions of independent draws."""

    values: tuple[Any, ...]
    supports: tuple[frozenset[Any], ...]

    @classmethod
    def of(cls, target: TracedTarget, x: Any) -> ProductLaw:
        """Run the target once.

        Raises
        ------
        NotFiniteError
            If it acts on a draw, or returns one that takes infinitely many values.
        UnfollowableError
            If it cannot be run.
        """
        found = target.outputs(x, SymbolicRun(), np.random.default_rng(0))
        if not any(isinstance(each, StepNumber) for each in found):
            raise NotFiniteError("no output depends on a draw", target.home)
        return cls(found, tuple(frozenset(rounded_output(_support(each))) for each in found))

    def __contains__(self, output: Sequence[Any]) -> bool:
        """Tell whether an output has a positive probability, value by value."""
        return len(output) == len(self.values) and all(
            found in support or any(same_atoms((found,), (each,), ROUNDED) for each in support)
            for support, found in zip(self.supports, output, strict=True)
        )

    def groups(self) -> dict[int, tuple[int, ...]]:
        """Return the places of the values of each draw."""
        places: dict[int, list[int]] = defaultdict(list)
        for place, value in enumerate(self.values):
            if isinstance(value, StepNumber):
                places[value.draw.index].append(place)
        return {draw: tuple(listed) for draw, listed in places.items()}


def _support(value: Any) -> tuple[Any, ...]:
    return tuple(map(plain, value.values)) if isinstance(value, StepNumber) else (value,)


def product_pair(first: ProductLaw, second: ProductLaw) -> FinitePair | None:
    """Return the pair of two products, outputs of the same loss together; None if it is not one."""
    groups = sorted(first.groups().values())
    fixed = set(range(len(first.values))) - {place for group in groups for place in group}
    if len(first.values) != len(second.values) or groups != sorted(second.groups().values()):
        return None
    if any(first.values[place] != second.values[place] for place in fixed):
        return None
    masses = np.zeros((2, 1))
    for group in groups:
        laws = [joint_law([each.values[place] for place in group]) for each in (first, second)]
        if laws[0] != laws[1]:
            pair = pair_of(*laws)
            masses = _joined(masses, np.stack([pair.law.log_mass, pair.neighbour_law.log_mass]))
        if masses.shape[1] > _MOST:
            return None
    none = np.zeros(masses.shape[1])
    return FinitePair(FiniteLaw(masses[0], none), FiniteLaw(masses[1], none))


def _joined(masses: FloatArray, other: FloatArray) -> FloatArray:
    """Return the log-masses of a product under both laws, added up where the loss is the same."""
    both = (masses[:, :, None] + other[:, None, :]).reshape(2, -1)
    both = both[:, np.isfinite(both).any(axis=0)]
    losses: FloatArray = np.round(both[0] - both[1], _DIGITS)
    unique, inverse = np.unique(losses, return_inverse=True)
    added = np.full((2, unique.size), -np.inf)
    for row in range(2):
        np.logaddexp.at(added[row], inverse, both[row])
    return added
