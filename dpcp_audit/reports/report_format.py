"""What a report format is: its name, its file suffix, what it needs, and how it renders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from dpcp_audit.errors import MissingExtraError

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
            if find_spec(package) is None:
                raise MissingExtraError(package, self.extra)
