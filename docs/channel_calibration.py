"""Noise-aware LDP-CP-L over any known channel: the paper's open problem (Section 6).

Users send their features and a report on their label. The score function is the aggregator's, so
that it knows which labels y′ of a user score at most q: the mean of ΣW(R, y′) over them is an
unbiased estimate F̂c(q) of the coverage, whatever the channel. The search is LDP-CP-L's.

**Privacy.** A report is a function of one label alone: the channel's ε.

**Coverage.** With probability 1−δ, |F̂c − F| ≤ Δ at each of the 2^T − 1 midpoints, for n i.i.d.
users. Given features and labels, a user's sum over m labels has the mean 1{s(y) ≤ q}, a variance
of at most v(m) and stays within r(m) of its mean. Bernstein's inequality at δ/2, over midpoints and
sides, bounds what the reports add, and Dvoretzky, Kiefer and Wolfowitz's (Massart 1990) at δ/2
what the users do. A threshold that the search returns is a midpoint with F̂c ≥ 1−α+Δ, or with the
upper end on a miss one whose F̂c was above the window, or 1: it covers at least 1−α, for every law
of the scores, admissible or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import LocalDP
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair
from dpcp_audit.extensions.mechanisms import (
    OnMiss,
    WindowSearch,
    label_users,
    score_table,
)
from dpcp_ledger.ldpcp.channels import LabelChannel, bernstein_width

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class MatrixChannel:
    """Any channel of finitely many reports whose matrix has a left inverse.

    Parameters
    ----------
    matrix : ndarray, shape (k, reports)
        P(R | y), a row a label, of full row rank.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        values = _validate.array(self.matrix, name="matrix", ndim=2)
        for row in values:
            FiniteLaw.from_mass(row)
        if len(values) < 2 or np.linalg.matrix_rank(values) < len(values):
            raise ValueError("matrix must have at least 2 rows, which are linearly independent")

    @property
    def k(self) -> int:
        """The number of labels."""
        return len(self.matrix)

    @property
    def guarantee(self) -> LocalDP:
        """The largest log-ratio of two labels; infinite where a report rules a label out."""
        return LocalDP(self.pair().max_divergence())

    def pair(self) -> FinitePair:
        """Return the exact laws on the two labels whose reports differ most."""
        laws = [FiniteLaw.from_mass(row) for row in self.matrix]
        pairs = [FinitePair(p, q) for p in laws for q in laws if p is not q]
        return max(pairs, key=FinitePair.max_divergence)

    @property
    def _inverse(self) -> FloatArray:
        """W, shape (reports, k), with matrix @ W = 1."""
        return np.asarray(np.linalg.pinv(self.matrix), dtype=np.float64)

    def weights(self, labels: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw reports and return their rows of W, shape (n, k)."""
        edges = np.cumsum(self.matrix, axis=1)[labels]
        drawn = rng.random(len(labels))[:, None] * edges[:, -1:]
        return np.asarray(self._inverse[(drawn >= edges).sum(axis=1)])

    def variance(self, size: int) -> float:
        """Return a bound on the variance: the mean of the square of the largest such sum."""
        return float((self.matrix @ self._largest(size) ** 2).max())

    def reach(self, size: int) -> float:
        """Return a bound on the distance from the mean, which is 0 or 1."""
        return float(self._largest(size).max()) + 1

    def _largest(self, size: int) -> FloatArray:
        """Return the largest |ΣW(R, y′)| over sets of so many labels, shape (reports,)."""
        ordered = np.sort(self._inverse, axis=1)
        high, low = ordered[:, self.k - size :].sum(axis=1), ordered[:, :size].sum(axis=1)
        return np.asarray(np.maximum(np.abs(high), np.abs(low)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCalibration(WindowSearch):
    """LDP-CP-L with another channel than k-RR; scores lie in [0, 1].

    Parameters
    ----------
    alpha, rounds, window_width, window, on_miss, starred
        As in ``WindowSearch``. Starred and with the upper end on a miss, unless said otherwise.
    channel : LabelChannel
        What every user runs on its label.
    """

    channel: LabelChannel
    on_miss: OnMiss = OnMiss.UPPER_END
    starred: bool = True

    @property
    def guarantee(self) -> LocalDP:
        """The channel's."""
        return self.channel.guarantee

    def sample(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        size: int,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> FloatArray:
        """Draw the reports and search, ``size`` times; shape (size,).

        Parameters
        ----------
        scores : array_like, shape (n, k)
            Scores of every label of the users, in [0, 1].
        labels : array_like, shape (n,)
            Their true labels.
        size : int
            Number of releases.
        """
        values, true = label_users(scores, labels, k=self.channel.k)
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        order = np.argsort(values, axis=None, kind="stable")
        ranked, sums = values.ravel()[order], np.zeros((size, values.size + 1))
        for run in range(size):  # a report of k weights a user: memory for one release at a time
            weights = self.channel.weights(true, rng=generator)
            sums[run, 1:] = np.cumsum(weights.ravel()[order]) / true.size

        def estimate(_: int, q: FloatArray, which: IntArray) -> FloatArray:
            return np.asarray(sums[which, np.searchsorted(ranked, q, side="right")])

        return self.search(estimate, runs=size).threshold


def channel_width(channel: LabelChannel, scores: ArrayLike, *, rounds: int, delta: float) -> float:
    """Return Δ of the coverage theorem above, from the features, which the reports show.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Scores of every label of the users, in [0, 1].
    rounds : int
        T, at most 20: the bound is over all 2^T − 1 midpoints.
    delta : float
        δ in (0, 1).
    """
    values = score_table(scores, k=channel.k)
    _validate.integer(rounds=rounds, at_least=1, at_most=20)
    _validate.open_unit(delta=delta)
    n, points = len(values), 2**rounds - 1
    midpoints: FloatArray = np.linspace(0.0, 1.0, points + 2)[1:-1]
    log_term = math.log(4 * points / delta)
    noise = max(
        _noise(channel, np.bincount((values <= q).sum(axis=1), minlength=1), log_term)
        for q in _distinct(values, midpoints)
    )
    return noise + math.sqrt(math.log(4 / delta) / (2 * n))


def _noise(channel: LabelChannel, users: IntArray, log_term: float) -> float:
    """Return what the reports add to Δ at one midpoint, users by set size."""
    n, sizes = int(users.sum()), np.flatnonzero(users)
    variance = sum(int(users[m]) * channel.variance(int(m)) for m in sizes) / n
    reach = max(channel.reach(int(m)) for m in sizes)
    return bernstein_width(variance, reach, n=n, log_term=log_term)


def _distinct(values: FloatArray, midpoints: FloatArray) -> FloatArray:
    """Return the midpoints that differ in which scores lie at or below them."""
    places = np.searchsorted(np.sort(values, axis=None), midpoints, side="right")
    return midpoints[np.unique(places, return_index=True)[1]]
