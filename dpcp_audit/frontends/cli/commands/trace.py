"""``dpcp-audit trace``: follow the noise of a function, and name the line that spends."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpcp_audit.frontends.cli import arguments
from dpcp_audit.options import Group
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.target_checks.run_options import RUN_OPTIONS

if TYPE_CHECKING:
    from typing import TextIO

    from dpcp_audit.frontends.cli.arguments import Commands

_DESCRIPTION = """\
Follow the noise of a function as it stands: every comparison with a noisy number and every noisy
value that is read is an observation of known probability, on an input and, replayed, on its
neighbour. Their log-ratio is the privacy loss of that run. Randomizers, and other functions
of finite randomness, have their whole law enumerated. TARGET, its claims and its options are those
of 'dpcp-audit check'.

  --scope release      what leaves the function (default)
  --scope transcript   every noisy number that the code acts on, as if released:
                       what a proof by composition pays for
"""
_EPILOG = """\
example:
  dpcp-audit trace mine.py:private_quantile --kind quantile --zcdp 0.5 --n 100

exit codes:
  0  nothing was refuted
  1  a claim was refuted (with --strict, or left open)
  2  usage
  3  something could not be completed
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "trace",
        help="find the line that spends the privacy loss",
        description=_DESCRIPTION,
        usage="%(prog)s TARGET --kind KIND CLAIM... [OPTION]...   (--help lists them all)",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    groups = arguments.groups_of(parser)
    arguments.add_options(groups, (*TABLE, *RUN_OPTIONS))
    groups[Group.RUN].add_argument(
        "--scope",
        choices=("release", "transcript"),
        default="release",
        help="of what the claims speak (default: %(default)s)",
    )
    arguments.add_run_options(groups[Group.RUN], budget=False)
    arguments.add_report(groups[Group.RUN])
    arguments.add_display(groups[Group.RUN])
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Load the target, trace it and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.frontends.planning import plan, time_limit
    from dpcp_audit.frontends.publishing import exit_code, publish, watch
    from dpcp_audit.reports.writers import parse_reports
    from dpcp_audit.target_checks.trace_rows import rows_of_traces, without_coverage

    writers = parse_reports(options.report)
    config = _config(options)
    rows_of_traces(config.checks, options.scope)
    settings = RunSettings(
        suite="traces",
        targets=plan([without_coverage(spec) for spec in config.checks]),
        options={"scope": options.scope},
        **_chosen(options),
    )
    options.time_limit = max(map(time_limit, settings.targets))
    results = watch(rows_of_traces(settings.targets, options.scope), settings, options)
    publish(results, writers, options, show=_show)
    return exit_code(results)


def _config(options: argparse.Namespace) -> Any:
    from dpcp_audit.errors import UsageError
    from dpcp_audit.target_checks import config_file

    given = arguments.given(options, TABLE)
    if options.resume is not None:
        raise UsageError("--resume is not for traces: run them again")
    if "target" not in given:
        raise UsageError("give a TARGET (package.module:function or file.py:function)")
    return config_file.of_options(given)


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    from dpcp_audit.options import dashed, read

    return read(RUN_OPTIONS, arguments.given(options, RUN_OPTIONS), dashed)


def _show(document: dict[str, Any], *, stream: TextIO, **others: Any) -> None:
    """Print the findings, and then the tables of lines."""
    from dpcp_audit.reports.terminal import print_summary
    from dpcp_audit.reports.terminal_tables import print_tables

    print_tables(document, stream=stream)
    print_summary(document, stream=stream, **others)
