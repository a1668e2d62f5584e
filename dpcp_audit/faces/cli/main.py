"""The command line: its commands, and what they have in common.

A command is declared by the function ``add_NAME(commands)`` of its module, and run by
``execute_NAME(options)``, which returns the exit code. A module is imported when one of its
commands is given, and what the command needs when it runs, so that ``--help`` is quick.

Another package adds a command by an entry point of the group ``dpcp_audit.commands``: its name
is the command's, its value a module with ``add_parser(commands)``. What ``--help`` says of it is
what follows the colon in the first line of the module's docstring, which is read without
importing the module.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import contextlib
import difflib
import gc
import io
import os
import re
import sys
import traceback
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from dpcp_audit import __version__
from dpcp_audit.engine import cell_template
from dpcp_audit.words.errors import HINT, IncompleteError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from dpcp_audit.faces.cli.arguments import Commands


TRACEBACK = "DPCP_AUDIT_TRACEBACK"
"""The environment variable that asks for the traceback of an error that nothing expects."""
_ALLOCATIONS = 10_000
"""Between two searches for garbage; of Python itself 700."""
_ISSUES = "https://github.com/dpcp-audit/dpcp-audit/issues"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no error but a refutation is a 1."""
    if arguments is None:
        _make_stderr_safe()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # claims hold Greek; not every terminal does
            stream.reconfigure(errors="backslashreplace")
    if arguments is None:
        cell_template.share_this_process()
        _spare_the_search_for_garbage()
    try:
        _require_environment()
        options = _parsed(sys.argv[1:] if arguments is None else arguments)
    except UsageError as error:
        return _fail("", error, 2)
    except Exception as error:  # noqa: BLE001  (an exit code of 1 would be a refutation)
        return _unexpected("", error)
    return _executed(options)


class _LossyStderr(io.TextIOWrapper):
    """A stderr that loses what cannot be written, such as progress on a full disk."""

    def write(self, text: str) -> int:
        """Write a text if that is possible."""
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Write what waits if that is possible."""
        with contextlib.suppress(OSError):
            super().flush()


def _make_stderr_safe() -> None:
    """Let no message that cannot be written change the exit code, or appear among the results."""
    stream: Any = sys.stderr
    if stream is None:  # it was closed: ``print`` would write to stdout
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    elif type(stream) is io.TextIOWrapper:
        binary = cast(io.BufferedWriter, stream.detach())  # noqa: TC006
        sys.stderr = _LossyStderr(binary, stream.encoding, line_buffering=True)


def _require_environment() -> None:
    """Refuse what libraries would stumble over as they are imported."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not epoch.isdecimal():
        raise UsageError(
            "the environment variable SOURCE_DATE_EPOCH must be a whole number of seconds, got "
            f"{epoch!r}",
            hint="unset it",
        )


def _spare_the_search_for_garbage() -> None:
    """Let the collector search seldom, and not at the end: imports leave much, none of it garbage.

    It would take a quarter of the time of a short command.
    """
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)


def _executed(options: argparse.Namespace) -> int:  # noqa: PLR0911  (one a way to end)
    """Run the command that was parsed."""
    try:
        code = int(options.execute(options))
        print(end="", flush=True)
    except (UsageError, MissingExtraError, IncompleteError) as error:
        return _fail(options.command, error, 3 if isinstance(error, IncompleteError) else 2)
    except BrokenPipeError:  # the reader of stdout has gone
        return _abandon_stdout()
    except OSError as error:  # for example a full disk behind stdout
        _fail(options.command, error, 3)
        return _abandon_stdout()
    except KeyboardInterrupt:
        return _fail(options.command, "interrupted", 3)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (third-party code may exit with 0)
        if isinstance(error.__context__, BrokenPipeError):  # which Rich makes an exit of
            return _abandon_stdout()
        return _unexpected(options.command, error)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; of the commands, only the one that is given is imported."""
    given = next((word for word in arguments if not word.startswith("-")), "")
    options, unknown = parser_of_commands(given).parse_known_args(arguments)
    if unknown:
        from dpcp_audit.faces.cli.arguments import refuse_unknown

        refuse_unknown(options.parser, unknown, instead=getattr(options, "instead", None))
    return options


def _fail(command: str, error: object, code: int) -> int:
    """Print an error; one of usage has a second line, which says what to do."""
    name, said = f"dpcp-audit {command}".rstrip(), str(error)
    if isinstance(error, UsageError) and HINT not in said:
        said += f"{HINT}'{name} --help' lists the arguments"
    print(f"{name}: error: {said}", file=sys.stderr)
    return code


def _unexpected(command: str, error: BaseException) -> int:
    """Report an error that no command expects, in a line; the traceback where it is asked for."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    told = " ".join(f"{type(error).__name__}: {error}".split())
    advice = f"please report it with the traceback, which {TRACEBACK}=1 shows: {_ISSUES}"
    return _fail(command, f"unexpected {told}; {advice}", 3)


def _abandon_stdout() -> int:
    """Send what is still to be flushed nowhere, so that the interpreter ends in peace."""
    with contextlib.suppress(OSError):  # a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 3


_NEGATIVE = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)


class HintingParser(argparse.ArgumentParser):
    """A parser whose errors have a second line, and which knows all negative numbers as such.

    Its help keeps the lines of its texts, and options are not abbreviated, unless it is told so.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        as_written = {"formatter_class": argparse.RawDescriptionHelpFormatter}
        super().__init__(*args, **as_written | {"allow_abbrev": False} | settings)
        self._negative_number_matcher = _NEGATIVE  # argparse takes -1e-3 for an option

    def error(self, message: str) -> NoReturn:
        """Print error and hint, and exit with 2."""
        if HINT not in message:
            message += HINT + (_near(message) or f"'{self.prog} --help' lists the arguments")
        self.exit(2, f"{self.prog}: error: {message}\n")


def _near(message: str) -> str:
    """Return the choice that a refused word is near to, as a question; "" where none is."""
    refused = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    if refused is None:
        return ""
    near = difflib.get_close_matches(refused[1], re.findall(r"[\w-]+", refused[2]), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def parser_of_commands(given: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line, with the options of one command, or of all."""
    parser = HintingParser(
        prog="dpcp-audit",
        description="Test the promises of private conformal predictors.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"dpcp-audit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_commands(commands, given)
    for each in commands.choices.values():
        each.set_defaults(parser=each)
    return parser


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
_MODULES = {
    "run_commands": ("run", "list", "theorem"),
    "target_commands": ("check", "prove", "trace", "estimate"),
    "results_commands": ("report", "ledger", "replay", "schema", "compare"),
    "start_commands": ("new-claim", "completion"),
}
"""The commands of each module."""


def add_commands(commands: Commands, given: str | None = None) -> None:
    """Declare all commands; where one is given, the others by their names alone.

    Commands of other packages are looked for only where no command of this table is given: to
    find them, the metadata of every distribution is read.
    """
    modules = {} if given in COMMANDS else _registered()
    for name in [*COMMANDS, *modules]:
        summary = COMMANDS.get(name) or _first_line(modules[name])
        if given in {None, name}:
            _adder(name, modules)(_Summarised(commands, summary))
        else:
            commands.add_parser(name, help=summary)


class _Summarised:
    """Commands whose parsers say what they do."""

    def __init__(self, commands: Commands, summary: str) -> None:
        self._commands = commands
        self._summary = summary

    def add_parser(self, name: str, **settings: Any) -> argparse.ArgumentParser:
        """Return the parser of a further command."""
        if self._summary:
            settings.setdefault("description", f"{self._summary[0].upper()}{self._summary[1:]}.")
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


def _adder(name: str, modules: Mapping[str, str]) -> Callable[[Commands], None]:
    """Return the function that declares a command and its options."""
    for module, names in _MODULES.items():
        if name in names:
            found = import_module(f"dpcp_audit.faces.cli.{module}")
            return _function_of(found, f"add_{name.replace('-', '_')}")
    try:
        return _function_of(import_module(modules[name]), "add_parser")
    except Exception as error:
        raise UsageError(
            f"the command {name} of another package cannot be imported: {modules[name]} raised "
            f"{type(error).__name__}: {error}",
            hint="install what it needs, or uninstall the package",
        ) from error


def _function_of(module: ModuleType, name: str) -> Callable[[Commands], None]:
    return cast("Callable[[Commands], None]", getattr(module, name))
