"""The names by which a target reaches other code, and their replacements during a call.

``from numpy.random import laplace`` binds the function itself, which replacing it in its module
does not touch: here its name in the target's module is replaced too. A generator that was made
before the call cannot be recorded, but its state tells whether it was drawn from. Random bytes of
the operating system are recorded by nothing, so that no path may take any.

A module that is imported in a call, and a function that numba compiles in one, keep what they found
for as long as the process lives: both are made with the generators themselves. Compiled code draws
from generators of numba's own, which nothing records: their state tells.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import builtins
import functools
import inspect
import io
import os
import pickle
import random
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.draws import UnfollowableError, is_library, target_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    Unpatched = Callable[[], AbstractContextManager[None]]


_MOST = 200
"""Modules whose names are looked through."""
_PACKAGE = str(Path(__file__).parents[1])
_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The names and objects that a function can reach.

    Parameters
    ----------
    namespaces : tuple of dict
        The names of its module, and of other modules of its own that it uses.
    generators : tuple
        Generators that were made before it is called.
    """

    namespaces: tuple[dict[str, Any], ...] = ()
    generators: tuple[Any, ...] = ()

    @classmethod
    def of(cls, function: object) -> Reach:
        """Return the names that a function can reach."""
        first = _innermost(function)
        if not isinstance(first, FunctionType):
            return cls()
        namespaces = _namespaces(first)
        held = [*_held(first), *vars(getattr(function, "__self__", _NOTHING)).values()]
        values = [*held, *(value for names in namespaces for value in names.values())]
        found = {id(each): each for each in values if _is_generator(each)}
        return cls(namespaces=tuple(namespaces), generators=tuple(found.values()))

    def states(self) -> bytes:
        """Return the states of the generators."""
        return pickle.dumps([_state(each) for each in self.generators]) if self.generators else b""

    @contextmanager
    def rebound(self, replaced: Mapping[int, Any]) -> Generator[None]:
        """Give names other values for the length of a call, by the identity of their own."""
        before = [
            (names, name, value)
            for names in self.namespaces
            for name, value in names.items()
            if id(value) in replaced
        ]
        try:
            for names, name, value in before:
                names[name] = replaced[id(value)]
            yield
        finally:
            for names, name, value in before:
                names[name] = value


class _Nothing:
    """An object without attributes."""


_NOTHING = _Nothing()


def _innermost(function: object) -> object:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    return function


def _namespaces(function: FunctionType) -> list[dict[str, Any]]:
    """Return the names of a function's module, and of modules that its names lead to."""
    found = [function.__globals__]
    seen = {id(function.__globals__)}
    for names in found:
        for other in _others(list(names.values())):
            if id(other) not in seen and len(found) < _MOST:
                seen.add(id(other))
                found.append(other)
    return found


def _others(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        kind = type(value)  # asked of an object itself, a deprecated one warns
        if issubclass(kind, FunctionType) and is_own(value.__code__.co_filename):
            yield value.__globals__
        elif issubclass(kind, ModuleType) and is_own(getattr(value, "__file__", None)):
            yield vars(value)


def is_own(file: str | None) -> bool:
    """Return True if a file is the user's, and not an installed library's."""
    return file is not None and not file.startswith(_PACKAGE) and not is_library(file)


def _held(function: FunctionType) -> Iterator[Any]:
    """Yield the objects that a function holds besides its module's names."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def _is_generator(value: Any) -> bool:
    kind = type(value)  # as above
    return issubclass(kind, _GENERATORS) and not issubclass(kind, random.SystemRandom)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        generator = generator.bit_generator
    if isinstance(generator, np.random.BitGenerator):
        return generator.state
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()


_INHERITED = object()


@contextmanager
def replaced(names: Iterable[tuple[Any, str, Any]]) -> Generator[None]:
    """Let names stand for other values, and put back in the end what they stood for.

    Parameters
    ----------
    names : iterable of (owner, name, value)
        Modules or classes with the attributes that are replaced; what a class inherits it
        inherits again in the end.

    Examples
    --------
    >>> import math
    >>> with replaced([(math, "tau", 0.0)]):
    ...     math.tau
    0.0
    >>> math.tau > 6
    True
    """
    before: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in names:
            own = owner.__dict__.get(name, _INHERITED)
            setattr(owner, name, value)
            before.append((owner, name, own))
        yield
    finally:
        for owner, name, own in reversed(before):
            if own is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, own)


_UNUSED: ContextVar[bool] = ContextVar("unused", default=False)
_SOURCES = ((os, "urandom"), (os, "getrandom"), (random, "_urandom"))
"""The modules and names that call them; ``random`` keeps a name of its own."""
_OPENERS = ((builtins, "open"), (io, "open"), (os, "open"))
_DEVICES = frozenset({"/dev/urandom", "/dev/random", "/dev/hwrng"})


@contextmanager
def refused_entropy() -> Generator[None]:
    """Refuse the system's random bytes for the length of a call."""
    with replaced((owner, name, value) for owner, name, _, value in refusals()):
        yield


@cache
def refusals() -> list[tuple[Any, str, Any, Any]]:
    """Return the refused objects: owner, name, object and the function that refuses it."""
    wrapped = [(each, _refusing) for each in _SOURCES] + [(each, _watching) for each in _OPENERS]
    return [
        (owner, name, getattr(owner, name), wrap(getattr(owner, name)))
        for (owner, name), wrap in wrapped
        if hasattr(owner, name)
    ]


@contextmanager
def unused_entropy() -> Generator[None]:
    """Allow them where a seed replaces them at once, as in ``RandomState(5)``."""
    before = _UNUSED.set(True)
    try:
        yield
    finally:
        _UNUSED.reset(before)


def _refusing(source: Callable[..., bytes]) -> Callable[..., bytes]:
    def refuse(*args: Any, **kwargs: Any) -> bytes:
        if _UNUSED.get():
            return source(*args, **kwargs)
        raise _drawn()

    return refuse


def _watching(opener: Callable[..., Any]) -> Callable[..., Any]:
    def open_other(file: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str | os.PathLike) and os.fspath(file) in _DEVICES:
            raise _drawn()
        return opener(file, *args, **kwargs)

    return open_other


def _drawn() -> UnfollowableError:
    return UnfollowableError("random bytes of the system are drawn", target_line())


_IMPORTLIB: Any = sys.modules["_frozen_importlib"]
_LOADS = "_find_and_load"
"""The function that every import of a module that is not yet loaded calls, in Python and in C."""
_COMPILERS, _COMPILES = "numba.core.dispatcher", "_compile_for_args"
_STATES, _OWNERS = "numba._helperlib", ("np", "py")


@contextmanager
def lasting_code(unpatched: Unpatched) -> Generator[None]:
    """Import what is installed, and compile by numba, with the generators themselves.

    Parameters
    ----------
    unpatched : callable
        A function that returns a context in which the generators are unpatched.
    """
    names: list[tuple[Any, str, Any]] = []
    load = getattr(_IMPORTLIB, _LOADS, None)
    if load is not None:
        names.append((_IMPORTLIB, _LOADS, _importing(load, unpatched)))
    compiler = getattr(sys.modules.get(_COMPILERS), "Dispatcher", None)
    if hasattr(compiler, _COMPILES):
        names.append((compiler, _COMPILES, _compiling(compiler, unpatched)))
    with replaced(names):
        yield


def compiled_states() -> tuple[Any, ...]:
    """Return the states of the generators that code compiled by numba draws from."""
    module: Any = sys.modules.get(_STATES)
    if not hasattr(module, "rnd_get_state"):
        return ()
    return tuple(
        module.rnd_get_state(getattr(module, f"rnd_get_{owner}_state_ptr")()) for owner in _OWNERS
    )


def _importing(load: Callable[..., Any], unpatched: Unpatched) -> Callable[..., Any]:
    def load_unpatched(name: str, import_: Any) -> Any:
        if not _is_installed(name):
            return load(name, import_)
        with unpatched(), unused_entropy(), replaced([(_IMPORTLIB, _LOADS, load)]):
            return load(name, import_)

    return load_unpatched


def _is_installed(name: str) -> bool:
    """Return True if a module is the standard library's or an installed one's."""
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names:
        return True
    spec = PathFinder.find_spec(root)
    return spec is not None and spec.has_location and not is_own(spec.origin)


def _compiling(compiler: Any, unpatched: Unpatched) -> Callable[..., Any]:
    compile_ = getattr(compiler, _COMPILES)

    def compile_unpatched(self: Any, *args: Any, **kwargs: Any) -> Any:
        with unpatched(), unused_entropy():
            return compile_(self, *args, **kwargs)

    return compile_unpatched
