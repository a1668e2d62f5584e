"""What another channel than k-RR does to LDP-CP-L's noise."""

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
from dpcp_ledger.mechanisms.label_channels import KaryChannel, UnaryChannel, bernstein_width
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb

    from dpcp_ledger.mechanisms.label_channels import LabelChannel


paper = Paper(title="LDP-CP", subject="LDP-CP, other statements")
_SIZES = (1, 2, 5, 10)


_ROUNDS, _DELTA, _USERS, _MOST_LABELS = 10, 0.1, 100_000, 4096
"""At which Δ is compared."""


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


def switch(epsilon: float, n: int | None = None) -> int | None:
    """Return the smallest k from which unary encoding has less noise over sets of every size.

    None where that is beyond 4,096 labels: with few users Δ is as large as the range of a report.

    Parameters
    ----------
    n : int, optional
        Compare Δ of the mechanism on n users, at T = 10 and δ = 0.1; without, the largest
        variance of a report's estimate, which decides as n grows.

    Examples
    --------
    >>> switch(1.0), switch(2.0), switch(1.0, n=100_000)
    (41, 107, 43)
    """
    low, high = 2, 4
    while not _unary_is_better(high, epsilon, n):
        low, high = high, 2 * high
        if high > _MOST_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _unary_is_better(middle, epsilon, n) else (middle, high)
    return high


def switch_table(epsilons: Sequence[float] = (0.5, 1.0, 2.0, 3.0)) -> Table:
    """Return from how many labels on unary encoding has less noise, by what is compared."""
    return Table(
        title="Labels from which optimised unary encoding has less noise than k-RR",
        columns=[
            TableColumn(name="ε", texts=[f"{epsilon:g}" for epsilon in epsilons]),
            TableColumn(name="one label", texts=[str(crossing(e) + 1) for e in epsilons]),
            TableColumn(name="sets of every size", texts=[str(switch(e)) for e in epsilons]),
            TableColumn(
                name=f"Δ, n = {_USERS:,}", texts=[str(switch(e, _USERS)) for e in epsilons]
            ),
            TableColumn(name="16e^ε", texts=[f"{16 * math.exp(e):.0f}" for e in epsilons]),
        ],
    )


def _unary_is_better(k: int, epsilon: float, n: int | None) -> bool:
    kary, unary = (
        KaryChannel(KaryRandomizedResponse(epsilon, k)),
        UnaryChannel.optimised(epsilon, k),
    )
    return _largest(unary, n) < _largest(kary, n)


def _largest(channel: LabelChannel, n: int | None) -> float:
    """Return the largest variance, or what the reports add to Δ, over sets of every size."""
    sizes = range(channel.k + 1)
    if n is None:
        return max(map(channel.variance, sizes))
    log_term = math.log(4 * (2**_ROUNDS - 1) / _DELTA)
    return max(
        bernstein_width(channel.variance(size), channel.reach(size), n=n, log_term=log_term)
        for size in sizes
    )


def _share(k: int, epsilon: float) -> arb:
    grown = ball(exact(epsilon)).exp()
    kary = (k - 1 + grown) * (1 - 1 / (k - 1 + grown)) / (grown - 1) ** 2
    return 4 * grown / (grown - 1) ** 2 / kary


def _table(labels: Sequence[int], epsilons: Sequence[float]) -> Table:
    cases = [(k, epsilon, m) for k in labels for epsilon in epsilons for m in _SIZES]
    channels: dict[str, Callable[[int, float], LabelChannel]] = {
        "k-RR": lambda k, epsilon: KaryChannel(KaryRandomizedResponse(epsilon, k)),
        "optimised unary encoding": lambda k, epsilon: UnaryChannel.optimised(epsilon, k),
        "RAPPOR": lambda k, epsilon: UnaryChannel.rappor(epsilon, k),
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
                    texts=[f"{make(k, epsilon).variance(m):.3g}" for k, epsilon, m in cases],
                )
                for name, make in channels.items()
            ),
        ],
    )
