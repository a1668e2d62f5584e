"""The exact laws of outputs made of independent draws: one run an input, no enumeration.

Where every value that the target returns is a step function of one draw, and nothing was acted on
before, the output's law is a product over the draws. Unary encodings of any length, RAPPOR and
other bitwise responses on arrays are of that kind.

A call of the target with recorded randomness, and the plain values that it returns.
"""

from __future__ import annotations

import copy
import dis
import inspect
import random
import sys
import traceback
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.inversions import StepNumber, joint_law, plain, refuse
from dpcp_audit.tracing.known_sums import folded
from dpcp_audit.tracing.lasting_code import compiled_states
from dpcp_audit.tracing.outputs import (
    ROUNDED,
    atoms_of,
    pair_of,
    rounded_output,
    same_atoms,
    without_marks,
)
from dpcp_audit.tracing.patched_randomness import recorded_globals
from dpcp_audit.tracing.path_runs import PathRun
from dpcp_audit.tracing.reachable_names import Reach
from dpcp_audit.tracing.recording_generator import RecordingGenerator
from dpcp_audit.tracing.source_lines import NotFiniteError, TraceEnd, UnfollowableError, is_target
from dpcp_audit.tracing.traced_numbers import Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType, FrameType

    from dpcp_audit.tracing.draws import Ordering
    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.source_lines import Line
    from dpcp_audit.words.arrays import FloatArray


# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


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
        found = without_marks(target.outputs(x, SymbolicRun(), np.random.default_rng(0)))
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


_MADE_BEFORE = (
    "the target has randomness that is not followed: it draws from a generator that was made "
    "before the call"
)
_RETURNS = ("RETURN_VALUE", "RETURN_CONST")
_NAMES = ("rng", "random_state", "generator", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTarget:
    """A function of one input that draws its noise from ``rng``, or from global generators.

    Parameters
    ----------
    function : callable
        ``f(x, *, rng)`` or ``f(x)``; a parameter ``random_state``, ``generator`` or ``seed`` is
        handed the generator too.
    options : mapping
        Keyword arguments of every call.
    keyword : str
        The parameter that takes the generator; "" of none.
    home : tuple
        Where the function begins.
    reach : Reach
        The names and generators that it can reach.
    code : code object or None
        Its code, where that is known.
    written : object
        The function as the user wrote it.
    read : callable or None
        What its source says of one input: the line and reason of what may decide the output besides
        it and the draws, or None.
    """

    function: Callable[..., Any]
    options: Mapping[str, Any]
    keyword: str
    home: Line
    reach: Reach = Reach()  # noqa: RUF009  (frozen)
    code: CodeType | None = None
    written: object = None
    read: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, function: Callable[..., Any], options: Mapping[str, Any]) -> TracedTarget:
        """Return a function as a target; its signature says how it takes its randomness."""
        code = code_of(function)
        home = ("", 0) if code is None else (code.co_filename, code.co_firstlineno)
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            names = []
        keyword = next((name for name in _NAMES if name in names and name not in options), "")
        return cls(
            function=function,
            options=dict(options),
            keyword=keyword,
            home=home,
            reach=Reach.of(function),
            code=code,
            written=function,
        )

    def outputs(self, x: Any, path: PathRun, source: np.random.Generator) -> tuple[Atom, ...]:
        """Run the target on a copy of ``x`` and return the plain values of its output.

        Raises
        ------
        TraceEnd
            If the path cannot be followed to its end.
        """
        rng = RecordingGenerator(path, source)
        before = self._states()
        keywords = {**self.options, **({self.keyword: rng} if self.keyword else {})}
        try:
            with recorded_globals(rng, self.reach), np.errstate(all="ignore"):
                output = self.function(copy.deepcopy(x), **keywords)
            self._require_same(before)
            path.returns_at(self.home)
            return atoms_of(output, self.home)
        except Exception as error:
            raise UnfollowableError(
                f"{type(error).__name__}: {str(error)[:200]}", self._place(error)
            ) from error
        finally:
            path.closed = True

    def returning_line(self, x: Any, path: PathRun, source: np.random.Generator) -> Line:
        """Run the target and return the line at which it returns, unless there is but one."""
        if self.code is not None and len(_returns(self.code)) == 1:
            return self.code.co_filename, min(_returns(self.code))
        lines: list[Line] = []

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "return" and frame.f_code is self.code:
                lines.append((frame.f_code.co_filename, frame.f_lineno))

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            self.outputs(x, path, source)
        except TraceEnd:
            return self.home
        finally:
            sys.setprofile(before)
        return lines[-1] if lines else self.home

    def untraced(self, x: Any, rng: np.random.Generator) -> tuple[Atom, ...]:
        """Call the target as it is and return the plain values of its output."""
        keywords = {**self.options, **({self.keyword: rng} if self.keyword else {})}
        return atoms_of(self.function(copy.deepcopy(x), **keywords), self.home)

    def plainly(self, x: Any, seed: int) -> tuple[Atom, ...]:
        """Call the target as it is, and leave the global generators as they were.

        Raises
        ------
        UnfollowableError
            If it raises an error.
        """
        held, own = np.random.get_state(), random.getstate()  # noqa: NPY002  (of other code)
        try:
            with np.errstate(all="ignore"):
                return self.untraced(x, np.random.default_rng(seed))
        except Exception as error:
            raise UnfollowableError(
                f"without a trace: {type(error).__name__}: {str(error)[:200]}", self._place(error)
            ) from error
        finally:
            np.random.set_state(held)  # noqa: NPY002
            random.setstate(own)

    def _states(self) -> tuple[object, object]:
        return self.reach.states(), compiled_states()

    def _require_same(self, states: object) -> None:
        if self._states() != states:
            raise UnfollowableError(_MADE_BEFORE, self.home)

    def _place(self, error: BaseException) -> Line:
        """Return the last line of the target that an error passed."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(each.filename, each.lineno or 0) for each in frames if is_target(each.filename)]
        return lines[-1] if lines else self.home


@lru_cache(maxsize=256)
def _returns(code: CodeType) -> frozenset[int]:
    """Return the lines at which a function returns."""
    return frozenset(
        each.positions.lineno
        for each in dis.get_instructions(code)
        if each.opname in _RETURNS and each.positions and each.positions.lineno is not None
    )
