"""Draws that follow from others: sums whose values were read, and identities of laws.

A total that is read first and its parts later, shares of it, deviations from a mean: each value is
one equation of the draws. They are kept reduced by row operations that keep the determinant: the
draws that they settle are known at once, with the unit in which their density is taken, and those
that are left share as few draws as possible.

−log U is exponential, and −log of that is Gumbel. The size of a symmetric uniform draw and its sign
are independent, and a fair sign times an exponential draw is Laplace. A draw that another was made
of cannot be used again.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from dpcp_audit.tracing.draws import JoinedBit, Ordering
from dpcp_audit.tracing.noise_laws import EXPONENTIAL, GUMBEL, LAPLACE, UNIFORM, CategoricalLaw
from dpcp_audit.tracing.traced_numbers import NumberPath, Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.tracing.draws import Line, NoiseDraw
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.traced_numbers import Terms


_CANCELLED = 1e-11
"""A coefficient that is left of a difference counts as 0 if it is smaller than that share."""


class Reduced(NamedTuple):
    """A number ``offset + Σ coefficient·Z`` without the draws that known sums express by others.

    Parameters
    ----------
    offset : float
    terms : dict
        The draws that are left, with their coefficients.
    size : float
        The largest number that was added up: the offset is known to a few roundings of it.
    """

    offset: float
    terms: Terms
    size: float

    def less(self, row: _Row) -> Reduced:
        """Return the number without the row's own draw."""
        coefficient = self.terms.get(row.draw)
        if coefficient is None:
            return self
        factor = coefficient / row.terms[row.draw]
        left = dict(self.terms)
        for draw, other in row.terms.items():
            before, taken = left.get(draw, 0.0), factor * other
            left[draw] = before - taken
            if abs(left[draw]) <= _CANCELLED * max(abs(before), abs(taken)):
                del left[draw]
        left.pop(row.draw, None)
        taken = factor * row.offset
        return Reduced(self.offset - taken, left, max(self.size, abs(taken)))


class _Row(NamedTuple):
    """An equation ``offset + Σ coefficient·Z = 0``, and the draw that stands in no other row."""

    draw: NoiseDraw
    offset: float
    terms: Terms


class KnownSums:
    """The equations of a path that hold of draws which are not known yet."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []

    def __len__(self) -> int:
        return len(self.rows)

    def holds(self, draw: NoiseDraw) -> bool:
        """Tell whether a draw stands in a sum that is known."""
        return any(draw in row.terms for row in self.rows)

    def reduced(self, offset: float, terms: Terms) -> Reduced:
        """Return a number without the draws that the sums express by others."""
        found = Reduced(offset, terms, abs(offset))
        for row in self.rows:
            found = found.less(row)
        return found

    def add(self, number: Reduced) -> None:
        """Keep that a number, which the known sums do not settle, is 0."""
        terms = number.terms
        draw = max(terms, key=lambda each: abs(terms[each]))
        added = _Row(draw, number.offset, terms)
        rows = [added]
        for row in self.rows:
            left = Reduced(row.offset, row.terms, 0.0).less(added)
            rows.append(_Row(row.draw, left.offset, left.terms))
        self.rows = [row for row in rows if len(row.terms) > 1]
        for row in rows:
            if len(row.terms) == 1:
                coefficient = row.terms[row.draw]
                row.draw.point = -row.offset / coefficient
                row.draw.log_unit = math.log(abs(coefficient))

    def as_bits(self) -> Iterator[JoinedBit]:
        """Yield the equations of the draws that are not known."""
        for row in self.rows:
            terms = tuple(row.terms.items())
            yield JoinedBit(offset=row.offset, terms=terms, how=Ordering.EQUAL)


def is_discrete(number: Traced) -> bool:
    """Tell whether a number has a draw of a discrete law."""
    return any(draw.law is not None and draw.law.discrete for draw in number.terms)


def folded(number: Traced) -> tuple[float, Terms]:
    """Return the offset and the terms of a number, with the draws that are known in the offset."""
    offset, terms = number.offset, number.terms
    if all(draw.point is None for draw in terms):
        return offset, terms
    left: Terms = {}
    for draw, coefficient in terms.items():
        if draw.point is None:
            left[draw] = coefficient
        else:
            offset += coefficient * draw.point
    return offset, left


_COIN = CategoricalLaw((0.5, 0.5))
_SLACK = 1e-12


class DrawPath(NumberPath, Protocol):
    """The path that a draw belongs to, to which draws can be added."""

    live: ClassVar[bool]
    values: bool
    halves: dict[NoiseDraw, tuple[NoiseDraw, NoiseDraw]]

    def new_draw(
        self, law: NoiseLaw | None, name: str, line: Line, standard: float = ..., /
    ) -> NoiseDraw:
        """Add a draw, with its Z where that is known."""
        ...


def made(path: DrawPath, name: str, number: Traced) -> Traced | None:
    """Return a function of a number as a number with a draw of its own; None where it has none.

    Parameters
    ----------
    name : str
        "log", "log1p", "absolute" or "sign".
    """
    draw = _single(number)
    if draw is None or path.values:
        return None
    return _MADE[name](path, number, draw)


def product(path: DrawPath, first: Traced, second: Traced) -> Traced | None:
    """Return a fair sign times an exponential draw as a Laplace draw; None of other products."""
    for sign, size in ((first, second), (second, first)):
        coin, draw = _single(sign), _single(size, law=EXPONENTIAL)
        if coin is None or draw is None or coin.law is not _COIN or path.values:
            continue
        if size.offset == 0 and 2 * sign.offset == -sign.terms[coin]:
            scale = abs(sign.offset * size.terms[draw])
            value = first.value * second.value
            coin.settled = True
            new = _new(path, LAPLACE, draw, value / scale)
            return Traced(path, value, 0.0, {new: scale}, pure=True)
    return None


def _single(number: Traced, law: NoiseLaw | None = None) -> NoiseDraw | None:
    """Return the only draw of a number, of which nothing has been seen or made."""
    if len(number.terms) != 1:
        return None
    draw = next(iter(number.terms))
    seen = draw.point is not None or draw.joined or draw.settled or not draw.region.whole
    return None if seen or (law is not None and draw.law is not law) else draw


def _new(path: DrawPath, law: NoiseLaw, draw: NoiseDraw, standard: float) -> NoiseDraw:
    draw.settled = True
    return path.new_draw(law, draw.name, draw.line, standard)


def _log(path: DrawPath, number: Traced, draw: NoiseDraw) -> Traced | None:
    """Return log of a number that is uniform from 0, or exponential."""
    law: NoiseLaw
    first, width = number.offset, number.terms[draw]
    ends = sorted((first, first + width))
    if draw.law is UNIFORM and abs(ends[0]) <= _SLACK * ends[1]:
        law, offset = EXPONENTIAL, math.log(ends[1])
    elif draw.law is EXPONENTIAL and first == 0 and width > 0:
        law, offset = GUMBEL, math.log(width)
    else:
        return None
    value = math.log(number.value) if number.value > 0 else math.nan
    return Traced(path, value, offset, {_new(path, law, draw, offset - value): -1.0}, pure=True)


def _log1p(path: DrawPath, number: Traced, draw: NoiseDraw) -> Traced | None:
    return _log(path, 1 + number, draw)


def _split(path: DrawPath, number: Traced, draw: NoiseDraw) -> tuple[NoiseDraw, NoiseDraw] | None:
    """Return the size and the sign of a uniform draw, of a number that is symmetric."""
    if abs(2 * number.offset + number.terms[draw]) > _SLACK * abs(number.offset):
        return None
    size = _new(path, UNIFORM, draw, abs(2 * draw.standard - 1))
    return size, path.new_draw(_COIN, draw.name, draw.line, float(draw.standard > 0.5))


def halves(path: DrawPath, number: Traced, name: str) -> Traced | None:
    """Return the size or the sign of a number with a symmetric uniform draw."""
    draw = next(iter(number.terms), None)
    if draw is None or len(number.terms) != 1 or draw.law is not UNIFORM:
        return None
    found = path.halves.get(draw)
    if found is None:
        return made(path, name, number)
    width = number.terms[draw]
    if abs(2 * number.offset + width) > _SLACK * abs(width):
        return None
    size, coin = found
    if name == "absolute":
        return Traced(path, abs(number.value), 0.0, {size: abs(width) / 2}, pure=True)
    turn = math.copysign(1.0, width)
    sign = math.copysign(1.0, number.value) if path.live else math.nan
    return Traced(path, sign, -turn, {coin: 2 * turn}, pure=True)


def _halved(path: DrawPath, number: Traced, draw: NoiseDraw, name: str) -> Traced | None:
    if draw.law is not UNIFORM:
        return None
    found = _split(path, number, draw)
    if found is None:
        return None
    path.halves[draw] = found
    return halves(path, number, name)


_MADE: dict[str, Callable[[DrawPath, Traced, NoiseDraw], Traced | None]] = {
    "log": _log,
    "log1p": _log1p,
    "absolute": lambda path, number, draw: _halved(path, number, draw, "absolute"),
    "sign": lambda path, number, draw: _halved(path, number, draw, "sign"),
}
