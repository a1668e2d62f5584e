"""The commands that write a file to start from: new-claim and completion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from dpcp_audit.words.errors import UsageError, write_whole
from dpcp_audit.words.results import stem_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from dpcp_audit.faces.cli.arguments import Commands


_TEMPLATE = Path(__file__).with_name("new_claim.txt")


def add_new_claim(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("new-claim")
    parser.add_argument(
        "file", type=Path, metavar="FILE.py", help="the file to write; it must not exist yet"
    )
    parser.add_argument(
        "--paper", default="my paper", metavar="TITLE", help="the paper (default: %(default)s)"
    )
    parser.set_defaults(execute=execute_new_claim)


def execute_new_claim(options: argparse.Namespace) -> int:
    """Write the file, and say how it is run."""
    path: Path = options.file
    if path.suffix != ".py" or path.exists() or not path.parent.is_dir():
        raise UsageError(
            f"FILE.py must be a new Python file in a folder that exists, got {str(path)!r}",
            hint="dpcp-audit new-claim test_my_paper.py",
        )
    if not options.paper.isprintable() or set(options.paper) & set("\\\"'"):
        raise UsageError(
            f"--paper must be a title without quotes, got {options.paper!r}",
            hint="edit the title in the file",
        )
    text = (
        _TEMPLATE.read_text(encoding="utf-8")
        .replace("PAPER", options.paper)
        .replace("FILE", path.name)
    )
    write_whole(path, text)
    print(f"{path}: run it by 'python {path.name}', or as a test by 'pytest {path.name}'")
    return 0


SHELLS = ("bash", "zsh", "tcsh")
_FILES = (".json", ".npz", ".toml")
_PATHS = {"FOLDER", "FORMAT=PATH", "PATH"}
_COMPLETION_EPILOG = """\
examples:
  eval "$(dpcp-audit completion bash)"            in ~/.bashrc
  dpcp-audit completion zsh > _dpcp-audit         in a folder of $fpath
"""


def add_completion(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "completion",
        epilog=_COMPLETION_EPILOG,
    )
    parser.add_argument("shell", choices=SHELLS, help="whose script")
    parser.set_defaults(execute=execute_completion)


def execute_completion(options: argparse.Namespace) -> int:
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

    claims = tuple(sorted({stem_of(row.claim.id) for row in suites.suite()}))  # shells read [
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
