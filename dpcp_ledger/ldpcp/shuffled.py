"""LDP-CP's claim that shuffling n reports of ε-LDP leaves ε/√n, on the exact laws."""

from __future__ import annotations

import math

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    Figure,
    FigureKind,
    Quantity,
    Series,
    Verdict,
)
from dpcp_audit.extensions.laws import FinitePair
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse
from dpcp_ledger.ldpcp.widths import datasets
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse
from dpcp_ledger.paper import Heading, Paper

paper = Paper(title="LDP-CP", subject=Heading.SHUFFLED)
_EPSILON, _GRANTED, _BITS = 4.0, 1e-3, ShuffledBinaryResponse(4.0)


@paper.claim(
    "ldpcp.shuffle[reports=blocks]",
    "Section 4.2 and Table 1",
    Verdict.REFUTED,
    "LDP-CP-S, which asks n/T users a round, has ε_eff = ε/√n when each round's reports are "
    "shuffled: “this integration does not alter the algorithmic structure”.",
    "ε_eff = ε/√n",
    parameters={"n": 11_080, "epsilon": _EPSILON, "rounds": 10, "delta": _GRANTED},
    mechanism=_BITS,
    n=11_080,
    rounds=10,
    granted_delta=_GRANTED,
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


for _n in (2_452, 11_080):
    paper.claim(
        f"ldpcp.shuffle[n={_n}]",
        "Section 4.2 and Table 1",
        Verdict.REFUTED,
        "“The effective privacy loss can be reduced to approximately ε^eff = ε/√n” by "
        "shuffling n reports of ε-LDP; no δ is stated, so that a large one is granted.",
        "ε_eff = ε/√n",
        parameters={"n": _n, "epsilon": _EPSILON, "delta": _GRANTED},
        mechanism=_BITS,
        n=_n,
        granted_delta=_GRANTED,
    )(shuffle_amplification)


@paper.claim(
    "ldpcp.shuffle[reports=features]",
    "Section 4.1, Table 1 and Figure 4",
    Verdict.REFUTED,
    "The shuffle model gives LDP-CP-L, whose reports carry the features xᵢ, a label privacy of "
    "ε_eff = ε/√n; no δ is stated, so that a large one is granted.",
    "ε_eff = ε/√n",
    parameters={"epsilon": _EPSILON, "delta": _GRANTED, "reports": "features"},
    epsilon=_EPSILON,
    granted_delta=_GRANTED,
)
def feature_reports(*, epsilon: float, granted_delta: float) -> Computation:
    """Compute ε of the shuffled (xᵢ, ỹᵢ) over the claimed ε/√n, on each data set (Section 4.1).

    Where the features differ the order says nothing: whoever knows xᵢ finds the report of user
    i, and the laws of all reports on neighbours differ in that one alone. The loss is that of
    k-RR, whatever n is.
    """
    losses = {
        name: (_own_report(epsilon, k).epsilon_at(granted_delta), epsilon / math.sqrt(n))
        for name, (n, k) in datasets().items()
    }
    least = min(losses, key=lambda name: losses[name][0] / losses[name][1])
    true, claimed = losses[least]
    return Computation(
        quantity=Quantity.LOSS_RATIO,
        at={"delta": granted_delta},
        detail="ε of the shuffled reports in units of ε/√n, the least over the data sets",
        value=true / claimed,
        claimed=1.0,
        witness={"data": least, "epsilon": true, "claimed": claimed, "granted": granted_delta},
        note=(
            f"The true ε is {true:.4g} where {claimed:.3g} is claimed: distinct xᵢ hide nobody, "
            "and shuffling gains nothing. Over the data sets: "
            + ", ".join(f"{t:.4g} for {c:.2g} ({name})" for name, (t, c) in losses.items())
            + "."
        ),
    )


def _own_report(epsilon: float, k: int) -> FinitePair:
    return FinitePair(*KaryRandomizedResponse(epsilon, k).laws()[:2])
