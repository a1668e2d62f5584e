"""The command line: what every command has in common."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import difflib
import gc
import io
import os
import re
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from dpcp_audit import __version__
from dpcp_audit.engine import cell_template
from dpcp_audit.faces.cli.commands import EXIT_CODES, add_commands
from dpcp_audit.words.errors import HINT, IncompleteError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


TRACEBACK = "DPCP_AUDIT_TRACEBACK"
"""The environment variable that asks for the traceback of an error that nothing expects."""
_ALLOCATIONS = 10_000
"""Between two searches for garbage; of Python itself 700."""
_ISSUES = "https://github.com/dpcp-audit/dpcp-audit/issues"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no error but a refutation is a 1."""
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


def _executed(options: argparse.Namespace) -> int:
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
        return _unexpected(options.command, error)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; of the commands, only the one that is given is imported."""
    given = next((word for word in arguments if not word.startswith("-")), "")
    options, unknown = parser_of_commands(given).parse_known_args(arguments)
    if unknown:
        from dpcp_audit.faces.cli.arguments import refuse_unknown  # noqa: PLC0415  (slow)

        refuse_unknown(options.parser, unknown)
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


class HintingParser(argparse.ArgumentParser):
    """A parser whose errors have a second line, which says what to do."""

    def error(self, message: str) -> NoReturn:
        """Print usage, error and hint, and exit with 2."""
        if HINT not in message:
            message += HINT + (_near(message) or f"'{self.prog} --help' lists the arguments")
        super().error(message)


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
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dpcp-audit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_commands(commands, given)
    for each in commands.choices.values():
        each.set_defaults(parser=each)
    return parser
