"""Users who report values of one set: one of them changes its value, and the others agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.search.pair_space import Candidate, ListedPairs, neighbours_of
from dpcp_audit.neighbours import Relation

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

Change = tuple[int, int, int]
"""(a, b, c): a user's value a becomes b, and all others hold c."""
_ALL_OTHERS = 6
"""Values up to which the others are tried on each; beyond, on those that change and a third."""
_MOST = 10
"""Values up to which all pairs are tried; beyond, those with the first."""


class Reporter(Protocol):
    """A randomizer, on one value so many times."""

    def __call__(self, value: object, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return reports in {0, ..., K-1}, shape (size,)."""
        ...


def changes(n_values: int) -> list[Change]:
    """Return the changes to try."""
    firsts = range(n_values if n_values <= _MOST else 1)
    pairs = [(a, b) for a in firsts for b in range(a + 1, n_values)]
    return [(a, b, c) for a, b in pairs for c in _others(a, b, n_values)]


def _others(a: int, b: int, n_values: int) -> list[int]:
    if n_values <= _ALL_OTHERS:
        return list(range(n_values))
    return [a, b, next(c for c in range(n_values) if c not in {a, b})]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledReports:
    """The counts of n users' reports, which is all that a random order does not hide.

    Its input is vK + c: one user holds v, and the n - 1 others c.
    """

    reporter: Reporter
    n: int
    n_values: int

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return counts, shape (size, K)."""
        own, others = divmod(int(value), self.n_values)
        first = np.asarray(self.reporter(own, size, rng=rng), dtype=np.int64).reshape(size, 1)
        rest = np.asarray(self.reporter(others, size * (self.n - 1), rng=rng), dtype=np.int64)
        reports = np.concatenate([first, rest.reshape(size, self.n - 1)], axis=1)
        return np.stack([(reports == k).sum(axis=1) for k in range(self.n_values)], axis=1) * 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledPairs(ListedPairs):
    """Pairs of inputs of ``ShuffledReports``.

    Parameters
    ----------
    n_values : int
        K >= 2.
    """

    n_values: int

    def __post_init__(self) -> None:
        _validate.integer(n_values=self.n_values, at_least=2)

    @property
    def bounds(self) -> None:
        """None: counts are no thresholds."""
        return

    def candidates(self) -> list[Candidate]:
        """Return the pairs, each once: an audit looks both ways."""
        k = self.n_values
        return [
            neighbours_of(
                Relation.SUBSTITUTION, a * k + c, b * k + c, family=f"{a} or {b} among {c}"
            )
            for a, b, c in changes(k)
        ]
