"""A call of the target with recorded randomness: what it returns, and what it keeps.

Code that keeps what it has drawn (in a dictionary, a global name, an attribute, a cache of
``functools``) keeps traced numbers of a followed call. Where the trace ends, each such entry is
what it was before; entries without noise stay as the target left them.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

import copy
import functools
import gc
import inspect
import random
import sys
import traceback
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.targets.answers import KeptOutputError
from dpcp_audit.targets.loading import code_of
from dpcp_audit.tracing.draws import TraceEnd, UnfollowableError, is_target
from dpcp_audit.tracing.generators import RecordingGenerator
from dpcp_audit.tracing.outputs import (
    atoms_of,
)
from dpcp_audit.tracing.patches import RECORDERS, recorded_globals
from dpcp_audit.tracing.reachable_names import Reach, compiled_states, is_own
from dpcp_audit.tracing.traced_numbers import Traced, WholeArray

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from types import CodeType, FrameType

    from dpcp_audit.tracing.draws import Line
    from dpcp_audit.tracing.outputs import Atom
    from dpcp_audit.tracing.path_runs import PathRun


_NOISE = (Traced, WholeArray, *RECORDERS)
_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type(...)})
_CACHE: Any = type(functools.lru_cache(int))
_MOST = 20_000
"""Objects that are looked through."""
_NOWHERE = object()


@contextmanager
def put_back(root: object) -> Generator[Callable[[], bool]]:
    """Follow calls of a target, and put back what they leave in its state.

    What is yielded tells whether noise was kept since. Where a target keeps its outputs, all that
    it has kept since is taken out: the next call draws again.

    Parameters
    ----------
    root : object
        The function, or what holds it.

    Examples
    --------
    >>> cache = {"before": 1}
    >>> with put_back(cache) as keeps:
    ...     keeps()
    False
    """
    state = [(each, _entries(each)) for each in _reached(root)]
    taken_out: Callable[[Any], bool] = _is_noisy
    try:
        yield lambda: any(True for _ in _changes(state, _is_noisy))
    except KeptOutputError:
        taken_out = lambda _: True  # noqa: E731
        raise
    finally:
        for holder, before, keys in list(_changes(state, taken_out)):
            _put(holder, before, keys)


def _changes(
    state: Iterable[tuple[Any, Mapping[Any, Any]]], kind: Callable[[Any], bool]
) -> Iterable[tuple[Any, Mapping[Any, Any], list[Any]]]:
    """Yield the holders of new entries of a kind, with their entries before, and those entries."""
    for holder, before in state:
        now = _entries(holder)
        new = [key for key in now if now[key] is not before.get(key, _NOWHERE)]
        keys = [key for key in new if kind(key) or kind(now[key])]
        if keys:
            yield holder, before, keys


def _entries(holder: Any) -> Mapping[Any, Any]:
    """Return the entries of a holder, by key, name or place."""
    if isinstance(holder, dict):
        return dict(holder)
    if isinstance(holder, type):
        return dict(vars(holder))
    if isinstance(holder, CellType):
        return {"": _content(holder)}
    if isinstance(holder, _CACHE):
        return dict(enumerate(_results(holder)))
    return dict(enumerate(holder.ravel().tolist() if isinstance(holder, np.ndarray) else holder))


def _results(cache: Any) -> Iterable[Any]:
    """Yield the results in a cache of ``functools``, in a dictionary or in a chain."""
    for each in gc.get_referents(cache):
        yield from each.values() if isinstance(each, dict) else (each,)


def _put(holder: Any, before: Mapping[Any, Any], keys: Iterable[Any]) -> None:
    """Put entries back, or all of them where they have no names."""
    if isinstance(holder, _CACHE):
        holder.cache_clear()
    elif isinstance(holder, CellType):
        _fill(holder, before[""])
    elif isinstance(holder, np.ndarray):
        for place in keys:
            holder.flat[place] = before[place]
    elif isinstance(holder, dict | type):
        for key in keys:
            _put_entry(holder, key, before.get(key, _NOWHERE))
    else:
        holder.clear()
        (holder.update if isinstance(holder, set) else holder.extend)(before.values())


def _put_entry(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, dict):
        holder.pop(key) if value is _NOWHERE else holder.__setitem__(key, value)
    elif value is _NOWHERE:
        delattr(holder, key)
    else:
        setattr(holder, key, value)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOWHERE


def _fill(cell: CellType, value: Any) -> None:
    if value is _NOWHERE:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _reached(root: object) -> list[Any]:
    """Return the changeable objects that an object leads to, the nearest first."""
    seen, waiting, found = {id(root): root}, deque([root]), list[Any]()
    while waiting and len(seen) < _MOST:
        value = waiting.popleft()
        if _is_holder(value):
            found.append(value)
        for each in _parts(value):
            if type(each) not in _ATOMS and id(each) not in seen:
                seen[id(each)] = each
                waiting.append(each)
    return found


def _is_holder(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype.hasobject and value.dtype.names is None)
    own = isinstance(value, type) and _is_own_class(value)
    return own or isinstance(value, dict | list | set | deque | CellType | _CACHE)


def _parts(value: Any) -> Iterable[Any]:
    """Return the objects that an object leads to; installed code leads nowhere."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if _is_holder(value) else ()
    if isinstance(value, ModuleType):
        return (vars(value),) if is_own(getattr(value, "__file__", None)) else ()
    if isinstance(value, type):
        return vars(value).values() if _is_own_class(value) else ()
    if isinstance(value, FunctionType):
        own = (value.__globals__,) if is_own(value.__code__.co_filename) else ()
        return *own, value.__closure__, value.__defaults__, value.__kwdefaults__, vars(value)
    if isinstance(value, _CACHE):
        return value.__wrapped__, vars(value)
    return *gc.get_referents(value), getattr(value, "__dict__", None)


def _is_own_class(kind: type) -> bool:
    """Return True if the user wrote a class; a module that was forgotten is the user's."""
    module = sys.modules.get(kind.__module__)
    return module is None or is_own(getattr(module, "__file__", None))


def _is_noisy(value: Any) -> bool:
    """Return True if a value is noise of a followed call, or leads to some."""
    seen, waiting = {id(value): value}, deque([value])
    while waiting and len(seen) < _MOST:
        each = waiting.popleft()
        if isinstance(each, _NOISE):
            return True
        for part in _content_of(each):
            if type(part) not in _ATOMS and id(part) not in seen:
                seen[id(part)] = part
                waiting.append(part)
    return False


def _content_of(value: Any) -> Iterable[Any]:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else ()
    if isinstance(value, FunctionType | type | ModuleType):
        return ()
    return *gc.get_referents(value), getattr(value, "__dict__", None)


_MADE_BEFORE = (
    "the target has randomness that is not followed: it draws from a generator that was made "
    "before the call"
)
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
        File and line at which the function begins.
    reach : Reach
        The names and generators that it can reach.
    code : code object or None
        Code object of the function, where it is known.
    written : object
        The function as the user wrote it.
    read : callable or None
        A function that reads the source for one input. It returns the line and reason of what may
        decide the output besides the input and the draws, or None.
    unread : bool
        True if ``float`` and new arrays keep noise, in place of reading it.
    """

    function: Callable[..., Any]
    options: Mapping[str, Any]
    keyword: str
    home: Line
    reach: Reach = Reach()  # noqa: RUF009  (frozen)
    code: CodeType | None = None
    written: object = None
    read: Callable[[Any], Any] | None = None
    unread: bool = False

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
        path.unread = self.unread
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

    def lines_run(self, x: Any, path: PathRun, source: np.random.Generator) -> list[int]:
        """Run the target and return its lines, in order; none where it has no end."""
        lines: list[int] = []

        def note(frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code is not self.code:
                return None
            if event in {"line", "return"}:
                lines.append(frame.f_lineno)
            return note

        before = sys.gettrace()
        sys.settrace(note)
        try:
            self.outputs(x, path, source)
        except TraceEnd:
            return []
        finally:
            sys.settrace(before)
        return lines

    def untraced(self, x: Any, rng: np.random.Generator) -> tuple[Atom, ...]:
        """Call the target as it is and return the plain values of its output."""
        keywords = {**self.options, **({self.keyword: rng} if self.keyword else {})}
        return atoms_of(self.function(copy.deepcopy(x), **keywords), self.home)

    def plainly(self, x: Any, seed: int) -> tuple[Atom, ...]:
        """Call the target as it is, with a seed for every generator that takes one.

        The global generators are left as they were.

        Raises
        ------
        UnfollowableError
            If it raises an error.
        """
        held, own = np.random.get_state(), random.getstate()  # noqa: NPY002  (of other code)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        random.seed(seed)
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
