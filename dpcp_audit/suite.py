"""A suite: claims that a run tests together, with one probability of a false alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dpcp_audit.figures import Figure
    from dpcp_audit.outcome_tables import Table
    from dpcp_audit.rows import Row
    from dpcp_audit.skipped import Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a run of a suite shows as a whole: tables and figures of all findings together."""

    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


def _require_nothing() -> None:
    """Return: nothing is needed."""


def _nothing() -> tuple[Skipped, ...]:
    """Return nothing: all checks can run here."""
    return ()


def _no_overview(document: Mapping[str, Any]) -> Overview:  # noqa: ARG001
    """Return an overview without figures and tables."""
    return Overview()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What ``dpcp-audit run --suite NAME`` tests; its name is that of its registration.

    Parameters
    ----------
    summary : str
        What it tests, in a line.
    rows : callable
        Returns its claims with their checks, in the order of the reports. Two calls with the
        same arguments return the same claims, in any process.
    takes : frozenset of str
        The keyword arguments of ``rows``, all with a default: ``pools``, the files of saved
        pools; ``targets``, third-party code; others of its own, plain data.
    overview : callable
        From the results document to what stands above the findings.
    require : callable
        Raises ``MissingExtraError`` where what the checks run with is not installed.
    skipped : callable
        Returns the checks that cannot run here and are not among the rows, with the reasons.
    scaled : bool
        Whether a run's profile scales its sample sizes; False where the rows fix them.
    longest : tuple of str
        Ids of the checks that take longest, the longest first. They are handed out before the
        others, so that no worker is left alone with one in the end; findings do not depend on it.
    given_by : str
        The command that gives the suite its claims, such as ``check``; "" of one with its own.

    Examples
    --------
    >>> Suite(summary="No claims yet.", rows=lambda: ()).takes
    frozenset()
    """

    summary: str
    rows: Callable[..., Iterable[Row]]
    takes: frozenset[str] = frozenset()
    overview: Callable[[Mapping[str, Any]], Overview] = _no_overview
    require: Callable[[], None] = _require_nothing
    skipped: Callable[[], tuple[Skipped, ...]] = _nothing
    scaled: bool = True
    longest: tuple[str, ...] = ()
    given_by: str = ""
