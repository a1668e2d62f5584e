"""P-COQS's claims about zCDP: conversions, composition, and the budget of a private bound.

**Privacy.** The bound is a high quantile, found by the same search on public bounds at ρ_b. Given
b, truncating at b moves no more than one score between neighbours, so that the search on [a, b] is
ρ-zCDP whatever b is; divergences of adaptive releases add up to ρ + ρ_b.

**Coverage.** Truncation changes no comparison below b. Where b is at least the quantile, the
search errs as it would on a public [a, b]; b is lower with probability at most N_b·Φ(−g/σ_b), for
the g ranks between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from dpcp_audit.extensions.claims import ZCDP, Computation, ProofMethod, Quantity, Standing, Verdict
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.statistics import all_at_most, at_most, ball, decimal, ends, exact
from dpcp_ledger.mechanisms.releases import Point, identity, largest_difference
from dpcp_ledger.paper import Heading, Paper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatelyBounded:
    """A search for a bound b on public bounds, and one for the quantile on [a, b].

    Parameters
    ----------
    bound : PCOQS
        A search with a small α; its bounds are public, and scores are truncated to them.
    quantile : PCOQS
        α, ρ and Δ; its upper bound is replaced by b.
    """

    bound: PCOQS
    quantile: PCOQS

    @property
    def guarantee(self) -> ZCDP:
        """(ρ + ρ_b)-zCDP."""
        return ZCDP(self.bound.rho + self.quantile.rho)

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores, shape (size,)."""
        generator = _validate.generator(rng)
        low, high = self.bound.bounds
        values = np.clip(_validate.array(scores, name="scores", ndim=1), low, high)
        found = np.empty(size)
        for run, top in enumerate(self.bound.sample(values, size, rng=generator)):
            # a loop: every run has bounds, and so a number of rounds, of its own
            b = float(max(top, low + 2 * self.quantile.resolution))
            search = replace(self.quantile, bounds=(low, b))
            found[run] = search.sample(np.minimum(values, b), 1, rng=generator)[0]
        return found

    def truncated(self, n: int) -> float:
        """Return a bound on the probability that b lies below the quantile of n distinct scores.

        A wrong bound needs a wrong comparison, with noise as large as the ranks in between.
        """
        gap = self.bound.rank(n) - self.quantile.rank(n)
        return min(1.0, self.bound.rounds * float(ndtr(-gap / self.bound.noise_scale)))


paper = Paper(title="P-COQS", subject=Heading.SEARCH_PRIVACY)
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)
_BOUND = PCOQS(alpha=0.01, rho=0.0625, bounds=(0.0, 1e3), resolution=1e-3)
_ORDERS = 1 + np.logspace(-4, 4, 81)


@paper.claim(
    "pcoqs.zcdp[to=approx-dp]",
    "Section 3.2",
    Verdict.PROVED,
    "“If M satisfies ρ-zCDP, then for δ > 0 M satisfies (ε, δ)-DP” with the printed ε.",
    "ε = ρ + 2√(ρ·log(1/δ))",
)
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


@paper.claim(
    "pcoqs.zcdp[composition=tight]",
    "Section 3.2",
    Verdict.PROVED,
    "“ρ-zCDP is tight under sequential composition”: releases of ρ₁ and ρ₂ may cost all of ρ₁+ρ₂.",
    "sup D_α/α = ρ₁ + ρ₂",
)
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


@paper.claim(
    "pcoqs.zcdp[from=pure-dp]",
    "Section 5",
    Verdict.PROVED,
    "“ε-DP implies (ε²/2)-zCDP.”",
    "D_α ≤ α·ε²/2",
    parameters={"epsilon": list(_EPSILONS)},
    epsilons=_EPSILONS,
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


@paper.claim(
    "pcoqs.remark-1[budget]",
    "Remark 1",
    Verdict.PROVED,
    "With a bound b that is released at ρ_b, “the total privacy cost then becomes ρ_total = ρ + "
    "ρ_b”.",
    "ρ_total = ρ + ρ_b",
    parameters={"rho": 0.5, "rho_bound": 0.0625},
    bound=_BOUND,
    quantile=_DEFAULT,
)
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


@paper.claim(
    "pcoqs.remark-1[n=2400]",
    "Remark 1",
    Verdict.PROVED,
    "“Using a conservative public bound or a privately estimated high quantile yields similar "
    "utility”: at the same total budget the noise is within a tenth, whatever the scores, and the "
    "bound truncates hardly ever what matters.",
    "σ(b)/σ ≤ 1.1",
    subject=Heading.SEARCH_RANK,
    standing=Standing.READING,
    parameters={"rho": 0.4375, "rho_bound": 0.0625, "n": 2400},
    mechanism=PrivatelyBounded(bound=_BOUND, quantile=replace(_DEFAULT, rho=0.4375)),
    n=2400,
    claimed=1.1,
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
