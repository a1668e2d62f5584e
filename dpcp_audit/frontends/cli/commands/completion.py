"""``dpcp-audit completion``: the script by which a shell completes commands and options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.frontends.cli.arguments import Commands

SHELLS = ("bash", "zsh", "tcsh")
_FILES = (".json", ".npz", ".toml")
_PATHS = {"FOLDER", "FORMAT=PATH", "PATH"}
_EPILOG = """\
examples:
  eval "$(dpcp-audit completion bash)"            in ~/.bashrc
  dpcp-audit completion zsh > _dpcp-audit         in a folder of $fpath
"""


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "completion",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=SHELLS, help="whose script")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from dpcp_audit.frontends.cli.main import parser_of_commands

    parser = parser_of_commands()
    for action in _of_files(parser):
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=options.shell), end="")
    return 0


def _of_files(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options, of all commands, whose value is a path."""
    for action in parser._actions:  # noqa: SLF001  (argparse has no public name for them)
        commands: object = action.choices
        if isinstance(commands, dict):
            for command in cast("dict[str, argparse.ArgumentParser]", commands).values():
                yield from _of_files(command)
        elif isinstance(name := action.metavar, str) and (name in _PATHS or name.endswith(_FILES)):
            yield action
