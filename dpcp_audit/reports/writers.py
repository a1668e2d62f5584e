"""Report files: what ``--report FORMAT=PATH`` names, and writing them.

What a report format is: its name, its file suffix, what it needs, and how it renders.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dpcp_audit.reports.document import dump
from dpcp_audit.reports.formats import format_names, report_format
from dpcp_audit.words.whole_files import IncompleteError, UsageError, require_package, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One report: how it is rendered and where it goes (``None`` is stdout)."""

    render: Render
    path: Path | None


def format_for(
    path: Path, *, option: str = "path", names: Sequence[str] | None = None
) -> ReportFormat:
    """Return the format that a file's suffix asks for; a message names the option.

    ``names`` are those to choose from, all formats unless given.

    Raises
    ------
    UsageError
        If no format has the suffix.
    """
    choice = format_names() if names is None else names
    known = {found.suffix: found for found in map(report_format, choice)}
    fitting = [suffix for suffix in known if path.name.endswith(suffix)]
    if not fitting:
        suffixes = ", ".join(sorted(known))
        raise UsageError(
            f"{option} must end in one of {suffixes}, got {str(path)!r}",
            hint="or name the format: html=PATH",
        )
    return known[max(fitting, key=len)]


def parse_reports(
    arguments: Sequence[str], formats: Mapping[str, Render] | None = None
) -> tuple[Writer, ...]:
    """Return the writers that ``FORMAT=PATH`` arguments name.

    ``formats`` are those of a results document unless given.

    Everything that can be known to fail is refused here, before any long work: unknown
    formats, missing extras, folders that do not exist or cannot be written to, one file or
    stdout named twice.
    """
    writers = tuple(_parse(argument, formats) for argument in arguments)
    paths = [writer.path for writer in writers]
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(
                f"--report: {path or 'stdout'} is named more than once",
                hint="give each report a file of its own",
            )
    return writers


def _parse(argument: str, formats: Mapping[str, Render] | None) -> Writer:
    name, found, target = argument.partition("=")
    names = format_names() if formats is None else tuple(formats)
    if not found:  # the file's name says the format
        wanted = format_for(Path(argument), option="--report", names=names)
        name, target = next(name for name in names if report_format(name) is wanted), argument
    elif not target:
        raise UsageError(
            f"--report must be FORMAT=PATH, got {argument!r}", hint="such as html=report.html"
        )
    if name not in names:
        raise UsageError(
            f"--report: unknown format {name!r}", hint=f"use one of {', '.join(names)}"
        )
    known = report_format(name)
    known.require()
    render = known.render if formats is None else formats[name]
    if target == "-":
        return Writer(render=render, path=None)
    path = Path(target)
    require_writable(path, option="--report")
    return Writer(render=render, path=path)


def require_writable(path: Path, *, option: str) -> None:
    """Refuse a file that could not be written in the end, before any long work.

    Raises
    ------
    UsageError
        Naming the option.
    """
    try:
        _refuse(path, option)
    except UsageError:
        raise
    except (OSError, ValueError) as error:  # too long, or no path at all
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{option}: {path}: {reason}") from error


def _refuse(path: Path, option: str) -> None:
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: the folder {path.parent} does not exist")
    beside = path if path.exists() and not path.is_file() else Path(os.path.realpath(path)).parent
    if not os.access(beside, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{option}: {path} cannot be written to")
    if not path.exists() or path.is_file():
        with tempfile.TemporaryFile(dir=beside):  # what access alone does not say
            pass


def _without_figures(document: dict[str, Any]) -> dict[str, Any]:
    findings = [finding | {"figures": []} for finding in document["findings"]]
    overview = document.get("overview", {"tables": []}) | {"figures": []}
    return document | {"findings": findings, "overview": overview}


def _stdout() -> TextIO:
    stream: TextIO | None = sys.stdout  # None where the caller closed it
    if stream is None:
        raise IncompleteError("--report: stdout is closed")
    return stream


def write_all(document: dict[str, Any], writers: Sequence[Writer], *, figures: bool = True) -> None:
    """Render and write every report; what could not be written is reported once all were tried.

    The results themselves come first, since all other reports can be made from them. Without
    ``figures``, which take the most time, the others are written sooner.
    """
    failures: list[str] = []
    shown = document if figures else _without_figures(document)
    for writer in sorted(writers, key=lambda each: each.render is not dump):
        text = writer.render(document if writer.render is dump else shown)
        if writer.path is None:
            _stdout().write(text)
            continue
        try:
            write_whole(writer.path, text)
        except OSError as error:
            failures.append(f"{writer.path}: {error.strerror}")
    if failures:
        raise IncompleteError(f"--report: {'; '.join(failures)}")


Render = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A format of reports: what a module in :mod:`dpcp_audit.reports.formats` holds as ``FORMAT``.

    Parameters
    ----------
    suffix : str
        Ending of the files' names, such as ".html".
    help : str
        What it is for, in a few words.
    render : callable
        From a results document to the text of the report.
    packages : tuple of str
        Optional packages that it imports.
    extra : str
        The extra of this package that installs them.
    """

    suffix: str
    help: str
    render: Render
    packages: tuple[str, ...] = ()
    extra: str = ""

    def require(self) -> None:
        """Raise ``MissingExtraError`` where a package that it imports is not installed."""
        for package in self.packages:
            require_package(package, self.extra)
