"""The outcomes of public draws on the path that is read, one after the other, with their chances.

A rank that is drawn takes one of few values. The function is read once for each sequence of
outcomes, on which every draw is a known number; the chances of what cannot be enumerated, such as
the far tail of noise, are left out and counted as nothing.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx

from dpcp_audit.proving.distances import Hidden, Value, is_whole, tokens
from dpcp_audit.proving.exact_numbers import is_scalar, numbers_of, rational_of
from dpcp_audit.proving.paths import Choices
from dpcp_audit.stats.enclosures import ball, lower, normal_cdf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcp_audit.proving.reading import Interpreter

_MOST = 2_000
"""Outcomes of one draw."""
_FAR = 40
"""Scales beyond which Laplace noise lies with a chance of e^-40; Gaussian noise far less often."""
MOST_DRAWN = 50
"""Draws on one path."""
_LEFT = Fraction(1, 10**12)
"""The mass of a geometric law's tail that is not enumerated."""


@dataclass(frozen=True, slots=True)
class UniformDraw(Hidden):
    """A uniform draw on [0, 1), known by the comparisons it was used in; NumPy's in an array."""

    token: int
    of_numpy: bool = False


@dataclass(frozen=True, slots=True)
class RealDraw(Hidden):
    """A Laplace or Gaussian draw, which becomes a known number where it is rounded."""

    law: str
    loc: Fraction
    scale: Fraction
    token: int


def _laplace_cdf(x: arb) -> arb:
    return x.exp() / 2 if x < 0 else 1 - (-x).exp() / 2


class DrawOutcomes(Choices):
    """The outcomes that draws have on the path that is read, and their chance."""

    def __init__(self, given: tuple[int, ...] = ()) -> None:
        super().__init__(given)
        self.chance = Fraction(1)
        self._intervals: dict[int, tuple[Fraction, Fraction]] = {}
        self.rounded: set[int] = set()

    def one_of(self, chances: Iterable[tuple[int, Fraction]]) -> int:
        """Return the number that the next draw is, of numbers with their chances at least."""
        found = [(number, chance) for number, chance in chances if chance]
        number, chance = found[self.choose(len(found))]
        self.chance *= chance
        return number

    def uniform(self) -> UniformDraw:
        """Return a new uniform draw."""
        found = UniformDraw(next(tokens))
        self._intervals[found.token] = Fraction(0), Fraction(1)
        return found

    def is_below(self, draw: UniformDraw, level: Fraction) -> bool:
        """Return True if a uniform draw is below a level, and remember it."""
        low, high = self._intervals[draw.token]
        if not low < level < high:
            return high <= level
        share = (level - low) / (high - low)
        below = bool(self.one_of(((1, share), (0, 1 - share))))
        self._intervals[draw.token] = (low, level) if below else (level, high)
        return below


def drawn(reader: Interpreter, outcomes: DrawOutcomes, name: str, given: dict[str, Value]) -> Value:
    """Return the outcome of a draw on this path.

    Parameters
    ----------
    given : dict
        The law's parameters, all known.
    """
    if name in {"random", "random_sample"}:
        return outcomes.uniform()
    if name in {"normal", "laplace", "standard_normal"}:
        return _real(reader, name, given)
    chances = _ENUMERATED[name](reader, given)
    if len(chances) > _MOST:
        raise reader.refuse("a draw of so many outcomes is not enumerated")
    found = outcomes.one_of(chances)
    if name == "choice" and not is_scalar(given["a"]):
        return np.asarray(given["a"])[found]
    return np.int64(found) if name == "integers" else found


def _real(reader: Interpreter, name: str, given: dict[str, Value]) -> RealDraw:
    law = name.removeprefix("standard_")
    loc, scale = _number(reader, given.get("loc", 0)), _number(reader, given.get("scale", 1))
    if scale <= 0:
        raise reader.refuse("noise of scale 0 or below")
    found = _not_rounded_off(RealDraw(law, loc, scale, next(tokens)))
    if found is None:
        raise reader.refuse("noise so small that doubles round it off")
    return found


_COARSE, _SMALLEST = 2**30, Fraction(1, 2**500)
"""A location, in scales, and a scale, beyond which doubles round noise off."""


def _not_rounded_off(draw: RealDraw) -> RealDraw | None:
    """Return a real draw, unless its doubles are far apart for its scale."""
    fits = abs(draw.loc) <= _COARSE * draw.scale and _SMALLEST <= draw.scale <= 1 / _SMALLEST
    return draw if fits else None


def _number(reader: Interpreter, value: Value) -> Fraction:
    number = rational_of(value)
    if number is None:
        raise reader.refuse("the law of a draw is not known as rational numbers")
    return number


def _whole(reader: Interpreter, value: Value) -> int:
    if not is_whole(value):
        raise reader.refuse("the law of a draw is not known as whole numbers")
    return int(value)


Chances = list[tuple[int, Fraction]]


def _integers(reader: Interpreter, given: dict[str, Value]) -> Chances:
    low, high = given["low"], given.get("high")
    ends = (0, _whole(reader, low)) if high is None else (_whole(reader, low), _whole(reader, high))
    if not ends[0] < ends[1] or ends[1] - ends[0] > _MOST:
        raise reader.refuse("whole numbers of an empty or a large range are drawn")
    return [(each, Fraction(1, ends[1] - ends[0])) for each in range(*ends)]


def _geometric(reader: Interpreter, given: dict[str, Value]) -> Chances:
    p = _number(reader, given["p"])
    if not 0 < p <= 1:
        raise reader.refuse("a geometric law whose p is not a probability")
    return _geometric_chances(p)


@lru_cache(maxsize=64)
def _geometric_chances(p: Fraction) -> Chances:
    found: Chances = []
    left = Fraction(1)
    while left > _LEFT and len(found) <= _MOST:
        chance = _shortened(left * p)
        found.append((len(found) + 1, chance))
        left = _shortened(left * (1 - p)) if p < 1 else Fraction(0)
    return found


def _shortened(number: Fraction) -> Fraction:
    """Return a number at most this one, of few digits."""
    return Fraction(math.floor(number * 2**128), 2**128)


def _binomial(reader: Interpreter, given: dict[str, Value]) -> Chances:
    n, p = _whole(reader, given["n"]), _number(reader, given["p"])
    if not 0 <= p <= 1 or not 0 <= n <= _MOST:
        raise reader.refuse("a binomial law whose n is large, or whose p is not a probability")
    return [(k, _shortened(math.comb(n, k) * p**k * (1 - p) ** (n - k))) for k in range(n + 1)]


_ALLOWED = Fraction(1, 10**9)
"""How far chances may add up to another number than 1, in NumPy and here."""


def _choice(reader: Interpreter, given: dict[str, Value]) -> Chances:
    """Return the places of the candidates with their chances."""
    if given.get("size") is not None:
        raise reader.refuse("several choices at once")
    a, p = given["a"], given.get("p")
    candidates = np.arange(_whole(reader, a)) if is_scalar(a) else np.asarray(a)
    weights = [Fraction(1)] * candidates.size if p is None else numbers_of(p)
    if weights is None or candidates.ndim != 1 or len(weights) != candidates.size:
        raise reader.refuse("a choice whose law is not known")
    if not weights or min(weights) < 0 or not sum(weights):
        raise reader.refuse("a choice whose law is none")
    whole = sum(map(Fraction, weights), Fraction(0))
    if p is not None and abs(whole - 1) > _ALLOWED:
        raise reader.refuse("chances that do not add up to 1, which NumPy refuses")
    return [(place, Fraction(each) / whole) for place, each in enumerate(weights)]


_ENUMERATED: dict[str, Callable[[Interpreter, dict[str, Value]], Chances]] = {
    "integers": _integers,
    "randint": _integers,
    "geometric": _geometric,
    "binomial": _binomial,
    "choice": _choice,
}
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "random": (),
    "random_sample": (),
    "standard_normal": (),
    "normal": ("loc", "scale"),
    "laplace": ("loc", "scale"),
    "integers": ("low", "high"),
    "randint": ("low", "high"),
    "geometric": ("p",),
    "binomial": ("n", "p"),
    "choice": ("a", "size", "replace", "p"),
}
"""The draws that are enumerated, and their arguments."""

_HALF = Fraction(1, 2)
_ROUNDINGS: dict[str, Callable[[int], tuple[Fraction, Fraction]]] = {
    "round": lambda m: (m - _HALF, m + _HALF),
    "floor": lambda m: (Fraction(m), Fraction(m + 1)),
    "ceil": lambda m: (Fraction(m - 1), Fraction(m)),
    "int": lambda m: (Fraction(m - (m <= 0)), Fraction(m + (m >= 0))),
}
"""The real numbers that each way of rounding takes to a whole number."""


def rounded(reader: Interpreter, outcomes: DrawOutcomes, draw: RealDraw, how: str) -> int:
    """Return the whole number that a real draw is rounded to on this path."""
    if 2 * _FAR * draw.scale > _MOST:
        raise reader.refuse("noise of so large a scale is not enumerated")
    if draw.token in outcomes.rounded:
        raise reader.refuse("one draw is rounded twice", "round it once, and keep the result")
    outcomes.rounded.add(draw.token)
    return outcomes.one_of(_rounded_chances(draw.law, draw.loc, draw.scale, how))


@lru_cache(maxsize=64)
def _rounded_chances(law: str, loc: Fraction, scale: Fraction, how: str) -> Chances:
    """Return the chances of each whole number, from below."""
    middle, reach = math.floor(loc), math.ceil(_FAR * scale)
    cdf = _laplace_cdf if law == "laplace" else normal_cdf
    found: Chances = []
    with ctx.workprec(192):
        for m in range(middle - reach, middle + reach + 2):
            ends = [cdf((ball(each) - ball(loc)) / ball(scale)) for each in _ROUNDINGS[how](m)]
            found.append((m, max(Fraction(0), Fraction(lower(ends[1] - ends[0])))))
    return found


def moved(name: str, a: Value, b: Value) -> RealDraw | None:
    """Return a real draw plus, minus or times a known number; None of anything else."""
    draw, other = (a, b) if isinstance(a, RealDraw) else (b, a)
    number = rational_of(other)
    if number is None:
        return None
    if name == "Add":
        return _not_rounded_off(replace(draw, loc=draw.loc + number))
    if name == "Sub":
        loc = draw.loc - number if draw is a else number - draw.loc
        return _not_rounded_off(replace(draw, loc=loc))
    if name == "Mult" and number:
        return _not_rounded_off(
            replace(draw, loc=draw.loc * number, scale=draw.scale * abs(number))
        )
    return None
