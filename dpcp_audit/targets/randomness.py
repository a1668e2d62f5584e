"""Generators that a target seeds itself, found while it runs, and the global ones it draws from.

What a source shows is found without a run (``fixed_seeds``); a number that an attribute, a
default or a computation holds is not. Two runs with different randomness are watched: where both
seed with one number, that is the target's own.
"""

from __future__ import annotations

import ast
import inspect
import random
import sys
import textwrap
from contextlib import contextmanager, suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.targets.calling import draw_seed
from dpcp_audit.targets.loading import code_of
from dpcp_audit.words.results import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from types import CodeType, FunctionType


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
            calls.append(f"{shown}({numbers[0]}) at {SourceLocation.of(file, caller.f_lineno)}")

    def called(*arguments: Any, **keywords: Any) -> Any:
        write(arguments, keywords)
        return plain(*arguments, **keywords)

    def made(self: Any, *arguments: Any, **keywords: Any) -> None:
        write(arguments, keywords)
        plain.__init__(self, *arguments, **keywords)

    # a class stays one, since others ask whether an object is of it
    return type(name, (plain,), {"__init__": made}) if isinstance(plain, type) else called


_SEEDERS_SEEDS = frozenset(
    {"default_rng", "seed", "set_seed", "manual_seed", "RandomState", "Random", "SeedSequence"}
    | {"PCG64", "MT19937", "Philox", "SFC64", "PRNGKey"}
)
_SEED_KEYWORDS = frozenset({"seed", "random_state"})


def fixed_seed(function: object) -> str | None:
    """Return the call that seeds with a fixed number, and its line; None if there is none to see.

    The function itself is read, and the functions of its own module that it mentions.
    """
    waiting = [_plain(function)]
    seen: set[CodeType] = set()
    while waiting:
        current = waiting.pop()
        if current is None or current.__code__ in seen:
            continue
        seen.add(current.__code__)
        place = _in_source(current)
        if place is not None:
            return place
        waiting += [
            _plain(current.__globals__.get(name))
            for name in current.__code__.co_names
            if getattr(current.__globals__.get(name), "__module__", None) == current.__module__
        ]
    return None


def _plain(function: object) -> FunctionType | None:
    """Return the Python function behind a callable."""
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "func", getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    return function if inspect.isfunction(function) else None


def _in_source(function: FunctionType) -> str | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    code = code_of(function)
    first = 1 if code is None else code.co_firstlineno
    for call in _calls(tree):
        if _seeds(call, function.__globals__):
            place = SourceLocation.of(inspect.getfile(function), first + call.lineno - 1)
            return f"{ast.unparse(call)} at {place}"
    return None


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _seeds(call: ast.Call, names: Mapping[str, Any]) -> bool:
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    by_place = called in _SEEDERS_SEEDS and call.args and _fixed(call.args[0], names)
    by_keyword = any(k.arg in _SEED_KEYWORDS and _fixed(k.value, names) for k in call.keywords)
    return bool(by_place or by_keyword)


def _fixed(node: ast.expr, names: Mapping[str, Any]) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    value = names.get(node.id) if isinstance(node, ast.Name) else value
    return isinstance(value, int) and not isinstance(value, bool)


@contextmanager
def seeded(rng: np.random.Generator) -> Generator[None]:
    """Seed the global generators of NumPy, ``random`` and torch, where it is loaded, from ``rng``.

    They are left as they were found.
    """
    seed = draw_seed(rng)
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    torch = getattr(sys.modules.get("torch"), "default_generator", None)
    tensor = None if torch is None else torch.get_state()
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    if torch is not None:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)
        if torch is not None:
            torch.set_state(tensor)
