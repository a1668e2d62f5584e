# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a target can reach by names of its own: functions imported by name, generators made before.

``from numpy.random import laplace`` binds the function itself, which replacing it in its module
does not touch: here its name in the target's module is replaced too. A generator that was made
before the call cannot be recorded, but its state tells whether it was drawn from.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import random
import sysconfig
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.source_lines import is_target

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

_MOST = 200
"""Modules whose names are looked through."""
_PACKAGE = str(Path(__file__).parents[1])
_INSTALLED = (
    _PACKAGE,
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")},
)
_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a function can reach.

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
        """Return what a function can reach."""
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
        if isinstance(value, FunctionType) and is_own(value.__code__.co_filename):
            yield value.__globals__
        elif isinstance(value, ModuleType) and is_own(getattr(value, "__file__", None)):
            yield vars(value)


def is_own(file: str | None) -> bool:
    """Tell whether a file is the user's, and not an installed library's."""
    return file is not None and is_target(file) and not file.startswith(_INSTALLED)


def is_of_package(file: str) -> bool:
    """Tell whether a file is this package's, which hands targets their inputs."""
    return file.startswith(_PACKAGE)


def _held(function: FunctionType) -> Iterator[Any]:
    """Yield what a function holds besides its module's names."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def _is_generator(value: Any) -> bool:
    return isinstance(value, _GENERATORS) and not isinstance(value, random.SystemRandom)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        generator = generator.bit_generator
    if isinstance(generator, np.random.BitGenerator):
        return generator.state
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()
