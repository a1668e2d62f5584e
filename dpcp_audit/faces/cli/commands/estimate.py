"""``dpcp-audit estimate``: the privacy loss of a function, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import target_command
from dpcp_audit.target_checks.target_rows import ESTIMATE_OPTIONS
from dpcp_audit.words.options import RUN_OPTIONS

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.faces.cli.arguments import Commands


_DESCRIPTION = """\
Estimate the privacy loss of a function on the worst pair of neighbours that a search finds: epsilon
at several delta, rho and Renyi divergences, the Gaussian mu, total variation, membership advantage
and true-positive rates, each with an interval, all of which hold at once. Lower ends come from
outputs, upper ends from the trace of the noise or its exact law, if the code can be followed.
Otherwise there is no upper end: "partition" is that of the loss over a partition of the outputs,
which the function may exceed. TARGET, its claims and its options are those of 'dpcp-audit check';
claims are optional, and are shown beside the estimates.
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
    target_command.add_parser(
        commands,
        "estimate",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        claims="[CLAIM]...",
        options=ESTIMATE_OPTIONS,
        execute=execute,
    )


def execute(options: argparse.Namespace) -> int:
    """Load the target, estimate its loss and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.runs import exit_code, plan, publish, time_limit, watch
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.target_checks.target_rows import FALSE_ALARM, privacy_alone, rows_of_estimates

    writers = parse_reports(options.report)
    config = target_command.config_of(options, "estimates", programs=True, claimed=False)
    rows_of_estimates(config.checks)
    defaults: dict[str, Any] = {"false_alarm": FALSE_ALARM}
    settings = RunSettings(
        suite="estimates",
        targets=plan([privacy_alone(spec) for spec in config.checks]),
        options=target_command.chosen(options, ESTIMATE_OPTIONS),
        **defaults | target_command.chosen(options, RUN_OPTIONS),
    )
    options.time_limit = max(map(time_limit, settings.targets))
    rows = rows_of_estimates(settings.targets, **settings.options)
    results = watch(rows, settings, options)
    publish(results, writers, options, show=target_command.show_tables)
    return exit_code(results)
