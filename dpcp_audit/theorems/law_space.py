"""The piecewise-constant laws with atoms that an adversary may choose from, and simpler ones.

A move returns None where its random choice names no law, for example to move an atom of a law that
has none.

A law is simplified step by step while it still shows what it was found for. Greedy and
deterministic: of the simplifications of the law at hand, in a fixed order, the first that is
simpler and still serves is taken, until none is. ``complexity`` falls with every step, so that the
walk ends, at a law of which no single part can be dropped or rounded further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_HEAVIEST = 1000
_T = TypeVar("_T")


def random_law(
    most_cells: int, most_atoms: int, rng: np.random.Generator
) -> PiecewiseConstant | None:
    """Draw a law of up to so many cells and atoms: a third have cells only, a third atoms only."""
    kind = rng.integers(3)
    edges = [0.0, 1.0]
    for _ in range(rng.integers(most_cells)):
        edges.append(_new_point(_any(edges, rng), rng))
    edges = sorted(set(edges))
    cells = [_weight(rng) * float(rng.integers(2)) if kind else 0.0 for _ in edges[1:]]
    places = sorted({_point(rng) for _ in range(rng.integers(most_atoms + 1) if kind < 2 else 0)})
    return _law(edges, cells, {place: 1 + _weight(rng) for place in places})


def move(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    """Change one thing about the law."""
    return _any(_MOVES, rng)(law, rng)


def _law(
    edges: list[float], cells: list[float], atoms: dict[float, float]
) -> PiecewiseConstant | None:
    """Return the law, or None where nothing has weight or two edges fell together."""
    if not (sum(cells) or atoms) or len(set(edges)) < len(edges):
        return None
    return PiecewiseConstant(edges=sorted(edges), cells=cells, atoms=tuple(sorted(atoms.items())))


def _reweigh_cell(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    cells = list(law.cells)
    which = int(rng.integers(len(cells)))
    cells[which] = _new_weight(cells[which], rng)
    return _law(list(law.edges), cells, dict(law.atoms))


def _reweigh_atom(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    if not law.atoms:
        return None
    place, weight = _any(law.atoms, rng)
    atoms = dict(law.atoms) | {place: max(1.0, _new_weight(weight, rng))}
    return replace(law, atoms=tuple(atoms.items()))


def _move_atom(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    if not law.atoms:
        return None
    atoms = dict(law.atoms)
    place, weight = _any(law.atoms, rng)
    del atoms[place]
    atoms[_new_point(place, rng)] = weight
    return _law(list(law.edges), list(law.cells), atoms)


def _add_atom(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    atoms = dict(law.atoms) | {_point(rng): 1 + _weight(rng)}
    return _law(list(law.edges), list(law.cells), atoms)


def _remove_atom(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    if not law.atoms:
        return None
    atoms = dict(law.atoms)
    del atoms[_any(law.atoms, rng)[0]]
    return _law(list(law.edges), list(law.cells), atoms)


def _move_edge(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    if len(law.cells) == 1:
        return None
    edges = list(law.edges)
    which = int(rng.integers(1, len(edges) - 1))
    edges[which] = _new_point(edges[which], rng)
    return _law(edges, list(law.cells), dict(law.atoms))


def _split_cell(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    which = int(rng.integers(len(law.cells)))
    edges = [*law.edges, _new_point(_any(law.edges, rng), rng)]
    cells = list(law.cells)
    cells.insert(which, _weight(rng))
    return _law(edges, cells, dict(law.atoms))


def _merge_cells(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    if len(law.cells) == 1:
        return None
    return _merged(law, int(rng.integers(1, len(law.cells))))


def _merged(law: PiecewiseConstant, which: int) -> PiecewiseConstant:
    edges, cells = list(law.edges), list(law.cells)
    del edges[which]
    cells[which - 1] += cells.pop(which)
    return replace(law, edges=edges, cells=cells)


def _collapse_cell(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    which = int(rng.integers(len(law.cells)))
    cells, atoms = list(law.cells), dict(law.atoms)
    end = law.edges[which + int(rng.integers(2))]
    atoms[end] = atoms.get(end, 0.0) + cells[which]
    moved = cells[which] > 0
    cells[which] = 0.0
    return _law(list(law.edges), cells, atoms) if moved else None


def _shift_weight(law: PiecewiseConstant, rng: np.random.Generator) -> PiecewiseConstant | None:
    if len(law.cells) + len(law.atoms) < 2:
        return None
    weights = np.array([*law.cells, *(weight for _, weight in law.atoms)])
    source, target = rng.choice(weights.size, 2, replace=False)
    whole = float(weights[source])
    part = min(whole, round(whole * 2.0 ** -int(rng.integers(10))))
    weights[source] -= part
    weights[target] += part
    cells, rest = weights[: len(law.cells)].tolist(), weights[len(law.cells) :].tolist()
    places = (place for place, _ in law.atoms)
    atoms = {place: weight for place, weight in zip(places, rest, strict=True) if weight}
    return _law(list(law.edges), cells, atoms) if part else None


_MOVES: tuple[Callable[[PiecewiseConstant, np.random.Generator], PiecewiseConstant | None], ...] = (
    _reweigh_cell,
    _collapse_cell,
    _shift_weight,
    _reweigh_atom,
    _move_atom,
    _add_atom,
    _remove_atom,
    _move_edge,
    _split_cell,
    _merge_cells,
)


def _any(items: Sequence[_T], rng: np.random.Generator) -> _T:
    return items[int(rng.integers(len(items)))]


def _point(rng: np.random.Generator) -> float:
    """Return a point of [0, 1]: dyadic, as bisections ask; of two decimals; or any."""
    kind = rng.integers(3)
    if kind == 0:
        parts = 2 ** rng.integers(7)
        return float(rng.integers(parts + 1) / parts)
    return round(float(rng.random()), 2 if kind == 1 else 6)


def _new_point(point: float, rng: np.random.Generator) -> float:
    """Return any point, or one near ``point`` on a random scale from 1/2 to 2^(−16)."""
    if rng.random() < 0.3:
        return _point(rng)
    near = point + float(rng.uniform(-1, 1)) * 2.0 ** -int(rng.integers(1, 17))
    return round(min(1.0, max(0.0, near)), 6)


def _weight(rng: np.random.Generator) -> float:
    return float(rng.integers(_HEAVIEST))


def _new_weight(weight: float, rng: np.random.Generator) -> float:
    """Return any weight, or one near ``weight`` on a random scale."""
    if rng.random() < 0.3:
        return _weight(rng)
    spread = 2.0 ** rng.uniform(0, 9)
    return float(min(_HEAVIEST, max(0, round(weight + spread * rng.standard_normal()))))


_TRIES = 10_000


def every_law(law: PiecewiseConstant) -> bool:  # noqa: ARG001  (a predicate like any other)
    """Admit every law on [0, 1]."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedWindows:
    """Admit laws in which no interval of length 2^(−T) holds more than ``mass``.

    LDP-CP's assumption that the search can resolve the scores, for T = ``rounds``.
    """

    rounds: int
    mass: float

    def __post_init__(self) -> None:
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.closed_unit(mass=self.mass)

    def __call__(self, law: PiecewiseConstant) -> bool:
        """Return True if the law is admitted."""
        return law.largest_mass(2.0**-self.rounds) <= self.mass


@dataclass(frozen=True, slots=True, kw_only=True)
class LawSpace:
    """Piecewise-constant laws with atoms, with whole weights.

    Parameters
    ----------
    most_cells, most_atoms : int
        The largest number of cells (at least 1) and of atoms (at least 0).
    admits : callable
        Tells whether a law satisfies the assumptions that the adversary is held to.
    """

    most_cells: int = 4
    most_atoms: int = 3
    admits: Callable[[PiecewiseConstant], bool] = every_law

    def __post_init__(self) -> None:
        _validate.integer(most_cells=self.most_cells, at_least=1)
        _validate.integer(most_atoms=self.most_atoms, at_least=0)

    def contains(self, law: PiecewiseConstant) -> bool:
        """Return True if the law is small enough, and admitted."""
        small = len(law.cells) <= self.most_cells and len(law.atoms) <= self.most_atoms
        return small and self.admits(law)

    def draw(self, *, rng: np.random.Generator | int | None = None) -> PiecewiseConstant:
        """Draw a law, of any number of cells and atoms.

        Raises
        ------
        ValueError
            If none of 10 000 laws was admitted.
        """
        generator = _validate.generator(rng)
        most = (self.most_cells, self.most_atoms)
        return self._first(lambda: random_law(*most, generator))

    def neighbour(
        self, law: PiecewiseConstant, *, rng: np.random.Generator | int | None = None
    ) -> PiecewiseConstant:
        """Draw a law that differs from ``law`` in one or two moves.

        A move changes one weight, shifts weight from one piece to another, collapses a cell
        into an atom, moves one atom or inner edge, splits a cell, merges two, or adds or
        removes an atom.

        Raises
        ------
        ValueError
            If none of 10 000 proposals was admitted.
        """
        generator = _validate.generator(rng)

        def proposal() -> PiecewiseConstant | None:
            once = move(law, generator)
            return move(once, generator) if once and generator.random() < 0.3 else once

        return self._first(proposal)

    def _first(self, propose: Callable[[], PiecewiseConstant | None]) -> PiecewiseConstant:
        for _ in range(_TRIES):
            law = propose()
            if law is not None and self.contains(law):
                return law
        raise ValueError(f"admits must admit some law, got none in {_TRIES} tries")


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
        A function that returns True as long as a law serves its purpose.
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
        (_merged(law, which) for which in range(1, len(law.cells))),
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
