"""Where Theorem 4 of LDP-CP fails: its exact failure probability over n and another parameter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Figure, FigureKind, Series
from dpcp_audit.extensions.theorems import exact_failure, failure_probability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.extensions.claims import Computation
    from dpcp_audit.extensions.theorems import ScoreTheorem


SIZES = (500, 1_000, 2_400, 11_080, 100_000, 1_000_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
ROUNDS = (6, 8, 10, 12, 16, 20, 25)


def failure_with_regions(theorem: ScoreTheorem, *, compared_rounds: int) -> Computation:
    """Compute the failure probability of Theorem 4, and where else it fails.

    Parameters
    ----------
    theorem : ScoreTheorem
        The case that the claim is about.
    compared_rounds : int
        The number of rounds T at which ε is varied.

    Returns
    -------
    Computation
        That of :func:`exact_failure`, with two more figures: the failure probability over
        (n, T), and over (n, ε) at ``compared_rounds``.
    """
    computed = exact_failure(theorem)
    compared = replace(theorem, rounds=compared_rounds)
    by_rounds = {f"T = {t}": replace(theorem, rounds=t) for t in ROUNDS}
    by_epsilon = {f"ε = {e:g}": replace(compared, epsilon=e) for e in EPSILONS}
    regions = (
        failure_region(by_rounds, over="n and T", given=f"ε = {theorem.epsilon:g}"),
        failure_region(by_epsilon, over="n and ε", given=f"T = {compared_rounds}"),
    )
    return replace(computed, figures=(*computed.figures, *regions))


def failure_region(
    theorems: Mapping[str, ScoreTheorem], *, over: str, given: str, sizes: Sequence[int] = SIZES
) -> Figure:
    """Return a heat map of exact failure probabilities.

    Parameters
    ----------
    theorems : mapping
        One row of the map for each, by its label; all on one population and with one δ.
    over, given : str
        What varies and what is fixed, in words.
    sizes : sequence of int
        The numbers n of users, one column for each.

    Raises
    ------
    ValueError
        If there is no theorem, or populations or δ differ.
    """
    fixed = {(theorem.population.name, theorem.delta) for theorem in theorems.values()}
    if len(fixed) != 1:
        raise ValueError(f"theorems must share one population and one delta, got {sorted(fixed)}")
    ((population, delta),) = fixed
    return Figure(
        kind=FigureKind.HEATMAP,
        title=f"Failure probability over {over}, on {population} scores, {given}",
        x_label="n",
        y_label="",
        series=[
            Series(
                name=label,
                x=[float(n) for n in sizes],
                y=[failure_probability(replace(theorem, n=n)) for n in sizes],
            )
            for label, theorem in theorems.items()
        ],
        marks={f"above δ = {delta:g}": delta},
        description=(
            f"The exact probability that the coverage falls short of its bound, over {over} with "
            f"{given}, on {population} scores. Theorem 4 allows {delta:g}: it fails in the orange "
            "cells."
        ),
    )
