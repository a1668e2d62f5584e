"""``dpcp-audit schema``: the JSON Schema of results files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.faces.cli.arguments import Commands


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("schema", allow_abbrev=False)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:  # noqa: ARG001  (every command has options)
    """Print the schema."""
    from dpcp_audit.reports.results_schema import published_schema

    print(published_schema(), end="")
    return 0
