"""Report formats. Each module is one: its name is the format's, its ``FORMAT`` says the rest."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.reports.document import ReportFormat


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, in alphabetical order; none is imported."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def menu() -> str:
    """Return the formats as a help text names them: ``csv=, html=, … or sarif=``."""
    *most, last = (f"{name}=" for name in format_names())
    return f"{', '.join(most)} or {last}"


def report_format(name: str) -> ReportFormat:
    """Return the format of this name."""
    loaded: ReportFormat = import_module(f"{__name__}.{name}").FORMAT
    return loaded
