"""The registry of suites: those of this package, and those of other packages by entry point.

A package registers a :class:`dpcp_audit.suite.Suite` by an entry point of the group
``dpcp_audit.suites``; its name is that of the entry point. A suite is imported when it is first
asked for.
"""

from __future__ import annotations

import fnmatch
import sys
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.suite_code import blamed, checked_rows, package
from dpcp_audit.errors import UsageError
from dpcp_audit.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.rows import Row
    from dpcp_audit.skipped import Skipped

GROUP = "dpcp_audit.suites"
BUILT_IN = {
    "papers": "dpcp_audit.papers.claims.papers_suite:SUITE",
    "theorems": "dpcp_audit.papers.claims.theorem_grid:SUITE",
    "theorem-case": "dpcp_audit.theorems.theorem_case:SUITE",
    "tables": "dpcp_audit.papers.claims.tables_suite:SUITE",
    "reproduction": "dpcp_audit.papers.claims.reproduced_tables:SUITE",
    "comparison": "dpcp_audit.papers.claims.compared_calibrators:SUITE",
    "training": "dpcp_audit.papers.claims.training_suite:SUITE",
    "targets": "dpcp_audit.target_checks.target_rows:SUITE",
    "traces": "dpcp_audit.target_checks.trace_rows:SUITE",
    "estimates": "dpcp_audit.target_checks.estimate_rows:SUITE",
    "libraries": "dpcp_audit.libraries.libraries_suite:SUITE",
    "zoo": "dpcp_audit.zoo.zoo_suite:SUITE",
}


def entries(name: str = "") -> list[EntryPoint]:
    """Return the registrations of a suite, or of all; those of this package come first.

    A name of this package's own is nobody else's: see ``ignored``.
    """
    own = [EntryPoint(known, place, GROUP) for known, place in BUILT_IN.items()]
    others = [entry for entry in _third_party() if entry.name not in BUILT_IN]
    return [entry for entry in [*own, *others] if name in ("", entry.name)]


def ignored() -> list[EntryPoint]:
    """Return the registrations of other packages under a name of this package's own."""
    return [entry for entry in _third_party() if entry.name in BUILT_IN]


def _third_party() -> tuple[EntryPoint, ...]:
    return _registered(tuple(sys.path))


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
            f"--suite must be one of {', '.join(names())}, got {name!r}; that of another package "
            "is found once the package is installed"
        )
    if len(found) > 1:
        rivals = " and ".join(map(package, found))
        raise UsageError(f"--suite {name}: the name is registered by {rivals}; uninstall one")
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
        f"--suite {name}: {entry.value} of the package {package(entry)} must be a "
        f"dpcp_audit.suite.Suite, got {type(found).__name__}"
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
            takers = ", ".join(each for each in BUILT_IN if key in find(each).takes)
            raise UsageError(f"--suite {name} takes no {key}; {takers or 'no suite'} does")
    if not given:
        return _default_rows(name)
    try:
        return _rows(name, **given)
    except UsageError:
        raise
    except ValueError as error:  # of what was given
        raise UsageError(f"--suite {name}: {error}") from error


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
            f"--suite {name} of the package {package(entry_of(name))}: ids must be unique, got "
            f"{repeated} twice"
        )
    return rows


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
        raise UsageError(f"--suite {name} has no claims of its own{_given_by(name)}")
    hint = f"; 'dpcp-audit list --suite {name}' shows all"
    try:
        chosen = set(matching(patterns, [row.claim.id for row in rows], what="claim", hint=hint))
    except UsageError as error:
        raise UsageError(f"{error}{_meant(patterns, find(name).skipped())}") from None
    return [row for row in rows if row.claim.id in chosen]


def _given_by(name: str) -> str:
    command = find(name).given_by
    return f": 'dpcp-audit {command}' tests those that it is given" if command else ""


def _meant(patterns: Sequence[str], skipped: Sequence[Skipped]) -> str:
    """Return what is said of skipped checks that patterns may mean; "" where there are none."""
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
        What is named, for the message.
    hint : str
        Its end.

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
            raise UsageError(f"--only: no {what} matches {one!r}{hint}")
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
        f"no claim has the id {finding_id!r}; 'dpcp-audit list --suite {name}' shows all"
    )
