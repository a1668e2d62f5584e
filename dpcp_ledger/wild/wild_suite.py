"""The suite of public repositories: what each promises, tested in the user's own clone of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Suite
from dpcp_audit.extensions.targets import recipes
from dpcp_ledger.libraries.libraries_suite import rows_of_recipes

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Row, Skipped
    from dpcp_audit.extensions.targets import Recipe


def rows() -> list[Row]:
    """Return the claims of the repositories that are cloned here, with their checks."""
    return rows_of_recipes(wild_recipes())


def skipped() -> tuple[Skipped, ...]:
    """Return the recipes whose repository is not cloned here."""
    return recipes.runnable(wild_recipes())[1]


def wild_recipes() -> tuple[Recipe, ...]:
    """Return the recipes of repositories."""
    return tuple(each for each in recipes.select(recipes.own_names()) if each.repository)


SUITE = Suite(
    summary="What public repositories promise of private quantiles, tested in your clones of them.",
    rows=rows,
    skipped=skipped,
    scaled=False,
)
