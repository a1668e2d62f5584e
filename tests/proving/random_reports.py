"""Random functions of one user's value, and their exact laws by running them on every outcome."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

K = 3


class Uniform:
    """A uniform draw that is known by its comparisons: each divides the run."""

    def __init__(self, rng: EveryOutcome) -> None:
        self.rng, self.low, self.high = rng, 0.0, 1.0

    def __lt__(self, level: float) -> bool:
        """Return whether the draw is below a level on this run."""
        if not self.low < level < self.high:
            return self.high <= level
        share = (float(level) - self.low) / (self.high - self.low)
        below = self.rng.one_of([share, 1 - share]) == 0
        self.low, self.high = (self.low, float(level)) if below else (float(level), self.high)
        return below

    def __ge__(self, level: float) -> bool:
        """Return whether the draw is at a level or above."""
        return not self < level

    __gt__, __le__ = __ge__, __lt__


class EveryOutcome:
    """A generator whose outcomes are those of one run, with the run's chance."""

    def __init__(self, given: list[int]) -> None:
        self.given, self.counts, self.chance = given, list[int](), 1.0

    def one_of(self, chances: list[float]) -> int:
        """Return the outcome of a draw on this run."""
        if len(self.counts) == len(self.given):
            self.given.append(0)
        found = self.given[len(self.counts)]
        self.counts.append(len(chances))
        self.chance *= chances[found]
        return found

    def random(self, size: int | None = None) -> Any:
        """Return a uniform draw, or an array of them."""
        if size is None:
            return Uniform(self)
        return np.array([Uniform(self) for _ in range(size)], dtype=object)

    def integers(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        """Return whole numbers of a range."""
        low, high = (0, low) if high is None else (low, high)
        draws = [low + self.one_of([1 / (high - low)] * (high - low)) for _ in range(size or 1)]
        return np.int64(draws[0]) if size is None else np.array(draws)

    def choice(self, a: Any, p: Any = None) -> Any:
        """Return one of several values."""
        values = list(range(a)) if isinstance(a, int) else list(np.array(a))
        weights = [1 / len(values)] * len(values) if p is None else [float(each) for each in p]
        if abs(sum(weights) - 1) > 1e-8:
            raise ValueError("probabilities do not sum to 1")
        return values[self.one_of(weights)]


def law(function: Callable[..., Any], x: int) -> dict[Any, float]:
    """Return the chance of each output, told apart by its types too."""
    found: dict[Any, float] = defaultdict(float)
    given: list[int] = []
    while True:
        rng = EveryOutcome(given)
        output = function(x, rng=rng)
        found[key(output)] += rng.chance
        given = rng.given[: len(rng.counts)]
        while given and given[-1] + 1 == rng.counts[len(given) - 1]:
            given.pop()
        if not given:
            return dict(found)
        given[-1] += 1


def raised(function: Callable[..., Any], x: int) -> dict[Any, float] | None:
    """Return the law of the outputs; None where a run raises an error."""
    try:
        return law(function, x)
    except ValueError:
        return None


def key(value: Any) -> Any:
    """Return an output with its types."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(key, value))
    return type(value).__name__, repr(value)


def exact_loss(function: Callable[..., Any]) -> float:
    """Return the largest loss of one report over any two values."""
    laws = [raised(function, x) for x in range(K)]
    if None in laws or any(p.keys() != laws[0].keys() for p in laws if p):
        return math.inf
    return max(
        abs(math.log(p[each] / q[each])) for p, q in itertools.product(laws, laws) for each in p
    )


class ReportWriter:
    """Writes a random function of one value."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  (no secret)
        self.names: list[str] = []
        lines = [self._line(place) for place in range(self.random.randint(1, 4))]
        self.text = "\n".join(
            [
                "import numpy as np",
                "",
                "",
                "def report(x, *, rng):",
                *lines,
                f"    return {self._output()}",
                "",
            ]
        )

    def _level(self) -> str:
        return f"{self.random.randint(1, 9) / 10}"

    def _number(self, depth: int = 2) -> str:
        """Return an expression of a whole number of Python's type."""
        kinds = ["x", str(self.random.randint(0, 2)), *self.names * 2]
        if depth:
            kinds += [
                f"int(rng.random() < {self._level()})",
                "int(rng.integers(3))",
                f"(({self._number(depth - 1)}) + ({self._number(depth - 1)})) % 3",
                f"({self._number(0)} if {self._condition(depth - 1)} else {self._number(0)})",
                f"int(rng.choice([v for v in (0, 1, 2) if v != {self._number(0)}] + [0]))",
                f"int(rng.choice(3, p=[(2 + (v == {self._number(0)})) / 7 for v in range(3)]))",
                f"int({self._condition(depth - 1)})",
                f"[0, 1, 1, 2][({self._number(depth - 1)}) % 3]",
            ]
        return self.random.choice(kinds)

    def _condition(self, depth: int) -> str:
        low = self._level()
        return self.random.choice([
            f"rng.random() < {low}",
            f"{low} > rng.random()",
            f"({self._number(depth)}) == ({self._number(depth)})",
            f"({self._number(depth)}) >= 1",
            f"rng.random() < ({low} if x == 1 else {self._level()})",
            f"not ({self._number(depth)}) == 1",
        ])  # fmt: skip

    def _bits(self) -> str:
        p, q = self._level(), self._level()
        bits = self.random.choice(["np.arange(3) == x", "np.eye(3)[x] == 1"])
        return self.random.choice([
            f"(rng.random(3) < np.where({bits}, {p}, {q})).astype(int)",
            f"np.where(rng.random(3) < {p}, rng.integers(0, 2, size=3), ({bits}).astype(int))",
            f"np.logical_xor({bits}, rng.random(3) < {p})",
            f"[int(rng.random() < ({p} if i == x else {q})) for i in range(3)]",
        ])  # fmt: skip

    def _line(self, place: int) -> str:
        name = f"a{place}"
        kind = self.random.random()
        if kind < 0.2:
            low, high = sorted([self.random.randint(1, 9), self.random.randint(1, 9)])
            line = (
                f"    u = rng.random()\n    {name} = {self._number(0)} if u < {low / 10} else "
                f"({self._number(1)} if u < {high / 10} else {self._number(1)})"
            )
        elif kind < 0.4:
            line = (
                f"    if {self._condition(1)}:\n        {name} = {self._number(1)}\n    else:\n"
                f"        {name} = {self._number(1)}"
            )
        else:
            line = f"    {name} = {self._number()}"
        self.names.append(name)
        return line

    def _output(self) -> str:
        return self.random.choice([
            self.names[-1],
            self.names[-1],
            f"[{', '.join(self.names)}]",
            f"({self._number()}, {self.names[-1]})",
            self._bits(),
            f"({self._bits()}, {self.names[-1]})",
        ])  # fmt: skip
