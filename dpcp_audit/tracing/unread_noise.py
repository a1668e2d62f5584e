"""Functions that turn noise into plain numbers, and their stand-ins that keep it.

``float(rng.laplace())`` reads the noise before data is added to it, and so does storing it in an
array of zeros: on the neighbour, with the same noise, the output is another. Where that happens a
target is followed again with ``float`` and new arrays that keep the noise as it is, in its own
modules alone. A draw of one of two numbers is a fair coin then: the sign of noise.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import ast
import linecache
import sys
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.reachable_names import is_own, replaced
from dpcp_audit.tracing.traced_arrays import TracedArray
from dpcp_audit.tracing.traced_numbers import Traced, as_float

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dpcp_audit.tracing.reachable_names import Reach


class _FloatKind(type):
    """The type of a stand-in that passes for ``float``, unless it is compared by ``is``."""

    def __call__(cls, *args: Any) -> Any:
        number = args[0] if len(args) == 1 else None
        if isinstance(number, TracedArray) and number.size == 1:
            number = number.item()
        return as_float(number) if isinstance(number, Traced) else float(*args)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value.value if isinstance(value, Traced) else value, float)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is float

    def __hash__(cls) -> int:
        return hash(float)

    def __getattr__(cls, name: str) -> Any:
        return getattr(float, name)


class _Float(metaclass=_FloatKind):
    """``float``, which leaves noisy numbers as they are."""

    dtype = np.dtype(float)  # NumPy asks an unknown type for it


_ARRAYS = (
    "zeros",
    "ones",
    "empty",
    "full",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
)
_MOST = 10_000
"""The most entries of a new array that keeps noise."""


def _caller() -> Any:
    """Return the frame of what called the caller."""
    frames: Any = sys
    return frames._getframe(2)  # noqa: SLF001  (there is no public name)


def _keeping(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes an array which keeps the noise that is stored in it."""

    def make(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        own = is_own(_caller().f_code.co_filename)
        if not own or type(made) is not np.ndarray or made.dtype != float or made.size > _MOST:
            return made
        return made.astype(object).view(TracedArray)

    return make


@contextmanager
def kept_noise(reach: Reach) -> Generator[None]:
    """Let ``float`` and new arrays keep noise in the target's modules, for the length of a call."""
    modules = [
        names
        for names in reach.namespaces
        if "float" not in names and not any(map(_compares_types, _files(names)))
    ]
    try:
        for names in modules:
            names["float"] = _Float
        with replaced((np, name, _keeping(getattr(np, name))) for name in _ARRAYS):
            yield
    finally:
        for names in modules:
            names.pop("float", None)


def _files(names: dict[str, Any]) -> set[str]:
    """Return the files, or cells of a notebook, that a module's functions are written in."""
    functions = [each for each in names.values() if type(each) is FunctionType]
    files = {each.__code__.co_filename for each in functions if each.__globals__ is names}
    return files or {str(names.get("__file__", ""))}


@cache
def _compares_types(file: str) -> bool:
    """Return True if a module's source is not known, or compares ``float`` with other types."""
    try:
        module = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return True
    compared = (each for each in ast.walk(module) if isinstance(each, ast.Compare))
    return not module.body or any(
        isinstance(part, ast.Name) and part.id == "float"
        for each in compared
        for part in (each.left, *each.comparators)
    )
