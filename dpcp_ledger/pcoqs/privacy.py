"""P-COQS's privacy: Proposition 1, the ε-equivalence, membership inference, a pipeline's budget."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpcp_audit.extensions.audits import (
    exact_outcome,
    law_figures,
)
from dpcp_audit.extensions.claims import (
    ROUNDING,
    ApproxDP,
    Computation,
    Proof,
    ProofMethod,
    PureDP,
    Quantity,
    Relation,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.laws import FinitePair
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.statistics import at_most, ball, composed_delta, exact, turn, upper
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.mechanisms.releases import (
    conformal_threshold,
    pcoqs_threshold,
    search_proof,
    through_sets,
)
from dpcp_ledger.paper import REAL_NOISE, Heading, Paper

if TYPE_CHECKING:
    from flint import arb

    from dpcp_audit.extensions.claims import PlainData


paper = Paper(title="P-COQS", subject=Heading.SEARCH_PRIVACY)
_EQUIVALENCE = "P-COQS, equivalence with ε-DP"
_N = 50
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_PRINTED = PCOQS(alpha=0.1, rho=1.0)
_BALANCED = _DEFAULT.worst_pair(_N)
_LOG_10 = math.log(10)
_ORDERS = 1 + np.logspace(-4, 4, 129)


def _search(mechanism: PCOQS) -> PlainData:
    return {
        "rho": mechanism.rho,
        "resolution": mechanism.resolution,
        "bounds": list(mechanism.bounds),
        "relation": str(Relation.SUBSTITUTION),
    }


def _neighbours(mechanism: PCOQS) -> PlainData:
    return {
        "n": _N,
        "alpha": mechanism.alpha,
        "rho": mechanism.rho,
        "resolution": mechanism.resolution,
        "relation": str(Relation.SUBSTITUTION),
    }


def _pair_of(mechanism: PCOQS) -> tuple[FinitePair, PlainData]:
    """Return the laws of the threshold on the balanced pair, and the pair as a witness."""
    scores, neighbour_scores = mechanism.worst_pair(_N)
    return FinitePair(*mechanism.laws(scores, neighbour_scores)), {
        "n": _N,
        "alpha": mechanism.alpha,
        "rho": mechanism.rho,
        "scores": scores.tolist(),
        "neighbour_scores": neighbour_scores.tolist(),
    }


@paper.claim(
    "pcoqs.proposition-1.zcdp",
    "Proposition 1",
    Verdict.PROVED,
    "Algorithm 1 is ρ-zCDP.",
    "D_α(M(S) ‖ M(S′)) ≤ ρα for all α > 1",
    assumptions=REAL_NOISE,
    parameters=_search(_DEFAULT),
    mechanism=_DEFAULT,
    n=_N,
)
def zcdp_supremum(mechanism: PCOQS, *, n: int) -> Computation:
    """Compute sup D_α/α over all neighbours and orders, against ρ (Proposition 1).

    For each order the supremum over all pairs of inputs is computed; over the orders it is
    taken on a grid up to 10⁴. Beyond and between, D_α ≤ αN/(2σ²), because a comparison bit is
    post-processing of a Gaussian count of sensitivity 1: the upper end.
    """
    shares = [mechanism.renyi_supremum(a) / (a * mechanism.rho) for a in _ORDERS]
    balanced = mechanism.worst_pair(n)
    proof = search_proof(
        mechanism.rho,
        rounds=mechanism.rounds,
        noise_scale=mechanism.noise_scale,
        parameters=_search(mechanism),
    )
    return Computation(
        quantity=Quantity.RHO,
        detail="over all neighbours, orders up to 10⁴",
        value=max(shares) * mechanism.rho,
        claimed=mechanism.rho,
        upper=proof.premises[0].left[1],
        proof=proof,
        witness={
            "n": n,
            "alpha": mechanism.alpha,
            "rho": mechanism.rho,
            "rounds": mechanism.rounds,
            "scores": balanced[0].tolist(),
            "neighbour_scores": balanced[1].tolist(),
        },
        note=(
            f"Near order 1 the release spends {shares[0]:.3f} of ρ at worst (2/π is 0.637), "
            "because it reveals only comparison bits; at high orders, through rare bits far from "
            "the rank, the worst pair spends all of ρ, so the constant cannot be lowered."
        ),
    )


@paper.claim(
    "pcoqs.epsilon-equivalence",
    "Section 3.2",
    Verdict.REFUTED,
    "A randomised mechanism satisfies (ε, 0)-DP if and only if it satisfies ε-zCDP; here P-COQS "
    "with ρ = ε is to be ε-DP.",
    "ε-zCDP ⇒ (ε, 0)-DP",
    subject="P-COQS, equivalence with ε-DP",
    parameters=_neighbours(_PRINTED) | {"epsilon": 1.0},
    mechanism=_PRINTED,
    note="Pure ε-DP implies (ε²/2)-zCDP. The converse is false: 1-zCDP does not bound "
    "the log-ratio of probabilities by 1.",
)
@paper.claim(
    "pcoqs.epsilon-equivalence[rho=epsilon^2/2]",
    "Section 5, ε_CP",
    Verdict.REFUTED,
    "At ρ = ε²/2 P-COQS gives the privacy of an ε-DP mechanism.",
    "ε_CP = 1 ↔ ρ = 1/2",
    subject="P-COQS, equivalence with ε-DP",
    standing=Standing.READING,
    parameters=_neighbours(_DEFAULT) | {"epsilon": 1.0},
    mechanism=_DEFAULT,
    note="ε-DP implies (ε²/2)-zCDP, not the other way round: at ρ = ε²/2 = 0.5 the "
    "released threshold is not 1-DP, so the paper's comparison with ExponQ at one ε "
    "is not like for like.",
)
def epsilon_equivalence(mechanism: PCOQS, note: str) -> Computation:
    """Compute what the balanced pair loses, against 1-DP; the upper end is the worst pair's loss.

    The balanced pair is shown because its telling event is the likelier one by far.
    """
    pair, witness = _pair_of(mechanism)
    event, arithmetic = _lowest_output(mechanism)
    largest, worst = _largest_loss(mechanism)
    found = exact_outcome(
        PureDP(1.0), [pair], witness=witness | event, note=f"{note} {arithmetic} {worst}"
    )
    return replace(found, detail="of the balanced pair", lower=found.evidence.lower, upper=largest)


def _largest_loss(mechanism: PCOQS) -> tuple[float, str]:
    """Return ε over all neighbours of n scores, rounded up, and its pair in words; for r > n/2.

    A moved score changes a count by at most 1. Φ is log-concave, so that no count tells a
    comparison's answer apart better than 1 against 0, of the answer "at least r"; on one pair all N
    comparisons on the way to a see these counts.
    """
    rank, rounds, scale = mechanism.rank(_N), mechanism.rounds, mechanism.noise_scale
    here, there = rounds * log_ndtr(np.array([1 - rank, -rank]) / scale)
    return float(here - there) * (1 + ROUNDING), (
        f"The largest loss over all neighbours of {_N} scores is {here - there:.4g}, of one score "
        f"at a against none; there the output has a probability of only 10^{here / _LOG_10:.0f}."
    )


def _lowest_output(mechanism: PCOQS) -> tuple[PlainData, str]:
    """Return the output that tells the balanced pair apart best, and its arithmetic in words.

    All N comparisons then find the noisy count at least r, so that the search ends at a.
    """
    rank, rounds, scale = mechanism.rank(_N), mechanism.rounds, mechanism.noise_scale
    bit, neighbour_bit = 0.5, float(ndtr(-1 / scale))
    here, there = bit**rounds, neighbour_bit**rounds
    event = {
        "event": f"every noisy count is at least r = {rank}: the threshold ends at a",
        "probability": here,
        "neighbour_probability": there,
    }
    arithmetic = (
        f"On the input {rank} scores are a and {_N - rank} are b; on its neighbour {rank - 1} and "
        f"{_N - rank + 1}. Each of the {rounds} comparisons sees that many plus noise of standard "
        f"deviation {scale:.4g}. The noisy count is at least r = {rank} with probability 1/2, on "
        f"the neighbour {neighbour_bit:.4g}; all {rounds} are with probability {here:.4g} against "
        f"{there:.4g}, e^{math.log(here / there):.4g} times as often."
    )
    return event, arithmetic


@paper.claim(
    "pcoqs.remark-5",
    "Remark 5",
    Verdict.CONSISTENT,
    "No membership inference on the threshold beats what ρ-zCDP allows.",
    "TPR − FPR ≤ sup δ(0) of ρ-zCDP",
    parameters=_neighbours(_DEFAULT),
)
def largest_advantage() -> Computation:
    """Compute the largest membership advantage on the balanced pair, against what ρ allows."""
    pair, witness = _pair_of(_DEFAULT)
    return Computation(
        quantity=Quantity.ADVANTAGE,
        detail="the largest on the pair",
        value=pair.total_variation(),
        claimed=_DEFAULT.guarantee.advantage(),
        witness=witness,
        note=(
            "The total variation between the released threshold's laws on the balanced pair: no "
            "attack on the release, however clever, has a larger advantage there."
        ),
        figures=law_figures(_DEFAULT.guarantee, pair),
    )


_MEMBERSHIP = {"n": _N, "alpha": 0.1, "relation": str(Relation.SUBSTITUTION)}
_GAME = pcoqs_threshold(_DEFAULT, n=_N)
for _attack, _what, _check in (
    ("threshold", "the released threshold", _GAME),
    (
        "sets",
        "the prediction sets of 19 fixed queries",
        through_sets(_GAME, [(i + 1) / 20 for i in range(19)]),
    ),
):
    paper.tested(
        f"pcoqs.remark-5[attack={_attack}]",
        "Remark 5",
        Verdict.CONSISTENT,
        f"No membership attack on {_what} of P-COQS beats what ρ-zCDP allows.",
        "TPR ≤ the largest that ρ-zCDP allows at each FPR",
        parameters=_MEMBERSHIP | {"rho": 0.5, "attack": _attack},
        check=_check,
    )
_CONTROL = conformal_threshold(SplitConformal(alpha=0.1), n=_N, claim=PureDP(1.0))
for _attack, _what, _check in (
    ("threshold", "its threshold", _CONTROL),
    ("sets", "the prediction set of one query", through_sets(_CONTROL, [0.5])),
):
    paper.tested(
        f"pcoqs.remark-5[mechanism=split-conformal,attack={_attack}]",
        "Section 1 (calibration without privacy)",
        Verdict.REFUTED,
        f"Split conformal prediction, which adds no noise, is ε-DP as seen through {_what}.",
        "TPR ≤ min(e^ε·FPR, 1 − e^(−ε)(1−FPR))",
        subject="Split conformal prediction, without noise",
        standing=Standing.CONTROL,
        parameters=_MEMBERSHIP
        | {"epsilon": 1.0, "mechanism": "split-conformal", "attack": _attack},
        check=_check,
    )


@paper.claim(
    "pipeline.budget",
    "Proposition 1 with Bun and Steinke (2016), Lemmas 2.3 and 3.5",
    Verdict.PROVED,
    "An (ε, δ)-DP classifier followed by thresholds of P-COQS costs no more than the textbook sum.",
    "ε_f + Tρ + 2√(Tρ·log(1/δ))",
    subject="A pipeline's budget",
    standing=Standing.PRACTICE,
    assumptions=f"the classifier is (ε, δ)-DP as it is said to be; {REAL_NOISE}",
    parameters={"alpha": 0.1, "epsilon": 2.0, "delta": 1e-6, "thresholds": 3} | _search(_DEFAULT),
    classifier=ApproxDP(2.0, 1e-6),
    calibration=_DEFAULT,
    thresholds=3,
)
def pipeline_budget(
    classifier: PureDP | ApproxDP, calibration: PCOQS, *, thresholds: int, delta: float = 1e-6
) -> Computation:
    """Compute ε of a private classifier and several P-COQS thresholds on the same people.

    Held against the textbook sum ε_f + Tρ + 2·sqrt(Tρ·log(1/δ)) at δ_f + δ (P-COQS paper,
    Proposition 1; Bun and Steinke 2016, Lemmas 2.3 and 3.5; basic composition).

    Parameters
    ----------
    classifier : PureDP or ApproxDP
        The guarantee of the classifier's training.
    calibration : PCOQS
        The mechanism of every threshold.
    thresholds : int
        The number of released thresholds, T.
    delta : float
        The δ that the thresholds may add to the classifier's δ_f.
    """
    told = classifier.parameters.get("delta", 0.0)
    rho = thresholds * calibration.rho
    claimed = classifier.epsilon + rho + 2 * math.sqrt(rho * math.log(1 / delta))
    shift = ball(thresholds * calibration.rounds / exact(calibration.noise_scale) ** 2).sqrt()

    def enough(epsilon: float) -> bool:
        spent = composed_delta(shift, epsilon, promised=classifier.epsilon, told=told)
        return upper(spent) <= told + delta

    value = turn(enough, 0.0, 2 * claimed, relative=ROUNDING).holds
    proof = _pipeline_proof(classifier, calibration, thresholds, delta, value)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": told + delta},
        detail="of the pipeline",
        value=value,
        lower=value * (1 - 2 * ROUNDING),
        upper=proof.premises[-1].left[1],
        claimed=claimed,
        proof=proof,
        witness={
            "classifier": str(classifier),
            "rho": calibration.rho,
            "thresholds": thresholds,
            "delta": told + delta,
        },
        note=f"The pipeline spends {value / claimed:.4g} times the textbook sum.",
    )


def _pipeline_proof(
    classifier: PureDP | ApproxDP, calibration: PCOQS, thresholds: int, delta: float, found: float
) -> Proof:
    """Return the proof that the textbook sum is enough, by the composed δ in closed form.

    A little above the ε that was found δ(ε) is small enough, and that ε is at most the sum.
    """
    told = classifier.parameters.get("delta", 0.0)
    enough = found * (1 + ROUNDING)
    squared = thresholds * calibration.rounds / exact(calibration.noise_scale) ** 2

    def composed() -> arb:
        shift = ball(squared).sqrt()
        return composed_delta(shift, enough, promised=classifier.epsilon, told=told)

    def textbook() -> arb:
        rho = thresholds * exact(calibration.rho)
        return ball(exact(classifier.epsilon) + rho) + 2 * (-ball(rho) * ball(delta).log()).sqrt()

    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Randomised response that tells everything with probability δ_f dominates every "
            "classifier of this promise, and a Gaussian pair with μ² = T·N/σ² the noisy counts of "
            "all thresholds, also chosen in the light of earlier ones. Their composition has "
            "δ(ε) = δ_f + (1−δ_f)(p·δ_G(ε−ε_f) + (1−p)·δ_G(ε+ε_f)), p = e^ε_f/(1+e^ε_f)."
        ),
        premises=(
            at_most(f"δ({enough:.6g}) ≤ δ_f + δ", composed, exact(told) + exact(delta)),
            at_most("that ε ≤ ε_f + Tρ + 2√(Tρ·log(1/δ))", enough, textbook),
        ),
        parameters={"epsilon": classifier.epsilon, "delta": delta, "thresholds": thresholds}
        | _search(calibration),
    )
