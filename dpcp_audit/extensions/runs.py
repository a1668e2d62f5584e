"""Runs of suites, what is printed of them, and commands of the command line."""

from __future__ import annotations

from dpcp_audit.faces.cli import arguments as arguments
from dpcp_audit.faces.cli.arguments import Commands as Commands
from dpcp_audit.faces.cli.main import EXIT_CODES as EXIT_CODES
from dpcp_audit.faces.cli.run_commands import add_suite_options as add_suite_options
from dpcp_audit.faces.cli.run_commands import run_suite as run_suite
from dpcp_audit.faces.runs import exit_code as exit_code
from dpcp_audit.reports.terminal import Display as Display
from dpcp_audit.reports.terminal import print_summary as print_summary
from dpcp_audit.reports.terminal import print_tables as print_tables
