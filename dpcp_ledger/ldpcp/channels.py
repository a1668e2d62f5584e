"""LDP-CP-L with other channels than k-RR, and what a report tells of its label.

A report R on label y has a known law P(R | y). A table of weights W(R, y′) with
E[W(R, y′) | y] = 1{y′ = y} turns it into an unbiased estimate of the label's indicator: of k-RR
W is the inverse of its matrix, of a report of k bits (b₁, …, b_k) it is (b_y′ − q)/(p − q).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import (
    Computation,
    ProofMethod,
    Quantity,
    Standing,
    Table,
    TableColumn,
    Verdict,
)
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse
from dpcp_audit.extensions.statistics import all_at_most, ball, ends, exact
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb


paper = Paper(title="LDP-CP", subject="LDP-CP, other statements")
_SIZES = (1, 2, 5, 10)
_MOST_LABELS = 4096


@paper.claim(
    "ldpcp.open-problem[channel=unary]",
    "Section 6, Conclusion and Open Problems",
    Verdict.PROVED,
    "“The integration of more advanced methods in Local Differential Privacy (LDP), such as "
    "RAPPOR”, into LDP-CP-L lowers the noise of one label where labels are many: by optimised "
    "unary encoding a report says with less noise than by k-RR whether the label is a given other.",
    "4e^ε/(e^ε−1)² ≤ (k−2+e^ε)/(e^ε−1)²",
    standing=Standing.PRACTICE,
    parameters={"k": [100, 1000], "epsilon": [1.0, 2.0, 3.0], "channel": "unary"},
    labels=(100, 1000),
    epsilons=(1.0, 2.0, 3.0),
)
def unary_noise(*, labels: Sequence[int], epsilons: Sequence[float]) -> Computation:
    """Compute the largest variance of a report's estimate over that of k-RR, for one label.

    The one label is another than the user's own, as almost every label is; reports come by
    optimised unary encoding.
    """
    shares = {(k, epsilon): partial(_share, k, epsilon) for k in labels for epsilon in epsilons}
    values = {case: ends(share)[1] for case, share in shares.items()}
    worst = max(values, key=lambda case: values[case])
    found = Computation(
        quantity=Quantity.RATIO,
        detail="largest variance of a report's estimate over that of k-RR",
        value=values[worst],
        claimed=1.0,
        witness={"k": worst[0], "epsilon": worst[1]},
        note=(
            "Of one label it is smaller from k of about 3e^ε + 2 on: "
            + ", ".join(f"k > {crossing(epsilon)} at ε = {epsilon:g}" for epsilon in epsilons)
            + ". The aggregator adds up the weights of all labels that score at most q, and sets "
            "of many labels take more noise: over sets of every size the largest variance is "
            "smaller from about 14e^ε + 2 on, "
            + ", ".join(f"k ≥ {switch(epsilon)} at ε = {epsilon:g}" for epsilon in epsilons)
            + "."
        ),
        tables=(_table(labels, epsilons),),
    )
    return found.between(
        all_at_most("variance over that of k-RR ≤ 1", list(shares.values()), 1),
        method=ProofMethod.ENUMERATION,
        argument=(
            "A bit that is 1 with probability q = 1/(e^ε+1) has the variance "
            "q(1−q)/(1/2−q)² = 4e^ε/(e^ε−1)², a report of k-RR c(1−c)/(1−β)² with "
            "c = 1/(k−1+e^ε) and 1−β = (e^ε−1)/(k−1+e^ε). Both are enclosed in every case."
        ),
        parameters={"k": list(labels), "epsilon": list(epsilons)},
    )


def crossing(epsilon: float) -> int:
    """Return the largest k at which k-RR has no more noise than optimised unary encoding.

    Examples
    --------
    >>> crossing(1.0), crossing(2.0)
    (10, 24)
    """
    k = 2
    while ends(partial(_share, k + 1, epsilon))[0] >= 1:
        k += 1
    return k


def switch(epsilon: float) -> int | None:
    """Return the smallest k from which unary encoding has less noise over sets of every size.

    Examples
    --------
    >>> switch(1.0), switch(2.0)
    (41, 107)
    """

    def better(k: int) -> bool:
        of_bits = partial(unary_variance, *optimised(epsilon), k)
        sizes = range(k + 1)
        return max(map(of_bits, sizes)) < max(map(partial(kary_variance, epsilon, k), sizes))

    return first_labels(better)


def first_labels(better: Callable[[int], bool]) -> int | None:
    """Return the smallest k that is better, as all above it are; None beyond 4,096 labels."""
    low, high = 2, 4
    while not better(high):
        low, high = high, 2 * high
        if high > _MOST_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if better(middle) else (middle, high)
    return high


def kary_variance(epsilon: float, k: int, size: int) -> float:
    """Return the variance of 1{R in a set}/(1−β) under k-RR, the larger of y inside and outside."""
    beta = KaryRandomizedResponse(epsilon, k).beta
    spread = beta * size / k
    chances = ([1 - beta + spread] if size else []) + ([spread] if size < k else [])
    return max(chance * (1 - chance) for chance in chances) / (1 - beta) ** 2


def unary_variance(keep: float, flip: float, k: int, size: int) -> float:
    """Return the sum of independent bits' variances, the larger of y inside and outside a set."""
    other = flip * (1 - flip)
    inside = [keep * (1 - keep) + (size - 1) * other] if size else []
    outside = [size * other] if size < k else []
    return max(inside + outside) / (keep - flip) ** 2


def optimised(epsilon: float) -> tuple[float, float]:
    """Return optimised unary encoding's chances of a 1: of the true label, and of every other."""
    return 0.5, 1 / (math.exp(epsilon) + 1)


def rappor(epsilon: float) -> tuple[float, float]:
    """Return the chances of a 1 in RAPPOR's one-time response, likewise."""
    flip = 1 / (math.exp(epsilon / 2) + 1)
    return 1 - flip, flip


def _share(k: int, epsilon: float) -> arb:
    grown = ball(exact(epsilon)).exp()
    kary = (k - 1 + grown) * (1 - 1 / (k - 1 + grown)) / (grown - 1) ** 2
    return 4 * grown / (grown - 1) ** 2 / kary


def _table(labels: Sequence[int], epsilons: Sequence[float]) -> Table:
    cases = [(k, epsilon, m) for k in labels for epsilon in epsilons for m in _SIZES]
    variances: dict[str, Callable[[float, int, int], float]] = {
        "k-RR": kary_variance,
        "optimised unary encoding": lambda e, k, m: unary_variance(*optimised(e), k, m),
        "RAPPOR": lambda e, k, m: unary_variance(*rappor(e), k, m),
    }
    return Table(
        title="Largest variance of one report's estimate of whether the label is in a set",
        columns=[
            TableColumn(name="k", texts=[str(k) for k, _, _ in cases]),
            TableColumn(name="ε", texts=[f"{epsilon:g}" for _, epsilon, _ in cases]),
            TableColumn(name="labels in the set", texts=[str(m) for _, _, m in cases]),
            *(
                TableColumn(
                    name=name,
                    texts=[f"{variance(epsilon, k, m):.3g}" for k, epsilon, m in cases],
                )
                for name, variance in variances.items()
            ),
        ],
    )
