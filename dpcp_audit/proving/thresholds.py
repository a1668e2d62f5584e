"""Comparisons with a noisy threshold: the sparse vector technique, in all its forms.

One draw, the threshold's, answers many comparisons, so that composition does not count it well. On
a path whose answers are given, the noise of one input is shifted so that the other input gives the
same answers: the threshold's draw by s, the largest sensitivity of the queries compared with it; a
query's draw not at all where the answer is "below", which a higher threshold keeps; and where it is
"above" by s and the query's own change, so that even the gap stays what it is. The shifts cost
their size over the scale. Shifts of different paths need not agree, since no noise takes two paths.
Each statement is read once for each sequence of answers in it. Paths whose variables hold the same
numbers then meet, so that a counter of answers above has few. Where "below" is the rare answer, the
threshold moves down, and "above" is free.

Counts that are shown where they are above 0, and with noise above a threshold T, show of a record
that is alone in its bin with the probability δ that its noisy count is above T. Of two neighbours'
counts that differ, some are above 0 on one side alone. Each such count is at most the largest
change there, and not shown on the other side; there are no more of them than the l1 distance, as
each changes by a whole number. All other shown values are made of the noisy counts. δ's of what
is shown in turn add up.

References
----------
Dwork and Roth 2014, Theorem 3.23. Lyu, Su and Li 2017, "Understanding the sparse vector technique
for differential privacy", Algorithms 1 and 7, Theorem 2. The gap: Wang, Ding and others 2020, "Free
gap information from the exponential and sparse vector mechanisms". Shifts of noise as proofs: Zhang
and Kifer 2017, "LightDP", Theorem 2. Shown counts: Korolova, Kenthapadi, Mishra and Ntoulas 2009,
"Releasing search queries and clicks privately", Theorem 1; Bun, Nissim and Stemmer 2016,
"Simultaneous private learning of multiple concepts", section 7.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx

from dpcp_audit.proving.charges import Charge, Tail
from dpcp_audit.proving.distances import (
    Hidden,
    Noise,
    Noisy,
    Public,
    PublicFloat,
    Statistic,
    Value,
    is_known,
    is_public,
    shape_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Real, is_scalar, rational_of
from dpcp_audit.proving.paths import ThresholdUse
from dpcp_audit.stats.enclosures import ball, upper

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter


_SIDES = {"Gt": 1, "GtE": 1, "Lt": -1, "LtE": -1}


@dataclass(frozen=True, slots=True)
class Difference(Hidden):
    """A noisy query less a noisy threshold, plus a public number; or that, times -1."""

    called = "a noisy query less a noisy threshold"

    query: Noisy
    threshold: Noise
    sign: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """The parts that distinguish this difference from any other, except for public numbers."""
        query, other = self.query.noise, self.threshold
        return (self.query.token, query.scale, query.sign, other.draw, other.scale, other.sign)


def difference(reader: Interpreter, a: Value, b: Value) -> Difference | None:
    """Return a - b, where one is a noisy query and the other a noisy threshold of known scale.

    A threshold times the number of records would be shifted by as many times its draw's shift.
    """
    for query, threshold, sign in ((a, b, 1), (b, a, -1)):
        if not isinstance(query, Noisy) or not isinstance(threshold, Noise):
            continue
        one = query.noise.shape == threshold.shape == () and threshold.alike
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
    query, threshold, paid = found.query, found.threshold, answers.next()
    if released(reader, found):
        return paid  # of the gap, which stays as it is: both answers are free
    shift, reach = _shift(reader, threshold, query), query.statistic.linf
    if not reader.use(threshold.draw, shift):
        cost = shift.moved * threshold.scale.inverse().size_above
        scale = float(threshold.scale)
        reader.charge(Charge("aligned", cost, threshold.line, _RULE, scale=scale))
    token = next(tokens)
    reader.use(query.noise.draw, answers.kept.setdefault(found.key, token) if paid else token)
    if paid:
        cost = (shift.moved + reach) * query.noise.scale.inverse().size_above
        scale = float(query.noise.scale)
        reader.charge(Charge("aligned", cost, query.line, _RULE, scale=scale))
    return paid is (answers.side > 0)


_RULE = "noisy threshold: Lyu, Su and Li 2017, Algorithm 1; Zhang and Kifer 2017"


def _shift(reader: Interpreter, threshold: Noise, query: Noisy) -> ThresholdUse:
    """Return the shift of the threshold's draw, which is the same for all its comparisons."""
    reach = query.statistic.linf
    before = reader.path.used.get(threshold.draw)
    found = ThresholdUse(reach, threshold.scale, threshold.sign)
    found = before if isinstance(before, ThresholdUse) else found
    if (found.scale, found.sign) != (threshold.scale, threshold.sign):
        raise reader.refuse("one noisy threshold is scaled, or negated, for some comparisons")
    if reach > found.moved:
        raise reader.refuse(
            "a query moves further than the first one that was compared with this threshold",
            "divide each query by its sensitivity",
        )
    return found


# ---------------------------------------------------------------------- shown above a threshold


@dataclass(frozen=True, slots=True)
class Present(Hidden):
    """The truth values ``counts > cut``, of counts that change by whole numbers."""

    called = "whether counts are above a number"

    counts: Statistic
    cut: Fraction


@dataclass(frozen=True, slots=True)
class Shown(Hidden):
    """A noisy value where its counts are present, and a known number elsewhere."""

    called = "noise where a count is above 0"
    noisy: Noisy
    present: Present
    other: Fraction


@dataclass(frozen=True, slots=True)
class Above(Public):
    """The truth values ``noisy > level``, of a released noisy value.

    ``paid`` are the counts, and the cut, that are above it as well.
    """

    noisy: Noisy | None = None
    level: Value = None
    paid: Present | None = None


_MIRRORED = {"Lt": "Gt", "LtE": "GtE", "NotEq": "NotEq"}


def above(reader: Interpreter, name: str, a: Value, b: Value) -> Value | None:
    """Return counts compared with a cut, or noisy ones with a level; None of any other values."""
    if name in _MIRRORED and is_known(a):
        return above(reader, _MIRRORED[name], b, a) if not is_known(b) else None
    cut = rational_of(b) if is_known(b) and is_scalar(b) else None
    if name not in {"Gt", "GtE", "NotEq"} or cut is None or reader.each_record:
        return None
    if isinstance(a, Statistic) and a.integer and a.sample is None:
        if name == "NotEq" and cut:
            return None
        whole = name == "GtE" and not a.floats
        return Present(a, Fraction(math.ceil(cut) - 1) if whole else cut)
    if isinstance(a, Noisy) and name != "NotEq":
        reader.release(a)
        return Above(a.noise.shape, a, b)
    if isinstance(a, Shown) and name != "NotEq":
        if a.other >= cut:
            raise reader.refuse("a number that stands for no count is not below the threshold")
        reader.release(a.noisy)
        return shown_above(reader, a.present, Above(a.noisy.noise.shape, a.noisy, b))
    return None


def where(reader: Interpreter, condition: Value, x: Value, y: Value) -> Value:
    """``np.where``: noisy values of counts that are present, or shown, and a number elsewhere."""
    other = rational_of(y) if is_known(y) and is_scalar(y) else None
    if isinstance(condition, Present) and isinstance(x, Noisy) and other is not None:
        if not _are_of(x, condition):
            raise reader.refuse("a noisy value is shown where another one's counts are above 0")
        return Shown(x, condition, other)
    if isinstance(condition, Above) and isinstance(x, Shown) and shape_of(y) == ():
        alone = condition.noisy is x.noisy and condition.shape == x.noisy.noise.shape != ()
        if not alone or not is_public(y):
            raise reader.refuse("a noisy value is shown where another one is above a threshold")
        shown_above(reader, x.present, condition)
        return PublicFloat(condition.shape)
    return NotImplemented


def shown_above(reader: Interpreter, present: Value, noisy: Value) -> Above:
    """Return where counts are present whose released noisy values are above a level, as public."""
    above = noisy if isinstance(noisy, Above) else None
    if above is None or above.noisy is None or not isinstance(present, Present):
        raise reader.refuse("where a count is above 0 is not shown by a noisy threshold alone")
    x, noise = above.noisy.statistic, above.noisy.noise
    plainly = noise.law in {"laplace", "normal"} and noise.alike and not noise.moved
    if not plainly or above.shape != x.shape or not _are_of(above.noisy, present):
        raise reader.refuse("a threshold is compared with other noise than that on the counts")
    if above.paid == present:
        return above
    chance, scale = _chance(above.level, present.cut + x.linf, noise), float(noise.scale)
    if chance is None:
        raise reader.refuse(
            "a noisy threshold is not above the count of one record",
            "compare with 1 + log(1 / (2 * delta)) / epsilon",
        )
    rule = "counts above a threshold: Korolova and others 2009, Theorem 1"
    room = (rational_of(above.level) or Fraction(0)) - present.cut
    tail = Tail(noise.law, room, noise.scale.size_above, x.linf)
    charge = Charge("rare", math.floor(x.l1) * chance, reader.line, rule, scale=scale, tail=tail)
    reader.charge(replace(charge, part=x.part, rate=chance, where=x.where))
    return replace(above, paid=present)


def _are_of(noisy: Noisy, present: Present) -> bool:
    """Return True if a noisy value is of these very counts; a shift has another name."""
    return noisy.statistic.name == present.counts.name


_MOST_POWER = 64


def _chance(level: Value, largest: Fraction, noise: Noise) -> Fraction | None:
    """Return the chance, from above, that a draw on ``largest`` is above a level; None below it."""
    number, scale = rational_of(level), noise.scale.rational
    if number is None or number < largest:
        return None
    if isinstance(level, Real) and level.logarithm and scale and noise.law == "laplace":
        a, b, r = level.logarithm
        if a == largest and (b / scale).denominator == 1 and abs(b / scale) < _MOST_POWER:
            return Fraction(r ** -int(b / scale)) / 2
    with ctx.workprec(192):
        far = ball(number - largest) / ball(noise.scale.size_above)
        tail = (-far).exp() if noise.law == "laplace" else (far / arb(2).sqrt()).erfc()
        return Fraction(upper(tail)) / 2
