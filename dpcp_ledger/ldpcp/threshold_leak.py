"""The loss about one user to an outsider who sees LDP-CP-S's threshold alone, and the claimed ε."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    Proof,
    ProofMethod,
    Quantity,
    Verdict,
    number,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair
from dpcp_audit.extensions.mechanisms import LDPCPScores
from dpcp_audit.extensions.statistics import at_most
from dpcp_ledger.mechanisms.mechanism_proofs import response_loss
from dpcp_ledger.mechanisms.shuffled_response import decision_laws
from dpcp_ledger.paper import Heading, Paper

paper = Paper(title="LDP-CP", subject=Heading.ONE_REPORT)
_SETTING = {"n": 11_080, "alpha": 0.1, "epsilon": 4.0, "rounds": 10, "window_width": 0.05}


def decision_pairs(mechanism: LDPCPScores, *, asked: int, n: int) -> list[FinitePair]:
    """Return the laws of one round's decision where one user's bit is 1 and where it is 0.

    One pair for each number of ones among the block's other users.
    """
    laws = [FiniteLaw(row, np.zeros(3)) for row in decision_laws(mechanism, asked=asked, n=n)]
    return [FinitePair(one, zero) for zero, one in itertools.pairwise(laws)]


@paper.claim(
    "ldpcp.threshold-leak",
    "Theorem 4 (post-processing)",
    Verdict.PROVED,
    "LDP-CP-S's released threshold alone is ε-DP for every user, in the central view.",
    "log P(q̂ | s)/P(q̂ | s′) ≤ ε",
    parameters=_SETTING,
    mechanism=LDPCPScores(alpha=0.1, epsilon=4.0, rounds=10, window_width=0.05),
    n=11_080,
)
def threshold_leak(mechanism: LDPCPScores, *, n: int, delta: float = 1e-6) -> Computation:
    """Compute the largest log-ratio of the threshold alone over all neighbours, from below.

    A user is asked in one round, and the threshold is a function of the rounds' decisions, so
    that no pair of neighbours exceeds the worst decision (joint convexity of the hockey-stick
    divergence over the paths to that round). With two rounds or more it is attained: a first
    decision shows in the threshold, as below, at or above 1/2.

    Parameters
    ----------
    n : int
        Number of users.
    delta : float
        The δ at which the note gives ε.
    """
    _validate.open_unit(delta=delta)
    sizes = sorted({asked for asked in mechanism.block_sizes(n) if asked})
    pairs = [
        (asked, ones, way)
        for asked in sizes
        for ones, pair in enumerate(decision_pairs(mechanism, asked=asked, n=n))
        for way in (pair, pair.reversed())
    ]
    asked, ones, worst = max(pairs, key=lambda case: case[2].max_divergence())
    epsilon = 0.0
    for _, _, way in pairs:
        if way.delta_at(epsilon) > delta:
            epsilon = way.epsilon_at(delta)
    leakiest = max((way for _, _, way in pairs), key=lambda way: way.renyi(2.0))
    return Computation(
        quantity=Quantity.EPSILON,
        detail="of the threshold alone",
        value=worst.max_divergence(),
        claimed=mechanism.epsilon,
        upper=mechanism.epsilon,
        proof=_post_processing(mechanism, n),
        witness={
            "n": n,
            "epsilon": mechanism.epsilon,
            "asked": asked,
            "ones_elsewhere": ones,
            f"epsilon_at_delta_{delta:g}": epsilon,
            "rho": leakiest.rho(),
        },
        note=(
            f"From the threshold alone an outsider has ε = {epsilon:.4g} at "
            f"δ = {number(delta)} on the worst neighbours, and ρ = {leakiest.rho():.3g} on those "
            f"of largest D₂, where the aggregator has ε = {mechanism.epsilon:g}."
        ),
    )


def _post_processing(mechanism: LDPCPScores, n: int) -> Proof:
    """Return the proof that the threshold loses no more than the reports that it is made of."""
    return Proof(
        method=ProofMethod.ARGUMENT,
        argument=(
            "The blocks are disjoint, so that each user answers at most once, with a bit that is "
            "flipped with probability m, the double that is drawn with; the threshold is a "
            "function of the answers."
        ),
        premises=(
            at_most("users asked in all blocks ≤ n", sum(mechanism.block_sizes(n)), n),
            at_most(
                "|log((1−m)/m)| ≤ ε",
                partial(response_loss, mechanism.response.flip_probability, 2),
                mechanism.epsilon,
            ),
        ),
        parameters={
            "n": n,
            "alpha": mechanism.alpha,
            "epsilon": mechanism.epsilon,
            "rounds": mechanism.rounds,
            "window_width": mechanism.window_width,
        },
    )
