"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

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
_LEAST_PROBABILITY = 1e-100  # as runner.LEAST_FALSE_ALARM, which --help need not import


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that select claims."""
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


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add ``--profile``."""
    parser.add_argument(
        "--profile",
        choices=("smoke", "ci", "full"),
        default="ci",
        help="how much effort to spend (default: %(default)s)",
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


def add_jobs(parser: Parser) -> None:
    """Add ``--jobs``."""
    parser.add_argument(
        "--jobs",
        type=whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes; results do not depend on it (default: all cores)",
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
        help="write a report: json=, html=, markdown=, junit=, sarif= or csv=; PATH '-' is stdout; "
        "repeatable",
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
