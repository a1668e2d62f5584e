"""Exact checks of LDP-CP's sentences on its widths, its shuffled reports and its Table 1."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import fmpz_poly

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity, Table, TableColumn
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FinitePair
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse, dkw_width, hoeffding_width
from dpcp_audit.extensions.statistics import at_most, decimal
from dpcp_ledger.reproduce import ldpcp_experiments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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

    def ratio(self, *, n: int, k: int, epsilon: float) -> float:
        """Return Δ_S/Δ_L, which does not depend on n."""
        width = hoeffding_width(n=n, epsilon=epsilon, rounds=self.rounds, delta=self.delta)
        return width / self.labels(n=n, k=k, epsilon=epsilon)


def datasets() -> dict[str, tuple[int, int]]:
    """Return n and k of the five data sets of Table 1."""
    return {name: (int(e["n"]), int(e["classes"])) for name, e in _table().items()}


def _table() -> dict[str, dict[str, Any]]:
    return ldpcp_experiments.published()


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
        tables=(_ratio_table(widths, epsilons),),
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


def _ratio_table(widths: Widths, epsilons: Sequence[float]) -> Table:
    ratios = {
        name: [widths.ratio(n=n, k=k, epsilon=epsilon) for epsilon in epsilons]
        for name, (n, k) in datasets().items()
    }
    return Table(
        title=f"Δ_S/Δ_L at T = {widths.rounds} and δ = {widths.delta:g}",
        columns=[
            TableColumn(name="ε", texts=[f"{epsilon:g}" for epsilon in epsilons]),
            *(
                TableColumn(name=name, texts=[f"{r:.3f}" for r in values], values=values)
                for name, values in ratios.items()
            ),
        ],
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


def plain_quantile(*, n: int, alpha: float) -> Computation:
    """Compute the miscoverage at the plain (1−α)-quantile of n scores, against α (Section 2.1).

    Without ties the r-th smallest of n scores is exceeded with probability 1 − r/(n+1); the
    quantile of the scores is the ⌈n(1−α)⌉-th.
    """
    _validate.integer(n=n, at_least=1)
    _validate.open_unit(alpha=alpha)
    level = 1 - Fraction(repr(alpha))
    plain = -int(-level * n // 1)
    conformal = -int(-level * (n + 1) // 1)
    missed = 1 - Fraction(plain, n + 1)
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean, at the plain quantile of the scores",
        value=float(missed),
        claimed=alpha,
        witness={"n": n, "alpha": alpha, "rank": plain, "conformal_rank": conformal},
        note=(
            f"The {1 - alpha:g}-quantile of {n} scores is that of rank {plain}, and covers "
            f"{float(1 - missed):.4g}; the theorem holds of the rank ⌈(n+1)(1−α)⌉, here "
            f"{conformal}. Interpolation, as numerical libraries have it, covers less than 1−α "
            f"as well: {_interpolated(n, level):.4g} on uniform scores."
        ),
    )


def _interpolated(n: int, level: Fraction) -> float:
    """Return the coverage at the linearly interpolated quantile, on uniform scores."""
    return float((1 + level * (n - 1)) / (n + 1))


def equal_rows(dataset: str, methods: Iterable[str]) -> Computation:
    """Count the pairs of printed size and coverage that two methods share on a data set."""
    first, second = (_table()[dataset]["rows"][method].split() for method in methods)
    pairs = list(zip(first, second, strict=True))
    shared = [
        score
        for place, score in ((0, "HPS"), (2, "APS"))
        if all(a == b for a, b in pairs[place : place + 2])
    ]
    return Computation.counted(
        len(shared),
        detail="scores on which size, coverage and both spreads are the same",
        witness={"data": dataset, "scores": shared, "printed": pairs[0] if shared else []},
        note=(
            "A starred calibration asks for 1−α+Δ, another one than 1−α. A search of few rounds "
            "can end at one midpoint for both, in all of 100 seeds, and then its grid decides and "
            "not the target; or a row is printed twice. The table does not say which."
        ),
    )
