"""Random programs of the language that is proved, each with its exact loss on a pair of inputs.

A program is a sequence of pieces. A piece knows the lines that it is written as, and the largest
logarithm of the ratio of the chances of its outcomes on two inputs, by a formula or a quadrature of
its own; no rule of the prover is used for that. The pieces' noises are independent given what was
released before, so that the largest losses of the pieces add up to that of the program.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable

N = 6
HEAD = """import math

import numpy as np
from scipy import special


class Tool:
    def __init__(self, scale):
        self.scale = scale

    def release(self, value, rng):
        return value + rng.laplace(0.0, self.scale)


def program(scores, *, rng):
"""
PAIRS = [(np.array(a, dtype=float), np.array(b, dtype=float)) for a, b in (
    ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]),
    ([1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]),
    ([0.1, 0.3, 0.5, 0.7, 0.9, 0.9], [0.1, 0.3, 0.95, 0.7, 0.9, 0.9]),
    ([0.4, 0.4, 0.6, 0.6, 0.6, 0.2], [0.4, 0.4, 0.4, 0.6, 0.6, 0.2]),
    ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]),
    ([0.2, 0.9, 0.2, 0.9, 0.2, 0.9], [0.2, 0.9, 0.2, 0.9, 0.2, 0.01]),
    ([0.3, 0.3, 0.3, 0.3, 1, 1], [0.3, 0.3, 0.3, 0.3, 1, 0.1]),
    ([0.75, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]),
)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a program, and the largest log-ratio of its outcomes' chances on two inputs."""

    lines: tuple[str, ...]
    loss: Callable[[np.ndarray, np.ndarray], float]


def computed(text: str, scores: np.ndarray):  # noqa: ANN201
    """Return the value of an expression of the scores."""
    return eval(text, {"np": np, "scores": scores})  # noqa: S307


def moved(text: str, a: np.ndarray, b: np.ndarray) -> float:
    """Return the l1 distance of an expression's values on two inputs."""
    return float(np.abs(np.asarray(computed(text, a), float) - computed(text, b)).sum())


class Writer:
    """Writes one program: a query and pieces of some kinds, or one piece of one kind."""

    KINDS = (
        *("query", "query", "vector", "parts", "local", "method", "branch", "rounds", "step"),
        *("gaps", "grid", "threshold"),
    )
    TRACED = ("query", "method", "branch", "rounds")

    def __init__(self, seed: int, kinds: tuple[str, ...] = KINDS) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.names = 0
        self.released: list[str] = []
        more = [self.pick(*kinds) for _ in range(self.pick(0, 1, 2))] if len(kinds) > 1 else kinds
        first = [self.query()] if len(kinds) > 1 else []
        self.pieces = [*first, *(getattr(self, kind)() for kind in more)]

    def pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def name(self) -> str:
        self.names += 1
        self.released.append(f"y{self.names}")
        return self.released[-1]

    @property
    def text(self) -> str:
        lines = [f"    {line}" for piece in self.pieces for line in piece.lines]
        return HEAD + "\n".join([*lines, f"    return [{', '.join(self.released)}]", ""])

    def loss(self, a: np.ndarray, b: np.ndarray) -> float:
        return max(sum(p.loss(a, b) for p in self.pieces), sum(p.loss(b, a) for p in self.pieces))

    def statistic(self) -> str:
        c = self.pick(0.25, 0.5, 0.75, 0.6)
        return self.pick(
            f"np.count_nonzero(scores <= {c})",
            f"sum(1 for z in scores if z > {c})",
            f"np.clip(scores, 0.1, {c}).sum()",
            f"{c} * np.sum(scores > {c})",
            "scores.mean()",
            "np.mean(scores**2)",
            f"abs(np.sum(scores < {c}) - 2)",
            f"(np.sum(scores) - np.sum(scores <= {c}))",
            f"np.sum(np.where(scores < {c}, 0.25, 1.0))",
            "np.histogram(scores, bins=4, range=(0, 1))[0][0]",
            f"np.maximum(np.sum(scores >= {c}), 1)",
            f"int(np.sum(scores > {c}))",
            f"np.max(np.histogram(scores, bins=4, range=(0, 1))[0] * {c})",
            "np.sort(scores)[3]",
            "np.median(scores)",
            "np.sum(scores[1:4])",
            f"(2 * np.sum(scores[:3]) + np.sum(scores[3:]) * {c})",
            f"np.sum(np.abs(scores - {c}))",
            "np.minimum(np.sum(scores), 3)",
            f"np.searchsorted(np.sort(scores), {c})",
        )

    def query(self, scale: float = 0, form: str = "") -> Piece:
        text, b = self.statistic(), scale or self.pick(0.5, 1, 2, 4)
        noise = f"rng.laplace(0, {b})"
        form = form or self.pick("{s} + {z}", "{z} + {s}", "2 * ({s} + {z})", "{s} - {z}")
        line = f"{self.name()} = {form.format(s=text, z=noise)}"
        return Piece((line,), lambda x, y: moved(text, x, y) / b)

    def vector(self) -> Piece:
        text, size = self.pick(
            ("np.histogram(scores, bins=4, range=(0, 1))[0]", 4),
            ("np.searchsorted(np.sort(scores), np.array([0.2, 0.5, 0.8]))", 3),
            ("np.cumsum(np.histogram(scores, bins=3, range=(0, 1))[0])", 3),
            ("np.array([np.sum(scores[:2]), np.sum(scores[2:4]), np.sum(scores[4:])])", 3),
        )
        b = self.pick(1, 2, 5)
        line = f"{self.name()} = {text} + rng.laplace(0, {b}, size={size})"
        return Piece((line,), lambda x, y: moved(text, x, y) / b)

    def parts(self) -> Piece:
        step, b = self.pick(1, 2, 3), self.pick(0.5, 1, 2)
        text = f"[scores[i : i + {step}].sum() for i in range(0, {N}, {step})]"
        line = f"{self.name()} = [part + rng.laplace(0, {b}) for part in {text}]"
        return Piece((line,), lambda x, y: moved(text, x, y) / b)

    def local(self) -> Piece:
        b = self.pick(0.5, 1, 2)
        line = f"{self.name()} = scores + rng.laplace(0, {b}, size=len(scores))"
        return Piece((line,), lambda x, y: moved("scores", x, y) / b)

    def method(self) -> Piece:
        text, b = self.statistic(), self.pick(0.5, 1, 2)
        line = f"{self.name()} = Tool({b}).release({text}, rng)"
        return Piece((line,), lambda x, y: moved(text, x, y) / b)

    def step(self) -> Piece:
        b, before = self.pick(1, 2), self.released[0]
        line = f"{self.name()} = np.clip({before} - scores, -1, 1).sum() + rng.laplace(0, {b})"
        return Piece((line,), lambda x, y: moved("scores", x, y) / b)

    def branch(self) -> Piece:
        known = list(self.released)
        scale, form = self.pick(1, 2), self.pick("{s} + {z}", "{s} - {z}")
        one, names = self.query(scale, form), self.names
        self.released, self.names = list(known), names - 1
        two = self.query(scale, form)
        lines = [f"if {known[0]} > 0.5:", *(f"    {line}" for line in one.lines)]
        lines += ["else:", *(f"    {line}" for line in two.lines)]
        return Piece(tuple(lines), lambda x, y: max(one.loss(x, y), two.loss(x, y)))

    def rounds(self) -> Piece:
        rounds, b, level = self.pick(1, 2, 3), self.pick(1, 3), self.pick(1, 3, 5)
        name = self.name()
        lines = (
            f"{name} = 0.5",
            f"for k in range({rounds}):",
            f"    c = np.sum(scores <= {name}) + rng.laplace(0, {b})",
            f"    {name} = {name} / 2 if c > {level} else ({name} + 1) / 2",
        )

        def loss(x, y) -> float:
            worst = 0.0
            for turns in itertools.product((0, 1), repeat=rounds):
                place, total = 0.5, 0.0
                for turn in turns:
                    total += abs(np.sum(x <= place) - np.sum(y <= place)) / b
                    place = (place + turn) / 2
                worst = max(worst, total)
            return float(worst)

        return Piece(lines, loss)

    def grid(self) -> Piece:
        rate, rank = self.pick(0.25, 0.5, 1.0), self.pick(2, 4)
        name = self.name()
        lines = [f"u = -np.abs(np.searchsorted(np.sort(scores), np.linspace(0, 1, 6)) - {rank})"]
        lines.append(
            self.pick(
                f"{name} = rng.choice(6, p=special.softmax({rate} * u))",
                f"{name} = np.argmax({rate} * u + rng.gumbel(size=6))",
                f"{name} = np.argmax(u + rng.gumbel(0, {1 / rate}, size=6))",
            )
        )

        def log_chances(x):  # noqa: ANN202
            u = -np.abs(np.searchsorted(np.sort(x), np.linspace(0, 1, 6)) - rank)
            return special.log_softmax(rate * u)

        return Piece(tuple(lines), lambda x, y: float(np.max(log_chances(x) - log_chances(y))))

    def gaps(self) -> Piece:
        rate, rank = self.pick(0.125, 0.5, 1.0), self.pick(0, 2, 4.5, 6)
        name = self.name()
        utility = self.pick(
            f"-np.abs(np.arange({N + 1}) - {rank})", f"-np.maximum(np.arange({N + 1}) - {rank}, 0)"
        )
        edges = self.pick(
            "np.concatenate([[0.0], np.sort(scores), [1.0]])", "np.r_[0.0, np.sort(scores), 1.0]"
        )
        lines = [f"edges, u = {edges}, {utility}"]
        lines += self.pick(
            [f"w = np.diff(edges) * np.exp({rate} * u)", f"i = rng.choice({N + 1}, p=w / w.sum())"],
            [
                "with np.errstate(divide='ignore'):",
                f"    g = np.log(edges[1:] - edges[:-1]) + {rate} * u",
                f"i = np.argmax(g + rng.gumbel(size={N + 1}))",
            ],
        )
        lines.append(f"{name} = rng.uniform(edges[i], edges[i + 1])")
        factors = rate * np.asarray(computed(utility, np.zeros(N)), float)

        def log_density(x, at):  # noqa: ANN202
            lengths = np.diff(np.r_[0.0, np.sort(x), 1.0])
            total = np.log(np.sum(lengths * np.exp(factors)))
            return factors[np.searchsorted(np.sort(x), at)] - total

        def loss(x, y) -> float:
            cuts = np.unique(np.r_[0.0, x, y, 1.0])
            at = (cuts[1:] + cuts[:-1]) / 2
            return float(np.max(log_density(x, at) - log_density(y, at)))

        return Piece(tuple(lines), loss)

    def threshold(self) -> Piece:
        b, c = self.pick(1, 2), self.pick(1, 2, 4)
        stops, level, name = self.pick(1, 2), self.pick(1, 3, 5), self.name()
        sides = self.pick((">", ">", "<="), ("<=", "<=", ">"), ("<=", ">", ">"))
        levels = zip(sides, (0.2, 0.5, 0.8), strict=True)
        texts = [f"np.sum(scores {side} {t})" for side, t in levels]
        sign, test = self.pick(
            (1, "q + rng.laplace(0, {c}) >= t"),
            (-1, "q + rng.laplace(0, {c}) < t"),
            (1, "t < q + rng.laplace(0, {c})"),
        )
        lines = (
            f"{name}, found, t = [], 0, {level} + rng.laplace(0, {b})",
            f"for q in [{', '.join(texts)}]:",
            f"    answer = {test.format(c=c)}",
            f"    {name}.append(bool(answer))",
            "    found += bool(answer)",
            f"    if found == {stops}:",
            "        break",
        )

        def loss(x, y) -> float:
            p, q = (
                _answers([computed(s, z) for s in texts], level, b, c, stops=stops, sign=sign)
                for z in (x, y)
            )
            return max(math.log(p[seen] / q[seen]) for seen in p)

        return Piece(lines, loss)


def _answers(queries, level, b, c, *, stops, sign):  # noqa: ANN202
    """Return the chance of each sequence of answers, by quadrature over the threshold's noise."""
    noise = np.linspace(-40.0 * b, 40.0 * b, 8001)
    weights = np.exp(-np.abs(noise) / b)
    weights /= weights.sum()
    above = []
    for query in queries:
        gap = (level + noise - query) / c
        tail = np.where(gap > 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
        above.append(tail if sign > 0 else 1 - tail)
    found = {}
    for answers in itertools.product((False, True), repeat=len(queries)):
        seen = _until(answers, stops)
        chance = np.prod([p if one else 1 - p for p, one in zip(above, seen, strict=False)], axis=0)
        found[seen] = float((weights * chance).sum())
    return found


def _until(answers, stops):  # noqa: ANN202
    for end in range(1, len(answers) + 1):
        if sum(answers[:end]) == stops:
            return answers[:end]
    return answers
