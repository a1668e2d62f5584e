"""The suite of libraries: what pip installs promises, tested where it is installed.

Its rows are the checks of this package's recipes of libraries, and the quantile of
private_prediction_sets, whose law this package computes without running that code.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import (
    Computation,
    Computed,
    Quantity,
    Row,
    Source,
    Standing,
    Suite,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.mechanisms import ExponQ, Normaliser
from dpcp_audit.extensions.targets import recipes, rows_of_targets
from dpcp_ledger.mechanisms.releases import worst_log_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.extensions.claims import Skipped
    from dpcp_audit.extensions.targets import Recipe


REWRITTEN = "ExponQ as published"
"""The subject of the rows whose library is not run."""
_SIZES = {100: Verdict.REFUTED, 500: Verdict.REFUTED, 2400: Verdict.CONSISTENT}
"""Numbers of scores at which the public code of private_prediction_sets is tried."""
_NOT_THE_PACKAGE = (
    "The repository's code is not run here: the law is computed from get_private_quantile as this "
    "package writes it, with the code's normaliser min(α, 1−α), its level clipped to 1 − 10⁻¹² and "
    "γ = 0.01. With the normaliser min(q̃, 1−q̃) it is ε-DP."
)
_PUBLIC = ExponQ(
    alpha=0.1, epsilon=1.0, n_candidates=10_000, gamma=0.01, normaliser=Normaliser.PUBLISHED
)


def rows() -> list[Row]:
    """Return the claims of the libraries that are installed here, with their checks."""
    return rows_of_recipes(library_recipes()) + _public_rows()


def skipped() -> tuple[Skipped, ...]:
    """Return the recipes whose library is not installed here, or cannot be imported."""
    return recipes.runnable(library_recipes())[1]


def library_recipes() -> tuple[Recipe, ...]:
    """Return the recipes of libraries."""
    return tuple(each for each in recipes.select(recipes.own_names()) if each.distribution)


def rows_of_recipes(found: Iterable[Recipe]) -> list[Row]:
    """Return the claims of the recipes that can run here, with what is known of each.

    Parameters
    ----------
    found : iterable of Recipe
    """
    runnable = [recipe for recipe in found if not recipe.obstacle()]
    return [
        _of_recipe(row, recipe)
        for recipe in runnable
        for row in rows_of_targets(recipe.config.checks)
    ]


def _of_recipe(row: Row, recipe: Recipe) -> Row:
    known = recipe.finding_of(row.claim.subject)
    claim = replace(
        row.claim,
        source=Source(paper=recipe.version(), section=recipe.summary),
        standing=Standing.READING if known and known.reading else row.claim.standing,
        expected=Verdict.CONSISTENT if known is None else Verdict.REFUTED,
        assumptions=f"{recipe.promise} {row.claim.assumptions}",
        parameters=row.claim.parameters | {"version": recipe.version()},
    )
    return replace(row, claim=claim)


def _public_rows() -> list[Row]:
    claim = claims_of("private_prediction_sets", subject=REWRITTEN, standing=Standing.STATED)
    return [
        Row(
            claim=claim(
                f"private-prediction-sets[n={n}]",
                "core, get_private_quantile",
                expected,
                "The released quantile is ε-DP, where one score is replaced by another",
                parameters={"n": n, "alpha": 0.1, "epsilon": 1.0, "n_candidates": 10_000},
                assumptions=_NOT_THE_PACKAGE,
            ),
            check=Computed(partial(_worst, n)),
        )
        for n, expected in _SIZES.items()
    ]


def _worst(n: int) -> Computation:
    """Return the largest log-ratio of two neighbours of n scores, over a family of such pairs."""
    pair = worst_log_ratio(_PUBLIC, n)
    bound = max(pair.log_ratio, _PUBLIC.log_ratio_bound(n))
    return Computation(
        quantity=Quantity.EPSILON,
        value=pair.log_ratio,
        claimed=_PUBLIC.epsilon,
        slack=bound - pair.log_ratio,
        witness={
            "n": n,
            "scores": pair.scores.tolist(),
            "neighbour_scores": pair.neighbour_scores.tolist(),
            "released": pair.released,
        },
        note=f"No pair of neighbours has a larger log-ratio than {bound:.4g}.",
    )


SUITE = Suite(
    summary="What other libraries promise, tested where they are installed.",
    rows=rows,
    skipped=skipped,
    scaled=False,
)
