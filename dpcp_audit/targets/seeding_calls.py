"""Calls that seed a generator with the same number each time, seen while a target runs.

What a source shows is found without a run (``fixed_seeds``); a number that an attribute, a
default or a computation holds is not. Two runs with different randomness are watched: where both
seed with one number, that is the target's own.
"""

from __future__ import annotations

import inspect
import random
from contextlib import contextmanager, suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_SEEDERS = (
    (np.random, "default_rng"),
    (np.random, "RandomState"),
    (np.random, "seed"),
    (random, "Random"),
    (random, "seed"),
)


def seeded_alike(
    run: Callable[[int], object], elsewhere: Callable[[], object], *, file: str
) -> str | None:
    """Return the call that seeds with the same number in two runs, and its line; None for none.

    Parameters
    ----------
    run : callable
        Runs the target once, with randomness that depends on the number that it is given.
    elsewhere : callable
        Runs it on other data of the same size. A number that the data make is not fixed: it is a
        leak, which an audit finds.
    file : str
        The target's own: what a library seeds for itself is not its noise.
    """
    seen: list[list[str]] = []
    for number in range(2):
        with _watched(file) as calls:
            run(number)
        seen.append(calls)
    with _watched(file) as others, suppress(Exception):  # it may refuse such data
        elsewhere()
    return next((call for call in seen[0] if call in seen[1] and call in (others or seen[0])), None)


@contextmanager
def _watched(file: str) -> Generator[list[str]]:
    """Write down the calls that seed with a whole number, while the block runs."""
    calls: list[str] = []
    kept = [(module, name, getattr(module, name)) for module, name in _SEEDERS]
    for module, name, plain in kept:
        setattr(module, name, _watching(plain, f"{module.__name__}.{name}", file, calls))
    try:
        yield calls
    finally:
        for module, name, plain in kept:
            setattr(module, name, plain)


def _watching(plain: Any, name: str, file: str, calls: list[str]) -> Any:
    """Return a function, or a class, that does the same and writes its whole numbers down."""

    def write(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        given = (*arguments, *keywords.values())
        numbers = [str(int(x)) for x in given if isinstance(x, Integral)]
        here = inspect.currentframe()
        wrapper = here and here.f_back
        caller = wrapper and wrapper.f_back
        if numbers and caller and caller.f_code.co_filename == file:
            shown = name.replace("numpy", "np")
            calls.append(f"{shown}({numbers[0]}) in line {caller.f_lineno}")

    def called(*arguments: Any, **keywords: Any) -> Any:
        write(arguments, keywords)
        return plain(*arguments, **keywords)

    def made(self: Any, *arguments: Any, **keywords: Any) -> None:
        write(arguments, keywords)
        plain.__init__(self, *arguments, **keywords)

    # a class stays one, since others ask whether an object is of it
    return type(name, (plain,), {"__init__": made}) if isinstance(plain, type) else called
