"""The suite of libraries: what pip installs promises, tested where it is installed.

Its rows are the checks of the recipes of this package, and the quantile of
private_prediction_sets, whose law this package computes without running that code. The recipe
``reference``, of mechanisms of this package, is not among them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.computed import Computation, Computed
from dpcp_audit.libraries import recipes
from dpcp_audit.mechanisms.exponq.exponential_quantile import ExponQ, Normaliser
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Source, Standing, Verdict
from dpcp_audit.rows import Row, claims_of
from dpcp_audit.suite import Suite
from dpcp_audit.target_checks.target_rows import rows_of_targets

if TYPE_CHECKING:
    from dpcp_audit.libraries.recipes import Recipe
    from dpcp_audit.skipped import Skipped

_OWN = "reference"
REWRITTEN = "ExponQ as published"
"""Of the rows whose library is not run."""
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
    runnable = [recipe for recipe in library_recipes() if not recipe.obstacle()]
    return [row for recipe in runnable for row in _rows_of(recipe)] + _public_rows()


def skipped() -> tuple[Skipped, ...]:
    """Return the recipes whose library is not installed here, or cannot be imported."""
    return recipes.runnable(library_recipes())[1]


def library_recipes() -> tuple[Recipe, ...]:
    """Return the recipes of libraries."""
    return recipes.select([name for name in recipes.own_names() if name != _OWN])


def _rows_of(recipe: Recipe) -> list[Row]:
    found = rows_of_targets(recipe.config.checks)
    return [_of_library(row, recipe) for row in found]


def _of_library(row: Row, recipe: Recipe) -> Row:
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
    pair = _PUBLIC.worst_log_ratio(n)
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
