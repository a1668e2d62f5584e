"""Report formats: each is an entry of a module's ``FORMATS``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.reports.document import ReportFormat

_MODULES = {
    "cells": "data",
    "csv": "data",
    "html": "html",
    "json": "data",
    "junit": "ci",
    "markdown": "markdown",
    "sarif": "ci",
    "tables": "markdown",
}
"""The module of each format, by the format's name."""


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, in alphabetical order; none is imported."""
    return tuple(sorted(_MODULES))


def menu() -> str:
    """Return the formats as a help text names them: ``csv=, html=, … or sarif=``."""
    *most, last = (f"{name}=" for name in format_names())
    return f"{', '.join(most)} or {last}"


def report_format(name: str) -> ReportFormat:
    """Return the format of this name."""
    loaded: ReportFormat = import_module(f"{__name__}.{_MODULES[name]}").FORMATS[name]
    return loaded
