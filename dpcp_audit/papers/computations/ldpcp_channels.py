"""What another channel than k-RR does to LDP-CP-L's noise."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.computed import Computation
from dpcp_audit.mechanisms.ldpcp.label_channels import KaryChannel, UnaryChannel
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.outcome_tables import Table, TableColumn
from dpcp_audit.proofs import ProofMethod
from dpcp_audit.quantities import Quantity
from dpcp_audit.stats.enclosures import all_at_most, ball, ends, exact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb

    from dpcp_audit.mechanisms.ldpcp.label_channels import LabelChannel

_SIZES = (1, 2, 5, 10)


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
            "It is smaller from k of about 3e^ε + 2 on: "
            + ", ".join(f"k > {crossing(epsilon)} at ε = {epsilon:g}" for epsilon in epsilons)
            + ". The aggregator does process reports of many labels: it adds up the weights of "
            "those that score at most q. Sets of many labels take more noise with either channel."
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
