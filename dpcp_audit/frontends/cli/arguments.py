"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.errors import UsageError
from dpcp_audit.reports.formats import menu
from dpcp_audit.target_checks import plain_reading

if TYPE_CHECKING:
    from collections.abc import Callable

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001
    Parser = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001

EXIT_CODES = """\
exit codes of 'run':
  0  no verdict contradicts its expectation
  1  at least one does (with --strict, an inconclusive one too)
  2  usage
  3  something could not be completed
"""
_LEAST_PROBABILITY = 1e-100  # as settings.LEAST_FALSE_ALARM, which --help need not import
DEFAULT_SECONDS = 3600.0
"""The time limit of a check."""


def add_selection(parser: argparse.ArgumentParser, *, default_suite: str | None = "papers") -> None:
    """Add the options that select claims."""
    parser.add_argument(
        "--suite",
        metavar="NAME",
        default=default_suite,
        help="the claims to test: papers, theorems, tables, training, zoo, or a suite of another "
        "package; 'dpcp-audit list --suites' says what each tests (default: papers)",
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


def add_profile(parser: argparse.ArgumentParser, *, default: str | None = "ci") -> None:
    """Add ``--profile``."""
    parser.add_argument(
        "--profile",
        choices=("smoke", "ci", "full"),
        default=default,
        help="how much effort to spend (default: ci)",
    )


def add_seed(parser: Parser, *, default: int | None = 0) -> None:
    """Add ``--seed``; ``default`` None tells what a file may settle."""
    parser.add_argument(
        "--seed",
        type=whole(0),
        default=default,
        metavar="N",
        help="seed of every random stream (default: 0)",
    )


def add_jobs(parser: Parser, *, default: int | None = os.cpu_count()) -> None:
    """Add ``--jobs``."""
    parser.add_argument(
        "--jobs",
        type=whole(1),
        default=default,
        metavar="N",
        help="worker processes; results do not depend on it (default: all cores)",
    )


def add_run_options(parser: Parser, *, budget: bool = True) -> None:
    """Add what a run is given beside its settings: workers, limits, a journal, a log.

    Without ``budget``, ``--budget`` is left to the command, and checks have the default limit.
    """
    add_jobs(parser, default=None)
    parser.add_argument(
        "--engine",
        default="local",
        metavar="ENGINE",
        help="where the checks run: local, dask=tcp://HOST:PORT, ray or ray=ADDRESS; results do "
        "not depend on it (default: %(default)s)",
    )
    parser.set_defaults(time_limit=DEFAULT_SECONDS)
    if budget:
        parser.add_argument(
            "--budget",
            dest="time_limit",
            type=duration,
            default=DEFAULT_SECONDS,
            metavar="TIME",
            help="stop a check after this time, such as 60s, 5m or 2h (default: 1h)",
        )
    parser.add_argument(
        "--memory",
        type=memory,
        metavar="SIZE",
        help="stop a check that takes more memory than this, such as 500MiB or 2GiB",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="PATH",
        help="write down what is finished, so that the run can be resumed after any end",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="PATH",
        help="go on with the run of a journal, with its settings",
    )
    parser.add_argument(
        "--log", type=Path, metavar="PATH", help="append what happens, a line an event"
    )


def add_false_alarm(parser: Parser, *, default: float | None = 1e-3) -> None:
    """Add ``--false-alarm`` and ``--strict``; ``default`` None tells what a file may settle."""
    parser.add_argument(
        "--false-alarm",
        type=probability,
        default=default,
        metavar="P",
        help="probability that the run refutes any true claim (default: 0.001)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="an inconclusive verdict is a contradiction"
    )


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the results file that a command reads."""
    parser.add_argument(
        "results", type=Path, metavar="RESULTS.json", help="results of 'dpcp-audit run'"
    )


def add_report(parser: Parser, *, required: bool = False) -> None:
    """Add ``--report``."""
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        required=required,
        metavar="FORMAT=PATH",
        help=f"write a report: {menu()}; PATH '-' is stdout; repeatable",
    )


def whole(at_least: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``at_least`` on."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = at_least - 1
        if value < at_least:
            raise argparse.ArgumentTypeError(f"must be an integer >= {at_least}, got {text!r}")
        return value

    return parse


def duration(text: str) -> float:
    """Parse a positive time, such as 90, 90s, 1.5m or 2h, as seconds."""
    try:
        return plain_reading.seconds(text, "TIME")
    except UsageError:
        raise argparse.ArgumentTypeError(
            f"must be positive, such as 60s, 5m or 2h, got {text!r}"
        ) from None


def memory(text: str) -> int:
    """Parse a positive size, such as 500MiB or 2GiB, as bytes."""
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
    unit = text.strip().lstrip("0123456789.")
    try:
        value = float(text.strip().removesuffix(unit)) * units[unit.strip()]
    except (KeyError, ValueError):
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive, such as 500MiB or 2GiB, got {text!r}")
    return max(1, int(value))


def probability(text: str) -> float:
    """Parse a probability in (0, 1)."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not _LEAST_PROBABILITY <= value < 1:
        raise argparse.ArgumentTypeError(
            f"must lie in (0, 1), at least {_LEAST_PROBABILITY:g}, got {text!r}"
        )
    return value
