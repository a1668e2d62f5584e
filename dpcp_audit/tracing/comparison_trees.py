"""The probability of comparisons between draws that form a tree.

The running largest of noisy numbers is compared with the next one: each comparison brings a new
draw. Given a draw, what hangs below each of its neighbours is then independent, so that nested
integrals of one variable are left. The integral of a draw up to any bound is kept as a polynomial
on each panel of a quadrature.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import legendre

from dpcp_audit.tracing.draws import Ordering
from dpcp_audit.tracing.joined_draws import (
    AGREE,
    AROUND,
    Way,
    bounds_of,
    component_log_probability,
    leaf_given,
    panel_edges,
    share_a_draw,
)
from dpcp_audit.tracing.source_lines import ImpossibleError, NeedsValuesError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit.tracing.draws import JoinedBit, NoiseDraw
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.words.arrays import FloatArray

_MOST_CELLS = 3_000_000
_CANCELLED = 1e-6
_MOST_ORDERED = 24
_SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """Gauss's quadrature, with the integral up to any place of a panel.

    Parameters
    ----------
    nodes, weights : ndarray, shape (n,)
        Of the quadrature on [-1, 1].
    integral : ndarray, shape (n + 1, n)
        From values at the nodes to Legendre coefficients of the integral from −1.
    """

    nodes: FloatArray
    weights: FloatArray
    integral: FloatArray

    @classmethod
    def of(cls, count: int) -> _Rule:
        """Return the rule with so many nodes."""
        nodes, weights = legendre.leggauss(count)
        values = legendre.legvander(nodes, count - 1) * weights[:, None]
        series = values.T * (np.arange(count) + 0.5)[:, None]
        return cls(
            nodes, weights, np.asarray(legendre.legint(series, lbnd=-1, axis=0), dtype=np.float64)
        )


_RULES = tuple(map(_Rule.of, (8, 12, 18)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A draw, with what is compared with it and hangs below it.

    Parameters
    ----------
    draw : NoiseDraw
        The draw.
    law : NoiseLaw
        That of its Z.
    ways : tuple of Way
        Its comparisons with the draw above it; none of the root.
    below : tuple of Branch
        The other draws that it is compared with.
    """

    draw: NoiseDraw
    law: NoiseLaw
    ways: tuple[Way, ...]
    below: tuple[Branch, ...]

    @property
    def size(self) -> int:
        """The number of draws."""
        return 1 + sum(each.size for each in self.below)

    def turns(self) -> Iterator[tuple[float, float]]:
        """Yield where the integrand turns, of its own Z, and over what length."""
        ends = [end for end in (self.draw.region.low, self.draw.region.high) if math.isfinite(end)]
        yield from ((turn, self.law.spread) for turn in (0.0, *self.law.corners, *ends))
        for branch in self.below:
            found = list(branch.turns())
            for offset, own, coefficient, _ in branch.ways:
                ratio = abs(coefficient / own)
                for turn, scale in found:
                    yield -(offset + coefficient * turn) / own, scale * ratio


def tree_of(bits: Sequence[JoinedBit]) -> Branch | None:
    """Return comparisons of two draws each as a tree; None where they are none.

    Comparisons that others imply, as a > c is by a > b and b > c, are left out.
    """
    links = _links(bits)
    draws = {draw for link in links for draw in link}
    if len(links) >= len(draws):
        links = _links(_without_implied(bits))
    if len(links) != len(draws) - 1 or any(draw.law is None or draw.law.discrete for draw in draws):
        return None
    near: dict[NoiseDraw, list[NoiseDraw]] = defaultdict(list)
    for first, second in links:
        near[first].append(second)
        near[second].append(first)
    root = max(draws, key=lambda draw: (len(near[draw]), -draw.index))
    return _branch(root, None, near, links)


Links = dict[tuple["NoiseDraw", "NoiseDraw"], list["JoinedBit"]]
"""The comparisons of each two draws, by their order."""


def _links(bits: Sequence[JoinedBit]) -> Links:
    links: Links = defaultdict(list)
    for bit in bits:
        first, second = sorted((draw for draw, _ in bit.terms), key=lambda draw: draw.index)
        links[first, second].append(bit)
    return links


def _branch(
    draw: NoiseDraw, above: NoiseDraw | None, near: dict[NoiseDraw, list[NoiseDraw]], links: Links
) -> Branch:
    ways: list[Way] = []
    if above is not None:
        for bit in links.get((draw, above)) or links[above, draw]:
            terms = dict(bit.terms)
            ways.append((bit.offset, terms[above], terms[draw], bit.how))
    assert draw.law is not None  # noqa: S101  (the caller made sure)
    below = tuple(_branch(each, draw, near, links) for each in near[draw] if each is not above)
    return Branch(draw=draw, law=draw.law, ways=tuple(ways), below=below)


def _without_implied(bits: Sequence[JoinedBit]) -> list[JoinedBit]:
    """Leave out comparisons that follow from others by adding these up."""
    larger: dict[tuple[NoiseDraw, NoiseDraw], Gap] = {}
    for bit in bits:
        (first, a), (second, b) = bit.terms
        if a * b > 0 or bit.how in {Ordering.EQUAL, Ordering.NOT_EQUAL}:
            return list(bits)
        upward = bit.how in {Ordering.GREATER, Ordering.GREATER_EQUAL}
        sign = 1.0 if upward else -1.0
        if sign * a > 0:
            larger[first, second] = sign * bit.offset, sign * a, -sign * b
        else:
            larger[second, first] = sign * bit.offset, sign * b, -sign * a
    draws = {draw for pair in larger for draw in pair}
    if len(larger) < len(bits) or len(draws) > _MOST_ORDERED:
        return list(bits)
    above = dict(larger)
    for middle, first, second in product(draws, repeat=3):
        if (first, middle) in above and (middle, second) in above:
            above.setdefault((first, second), _sum(above[first, middle], above[middle, second]))
    implied = {
        pair
        for pair, gap in larger.items()
        for middle in draws
        if (pair[0], middle) in above
        and (middle, pair[1]) in above
        and _same(_sum(above[pair[0], middle], above[middle, pair[1]]), gap)
    }
    kept = [frozenset(pair) for pair in larger if pair not in implied]
    return [bit for bit in bits if frozenset(draw for draw, _ in bit.terms) in kept]


Gap = tuple[float, float, float]
"""Of a number that is larger than another: the offset, and both coefficients."""


def _sum(first: Gap, second: Gap) -> Gap:
    """Return the gap between the first and the last of three numbers."""
    alike = abs(first[2] - second[1]) <= _SAME * max(1.0, abs(first[2]))
    offset = first[0] + second[0] if alike else math.nan
    return offset, first[1], second[2]


def _same(first: Gap, second: Gap) -> bool:
    size = max(1.0, *map(abs, second))
    return all(abs(a - b) <= _SAME * size for a, b in zip(first, second, strict=True))


def tree_log_probability(tree: Branch) -> float:
    """Return the log-probability of the comparisons, by finer rules until two agree.

    Raises
    ------
    NeedsValuesError
        If the integrals do not converge.
    """
    before = math.nan
    for rule in _RULES:
        value = _Panels.of(tree, rule).log_total
        if not math.isfinite(value):
            break
        if abs(value - before) <= AGREE:
            return value
        before = value
    raise NeedsValuesError("the integrals over compared draws do not converge", tree.draw.line)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Panels:
    """The density of a draw times the probability of what hangs below, integrated on panels.

    Parameters
    ----------
    edges : ndarray, shape (panels + 1,)
        Where they begin and end.
    series : ndarray, shape (degrees, panels)
        Legendre coefficients of the integral from each panel's left end.
    left : ndarray, shape (panels + 1,)
        The integral up to each edge.
    right : ndarray, shape (panels + 1,)
        The integral from each edge.
    log_unit : float
        The log of the unit of these integrals.
    """

    edges: FloatArray
    series: FloatArray
    left: FloatArray
    right: FloatArray
    log_unit: float

    @classmethod
    def of(cls, branch: Branch, rule: _Rule) -> _Panels:
        """Integrate a branch's draw."""
        turns, scales = np.array(list(branch.turns())).T
        marks = (turns[:, None] + scales[:, None] * AROUND).ravel()
        edges = panel_edges(branch.law, branch.draw.region, turns, marks, float(scales.min()))
        if edges.size * rule.nodes.size * branch.size > _MOST_CELLS:
            raise NeedsValuesError("too many draws are compared", branch.draw.line)
        half = (edges[1:] - edges[:-1]) / 2
        nodes = (edges[1:] + edges[:-1]) / 2 + half * rule.nodes[:, None]
        below = _below(branch, nodes.ravel(), rule).reshape(nodes.shape)
        logs = branch.law.log_point(nodes) + below
        unit = float(logs.max())
        if not math.isfinite(unit):
            raise ImpossibleError("a comparison has no probability", branch.draw.line)
        weights = np.exp(logs - unit) * half
        panels = rule.weights @ weights
        left = np.concatenate([[0.0], np.cumsum(panels)])
        right = np.concatenate([np.cumsum(panels[::-1])[::-1], [0.0]])
        return cls(
            edges=edges, series=rule.integral @ weights, left=left, right=right, log_unit=unit
        )

    @property
    def log_total(self) -> float:
        """The log of the whole integral."""
        return self.log_unit + math.log(self.left[-1])

    def between(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the logs of integrals between bounds, shape of the bounds."""
        (left, above), (below, right) = self._sides(low), self._sides(high)
        if np.isneginf(low).all():
            mass = below
        elif np.isposinf(high).all():
            mass = above
        else:
            mass = np.where(below < above, below - left, above - right)
            whole = np.minimum(below, above)
            if np.any((mass > 0) & (mass < _CANCELLED * whole)):
                raise NeedsValuesError("an interval of a compared draw is too narrow", ("", 0))
        with np.errstate(divide="ignore"):
            return np.where(high > low, np.log(np.maximum(mass, 0.0)) + self.log_unit, -np.inf)

    def _sides(self, bound: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the integrals up to a bound, and from it."""
        inside = np.clip(bound, self.edges[0], self.edges[-1])
        places = np.clip(np.searchsorted(self.edges, inside) - 1, 0, self.edges.size - 2)
        start, end = self.edges[places], self.edges[places + 1]
        part = legendre.legval(
            2 * (inside - start) / (end - start) - 1, self.series[:, places], tensor=False
        )
        part = np.clip(part, 0.0, self.left[places + 1] - self.left[places])
        whole = self.right[places] - self.right[places + 1]
        return self.left[places] + part, self.right[places + 1] + np.maximum(whole - part, 0.0)


def _below(branch: Branch, u: FloatArray, rule: _Rule) -> FloatArray:
    """Return the log-probability of all that hangs below a draw, given its Z."""
    total = np.zeros_like(u)
    for each in branch.below:
        if not each.below:
            total += leaf_given(u, each.draw, each.ways)
        else:
            total += _inner_given(u, each, rule)
    return total


def _inner_given(u: FloatArray, branch: Branch, rule: _Rule) -> FloatArray:
    low, high, equal = bounds_of(u, branch.draw, branch.ways)
    if equal is None:
        return _Panels.of(branch, rule).between(low, high)
    at, coefficient = equal
    inside = (at >= low) & (at <= high)
    found = branch.law.log_point(at) + _below(branch, at, rule) - math.log(abs(coefficient))
    return np.where(inside, found, -np.inf)


def joint_log_probability(bits: Sequence[JoinedBit]) -> tuple[NoiseDraw, float]:
    """Return the log-probability of comparisons of several draws, and the draw it is put at.

    Raises
    ------
    NeedsValuesError
        If they neither share a draw nor form a tree, or an integral does not converge.
    """
    if share_a_draw(bits) or any(len(bit.terms) != 2 for bit in bits):
        return component_log_probability(bits)
    tree = tree_of(bits)
    if tree is None:
        raise NeedsValuesError("no draw is shared by all comparisons", bits[0].terms[0][0].line)
    return tree.draw, tree_log_probability(tree)
