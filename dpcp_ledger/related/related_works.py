"""The functions that decide the claims of ``claims.toml``, one each, and the suite of that file.

Of these works the abstract was read, or what the file names; none of their code is here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

import numpy as np
from flint import fmpz_poly
from scipy.special import gammaln

from dpcp_audit.extensions.audits import exact_outcome
from dpcp_audit.extensions.claims import (
    ApproxDP,
    Computation,
    Computed,
    ProofMethod,
    PureDP,
    Quantity,
)
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair, guarantee_pair, hps
from dpcp_audit.extensions.statistics import at_most, ball, exact
from dpcp_audit.extensions.targets import suite_of_file
from dpcp_ledger.mechanisms.label_scores import prediction_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb

    from dpcp_audit.extensions.claims import Check

_OPTIMAL = (
    "Every ε-DP release is post-processing of randomised response with the same ε, and every "
    "(ε, δ)-DP one of that with a mass δ that reveals everything (Kairouz, Oh and Viswanath 2015); "
    "the releases may be chosen in view of earlier ones. So the composed pair dominates all "
    "neighbours."
)


def answer(value: int, *, rng: np.random.Generator, epsilon: float) -> int:
    """Return an inquiry's answer, 0 or 1: the truth with probability e^ε/(1 + e^ε)."""
    return value if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - value


def releases_of_one_record(releases: int, epsilon: float, claimed: float) -> Check:
    """Return the check of ε over so many ε-DP releases, each of which reads one record."""
    return Computed(partial(_composed, releases, epsilon, claimed))


def _composed(releases: int, epsilon: float, claimed: float) -> Computation:
    true = np.arange(releases + 1)
    log_ways = (
        gammaln(releases + 1.0) - gammaln(true + 1.0) - gammaln(releases - true + 1.0)
    )  # of answers with so many true ones
    kept, lied = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    log_mass = log_ways + true * kept + (releases - true) * lied
    pair = FinitePair(FiniteLaw(log_mass, log_ways), FiniteLaw(log_mass[::-1], log_ways))
    return exact_outcome(
        PureDP(claimed),
        [pair],
        witness={"releases": releases, "epsilon": epsilon},
        note="All answers of randomised response, counted by how many of them are true.",
    ).between(
        at_most("t ε is at most the claimed", releases * exact(epsilon), claimed),
        method=ProofMethod.ARGUMENT,
        argument=f"{_OPTIMAL} Its largest log-ratio is t ε.",
        parameters={"releases": releases, "epsilon": epsilon},
    )


def training_and_threshold(training: float, delta: float, threshold: float) -> Check:
    """Return the check of (ε₁ + ε₂, δ)-DP, of a training and a threshold on the same records."""
    return Computed(partial(_trained, training, delta, threshold))


def _trained(training: float, delta: float, threshold: float) -> Computation:
    steps = (guarantee_pair(ApproxDP(training, delta)), guarantee_pair(PureDP(threshold)))
    laws = (
        FiniteLaw.from_mass(np.exp(np.add.outer(first.log_mass, second.log_mass)).ravel())
        for first, second in (
            (steps[0].law, steps[1].law),
            (steps[0].neighbour_law, steps[1].neighbour_law),
        )
    )
    return exact_outcome(
        ApproxDP(training + threshold, delta),
        [FinitePair(*laws)],
        witness={"training": training, "delta": delta, "threshold": threshold},
    ).between(
        at_most("the mass that reveals everything is at most δ", delta, delta),
        method=ProofMethod.ARGUMENT,
        argument=f"{_OPTIMAL} All else has a ratio of at most e^(ε₁ + ε₂).",
        parameters={"training": training, "delta": delta, "threshold": threshold},
    )


def new_record(level: float, epsilon: float, records: int, labels: int) -> Check:
    """Return the check that sets that are ε-DP may cover a new record less often than their own.

    Labels are even. Each label enters the set on its own: with probability 1−α one that a record
    has, and with probability 1 − e^(ε/2) α any other.
    """
    return Computed(partial(_new_record, level, epsilon, records, labels))


def _new_record(level: float, epsilon: float, records: int, labels: int) -> Computation:
    own, met = _printed(level), Fraction(records, labels)
    covered = _others_covered(level, epsilon)
    return Computation(
        quantity=Quantity.DIFFERENCE,
        value=float(covered() + ball(met - own)),
        claimed=0.0,
        detail="coverage of a new record − (1−α), at most",
        witness={"records": records, "labels": labels, "level": level, "epsilon": epsilon},
        note=f"The sets cover a new label with probability {float(covered()):.4g}.",
    ).between(
        at_most("a new record's coverage is below 1−α", lambda: covered() + ball(met - own), 0.0),
        at_most("a label enters the more often by at most e^(ε/2)", own, _grown(covered, epsilon)),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "To replace a record changes for at most two labels whether a record has it, and for "
            "each the probability that it enters, or stays out, by a factor of at most e^(ε/2). A "
            "new record's label is one that a record has with probability at most n/k."
        ),
        parameters={"level": level, "epsilon": epsilon, "records": records, "labels": labels},
    )


def _others_covered(level: float, epsilon: float) -> Callable[[], arb]:
    return lambda: 1 - (ball(epsilon) / 2).exp() * ball(1 - _printed(level))


def _grown(probability: Callable[[], arb], epsilon: float) -> Callable[[], arb]:
    return lambda: probability() * (ball(epsilon) / 2).exp()


def _printed(number: float) -> Fraction:
    """Return the decimal number that a double was read from."""
    return Fraction(repr(number))


def coverage_floor(level: float, epsilon: float) -> Check:
    """Return the check that no ε-DP sets cover a new record less often than the floor.

    The sets of ``new_record`` show how close to it one may come.
    """
    return Computed(partial(_floor, level, epsilon))


def _floor(level: float, epsilon: float) -> Computation:
    own, covered = _printed(level), _others_covered(level, epsilon)

    def above() -> arb:
        grown = ball(epsilon).exp()
        return (ball(own) / grown).max(1 - grown * ball(1 - own)) - covered()

    return Computation(
        quantity=Quantity.DIFFERENCE,
        value=float(above()),
        claimed=0.0,
        detail="the floor − the least coverage of a new record that was found",
        witness={"level": level, "epsilon": epsilon},
    ).between(
        at_most("the floor is at most the coverage of the worst sets known", above, 0.0),
        method=ProofMethod.ARGUMENT,
        argument=(
            "Exchange the new record and one of the data: whether the new one is covered becomes "
            "whether one of the data is, by the release on neighbouring data. So the probability "
            "of the former is at least e^(−ε) times that of the latter, and that of its complement "
            "at most e^ε times: max(e^(−ε)(1−α), 1 − e^ε α)."
        ),
        parameters={"level": level, "epsilon": epsilon},
    )


def quantile_of_quantiles(agents: int, scores: int, alpha: float) -> Check:
    """Return the check that some ranks ℓ and k give the desired coverage in one round.

    Each agent sends its ℓ-th smallest score; the threshold is the k-th smallest of these.
    """
    return Computed(partial(_of_quantiles, agents, scores, alpha))


def _of_quantiles(agents: int, scores: int, alpha: float) -> Computation:
    asked = 1 - _printed(alpha)
    ranks = product(range(1, scores + 1), range(1, agents + 1))
    found = [(_covered(agents, scores, *each), each) for each in ranks]
    coverage, (local, among) = min(each for each in found if each[0] >= asked)
    return Computation(
        quantity=Quantity.DIFFERENCE,
        value=float(asked - coverage),
        claimed=0.0,
        detail="1−α − coverage",
        witness={"agents": agents, "scores": scores, "local_rank": local, "rank": among},
        note=f"ℓ = {local} and k = {among} cover {float(coverage):.4g} on average.",
    ).between(
        at_most("1−α is at most the coverage of these ranks", asked - coverage, 0.0),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "For scores of any continuous law the coverage is the mean of the k-th smallest of m "
            "ℓ-th order statistics of uniform scores, an integral of a polynomial with whole "
            "coefficients, computed without rounding. Scores with ties are covered more often."
        ),
        parameters={"agents": agents, "scores": scores, "alpha": alpha},
    )


def _covered(agents: int, scores: int, local: int, among: int) -> Fraction:
    """Return ∫ P(threshold > t) dt over [0, 1], of uniform scores."""
    below = _at_least(local, scores, fmpz_poly([0, 1]), fmpz_poly([1, -1]))
    fewer = fmpz_poly([1]) - _at_least(among, agents, below, fmpz_poly([1]) - below)
    terms = (Fraction(int(c), power + 1) for power, c in enumerate(fewer.coeffs()))
    return sum(terms, Fraction(0))


def _at_least(least: int, trials: int, hit: fmpz_poly, miss: fmpz_poly) -> fmpz_poly:
    """Return the probability of at least so many hits, as a polynomial."""
    ways = (math.comb(trials, n) * hit**n * miss ** (trials - n) for n in range(least, trials + 1))
    return sum(ways, fmpz_poly([0]))


def sets_against_confidence(
    member: Sequence[float], other: Sequence[float], threshold: float
) -> Check:
    """Return the check that a decision set tells no more than the confidence of the true label.

    Parameters
    ----------
    member, other : sequence of float
        The probabilities of a record's labels, the true one's first, by a model that was trained
        on the record, and by one that was not.
    threshold : float
        The sets hold the labels whose score 1 − p is at most this.
    """
    return Computed(partial(_told_by_sets, tuple(member), tuple(other), threshold))


def _told_by_sets(
    member: tuple[float, ...], other: tuple[float, ...], threshold: float
) -> Computation:
    sets = prediction_sets(hps([member, other]), threshold)
    return Computation(
        quantity=Quantity.ADVANTAGE,
        value=float(bool((sets[0] != sets[1]).any())),
        claimed=float(member[0] != other[0]),
        error=0.0,
        detail="through the set, against that through the true label's confidence",
        witness={"member": list(member), "other": list(other), "threshold": threshold},
        note="The true label has one confidence in both; another label enters the set.",
    )


def integer_search(largest: int, size: int) -> Check:
    """Return the check that a noiseless search over 0, …, u−1 ends at the r-th smallest integer.

    Every data set of up to ``size`` integers below ``largest``, and every rank r, is tried.
    """
    return Computed(partial(_integers, largest, size))


def _integers(largest: int, size: int) -> Computation:
    cases = [
        (data, rank)
        for n in range(1, size + 1)
        for data in combinations_with_replacement(range(largest), n)
        for rank in range(n)
    ]
    missed = [case for case in cases if _searched(*case, largest) != case[0][case[1]]]
    return Computation.counted(
        len(missed),
        detail=f"of {len(cases)} data sets and ranks, those where the search ends elsewhere",
        witness={"first": [list(missed[0][0]), missed[0][1]] if missed else []},
    ).between(
        at_most("the number of cases where it ends elsewhere is 0", len(missed), 0),
        method=ProofMethod.ENUMERATION,
        argument="Every data set within these limits, and every rank, was searched.",
        parameters={"largest": largest, "size": size},
    )


def _searched(data: tuple[int, ...], rank: int, largest: int) -> int:
    left, right = 0, largest - 1
    while left < right:
        middle = (left + right) // 2
        if sum(each <= middle for each in data) <= rank:
            left = middle + 1
        else:
            right = middle
    return left


SUITE = suite_of_file(__name__, summary="What neighbouring works claim, from their abstracts.")
