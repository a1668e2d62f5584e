"""Membership attacks: rules, fitted on pilot games, that score a release.

The higher the score, the likelier that the target was in. Each estimates the likelihood
ratio of the two worlds, which no other score beats (Neyman and Pearson 1933).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray


_TAIL_CELLS = 5


class Attack(Protocol):
    """A way to score releases, fitted on releases from both worlds."""

    @property
    def name(self) -> str:
        """The attack's name in reports."""
        ...

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:
        """Return a score of releases, from pilot releases with and without the target.

        All three arrays have shape (size,); the score returns one number a release.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLikelihood:
    """The likelihood ratio of the cell that a release falls into.

    Every distinct release is a cell where there are at most ``cells``; else quantiles of the
    pooled releases are the cuts, and the outermost cells are halved again and again, since low
    false-positive rates are decided there.

    Parameters
    ----------
    cells : int
        The number of equally likely cells, at least 2, before the outermost are halved.
    feature : callable, optional
        Turns releases into the numbers that are cut into cells, shape (size,) to (size,).
    """

    cells: int = 64
    feature: Callable[[FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        _validate.integer(cells=self.cells, at_least=2)

    @property
    def name(self) -> str:
        """Likelihood ratio of cells, and of what."""
        what = "the release" if self.feature is None else "a feature of the release"
        return f"likelihood ratio of cells of {what}"

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:
        """Return log p̂_in/p̂_out of the cell, with half an observation added to each."""
        cuts = _cuts(self._number(np.concatenate([member, other])), self.cells)
        masses = [_cell_shares(self._number(x), cuts) for x in (member, other)]
        loss = np.log(masses[0] / masses[1])

        def score(releases: FloatArray) -> FloatArray:
            return loss[np.searchsorted(cuts, self._number(releases), side="left")]

        return score

    def _number(self, releases: FloatArray) -> FloatArray:
        return releases if self.feature is None else self.feature(releases)


def membership_pvalues(
    scores: FloatArray, reference: FloatArray, *, rng: np.random.Generator | int | None = None
) -> FloatArray:
    """Return randomised conformal p-values of scores against reference scores of the out world.

    (#{r > s} + U·(#{r = s} + 1))/(m + 1). In the out world they are uniform on [0, 1] over the
    draw of both, ties or not (Vovk, Gammerman and Shafer 2005), so the attack "in, if p <= t"
    has a false-positive rate of t on average, at every t.

    Parameters
    ----------
    scores : ndarray, shape (size,)
    reference : ndarray, shape (m,)

    Returns
    -------
    ndarray, shape (size,)
    """
    generator = _validate.generator(rng)
    ordered = np.sort(reference)
    below = np.searchsorted(ordered, scores, side="left")
    above = ordered.size - np.searchsorted(ordered, scores, side="right")
    ties = ordered.size - below - above
    return (above + generator.random(scores.size) * (ties + 1)) / (ordered.size + 1)


def _cuts(pooled: FloatArray, cells: int) -> FloatArray:
    values = np.unique(pooled)
    if values.size > cells:
        tail = 0.5 ** np.arange(1, _TAIL_CELLS + 1) / cells
        levels = np.sort(np.concatenate([tail, np.arange(1, cells + 1) / cells, 1 - tail]))
        values = np.unique(np.quantile(pooled, levels, method="inverted_cdf"))
    return values[:-1]


def _cell_shares(values: FloatArray, cuts: FloatArray) -> FloatArray:
    counts = np.bincount(np.searchsorted(cuts, values, side="left"), minlength=cuts.size + 1)
    total = values.size + 0.5 * (cuts.size + 1)
    return np.asarray((counts + 0.5) / total, dtype=np.float64)
