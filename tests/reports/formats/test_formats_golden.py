"""The reports of a small document, compared with stored files.

After a change that is meant, write the files anew and read the difference::

    DPCP_AUDIT_UPDATE_GOLDEN=1 python -m pytest tests/reports

The bodies of figures are left out: they change with matplotlib's version.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.report_document import document

from dpcp_audit.reports.formats.ci import render_junit, render_sarif
from dpcp_audit.reports.formats.data import render_csv
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent


def page(document: dict[str, Any]) -> str:
    """Return the page without its figures."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    return re.sub(r'src="data:[^"]*"', 'src=""', render_html(document))


@pytest.mark.parametrize(
    ("name", "render"),
    [
        ("report.junit.xml", render_junit),
        ("report.sarif", render_sarif),
        ("report.csv", render_csv),
        ("report.md", render_markdown),
        ("report.html", page),
    ],
)
def test_reports_are_as_stored(name: str, render: Callable[[dict[str, Any]], str]) -> None:
    path, text = HERE / name, render(document())
    if os.environ.get("DPCP_AUDIT_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8", newline="")
    assert text.encode() == path.read_bytes(), (
        f"{name} differs; if that is meant: DPCP_AUDIT_UPDATE_GOLDEN=1 python -m pytest {HERE.name}"
    )
