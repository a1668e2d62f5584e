"""Simplify a law step by step while it still shows what it was found for.

Greedy and deterministic: of the simplifications of the law at hand, in a fixed order, the
first that is simpler and still serves is taken, until none is. ``complexity`` falls with every
step, so that the walk ends, at a law of which no single part can be dropped or rounded further.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_POINTS = (1.0, 0.0, 0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875)


def complexity(law: PiecewiseConstant) -> tuple[int, int, int]:
    """Return a measure of how much there is to read; laws are compared in this order.

    Returns
    -------
    tuple of int
        Cells and atoms that have weight; all cells; the sum of the numbers' own complexities.
        A number's is its numerator, for a weight, and its denominator, as a decimal in lowest
        terms; those of 0 and 1 as a location are 1.
    """
    pieces = sum(weight > 0 for weight in law.cells) + len(law.atoms)
    places = [*law.edges[1:-1], *(place for place, _ in law.atoms)]
    weights = [Fraction(repr(weight)) for weight in _weights(law)]
    numbers = sum(Fraction(repr(place)).denominator for place in places)
    numbers += sum(weight.numerator + weight.denominator for weight in weights)
    return pieces, len(law.cells), numbers


def shrink(
    law: PiecewiseConstant,
    serves: Callable[[PiecewiseConstant], bool],
    *,
    evaluations: int = 1000,
) -> PiecewiseConstant:
    """Return a law that still ``serves`` and that no single simplification improves.

    Parameters
    ----------
    law : PiecewiseConstant
        The law to start at.
    serves : callable
        What has to stay true.
    evaluations : int
        Calls to ``serves`` at most; the simplest law so far is returned when they are spent.

    Raises
    ------
    ValueError
        If ``law`` itself does not serve.
    """
    _validate.integer(evaluations=evaluations, at_least=1)
    if not serves(law):
        raise ValueError(f"law must serve before it is shrunk, got {law!r}")
    tried = {law}
    while True:
        least = complexity(law)
        for candidate in simplifications(law):
            if candidate in tried or complexity(candidate) >= least:
                continue
            if len(tried) > evaluations:
                return law
            tried.add(candidate)
            if serves(candidate):
                law = candidate
                break
        else:
            return law


def simplifications(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    """Yield laws with fewer pieces, then fewer cells, then rounder numbers."""
    return chain(
        _single_pieces(law),
        _dropped_pieces(law),
        _merged_cells(law),
        _collapsed_cells(law),
        _plain_weights(law),
        _rounder_atoms(law),
        _rounder_edges(law),
        _lighter_weights(law),
    )


def _single_pieces(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    """Keep one piece only: an atom, or a cell."""
    for place, _ in law.atoms:
        yield PiecewiseConstant(atoms=((place, 1.0),))
    for which, weight in enumerate(law.cells):
        if weight:
            alone = [float(i == which) for i in range(len(law.cells))]
            yield replace(law, cells=alone, atoms=())


def _dropped_pieces(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    """Take a piece away, or give its weight to another piece."""
    weights = _weights(law)
    pieces = [which for which, weight in enumerate(weights) if weight]
    for which in pieces:
        rest = [*weights[:which], 0.0, *weights[which + 1 :]]
        others = [other for other in pieces if other != which]
        if others:
            yield _reweighed(law, rest)
        for other in others:
            given = rest[other] + weights[which]
            yield _reweighed(law, [*rest[:other], given, *rest[other + 1 :]])


def _merged_cells(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    for which in range(1, len(law.cells)):
        edges, cells = list(law.edges), list(law.cells)
        del edges[which]
        cells[which - 1] += cells.pop(which)
        yield replace(law, edges=edges, cells=cells)


def _collapsed_cells(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    """Put the weight of a cell on an atom at one of its ends, and forget edges in empty space."""
    for which, weight in enumerate(law.cells):
        for end in law.edges[which : which + 2] if weight else ():
            cells = [0.0 if i == which else other for i, other in enumerate(law.cells)]
            kept = [i for i in range(1, len(cells)) if cells[i - 1] or cells[i]]
            atoms = dict(law.atoms)
            atoms[end] = atoms.get(end, 0.0) + weight
            yield PiecewiseConstant(
                edges=[0.0, *(law.edges[i] for i in kept), 1.0],
                cells=[cells[0], *(cells[i] for i in kept)],
                atoms=sorted(atoms.items()),
            )


def _plain_weights(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    """Make all weights 1, scale them to a round total, or divide them by what they share."""
    weights = _weights(law)
    yield _reweighed(law, [float(weight > 0) for weight in weights])
    for total in (3, 4, 5, 10, 20, 100):
        scaled = [float(round(weight / sum(weights) * total)) for weight in weights]
        if any(scaled):
            yield _reweighed(law, scaled)
    if all(weight.is_integer() for weight in weights):
        shared = math.gcd(*(int(weight) for weight in weights))
        yield _reweighed(law, [weight / shared for weight in weights])


def _lighter_weights(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    weights = _weights(law)
    for which, weight in enumerate(weights):
        for lighter in (1.0, float(weight // 2), float(weight // 1), weight - 1):
            if 0 < lighter < weight:
                yield _reweighed(law, [*weights[:which], lighter, *weights[which + 1 :]])


def _rounder_atoms(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    for which, (place, weight) in enumerate(law.atoms):
        others = [*law.atoms[:which], *law.atoms[which + 1 :]]
        for rounder in _rounder(place):
            if rounder not in dict(others):
                yield replace(law, atoms=sorted([*others, (rounder, weight)]))


def _rounder_edges(law: PiecewiseConstant) -> Iterator[PiecewiseConstant]:
    for which in range(1, len(law.edges) - 1):
        for rounder in _rounder(law.edges[which]):
            if law.edges[which - 1] < rounder < law.edges[which + 1]:
                yield replace(law, edges=[*law.edges[:which], rounder, *law.edges[which + 1 :]])


def _rounder(place: float) -> Iterator[float]:
    """Yield simple points, then the two multiples of 10^(−d) and of 2^(−d) next to ``place``."""
    yield from _POINTS
    for grid in (*(10**digits for digits in range(1, 6)), *(2**digits for digits in range(4, 17))):
        yield math.floor(place * grid) / grid
        yield math.ceil(place * grid) / grid


def _weights(law: PiecewiseConstant) -> list[float]:
    """Return the weights of the cells, then those of the atoms."""
    return [*law.cells, *(weight for _, weight in law.atoms)]


def _reweighed(law: PiecewiseConstant, weights: Sequence[float]) -> PiecewiseConstant:
    """Return the law with these weights; an atom whose weight is 0 goes."""
    cells = weights[: len(law.cells)]
    places = (place for place, _ in law.atoms)
    atoms = zip(places, weights[len(law.cells) :], strict=True)
    return replace(law, cells=cells, atoms=[(place, weight) for place, weight in atoms if weight])
