"""Algorithm 1 of P-COQS, line for line and in exact numbers: what it does, and how it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity, Standing, Verdict
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.statistics import all_at_most, at_most
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from collections.abc import Sequence


paper = Paper(title="P-COQS", subject="P-COQS, Algorithm 1")
_DEFAULT, _DELTA = PCOQS(alpha=0.1, rho=0.5), 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class _SearchCount:
    """The behaviour of Algorithm 1, as printed, on some scores.

    Parameters
    ----------
    rounds, comparisons : int
        Calls of NoisyRC, and scores that they compare with a midpoint.
    left, right : Fraction
        The interval at the end, exactly.
    """

    rounds: int
    comparisons: int
    left: Fraction
    right: Fraction

    @property
    def result(self) -> Fraction:
        """The released threshold."""
        return (self.left + self.right) / 2


def printed_search(
    scores: Sequence[Fraction], *, rank: float, resolution: Fraction
) -> _SearchCount:
    """Run Algorithm 1 on [0, 1] without noise, as printed, and count what it does."""
    left, right, comparisons = Fraction(0), Fraction(1), 0
    rounds = math.ceil(math.log2(1 / resolution))
    for _ in range(rounds):
        mid = (left + right) / 2
        count = 0
        for score in scores:
            comparisons += 1
            count += score <= mid
        if count < rank:
            left = mid + resolution
        else:
            right = mid
    return _SearchCount(rounds=rounds, comparisons=comparisons, left=left, right=right)


@paper.claim(
    "pcoqs.proposition-2",
    "Proposition 2",
    Verdict.PROVED,
    "Algorithm 1 takes O(n·log((b−a)/Δ)) time: n comparisons in each of at most log2((b−a)/Δ) + 1 "
    "rounds, with a fixed number of variables.",
    "O(n·log((b−a)/Δ)) time, O(1) memory",
    n=[10, 100, 1000],
    resolution=[1 / 32, 1e-3, 1e-10],
)
def search_time(n: Sequence[int], resolution: Sequence[float]) -> Computation:
    """Count Algorithm 1's comparisons over n·(log2(1/Δ) + 1) (Proposition 2)."""
    shares: list[Fraction] = []
    for size in n:
        scores = [Fraction(2 * i + 1, 2 * size) for i in range(size)]
        for least in resolution:
            done = printed_search(scores, rank=0.9 * size, resolution=Fraction(least))
            most = size * (Fraction(math.log2(1 / least)) + 1)
            shares.append(Fraction(done.comparisons) / most)
    found = Computation(
        quantity=Quantity.RATIO,
        detail="most comparisons over n·(log2((b−a)/Δ) + 1)",
        value=float(max(shares)),
        claimed=1.0,
        witness={"n": list(n), "resolution": list(resolution)},
        note=(
            "Counted, not timed. Beside the scores the search keeps left, right, mid, the count "
            "and two counters, whatever n and Δ are; on sorted scores it needs log2 n comparisons "
            "a round in place of n."
        ),
    )
    return found.between(
        all_at_most("comparisons over n·(log2(1/Δ)+1) ≤ 1", shares, 1),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Every one of the N = ⌈log2((b−a)/Δ)⌉ < log2((b−a)/Δ) + 1 rounds compares each score "
            "once; the algorithm was run and its comparisons counted in the given cases."
        ),
        parameters={"n": list(n), "resolution": list(resolution)},
    )


@paper.claim(
    "pcoqs.rounds[usual]",
    "After Proposition 2",
    Verdict.PROVED,
    "“The number of iterations is commonly around 30–40.”",
    "30 ≤ ⌈log2((b−a)/Δ)⌉ ≤ 40",
    parameters={"resolution": _DELTA, "bounds": [0.0, 1.0]},
    mechanism=_DEFAULT,
    most=40,
)
def usual_rounds(mechanism: PCOQS, *, most: int) -> Computation:
    """Compare N at the default Δ on [0, 1] with the 30 to 40 rounds that are usual."""
    rounds = mechanism.rounds
    found = Computation.counted(
        rounds,
        detail="rounds at the default resolution",
        claimed=most,
        witness={"resolution": mechanism.resolution, "bounds": list(mechanism.bounds)},
        note=f"On scores in [0, 1]; at Δ = 1/n for n = 2,400 it is {math.ceil(math.log2(2400))}.",
    )
    return found.between(
        at_most("N ≤ 40", rounds, most),
        at_most("30 ≤ N", 30, rounds),
        method=ProofMethod.CLOSED_FORM,
        argument="N = ⌈log2((b−a)/Δ)⌉.",
        parameters={"resolution": mechanism.resolution, "bounds": list(mechanism.bounds)},
    )


@paper.claim(
    "pcoqs.algorithm-1[ends=interval]",
    "Section 4 and the proof of Proposition 1",
    Verdict.PROVED,
    "“The algorithm stops with an interval of length at most Δ.”",
    "right − left ≤ Δ",
    resolution=_DELTA,
)
def final_interval(resolution: float) -> Computation:
    """Compute the longest interval that Algorithm 1 ends with, against Δ (before Equation 2)."""
    done = printed_search([], rank=0, resolution=Fraction(resolution))
    longest = done.right - done.left  # every answer was "right": nothing is added to left
    found = Computation(
        quantity=Quantity.RATIO,
        detail="longest final interval, in units of Δ",
        value=float(longest / Fraction(resolution)),
        claimed=1.0,
        witness={"resolution": resolution, "rounds": done.rounds},
    )
    return found.between(
        at_most("(b−a)/2^N ≤ Δ", longest / Fraction(resolution), 1),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "A round halves the interval, or halves it and takes Δ off: where every answer is "
            "“right” it is longest, (b−a)/2^N. Where answers are “left” it can become negative."
        ),
        parameters={"resolution": resolution},
    )


@paper.claim(
    "pcoqs.algorithm-1[ends=within]",
    "Algorithm 1",
    Verdict.REFUTED,
    "A search over [a, b] returns a threshold in [a, b].",
    "a ≤ q^DP ≤ b",
    standing=Standing.PRACTICE,
    resolution=_DELTA,
)
def beyond_the_end(resolution: float) -> Computation:
    """Compute how far above b Algorithm 1's result can lie, in units of Δ."""
    done = printed_search([], rank=math.inf, resolution=Fraction(resolution))
    return Computation(
        quantity=Quantity.VALUE,
        detail="(q − b)/Δ where every round answers “left”",
        value=float((done.result - 1) / Fraction(resolution)),
        claimed=0.0,
        witness={"resolution": resolution, "rounds": done.rounds, "result": float(done.result)},
        note=(
            f"left ← mid + Δ passes b by {float((done.left - 1) / Fraction(resolution)):.3g}·Δ in "
            f"the end, and the last interval is [left, b] with left > b. No score lies there, so "
            "that coverage is not hurt: but what is released is no number of [a, b]."
        ),
    )
