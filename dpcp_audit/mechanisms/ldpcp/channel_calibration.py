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

from dpcp_audit import _validate
from dpcp_audit.mechanisms.labelled_calibration import (
    LabelledCalibration,
    label_users,
    score_table,
)
from dpcp_audit.mechanisms.ldpcp.editions import OnMiss
from dpcp_audit.mechanisms.ldpcp.window_search import WindowSearch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.guarantees import LocalDP
    from dpcp_audit.mechanisms.ldpcp.label_channels import LabelChannel


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCalibration(WindowSearch, LabelledCalibration):
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

    def users(self, scores: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, IntArray]:
        """Return scores of every label, shape (n, k) in [0, 1], and true labels, shape (n,)."""
        return label_users(scores, labels, k=self.channel.k)

    def releases(
        self, scores: FloatArray, labels: IntArray, size: int, *, rng: np.random.Generator
    ) -> FloatArray:
        """Draw the reports and search, ``size`` times; shape (size,)."""
        order = np.argsort(scores, axis=None, kind="stable")
        ranked, sums = scores.ravel()[order], np.zeros((size, scores.size + 1))
        for run in range(size):  # a report of k weights a user: memory for one release at a time
            weights = self.channel.weights(labels, rng=rng)
            sums[run, 1:] = np.cumsum(weights.ravel()[order]) / labels.size

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
        _bernstein(channel, np.bincount((values <= q).sum(axis=1), minlength=1), log_term)
        for q in _distinct(values, midpoints)
    )
    return noise + math.sqrt(math.log(4 / delta) / (2 * n))


def _bernstein(channel: LabelChannel, users: IntArray, log_term: float) -> float:
    """Return t with 2·exp(−nt²/(2(v + rt/3))) = 2·exp(−``log_term``), users by set size."""
    n, sizes = int(users.sum()), np.flatnonzero(users)
    variance = sum(int(users[m]) * channel.variance(int(m)) for m in sizes) / n
    third = max(channel.reach(int(m)) for m in sizes) * log_term / (3 * n)
    return third + math.sqrt(third**2 + 2 * variance * log_term / n)


def _distinct(values: FloatArray, midpoints: FloatArray) -> FloatArray:
    """Return the midpoints that differ in which scores lie at or below them."""
    places = np.searchsorted(np.sort(values, axis=None), midpoints, side="right")
    return midpoints[np.unique(places, return_index=True)[1]]
