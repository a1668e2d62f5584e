"""``dpcp-audit completion``: the script by which a shell completes commands and options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.faces.cli.arguments import Commands


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

    from dpcp_audit.faces.cli.main import parser_of_commands

    parser = parser_of_commands()
    words = _words()
    for command, action in _actions(parser):
        if isinstance(name := action.metavar, str) and (name in _PATHS or name.endswith(_FILES)):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.choices is None:
            action.choices = words.get((command, action.dest)) or words.get(("", action.dest))
    print(shtab.complete(parser, shell=options.shell), end="")
    return 0


def _words() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the words that fit, by command ("": any) and by the name of the argument."""
    from dpcp_audit.engine import suites
    from dpcp_audit.target_checks import recipes
    from dpcp_audit.target_checks.check_spec import TABLE
    from dpcp_audit.theorems.catalogue import theorem_names

    ids = (row.claim.id.partition("[")[0] for row in suites.suite())  # shells read brackets
    claims = tuple(sorted(set(ids)))
    choices = {
        ("", f"option.{option.name}"): tuple(option.value.words.split("|"))
        for option in TABLE
        if option.value.words
    }
    return choices | {
        ("", "suite"): tuple(suites.names()),
        ("", "only"): claims,
        ("", "finding_id"): claims,
        ("", "recipe"): tuple(recipes.names()),
        ("theorem", "name"): theorem_names(),
    }


def _actions(
    parser: argparse.ArgumentParser, command: str = ""
) -> Iterator[tuple[str, argparse.Action]]:
    """Yield the arguments of all commands, with the command's name."""
    for action in parser._actions:  # noqa: SLF001  (argparse has no public name for them)
        commands: object = action.choices
        if isinstance(commands, dict):
            for name, each in cast("dict[str, argparse.ArgumentParser]", commands).items():
                yield from _actions(each, name)
        elif action.nargs != 0:
            yield command, action
