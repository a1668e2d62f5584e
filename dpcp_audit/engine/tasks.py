"""Tasks: chunks of checks as something to hand out, and what comes back."""

from __future__ import annotations

import os
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.checks import Check, Chunked
from dpcp_audit.engine import encoding
from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.targets.target_errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dpcp_audit.checks import Context


_MACHINE_CODE = tuple(EXTENSION_SUFFIXES)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One chunk of a check; of a check with a single chunk, all of it.

    Parameters
    ----------
    check : bytes
        The check, pickled.
    index, chunks : int
        Which chunk, of how many.
    """

    check: bytes
    context: Context
    index: int = 0
    chunks: int = 1


def pickled(check: Callable[[Context], object]) -> bytes:
    """Return the check as other processes read it, closures and functions of notebooks included."""
    dumps: Any = import_module("cloudpickle").dumps  # which has no types
    return cast("bytes", dumps(check))


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a task.

    Parameters
    ----------
    id : str
        The claim's.
    data : dict or None
        The chunk's result, encoded; of a check with a single chunk, its outcome. None where
        there is none.
    error : str
        Why there is none, in a line.
    stopped : bool
        Whether that was not the check's doing: its process died, or reached a limit.
    """

    id: str
    index: int
    data: Any = None
    error: str = ""
    stopped: bool = False
    seconds: float = 0.0


def chunks_of(check: Check, context: Context) -> int:
    """Return the number of chunks of a check; those that are not ``Chunked`` have one."""
    return check.chunks(context) if isinstance(check, Chunked) else 1


def perform(
    check: Check, context: Context, *, index: int = 0, chunks: int = 1, alone: bool = False
) -> Done:
    """Run one chunk of several here, or all of a check; what it raises becomes an error.

    For ``alone`` see ``attempt``.
    """

    def result() -> Any:
        if chunks > 1 and isinstance(check, Chunked):
            return check.chunk(context, index)
        return check(context)

    started = time.perf_counter()
    data, error = attempt(lambda: encoding.encode(result()), alone=alone)
    seconds = time.perf_counter() - started
    return Done(id=context.name, index=index, data=data, error=error, seconds=seconds)


def attempt(work: Callable[[], Any], *, alone: bool = False) -> tuple[Any, str]:
    """Return what the work returns and "", or None and what it raised, in a line.

    Parameters
    ----------
    alone : bool
        Whether the work has its process to itself, which no Ctrl-C of the user's reaches: a
        KeyboardInterrupt is then the work's own.
    """
    try:
        with one_thread():
            return work(), ""
    except BaseException as caught:  # one broken check must not end the run
        if isinstance(caught, KeyboardInterrupt) and not alone:
            raise
        return None, _told(caught)


def _told(caught: BaseException) -> str:
    lines = " ".join(str(caught).split())
    if isinstance(caught, TargetError | DegenerateTargetError):  # it says what was wrong
        return lines
    place = traceback.extract_tb(caught.__traceback__)[-1]
    return f"{type(caught).__name__}{': ' if lines else ''}{lines} (in {place.name})"


@contextmanager
def one_thread() -> Generator[None]:
    """Hold linear algebra to one thread, here as in every worker process.

    Its sums round differently with the number of threads, and findings must not depend on
    the number of workers. What is loaded meanwhile reads the number from the environment.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with _libraries(_extensions(len(sys.modules))).limit(limits=1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@lru_cache(maxsize=1)
def _libraries(extensions: int) -> Any:  # noqa: ARG001  (which load them; searching takes ms)
    """Return the libraries that are loaded beside so many extension modules."""
    return import_module("threadpoolctl").ThreadpoolController()


@lru_cache(maxsize=1)
def _extensions(modules: int) -> int:  # noqa: ARG001  (nothing new is loaded without a new one)
    """Return how many of the modules that are loaded are machine code."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sum(isinstance(file, str) and file.endswith(_MACHINE_CODE) for file in files)
