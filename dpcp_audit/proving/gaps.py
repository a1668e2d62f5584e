"""The exponential mechanism over the gaps between the sorted records: a private quantile.

``edges`` are the sorted records between two public ends. A gap is chosen with a chance in
proportion to its length times a public factor, and a uniform draw inside it is released. The
density at a point x is then the factor of the number of records below x, over one common number.
Replacing a record moves that number by at most 1, in one direction for all x, so that the range of
the loss is that of the differences of neighbouring factors' logarithms, and 0.

References
----------
Smith 2011, "Privacy-preserving statistical estimation with optimal convergence rates", Algorithm 2.
The range of the loss: Dong, Durfee and Rogers 2020, "Optimal differential privacy composition for
exponential mechanisms". Gumbel noise of scale 1 on the logarithm of each weight chooses by weight:
Yellott 1977.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import ctx

from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    SCALAR,
    Hidden,
    Noise,
    Records,
    Value,
    is_data,
    is_known,
    name_of,
    operation,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Surd, logs_of, numbers_of, rational_of
from dpcp_audit.stats.enclosures import ball, lower, upper

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter

_STEEPEST = 500
"""Logarithm of a weight beyond which its double may be 0 or infinite, and the law another one."""


@dataclass(frozen=True, slots=True)
class Edges(Hidden):
    """The sorted records between two public ends, or a slice of them.

    Parameters
    ----------
    token : int
        Names the array that this is a slice of.
    gaps : int
        The number of gaps in that array: one more than there are records.
    start, stop : int
        The slice.
    """

    called = "sorted records"
    token: int
    gaps: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Chosen(Hidden):
    """The place of a gap, plus ``offset``, chosen by weights of a line. It may be used once."""

    called = "the place of a chosen gap"
    token: int
    draw: tuple[int, ...]
    span: Fraction
    offset: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Edge(Hidden):
    """One of the edges: at a known place, or at that of a chosen gap."""

    called = "a sorted record"
    token: int
    gaps: int
    place: int | Chosen


@dataclass(frozen=True, slots=True)
class Length(Hidden):
    """The length of a chosen gap, or that length times a fresh uniform draw."""

    called = "the gaps between the sorted records"
    chosen: Chosen
    uniform: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps(Hidden):
    """The length of each gap times a public factor, in order; or those of one gap.

    Parameters
    ----------
    token : int
        Names the edges.
    gaps : int
        The number of gaps.
    logs : tuple of pairs of Fraction
        Bounds of the logarithm of each factor.
    log : bool
        True if these are the logarithms of the weights.
    place : int or None
        The place of the gap, for the weight of one gap.
    common : str
        "" for weights; "sum" or "max" for that number of all weights.
    normalised, shifted : bool
        True if the weights were divided by their sum, or by their largest.
    noise : tuple of int
        The draw of Gumbel noise on them.
    name : int
        Names these weights.
    line : int
        The line of their last factors.
    """

    called = "the gaps between the sorted records"
    token: int
    gaps: int
    logs: tuple[tuple[Fraction, Fraction], ...]
    log: bool = False
    place: int | None = None
    common: str = ""
    normalised: bool = False
    shifted: bool = False
    noise: tuple[int, ...] = ()
    name: int = field(default_factory=lambda: next(tokens))
    line: int = 0

    @property
    def span(self) -> Fraction:
        """The range of the loss."""
        rises = [
            end
            for (low, high), (next_low, next_high) in zip(self.logs, self.logs[1:], strict=False)
            for end in (next_low - high, next_high - low)
        ]
        return max((Fraction(0), *rises)) - min((Fraction(0), *rises))


@dataclass(frozen=True, slots=True)
class Ended(Hidden):
    """A list of the sorted records and one of two ends: the low one, if ``below``."""

    called = "sorted records"
    records: Records
    end: Value
    below: bool


KINDS = (Edges, Edge, Chosen, Length, Gaps, Ended)


def extended(reader: Interpreter, items: tuple[Value, ...], value: Value, *, left: bool) -> Value:
    """Return a list plus that of the sorted records, or of these and one end."""
    if len(items) != 1 or (isinstance(value, Ended) and value.below is left):
        raise reader.refuse("sorted records between lists of more than one number each")
    if isinstance(value, Records):
        return Ended(value, items[0], left)
    ends = (items[0], value.end) if left else (value.end, items[0])
    return between(reader, ends[0], value.records, ends[1])


def between(reader: Interpreter, low: Value, records: Records, high: Value) -> Edges:
    """Return the sorted records between two public ends."""
    known = [rational_of(each) for each in (low, high)]
    if records.single or records.chosen or reader.n is None:
        raise reader.refuse("gaps between records whose number is not known")
    if not records.ordered:
        raise reader.refuse("gaps between records that are not sorted", "sort them: np.sort(...)")
    if is_data(low) or is_data(high):
        raise reader.leak(
            "the ends beside the sorted records come from the data without noise",
            "take ends that hold for all data, such as 0 and 1, and clip the records to them",
        )
    if known[0] is None or known[1] is None:
        raise reader.refuse("the ends beside the sorted records are not known numbers")
    if not known[0] <= records.low <= records.high <= known[1]:
        raise reader.refuse(
            "the ends beside the sorted records do not enclose them", "clip the records: np.clip"
        )
    reader.note("gaps between the sorted records")
    n = reader.n if records.count is None else records.count
    return Edges(next(tokens), n + 1, 0, n + 2)


def joined(reader: Interpreter, items: tuple[Value, ...]) -> Value:
    """``np.concatenate`` and ``np.r_``: the sorted records between two ends."""
    if len(items) != 3 or not isinstance(items[1], Records):
        return NotImplemented
    return between(reader, _one(items[0]), items[1], _one(items[2]))


def _one(value: Value) -> Value:
    return value.ravel()[0] if isinstance(value, np.ndarray) and value.size == 1 else value


def size(value: Edges | Gaps) -> int:
    """Return the number of entries."""
    return value.stop - value.start if isinstance(value, Edges) else len(value.logs)


def lengths(edges: Edges) -> Value:
    """``np.diff``: the lengths of the gaps."""
    if size(edges) != edges.gaps + 1:
        return NotImplemented
    return Gaps(edges.token, edges.gaps, ((Fraction(0), Fraction(0)),) * edges.gaps)


def element(reader: Interpreter, value: Value, index: Value) -> Value:
    """Return an entry, or a slice, of the edges."""
    if isinstance(value, Edges) and isinstance(index, slice) and is_known(index):
        start, stop, step = index.indices(size(value))
        if step == 1 and start < stop:
            return replace(value, start=value.start + start, stop=value.start + stop)
    if isinstance(value, Edges) and isinstance(index, int | np.integer):
        if not -size(value) <= index < size(value):
            raise reader.refuse("raises IndexError")
        return Edge(value.token, value.gaps, value.start + int(index) % size(value))
    whole = isinstance(value, Edges) and size(value) == value.gaps + 1
    if isinstance(index, Chosen) and whole and index.token == value.token:
        return Edge(value.token, value.gaps, index)
    raise reader.refuse(f"an entry of {value.called} is taken out")


def binary(reader: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return an operator's result where an operand is of the kinds above."""
    found: Value | None = None
    if isinstance(a, Chosen) or isinstance(b, Chosen):
        found = _next(name, a, b)
    elif isinstance(a, Edges | Edge) and isinstance(b, Edges | Edge):
        found = _difference(name, a, b)
    elif isinstance(a, Edge | Length) or isinstance(b, Edge | Length):
        found = _inside(reader, name, a, b)
    elif isinstance(a, Gaps) and isinstance(b, Gaps):
        found = _by_common(name, a, b)
    elif isinstance(a, Gaps) or isinstance(b, Gaps):
        x, y = (a, b) if isinstance(a, Gaps) else (b, a)
        found = _weighted(reader, name, x, y, divided=name in {"Div", "Sub"}, left=x is a)
    if found is None:
        hidden = a if isinstance(a, Hidden) else b
        raise reader.refuse(f"{operation(name)} of {hidden.called} is not followed")
    return found


def _next(name: str, a: Value, b: Value) -> Chosen | None:
    x, y = (a, b) if isinstance(a, Chosen) else (b, a)
    whole = isinstance(y, int | np.integer) and not isinstance(y, bool)
    return replace(x, offset=x.offset + int(y)) if whole and name == "Add" else None


def _difference(name: str, a: Value, b: Value) -> Value | None:
    """Return the lengths of the gaps, or the length of one, from two edges each."""
    if name != "Sub" or a.token != b.token or type(a) is not type(b):
        return None
    if isinstance(a, Edges):
        apart = (a.start, a.stop, b.start, b.stop) == (1, a.gaps + 1, 0, a.gaps)
        return lengths(Edges(a.token, a.gaps, 0, a.gaps + 1)) if apart else None
    if isinstance(a.place, int) and isinstance(b.place, int):
        one = Gaps(a.token, a.gaps, ((Fraction(0), Fraction(0)),), place=b.place)
        return one if a.place == b.place + 1 else None
    if isinstance(a.place, Chosen) and isinstance(b.place, Chosen):
        return Length(b.place) if _are_ends(b.place, a.place) else None
    return None


def _are_ends(low: Chosen, high: Chosen) -> bool:
    return low.draw == high.draw and (low.offset, high.offset) == (0, 1)


def _inside(reader: Interpreter, name: str, a: Value, b: Value) -> Value | None:
    """Return a point of the chosen gap: its lower end plus its length times a uniform draw."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Length) and isinstance(y, Noise) and name == "Mult" and not x.uniform:
            unit = y.law == "uniform" and y.shape == ()
            return replace(x, uniform=y.draw) if unit else None
        if not isinstance(x, Edge) or not isinstance(y, Length) or name != "Add":
            continue
        if x.place == y.chosen and y.uniform:
            reader.use(y.uniform, next(tokens))
            return _released(reader, y.chosen)
    return None


def _released(reader: Interpreter, chosen: Chosen) -> Value:
    """Charge for a uniform draw inside the chosen gap; the gap itself stays unknown."""
    reader.use(chosen.draw, next(tokens))
    reader.note("a uniform draw inside the chosen gap", noise=True)
    rule = "exponential mechanism over gaps: Smith 2011, Algorithm 2"
    reader.charge(Charge("range", chosen.span, reader.line, rule, exponent=chosen.line))
    return SCALAR


def uniform(reader: Interpreter, low: Value, high: Value) -> Value:
    """Return a uniform draw between the ends of the chosen gap."""
    ends = [each.place for each in (low, high) if isinstance(each, Edge)]
    chosen = [each for each in ends if isinstance(each, Chosen)]
    if len(chosen) == 2 and _are_ends(chosen[0], chosen[1]):
        return _released(reader, chosen[0])
    raise reader.refuse("a uniform draw between ends that are not those of one chosen gap")


def _by_common(name: str, a: Gaps, b: Gaps) -> Gaps | None:
    """Return weights over their own sum or largest; in logarithms, the difference."""
    own = b.common and not a.common and a.name == b.name and not a.noise
    alike = own and name == ("Sub" if a.log else "Div")
    if a.place is not None and b.common == "sum" and not b.log and name == "Div":
        own = (a.token, a.logs) == (b.token, b.logs[a.place : a.place + 1]) and not a.log
        return replace(a, normalised=True, name=b.name) if own else None
    if not alike:
        return None
    if b.common == "sum":
        return replace(a, normalised=True, shifted=a.log, name=next(tokens))
    return replace(a, shifted=a.log, name=next(tokens))


def _weighted(
    reader: Interpreter, name: str, x: Gaps, y: Value, *, divided: bool, left: bool
) -> Gaps | None:
    """Return weights times known factors, or their logarithms plus known numbers."""
    if x.common or x.normalised or x.noise or x.shifted or (divided and not left):
        return None
    if isinstance(y, Noise):
        return _with_gumbel(reader, name, x, y)
    if name not in ({"Add", "Sub"} if x.log else {"Mult", "Div"}):
        return None
    added = (numbers_of(y) if x.log else _logs(reader, y)) if is_known(y) else None
    if added is None:
        return None
    if len(added) == 1:
        added = added * len(x.logs)
    if len(added) != len(x.logs):
        raise reader.refuse(f"{len(added)} factors for {len(x.logs)} gaps")
    sign = -1 if divided else 1
    pairs = [each if isinstance(each, tuple) else (each, each) for each in added]
    logs = tuple(
        (a + sign * (c if divided else b), d + sign * (b if divided else c))
        for (a, d), (b, c) in zip(x.logs, pairs, strict=True)
    )
    line = _scaled_at(reader, y) or reader.line
    return replace(x, logs=logs, name=next(tokens), line=line)


def _with_gumbel(reader: Interpreter, name: str, x: Gaps, y: Noise) -> Gaps:
    if name != "Add" or not x.log or x.place is not None or y.shape != (x.gaps,):
        raise reader.refuse("noise on weights of gaps that is no Gumbel draw for each logarithm")
    if y.moved:
        raise reader.refuse("Gumbel noise on weights of gaps has a public number on it")
    if y.law != "gumbel" or y.scale != Surd.of(1):
        raise reader.refuse(
            "the logarithms of weights need Gumbel noise of scale 1",
            "of another scale, gaps are not chosen in proportion to their length",
        )
    return replace(x, noise=y.draw, name=next(tokens))


def _logs(reader: Interpreter, value: Value) -> tuple[tuple[Fraction, Fraction], ...] | None:
    """Return bounds of the logarithms of known factors, all above 0."""
    exact = logs_of(value)
    if exact is not None:
        return tuple((each, each) for each in exact)
    found = numbers_of(value)
    if found is None:
        return None
    if min(found) <= 0:
        raise reader.refuse(
            "the factor of a gap is 0 or below", "weigh by exp(ε·utility/2), in log-space if small"
        )
    pairs = []
    with ctx.workprec(192):
        for each in found:
            log = ball(each).log()
            pairs.append((Fraction(lower(log)), Fraction(upper(log))))
    return tuple(pairs)


def logarithm(reader: Interpreter, value: Gaps, *, quiet: bool) -> Value:
    """``np.log`` of lengths; that of a length 0 warns, which shows that two records are equal."""
    if value.log or value.common or value.normalised or value.place is not None:
        return NotImplemented
    if not quiet:
        raise reader.refuse(
            "the logarithm of a gap of length 0 warns of it",
            "write it inside of `with np.errstate(divide='ignore'):`",
        )
    return replace(value, log=True, name=next(tokens))


def exponential(reader: Interpreter, value: Gaps) -> Value:
    """``np.exp`` of the weights' logarithms."""
    if not value.log or value.common or value.noise:
        return NotImplemented
    return replace(value, log=False, name=next(tokens))


def common(value: Gaps, what: str) -> Value:
    """Return the sum or the largest of the weights."""
    if value.common or value.noise or value.place is not None:
        return NotImplemented
    return replace(value, common=what)


def softmax(reader: Interpreter, value: Gaps) -> Value:
    """``scipy.special.softmax``: weights over their sum, from their logarithms."""
    if not value.log or value.common or value.noise or value.place is not None:
        return NotImplemented
    return replace(value, log=False, normalised=True, shifted=True, name=next(tokens))


def gathered(items: tuple[Value, ...]) -> Gaps | None:
    """Return weights of single gaps, each in its place, as all weights."""
    first = items[0]
    for place, each in enumerate(items):
        alike = isinstance(each, Gaps) and each.place == place and not each.log
        if not alike or (each.token, each.gaps) != (first.token, first.gaps):
            return None
        if each.normalised != first.normalised or (each.normalised and each.name != first.name):
            return None
    if len(items) != first.gaps:
        return None
    logs = tuple(each.logs[0] for each in items)
    name, line = name_of(*items), first.line
    return Gaps(first.token, first.gaps, logs, normalised=first.normalised, name=name, line=line)


def choice(reader: Interpreter, candidates: Value, p: Gaps) -> Chosen:
    """Return the place of a gap, chosen by its weight."""
    if p.log or p.common or not p.normalised or p.place is not None:
        raise reader.refuse("a gap is chosen by weights that are not divided by their own sum")
    if not p.shifted and max(abs(end) for pair in p.logs for end in pair) > _STEEPEST:
        raise reader.refuse(
            "the weights of gaps are so small that doubles round them to 0",
            "subtract the largest logarithm before np.exp",
        )
    all_places = is_known(candidates) and np.array_equal(
        np.arange(candidates) if isinstance(candidates, int | np.integer) else candidates,
        np.arange(p.gaps),
    )
    if not all_places:
        raise reader.refuse(
            "the weights of the gaps choose something other than the place of a gap"
        )
    return Chosen(p.token, (next(tokens),), p.span, line=p.line)


def argmax(reader: Interpreter, value: Gaps) -> Chosen:
    """Return the place of the largest noisy logarithm: a gap chosen by its weight."""
    if not value.noise:
        raise reader.leak(
            "the largest gap is chosen without noise", "add rng.gumbel(size=...) to the logarithms"
        )
    reader.use(value.noise, next(tokens))
    return Chosen(value.token, (next(tokens),), value.span, line=value.line)


def _scaled_at(reader: Interpreter, value: Value) -> int:
    """Return the line of the factor of a known array that a variable holds; else 0."""
    frame = reader.path.frames[reader.frame]
    names = {name for name, held in frame.variables.items() if held is value}
    lines = [
        node.lineno
        for node in ast.walk(frame.source.node)
        if isinstance(node, ast.Assign) and node.lineno < reader.line
        if any(isinstance(each, ast.Name) and each.id in names for each in node.targets)
        if _is_product(node.value)
    ]
    return max(lines, default=0)


def _is_product(node: ast.expr) -> bool:
    """Return True of a product or quotient, its negative, or a call such as np.exp of it."""
    while isinstance(node, ast.UnaryOp | ast.Call):
        if isinstance(node, ast.Call) and len(node.args) != 1:
            return False
        node = node.operand if isinstance(node, ast.UnaryOp) else node.args[0]
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)
