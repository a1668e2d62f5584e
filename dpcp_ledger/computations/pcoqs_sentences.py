"""Exact checks of what P-COQS says of zCDP, of Algorithm 1's steps and of histograms."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import GaussianPair, Uniform
from dpcp_audit.extensions.mechanisms import coverage_outside
from dpcp_audit.extensions.statistics import all_at_most, at_most, ball, decimal, ends, exact
from dpcp_audit.extensions.theorems import likely_crowd, noise_rank_error
from dpcp_ledger.computations.proof_steps import Point, identity, largest_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from dpcp_audit.extensions.mechanisms import PCOQS, PrivatelyBounded


_ORDERS = 1 + np.logspace(-4, 4, 81)
_ONE_SCORE = 1.0
"""c of an interval Δ = c/n that holds one score in the mean."""


def zcdp_conversion() -> Computation:
    """Compare the exponent of δ at the printed ε with log δ (Section 3.2)."""
    return identity(
        largest_difference(_moment_exponent, _log_delta, variables=2),
        "l·(r(r+l) − r² − 2rl) − (−l²r)",
        "With r = √ρ and l = √(log 1/δ), at the order α = 1 + l/r: a loss above ε has probability "
        "at most exp((α−1)(αρ−ε)) by Markov's inequality, so that δ(ε) is at most that. At the "
        "printed ε = r² + 2rl the exponent is −l² = log δ, for every ρ and δ; times r both sides "
        "are polynomials of degree 2 at most in r and l, and agree at three values of each.",
    )


def _moment_exponent(at: Point) -> int:
    r, l = at  # noqa: E741
    return l * (r * (r + l) - r**2 - 2 * r * l)


def _log_delta(at: Point) -> int:
    r, l = at  # noqa: E741
    return -(l**2) * r


def zcdp_composition() -> Computation:
    """Compare D_α of two Gaussian releases with the sum of their ρ·α (Section 3.2)."""
    found = identity(
        largest_difference(_composed_exponent, _added_exponents, variables=3),
        "α·(μ₁² + μ₂²) − (α·μ₁² + α·μ₂²)",
        "The Rényi divergence of independent releases is the sum of theirs, αμ²/2 for a Gaussian "
        "one at distance μ standard deviations: two of ρᵢ = μᵢ²/2 have D_α = α(ρ₁+ρ₂) at every "
        "order, so that ρ₁+ρ₂ is attained and no smaller ρ is true.",
    )
    spent = GaussianPair(1.0).renyi(3.0) / 3.0
    return replace(found, note=f"Two of ρ = 0.18 and 0.32 spend {spent:.4g} together.")


def _composed_exponent(at: Point) -> int:
    order, first, second = at
    return order * (first**2 + second**2)


def _added_exponents(at: Point) -> int:
    order, first, second = at
    return order * first**2 + order * second**2


def private_bound_budget(bound: PCOQS, quantile: PCOQS) -> Computation:
    """Compute what a private bound b and then a search below it spend together (Remark 1).

    The bound is a high quantile, found on public ``bounds`` by the same search; scores above it
    are truncated to it, and the second search runs on [a, b].
    """
    spent = [each.rounds / (2 * exact(each.noise_scale) ** 2) for each in (bound, quantile)]
    claimed = exact(bound.rho) + exact(quantile.rho)
    found = Computation(
        quantity=Quantity.RHO,
        detail="of both searches, as accounted",
        value=ends(spent[0] + spent[1])[1],
        claimed=ends(claimed)[0],
        witness={
            "rho": quantile.rho,
            "rho_bound": bound.rho,
            "rounds": [bound.rounds, quantile.rounds],
        },
    )
    return found.between(
        at_most("N_b/(2σ_b²) + N/(2σ²) ≤ ρ_b + ρ", spent[0] + spent[1], claimed),
        method=ProofMethod.ARGUMENT,
        argument=(
            "Given b, truncating scores moves no more than one of them between neighbours, so that "
            "the second search is ρ-zCDP whatever b was released; divergences of adaptive releases "
            "add up. N/(2σ²) bounds what each search spends."
        ),
        parameters={"rho": quantile.rho, "rho_bound": bound.rho},
    )


def private_bound_noise(mechanism: PrivatelyBounded, *, n: int, claimed: float) -> Computation:
    """Compute how much more noise the quantile takes than with a public bound at the same ρ."""
    bound, quantile = mechanism.bound, mechanism.quantile
    public = replace(quantile, bounds=bound.bounds, rho=bound.rho + quantile.rho)
    whole = exact(bound.rho) + exact(quantile.rho)
    share = whole / exact(quantile.rho)
    found = Computation(
        quantity=Quantity.RATIO,
        detail="largest noise of the quantile over that of a public bound, over all b",
        value=ends(lambda: ball(share).sqrt())[1],
        claimed=claimed,
        witness={"rho": quantile.rho, "rho_bound": bound.rho, "rounds": public.rounds},
        note=(
            f"The public bound [0, {bound.bounds[1]:g}] takes {public.rounds} rounds. A bound near "
            f"the scores takes fewer, which makes up for ρ_b: at b = 3 the noise is "
            f"{replace(quantile, bounds=(0.0, 3.0)).noise_scale / public.noise_scale:.3g} times "
            f"that of the public one. The private bound is below the quantile with probability "
            f"{mechanism.truncated(n):.2g} at most, and truncates nothing else that matters."
        ),
    )
    return found.between(
        at_most("√((ρ+ρ_b)/ρ) ≤ claimed", lambda: ball(share).sqrt(), decimal(claimed)),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "σ = √(N/(2ρ)) grows with N = ⌈log2((b−a)/Δ)⌉, and b is at most the public bound: at "
            "the same N the ratio is √((ρ+ρ_b)/ρ), at a smaller b it is smaller."
        ),
        parameters={"rho": quantile.rho, "rho_bound": bound.rho},
    )


def pure_to_zcdp(epsilons: Sequence[float]) -> Computation:
    """Compute the largest D_α/α of a worst ε-DP pair over ε²/2, over orders (Section 5).

    Binary randomised response is the worst ε-DP pair: every other one is its post-processing
    (Kairouz, Oh and Viswanath 2015).
    """
    shares = {
        (epsilon, float(order)): _response_share(epsilon, float(order))
        for epsilon in epsilons
        for order in _ORDERS
    }
    epsilon, order = max(shares, key=lambda case: shares[case])
    found = Computation(
        quantity=Quantity.LOSS_RATIO,
        detail="largest D_α/α over ε²/2",
        value=shares[epsilon, order],
        claimed=1.0,
        witness={"epsilon": epsilon, "order": order},
        note=(
            "Tight as ε → 0; the reverse, from ρ-zCDP to ε-DP, is false at every ε, see "
            "pcoqs.epsilon-equivalence."
        ),
    )
    return found.between(
        all_at_most("D_α/α over ε²/2 ≤ 1", [partial(_response_ball, *case) for case in shares], 1),
        at_most(
            "|4α(α−1)ε² − ((2α−1)²−1)ε²| ≤ 0",
            largest_difference(_order_exponent, _hyperbolic_exponent, variables=2),
            0,
        ),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Every ε-DP pair is a post-processing of randomised response, whose exp((α−1)·D_α) is "
            "cosh((2α−1)a)/cosh(a) with a = ε/2. The statement is log cosh(x) − x²/2 at "
            "x = (2α−1)a ≤ the same at x = a, as α(α−1)ε²/2 = ((2α−1)²−1)a²/2: polynomials of "
            "degree 2 at most in α and ε that agree at three values of each. It holds for every ε "
            "and α > 1, since the derivative tanh(x) − x is not positive for x ≥ 0. The "
            "printed ε are enclosed besides, at orders from 1.0001 to 10,001."
        ),
        parameters={},
    )


def _response_ball(epsilon: float, order: float) -> arb:
    """Enclose D_α/α over ε²/2 of randomised response."""
    half, times, alpha = (ball(exact(each)) for each in (epsilon / 2, 2 * order - 1, order))
    ratio = (times * half).cosh() / half.cosh()
    return ratio.log() / (alpha * (alpha - 1) * 2 * half**2)


def _response_share(epsilon: float, order: float) -> float:
    return float(_response_ball(epsilon, order).mid())


def _order_exponent(at: Point) -> int:
    order, epsilon = at
    return 4 * order * (order - 1) * epsilon**2


def _hyperbolic_exponent(at: Point) -> int:
    order, epsilon = at
    return ((2 * order - 1) ** 2 - 1) * epsilon**2


def one_class(mechanism: PCOQS, *, n: int, beta: float, share: float) -> Computation:
    """Compute the coverage of a rare class, from above, where Theorem 1 holds (Remark 6).

    Scores are uniform, and the class is that of the highest of them: it is covered only where the
    threshold exceeds 1 − share.
    """
    _validate.open_unit(share=share, beta=beta)
    above, error = coverage_outside(mechanism, Uniform(), n=n, lower=0.0, upper=1 - share)
    bound = 1 - mechanism.alpha - (noise_rank_error(mechanism, beta=beta) + 1) / (n + 1)
    found = Computation(
        quantity=Quantity.PROBABILITY,
        detail="bound on the coverage of the class",
        value=above,
        claimed=bound,
        slack=error,
        witness={"share": share, "n": n, "alpha": mechanism.alpha, "rho": mechanism.rho},
        note=f"Theorem 1's lower bound of the coverage over all classes is {bound:.4g} there.",
    )
    return found.between(
        at_most("coverage of the class < 1−α−τ/(n+1)", above + error, decimal(bound)),
        method=ProofMethod.ARGUMENT,
        argument=(
            "One example is enough: the scores of a class of the given share are the highest of "
            "uniform ones, and a test point of it is covered only where q exceeds 1 − share. That "
            "probability is summed over the exact law of q, with what is pruned added."
        ),
        parameters={"n": n, "alpha": mechanism.alpha, "rho": mechanism.rho, "share": share},
    )


def histogram_rate(*, inside: bool, low: float, high: float) -> Computation:
    """Compute the exponent of nε in the least of 1/B + noise over B (Remark 8).

    Parameters
    ----------
    inside : bool
        Whether the noise term is √(B/(nε)), as printed, with nε under the root; else √B/(nε).
    low, high : float
        The nε between which the slope is taken.
    """

    def least(scale: float) -> float:
        bins = np.logspace(0, 2 * math.log10(scale), 200_001)
        noise = np.sqrt(bins / scale) if inside else np.sqrt(bins) / scale
        return float((1 / bins + noise).min())

    slope = math.log(least(high) / least(low)) / math.log(high / low)
    return Computation(
        quantity=Quantity.VALUE,
        detail="exponent of nε in the best error of a histogram",
        value=slope,
        claimed=-2 / 3 + 1e-4,
        error=1e-6,
        witness={"low": low, "high": high, "inside": inside},
        note=(
            "The sum of B Laplace counts of scale 1/ε has the standard deviation √(2B)/ε, which "
            "is √(2B)/(nε) of the sample. Balanced with 1/B that gives (nε)^(−2/3), the rate that "
            "the remark quotes from the literature; with nε under the root it gives (nε)^(−1/3). "
            "As an upper bound the printed term is true, and loose by a factor of √(nε)."
        ),
    )


def crowd_histogram(mechanism: PCOQS, *, beta: float, spent: float) -> Computation:
    """Compute a DP histogram's error of M(Δ), in units of τ*, at a small cost (Corollary 1).

    Substitution moves two counts by one: Gaussian noise of variance 1/ρ_b on each of the
    (b−a)/Δ counts is ρ_b-zCDP. The error is the median of the largest noise; all counts but a
    few are 0.

    Parameters
    ----------
    spent : float
        ρ_b, as a share of ρ.
    """
    _validate.open_unit(spent=spent, beta=beta)
    low, high = mechanism.bounds
    bins = (high - low) / mechanism.resolution
    scale = math.sqrt(1 / (spent * mechanism.rho))
    median = -float(ndtri(-math.expm1(math.log(0.5) / bins)))
    noise = noise_rank_error(mechanism, beta=beta)
    direct = math.sqrt(1 / (2 * spent * mechanism.rho))
    return Computation(
        quantity=Quantity.RATIO,
        detail="error of M(Δ) over τ*",
        value=scale * median / noise,
        claimed=0.1,
        witness={"bins": bins, "noise_scale": scale, "rho_b": spent * mechanism.rho, "tau": noise},
        note=(
            f"The largest of {bins:.3g} noises of scale {scale:.3g} is {scale * median:.3g} ranks "
            f"in the median, beside τ* = {noise:.3g}; Laplace noise of a pure ε does worse. M(Δ) "
            f"has sensitivity 1 itself: noise of scale {direct:.3g} on M(Δ) alone costs as much, "
            "and needs no histogram."
        ),
    )


def coarse_tail(
    mechanism: PCOQS, *, n: int, beta: float, multiples: Sequence[float]
) -> Computation:
    """Compute the largest ratio of τ* + M(Δ) among Δ = c/n (Remark 2, its end).

    M(Δ) is at least c by the pigeonhole principle, and for the Δ that does best at most what
    n uniform scores exceed with probability 0.001.
    """
    least: dict[float, float] = {}
    most: dict[float, float] = {}
    for multiple in multiples:
        at = replace(mechanism, resolution=multiple / n)
        noise = noise_rank_error(at, beta=beta)
        crowd = likely_crowd(Uniform(), n=n, length=at.resolution, chance=1e-3)
        least[multiple], most[multiple] = noise + max(1.0, multiple), noise + crowd
    worst = max(least, key=lambda c: least[c])
    best = min(most, key=lambda c: most[c])
    near = [c for c in multiples if c <= _ONE_SCORE]
    apart = max(most[c] for c in near) / min(least[c] for c in near)
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest τ over the smallest, among Δ = c/n",
        value=least[worst] / most[best],
        claimed=2.0,
        upper=math.inf,
        witness={"n": n, "worst": worst, "best": best, "tau": least[worst]},
        note=(
            f"τ is at least {least[worst]:.3g} at c = {worst:g} and at most {most[best]:.3g} at c "
            f"= {best:g}: Δ = c/n adds c ranks, beside a τ* of "
            f"{noise_rank_error(replace(mechanism, resolution=best / n), beta=beta):.3g}. For c "
            f"up to {_ONE_SCORE:g} they differ by a factor of {apart:.2f} at most."
        ),
    )
