"""The commands of the command line, one module each.

Every module has ``add_parser(commands)``, which declares the command's options, and
``execute(options)``, which runs it and returns the exit code. What a command needs is imported
when it runs, so that ``--help`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpcp_audit.frontends.cli.commands import (
    check,
    compare,
    compare_calibrators,
    completion,
    estimate,
    listing,
    one_theorem,
    replay,
    report,
    reproduce,
    run,
    schema,
    selftest,
    trace,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpcp_audit.frontends.cli.arguments import Commands


class Command(Protocol):
    """A module of this package."""

    def add_parser(self, commands: Commands) -> None:
        """Declare the command and its options."""
        ...

    def execute(self, options: argparse.Namespace) -> int:
        """Run the command and return its exit code."""
        ...


COMMANDS: Sequence[Command] = (
    run,
    check,
    one_theorem,
    trace,
    estimate,
    listing,
    report,
    replay,
    schema,
    compare,
    compare_calibrators,
    reproduce,
    selftest,
    completion,
)
