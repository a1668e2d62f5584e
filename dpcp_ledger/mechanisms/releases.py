"""Proofs of what the reference mechanisms lose, from their parameters alone.

A mechanism is its noise as the code uses it, doubles taken as exact numbers; draws are ideal. The
neighbours that an exponential-mechanism quantile distinguishes best are searched, and identities of
polynomials are proved by their values at a grid of points.

Membership games on DP-CP releases: what the attacker sees, and worst-case targets.

Each function sets up one game of substitution: a central threshold, the same threshold seen
through prediction sets only, a user's label report (LDP-CP-L) or answer (LDP-CP-S).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.extensions.audits import CellLikelihood, MembershipInference, bisected
from dpcp_audit.extensions.claims import (
    Computation,
    Neighbours,
    Proof,
    ProofMethod,
    Quantity,
    Relation,
)
from dpcp_audit.extensions.laws import FinitePair
from dpcp_audit.extensions.mechanisms import PCOQS, Normaliser
from dpcp_audit.extensions.statistics import all_at_most, at_most, ball, exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from dpcp_audit.extensions.claims import BoolArray, FloatArray, IntArray, LocalDP, PlainData
    from dpcp_audit.extensions.mechanisms import ExponQ, KaryRandomizedResponse

    Logits = Callable[[FloatArray, FloatArray, BoolArray], FloatArray]
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.audits import Sampler
    from dpcp_audit.extensions.claims import BoolArray, FloatArray, PrivacyGuarantee
    from dpcp_audit.extensions.mechanisms import (
        BinaryRandomizedResponse,
        LDPCPLabels,
        LDPCPScores,
    )
    from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal


Point = tuple[int, ...]
Polynomial = Callable[[Point], int]
"""A polynomial with whole coefficients, of degree 2 at most in each of its variables."""
_POINTS = (-1, 0, 1)
"""A polynomial of degree 2 that is 0 at three points is 0."""


def largest_difference(left: Polynomial, right: Polynomial, *, variables: int) -> int:
    """Return the largest |left − right| over a grid that proves them equal if it is 0.

    Both are of degree 2 at most in each of the variables.

    Examples
    --------
    >>> largest_difference(lambda at: sum(at) ** 2, lambda at: sum(x * x for x in at), variables=2)
    2
    """
    return max(abs(left(at) - right(at)) for at in product(_POINTS, repeat=variables))


def identity(gap: int, says: str, argument: str) -> Computation:
    """Return the computation that two polynomials are equal, from their largest difference."""
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail=f"largest |{says}|",
        value=float(gap),
        claimed=0.0,
        error=0.0,
        witness={"points": list(_POINTS)},
    )
    return found.between(
        at_most(f"|{says}| ≤ 0", gap, 0),
        method=ProofMethod.CLOSED_FORM,
        argument=argument,
        parameters={},
    )


def response_proof(response: KaryRandomizedResponse, guarantee: LocalDP) -> Proof:
    """Return the proof that a response is ε′-LDP, from the probability that it moves a label with.

    Examples
    --------
    >>> from dpcp_audit.extensions.claims import LocalDP
    >>> from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse
    >>> response = KaryRandomizedResponse(2.0, 10)
    >>> response_proof(response, LocalDP(2.0)).holds, response_proof(response, LocalDP(1.99)).holds
    (True, False)
    """
    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "A report is the label itself with probability 1−m, and each other label with "
            "probability m/(k−1), m the double that is drawn with: these are the only ratios of "
            "probabilities that a report has."
        ),
        premises=(
            at_most(
                "|log((k−1)(1−m)/m)| ≤ ε",
                partial(response_loss, response.move_probability, response.k),
                guarantee.epsilon,
            ),
        ),
        parameters={"epsilon": response.epsilon, "k": response.k},
    )


def response_loss(move_probability: float, k: int) -> arb:
    """Return the largest log-ratio of a k-ary report's probabilities on two labels."""
    move = exact(move_probability)
    return abs(ball((k - 1) * (1 - move) / move).log())


def search_proof(rho: float, *, rounds: int, noise_scale: float, parameters: PlainData) -> Proof:
    """Return the proof that ``rounds`` comparisons with noise N(0, σ²) are ρ-zCDP.

    Whatever the number of scores, the scores and the order α. σ is the double that is used.

    Examples
    --------
    >>> search_proof(0.5, rounds=16, noise_scale=4.0, parameters={}).holds
    True
    >>> search_proof(0.5, rounds=16, noise_scale=3.9999999999999996, parameters={}).holds
    False
    """
    spent = rounds / (2 * exact(noise_scale) ** 2)
    return Proof(
        method=ProofMethod.ARGUMENT,
        argument=(
            "Given the bits so far, the next is post-processing of a count that a substitution "
            "changes by at most 1, with noise N(0, σ²): D_α ≤ α/(2σ²) at every order α > 1, and "
            "the N rounds add up to at most αN/(2σ²)."
        ),
        premises=(at_most("N/(2σ²) ≤ ρ", spent, rho),),
        parameters=parameters,
    )


def exponq_case(mechanism: ExponQ, n: int | list[int]) -> PlainData:
    """Return the mechanism on n scores, as plain data."""
    return {
        "n": n,
        "alpha": mechanism.alpha,
        "epsilon": mechanism.epsilon,
        "n_candidates": mechanism.n_candidates,
        "gamma": mechanism.gamma,
        "normaliser": str(mechanism.normaliser),
    }


def exponq_proof(mechanism: ExponQ, sizes: Sequence[int]) -> Proof | None:
    """Return the proof that the mechanism is ε-DP on n scores, for each n of ``sizes``.

    None for the published normaliser, of which it is false.
    """
    if mechanism.normaliser is not Normaliser.CORRECTED:
        return None
    bounds = [partial(_largest_ratio, mechanism, n) for n in sizes]
    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "A substitution changes each edge's utility by an amount in an interval of length "
            "1/q̃ + 1/(1−q̃), and so does it their weighted mean. With the normaliser "
            "min(q̃, 1−q̃) every log-ratio is at most ε/(2·max(q̃, 1−q̃))."
        ),
        premises=(all_at_most("ε/(2·max(q̃, 1−q̃)) ≤ ε", bounds, mechanism.epsilon),),
        parameters=exponq_case(mechanism, sizes[0] if len(sizes) == 1 else list(sizes))
        | {"relation": str(Relation.SUBSTITUTION)},
    )


def _largest_ratio(mechanism: ExponQ, n: int) -> arb:
    target = _target(mechanism, n)
    return ball(mechanism.epsilon) / (2 * target.max(1 - target))


def _target(mechanism: ExponQ, n: int) -> arb:
    """Return q̃ = (n+1)(1−α)/(n(1−γα)) + (2/(εn))·log(m/(γα))."""
    alpha, gamma = exact(mechanism.alpha), exact(mechanism.gamma)
    level = (n + 1) * (1 - alpha) / (n * (1 - gamma * alpha))
    error = ball(mechanism.n_candidates / (gamma * alpha)).log()
    return ball(level) + ball(2 / (exact(mechanism.epsilon) * n)) * error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _WorstPair:
    """Two score arrays that differ in one score, and the release that distinguishes them.

    Parameters
    ----------
    log_ratio : float
        log(probability/neighbour_probability) of releasing ``released``.
    scores, neighbour_scores : ndarray, shape (n,)
        The neighbours.
    probability, neighbour_probability : float
        The release's probability on either input; the second may underflow to 0.
    """

    log_ratio: float
    scores: FloatArray
    neighbour_scores: FloatArray
    released: float
    probability: float
    neighbour_probability: float


class _Family(NamedTuple):
    """Candidates in groups of equal weight: a representative of each and its size."""

    position: IntArray
    group: IntArray
    log_size: FloatArray
    top: BoolArray


class _Case(NamedTuple):
    """The case at which the log-ratio is largest."""

    log_ratio: float
    log_probability: float
    bins: tuple[int, int]
    n_first: int
    moved: tuple[int, int]
    group: int


def worst_log_ratio(mechanism: ExponQ, n: int) -> _WorstPair:
    """Return the neighbours on n scores with the largest log-ratio, over a rich family.

    Each array holds c scores in one bin, n−1−c in another, and one score that moves between
    any two of the first, second, middle, last but one and last bins; every c and every
    released edge is tried. Compare with ``ExponQ.log_ratio_bound``, which covers all neighbours.
    Among log-ratios within 0.1 % of the largest, the most probable release is taken.
    """
    if mechanism.n_candidates == 2:
        raise ValueError("n_candidates must be >= 3 for the release to depend on the scores, got 2")
    if mechanism.normalisation(n) == 0:
        raise ValueError(
            f"n must give a target below 1, where the release depends on the scores, got {n} "
            f"(target {mechanism.target(n):.6g})"
        )
    edges, logits = mechanism.edges, partial(mechanism.log_weights, n)
    family = _family(edges.size)
    cases = [
        case
        for bins in combinations(family.position, 2)
        for move in combinations(family.position, 2)
        for case in _cases(family, n, bins, move, logits)
    ]
    largest = max(case.log_ratio for case in cases)
    best = max(
        (case for case in cases if case.log_ratio >= 0.999 * largest),
        key=lambda case: case.log_probability,
    )
    middle = (edges[1:] + edges[:-1]) / 2
    first, second = (float(middle[i - 1]) for i in best.bins)
    others = np.where(np.arange(n - 1) < best.n_first, first, second)
    return _WorstPair(
        log_ratio=best.log_ratio,
        scores=np.append(others, middle[best.moved[0] - 1]),
        neighbour_scores=np.append(others, middle[best.moved[1] - 1]),
        released=float(edges[best.group]),
        probability=float(np.exp(best.log_probability)),
        neighbour_probability=float(np.exp(best.log_probability - best.log_ratio)),
    )


def _family(m: int) -> _Family:
    """Return the edges that scores round up to, and the groups that they cut the edges into."""
    position = np.unique(np.clip([1, 2, m // 2, m - 2, m - 1], 1, m - 1))
    starts = np.unique(np.concatenate([[0], position, position + 1]))
    starts = starts[starts < m]
    size = np.diff(starts, append=m)
    return _Family(position, starts, np.log(size), starts == m - 1)


def _cases(
    family: _Family, n: int, bins: tuple[int, int], move: tuple[int, int], logits: Logits
) -> list[_Case]:
    """Return the worst case in either direction of one move, over all counts and releases."""
    count = np.arange(n)[:, None]
    low, high = (_sides(family.group, at) for at in bins)
    log_mass: list[FloatArray] = []
    for at in move:
        mover = _sides(family.group, at)
        below, above = (
            count * low[side] + (n - 1 - count) * high[side] + mover[side] for side in (0, 1)
        )
        weight = logits(below.astype(np.float64), above.astype(np.float64), family.top)
        log_mass.append(weight - logsumexp(weight + family.log_size, axis=1, keepdims=True))
    return [
        _worst_case(log_mass[i], log_mass[1 - i], family, bins, (move[i], move[1 - i]))
        for i in (0, 1)
    ]


def _sides(group: IntArray, at: int) -> tuple[IntArray, IntArray]:
    """Return 1 for each group that a score at edge ``at`` lies strictly below, and above."""
    return (at < group).astype(np.int64), (at > group).astype(np.int64)


def _worst_case(
    first: FloatArray,
    second: FloatArray,
    family: _Family,
    bins: tuple[int, int],
    moved: tuple[int, int],
) -> _Case:
    ratio = first - second
    near = ratio >= 0.999 * ratio.max()
    count, group = np.unravel_index(np.argmax(np.where(near, first, -np.inf)), ratio.shape)
    return _Case(
        float(ratio[count, group]),
        float(first[count, group]),
        (int(bins[0]), int(bins[1])),
        int(count),
        (int(moved[0]), int(moved[1])),
        int(family.group[group]),
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
        witness=exponq_case(mechanism, n),
    )


def histlap_threshold(
    mechanism: HistLap, *, n: int, n_samples: int = 40_000
) -> MembershipInference:
    """Attack HistLap's threshold: the balanced pair of P-COQS, which moves the target rank."""
    search = PCOQS(alpha=mechanism.alpha, rho=1.0, bounds=mechanism.bounds)
    scores, neighbour_scores = search.worst_pair(n)
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
    scores, neighbour_scores = PCOQS(alpha=mechanism.alpha, rho=1.0).worst_pair(n)
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
    """Return the number of labels with a score at or below each threshold, shape (size,).

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
