"""Report files: what ``--report FORMAT=PATH`` names, and writing them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpcp_audit.reports import document as documents
from dpcp_audit.reports.errors import MissingExtraError, UsageError

Render = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One report: how it is rendered and where it goes (``None`` is stdout)."""

    render: Render
    path: Path | None


def _html(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.html import render_html  # noqa: PLC0415  (needs the report extra)

    return render_html(document)


def _markdown(document: dict[str, Any]) -> str:
    from dpcp_audit.reports.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(document)


_FORMATS: Mapping[str, Render] = {"json": documents.dump, "html": _html, "markdown": _markdown}
_EXTRA = {"html": ("jinja2", "matplotlib")}


def parse_reports(arguments: Sequence[str]) -> tuple[Writer, ...]:
    """Return the writers that ``FORMAT=PATH`` arguments name.

    Everything that can be known to fail is refused here, before any long work: unknown
    formats, missing extras, folders that do not exist.
    """
    return tuple(_parse(argument) for argument in arguments)


def _parse(argument: str) -> Writer:
    name, found, target = argument.partition("=")
    if not found or not target:
        raise UsageError(f"--report must be FORMAT=PATH, got {argument!r}")
    if name not in _FORMATS:
        raise UsageError(f"--report: unknown format {name!r}, use one of {', '.join(_FORMATS)}")
    for package in _EXTRA.get(name, ()):
        if find_spec(package) is None:
            raise MissingExtraError(package, "report")
    if target == "-":
        return Writer(render=_FORMATS[name], path=None)
    path = Path(target)
    if path.is_dir():
        raise UsageError(f"--report: {target} is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"--report: the folder {path.parent} does not exist")
    return Writer(render=_FORMATS[name], path=path)


def write_all(document: dict[str, Any], writers: Sequence[Writer]) -> None:
    """Render and write every report."""
    for writer in writers:
        text = writer.render(document)
        if writer.path is None:
            sys.stdout.write(text)
            continue
        try:
            writer.path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--report: {writer.path}: {error.strerror}") from error
