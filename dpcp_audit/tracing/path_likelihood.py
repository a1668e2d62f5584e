"""The probability of all that a path has observed, draw by draw, as logs.

Draws are independent. One that is compared with numbers alone is left an interval; one whose
value was read has its density there. Draws that are compared with each other are integrated
together, where one of them is all that the others share (``joined_draws``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.tracing.draws import SLACK
from dpcp_audit.tracing.joined_draws import (
    AGREE,
    LOST,
    component_log_probability,
    log_of_region,
)

if TYPE_CHECKING:
    from dpcp_audit.tracing.draws import JoinedBit, NoiseDraw
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.words.arrays import FloatArray


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
    found = np.array([draw.revealed for draw in run.draws])
    joined = _narrowed(run)
    _add_points(run.draws, found)
    together = {draw.index for bit in joined for draw, _ in bit.terms}
    _add_regions([draw for draw in run.draws if draw.index not in together], found)
    for part in _components(joined):
        root, value = _joint(part)
        found[root.index] += value
    if run.impossible:
        found[0] = LOST
    return found


def numerical_error(run: PathRun) -> float:
    """Return how far the sum of ``log_likelihoods`` may be off, by quadrature and rounding.

    Z is the difference of two numbers over the scale: its error is that of the larger one, times
    the slope of the log-density, or over the width of the interval that is left.
    """
    sizes: dict[int, float] = defaultdict(float)
    for each in run.seen:
        if len(each.draws) == 1 and each.scale > 0:
            size = float(np.max(np.abs(each.offset), initial=0.0)) / each.scale
            sizes[each.draws[0]] = max(sizes[each.draws[0]], size)
    moved = math.fsum(_moved(run.draws[index], size) for index, size in sizes.items())
    return AGREE * (len(run.joined) + len(run.sums)) + _EPSILON * moved


def _moved(draw: NoiseDraw, size: float) -> float:
    """Return the change of a draw's log-probability for a relative change of its numbers."""
    known = [] if draw.point is None else [draw.point]
    ends = known or [end for end in (draw.region.low, draw.region.high) if math.isfinite(end)]
    reach = max((abs(end) for end in ends), default=0.0)
    width = 1.0 if known else min(1.0, draw.region.high - draw.region.low)
    slope = max(1.0, reach) + (1 / width if width > 0 else 0.0)
    return (reach + size) * slope


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
