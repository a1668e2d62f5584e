"""Tasks: chunks of checks as something to hand out, and what comes back."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.checks import Check, Chunked
from dpcp_audit.engine import encoding
from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.targets.target_errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from dpcp_audit.checks import Context


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


def one_thread() -> AbstractContextManager[object]:
    """Hold linear algebra to one thread, here as in every worker process.

    Its sums round differently with the number of threads, and findings must not depend on
    the number of workers.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  (needed by runs alone)

    import_module("scipy.linalg")  # what is not yet loaded cannot be limited
    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
