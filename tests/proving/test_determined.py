"""A function follows from its values and draws where its source says so; else its line is named."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
import operator
import os
import time
from collections import deque
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcp_audit.proving.prover import undetermined

if TYPE_CHECKING:
    from collections.abc import Callable

RARE = 1e-9


def doubts(function, value) -> Any:
    """Return what may decide the output besides the value and the draws."""
    return undetermined(function, [value], {}, ["rng"])


_KEEP, _TABLE, _NAMES = 0.5, np.array([0.2, 0.8]), ["a", "b"]
_NUMBERS = itertools.count()
_TOTAL = [0]
_SEEN: deque[int] = deque()


def response(value, rng) -> int:
    return value if rng.random() < _KEEP else int(rng.integers(3))


def validated(value, *, rng) -> int:
    if value is None or not 0 <= value < 3:
        raise ValueError(f"value must be below 3, got {value!r}")
    return response(value, rng)


def weighted(value, *, rng, weights=(1.0, 2.0)) -> Any:
    shares = np.where(np.arange(2) == value, exp(1.0), np.asarray(weights))
    return _NAMES[int(np.searchsorted(np.cumsum(shares / shares.sum()), rng.random()))]


def generating(value, *, rng) -> int:
    others = [each for each in [*range(3)] if each != value]
    queue = sorted(others)[::-1]
    return value if rng.random() < _TABLE[1] else queue[int(rng.integers(2))]


@dataclass(frozen=True)
class Response:
    """A response with its settings."""

    epsilon: float

    @property
    def keep(self) -> float:
        """The probability of the truth."""
        return math.exp(self.epsilon) / (1 + math.exp(self.epsilon))

    def respond(self, value, *, rng) -> int:
        """Return the bit, or the other one."""
        return value if rng.random() < self.keep else 1 - value


def enclosing(keep) -> Any:
    def respond(value, *, rng) -> int:
        return value if rng.random() < keep else 1 - value

    return respond


@pytest.mark.parametrize(
    "function",
    [
        response,
        validated,
        weighted,
        generating,
        Response(1.0).respond,
        enclosing(0.75),
        functools.partial(weighted, weights=(2.0, 1.0)),
    ],
    ids=["plain", "validated", "arrays", "generator", "method", "closure", "partial"],
)
def test_plain_code_is_known(function) -> None:
    assert [doubts(function, value) for value in (0, 1)] == [None, None]


def timed(function) -> Callable[..., int]:
    """Return the function, but for a moment of every day."""

    @functools.wraps(function)
    def call(value, *, rng) -> int:
        return value if time.time() % 86_400 < RARE else function(value, rng)

    return call


def by_exception(value, rng) -> int:
    try:
        return value if rng.random().hex() == "0x0.0p+0" else 0
    except AttributeError:
        return 0


def by_error(value, rng) -> int:
    try:
        drawn = rng.random()
    except AttributeError:
        return value
    return int(drawn < RARE)


def by_pattern(value, rng) -> int:
    match rng.random():
        case float() as u if u < RARE:
            return value
    return response(value, rng)


def by_import(value, rng) -> int:
    import secrets  # noqa: PLC0415  (as users may)

    return value if secrets.randbelow(10**9) == 0 else response(value, rng)


def by_global(value, rng) -> int:
    global _KEEP  # noqa: PLW0603  (the mistake)
    _KEEP += RARE
    return response(value, rng)


def by_sequence(value, rng) -> int:
    match rng.random(2):
        case [_, _]:
            return value
    return response(value, rng)


def by_default(value, rng, held=(0,)) -> int:
    by_default.__defaults__ = ((held[0] + 1,),)  # type: ignore[assignment]
    return value if held[0] > 10**6 else response(0, rng)


class Printed:
    """A response that is printed: what its text does is not read."""

    def __str__(self) -> str:
        _TOTAL[0] += 1
        return ""

    def __call__(self, value, rng) -> int:
        print(self)  # noqa: T201  (the mistake)
        return response(value, rng)


class Hidden:
    """A response that counts under a name with underscores on both sides."""

    __calls__ = [0]  # noqa: RUF012  (the mistake)

    def __call__(self, value, rng) -> int:
        self.__calls__[0] += 1
        return response(value, rng)


class Clocked:
    """A response whose clock is an attribute."""

    def __init__(self) -> None:
        self.now = time.time_ns

    def __call__(self, value, rng) -> int:
        return value if self.now() % 10**9 == 0 else response(value, rng)


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda value, rng: value if id(rng) % 10**9 == 7 else response(0, rng), "id is not known"),
        (
            lambda value, rng: value if hash("a") % 10**9 == 7 else response(0, rng),
            "hash is not",
        ),
        (
            lambda value, rng: (
                value if dt.datetime.now().year > 2999 else response(0, rng)  # noqa: DTZ005
            ),
            "now of type",
        ),
        (lambda value, rng: value if "LEAK" in os.environ else response(0, rng), "environ is a"),
        (lambda value, rng: value if open("leak") else response(0, rng), "open is not known"),  # noqa: SIM115, PTH123
        (
            lambda value, rng: value if next(_NUMBERS) > 10**9 else response(0, rng),
            "_NUMBERS is a count",
        ),
        (
            lambda value, rng: value if isinstance(rng.random(), float) else response(0, rng),
            "the type of a value",
        ),
        (lambda value, rng: value if type(rng) is type else response(0, rng), "class type"),
        (lambda value, rng: value if rng is _TOTAL else response(0, rng), "identity of objects"),
        (lambda value, rng: value if rng.random(2).dtype == float else 0, "dtype of noise"),
        (lambda value, rng: value if rng.__class__ else 0, "a condition is"),
        (lambda value, rng: value if np.empty(9)[8] == 7.0 else 0, "np.empty"),
        (lambda value, rng: value if np.datetime64("now") else 0, "class datetime64"),
        (lambda value, rng: value if next(iter({"a", "b"})) == "a" else 0, "Set is not"),
        (lambda value, rng: value if f"{response}".endswith("77>") else 0, "method endswith"),
        (lambda value, rng: value if getattr(rng, "ran" + "dom") else 0, "getattr is not known"),
        (timed(response), "time is not known"),
        (by_exception, "the method hex of noise"),
        (by_error, "errors are caught"),
        (by_pattern, "a pattern that is no value"),
        (by_import, "import of secrets"),
        (by_global, "of the module is assigned"),
        (Clocked(), "time_ns is not known"),
        (by_sequence, "a pattern that is no value"),
        (by_default, "an attribute is assigned"),
        (Printed(), "an object is taken as text"),
        (lambda value, rng: (print(value), response(value, rng))[1], "print is used"),  # noqa: T201
        (Hidden(), "attribute __calls__ is not"),
        (
            lambda value, rng: value if operator.is_(rng.random() < RARE, True) else 0,
            "is_ is not known",
        ),
    ],
)
def test_what_may_hide_a_branch_is_named(function, says) -> None:
    found = doubts(function, 1)
    assert found is not None
    assert says in found.reason
    assert found.file == __file__


def counted(value, *, rng) -> int:
    _TOTAL[0] += 1
    return response(value, rng)


def remembering(value, *, rng, seen=_SEEN) -> int:
    seen.append(value)
    return response(value, rng)


def marked(value, *, rng) -> int:
    marked.calls += 1
    return response(value, rng)


marked.calls = 0  # type: ignore[attr-defined]


def marking(value, *, rng) -> int:
    if value == 0:
        marking.last = 0
    return response(value, rng)


def hiding(value, *, rng) -> int:
    import math  # noqa: PLC0415  (as users may)

    math.calls = value + 1  # type: ignore[attr-defined]
    return response(value, rng)


def typed_in() -> Any:
    names: dict[str, Any] = {"__name__": "__main__", "total": _TOTAL, "response": response}
    code = """class Typed:
    def __call__(self, value, *, rng):
        total[0] += 1
        return response(value, rng)"""
    exec(code, names)  # noqa: S102  (as ``python -c`` does)
    return names["Typed"]()


def counting() -> Any:
    calls = 0

    def call(value, *, rng) -> int:
        nonlocal calls
        calls += 1
        return response(value, rng)

    return call


class Counter:
    """Counts its calls, of one and of all."""

    total = 0

    def __init__(self) -> None:
        self.calls = 0

    def own(self, value, *, rng) -> int:
        """Count this one's."""
        self.calls += 1
        return response(value, rng)

    @staticmethod
    def all(value, *, rng) -> int:
        """Count those of all."""
        Counter.total += 1
        return response(value, rng)


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function",
    [
        *(counted, remembering, marked, marking, hiding, typed_in()),
        *(counting(), Counter().own, Counter.all),
    ],
    ids=[
        *("global", "default", "attribute", "new attribute", "module", "typed in"),
        *("closure", "instance", "class"),
    ],
)
def test_a_state_that_is_kept_is_seen(function) -> None:
    assert doubts(function, 0) is not None
