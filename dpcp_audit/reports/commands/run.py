"""``dpcp-audit run``: put the selected claims to the test, report, compare with expectations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpcp_audit.reports.commands import arguments

if TYPE_CHECKING:
    from dpcp_audit.reports.commands.arguments import Commands


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "run",
        help="put the claims to the test",
        epilog=arguments.EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_profile(parser)
    arguments.add_selection(parser)
    arguments.add_seed(parser)
    arguments.add_jobs(parser)
    arguments.add_false_alarm(parser)
    arguments.add_report(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Check the claims that the options select and publish the results."""
    from dpcp_audit.reports.publishing import exit_code, publish, watch
    from dpcp_audit.reports.settings import Profile, RunSettings
    from dpcp_audit.reports.suite import Suite, select
    from dpcp_audit.reports.writers import parse_reports

    writers = parse_reports(options.report)
    rows = select(options.only, Suite(options.suite), tuple(options.pool))
    settings = RunSettings(
        seed=options.seed,
        profile=Profile(options.profile),
        false_alarm=options.false_alarm,
        strict=options.strict,
        suite=Suite(options.suite),
        pools=tuple(options.pool),
    )
    results = watch(rows, settings, jobs=options.jobs)
    publish(results, writers)
    return exit_code(results)
