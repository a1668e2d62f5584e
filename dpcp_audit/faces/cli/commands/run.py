"""``dpcp-audit run``: test the selected claims, report, compare with expectations."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments
from dpcp_audit.faces.cli.commands import EXIT_CODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.arguments import Commands, Parser
    from dpcp_audit.faces.runs import Show


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "run",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_selection(parser, default_suite=None)
    add_suite_options(parser)
    parser.add_argument(
        "--figures",
        action="store_true",
        help="keep a figure of each finding, of a suite that leaves them out, such as theorems",
    )
    parser.set_defaults(execute=execute)


def add_suite_options(parser: Parser) -> None:
    """Add what every suite is run with; what is left out has its default, or is resumed."""
    arguments.add_profile(parser, default=None)
    arguments.add_seed(parser, default=None)
    arguments.add_false_alarm(parser, default=None)
    arguments.add_run_options(parser)
    arguments.add_report(parser)
    arguments.add_display(parser)


def execute(options: argparse.Namespace) -> int:
    """Check the claims that the options select and publish the results."""
    from dpcp_audit.faces.runs import exit_code

    return exit_code(run_suite(options, only=options.only))


def run_suite(
    options: argparse.Namespace,
    *,
    fixed: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    show: Show | None = None,
) -> dict[str, Any]:
    """Run a suite, or go on with a run of it, publish and return the results.

    Parameters
    ----------
    fixed : mapping, optional
        Settings that the command fixes, such as the suite.
    only : sequence of str
        Patterns of ids; without, all claims.
    show : callable, optional
        Prints the results; by default a summary.
    """
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.suites import find, select
    from dpcp_audit.faces.runs import publish, resumed, watch
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.words.errors import UsageError

    writers = parse_reports(options.report)
    chosen = _chosen(options) | dict(fixed or {})
    if options.resume is None:
        settings = RunSettings(**chosen)
        settings = replace(settings, skipped=find(settings.suite).skipped())
        rows = select(only, settings.suite, **settings.given)
    else:
        rows, settings = resumed(options.resume)
        if only:
            raise UsageError(
                "--only cannot be combined with --resume",
                hint="leave --only out: the claims are those that the run was begun with",
            )
        refuse_others(chosen, settings)
    results = watch(rows, settings, options)
    publish(results, writers, options, show)
    return results


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given; of those left out the default holds."""
    from dpcp_audit.engine.run_settings import Profile

    chosen = {
        "seed": options.seed,
        "profile": options.profile and Profile(options.profile),
        "false_alarm": options.false_alarm,
        "strict": options.strict or None,
        "suite": getattr(options, "suite", None),
        "pools": tuple(getattr(options, "pool", ())) or None,
        "options": {"figures": True} if getattr(options, "figures", False) else None,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def refuse_others(chosen: Mapping[str, Any], settings: RunSettings) -> None:
    """Raise ``UsageError`` where what is chosen is not what the resumed run was begun with."""
    from dpcp_audit.words.errors import UsageError

    for name, value in chosen.items():
        if (recorded := getattr(settings, name)) != value:
            option = name.replace("_", "-").replace("pools", "pool")
            raise UsageError(
                f"--{option}: the resumed run was begun with {recorded}, got {value}",
                hint=f"leave --{option} out: a resumed run has the settings that it was begun with",
            )
