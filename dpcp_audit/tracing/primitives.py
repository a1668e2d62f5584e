"""Noise of anyone's own: a function or method whose law is declared, and so is followed.

Without a trace the function is called as it stands. In a trace its law is drawn from in its
place: numbers stay traced where the law has a location and a scale, others are revealed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpcp_audit._plain_data import shown
from dpcp_audit.errors import UsageError
from dpcp_audit.tracing.scipy_laws import described

if TYPE_CHECKING:
    from collections.abc import Generator

    from dpcp_audit.tracing.recording_generator import RecordingGenerator

_F = TypeVar("_F", bound=Callable[..., Any])
_RECORDER: ContextVar[RecordingGenerator | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(rng: RecordingGenerator) -> Generator[None]:
    """Let primitives draw by a recording generator."""
    before = _RECORDER.set(rng)
    try:
        yield
    finally:
        _RECORDER.reset(before)


def primitive(*, law: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare the law of a function that draws noise in a way of its own.

    Parameters
    ----------
    law : callable
        It takes the arguments of the function and returns the law of the returned value: a frozen
        distribution of ``scipy.stats``, or a mapping of values to probabilities.

    Returns
    -------
    decorator : callable
        Outside of traces the function stays what it is.

    Examples
    --------
    >>> from scipy import stats
    >>> import dpcp_audit as dp
    >>> @dp.primitive(law=lambda value, scale: stats.laplace(value, scale))
    ... def secure_laplace(value, scale):
    ...     raise NotImplementedError("drawn by a chip")
    >>> def noisy_sum(x):
    ...     return secure_laplace(sum(x), 2.0)
    >>> dp.trace(noisy_sum, [0, 1], [0, 0], draws=50).epsilon()  # doctest: +ELLIPSIS
    0.5...
    """
    if not callable(law):
        raise UsageError(f"law must be callable, got {shown(law, 80)}")

    def decorate(function: _F) -> _F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder = _RECORDER.get()
            if recorder is None:
                return function(*args, **kwargs)
            return drawn(recorder, function.__name__, law(*args, **kwargs))

        return cast("_F", call)

    return decorate


def drawn(recorder: RecordingGenerator, name: str, law: Any) -> Any:
    """Return a draw of a declared law: a traced number, or a value that is revealed."""
    if isinstance(law, Mapping):
        return _chosen(recorder, name, cast("Mapping[Any, float]", law))
    return recorder.additive(name, *described(law))


def _chosen(recorder: RecordingGenerator, name: str, law: Mapping[Any, float]) -> Any:
    values, masses = list(law), np.array(list(law.values()), dtype=np.float64)
    total = math.fsum(masses)
    if not values or (masses < 0).any() or not math.isclose(total, 1, abs_tol=1e-9):
        raise ValueError(f"law must be probabilities that sum to 1, got a sum of {total!r}")
    return recorder.among(name, values, masses / total)
