"""Results documents, figures and report formats."""

from __future__ import annotations

from dpcp_audit.reports.terminal import print_summary as print_summary
from dpcp_audit.reports.terminal import print_tables as print_tables
