"""The command line: what every command has in common."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import sys
from typing import TYPE_CHECKING

from dpcp_audit import __version__
from dpcp_audit.errors import IncompleteError, MissingExtraError, UsageError
from dpcp_audit.frontends.cli.arguments import EXIT_CODES
from dpcp_audit.frontends.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTION = re.compile(r"--[a-z][a-z-]*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # claims hold Greek; not every terminal does
            stream.reconfigure(errors="backslashreplace")
    options = _parsed(arguments)
    try:
        code = options.execute(options)
        print(end="", flush=True)
    except (UsageError, MissingExtraError) as error:
        return _fail(options.command, error, 2)
    except IncompleteError as error:
        return _fail(options.command, error, 3)
    except BrokenPipeError:  # the reader of stdout has gone
        return _abandon_stdout()
    except OSError as error:  # for example a full disk behind stdout
        _fail(options.command, error, 3)
        return _abandon_stdout()
    except KeyboardInterrupt:
        return _fail(options.command, "interrupted", 3)
    return int(code)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; of options that a command does not have, the nearest is named."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        known = options.parser.format_usage() + options.parser.format_help()
        names = sorted(set(_OPTION.findall(known)))
        given = (word.partition("=")[0] for word in unknown if word.startswith("--"))
        near = [name for word in given for name in difflib.get_close_matches(word, names, n=1)]
        hint = f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return options


def _fail(command: str, error: object, code: int) -> int:
    print(f"dpcp-audit {command}: error: {error}", file=sys.stderr)
    return code


def _abandon_stdout() -> int:
    """Send what is still to be flushed nowhere, so that the interpreter ends in peace."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpcp-audit",
        description="Test the promises of private conformal predictors.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dpcp-audit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    for each in commands.choices.values():
        each.set_defaults(parser=each)
    return parser
