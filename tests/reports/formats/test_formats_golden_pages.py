"""The reports of a small document, compared with stored files.

After a change that is meant, write the files anew and read the difference::

    DPCP_AUDIT_UPDATE_GOLDEN=1 python -m pytest tests/reports

The bodies of figures are left out: they change with matplotlib's version.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from support.report_document import document

from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown

HERE = Path(__file__).parent


def _compare(name: str, text: str) -> None:
    path = HERE / name
    if os.environ.get("DPCP_AUDIT_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{name} differs; if that is meant: DPCP_AUDIT_UPDATE_GOLDEN=1 python -m pytest {HERE.name}"
    )


def test_markdown_is_as_stored() -> None:
    _compare("report.md", render_markdown(document()))


def test_html_is_as_stored() -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = re.sub(r'src="data:[^"]*"', 'src=""', render_html(document()))
    _compare("report.html", page)
