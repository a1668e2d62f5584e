"""The results document itself, from which every other format is derived."""

from __future__ import annotations

from dpcp_audit.reports.document import ReportFormat, dump

FORMAT = ReportFormat(
    suffix=".json", help="every result; the source of all other formats", render=dump
)
