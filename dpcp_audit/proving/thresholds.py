"""Comparisons with a noisy threshold: the sparse vector technique, in all its forms.

One draw, the threshold's, answers many comparisons, so that composition does not count it well. On
a path whose answers are given, the noise of one input is shifted so that the other input gives the
same answers: the threshold's draw by s, the largest sensitivity of the queries compared with it; a
query's draw not at all where the answer is "below", which a higher threshold keeps; and where it is
"above" by s and the query's own change, so that even the gap stays what it is. The shifts cost
their size over the scale. Shifts of different paths need not agree, since no noise takes two paths.
The function is read once for each sequence of answers. Where "below" is the rare answer, the
threshold moves down, and "above" is free.

References
----------
Dwork and Roth 2014, Theorem 3.23. Lyu, Su and Li 2017, "Understanding the sparse vector technique
for differential privacy", Algorithms 1 and 7, Theorem 2. The gap: Wang, Ding and others 2020, "Free
gap information from the exponential and sparse vector mechanisms". Shifts of noise as proofs: Zhang
and Kifer 2017, "LightDP", Theorem 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    Hidden,
    Noise,
    Noisy,
    Value,
    is_public,
    shape_of,
    tokens,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from dpcp_audit.proving.paths import Interpreter


SHARED = -2
"""The token of a draw that is a threshold."""
_SIDES = {"Gt": 1, "GtE": 1, "Lt": -1, "LtE": -1}


@dataclass(frozen=True, slots=True)
class Difference(Hidden):
    """A noisy query less a noisy threshold, plus a public number; or that, times -1."""

    query: Noisy
    threshold: Noise
    sign: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """The parts that distinguish this difference from any other, except for public numbers."""
        query, other = self.query.noise, self.threshold
        return (self.query.token, query.scale, query.sign, other.draw, other.scale, other.sign)


def difference(reader: Interpreter, a: Value, b: Value) -> Difference | None:
    """Return a - b, where one is a noisy query and the other a noisy threshold."""
    for query, threshold, sign in ((a, b, 1), (b, a, -1)):
        if not isinstance(query, Noisy) or not isinstance(threshold, Noise):
            continue
        one = query.noise.shape == threshold.shape == ()
        if one and query.noise.law == threshold.law == "laplace":
            reader.answers.met = True
            return Difference(query, threshold, sign) if reader.answers.side else None
    return None


def compared(reader: Interpreter, name: str, a: Value, b: Value) -> bool | None:
    """Return the answer that this path is read for; None where there is no threshold."""
    if name not in _SIDES:
        return None
    found = difference(reader, a, b)
    for x, y, sign in ((a, b, 1), (b, a, -1)):
        if isinstance(x, Difference) and is_public(y) and shape_of(y) == ():
            found = Difference(x.query, x.threshold, sign * x.sign)
    if found is None:
        return None
    above_if_true = _SIDES[name] * found.sign > 0
    return _answer(reader, found) is above_if_true


def released(reader: Interpreter, value: Difference) -> bool:
    """Return True if the gap may be released: it is what a paid answer has kept as it is."""
    token = reader.answers.kept.get(value.key)
    return token is not None and reader.path.was_released(value.query.noise.draw, token)


def _answer(reader: Interpreter, found: Difference) -> bool:
    """Return True if the query is above, and charge for the shifts that keep this answer."""
    answers = reader.answers
    if reader.each_record:
        raise reader.refuse("a noisy threshold for each record")
    query, threshold = found.query, found.threshold
    if released(reader, found):
        return answers.next()  # of the gap, which stays as it is: both answers are free
    moved, reach = _shift(reader, threshold, query), query.statistic.linf
    if not reader.use(threshold.draw, SHARED):
        cost = moved * threshold.scale.inverse().size_above
        scale = float(threshold.scale)
        reader.charge(Charge("aligned", cost, threshold.line, "a noisy threshold", scale=scale))
        reader.rules.add("noisy threshold: Lyu, Su and Li 2017, Algorithm 1; Zhang and Kifer 2017")
    token = next(tokens)
    reader.use(query.noise.draw, token)
    paid = answers.next()
    if paid:
        answers.kept[found.key] = token
        cost = (moved + reach) * query.noise.scale.inverse().size_above
        says, scale = "an answer beyond a noisy threshold", float(query.noise.scale)
        reader.charge(Charge("aligned", cost, query.line, says, scale=scale))
    return paid is (answers.side > 0)


def _shift(reader: Interpreter, threshold: Noise, query: Noisy) -> Fraction:
    """Return the shift of the threshold's draw, which is the same for all its comparisons."""
    reach = query.statistic.linf
    first = (reach, threshold.scale, threshold.sign)
    moved, *form = reader.answers.shifts.setdefault(threshold.draw, first)
    if form != [threshold.scale, threshold.sign]:
        raise reader.refuse("one noisy threshold is scaled, or negated, for some comparisons")
    if reach > moved:
        raise reader.refuse(
            "a query moves further than the first one that was compared with this threshold",
            "divide each query by its sensitivity",
        )
    return moved
