"""The laws that an adversary may choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit import _validate
from dpcp_audit.theorems.search.law_moves import move, random_law

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dpcp_audit.data.piecewise import PiecewiseConstant

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
        """Tell whether the law is admitted."""
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
        """Tell whether the law is small enough, and admitted."""
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
