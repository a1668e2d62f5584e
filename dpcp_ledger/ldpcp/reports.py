"""LDP-CP's reports: k-RR and its attacks, the debiased estimates, and Algorithm 3's blocks.

Also the loss about one user to an outsider who sees LDP-CP-S's threshold alone, and the claimed ε.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from flint import fmpq, fmpz_poly

from dpcp_audit.extensions.audits import LocalPrivacy, exact_outcome
from dpcp_audit.extensions.claims import (
    Computation,
    LocalDP,
    Proof,
    ProofMethod,
    Quantity,
    Standing,
    Verdict,
    number,
)
from dpcp_audit.extensions.laws import (
    Classifier,
    Dataset,
    FiniteLaw,
    FinitePair,
    classifier_pool,
    hps,
)
from dpcp_audit.extensions.mechanisms import (
    BinaryRandomizedResponse,
    CellCounts,
    Debiasing,
    KaryRandomizedResponse,
    LDPCPLabels,
    LDPCPScores,
)
from dpcp_audit.extensions.statistics import at_most, ends, exact, response_keep
from dpcp_ledger.mechanisms.releases import (
    label_report,
    response_loss,
    response_proof,
    score_answer,
)
from dpcp_ledger.mechanisms.shuffled_response import decision_laws
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import PlainData
    from dpcp_audit.extensions.laws import ProbabilityPool


paper = Paper(title="LDP-CP", subject=Heading.ONE_REPORT)
_N, _EPSILON, _ROUNDS = 11_080, 4.0, 10
_SETTING = {"n": _N, "epsilon": _EPSILON, "rounds": _ROUNDS}
_RESPONSE = KaryRandomizedResponse(2.0, 10)
_OF_RESPONSE = {"epsilon": _RESPONSE.epsilon, "k": _RESPONSE.k}
_LABELS = LDPCPLabels(alpha=0.1, epsilon=2.0, k=10, rounds=_ROUNDS, window_width=0.05)
_SCORES = LDPCPScores(alpha=0.1, epsilon=_EPSILON, rounds=_ROUNDS, window_width=0.05)
_LOGISTIC_POOL = partial(classifier_pool, Dataset.DIGITS, Classifier.LOGISTIC)
_ROUNDING = 1e-12
"""Below it a difference that is computed in floating point may be none."""


@paper.claim(
    "ldpcp.krr",
    "Section 2.3",
    Verdict.PROVED,
    "k-ary randomised response with β = k/(k−1+e^ε) is ε-LDP.",
    "Q(z | y) ≤ e^ε Q(z | y′)",
    parameters=_OF_RESPONSE,
)
def response_channel() -> Computation:
    """Compute the largest log-ratio of two labels' reports, exactly."""
    pair = FinitePair(*_RESPONSE.laws()[:2])  # all pairs of labels are alike
    found = exact_outcome(_RESPONSE.guarantee, [pair], witness={"k": _RESPONSE.k})
    low, high = ends(partial(response_loss, _RESPONSE.move_probability, _RESPONSE.k))
    proof = response_proof(_RESPONSE, _RESPONSE.guarantee)
    return replace(found, lower=low, upper=high, proof=proof)


@paper.claim(
    "ldpcp.label-attack",
    "Section 2.3",
    Verdict.PROVED,
    "From a k-RR report no one guesses a label, uniform beforehand, with probability above "
    "e^ε/(e^ε+k−1).",
    "max_g P(g(ỹ) = y) ≤ e^ε/(e^ε+k−1)",
    standing=Standing.PRACTICE,
    parameters=_OF_RESPONSE,
    response=_RESPONSE,
)
def label_guess(response: KaryRandomizedResponse) -> Computation:
    """Compute the best guess's success from a k-RR report, over a uniform prior."""
    mass = np.exp(np.stack([law.log_mass for law in response.laws()]))
    success = float(mass.max(axis=0).mean())
    case = {"epsilon": response.epsilon, "k": response.k}
    kept = 1 - exact(response.move_probability)
    allowed = partial(response_keep, response.epsilon, response.k)
    found = Computation(
        quantity=Quantity.ATTACK_SUCCESS,
        detail="of the best guess",
        value=success,
        claimed=ends(allowed)[1],
        witness=case,
        note=f"Guessing without the report succeeds with probability {1 / response.k:.4g}.",
    )
    return found.between(
        at_most("1−m ≤ e^ε/(e^ε+k−1)", kept, allowed),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "The best guess from a report is the report itself, for each of the k reports: it is "
            "right with the probability 1−m of a kept label, m the double that is drawn with."
        ),
        parameters=case,
    )


def estimate_bias(mechanism: LDPCPScores, *, n: int) -> Computation:
    """Compute the largest bias of Z over rounds and true fractions (Algorithm 3, line 8).

    E[Z] is affine in the fraction p of ones, so its bias is largest at p = 0 or p = 1.
    """
    cases: list[tuple[float, float, int, float]] = []
    for size in mechanism.block_sizes(n):
        for p in (0.0, 1.0):
            mean = size * float(mechanism.response.report_probability(p))
            z = float(mechanism.debias(mean, asked=size, n=n))
            cases.append((abs(z - p), p, size, z))
    bias, p, size, z = max(cases)
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail="largest |E[Z] − F(q)|",
        value=bias if bias > _ROUNDING else 0.0,
        claimed=0.0,
        witness={
            "n": n,
            "rounds": mechanism.rounds,
            "epsilon": mechanism.epsilon,
            "debiasing": str(mechanism.debiasing),
            "block_size": size,
            "coverage": p,
            "expected_estimate": z,
        },
        note=(
            f"In a block of {size} of {n} users where a fraction {p:g} of the scores lies below "
            f"the midpoint, the estimate's mean is {round(z, 12):.4g}."
        ),
    )
    if found.value:
        return found
    shares = [fmpq(asked, mechanism.divisor(asked, n)) for asked in mechanism.block_sizes(n)]
    return found.between(
        at_most("max over blocks of |m/d − 1| ≤ 0", max(abs(share - 1) for share in shares), 0),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Of m users whose reports' sum is divided by d, E[Z] − F(q) = (m/d − 1)·(F(q) − 1/2 + "
            "(e^ε+1)/(2(e^ε−1))), whatever F(q) and ε are: it vanishes where m = d."
        ),
        parameters={"n": n, "rounds": mechanism.rounds, "epsilon": mechanism.epsilon},
    )


for _name, _divisor, _debiasing, _standing, _expected in (
    ("block", "the size of the block", Debiasing.CORRECTED, Standing.CORRECTED, Verdict.PROVED),
    ("n", "n", Debiasing.PRINTED, Standing.ERRATUM, Verdict.REFUTED),
):
    paper.claim(
        f"ldpcp.rr-debias[mean={_name}]",
        "Algorithm 3, line 8",
        _expected,
        "Z is an unbiased estimate of the fraction of scores below the midpoint, "
        f"with the reports' sum divided by {_divisor}.",
        "E[Z] = F(q)",
        subject=Heading.SCORE_ALGORITHM,
        standing=_standing,
        parameters=_SETTING | {"mean": _name},
        mechanism=replace(_SCORES, debiasing=_debiasing),
        n=_N,
    )(estimate_bias)


@paper.claim(
    "ldpcp.blocks",
    "Algorithm 3, line 5",
    Verdict.REFUTED,
    "The blocks U(1), …, U(T) are disjoint subsets of the n users.",
    "U(j) = {j·n′+1, …, (j+1)·n′} ⊆ {1, …, n}",
    subject=Heading.SCORE_ALGORITHM,
    standing=Standing.ERRATUM,
    n=_N,
    rounds=_ROUNDS,
)
def blocks_outside(*, n: int, rounds: int) -> Computation:
    """Count indices that the printed blocks name beyond the n users (Algorithm 3, line 5)."""
    each = n // rounds
    named = [np.arange(j * each + 1, (j + 1) * each + 1) for j in range(1, rounds + 1)]
    outside = int(sum((block > n).sum() for block in named))
    return Computation.counted(
        outside,
        detail="user indices above n in the blocks U(1), …, U(T)",
        witness={
            "n": n,
            "rounds": rounds,
            "last_block": [int(named[-1][0]), int(named[-1][-1])],
            "users_never_asked": [1, each],
        },
        note=(
            f"The last block names users {named[-1][0]} to {named[-1][-1]} of {n}; users 1 to "
            f"{each} are never asked. With j = 0, …, T−1 in place of 1, …, T both go away."
        ),
    )


@paper.claim(
    "ldpcp.equation-2",
    "Equation (2)",
    Verdict.PROVED,
    "The noise-aware estimate F̂c of the HPS scores' law is unbiased, since F^n = (1−β)F^c + βF^r.",
    "E[F̂c(q)] = F^c(q)",
    subject=Heading.LABEL_COVERAGE,
    assumptions="labels pass through k-RR with a known β",
    parameters={"population": "digits-logistic", "epsilon": 2.0, "k": 10},
    pool=_LOGISTIC_POOL,
    response=_RESPONSE,
)
def noise_model_error(
    pool: Callable[[], ProbabilityPool], response: KaryRandomizedResponse
) -> Computation:
    """Compute max_q |E[F̂c(q)] − F^c(q)| over a pool (Eq. (2), and F̂c's unbiasedness)."""
    data = pool()
    cells = CellCounts(hps(data.probabilities), data.labels, response)
    error = float(np.abs(cells.expected_estimate() - cells.true_cdf).max())
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail="max over q of |E[F̂c(q)] − F^c(q)|",
        value=error if error > _ROUNDING else 0.0,
        claimed=0.0,
        witness={"epsilon": response.epsilon, "k": response.k, "population": data.name},
        note="F^n = (1−β)F^c + βF^r at every threshold, so the estimate has no bias.",
    )
    if found.value:
        return found
    return found.between(
        at_most("coefficients of the difference ≤ 0", _channel_difference(response.k), 0),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "With x = e^ε a report keeps its label with probability x/(x+k−1), and is each other "
            "label with probability 1/(x+k−1). With β = k/(x+k−1) that is 1−β times the label "
            "itself plus β times the uniform law, for every ε: times k(x+k−1) both sides are the "
            "same polynomials in x. The estimate is linear in the law of the reports."
        ),
        parameters={"epsilon": response.epsilon, "k": response.k, "population": data.name},
    )


def _channel_difference(k: int) -> int:
    """Return the largest coefficient of k(x+k−1) times k-RR's law less the mixture."""
    x = fmpz_poly([0, 1])
    whole = x + k - 1
    beta = fmpz_poly([k])
    kept = k * x - (k * (whole - beta) + beta)
    moved = k * fmpz_poly([1]) - beta
    return max((abs(int(c)) for side in (kept, moved) for c in side.coeffs()), default=0)


paper.tested(
    "ldpcp.membership[report=label]",
    "Theorem 3",
    Verdict.CONSISTENT,
    "No attack on LDP-CP-L's report distinguishes two labels better than ε-LDP allows.",
    "TPR − FPR ≤ tanh(ε/2)",
    parameters=_OF_RESPONSE | {"report": "label"},
    check=label_report(_LABELS),
)
paper.tested(
    "ldpcp.membership[report=score]",
    "Theorem 4",
    Verdict.CONSISTENT,
    "No attack on LDP-CP-S's answer distinguishes two scores better than ε-LDP allows.",
    "TPR − FPR ≤ tanh(ε/2)",
    parameters={"epsilon": _EPSILON, "report": "score"},
    check=score_answer(_SCORES),
)


paper.tested(
    "ldpcp.rr[audit=sampled]",
    "Algorithm 3",
    Verdict.CONSISTENT,
    "Binary randomised response is ε-LDP: the sampler, audited.",
    "Q(z | b) ≤ e^ε Q(z | b′)",
    parameters={"epsilon": _EPSILON, "k": 2, "audit": "sampled"},
    check=LocalPrivacy(
        randomizer=BinaryRandomizedResponse(_EPSILON).sample,
        guarantee=LocalDP(_EPSILON),
        n_inputs=2,
        n_outputs=2,
    ),
)


def _leaked(mechanism: LDPCPScores, n: int) -> PlainData:
    return {
        "n": n,
        "alpha": mechanism.alpha,
        "epsilon": mechanism.epsilon,
        "rounds": mechanism.rounds,
        "window_width": mechanism.window_width,
    }


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
    parameters=_leaked(_SCORES, _N),
    mechanism=_SCORES,
    n=_N,
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
        parameters=_leaked(mechanism, n),
    )
