"""A call of the target with recorded randomness, and the plain values that it returns."""

from __future__ import annotations

import copy
import dis
import inspect
import random
import sys
import traceback
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.lasting_code import compiled_states
from dpcp_audit.tracing.outputs import (
    atoms_of,
)
from dpcp_audit.tracing.patched_randomness import recorded_globals
from dpcp_audit.tracing.reachable_names import Reach
from dpcp_audit.tracing.recording_generator import RecordingGenerator
from dpcp_audit.tracing.source_lines import TraceEnd, UnfollowableError, is_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FrameType

    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.tracing.source_lines import Line


# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


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
