"""Report files: what ``--report FORMAT=PATH`` names, and writing them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from dpcp_audit.errors import IncompleteError, MissingExtraError, UsageError
from dpcp_audit.reports import document as documents

Render = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One report: how it is rendered and where it goes (``None`` is stdout)."""

    render: Render
    path: Path | None


def _html(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.formats.html import render_html  # noqa: PLC0415  (needs the report extra)

    return render_html(document)


def _markdown(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.formats.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(document)


def _junit(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.formats.junit import render_junit  # noqa: PLC0415

    return render_junit(document)


def _sarif(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.formats.sarif import render_sarif  # noqa: PLC0415

    return render_sarif(document)


def _csv(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.formats.csv_table import render_csv  # noqa: PLC0415

    return render_csv(document)


FORMATS: Mapping[str, Render] = {
    "json": documents.dump,
    "html": _html,
    "markdown": _markdown,
    "junit": _junit,
    "sarif": _sarif,
    "csv": _csv,
}
_EXTRA = {"html": ("jinja2", "matplotlib")}


def parse_reports(
    arguments: Sequence[str], formats: Mapping[str, Render] = FORMATS
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
            raise UsageError(f"--report: {path or 'stdout'} is named more than once")
    return writers


def _parse(argument: str, formats: Mapping[str, Render]) -> Writer:
    name, found, target = argument.partition("=")
    if not found or not target:
        raise UsageError(f"--report must be FORMAT=PATH, got {argument!r}")
    if name not in formats:
        raise UsageError(f"--report: unknown format {name!r}, use one of {', '.join(formats)}")
    for package in _EXTRA.get(name, ()):
        if find_spec(package) is None:
            raise MissingExtraError(package, "report")
    if target == "-":
        return Writer(render=formats[name], path=None)
    path = Path(target)
    try:
        _refuse(path)
    except UsageError:
        raise
    except (OSError, ValueError) as error:  # too long, or no path at all
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--report: {target}: {reason}") from error
    return Writer(render=formats[name], path=path)


def _refuse(path: Path) -> None:
    """Raise ``UsageError`` where nothing can be written to the path."""
    if path.is_dir():
        raise UsageError(f"--report: {path} is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"--report: the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--report: {path} cannot be written to")


def _stdout() -> TextIO:
    stream: TextIO | None = sys.stdout  # None where the caller closed it
    if stream is None:
        raise IncompleteError("--report: stdout is closed")
    return stream


def write_all(document: dict[str, Any], writers: Sequence[Writer]) -> None:
    """Render and write every report; what could not be written is told once all were tried."""
    failures = []
    for writer in writers:
        text = writer.render(document)
        if writer.path is None:
            _stdout().write(text)
            continue
        try:
            writer.path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            failures.append(f"{writer.path}: {error.strerror}")
    if failures:
        raise IncompleteError(f"--report: {'; '.join(failures)}")
