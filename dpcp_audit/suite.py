"""A suite: claims that a run tests together, with one probability of a false alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcp_audit.rows import Row


def _nothing() -> None:
    """Require nothing."""


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
    require : callable
        Raises ``MissingExtraError`` where what the checks run with is not installed.
    scaled : bool
        Whether a run's profile scales its sample sizes; False where the rows fix them.

    Examples
    --------
    >>> Suite(summary="No claims yet.", rows=lambda: ()).takes
    frozenset()
    """

    summary: str
    rows: Callable[..., Iterable[Row]]
    takes: frozenset[str] = frozenset()
    require: Callable[[], None] = _nothing
    scaled: bool = True
