"""The suites: every claim that a run puts to the test, as data."""

from __future__ import annotations

import fnmatch
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from dpcp_audit.errors import UsageError
from dpcp_audit.papers.claims import (
    compared_calibrators,
    dpskin_accounting,
    ldpcp_reports,
    ldpcp_theorems,
    other_quantiles,
    pcoqs_privacy,
    pcoqs_theorems,
    printed_tables,
    privacy_budgets,
    release_attacks,
    reproduced_tables,
    theorem_grid,
    training_suite,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.rows import Row
    from dpcp_audit.target_checks.check_spec import CheckSpec


class Suite(StrEnum):
    """Which claims a run puts to the test."""

    PAPERS = "papers"
    """What the papers claim, at the parameters that matter most."""
    THEOREMS = "theorems"
    """Every coverage theorem over score laws, sizes and privacy parameters."""
    TABLES = "tables"
    """What the papers print, reproduced, and their calibrators compared at equal privacy."""
    TRAINING = "training"
    """DP-SGD and DP-Adam under attack; with the extra ``dpsgd``."""
    TARGETS = "targets"
    """What code from elsewhere claims."""
    ZOO = "zoo"
    """Planted bugs and their correct twins: what the checks can see."""


def suite(
    which: Suite = Suite.PAPERS,
    pools: tuple[str, ...] = (),
    targets: tuple[CheckSpec, ...] = (),
) -> tuple[Row, ...]:
    """Return all rows of a suite, in the order of the ledger.

    Parameters
    ----------
    pools : tuple of str
        Files of saved pools, for the theorem suite (see ``load_pool``).
    targets : tuple of CheckSpec
        Code from elsewhere, for its suite.
    """
    if which is not Suite.TARGETS:
        return _suite(which, pools)
    from dpcp_audit.target_checks.target_rows import rows_of_targets  # noqa: PLC0415  (it has rows)

    return tuple(rows_of_targets(targets))


@cache
def _suite(which: Suite, pools: tuple[str, ...]) -> tuple[Row, ...]:
    rows = _rows(which, pools)
    ids = [row.claim.id for row in rows]
    repeated = {id_ for id_ in ids if ids.count(id_) > 1}
    if repeated:
        raise ValueError(f"ids must be unique, got {sorted(repeated)} twice")
    return rows


def _rows(which: Suite, pools: tuple[str, ...]) -> tuple[Row, ...]:
    if which is Suite.THEOREMS:
        try:
            return tuple(theorem_grid.rows(pools))
        except ValueError as error:  # of a pool's file
            raise UsageError(f"--pool: {error}") from error
    if pools:
        raise UsageError("--pool goes with --suite theorems")
    if which is Suite.TRAINING:
        return tuple(training_suite.rows())
    if which is Suite.TABLES:
        return (*reproduced_tables.rows(), *compared_calibrators.rows())
    if which is Suite.ZOO:
        from dpcp_audit.zoo.zoo_rows import rows as zoo_rows  # noqa: PLC0415  (it has rows)

        return tuple(zoo_rows())
    return (
        *ldpcp_reports.rows(),
        *ldpcp_theorems.rows(),
        *pcoqs_privacy.rows(),
        *pcoqs_theorems.rows(),
        *other_quantiles.rows(),
        *printed_tables.rows(),
        *release_attacks.rows(),
        *privacy_budgets.rows(),
        *dpskin_accounting.rows(),
    )


def select(
    patterns: Sequence[str], which: Suite = Suite.PAPERS, pools: tuple[str, ...] = ()
) -> list[Row]:
    """Return the rows whose id matches any of the patterns, in the suite's order.

    ``*`` and ``?`` are wildcards; brackets stand for themselves, as they do in ids. No
    pattern selects everything.
    """
    rows = list(suite(which, pools))
    if not patterns:
        return rows
    escaped = [pattern.replace("[", "[[]") for pattern in patterns]
    for given, pattern in zip(patterns, escaped, strict=True):
        if not any(fnmatch.fnmatchcase(row.claim.id, pattern) for row in rows):
            raise UsageError(
                f"--only: no claim matches {given!r}; 'dpcp-audit list --suite {which}' shows all"
            )
    return [row for row in rows if any(fnmatch.fnmatchcase(row.claim.id, pat) for pat in escaped)]


def row_of(
    finding_id: str,
    which: Suite = Suite.PAPERS,
    pools: tuple[str, ...] = (),
    targets: tuple[CheckSpec, ...] = (),
) -> Row:
    """Return the row with this id."""
    for row in suite(which, pools, targets):
        if row.claim.id == finding_id:
            return row
    raise UsageError(f"no claim has the id {finding_id!r}; 'dpcp-audit list' shows all")
