"""Membership games on DP-CP releases: what the attacker sees, and worst-case targets.

Each function sets up one game of substitution: a central threshold, the same threshold seen
through prediction sets only, a user's label report (LDP-CP-L) or answer (LDP-CP-S).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.audits import CellLikelihood, MembershipInference, bisected
from dpcp_audit.extensions.claims import Neighbours, Relation
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FinitePair
from dpcp_audit.extensions.mechanisms import conformal_rank
from dpcp_ledger.mechanisms.mechanism_proofs import worst_log_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.audits import Sampler
    from dpcp_audit.extensions.claims import BoolArray, FloatArray, PlainData, PrivacyGuarantee
    from dpcp_audit.extensions.mechanisms import (
        PCOQS,
        BinaryRandomizedResponse,
        ExponQ,
        HistLap,
        KaryRandomizedResponse,
        LDPCPLabels,
        LDPCPScores,
        SplitConformal,
    )

_ASKED = 0.5
"""The point that a user of LDP-CP-S's first block is asked about, whatever others answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionBits:
    """The likelihood ratio of the bits of a bisection, each bit on its own (naive Bayes).

    Bit j is whether the release lies above the midpoint of what the bits before have left.
    Where the bits are independent, as on P-COQS's worst pair, no score does better. The last
    few bits cannot all be read off: with left ← mid + Δ, intervals of width about Δ turn
    inside out, and a fitted weight takes each for what it is worth.

    The attack learns of the release only whether chosen points lie below it, which adaptive
    queries to the prediction set, one a bit, reveal too: a label of score s is in it if s <= q.

    Parameters
    ----------
    bounds : tuple of float
        The interval [a, b] that the bisection starts from.
    rounds : int
        The number of bits.
    resolution : float
        The distance beyond the midpoint at which the upper half begins (Δ in P-COQS, Algorithm 1).
    """

    bounds: tuple[float, float]
    rounds: int
    resolution: float = 0.0

    def __post_init__(self) -> None:
        _validate.bounds(self.bounds)
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.non_negative(resolution=self.resolution)

    @property
    def name(self) -> str:
        """Likelihood ratio of the bits."""
        return f"likelihood ratio of {self.rounds} bisection bits"

    def bits(self, releases: FloatArray) -> BoolArray:
        """Return the bits of releases of shape (size,), shape (rounds, size)."""
        found = bisected(
            releases, bounds=self.bounds, rounds=self.rounds, resolution=self.resolution
        )
        return np.stack(list(found))

    def ones(self, releases: FloatArray) -> FloatArray:
        """Return the number of ones among the bits, a feature for ``CellLikelihood``."""
        counts: FloatArray = self.bits(releases).sum(axis=0, dtype=np.float64)
        return counts

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:
        """Return the sum over bits of log p̂_in/p̂_out, with half an observation added."""
        p, q = ((self.bits(x).sum(axis=1) + 0.5) / (x.size + 1) for x in (member, other))
        if_one, if_zero = np.log(p / q), np.log((1 - p) / (1 - q))
        weights, offset = if_one - if_zero, float(if_zero.sum())

        def score(releases: FloatArray) -> FloatArray:
            values: FloatArray = weights @ self.bits(releases) + offset
            return values

        return score


def pcoqs_threshold(
    mechanism: PCOQS, *, n: int, claim: PrivacyGuarantee | None = None, n_samples: int = 40_000
) -> MembershipInference:
    """Attack P-COQS's threshold on its worst pair of n scores, by value and by bits.

    ``claim`` is the guarantee that the attack is compared with, the mechanism's own unless given.
    """
    scores, neighbour_scores = mechanism.worst_pair(n)
    bits = BisectionBits(
        bounds=mechanism.bounds, rounds=mechanism.rounds, resolution=mechanism.resolution
    )
    return MembershipInference(
        sample=mechanism.sample,
        guarantee=claim or mechanism.guarantee,
        neighbours=_substituted(scores, neighbour_scores),
        attacks=(CellLikelihood(), CellLikelihood(feature=bits.ones), bits),
        exact=partial(_laws, mechanism, scores, neighbour_scores),
        n_samples=n_samples,
        witness={"n": n, "alpha": mechanism.alpha, "rho": mechanism.rho}
        | {"resolution": mechanism.resolution},
    )


def exponq_threshold(mechanism: ExponQ, *, n: int, n_samples: int = 40_000) -> MembershipInference:
    """Attack ExponQ's threshold on the pair of n scores with the largest log-ratio.

    That pair need not have the largest advantage; ``exact`` says what there is to find.
    """
    worst = worst_log_ratio(mechanism, n)
    return MembershipInference(
        sample=mechanism.sample,
        guarantee=mechanism.guarantee,
        neighbours=_substituted(worst.scores, worst.neighbour_scores),
        exact=partial(_laws, mechanism, worst.scores, worst.neighbour_scores),
        n_samples=n_samples,
        witness={
            "n": n,
            "alpha": mechanism.alpha,
            "epsilon": mechanism.epsilon,
            "n_candidates": mechanism.n_candidates,
            "gamma": mechanism.gamma,
            "normaliser": str(mechanism.normaliser),
        },
    )


def histlap_threshold(
    mechanism: HistLap, *, n: int, n_samples: int = 40_000
) -> MembershipInference:
    """Attack HistLap's threshold: the balanced pair of P-COQS, which moves the target rank."""
    scores, neighbour_scores = balanced_pair(n, alpha=mechanism.alpha, bounds=mechanism.bounds)
    return MembershipInference(
        sample=mechanism.sample,
        guarantee=mechanism.guarantee,
        neighbours=_substituted(scores, neighbour_scores),
        n_samples=n_samples,
        witness={
            "n": n,
            "alpha": mechanism.alpha,
            "epsilon": mechanism.epsilon,
            "n_bins": mechanism.n_bins,
            "noise": str(mechanism.noise),
        },
    )


def conformal_threshold(
    mechanism: SplitConformal, *, n: int, claim: PrivacyGuarantee, n_samples: int = 40_000
) -> MembershipInference:
    """Attack the threshold without privacy: the positive control of the attacks."""
    scores, neighbour_scores = balanced_pair(n, alpha=mechanism.alpha)
    return MembershipInference(
        sample=partial(_without_noise, mechanism),
        guarantee=claim,
        neighbours=_substituted(scores, neighbour_scores),
        n_samples=n_samples,
        witness={"n": n, "alpha": mechanism.alpha},
    )


def through_sets(game: MembershipInference, query_scores: Sequence[float]) -> MembershipInference:
    """Return the game of an attacker who sees prediction sets of fixed queries only.

    The exact laws remain those of the threshold: what any queries may at most reveal.
    """
    _validate.scores(query_scores, name="query_scores")
    witness: PlainData = {"query_scores": list(map(float, query_scores))}
    return replace(
        game,
        sample=partial(labels_in_sets, game.sample, query_scores),
        attacks=(CellLikelihood(cells=max(2, len(query_scores) + 1)),),
        witness=game.witness | witness,
    )


def label_report(mechanism: LDPCPLabels, *, n_samples: int = 40_000) -> MembershipInference:
    """Attack the target's report of LDP-CP-L: label 0 against label 1."""
    return MembershipInference(
        sample=partial(_reported, mechanism.response),
        guarantee=mechanism.guarantee,
        neighbours=Neighbours(relation=Relation.ONE_LABEL, value=0, neighbour=1),
        exact=partial(_report_laws, mechanism.response, 0, 1),
        n_samples=n_samples,
        witness={"epsilon": mechanism.epsilon, "k": mechanism.k},
    )


def score_answer(mechanism: LDPCPScores, *, n_samples: int = 40_000) -> MembershipInference:
    """Attack the target's answer of LDP-CP-S: a score below 1/2 against one above."""
    return MembershipInference(
        sample=partial(_answered, mechanism),
        guarantee=mechanism.guarantee,
        neighbours=Neighbours(relation=Relation.SUBSTITUTION, value=0.25, neighbour=0.75),
        exact=partial(_report_laws, mechanism.response, 1, 0),
        n_samples=n_samples,
        witness={"epsilon": mechanism.epsilon, "point": _ASKED},
    )


def balanced_pair(
    n: int, *, alpha: float, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[FloatArray, FloatArray]:
    """Return n scores whose rank-r one is at one bound, and a neighbour's at the other.

    r = ⌈(1−α)(n+1)⌉ scores at a and the rest at b, against one score fewer at a.
    """
    rank, (low, high) = conformal_rank(n, alpha=alpha), _validate.bounds(bounds)
    if rank > n:
        raise ValueError(f"n must be at least 1/alpha - 1 at alpha = {alpha!r}, got {n}")
    places = np.arange(n)
    return np.where(places < rank, low, high), np.where(places < rank - 1, low, high)


def _substituted(scores: FloatArray, neighbour_scores: FloatArray) -> Neighbours[FloatArray]:
    return Neighbours(relation=Relation.SUBSTITUTION, value=scores, neighbour=neighbour_scores)


def _laws(
    mechanism: PCOQS | ExponQ, scores: FloatArray, neighbour_scores: FloatArray
) -> FinitePair:
    return FinitePair(*mechanism.laws(scores, neighbour_scores))


def _without_noise(
    mechanism: SplitConformal,
    value: ArrayLike,
    size: int,
    /,
    *,
    rng: np.random.Generator,  # noqa: ARG001  (no noise to draw)
) -> FloatArray:
    return np.full(size, mechanism.threshold(value))


def labels_in_sets(
    sample: Sampler,
    query_scores: Sequence[float],
    value: Any,
    size: int,
    /,
    *,
    rng: np.random.Generator,
) -> FloatArray:
    """Return how many labels of known score lie at or below each threshold, shape (size,).

    A label of score s is in its set if s <= q: what sets of these queries show is this count.
    """
    thresholds = np.asarray(sample(value, size, rng=rng), dtype=np.float64)
    found = np.searchsorted(np.sort(np.asarray(query_scores)), thresholds, side="right")
    return found.astype(np.float64)


def _reported(
    response: KaryRandomizedResponse | BinaryRandomizedResponse,
    value: int,
    size: int,
    /,
    *,
    rng: np.random.Generator,
) -> ArrayLike:
    return response.sample(np.full(size, value), rng=rng)


def _answered(
    mechanism: LDPCPScores, value: float, size: int, /, *, rng: np.random.Generator
) -> ArrayLike:
    return _reported(mechanism.response, value < _ASKED, size, rng=rng)


def _report_laws(
    response: KaryRandomizedResponse | BinaryRandomizedResponse, value: int, neighbour: int
) -> FinitePair:
    laws = response.laws()
    return FinitePair(laws[value], laws[neighbour])
