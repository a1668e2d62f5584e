"""The command line: run, list, report, replay."""

from __future__ import annotations

import argparse
import io
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit import __version__
from dpcp_audit.reports.errors import IncompleteError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EXIT_CODES = """\
exit codes of 'run':
  0  no verdict contradicts its expectation
  1  at least one does (with --strict, an inconclusive one too)
  2  usage
  3  something could not be completed
"""


_LEAST_PROBABILITY = 1e-100  # as runner.LEAST_FALSE_ALARM, which --help need not import


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # claims hold Greek; not every terminal does
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    from dpcp_audit.reports.commands import COMMANDS  # noqa: PLC0415  (--help needs none)

    try:
        code = COMMANDS[options.command](options)
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
    return code


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
        description="Put the promises of private conformal predictors to the test.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dpcp-audit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    listing = commands.add_parser(
        "list", help="list the claims that a run checks", allow_abbrev=False
    )
    _add_only(listing)
    report = commands.add_parser(
        "report", help="write reports from a results file", allow_abbrev=False
    )
    _add_results(report)
    _add_report(report, required=True)
    replay = commands.add_parser(
        "replay", help="run one finding of a results file again", allow_abbrev=False
    )
    replay.add_argument("finding_id", metavar="FINDING-ID", help="a finding's id")
    _add_results(replay)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="put the claims to the test",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run.add_argument(
        "--profile",
        choices=("smoke", "ci", "full"),
        default="ci",
        help="how much effort to spend (default: %(default)s)",
    )
    _add_only(run)
    run.add_argument(
        "--seed",
        type=_whole(0),
        default=0,
        metavar="N",
        help="seed of every random stream (default: %(default)s)",
    )
    run.add_argument(
        "--jobs",
        type=_whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes; results do not depend on it (default: all cores)",
    )
    run.add_argument(
        "--false-alarm",
        type=_probability,
        default=1e-3,
        metavar="P",
        help="probability that the run refutes any true claim (default: %(default)s)",
    )
    run.add_argument(
        "--strict", action="store_true", help="an inconclusive verdict is a contradiction"
    )
    _add_report(run, required=False)


def _add_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suite",
        choices=("papers", "theorems"),
        default="papers",
        help="the papers' claims, or every theorem over score laws and sizes "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="FILE.npz",
        help="hold the theorems against saved probabilities and labels too; repeatable",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GLOB",
        help="only claims whose id matches; repeatable ('*' and '?' are wildcards)",
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", type=Path, metavar="RESULTS.json", help="results of 'dpcp-audit run'"
    )


def _add_report(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        required=required,
        metavar="FORMAT=PATH",
        help="write a report: json=, html= or markdown=; PATH '-' is stdout; repeatable",
    )


def _whole(at_least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = at_least - 1
        if value < at_least:
            raise argparse.ArgumentTypeError(f"must be an integer >= {at_least}, got {text!r}")
        return value

    return parse


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not _LEAST_PROBABILITY <= value < 1:
        raise argparse.ArgumentTypeError(
            f"must lie in (0, 1), at least {_LEAST_PROBABILITY:g}, got {text!r}"
        )
    return value
