"""The Markdown of a figure's formulas, compared with a stored file.

After a change that is meant, write the file anew and read the difference::

    DPCP_AUDIT_UPDATE_GOLDEN=1 python -m pytest tests/reports
"""

from __future__ import annotations

import os
from pathlib import Path

from dpcp_audit.papers.reproduce.experiments import Extent, reproduce, select
from dpcp_audit.reports.reproduction.rendering import render_markdown
from dpcp_audit.reports.reproduction.reproduction_data import to_data

STORED = Path(__file__).parent / "reproduction.md"


def test_a_figure_is_as_stored() -> None:
    found = reproduce(select(["ldpcp-figure-5"]), extent=Extent.SMOKE, seed=0, jobs=1)
    text = render_markdown(to_data(found, extent=Extent.SMOKE, seed=0))
    if os.environ.get("DPCP_AUDIT_UPDATE_GOLDEN") == "1":
        STORED.write_text(text, encoding="utf-8", newline="")
    assert text.encode() == STORED.read_bytes()
