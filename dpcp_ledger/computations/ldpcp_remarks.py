"""Exact checks of what LDP-CP says of its estimates, its blocks, its scores and its figures."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from flint import fmpq, fmpz_poly

from dpcp_audit.extensions.claims import (
    Computation,
    Figure,
    FigureKind,
    Proof,
    ProofMethod,
    Quantity,
    Series,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import hps
from dpcp_audit.extensions.mechanisms import (
    CellCounts,
    KaryRandomizedResponse,
    LDPCPScores,
    dkw_width,
    hoeffding_width,
)
from dpcp_audit.extensions.statistics import at_most, ends, exact, response_keep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import ProbabilityPool
    from dpcp_audit.extensions.mechanisms import ShuffledBinaryResponse


_ROUNDING = 1e-12
"""Below it a difference that is computed in floating point may be none."""


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


def blocks_outside(*, n: int, rounds: int) -> Computation:
    """Count indices that the printed blocks name beyond the n users (Algorithm 3, line 5)."""
    _validate.integer(rounds=rounds, at_least=1)
    _validate.integer(n=n, at_least=rounds)
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


def score_range(
    score: Callable[[FloatArray, FloatArray], FloatArray],
    pool: Callable[[], ProbabilityPool],
    *,
    argument: str = "",
) -> Computation:
    """Compute the largest score over a pool and over certain predictions, at u = 1.

    Parameters
    ----------
    score : callable
        From probabilities (m, k) and u (m,) to scores (m, k), increasing in u.
    argument : str
        Why no score of exact probabilities exceeds 1, if that is known. It proves nothing of
        scores one of which, as computed, exceeds 1 by however little.
    """
    probabilities = pool().probabilities
    certain = np.eye(probabilities.shape[1])
    rows = np.concatenate([certain, probabilities])
    scores = score(rows, np.ones(len(rows)))
    row, label = np.unravel_index(int(np.argmax(scores)), scores.shape)
    real = scores[certain.shape[0] :]
    found = Computation(
        quantity=Quantity.VALUE,
        detail="largest score",
        value=float(scores[row, label]),
        claimed=1.0,
        witness={"probabilities": rows[row].tolist(), "label": int(label), "u": 1.0},
        note=(
            f"On real predictions the largest is {real.max():.4g}, and "
            f"{(real > 1 + 1e-9).mean():.1%} of the scores can exceed 1, where the search on "
            "[0, 1] never looks."
        ),
    )
    if not argument or found.value > 1:
        return found
    return found.between(
        at_most("largest score of certain and of the pool's predictions ≤ 1", found.value, 1),
        method=ProofMethod.ARGUMENT,
        argument=argument,
        parameters={},
    )


def width_ratio_at_any_rounds(
    *, labels: Sequence[int], epsilon: float, rounds: int, delta: float
) -> Computation:
    """Compute the smallest Δ_S/Δ_L over numbers of labels and T ≥ ``rounds`` (Figure 5).

    Δ_S grows with T, and neither width's ratio depends on n: T = ``rounds`` has the smallest.
    """
    size = 10**5
    ratios = {
        k: hoeffding_width(n=size, epsilon=epsilon, rounds=rounds, delta=delta)
        / dkw_width(n=size, beta=KaryRandomizedResponse(epsilon, k).beta, delta=delta)
        for k in labels
    }
    least = min(ratios, key=lambda k: ratios[k])
    return Computation(
        quantity=Quantity.RATIO,
        detail=f"smallest Δ_S/Δ_L over k and T ≥ {rounds}",
        value=ratios[least],
        claimed=1.0,
        witness={"k": least, "epsilon": epsilon, "rounds": rounds, "delta": delta, "n": size},
        note=(
            f"At ε = {epsilon:g} Δ_S is the larger one at every n, for every k from {min(labels)} "
            f"to {max(labels)} and every T ≥ {rounds}; T = 1 searches nothing. The paper does not "
            "state its T. Both widths scale as 1/√n, so that no n changes their order."
        ),
    )


def width_ratio(*, k: int, epsilon: float, rounds: int, delta: float) -> Computation:
    """Compute the largest Δ_S/Δ_L over n from 10⁵ to 10¹² (Figure 5)."""
    sizes = [10**exponent for exponent in range(2, 13)]
    response = KaryRandomizedResponse(epsilon, k)
    ratios = [
        hoeffding_width(n=n, epsilon=epsilon, rounds=rounds, delta=delta)
        / dkw_width(n=n, beta=response.beta, delta=delta)
        for n in sizes
    ]
    value = max(ratios[3:])
    moved = max(ratios) - min(ratios)
    same = "is the same" if moved < _ROUNDING * value else f"moves by {moved:.1g}"
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest Δ_S/Δ_L for n ≥ 10⁵",
        value=value,
        claimed=1.0,
        witness={"k": k, "epsilon": epsilon, "rounds": rounds, "delta": delta, "n": 10**5},
        note=(
            "Both widths scale as 1/√n, so their ratio does not depend on n: from n = 100 to 10¹² "
            f"it {same}, whatever T and the constant of Δ_S are: the smaller correction at n ≥ 10⁵ "
            "is the smaller one at every n, and the same section finds Δ_S > Δ_L on data sets of "
            "n < 10⁵. The ratio depends on k, ε and T."
        ),
        figures=(
            _ratio_figure(epsilon, rounds, delta, sizes),
            informative_region(rounds=rounds, alpha=0.1, delta=delta),
        ),
    )


def _ratio_figure(epsilon: float, rounds: int, delta: float, sizes: list[int]) -> Figure:
    labels = (2, 8, 30, 100, 1000)
    series = [Series(name="claimed for n ≥ 10⁵", x=[1e5, 1e12], y=[1.0, 1.0])]
    for k in labels:
        beta = KaryRandomizedResponse(epsilon, k).beta
        ratio = [
            hoeffding_width(n=n, epsilon=epsilon, rounds=rounds, delta=delta)
            / dkw_width(n=n, beta=beta, delta=delta)
            for n in sizes
        ]
        series.append(Series(name=f"k = {k}", x=[float(n) for n in sizes], y=ratio))
    return Figure(
        kind=FigureKind.LINES,
        title=f"Δ_S/Δ_L at ε = {epsilon:g}, T = {rounds}",
        x_label="n",
        y_label="Δ_S/Δ_L",
        log_x=True,
        log_y=True,
        series=series,
        description="The ratio of the two widths is flat in n for every number of classes.",
    )


def informative_region(*, rounds: int, alpha: float, delta: float) -> Figure:
    """Return the smallest n at which Δ_L and Δ_S fall below α, against ε.

    Both widths are a constant over √n, so that n = (width at n = 1 / α)².
    """
    epsilons = np.linspace(0.5, 8.0, 31)
    series = [
        Series(
            name=f"Δ_S, T = {rounds}",
            x=epsilons.tolist(),
            y=[
                (hoeffding_width(n=1, epsilon=e, rounds=rounds, delta=delta) / alpha) ** 2
                for e in epsilons
            ],
        )
    ]
    for k in (2, 10, 100, 1000):
        widths = [
            dkw_width(n=1, beta=KaryRandomizedResponse(e, k).beta, delta=delta) for e in epsilons
        ]
        series.append(
            Series(name=f"Δ_L, k = {k}", x=epsilons.tolist(), y=[(w / alpha) ** 2 for w in widths])
        )
    return Figure(
        kind=FigureKind.LINES,
        title=f"Smallest n at which a bound says anything (Δ < α = {alpha:g})",
        x_label="ε",
        y_label="n",
        log_y=True,
        series=series,
        description=(
            "Above its curve a bound is informative. LDP-CP-L needs fewer users for few classes "
            "or large ε; LDP-CP-S does not depend on the number of classes."
        ),
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


def label_guess(response: KaryRandomizedResponse) -> Computation:
    """Compute the best guess's success from a k-RR report, over a uniform prior."""
    mass = np.exp(np.stack([law.log_mass for law in response.laws()]))
    success = float(mass.max(axis=0).mean())
    kept, allowed = (
        1 - exact(response.move_probability),
        partial(response_keep, response.epsilon, response.k),
    )
    low, high = ends(kept)
    return Computation(
        quantity=Quantity.ATTACK_SUCCESS,
        detail="of the best guess",
        value=success,
        lower=low,
        upper=high,
        claimed=ends(allowed)[1],
        proof=Proof(
            method=ProofMethod.CLOSED_FORM,
            argument=(
                "The best guess from a report is the report itself, for each of the k reports: "
                "it is right with the probability 1−m of a kept label, m the double that is drawn "
                "with."
            ),
            premises=(at_most("1−m ≤ e^ε/(e^ε+k−1)", kept, allowed),),
            parameters={"epsilon": response.epsilon, "k": response.k},
        ),
        witness={"epsilon": response.epsilon, "k": response.k},
        note=f"Guessing without the report succeeds with probability {1 / response.k:.4g}.",
    )


def shuffle_amplification(
    mechanism: ShuffledBinaryResponse, *, n: int, granted_delta: float, rounds: int = 1
) -> Computation:
    """Compute δ at ε/√n of the shuffled count, against a granted δ (LDP-CP, Section 4.2).

    The paper states no δ. A pure claim is refuted by any δ > 0; ``granted_delta`` is what a
    reader would have to grant. Where n users answer in ``rounds`` blocks, the reports of n/T are
    shuffled.
    """
    effective, together = mechanism.epsilon / math.sqrt(n), n // rounds
    pair = mechanism.pair(together, together - 1)
    both = (pair, pair.reversed())
    value = max(way.delta_at(effective) for way in both)
    true_epsilon = max(way.epsilon_at(1e-6) for way in both)
    epsilons = np.linspace(0.0, max(1.0, 1.2 * true_epsilon), 41)
    exact = [max(way.delta_at(e) for way in both) for e in epsilons]
    return Computation(
        quantity=Quantity.DELTA,
        at={"epsilon": effective},
        detail="",
        value=value,
        claimed=granted_delta,
        witness={
            "n": n,
            "epsilon": mechanism.epsilon,
            "reports": together,
            "ones_elsewhere": together - 1,
            "effective_epsilon": effective,
            "epsilon_at_delta_1e-6": true_epsilon,
        },
        note=(
            f"At δ = 1e-6 the shuffled reports are {true_epsilon:.3g}-DP, "
            f"{true_epsilon / effective:.1f} times the claimed {effective:.3g}. The order 1/√n is "
            "right for large n at fixed ε and δ; the factor is not ε."
        ),
        figures=(
            Figure(
                kind=FigureKind.LINES,
                title=f"Shuffled binary RR, {together} reports, ε = {mechanism.epsilon:g}",
                x_label="ε",
                y_label="δ(ε)",
                log_y=True,
                series=[
                    Series(name="exact", x=epsilons.tolist(), y=[max(d, 1e-16) for d in exact])
                ],
                marks={"claimed ε/√n": effective},
                description=(
                    "The exact δ(ε) of the shuffled count on the witness pair; at the claimed "
                    "ε/√n it is far from zero."
                ),
            ),
        ),
    )
