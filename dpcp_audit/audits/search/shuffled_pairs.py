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
        """Return reports: integers in {0, ..., K-1}, or numbers, shape (size,) or (size, d)."""
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
    """What a random order of n users' reports does not hide, as a few numbers.

    Of reports in {0, ..., K-1} all of it, their counts; of others the sum, the least and the
    largest of each coordinate, which may show less. Its input is vK + c: one user holds the v-th
    value, and the n - 1 others the c-th.

    Parameters
    ----------
    reporter : Reporter
    n : int
        The number of users.
    values : tuple of float
        The K values.
    counted : bool
        Whether reports are in {0, ..., K-1}.
    """

    reporter: Reporter
    n: int
    values: tuple[float, ...]
    counted: bool = True

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return counts, shape (size, K), or sums and extremes, shape (size, 3d)."""
        own, others = (self.values[each] for each in divmod(int(value), len(self.values)))
        first = np.asarray(self.reporter(own, size, rng=rng)).reshape(size, 1, -1)
        rest = np.asarray(self.reporter(others, size * (self.n - 1), rng=rng))
        reports = np.concatenate([first, rest.reshape(size, self.n - 1, -1)], axis=1)
        if self.counted:
            counts = [(reports == k).sum(axis=(1, 2)) for k in range(len(self.values))]
            return np.stack(counts, axis=1) * 1.0
        shown = [reports.sum(axis=1), reports.min(axis=1), reports.max(axis=1)]
        return np.concatenate(shown, axis=1)


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
