"""Algorithm 1 of P-COQS: its steps as printed, in exact numbers, and its noise bound τ*.

Proposition 1 and Remark 3 are computed at any β, and Remark 4, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from scipy.special import log_ndtr

from dpcp_audit.extensions.claims import (
    ROUNDING,
    Computation,
    Proof,
    ProofMethod,
    Quantity,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.statistics import all_at_most, at_most, ball, exact, normal_cdf
from dpcp_audit.extensions.theorems import NoiseBound, noise_rank_error
from dpcp_ledger.paper import REAL_NOISE, Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb, fmpq

    from dpcp_audit.extensions.claims import PlainData


steps = Paper(title="P-COQS", subject="P-COQS, Algorithm 1")
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_DELTA = 1e-10


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


@steps.claim(
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


@steps.claim(
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


@steps.claim(
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
    longest = done.right - done.left  # every count was at least r: nothing is added to left
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
            "A round halves the interval, or halves it and takes Δ off: where every count is at "
            "least r, so that right ← mid, it is longest, (b−a)/2^N. The length is signed: where "
            "counts are below r, so that left ← mid + Δ, right − left can become negative, and "
            "then there is no interval in which a count could vary."
        ),
        parameters={"resolution": resolution},
    )


@steps.claim(
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
        detail="(q − b)/Δ where every count is below r, so that left ← mid + Δ each time",
        value=float((done.result - 1) / Fraction(resolution)),
        claimed=0.0,
        witness={"resolution": resolution, "rounds": done.rounds, "result": float(done.result)},
        note=(
            f"left ← mid + Δ passes b by {float((done.left - 1) / Fraction(resolution)):.3g}·Δ in "
            f"the end, and the last interval is [left, b] with left > b. No score lies there, so "
            "that coverage is not hurt: but what is released is no number of [a, b]."
        ),
    )


paper = Paper(title="P-COQS", subject=Heading.SEARCH_RANK)


def noise_exceeds(mechanism: PCOQS, *, beta: float, bound: NoiseBound) -> Computation:
    """Compute P(some round's noise exceeds τ*), the event that Proposition 1's proof bounds by β.

    The rounds' noise is independent, so the probability is 1 − (1 − 2Φ(−τ*/σ))^N exactly, at
    any β however small; a rank error above τ* + M(Δ) needs this event where scores lie
    further apart than 3Δ/2.
    """
    tau = noise_rank_error(mechanism, beta=beta, bound=bound)
    log_tail = math.log(2) + float(log_ndtr(-tau / mechanism.noise_scale))
    probability = -math.expm1(mechanism.rounds * math.log1p(-math.exp(log_tail)))
    compared = at_most(
        "P(max |Wᵢ| > τ*) ≤ β",
        partial(_exceeds, mechanism.rounds, exact(tau) / exact(mechanism.noise_scale)),
        beta,
    )
    return Computation(
        quantity=Quantity.FAILURE,
        detail="P(max |Wᵢ| > τ*)",
        value=probability,
        lower=min(compared.left[0], probability * (1 - ROUNDING)),  # τ* is rounded
        upper=compared.left[1],
        claimed=beta,
        proof=Proof(
            method=ProofMethod.CLOSED_FORM,
            argument=(
                "The noise does not depend on the scores, and that of the N rounds is "
                "independent: P(max |Wᵢ| > τ*) = 1 − (1 − 2Φ(−τ*/σ))^N, with τ* and σ as used."
            ),
            premises=(compared,),
            parameters=_noise_case(mechanism, beta, bound),
        ),
        witness=_noise_case(mechanism, beta, bound) | {"rounds": mechanism.rounds, "tau": tau},
        note=f"τ* is {tau:.4g} ranks; the event is {beta / probability:.3g} times rarer than β.",
    )


def _noise_case(mechanism: PCOQS, beta: float, bound: NoiseBound) -> PlainData:
    return {
        "rho": mechanism.rho,
        "resolution": mechanism.resolution,
        "bounds": list(mechanism.bounds),
        "beta": beta,
        "noise_bound": str(bound),
    }


def _exceeds(rounds: int, deviations: fmpq) -> arb:
    """Return the probability that one of ``rounds`` normal numbers is beyond ±``deviations``."""
    inside = 1 - 2 * normal_cdf(ball(-deviations))
    return 1 - inside**rounds


for _id, _section, _formula, _bound in (
    ("proposition-1.rank", "Proposition 1, proof", "τ* = √((N/ρ)·log(2N/β))", NoiseBound.UNION),
    ("remark-3", "Remark 3", "τ* = σ·Φ⁻¹(1 − β/(2N))", NoiseBound.GAUSSIAN),
):
    paper.claim(
        f"pcoqs.{_id}[beta=1e-6,event=noise]",
        _section,
        Verdict.PROVED,
        "No round's noise exceeds τ*, with probability at least 1−β.",
        _formula,
        assumptions=REAL_NOISE,
        parameters=_noise_case(_DEFAULT, 1e-6, _bound) | {"event": "noise"},
        mechanism=_DEFAULT,
        beta=1e-6,
        bound=_bound,
    )(noise_exceeds)


@paper.claim(
    "pcoqs.remark-4",
    "Remark 4",
    Verdict.CONSISTENT,
    "τ* is at most the bound with log2 u + 1 for ⌈log2 u⌉, and grows like √(log u·log log u).",
    "τ* ≤ √((log2 u + 1)/ρ·log(2(log2 u + 1)/β))",
    parameters={"rho": _DEFAULT.rho, "beta": 0.01},
    mechanism=_DEFAULT,
    beta=0.01,
)
def noise_bound_growth(mechanism: PCOQS, *, beta: float) -> Computation:
    """Compute the growth of τ* in log u, against Remark 4's bound and its Θ.

    Remark 4 replaces ⌈log2 u⌉ by log2 u + 1; τ*²·ρ/(log u·log log u) must then stay bounded
    as u = (b−a)/Δ grows. The bound is closest where log2 u is just above a whole number.
    """
    exponents = [2.0**power + 1e-6 for power in range(1, 11)]  # log2 u
    shares: list[float] = []
    ratios: list[float] = []
    for log2_u in exponents:
        tau_sq = _tau_squared(log2_u, beta)
        shares.append(math.sqrt(tau_sq / ((log2_u + 1) * math.log(2 * (log2_u + 1) / beta))))
        log_u = log2_u * math.log(2)
        ratios.append(math.sqrt(tau_sq * math.log(2) / (log_u * math.log(log_u))))
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest τ*/(Remark 4's bound)",
        value=max(shares),
        claimed=1.0,
        witness={"rho": mechanism.rho, "beta": beta, "log2_u": exponents},
        note=(
            "τ*·√(ρ·log 2/(log u·log log u)) falls from "
            f"{ratios[1]:.3g} at log2 u = {exponents[1]:g} to {ratios[-1]:.3g} at "
            f"{exponents[-1]:g}: the order of growth is as stated, the constant is approached "
            "slowly."
        ),
    )


def _tau_squared(log2_u: float, beta: float) -> float:
    """Return ρτ*² = N·log(2N/β) for N = ⌈log2 u⌉."""
    rounds = math.ceil(log2_u)
    return rounds * math.log(2 * rounds / beta)
