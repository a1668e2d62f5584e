"""The piecewise-constant laws with atoms that an adversary may choose from, and plain ones.

A move returns None where its random choice names no law, for example to move an atom of a law that
has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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


PLAIN_LAWS = (
    PiecewiseConstant(cells=(1,)),
    *(PiecewiseConstant(atoms=((place, 1.0),)) for place in (0.5, 0.0, 1.0)),
    PiecewiseConstant(edges=(0, 0.25, 1), cells=(1, 0)),
)
"""Laws that are read at a glance, the plainest first: tried in the place of one that was found."""
