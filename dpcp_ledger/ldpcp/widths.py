"""LDP-CP's corrections Δ_L and Δ_S: which is the larger one, and when either says anything."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flint import fmpz_poly

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity, Standing, Verdict
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse, dkw_width, hoeffding_width
from dpcp_audit.extensions.statistics import at_most, decimal
from dpcp_ledger.paper import Paper
from dpcp_ledger.reproduce import experiments

if TYPE_CHECKING:
    from collections.abc import Sequence


paper = Paper(title="LDP-CP", subject="LDP-CP, other statements")
_EPSILONS = tuple(map(float, range(1, 9)))
_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Δ_L and Δ_S in a setting that the paper leaves open.

    Parameters
    ----------
    rounds : int
        T of Δ_S.
    delta : float
        δ of both.
    """

    rounds: int
    delta: float

    def labels(self, *, n: int, k: int, epsilon: float) -> float:
        """Return Δ_L (Theorem 1)."""
        beta = KaryRandomizedResponse(epsilon, k).beta
        return dkw_width(n=n, beta=beta, delta=self.delta)

    def scores(self, *, n: int, epsilon: float) -> float:
        """Return Δ_S (Theorem 4, with Hoeffding's constant)."""
        return hoeffding_width(n=n, epsilon=epsilon, rounds=self.rounds, delta=self.delta)

    def ratio(self, *, n: int, k: int, epsilon: float) -> float:
        """Return Δ_S/Δ_L, which does not depend on n."""
        return self.scores(n=n, epsilon=epsilon) / self.labels(n=n, k=k, epsilon=epsilon)


_EXPERIMENT: dict[str, Any] = {"rounds": 10, "delta": 0.1}
_FIGURE_5: dict[str, Any] = {"rounds": 7, "delta": 0.1}
_IN_EXPERIMENT, _IN_FIGURE_5 = Widths(**_EXPERIMENT), Widths(**_FIGURE_5)


def datasets() -> dict[str, tuple[int, int]]:
    """Return n and k of the five data sets of Table 1."""
    return {
        name: (int(e["n"]), int(e["classes"])) for name, e in experiments.published_table().items()
    }


@paper.claim(
    "ldpcp.figure-3[widths]",
    "Section 5, Figure 3",
    Verdict.REFUTED,
    "“For the evaluated medical datasets (with n fixed) Δ_S > Δ_L”, at every ε that is evaluated "
    "and for the given T, which the paper does not state.",
    "Δ_L/Δ_S < 1",
    standing=Standing.READING,
    parameters=_EXPERIMENT | {"epsilon": list(_EPSILONS)},
    widths=_IN_EXPERIMENT,
    epsilons=_EPSILONS,
)
def scores_wider(widths: Widths, *, epsilons: Sequence[float]) -> Computation:
    """Compute the largest Δ_L/Δ_S over the evaluated data sets and ε (Section 5, Figure 3)."""
    cases = {
        (name, epsilon): 1 / widths.ratio(n=n, k=k, epsilon=epsilon)
        for name, (n, k) in datasets().items()
        for epsilon in epsilons
    }
    name, epsilon = max(cases, key=lambda case: cases[case])
    below = sorted({n for (n, _), inverse in cases.items() if inverse > 1})
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest Δ_L/Δ_S over the data sets and ε",
        value=cases[name, epsilon],
        claimed=1.0,
        witness={"data": name, "epsilon": epsilon, "n": datasets()[name][0]},
        note=(
            f"At ε = {epsilon:g} on {name}, Δ_S is {1 / cases[name, epsilon]:.3g} times Δ_L; the "
            f"sentence fails at some ε on {', '.join(below) or 'none'}. The paper states neither "
            "T, δ nor the constant of Δ_S, here Hoeffding's: "
            f"T = {_rounds_needed(widths, epsilons)} at least would make it true."
        ),
    )


def _rounds_needed(widths: Widths, epsilons: Sequence[float]) -> int:
    """Return the least T from which on Δ_S > Δ_L on every data set and at every ε."""
    for rounds in range(1, _MOST_ROUNDS + 1):
        tried = Widths(rounds=rounds, delta=widths.delta)
        every = (
            tried.ratio(n=n, k=k, epsilon=epsilon)
            for n, k in datasets().values()
            for epsilon in epsilons
        )
        if min(every) > 1:
            return rounds
    return _MOST_ROUNDS


@paper.claim(
    "ldpcp.figure-3[negligible]",
    "Section 5, Figure 3",
    Verdict.REFUTED,
    "“For the majority of the evaluated datasets” Δ_L is “negligible for α = 0.1”: at most a "
    "fifth of α on three of the five.",
    "Δ_L ≤ α/5",
    standing=Standing.READING,
    parameters={"alpha": 0.1, "epsilon": 3.0, "delta": 0.1, "share": 0.2},
    widths=_IN_EXPERIMENT,
    epsilon=3.0,
    share=0.2,
    alpha=0.1,
)
def negligible_widths(widths: Widths, *, epsilon: float, share: float, alpha: float) -> Computation:
    """Count the data sets whose Δ_L exceeds a share of α (Section 5, Figure 3)."""
    found = {name: widths.labels(n=n, k=k, epsilon=epsilon) for name, (n, k) in datasets().items()}
    larger = [name for name, width in found.items() if width > share * alpha]
    half = sum(width > alpha / 2 for width in found.values())
    listed = ", ".join(f"{name} {width:.3g}" for name, width in found.items())
    return Computation.counted(
        len(larger),
        detail=f"of {len(found)} data sets, those with Δ_L > {share:g}·α",
        claimed=(len(found) - 1) // 2,
        witness={"widths": found, "larger": larger},
        note=(
            f"Δ_L: {listed}. “Negligible” has no number in the paper; {half} of the "
            f"{len(found)} exceed half of α = {alpha:g}."
        ),
    )


@paper.claim(
    "ldpcp.figure-5[labels=many]",
    "Section 5, Figure 5",
    Verdict.REFUTED,
    "“As the number of classes k increases (particularly for large values of k, e.g., 100 or "
    "1000), LDP-CP-S dominates”: at each ε of the figure, for the given T, which the paper does "
    "not state.",
    "Δ_S ≤ Δ_L",
    standing=Standing.READING,
    parameters=_FIGURE_5 | {"k": [100, 1000], "epsilon": [2.0, 4.0, 8.0]},
    widths=_IN_FIGURE_5,
    labels=(100, 1000),
    epsilons=(2.0, 4.0, 8.0),
)
def many_labels(widths: Widths, *, labels: Sequence[int], epsilons: Sequence[float]) -> Computation:
    """Compute the largest Δ_S/Δ_L over numbers of labels and ε (Section 5, Figure 5)."""
    cases = {
        (k, epsilon): widths.ratio(n=10**5, k=k, epsilon=epsilon)
        for k in labels
        for epsilon in epsilons
    }
    k, epsilon = max(cases, key=lambda case: cases[case])
    one_round, two_rounds = (
        max(
            Widths(rounds=rounds, delta=widths.delta).ratio(n=10**5, k=each, epsilon=e)
            for each, e in cases
        )
        for rounds in (1, 2)
    )
    listed = ", ".join(f"{r:.3g} (k = {k}, ε = {e:g})" for (k, e), r in cases.items())
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest Δ_S/Δ_L over k and ε",
        value=cases[k, epsilon],
        claimed=1.0,
        witness={"k": k, "epsilon": epsilon, "rounds": widths.rounds, "delta": widths.delta},
        note=(
            f"Δ_S/Δ_L, at any n: {listed}. It grows with T, which the paper does not state, nor "
            "the constant of Δ_S; with Hoeffding's, only T = 1, which searches nothing, would make "
            "the sentence true at every ε."
            if one_round <= 1 < two_rounds
            else f"Δ_S/Δ_L, at any n: {listed}."
        ),
    )


@paper.claim(
    "ldpcp.widths[labels=growing]",
    "Section 4.1",
    Verdict.PROVED,
    "“As k increases, the calibration error (Δ) grows” with LDP-CP-L, and with LDP-CP-S it does "
    "not.",
    "Δ_L(k) < Δ_L(k+1)",
    parameters={},
    widths=_IN_EXPERIMENT,
    labels=range(2, 1001),
    epsilon=4.0,
)
def width_in_labels(widths: Widths, *, labels: Sequence[int], epsilon: float) -> Computation:
    """Compute the largest Δ_L(k)/Δ_L(k+1): below 1 where Δ_L grows with k (Section 4.1)."""
    sizes = [widths.labels(n=10**4, k=k, epsilon=epsilon) for k in labels]
    found = Computation(
        quantity=Quantity.RATIO,
        detail="largest Δ_L(k)/Δ_L(k′) for k < k′",
        value=max(a / b for a, b in itertools.pairwise(sizes)),
        claimed=1.0,
        witness={"labels": list(labels), "epsilon": epsilon},
        note="Δ_S has no k in it.",
    )
    (difference,) = {_growth(int(k)) for k in labels}
    return found.between(
        at_most("Δ_L(k)/Δ_L(k′) ≤ 1", decimal(found.value), 1),
        at_most("1 ≤ half of what 1/h gains per label, times e^ε − 1", 1, difference / 2),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Δ_L is 1/h times what does not depend on k, and with x = e^ε 1/h = (2k−1+x)/(x−1): "
            "each label adds 2/(x−1) > 0, for every ε > 0."
        ),
        parameters={},
    )


def _growth(k: int) -> int:
    """Return (1/h(k+1) − 1/h(k))·(x−1), a constant, from h = (1−β)/(1+β) as polynomials in x."""
    x = fmpz_poly([0, 1])

    def inverse(labels: int) -> fmpz_poly:  # (1+β)/(1−β) with β = k/(x+k−1), times x−1
        return (x + labels - 1) + labels

    grown = inverse(k + 1) - inverse(k)
    return int(grown[0])


@paper.claim(
    "ldpcp.figure-5",
    "Section 5, Figure 5",
    Verdict.REFUTED,
    "“Roughly speaking for n ≥ 10^5 → Δ_S ≤ Δ_L”: from there on LDP-CP-S has the smaller "
    "correction, at ε = 8, for some T ≥ 2 and some k up to 100, with Hoeffding's constant in Δ_S.",
    "n ≥ 10⁵ → Δ_S ≤ Δ_L",
    standing=Standing.READING,
    parameters={"labels": "2..100", "epsilon": 8.0, "rounds": 2, "delta": 0.1},
    labels=range(2, 101),
    epsilon=8.0,
    rounds=2,
    delta=0.1,
)
def width_ratio_at_any_rounds(
    *, labels: Sequence[int], epsilon: float, rounds: int, delta: float
) -> Computation:
    """Compute the smallest Δ_S/Δ_L over numbers of labels and T ≥ ``rounds`` (Figure 5).

    Δ_S grows with T, and neither width's ratio depends on n: T = ``rounds`` has the smallest.
    """
    size = 10**5
    widths = Widths(rounds=rounds, delta=delta)
    ratios = {k: widths.ratio(n=size, k=k, epsilon=epsilon) for k in labels}
    least = min(ratios, key=lambda k: ratios[k])
    many = {k: widths.ratio(n=size, k=k, epsilon=epsilon) for k in (200, 300, 1000)}
    listed = ", ".join(f"{ratio:.3g} (k = {k})" for k, ratio in many.items())
    return Computation(
        quantity=Quantity.RATIO,
        detail=f"smallest Δ_S/Δ_L over k and T ≥ {rounds}",
        value=ratios[least],
        claimed=1.0,
        witness={"k": least, "epsilon": epsilon, "rounds": rounds, "delta": delta, "n": size},
        note=(
            f"At ε = {epsilon:g} Δ_S is the larger one at every n, for every k from {min(labels)} "
            f"to {max(labels)} and every T ≥ {rounds}; for more labels Δ_S/Δ_L at T = {rounds} is "
            f"{listed}. The paper states neither T nor the constant of Δ_S, which is Hoeffding's "
            f"here, nor δ, here {delta:g}; T = 1, which searches nothing, would make it true. "
            "Whatever they are, both widths scale as 1/√n, so that no n changes their order."
        ),
    )
