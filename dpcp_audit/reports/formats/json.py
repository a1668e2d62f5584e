"""The results document itself, from which every other format is derived."""

from __future__ import annotations

from dpcp_audit.reports.document import dump
from dpcp_audit.reports.writers import ReportFormat

FORMAT = ReportFormat(
    suffix=".json", help="every result; the source of all other formats", render=dump
)
