"""``dpcp-audit estimate``: how much a function loses of its input's privacy, with two sides."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpcp_audit.frontends.cli import arguments
from dpcp_audit.options import Group
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.target_checks.estimate_rows import ESTIMATE_OPTIONS
from dpcp_audit.target_checks.run_options import RUN_OPTIONS

if TYPE_CHECKING:
    from typing import TextIO

    from dpcp_audit.frontends.cli.arguments import Commands

_DESCRIPTION = """\
Estimate the privacy loss of a function on the worst pair of neighbours that a search finds: epsilon
at several delta, rho and Renyi divergences, the Gaussian mu, total variation, membership advantage
and true-positive rates, each with a two-sided interval, all of which hold at once. Lower ends come
from outputs; upper ends from the trace of the noise or its exact law where the code can be
followed, else they are of a partition of the outputs, and say so. TARGET, its claims and its
options are those of 'dpcp-audit check'; claims are optional, and shown beside the estimates.
"""
_EPILOG = """\
example:
  dpcp-audit estimate mine.py:private_quantile --kind quantile --n 100 --report html=loss.html

exit codes:
  0  no claim was refuted
  1  a claim was refuted
  2  usage
  3  something could not be completed
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "estimate",
        help="estimate the privacy loss with two-sided intervals",
        description=_DESCRIPTION,
        usage="%(prog)s TARGET --kind KIND [CLAIM]... [OPTION]...   (--help lists them all)",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    groups = arguments.groups_of(parser)
    arguments.add_options(groups, (*TABLE, *RUN_OPTIONS, *ESTIMATE_OPTIONS))
    arguments.add_run_options(groups[Group.RUN], budget=False)
    arguments.add_report(groups[Group.RUN])
    arguments.add_display(groups[Group.RUN])
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Load the target, estimate its loss and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.frontends.planning import plan, time_limit
    from dpcp_audit.frontends.publishing import exit_code, publish, watch
    from dpcp_audit.reports.writers import parse_reports
    from dpcp_audit.target_checks import estimate_rows

    writers = parse_reports(options.report)
    config = _config(options)
    estimate_rows.rows_of_estimates(config.checks)
    defaults: dict[str, Any] = {"false_alarm": estimate_rows.FALSE_ALARM}
    settings = RunSettings(
        suite="estimates",
        targets=plan([estimate_rows.without_coverage(spec) for spec in config.checks]),
        options=_given(options, ESTIMATE_OPTIONS),
        **defaults | _given(options, RUN_OPTIONS),
    )
    options.time_limit = max(map(time_limit, settings.targets))
    rows = estimate_rows.rows_of_estimates(settings.targets, **settings.options)
    results = watch(rows, settings, options)
    publish(results, writers, options, show=_show)
    return exit_code(results)


def _config(options: argparse.Namespace) -> Any:
    from dpcp_audit.errors import UsageError
    from dpcp_audit.target_checks import config_file

    given = arguments.given(options, TABLE)
    if options.resume is not None:
        raise UsageError("--resume is not for estimates: run them again")
    if "target" not in given and "command" not in given:
        raise UsageError("give a TARGET (package.module:function or file.py:function)")
    return config_file.of_options(given, claimed=False)


def _given(options: argparse.Namespace, table: Any) -> dict[str, Any]:
    from dpcp_audit.options import dashed, read

    return read(table, arguments.given(options, table), dashed)


def _show(document: dict[str, Any], *, stream: TextIO, **others: Any) -> None:
    """Print the tables of losses, and then the findings."""
    from dpcp_audit.reports.terminal import print_summary
    from dpcp_audit.reports.terminal_tables import print_tables

    print_tables(document, stream=stream)
    print_summary(document, stream=stream, **others)
