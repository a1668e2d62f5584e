"""What a followed call makes and leaves behind: modules, and code that numba compiled.

A module that takes ``numpy.random.normal`` at its import keeps what it found for as long as the
process lives, and a function that numba compiles keeps its code, or its failure to compile. Both
are made with the generators themselves, not with what stands in their place for the length of a
call. The target's own modules are no such: what they draw at their import is followed.

Compiled code draws from generators of numba's own, which nothing records: their state tells.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from dpcp_audit.tracing.reachable_names import is_own, replaced, unused_entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    Unpatched = Callable[[], AbstractContextManager[None]]

_IMPORTLIB: Any = sys.modules["_frozen_importlib"]
_LOADS = "_find_and_load"
"""What every import calls for a module that is not yet loaded, of Python and of C alike."""
_COMPILERS, _COMPILES = "numba.core.dispatcher", "_compile_for_args"
_STATES, _OWNERS = "numba._helperlib", ("np", "py")


@contextmanager
def lasting_code(unpatched: Unpatched) -> Generator[None]:
    """Import what is installed, and compile by numba, with the generators themselves.

    Parameters
    ----------
    unpatched : callable
        It returns a context in which the generators are themselves.
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
    """Tell whether a module is the standard library's or an installed one's."""
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
