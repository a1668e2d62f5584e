"""``dpcp-audit run``: put the selected claims to the test, report, compare with expectations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.frontends.cli.arguments import Commands


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "run",
        help="put the claims to the test",
        epilog=arguments.EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_profile(parser, default=None)
    arguments.add_selection(parser, default_suite=None)
    arguments.add_seed(parser, default=None)
    arguments.add_false_alarm(parser, default=None)
    arguments.add_run_options(parser)
    arguments.add_report(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Check the claims that the options select and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.suites import select
    from dpcp_audit.frontends.publishing import exit_code, publish, resumed, watch
    from dpcp_audit.reports.writers import parse_reports

    writers = parse_reports(options.report)
    chosen = _chosen(options)
    if options.resume is None:
        settings = RunSettings(**chosen)
        rows = select(options.only, settings.suite, **settings.given)
    else:
        rows, settings = resumed(options.resume)
        _refuse_others(chosen, options.only, settings)
    results = watch(rows, settings, options)
    publish(results, writers)
    return exit_code(results)


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given; of those left out the default holds."""
    from dpcp_audit.engine.run_settings import Profile

    chosen = {
        "seed": options.seed,
        "profile": options.profile and Profile(options.profile),
        "false_alarm": options.false_alarm,
        "strict": options.strict or None,
        "suite": options.suite,
        "pools": tuple(options.pool) or None,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _refuse_others(chosen: dict[str, Any], only: list[str], settings: RunSettings) -> None:
    """Raise ``UsageError`` where what is chosen is not what the resumed run was begun with."""
    from dpcp_audit.errors import UsageError

    if only:
        raise UsageError("--resume goes on with the claims that its run was begun with: no --only")
    for name, value in chosen.items():
        if (recorded := getattr(settings, name)) != value:
            option = name.replace("_", "-").replace("pools", "pool")
            raise UsageError(f"--{option}: the resumed run was begun with {recorded}, got {value}")
