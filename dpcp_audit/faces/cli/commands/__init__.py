"""The commands of the command line, one module each.

Every module has ``add_parser(commands)``, which declares the command's options, and
``execute(options)``, which runs it and returns the exit code. A module is imported when its
command is given, and what the command needs when it runs, so that ``--help`` is quick.

Another package adds a command by an entry point of the group ``dpcp_audit.commands``: its name
is the command's, its value such a module. What ``--help`` says of it is what follows the colon in
the first line of the module's docstring, which is read without importing the module.
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from dpcp_audit.faces.cli.arguments import Commands


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
    "prove": "prove a privacy claim for every input, from the source",
    "theorem": "test a theorem on scores and at parameters of your own",
    "trace": "find the line that spends the privacy loss",
    "estimate": "estimate the privacy loss with intervals",
    "list": "list the claims that a run checks",
    "report": "write reports from a results file",
    "ledger": "write one page of the claims of all suites, sorted by paper",
    "replay": "run one finding of a results file again",
    "new-claim": "write a file that tests what a paper claims, to be filled in",
    "schema": "print the JSON Schema of results files",
    "compare": "show what changed between runs",
    "completion": "print a script that completes commands and options in a shell",
}
"""The one-line help of each command, in the order of ``--help``."""
GROUP = "dpcp_audit.commands"
EXIT_CODES = """\
exit codes:
  0  no verdict contradicts its expectation
  1  at least one does (with --strict, an inconclusive one too)
  2  usage
  3  something could not be completed
"""
_MODULES = {"list": "listing", "theorem": "one_theorem"}
"""Those that are not called as their command is."""


def add_commands(commands: Commands, given: str | None = None) -> None:
    """Declare all commands; where one is given, the others by their names alone.

    Commands of other packages are looked for only where no command of this table is given: to
    find them, the metadata of every distribution is read.
    """
    modules = {} if given in COMMANDS else _registered()
    for name in [*COMMANDS, *modules]:
        summary = COMMANDS.get(name) or _first_line(modules[name])
        if given in {None, name}:
            _module(name, modules).add_parser(_Summarised(commands, summary))
        else:
            commands.add_parser(name, help=summary)


class _Summarised:
    """Commands whose parsers say what they do."""

    def __init__(self, commands: Commands, summary: str) -> None:
        self._commands = commands
        self._summary = summary

    def add_parser(self, name: str, **settings: Any) -> argparse.ArgumentParser:
        """Return the parser of a further command."""
        return self._commands.add_parser(name, help=self._summary, **settings)


def _registered() -> dict[str, str]:
    """Return the modules of other packages' commands, by the commands' names."""
    found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return {name: found[name] for name in sorted(found) if name not in COMMANDS}


def _first_line(module: str) -> str:
    found = find_spec(module)
    if found is None or found.origin is None:
        return ""
    said = ast.get_docstring(ast.parse(Path(found.origin).read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0].partition(": ")[2].rstrip(".")


def _module(name: str, modules: Mapping[str, str]) -> Command:
    if name not in modules:
        place = f"{__name__}.{_MODULES.get(name, name.replace('-', '_'))}"
        return cast("Command", import_module(place))
    try:
        return cast("Command", import_module(modules[name]))
    except Exception as error:
        raise UsageError(
            f"the command {name} of another package cannot be imported: {modules[name]} raised "
            f"{type(error).__name__}: {error}",
            hint="install what it needs, or uninstall the package",
        ) from error
