"""Sums of draws whose values were read: linear equations, solved as they come.

A total that is read first and its parts later, shares of it, deviations from a mean: each value is
one equation of the draws. They are kept reduced by row operations that keep the determinant: the
draws that they settle are known at once, with the unit in which their density is taken, and those
that are left share as few draws as possible.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.tracing.draws import JoinedBit, Ordering

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.tracing.draws import NoiseDraw
    from dpcp_audit.tracing.traced_numbers import Terms, Traced

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
