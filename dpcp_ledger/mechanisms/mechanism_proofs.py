"""Proofs from their parameters that the reference mechanisms keep their promises.

A mechanism is its noise as the code uses it, doubles taken as exact numbers; draws are ideal.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Proof, ProofMethod, Relation
from dpcp_audit.extensions.mechanisms import Normaliser
from dpcp_audit.extensions.statistics import all_at_most, at_most, ball, exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from dpcp_audit.extensions.claims import LocalDP, PlainData
    from dpcp_audit.extensions.mechanisms import ExponQ, KaryRandomizedResponse


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
        parameters={
            "n": sizes[0] if len(sizes) == 1 else list(sizes),
            "alpha": mechanism.alpha,
            "epsilon": mechanism.epsilon,
            "n_candidates": mechanism.n_candidates,
            "gamma": mechanism.gamma,
            "normaliser": str(mechanism.normaliser),
            "relation": str(Relation.SUBSTITUTION),
        },
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
