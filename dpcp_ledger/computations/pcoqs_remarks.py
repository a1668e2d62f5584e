"""Exact checks of what P-COQS says of its own bounds: Proposition 1's zCDP, Remarks 2 and 7."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.audits import search_proof
from dpcp_audit.extensions.claims import Computation, Figure, FigureKind, Quantity, Relation, Series
from dpcp_audit.extensions.theorems import TheoremTrials, noise_rank_error

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray, PlainData
    from dpcp_audit.extensions.laws import Population
    from dpcp_audit.extensions.mechanisms import PCOQS


_ORDERS = 1 + np.logspace(-4, 4, 129)
_CELLS = 2**21


def zcdp_supremum(mechanism: PCOQS, *, n: int) -> Computation:
    """Compute sup D_α/α over all neighbours and orders, against ρ (Proposition 1).

    For each order the supremum over all pairs of inputs is computed; over the orders it is
    taken on a grid up to 10⁴. Beyond and between, D_α ≤ αN/(2σ²), because a comparison bit is
    post-processing of a Gaussian count of sensitivity 1: the upper end.
    """
    shares = [mechanism.renyi_supremum(a) / (a * mechanism.rho) for a in _ORDERS]
    balanced = mechanism.worst_pair(n)
    proof = search_proof(
        mechanism.rho,
        rounds=mechanism.rounds,
        noise_scale=mechanism.noise_scale,
        parameters={
            "rho": mechanism.rho,
            "resolution": mechanism.resolution,
            "bounds": list(mechanism.bounds),
            "relation": str(Relation.SUBSTITUTION),
        },
    )
    return Computation(
        quantity=Quantity.RHO,
        detail="over all neighbours, orders up to 10⁴",
        value=max(shares) * mechanism.rho,
        claimed=mechanism.rho,
        upper=proof.premises[0].left[1],
        proof=proof,
        witness={
            "n": n,
            "alpha": mechanism.alpha,
            "rho": mechanism.rho,
            "rounds": mechanism.rounds,
            "scores": balanced[0].tolist(),
            "neighbour_scores": balanced[1].tolist(),
        },
        note=(
            f"Near order 1 the release spends {shares[0]:.3f} of ρ at worst (2/π is 0.637), "
            "because it reveals only comparison bits; at high orders, through rare bits far from "
            "the rank, the worst pair spends all of ρ, so the constant cannot be lowered."
        ),
        figures=(_share_figure(shares),),
    )


def _share_figure(shares: list[float]) -> Figure:
    orders = _ORDERS.tolist()
    return Figure(
        kind=FigureKind.LINES,
        title="Share of ρ that the release spends, by Rényi order",
        x_label="order α",
        y_label="sup D_α/(αρ)",
        log_x=True,
        series=[
            Series(name="claimed: ρ-zCDP", x=[orders[0], orders[-1]], y=[1.0, 1.0]),
            Series(name="exact, all neighbours", x=orders, y=shares),
        ],
        description=(
            "The largest Rényi divergence over all neighbours as a share of what ρ-zCDP allows: "
            "about 0.64 at small orders, rising to 1 at high orders."
        ),
    )


def remark_7_bounds(mechanism: PCOQS, *, n: int, beta: float, stated: float) -> Computation:
    """Compute the least half-width that Theorem 1 gives, against the one that Remark 7 states.

    τ = τ* + M(Δ), and M(Δ) ≥ 1 for any scores: a window that ends at a score holds it.
    """
    noise = noise_rank_error(mechanism, beta=beta)
    least = (noise + 1) / (n + 1)
    return Computation(
        quantity=Quantity.VALUE,
        detail="least τ/(n+1) that Theorem 1 allows",
        value=least,
        claimed=stated + 5e-5,  # stated to four decimals
        witness={
            "n": n,
            "rho": mechanism.rho,
            "beta": beta,
            "resolution": mechanism.resolution,
            "bounds": list(mechanism.bounds),
        },
        note=(
            f"τ* alone gives {noise / (n + 1):.4f} below and {(noise + 1) / (n + 1):.4f} above, "
            f"the stated numbers; with the term M(Δ) ≥ 1 of Proposition 1 the bounds are "
            f"{least:.4f} and {(noise + 2) / (n + 1):.4f}. The remark leaves out one rank, and its "
            "condition min|sᵢ − sⱼ| < Δ must read >."
        ),
    )


def remark_2_fine(*, n: int, resolution: float, density_bound: float) -> Computation:
    """Compute the least E[M(Δ)] possible, 1, against Remark 2's L·Δ·n at a fine resolution."""
    claimed = density_bound * resolution * n
    return Computation(
        quantity=Quantity.VALUE,
        detail="least possible E[M(Δ)]",
        value=1.0,
        claimed=claimed,
        witness={"n": n, "resolution": resolution, "density_bound": density_bound},
        note=(
            "M(Δ) is a maximum over windows and is at least 1; L·Δ·n bounds the expected count of "
            "one fixed window. The expectation of a maximum is not the maximum of expectations."
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCount:
    """Remark 2: E[M(Δ)] ≤ L·Δ·n for scores with a density bounded by L.

    M(Δ) is the largest number of scores in a half-open interval (t, t+Δ]. The statistic is
    min(M, cap), whose mean bounds E[M] from below.
    """

    population: Population
    density_bound: float
    n: int
    resolution: float
    cap: int = 20
    statistic: str = field(default="M(Δ), scores in the fullest window", init=False)
    allowed_failure: float = field(default=0.0, init=False)
    failure: Quantity = field(default=Quantity.FAILURE, init=False)

    @property
    def bounds(self) -> dict[str, float]:
        """L·Δ·n, in scores."""
        return {"L·Δ·n": self.density_bound * self.resolution * self.n}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.n,
            "resolution": self.resolution,
            "density_bound": self.density_bound,
            "population": self.population.name,
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw score sets and count their fullest windows."""
        windows = np.empty(count)
        rows = max(1, _CELLS // self.n)
        for start in range(0, count, rows):
            part = windows[start : start + rows]
            scores = np.sort(self.population.sample((part.size, self.n), rng=rng), axis=1)
            part[:] = np.minimum(largest_windows(scores, self.resolution), self.cap)
        return TheoremTrials(windows, np.zeros(count, dtype=bool))


def largest_windows(scores: FloatArray, resolution: float) -> IntArray:
    """Return the most scores in any (t, t+Δ], for each row of sorted scores, shape (rows,).

    A fullest window can be taken to end at a score, and holds the scores above that score
    less Δ.
    """
    rank = np.arange(1, int(scores.shape[1]) + 1)
    rows: list[FloatArray] = list(scores)
    below = [np.searchsorted(row, row - resolution, "right") for row in rows]
    return np.array([(rank - at).max() for at in below], dtype=np.int64)
