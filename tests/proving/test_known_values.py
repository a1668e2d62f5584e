"""What a reading computes of known values is what Python computes, in type and in every bit."""

import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcp_audit.proving.distances import (
    Generator,
    Noise,
    Public,
    PublicFloat,
    PublicInteger,
    Reference,
    is_known,
    same,
)
from dpcp_audit.proving.exact_numbers import plain
from dpcp_audit.proving.gathering import MISSING, actual
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.paths import Frame
from dpcp_audit.proving.sources import locals_of, source_of
from dpcp_audit.targets.loading import load

NUMBERS = ["0", "1", "2", "-3", "0.1", "0.2", "-0.0", "1e300", "True", "False", "np.float64(0.3)",
           "np.int64(2)", "math.pi", "10**17", "float('nan')", "float('inf')"]  # fmt: skip
ARRAYS = ["np.arange(3)", "np.linspace(0, 1, 3)", "np.zeros(3)", "np.ones(3, dtype=int)",
          "np.full(3, 0.9)", "np.full(3, 2)", "np.full((2, 3), 0.9, dtype=int)", "np.eye(3)",
          "np.zeros((2, 3), dtype=bool)", "np.full(3, True)", "np.empty(0)"]  # fmt: skip
TYPES = ["float", "int", "bool", "np.float64", "np.int64"]
UNARY = ["-", "+", "not ", "~"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", "and", "or", "&", "|",
          "in"]  # fmt: skip
CALLS = ["np.sum", "np.max", "np.min", "np.abs", "np.sort", "np.cumsum", "np.argmax", "np.mean",
         "np.sqrt", "np.exp", "np.size", "np.ndim", "np.shape", "len", "sum", "max", "min", "abs",
         "sorted", "list", "tuple", "float", "int", "bool", "str", "repr", "round", "any", "all",
         "np.asarray", "np.copy", "np.ravel", "np.float64", "np.unique", "np.flip", "np.diff",
         "np.isfinite", "math.floor", "math.sqrt", "np.median", "np.concatenate"]  # fmt: skip
METHODS = ["sum()", "tolist()", "astype(int)", "astype(float)", "max()", "copy()", "mean()",
           "cumsum()", "reshape(3, 1)", "size", "shape", "ndim", "T", "argmax()", "round(1)",
           "item()", "any()"]  # fmt: skip


DRAWS = ["rng.random()", "rng.random(3)", "rng.random((2, 3))", "rng.integers(3)",
         "rng.integers(3, size=3)", "rng.uniform(1, 2)", "rng.normal(0, 1)", "rng.normal(0, 1, 3)",
         "rng.choice(3)", "rng.choice([0.5, 1.5], size=3)"]  # fmt: skip


class Writer:
    """Writes expressions without data, with draws or without."""

    def __init__(self, chance: random.Random, draws: tuple[str, ...] = ()) -> None:
        self.chance, self.draws = chance, draws

    def some(self, depth: int) -> str:
        """Return an expression."""
        pick = self.chance.choice
        if depth == 0:
            return pick([pick(NUMBERS), pick(ARRAYS), "'ab'", *self.draws])
        one, two = (self.some(depth - pick([1, 1, 2]) if depth > 1 else 0) for _ in range(2))
        return pick([
            f"({pick(UNARY)}{one})",
            f"({one} {pick(BINARY)} {two})",
            f"{pick(CALLS)}({one})",
            f"{pick(CALLS)}([{one}, {two}])",
            f"{pick(CALLS)}({pick(['zip', 'enumerate', 'reversed'])}({one}))",
            f"np.array([{one}, {two}], dtype={pick(TYPES)})",
            f"np.array([{one}, {two}])",
            f"[{one}, {two}]",
            f"({one}, {two})",
            f"{one}[{self.index()}]",
            f"({one}).{pick(METHODS)}",
            f"({one} if {two} else {pick(NUMBERS)})",
            f"[x for x in {one}]",
            f"({one} if {pick(['zip', 'enumerate', 'reversed', 'range', 'list'])}(()) else {two})",
            f"np.where({one}, {two}, {pick(NUMBERS)})",
            f"np.full({pick(['3', '(1, 2)'])}, {one}, dtype={pick(TYPES)})",
        ])  # fmt: skip

    def index(self) -> str:
        """Return what an entry is taken at."""
        return self.chance.choice(
            ["0", "-1", "1:", "[0]", "[0, 1]", "(0,)", "0, 1", "True", "[True, False, True]",
             "np.zeros(2, dtype=int)", "np.arange(2)", "None", "::-1", "::2"]
        )  # fmt: skip


def read(function) -> tuple[object, bool]:
    """Return the value that a reading of a function without data gives, and if all is known."""
    reader, source = Reader(None), source_of(function)
    reader.file, reader.line = source.file, 1
    reader.path.frames[0] = Frame({}, source, None, locals_of(source.node))
    value = reader.inline(source, source.node, (), [Generator("rng")], {})
    known = actual(reader, value)
    return (opened(reader, value), False) if known is MISSING else (known, True)


def opened(reader, value) -> object:
    """Return a value with what its lists hold."""
    if isinstance(value, Reference):
        cells = reader.cells(value)
        made = [opened(reader, each) for each in cells.items]
        return made if cells.kind == "list" else np.array([object(), *made], dtype=object)[1:]
    if isinstance(value, tuple):
        return tuple(opened(reader, each) for each in value)
    return value


def fits(found, real) -> bool:
    """Tell whether a value is one of those that the reading allows, in its type and its shape."""
    if isinstance(found, list | tuple):
        return type(found) is type(real) and len(found) == len(real) and all(map(fits, found, real))
    if isinstance(found, np.ndarray) and found.dtype == object:
        return isinstance(real, np.ndarray) and real.shape == found.shape
    if isinstance(found, Noise):
        found = (PublicInteger if found.whole else PublicFloat)(found.shape)
    if not isinstance(found, Public):
        return not is_known(found) or alike(plain(found), real)
    if found.shape is None:
        return True
    array = isinstance(real, np.ndarray) and real.ndim and real.shape == found.shape
    number = isinstance(real, bool | int | float | np.generic)
    kinds = "f" if isinstance(found, PublicFloat) else "biuf"
    kinds = "iu" if isinstance(found, PublicInteger) else kinds
    return (array if found.shape else number) and np.asarray(real).dtype.kind in kinds


@pytest.mark.parametrize("draws", [(), tuple(DRAWS)], ids=["known", "drawn"])
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**64))
def test_values_are_those_of_python(tmp_path_factory, draws, seed) -> None:
    writer = Writer(random.Random(seed), draws)  # noqa: S311  (test programs)
    expressions = [writer.some(depth) for depth in (1, 2, 2, 3, 3) for _ in range(8)]
    bodies = [f"def f{i}(rng):\n    return {each}\n" for i, each in enumerate(expressions)]
    path = tmp_path_factory.mktemp("known") / "known.py"
    path.write_text("import math\nimport numpy as np\n\n" + "\n\n".join(bodies))
    for i, expression in enumerate(expressions):
        with warnings.catch_warnings(action="ignore"):
            function = load(f"{path}:f{i}")
            try:
                found, known = read(function)
            except Exception:  # noqa: BLE001, S112  (what the reading cannot take is not proved)
                continue
            real = outcome(function, seed)
            open_to_it = draws or not known  # an error of public values is the same for neighbours
            raised = open_to_it and isinstance(real, Exception)
            assert raised or fits(found, real), (expression, found, real)


def outcome(function, seed) -> object:
    """Return what a function returns, or the error that it raises."""
    try:
        return function(np.random.default_rng(seed))
    except Exception as error:  # noqa: BLE001  (any is an outcome)
        return error


def alike(found, real) -> bool:
    """Tell whether two values are the same; lists entry by entry, memory apart."""
    if type(found) is type(real) is list:
        return len(found) == len(real) and all(map(alike, found, real))
    if type(found) is type(real) is tuple:
        return len(found) == len(real) and all(map(alike, found, real))
    if isinstance(found, np.ndarray) and isinstance(real, np.ndarray):
        return found.shape == real.shape and same(found.copy("C"), real.copy("C"))
    return same(found, real)


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.0, -0.0), (1, True), (np.float64(1), 1.0), (range(0), range(5, 5)),
     (np.array([0.0]), np.array([-0.0])), ((0.0,), (-0.0,)),
     (np.arange(3), np.arange(3.0)), (np.zeros((1, 2)), np.zeros((2, 1)))],
)  # fmt: skip
def test_values_that_can_be_told_apart_are_not_the_same(one, other) -> None:
    assert not same(one, other)
    assert same(one, one)
