"""A suite's own code, called so that what goes wrong in another package's ends in one line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpcp_audit._plain_data import is_record
from dpcp_audit.checks import Check
from dpcp_audit.engine.encoding import plain_data
from dpcp_audit.errors import MissingExtraError, UsageError
from dpcp_audit.results import Claim, Source
from dpcp_audit.rows import Row
from dpcp_audit.targets.target_errors import one_line

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from importlib.metadata import EntryPoint


def package(entry: EntryPoint) -> str:
    """Return the name of the package that registers a suite."""
    return "dpcp-audit" if entry.dist is None else entry.dist.name


@contextmanager
def blamed(entry: EntryPoint, what: str) -> Generator[None]:
    """Make every error of another package's code a usage error that names the package.

    Code that ends the process is refused too. Errors of this package's own code stay as they
    are, and so does a missing extra.

    Parameters
    ----------
    what : str
        What the code fails to do, after the package's name.
    """
    try:
        yield
    except (UsageError, MissingExtraError):
        raise
    except (Exception, SystemExit) as error:
        if entry.dist is None:
            raise
        raise UsageError(
            f"--suite {entry.name}: {entry.value} of the package {package(entry)} {what}: "
            f"{one_line(f'{type(error).__name__}: {error}')}"
        ) from error


def checked_rows(found: Iterable[object]) -> tuple[Row, ...]:
    """Return what ``Suite.rows`` returned, all of it rows that can run and be reported."""
    return tuple(map(_checked, found))


def _checked(row: object) -> Row:
    if not isinstance(row, Row):
        raise TypeError(f"rows must hold instances of Row, got {type(row).__name__}")
    claim: object = row.claim
    check: object = row.check
    if not isinstance(claim, Claim):
        raise TypeError(f"claim must be a Claim, got {type(claim).__name__}")
    if not isinstance(check, Check) or not isinstance(check.sampled, bool):
        raise TypeError(
            f"check of {claim.id} must be callable and have sampled, True or False, got "
            f"{type(check).__name__}"
        )
    _check_claim(claim)
    return row


def _check_claim(claim: Claim) -> None:
    """Raise ``TypeError`` where a results document cannot hold the claim."""
    source: object = claim.source
    parameters: object = claim.parameters
    if not isinstance(source, Source):
        raise TypeError(f"source of {claim.id} must be a Source, got {type(source).__name__}")
    if not is_record(parameters):
        raise TypeError(f"parameters of {claim.id} must be a dict, got {parameters!r}")
    try:
        plain_data(parameters)
    except TypeError as error:
        raise TypeError(f"parameters of {claim.id}: {error}") from error
