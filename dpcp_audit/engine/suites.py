"""The registry of suites: those of this package, and those of other packages by entry point.

A package registers a :class:`dpcp_audit.words.checks.Suite` by an entry point of the group
``dpcp_audit.suites``; its name is that of the entry point. A suite is imported when it is first
asked for.
"""

from __future__ import annotations

import fnmatch
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.tasks import plain_data
from dpcp_audit.targets.answers import one_line
from dpcp_audit.targets.loading import code_of
from dpcp_audit.words.checks import Check, Row, Suite
from dpcp_audit.words.errors import MissingExtraError, UsageError
from dpcp_audit.words.results import Claim, Source, SourceLocation
from dpcp_audit.words.values import is_record

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from dpcp_audit.words.checks import Skipped


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
        The words after the package's name: the failure of its code.
    """
    try:
        yield
    except (UsageError, MissingExtraError):
        raise
    except (Exception, SystemExit) as error:
        if entry.dist is None:
            raise
        raise UsageError(
            f"suite {entry.name}: {entry.value} of the package {package(entry)} {what}: "
            f"{one_line(f'{type(error).__name__}: {error}')}",
            hint="install what it needs, or uninstall the package",
        ) from error


def checked_rows(found: Iterable[object]) -> tuple[Row, ...]:
    """Return the rows of a suite, after a check that all can run and be reported."""
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


GROUP = "dpcp_audit.suites"
_DISTRIBUTION = "dpcp-audit"
_OF_GIVEN_CODE = {
    "theorem-case": "dpcp_audit.theorems.theorem_case:SUITE",
    "targets": "dpcp_audit.target_checks.target_rows:SUITE",
    "traces": "dpcp_audit.target_checks.loss_rows:TRACES",
    "estimates": "dpcp_audit.target_checks.loss_rows:ESTIMATES",
}
"""Suites whose claims a command gives; all others are registered by entry points."""


def entries(name: str = "") -> list[EntryPoint]:
    """Return the registrations of a suite, or of all; those of this distribution come first.

    A name of this distribution's own is nobody else's: see ``ignored``.
    """
    own = built_in()
    others = [entry for entry in _registered(tuple(sys.path)) if entry.name not in own]
    return [entry for entry in [*own.values(), *others] if name in ("", entry.name)]


def built_in() -> dict[str, EntryPoint]:
    """Return the registrations of this distribution's suites, by name."""
    given = {name: EntryPoint(name, place, GROUP) for name, place in _OF_GIVEN_CODE.items()}
    return _own(tuple(sys.path)) | given


@lru_cache(maxsize=1)
def _own(path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Return the suites that this distribution registers, whose name is in a file for each."""
    return {entry.name: entry for entry in _registered(path) if _is_own(entry)}


def ignored() -> list[EntryPoint]:
    """Return the registrations of other packages under a name of this distribution's own."""
    found = _registered(tuple(sys.path))
    return [entry for entry in found if entry.name in built_in() and not _is_own(entry)]


def _is_own(entry: EntryPoint) -> bool:
    return entry.dist is not None and entry.dist.name == _DISTRIBUTION


@lru_cache(maxsize=1)
def _registered(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # noqa: ARG001  (where they lie)
    found = entry_points(group=GROUP)  # which reads a file of every distribution
    return tuple(sorted(found, key=lambda entry: (entry.name, package(entry))))


def names() -> list[str]:
    """Return the names of all suites, each once."""
    return list(dict.fromkeys(entry.name for entry in entries()))


def entry_of(name: str) -> EntryPoint:
    """Return the one registration of a suite.

    Raises
    ------
    UsageError
        If there is none, or more than one.
    """
    found = entries(name)
    if not found:
        raise UsageError(
            f"suite must be one of {', '.join(names())}, got {name!r}",
            hint="suites of other packages appear after you install them",
        )
    if len(found) > 1:
        rivals = " and ".join(map(package, found))
        raise UsageError(f"suite {name}: the name is registered by {rivals}", hint="uninstall one")
    return found[0]


@cache
def find(name: str) -> Suite:
    """Return a suite by its name.

    Raises
    ------
    UsageError
        If there is no such suite, two packages register it, or a third-party one is broken.
    """
    entry = entry_of(name)
    with blamed(entry, "cannot be imported"):
        found: object = entry.load()
    if isinstance(found, Suite):
        return found
    raise UsageError(
        f"suite {name}: {entry.value} of the package {package(entry)} must be a "
        f"dpcp_audit.words.checks.Suite, got {type(found).__name__}",
        hint="name the object in the entry point: package.module:SUITE",
    )


def require(name: str) -> None:
    """Raise an error where what a suite's checks run with is not installed.

    Raises
    ------
    MissingExtraError
        If it is an extra of this package.
    UsageError
        If it is something of another package.
    """
    with blamed(entry_of(name), "cannot run"):
        find(name).require()


def suite(name: str = "papers", /, **given: Any) -> tuple[Row, ...]:
    """Return all rows of a suite, in its order.

    Parameters
    ----------
    given : dict
        Keyword arguments of the suite; those that are empty count as left out.

    Raises
    ------
    UsageError
        If the suite does not take an argument, or two of its claims have the same id.
    """
    given = {key: value for key, value in given.items() if value}
    for key in given:
        if key not in find(name).takes:
            takers = ", ".join(each for each in built_in() if key in find(each).takes)
            raise UsageError(
                f"suite {name} takes no {key}; {takers or 'no suite'} does", hint=f"leave {key} out"
            )
    if not given:
        return _default_rows(name)
    try:
        return _rows(name, **given)
    except UsageError:
        raise
    except ValueError as error:  # of what was given
        raise UsageError(f"suite {name}: {error}") from error


@cache
def _default_rows(name: str) -> tuple[Row, ...]:
    return _rows(name)


def _rows(name: str, /, **given: Any) -> tuple[Row, ...]:
    found = find(name)
    with blamed(entry_of(name), "returns no rows"):
        rows = checked_rows(found.rows(**given))
    ids = [row.claim.id for row in rows]
    repeated = sorted({id_ for id_ in ids if ids.count(id_) > 1})
    if repeated:
        raise UsageError(
            f"suite {name} of the package {package(entry_of(name))}: ids must be unique, got "
            f"{repeated} twice",
            hint="add what tells the two apart to their ids, such as [n=100]",
        )
    return rows if found.given_by else tuple(_placed(row, found) for row in rows)


def _placed(row: Row, suite_: Suite) -> Row:
    """Return a row whose claim says where it is made: by the suite, unless it says itself."""
    code = code_of(suite_.rows)
    if row.claim.location is not None or code is None:
        return row
    module = str(getattr(suite_.rows, "__module__", ""))
    place = SourceLocation.in_module(code.co_filename, code.co_firstlineno, module=module)
    return replace(row, claim=replace(row.claim, location=place))


def select(patterns: Sequence[str], name: str = "papers", /, **given: Any) -> list[Row]:
    """Return the rows whose id matches any of the patterns, in the suite's order.

    ``*`` and ``?`` are wildcards; brackets stand for themselves, as they do in ids. No
    pattern selects everything.

    Raises
    ------
    UsageError
        If no id matches one of the patterns, or the suite has no claims at all.
    """
    rows = list(suite(name, **given))
    if not rows and not find(name).skipped():
        raise UsageError(f"suite {name} has no claims of its own", hint=_given_by(name))
    hint = f"'dpcp-audit list --suite {name}' shows all"
    try:
        chosen = set(matching(patterns, [row.claim.id for row in rows], what="claim", hint=hint))
    except UsageError as error:
        raise UsageError(f"{error}{_meant(patterns, find(name).skipped())}") from None
    return [row for row in rows if row.claim.id in chosen]


def _given_by(name: str) -> str:
    command = find(name).given_by
    return f"'dpcp-audit {command}' tests those that it is given" if command else ""


def _meant(patterns: Sequence[str], skipped: Sequence[Skipped]) -> str:
    """Return the sentence on skipped checks that patterns may mean; "" where there are none."""
    starts = [pattern.partition("*")[0] for pattern in patterns]
    meant = [
        each
        for each in skipped
        if any(
            start and (each.name.startswith(start) or start.startswith(each.name))
            for start in starts
        )
    ]
    return "".join(f"; {each.name} is skipped: {each.reason}" for each in meant)


def matching(
    patterns: Sequence[str], names: Sequence[str], *, what: str, hint: str = ""
) -> list[str]:
    """Return the names that match any of the patterns, in their order; no pattern, all of them.

    Parameters
    ----------
    what : str
        The kind of name, for the message.
    hint : str
        The advice, for the message.

    Raises
    ------
    UsageError
        If nothing matches one of the patterns.

    Examples
    --------
    >>> matching(["*[n=2]"], ["a[n=1]", "a[n=2]"], what="claim")
    ['a[n=2]']
    """
    escaped = [pattern.replace("[", "[[]") for pattern in patterns]
    for one, pattern in zip(patterns, escaped, strict=True):
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"only: no {what} matches {one!r}", hint=hint)
    return [
        name
        for name in names
        if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in escaped)
    ]


def row_of(finding_id: str, name: str = "papers", /, **given: Any) -> Row:
    """Return the row with this id."""
    for row in suite(name, **given):
        if row.claim.id == finding_id:
            return row
    raise UsageError(
        f"no claim has the id {finding_id!r}",
        hint=f"'dpcp-audit list --suite {name}' shows all",
    )
