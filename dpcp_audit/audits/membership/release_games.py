"""Membership games on DP-CP releases: what the attacker sees, and worst-case targets.

Each function sets up one game of substitution: a central threshold, the same threshold seen
through prediction sets only, a user's label report (LDP-CP-L) or answer (LDP-CP-S).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.membership.release_membership import MembershipInference
from dpcp_audit.audits.membership.score_attacks import BisectionBits, CellLikelihood
from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.conformal import conformal_rank
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import Neighbours, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.audits.search.pair_space import Sampler
    from dpcp_audit.mechanisms.conformal import SplitConformal
    from dpcp_audit.mechanisms.exponq.exponential_quantile import ExponQ
    from dpcp_audit.mechanisms.histlap import HistLap
    from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels
    from dpcp_audit.mechanisms.ldpcp.score_calibration import LDPCPScores
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData


@dataclass(frozen=True, slots=True)
class ConformalRelease:
    """Releases split conformal's threshold as it is: the same one every time."""

    mechanism: SplitConformal

    def __call__(self, value: ArrayLike, size: int, /, *, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002  (no noise to draw)
        """Return the threshold of the scores, shape (size,)."""
        return np.full(size, self.mechanism.threshold(value))


@dataclass(frozen=True, slots=True)
class ThroughSets:
    """The view of prediction sets: which labels of known score lie below the threshold q.

    A label of score s is in its set if s <= q, so that queries with scores s_1, ..., s_m show
    how many of these are at or below q, and nothing else.

    Parameters
    ----------
    sample : Sampler
        Releases thresholds.
    query_scores : sequence of float, shape (m,)
        Scores of the queried labels, fixed beforehand.
    """

    sample: Sampler
    query_scores: Sequence[float]

    def __post_init__(self) -> None:
        _validate.scores(self.query_scores, name="query_scores")

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return how many queried labels are in their sets, shape (size,)."""
        thresholds = np.asarray(self.sample(value, size, rng=rng), dtype=np.float64)
        found = np.searchsorted(np.sort(np.asarray(self.query_scores)), thresholds, side="right")
        return found.astype(np.float64)


@dataclass(frozen=True, slots=True)
class LabelReport:
    """The label that the target of LDP-CP-L reports (Algorithm 1); others' do not depend on it."""

    mechanism: LDPCPLabels

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return ``size`` reports of one true label."""
        return self.mechanism.response.sample(np.full(size, value), rng=rng)

    def pair(self, label: int, neighbour_label: int) -> FinitePair:
        """Return the exact laws of the report on two labels."""
        laws = self.mechanism.response.laws()
        return FinitePair(laws[label], laws[neighbour_label])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAnswer:
    """The answers of LDP-CP-S's target when asked whether its score lies below a point.

    A user of the first block is asked about 1/2, whatever the others answer (Algorithm 3).
    """

    mechanism: LDPCPScores
    point: float = 0.5

    def __call__(self, value: float, size: int, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return ``size`` answers of one score."""
        return self.mechanism.response.sample(np.full(size, value < self.point), rng=rng)

    def pair(self, score: float, neighbour_score: float) -> FinitePair:
        """Return the exact laws of the answer on two scores."""
        laws = self.mechanism.response.laws()
        return FinitePair(laws[score < self.point], laws[neighbour_score < self.point])


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
    worst = mechanism.worst_log_ratio(n)
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
        sample=ConformalRelease(mechanism),
        guarantee=claim,
        neighbours=_substituted(scores, neighbour_scores),
        n_samples=n_samples,
        witness={"n": n, "alpha": mechanism.alpha},
    )


def through_sets(game: MembershipInference, query_scores: Sequence[float]) -> MembershipInference:
    """Return the game of an attacker who sees prediction sets of fixed queries only.

    The exact laws remain those of the threshold: what any queries may at most reveal.
    """
    witness: PlainData = {"query_scores": list(map(float, query_scores))}
    return replace(
        game,
        sample=ThroughSets(game.sample, query_scores),
        attacks=(CellLikelihood(cells=max(2, len(query_scores) + 1)),),
        witness=game.witness | witness,
    )


def label_report(mechanism: LDPCPLabels, *, n_samples: int = 40_000) -> MembershipInference:
    """Attack the target's report of LDP-CP-L: label 0 against label 1."""
    report = LabelReport(mechanism)
    return MembershipInference(
        sample=report,
        guarantee=mechanism.guarantee,
        neighbours=Neighbours(relation=Relation.ONE_LABEL, value=0, neighbour=1),
        exact=partial(report.pair, 0, 1),
        n_samples=n_samples,
        witness={"epsilon": mechanism.epsilon, "k": mechanism.k},
    )


def score_answer(mechanism: LDPCPScores, *, n_samples: int = 40_000) -> MembershipInference:
    """Attack the target's answer of LDP-CP-S: a score below 1/2 against one above."""
    answer = ScoreAnswer(mechanism=mechanism)
    return MembershipInference(
        sample=answer,
        guarantee=mechanism.guarantee,
        neighbours=Neighbours(relation=Relation.SUBSTITUTION, value=0.25, neighbour=0.75),
        exact=partial(answer.pair, 0.25, 0.75),
        n_samples=n_samples,
        witness={"epsilon": mechanism.epsilon, "point": answer.point},
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
