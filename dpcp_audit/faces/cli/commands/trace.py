"""``dpcp-audit trace``: follow the noise of a function, and name the line that spends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.faces.cli import target_command
from dpcp_audit.words.options import RUN_OPTIONS, Group

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.faces.cli.arguments import Commands


_DESCRIPTION = """\
Follow the noise of an unchanged function, and find the line that spends the privacy loss. Each
comparison with a noisy number, and each noisy value that is read, is an observation. The trace
computes its probability on an input and on its neighbour; the log-ratio is the privacy loss of that
run. The whole law of randomizers, and of other functions with finite randomness, is enumerated.
TARGET, its claims and its options are those of 'dpcp-audit check'.

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
    groups = target_command.add_parser(
        commands,
        "trace",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        claims="CLAIM...",
        execute=execute,
    )
    groups[Group.RUN].add_argument(
        "--scope",
        choices=("release", "transcript"),
        default="release",
        help="the output that the claims cover (default: %(default)s)",
    )


def execute(options: argparse.Namespace) -> int:
    """Load the target, trace it and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.runs import exit_code, plan, publish, time_limit, watch
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.target_checks.target_rows import rows_of_traces, without_coverage

    writers = parse_reports(options.report)
    config = target_command.config_of(options, "traces")
    rows_of_traces(config.checks, options.scope)
    settings = RunSettings(
        suite="traces",
        targets=plan([without_coverage(spec) for spec in config.checks]),
        options={"scope": options.scope},
        **target_command.chosen(options, RUN_OPTIONS),
    )
    options.time_limit = max(map(time_limit, settings.targets))
    results = watch(rows_of_traces(settings.targets, options.scope), settings, options)
    publish(results, writers, options, show=target_command.show_tables)
    return exit_code(results)
