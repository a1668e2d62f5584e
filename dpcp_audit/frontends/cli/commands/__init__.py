"""The commands of the command line, one module each.

Every module has ``add_parser(commands)``, which declares the command's options, and
``execute(options)``, which runs it and returns the exit code. A module is imported when its
command is given, and what the command needs when it runs, so that ``--help`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import argparse
    from collections.abc import Container

    from dpcp_audit.frontends.cli.arguments import Commands


class Command(Protocol):
    """A module of this package."""

    def add_parser(self, commands: Commands) -> None:
        """Declare the command and its options."""
        ...

    def execute(self, options: argparse.Namespace) -> int:
        """Run the command and return its exit code."""
        ...


COMMANDS = {
    "run": "test the claims of a suite",
    "check": "audit code of your own",
    "theorem": "test a theorem on scores and at parameters of your own",
    "trace": "find the line that spends the privacy loss",
    "estimate": "estimate the privacy loss with two-sided intervals",
    "list": "list the claims that a run checks",
    "report": "write reports from a results file",
    "replay": "run one finding of a results file again",
    "schema": "print the JSON Schema of results files",
    "compare": "tell what changed between two runs",
    "compare-calibrators": "compare all calibrators at equal privacy",
    "reproduce": "reproduce the papers' tables and figures",
    "selftest": "show what the checks catch: a zoo of planted bugs",
    "completion": "print a script that completes commands and options in a shell",
}
"""What each does, in the order of ``--help``."""
EXIT_CODES = """\
exit codes of 'run':
  0  no verdict contradicts its expectation
  1  at least one does (with --strict, an inconclusive one too)
  2  usage
  3  something could not be completed
"""
_MODULES = {"list": "listing", "theorem": "one_theorem"}
"""Those that are not called as their command is."""


def add_commands(commands: Commands, whole: Container[str] = COMMANDS) -> None:
    """Declare all commands; those that are not in ``whole`` by their names alone."""
    summarised = _Summarised(commands)
    for name in COMMANDS:
        if name in whole:
            _module(name).add_parser(summarised)
        else:
            summarised.add_parser(name)


class _Summarised:
    """Commands whose parsers say what they do."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def add_parser(self, name: str, **settings: Any) -> argparse.ArgumentParser:
        """Return the parser of a further command."""
        return self._commands.add_parser(name, help=COMMANDS[name], **settings)


def _module(name: str) -> Command:
    place = _MODULES.get(name, name.replace("-", "_"))
    return cast("Command", import_module(f"{__name__}.{place}"))
