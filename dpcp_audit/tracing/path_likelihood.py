"""The probability of all that a path has observed, draw by draw, as logs.

Draws are independent. One that is compared with numbers alone is left an interval; one whose
value was read has its density there. Draws that are compared with each other are integrated
together, where one of them is all that the others share: a threshold with noise against many noisy
counts, or the largest of noisy scores. Given the shared draw, the others are independent. A sum
that was read is its density in the same way. A sum of normal draws is normal; for the largest of
numbers with equal Gumbel noise the integral is the softmax.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.tracing.draws import (
    GUMBEL,
    NORMAL,
    SLACK,
    ImpossibleError,
    NeedsValuesError,
    Ordering,
    log_difference,
    narrowed_ends,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.tracing.draws import DrawRegion, JoinedBit, NoiseDraw, NoiseLaw
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.words.validate import FloatArray


LOST = -math.inf
"""The log-probability of what cannot happen."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
AROUND = np.array([-32, -16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16, 32], dtype=np.float64)
_STEPS = np.array([0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512])
Way = tuple[float, float, float, Ordering]
"""A comparison with 0 of offset + a·U + b·Z: offset, a, b, and how."""
AGREE = 1e-9
"""The largest distance of two quadratures, which is taken for the error of either."""
_HALVINGS = 4
_MOST_CELLS = 3_000_000
_MOST_VALUES = 200_000
_APART = Ordering.NOT_EQUAL
_TAIL = 0.25
"""The shortest panel, in the shortest of the lengths that the densities change over."""
_FEWEST_ULPS = 64
_LATTICE = 1e-9


def log_of_region(law: NoiseLaw, regions: Sequence[DrawRegion]) -> FloatArray:
    """Return the log-probabilities of regions, shape (regions,)."""
    low = np.array([region.low for region in regions])
    high = np.array([region.high for region in regions])
    found = law.log_interval(low, high)
    for place, region in enumerate(regions):
        inside = [z for z in region.excluded if region.low <= z <= region.high]
        if inside:
            out = float(logsumexp(law.log_point(np.array(inside))))
            left = out - found[place]
            found[place] = found[place] + math.log(-math.expm1(left)) if left < 0 else LOST
    return found


def component_log_probability(bits: Sequence[JoinedBit]) -> tuple[NoiseDraw, float]:
    """Return the draw that the others share, and the log-probability of the comparisons.

    Raises
    ------
    NeedsValuesError
        If there is no such draw, or the integral does not converge.
    """
    draws = {draw: None for bit in bits for draw, _ in bit.terms}
    if len(bits) == 1 and _all_normal(draws):
        return _normal_sum(bits[0])
    if any(len(bit.terms) > 2 for bit in bits):
        raise NeedsValuesError("more than two draws are compared", bits[0].terms[0][0].line)
    common = [draw for draw in draws if _is_common(draw, bits)]
    if not common:
        raise NeedsValuesError("no draw is shared by all comparisons", next(iter(draws)).line)
    root = min(common, key=_index)
    leaves = _leaves(root, bits)
    softmax = _softmax(root, leaves)
    if softmax is not None:
        return root, softmax
    law = root.law
    if law is None or any(draw.law is None for draw in draws):
        raise NeedsValuesError("a draw without a law is compared", root.line)
    return root, _summed(root, leaves) if law.discrete else _integrated(root, leaves)


def _is_common(draw: NoiseDraw, bits: Sequence[JoinedBit]) -> bool:
    return all(any(draw is each for each, _ in bit.terms) for bit in bits)


def _index(draw: NoiseDraw) -> int:
    return draw.index


Leaves = dict["NoiseDraw", list[Way]]
"""The comparisons with the root, by draw."""


def _leaves(root: NoiseDraw, bits: Sequence[JoinedBit]) -> Leaves:
    leaves: Leaves = defaultdict(list)
    for bit in bits:
        terms = dict(bit.terms)
        own = terms.pop(root)
        ((leaf, coefficient),) = terms.items()
        leaves[leaf].append((bit.offset, own, coefficient, bit.how))
    return leaves


def _all_normal(draws: dict[NoiseDraw, None]) -> bool:
    return all(draw.law is NORMAL and draw.region.whole for draw in draws)


def _normal_sum(bit: JoinedBit) -> tuple[NoiseDraw, float]:
    """Return the probability of a comparison of a sum of normal draws, or its density."""
    scale = math.hypot(*(coefficient for _, coefficient in bit.terms))
    bound = np.array([-bit.offset / scale])
    root = bit.terms[0][0]
    if bit.how is Ordering.EQUAL:
        return root, float(NORMAL.log_point(bound)[0]) - math.log(scale)
    none = np.array([np.inf])
    below = bit.how in {Ordering.LESS, Ordering.LESS_EQUAL}
    ends = (-none, bound) if below else (bound, none)
    return root, float(NORMAL.log_interval(*ends)[0])


def _softmax(root: NoiseDraw, leaves: Leaves) -> float | None:
    """Return log P(the root's number is the largest), of numbers with equal Gumbel noise."""
    if root.law is not GUMBEL or not root.region.whole:
        return None
    gaps: list[float] = []
    for leaf, ways in leaves.items():
        offset, own, coefficient, how = ways[0]
        upward = how in {Ordering.GREATER, Ordering.GREATER_EQUAL}
        if len(ways) > 1 or leaf.law is not GUMBEL or not leaf.region.whole:
            return None
        if not math.isclose(own, -coefficient, rel_tol=1e-12) or upward != (own > 0):
            return None
        gaps.append(-offset / own)
    return -float(logsumexp([0.0, *gaps]))


def _given(root_values: FloatArray, leaves: Leaves) -> FloatArray:
    """Return the log-probability of all comparisons given the root's Z, of its shape."""
    total = np.zeros_like(root_values)
    for leaf, ways in leaves.items():
        total += leaf_given(root_values, leaf, ways)
    return total


def leaf_given(u: FloatArray, leaf: NoiseDraw, ways: Sequence[Way]) -> FloatArray:
    """Return the log-probability of a draw's comparisons with U, of the shape of u."""
    law = leaf.law
    if law is None or leaf.region.excluded:
        raise NeedsValuesError("a draw was compared for equality and then joined", leaf.line)
    low, high, equal = bounds_of(u, leaf, [way for way in ways if way[3] is not _APART])
    if equal is not None:
        return _leaf_at(law, *equal, low, high)
    found = law.log_interval(low, high)
    apart = [way for way in ways if way[3] is _APART]
    if apart:
        found = log_difference(found, _leaf_apart(u, leaf, apart, low, high))
    return found


def _leaf_apart(
    u: FloatArray, leaf: NoiseDraw, ways: Sequence[Way], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return the log-probability of the one value that a discrete Z does not have."""
    if len(ways) > 1 or leaf.law is None or not leaf.law.discrete:
        raise NeedsValuesError("a draw was compared for equality more than once", leaf.line)
    ((offset, own, coefficient, _),) = ways
    return _leaf_at(leaf.law, -(offset + own * u) / coefficient, coefficient, low, high)


def bounds_of(
    u: FloatArray, leaf: NoiseDraw, ways: Sequence[Way]
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, float] | None]:
    """Return the ends that comparisons with U leave of Z, and Z itself where it is known.

    With Z comes its coefficient.
    """
    low, high = np.full_like(u, leaf.region.low), np.full_like(u, leaf.region.high)
    discrete = leaf.law is not None and leaf.law.discrete
    for offset, own, coefficient, how in ways:
        bound = -(offset + own * u) / coefficient
        found = how if coefficient > 0 else how.mirrored
        if found is Ordering.EQUAL:
            return low, high, (bound, coefficient)
        if found is Ordering.NOT_EQUAL:
            raise NeedsValuesError("draws in a tree were compared for equality", leaf.line)
        low, high = narrowed_ends((low, high), found, bound, discrete=discrete)
    return low, high, None


def _leaf_at(
    law: NoiseLaw, z: FloatArray, coefficient: float, low: FloatArray, high: FloatArray
) -> FloatArray:
    if law.discrete:
        whole = np.round(z)
        inside = (np.abs(z - whole) <= _LATTICE) & (whole >= low) & (whole <= high)
        return np.where(inside, law.log_point(whole), LOST)
    inside = (z >= low) & (z <= high)
    return np.where(inside, law.log_point(z) - math.log(abs(coefficient)), LOST)


def _summed(root: NoiseDraw, leaves: Leaves) -> float:
    """Return the log of the sum over the values of a discrete root."""
    law = root.law
    assert law is not None  # noqa: S101  (the caller made sure)
    ends = law.support()
    first, last = max(root.region.low, ends[0]), min(root.region.high, ends[1])
    if last - first > _MOST_VALUES:
        raise NeedsValuesError("a discrete draw has too many values to be added up", root.line)
    values = np.array([z for z in np.arange(first, last + 1) if z not in root.region.excluded])
    terms = law.log_point(values) + _given(values, leaves)
    return float(logsumexp(terms)) if np.isfinite(terms).any() else LOST


def _integrated(root: NoiseDraw, leaves: Leaves) -> float:
    """Return the log of the integral over the root's Z, halving panels until two agree."""
    law = root.law
    assert law is not None  # noqa: S101  (the caller made sure)
    edges = _edges(law, root.region, leaves)
    before = math.nan
    for _ in range(_HALVINGS):
        if edges.size * _NODES.size * len(leaves) > _MOST_CELLS:
            break
        value = _over_panels(law, edges, leaves)
        if value == before or abs(value - before) <= AGREE:
            return value
        before = value
        edges = np.sort(np.concatenate([edges, (edges[1:] + edges[:-1]) / 2]))
    raise NeedsValuesError("the integral over a shared draw does not converge", root.line)


def _over_panels(law: NoiseLaw, edges: FloatArray, leaves: Leaves) -> float:
    half = (edges[1:] - edges[:-1])[:, None] / 2
    nodes = ((edges[1:] + edges[:-1])[:, None] / 2 + half * _NODES).ravel()
    weights = (np.log(half) + np.log(_WEIGHTS)).ravel()
    terms = weights + law.log_point(nodes) + _given(nodes, leaves)
    return float(logsumexp(terms)) if np.isfinite(terms).any() else LOST


def _edges(law: NoiseLaw, region: DrawRegion, leaves: Leaves) -> FloatArray:
    """Return panels that resolve the law of the root and the turns of the others' laws."""
    turns, marks = [0.0, *law.corners], [np.zeros(1)]
    finest = law.spread
    for leaf, ways in leaves.items():
        width, jumps = (1.0, ()) if leaf.law is None else (leaf.law.spread, leaf.law.corners)
        for offset, own, coefficient, _ in ways:
            scale = width * abs(coefficient / own)
            finest = min(finest, scale)
            ends = [e for e in (leaf.region.low, leaf.region.high) if math.isfinite(e)]
            found = [-(offset + coefficient * z) / own for z in (0.0, *jumps, *ends)]
            turns += found
            marks += [turn + scale * AROUND for turn in found]
    return panel_edges(law, region, np.array(turns), np.concatenate(marks), finest)


def panel_edges(
    law: NoiseLaw, region: DrawRegion, turns: FloatArray, marks: FloatArray, finest: float
) -> FloatArray:
    """Return panels of a law's region, that end at turns and about at marks.

    Where a density jumps or has a corner a panel ends, however near the next: halving alone
    does not see a jump inside of a panel.

    Raises
    ------
    ImpossibleError
        If the region has no length.
    """
    low, high = max(region.low, law.reach[0]), min(region.high, law.reach[1])
    if not low < high:
        raise ImpossibleError("a draw has no room left", ("", 0))
    steps = law.spread * np.concatenate([-_STEPS[::-1], [0.0], _STEPS])
    kept = np.unique(np.clip([*turns, low, high], low, high))
    edges = np.unique(np.clip(np.concatenate([marks, steps, low + steps, high + steps]), low, high))
    apart = np.diff(edges, prepend=-np.inf) > _TAIL * finest
    edges = np.union1d(kept, edges[apart])
    apart = np.diff(edges, prepend=-np.inf) > _FEWEST_ULPS * np.spacing(np.abs(edges))
    return np.append(edges[apart][:-1], high) if np.sum(apart) > 1 else np.array([low, high])


_EPSILON = 4 * float(np.finfo(np.float64).eps)
"""Relative error of a number after a few operations."""


def log_likelihoods(run: PathRun) -> FloatArray:
    """Return the log-probability, or density, of what was observed of each draw, shape (draws,).

    That of draws which were observed together stands at the one of them that the others share.

    Raises
    ------
    NeedsValuesError
        If joined draws have no probability that is computed.
    """
    found, singles = np.zeros(run.count), run.singles
    found[[draw.index for draw in singles]] = [draw.revealed for draw in singles]
    joined = _narrowed(run)
    _add_points(singles, found)
    together = {draw.index for bit in joined for draw, _ in bit.terms}
    _add_regions([draw for draw in singles if draw.index not in together], found)
    for made in run.vectors:
        found[made.places] = made.log_likelihood()
    for part in _components(joined):
        root, value = _joint(part)
        found[root.index] += value
    if run.impossible:
        found[0] = LOST
    return found


def numerical_error(run: PathRun) -> float:
    """Return the largest error of the sum of ``log_likelihoods``, by quadrature and rounding.

    Z is the difference of two numbers over the scale: its error is that of the larger one, times
    the slope of the log-density, or over the width of the interval that is left.
    """
    sizes = np.full(run.count, np.nan)
    for each in run.events:
        if each.is_whole:
            sizes[each.draws] = np.fmax(sizes[each.draws], np.abs(each.offset) / each.scale)
        elif len(each.draws) == 1 and each.scale > 0:
            vector = isinstance(each.offset, np.ndarray)
            largest = float(np.abs(each.offset).max(initial=0.0)) if vector else abs(each.offset)
            place, size = each.draws[0], largest / each.scale
            sizes[place] = size if size > sizes[place] or math.isnan(sizes[place]) else sizes[place]
    observed = ~np.isnan(sizes)
    moved = math.fsum(_moved(*(column[observed] for column in (sizes, *_ends(run)))))
    return AGREE * (len(run.joined) + len(run.sums)) + _EPSILON * moved


def _ends(run: PathRun) -> list[FloatArray]:
    """Return what is known of each draw: low and high end, Z, and both ends of its law's reach."""
    low, high, point, first, last = (np.full(run.count, np.nan) for _ in range(5))
    singles = run.singles
    places = [draw.index for draw in singles]
    low[places] = [draw.region.low for draw in singles]
    high[places] = [draw.region.high for draw in singles]
    point[places] = [math.nan if draw.point is None else draw.point for draw in singles]
    first[places] = [-math.inf if draw.law is None else draw.law.reach[0] for draw in singles]
    last[places] = [math.inf if draw.law is None else draw.law.reach[1] for draw in singles]
    for made in run.vectors:
        low[made.places], high[made.places], point[made.places] = made.low, made.high, made.point
        first[made.places], last[made.places] = made.law.reach
    return [low, high, point, first, last]


def _moved(  # noqa: PLR0917  (columns of a table)
    size: FloatArray,
    low: FloatArray,
    high: FloatArray,
    point: FloatArray,
    first: FloatArray,
    last: FloatArray,
) -> FloatArray:
    """Return the changes of draws' log-probabilities for a relative change of their numbers."""
    known = ~np.isnan(point)
    ends = [np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high)]
    reach = np.where(known, np.abs(point), np.maximum(*ends))
    width = np.where(known, 1.0, np.minimum(1.0, np.minimum(high, last) - np.maximum(low, first)))
    with np.errstate(divide="ignore"):
        slope = np.maximum(1.0, reach) + np.where(width > 0, 1 / width, 0.0)
    return np.asarray((reach + size) * slope)


def _narrowed(run: PathRun) -> list[JoinedBit]:
    """Return the comparisons of several unknown draws; those of one narrow its region."""
    left: list[JoinedBit] = []
    for bit in (*run.joined, *run.sums.as_bits()):
        offset = bit.offset
        unknown: dict[NoiseDraw, float] = {}
        for draw, coefficient in bit.terms:
            if draw.point is None:
                unknown[draw] = coefficient
            else:
                offset += coefficient * draw.point
        if len(unknown) > 1:
            left.append(replace(bit, offset=offset, terms=tuple(unknown.items())))
        elif unknown:
            ((draw, coefficient),) = unknown.items()
            draw.narrow(offset, coefficient, bit.how)
        elif not bit.how.holds(offset, 0.0) and abs(offset) > SLACK:
            run.impossible = True
    return left


def _add_points(draws: list[NoiseDraw], found: FloatArray) -> None:
    groups: dict[NoiseLaw, list[NoiseDraw]] = defaultdict(list)
    for draw in draws:
        if draw.point is not None and draw.law is not None:
            groups[draw.law].append(draw)
    for law, members in groups.items():
        z = np.array([draw.point for draw in members], dtype=np.float64)
        places = [draw.index for draw in members]
        if law.discrete:
            whole = np.round(z)
            values = np.where(np.abs(z - whole) <= SLACK, law.log_point(whole), LOST)
        else:
            values = law.log_point(z) - np.array([draw.log_unit for draw in members])
        inside = [draw.holds_point(SLACK) for draw in members]
        found[places] += np.where(inside, values, LOST)


def _add_regions(draws: list[NoiseDraw], found: FloatArray) -> None:
    groups: dict[NoiseLaw, list[NoiseDraw]] = defaultdict(list)
    for draw in draws:
        if draw.point is None and draw.law is not None and not draw.region.whole:
            groups[draw.law].append(draw)
    for law, members in groups.items():
        places = [draw.index for draw in members]
        found[places] += log_of_region(law, [draw.region for draw in members])


def _joint(bits: list[JoinedBit]) -> tuple[NoiseDraw, float]:
    """Return the log-probability of comparisons, once for all that look alike."""
    draws = list(dict.fromkeys(draw for bit in bits for draw, _ in bit.terms))
    places = {draw: place for place, draw in enumerate(draws)}
    key = (
        tuple((bit.offset, bit.how, tuple((places[d], c) for d, c in bit.terms)) for bit in bits),
        tuple((draw.law, draw.region) for draw in draws),
    )
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        root, value = component_log_probability(bits)
        _KNOWN[key] = places[root], value
    place, value = _KNOWN[key]
    return draws[place], value


_KNOWN: dict[object, tuple[int, float]] = {}
"""Probabilities of comparisons: paths that see the same ask for the same integrals."""
_MOST_KNOWN = 20_000


def _components(joined: list[JoinedBit]) -> list[list[JoinedBit]]:
    """Return the comparisons, grouped so that no draw stands in two groups."""
    groups: list[tuple[set[NoiseDraw], list[JoinedBit]]] = []
    for bit in joined:
        draws, bits = {draw for draw, _ in bit.terms}, [bit]
        apart: list[tuple[set[NoiseDraw], list[JoinedBit]]] = []
        for others, theirs in groups:
            if others & draws:
                draws, bits = draws | others, theirs + bits
            else:
                apart.append((others, theirs))
        groups = [*apart, (draws, bits)]
    return [bits for _, bits in groups]
