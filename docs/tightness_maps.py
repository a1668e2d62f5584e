"""How tight the coverage theorems are over n, ε, k, ρ and β: what correction would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Figure, FigureKind, Series
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import tightness_of
from dpcp_ledger.claims.tightest_cases import ConfidentLabels, on_steps, ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.extensions.theorems import Scalable, Tightness


_EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TightnessMap:
    """A theorem over two parameters.

    Parameters
    ----------
    title, description : str
        What is shown, and what is fixed.
    rows, columns : tuple
        A parameter's name and its values.
    case : callable
        Returns the theorem at a row's and a column's value.
    """

    title: str
    description: str
    rows: tuple[str, Sequence[float]]
    columns: tuple[str, Sequence[float]]
    case: Callable[[float, float], Scalable]

    def cells(self) -> list[list[Tightness]]:
        """Compute the tightness in every cell."""
        return [[tightness_of(self.case(y, x)) for x in self.columns[1]] for y in self.rows[1]]

    def figure(self) -> Figure:
        """Return the smallest multiples that would do as a heat map."""
        name, values = self.rows
        return Figure(
            kind=FigureKind.HEATMAP,
            title=self.title,
            x_label=self.columns[0],
            y_label="",
            series=[
                Series(
                    name=f"{name} = {value:g}",
                    x=[float(x) for x in self.columns[1]],
                    y=[each.multiple for each in cells],
                    texts=[f"{each.multiple:.2f}" for each in cells],
                )
                for value, cells in zip(values, self.cells(), strict=True)
            ],
            description=self.description,
        )


def tightness_maps() -> tuple[TightnessMap, ...]:
    """Return the maps: Δ_L over k and ε, Δ_S over n and ε, τ* over β and ρ."""
    return (
        TightnessMap(
            title="Theorem 3 of LDP-CP: the multiple of Δ_L that would do",
            description=(
                "Smallest multiple of Δ_L that failures at an early midpoint allow, on confident "
                "predictions, over ε and the number k of classes; n = 100 000, δ = 0.1, α = 0.5. "
                "Later midpoints may ask for more."
            ),
            rows=("k", (2, 10, 100)),
            columns=("ε", _EPSILONS),
            case=_labels,
        ),
        TightnessMap(
            title="Theorem 4 of LDP-CP: the multiple of Δ_S that would do",
            description=(
                "Smallest multiple of Δ_S at which Theorem 4 would still hold on its staircase, "
                "over ε and n; T = 10, δ = 0.1, α = 0.1."
            ),
            rows=("n", (10_000, 100_000, 1_000_000)),
            columns=("ε", _EPSILONS),
            case=_scores,
        ),
        TightnessMap(
            title="Proposition 1 of P-COQS: the multiple of τ* that would do",
            description=(
                "Smallest multiple of τ* at which Proposition 1 would still hold on scores at both "
                "ends of the interval, over ρ and β; n = 2000, α = 0.1."
            ),
            rows=("β", (0.1, 0.01, 1e-4, 1e-8)),
            columns=("ρ", (0.01, 0.1, 0.5, 2.0)),
            case=_ranks,
        ),
    )


def _labels(k: float, epsilon: float) -> Scalable:
    return ConfidentLabels(n=100_000, epsilon=epsilon, delta=0.1, k=int(k), alpha=0.5)


def _scores(n: float, epsilon: float) -> Scalable:
    return on_steps(n=int(n), epsilon=epsilon, delta=0.1)


def _ranks(beta: float, rho: float) -> Scalable:
    return ranked(PCOQS(alpha=0.1, rho=rho), n=2000, beta=beta)
