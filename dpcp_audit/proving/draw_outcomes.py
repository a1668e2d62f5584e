"""Reads along one path of the outcomes of draws, and enumerates the laws of ranks.

A draw of few outcomes is one of them on the path that is read, a uniform draw is below a level or
not; each with its chance. Of laws of many outcomes, such as rounded noise, the chances of what is
not enumerated, as the far tail is, are left out and counted as nothing.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from dpcp_audit.proving import noise_rules
from dpcp_audit.proving.distances import (
    BoundMethod,
    Distribution,
    Generator,
    Hidden,
    Value,
    is_known,
    is_whole,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    ExponentialQuotient,
    form_of,
    is_scalar,
    plain,
    rational_of,
)
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.local_values import ONE, Axis, Drawn, UniformDraw, draw, tabled
from dpcp_audit.proving.sources import is_function
from dpcp_audit.proving.table import GLOBAL_DRAWS
from dpcp_audit.stats.enclosures import ball, lower, normal_cdf

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

    from dpcp_audit.proving.paths import Choices
    from dpcp_audit.proving.reading import Interpreter
    from dpcp_audit.proving.statements import Ends

_MOST = 2_000
"""Outcomes of one draw."""
_FAR = 40
"""Scales beyond which Laplace noise lies with a chance of e^-40; Gaussian noise far less often."""
_LEFT = Fraction(1, 10**12)
"""The mass of a geometric law's tail that is not enumerated."""


ZERO = ExponentialQuotient.of(0)
_Level = tuple[int, ExponentialQuotient]
"""How many of a uniform draw's doubles lie below a level, and the chance that it stands for."""
_DOUBLES = 2**53
_NONE: _Level = (0, ZERO)
_ALL: _Level = (_DOUBLES, ONE)


class DrawReader(Reader):
    """Reads along one path of outcomes of draws, on which the outcome of every condition is known.

    Parameters
    ----------
    choices : Choices
        The ways that are taken where the path divides.
    """

    ends_in_errors = False
    rarest = 2.0**-32
    """Chance below which a uniform double, a multiple of 2⁻⁵³, is not as good as a real number."""

    def __init__(self, n: int | None, choices: Choices) -> None:
        super().__init__(n)
        self.choices, self.chance = choices, ONE
        self.fixed: dict[int, int] = {}
        self._levels: dict[int, tuple[_Level, _Level]] = {}
        self._tabled: set[int] = set()

    def draw(self, name: str, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the draw of a generator's method."""
        return draw(self, name, args, kw)

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        owner = function.owner if isinstance(function, BoundMethod) else None
        if isinstance(owner, Generator):
            return self.draw(function.name, args, kw)
        if isinstance(owner, Distribution):
            raise self.refuse("a draw whose outcomes are not enumerated")
        if is_function(function) and function in GLOBAL_DRAWS:
            noise_rules.refuse_seeds(self)
            return self.draw(GLOBAL_DRAWS[function][1], args, kw)
        return super().call(function, args, kw)

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return a comparison of a uniform draw; None of any other."""
        for x, y, first in ((a, b, True), (b, a, False)):
            if isinstance(x, UniformDraw) and name in _LESS:
                # u <= level and u > level reach the level, as level < u and level >= u do
                reached = name in ({"LtE", "Gt"} if first else {"Lt", "GtE"})
                return self._uniform_compared(x, y, less=_LESS[name] is first, reached=reached)
        return None

    def truth(self, value: Value) -> bool:
        """Return True if a condition holds on this path."""
        known = super().truth(self.settled(value))
        if known is None:
            raise self.refuse("a condition whose outcome is not known")
        return known

    def _do_Try(self, node: ast.Try) -> Ends:
        raise self.refuse("errors are caught, which may come from the data")

    def settled(self, value: Value) -> Value:
        """Return a drawn value as the number that it is on this path."""
        if not isinstance(value, Drawn):
            return value
        for axis in value.axes:
            if axis.token not in self.fixed:
                possible = [i for i, chance in enumerate(axis.chances) if chance.top]
                self.fixed[axis.token] = possible[self.choices.choose(len(possible))]
                self.chance = self.chance * axis.chances[self.fixed[axis.token]]
        return value.at(self.fixed)

    def _uniform_compared(
        self, draw: UniformDraw, level: Value, *, less: bool, reached: bool
    ) -> Value:
        """Return if a uniform draw is below a level; a table, where the draw has no name."""
        named = draw.token in self._levels or any(x is draw for x in self.path.bindings())
        if draw.token in self._tabled:
            raise self.refuse("one uniform draw of an array is compared twice")
        level = self.settled(level) if named else level
        values = level.values if isinstance(level, Drawn) else (level,)
        levels = [self._level(each, reached=reached) for each in values]
        of_numpy = {isinstance(plain(each), np.generic) or draw.of_numpy for each in values}
        if len(of_numpy) > 1:
            raise self.refuse("a draw is compared with numbers of NumPy's type and of Python's")
        made: Any = np.bool_ if True in of_numpy else bool
        if named:
            return made(self._is_below(draw, levels[0]) is less)
        self._tabled.add(draw.token)
        steps = sorted({number: (number, chance) for number, chance in [_NONE, *levels]}.values())
        ends = [*steps[1:], _ALL] if steps[-1][0] < _DOUBLES else steps[1:]
        shares = tuple(self._share(*each) for each in zip(steps, ends, strict=False))
        below = Drawn((Axis(next(tokens), shares),), tuple(range(len(shares))))
        axes = level.axes if isinstance(level, Drawn) else ()
        places = Drawn(axes, tuple(sum(step[0] < each[0] for step in steps) for each in levels))
        return tabled(lambda part, place: made((part < place) is less), below, places)

    def _level(self, level: Value, *, reached: bool) -> _Level:
        """Return the doubles below a known number, or up to it, and the chance that they have."""
        form = form_of(level) if is_known(level) and is_scalar(level) else None
        if form is None:
            raise self.refuse("a draw is compared with a value that is not a known number")
        place = Fraction(float(min(max(plain(level), -1), 2))) * _DOUBLES
        number = math.floor(place) + 1 if reached else math.ceil(place)
        if 0 < number < _DOUBLES:
            return number, form
        return _NONE if number <= 0 else _ALL

    def _share(self, low: _Level, high: _Level) -> ExponentialQuotient:
        """Return the chance of a uniform draw between two levels, between which there are some."""
        share = high[1] - low[1]
        if share.sign <= 0:
            raise self.refuse("a chance so small that doubles do not show it")
        self.check_chances([share])
        return share

    def _is_below(self, draw: UniformDraw, level: _Level) -> bool:
        """Return True if a uniform draw is below a level on this path."""
        low, high = self._levels.setdefault(draw.token, (_NONE, _ALL))
        if level[0] <= low[0] or level[0] >= high[0]:
            return level[0] >= high[0]
        whole = self._share(low, high)
        shares = self._share(low, level) / whole, self._share(level, high) / whole
        self.check_chances(shares)
        below = self.choices.choose(2) == 0
        self.chance = self.chance * shares[not below]
        self._levels[draw.token] = (low, level) if below else (level, high)
        return below

    def seed(self, values: range, *, of_numpy: bool, single: bool) -> Value:
        """Return a draw of many values."""
        raise self.refuse("whole numbers of a large range are drawn")

    def check_chances(self, shares: Iterable[ExponentialQuotient]) -> None:
        """Refuse chances that are too small for doubles."""
        if any(each.top and float(each) < self.rarest for each in shares):
            raise self.refuse("a chance so small that doubles do not show it")


_LESS = {"Lt": True, "LtE": True, "Gt": False, "GtE": False}


@dataclass(frozen=True, slots=True)
class RealDraw(Hidden):
    """A Laplace or Gaussian draw, which becomes a known number where it is rounded."""

    called = "noise"

    law: str
    loc: Fraction
    scale: Fraction
    token: int


def _laplace_cdf(x: arb) -> arb:
    return x.exp() / 2 if x < 0 else 1 - (-x).exp() / 2


def real(reader: Interpreter, law: str, given: dict[str, Value]) -> RealDraw:
    """Return a Laplace or Gaussian draw."""
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


Chances = list[tuple[int, Fraction]]


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
    n, p = given["n"], _number(reader, given["p"])
    if not is_whole(n) or not 0 <= n <= _MOST or not 0 <= p <= 1:
        raise reader.refuse("a binomial law whose n is large, or whose p is not a probability")
    return [(k, _shortened(math.comb(n, k) * p**k * (1 - p) ** (n - k))) for k in range(n + 1)]


ENUMERATED: dict[str, Callable[[Interpreter, dict[str, Value]], Chances]] = {
    "geometric": _geometric,
    "binomial": _binomial,
}
"""Laws of whole numbers, by their parameters, all known: a chance at least of each number."""
_HALF = Fraction(1, 2)
_ROUNDINGS: dict[str, Callable[[int], tuple[Fraction, Fraction]]] = {
    "round": lambda m: (m - _HALF, m + _HALF),
    "floor": lambda m: (Fraction(m), Fraction(m + 1)),
    "ceil": lambda m: (Fraction(m - 1), Fraction(m)),
    "int": lambda m: (Fraction(m - (m <= 0)), Fraction(m + (m >= 0))),
}
"""The real numbers that each way of rounding takes to a whole number."""


def rounded(reader: Interpreter, draw: RealDraw, how: str) -> Chances:
    """Return the whole numbers that a real draw may be rounded to, with their chances at least."""
    if 2 * _FAR * draw.scale > _MOST:
        raise reader.refuse("noise of so large a scale is not enumerated")
    return _rounded_chances(draw.law, draw.loc, draw.scale, how)


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
