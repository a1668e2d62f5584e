"""``dpcp-audit selftest``: planted bugs that checks must catch, and twins that they must not."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    from dpcp_audit.frontends.cli.arguments import Commands

_DESCRIPTION = """\
Run the zoo: private calibrators with a planted bug whose true loss is known, and their correct
twins. The table shows which check catches which bug, at which budget, with which witness.
"""
_EPILOG = """\
exit codes:
  0  every check caught the bugs that it is meant to see, and no correct twin was refuted
  1  a bug was missed, or a true claim refuted
  2  usage
  3  something could not be completed
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "selftest",
        help="show what the checks catch: a zoo of planted bugs",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_profile(parser)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GLOB",
        help="only findings whose id matches, such as 'zoo.noise-*'; repeatable",
    )
    arguments.add_seed(parser)
    arguments.add_false_alarm(parser)
    arguments.add_run_options(parser)
    arguments.add_report(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run the zoo, print its table, and publish the results."""
    import sys

    from dpcp_audit.engine.run_settings import Profile, RunSettings
    from dpcp_audit.engine.suites import select
    from dpcp_audit.frontends.publishing import resumed, watch
    from dpcp_audit.reports.document import plain_data
    from dpcp_audit.reports.writers import parse_reports, write_all
    from dpcp_audit.zoo.detection_table import failures, heat_map
    from dpcp_audit.zoo.detection_text import print_zoo

    writers = parse_reports(options.report)
    if options.resume is None:
        settings = RunSettings(
            suite="zoo",
            seed=options.seed,
            profile=Profile(options.profile),
            false_alarm=options.false_alarm,
            strict=options.strict,
        )
        rows = select(options.only, "zoo")
    else:
        rows, settings = resumed(options.resume)
    results = watch(rows, settings, options)
    if results["findings"]:
        results["findings"][0]["figures"].insert(0, plain_data(asdict(heat_map(results))))
    to_stdout = any(writer.path is None for writer in writers)
    write_all(results, writers)
    print_zoo(results, stream=sys.stderr if to_stdout else sys.stdout)
    if failures(results):
        return 1
    return 0 if results["complete"] else 3
