"""``dpcp-audit reproduce``: the papers' tables and figures beside ours."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.frontends.cli.arguments import Commands
    from dpcp_audit.reports.report_format import Render

_EPILOG = """\
exit codes of 'reproduce':
  0  done; numbers that differ are marked
  2  usage
  3  a report could not be written

time of 'all' on two cores: smoke under a minute, ci about four, full over an hour (two
random forests are fitted 7,000 times each). Tables of private models need diffprivlib:
pip install 'dpcp-audit[targets]'.
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "reproduce",
        help="reproduce the papers' tables and figures",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "experiments",
        nargs="+",
        metavar="ID",
        help="experiments to run, such as pcoqs-table-5; 'list' lists them, 'all' runs them all",
    )
    arguments.add_profile(parser)
    arguments.add_seed(parser)
    parser.add_argument(
        "--jobs",
        type=arguments.whole(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes; results do not depend on it (default: all cores)",
    )
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE.npz",
        help="saved probabilities (m × k) and labels (m) for experiments in kind, in place of "
        "the digits that scikit-learn ships; repeatable",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FORMAT=PATH",
        help="write a report: json=, html=, markdown= or csv=; PATH '-' is stdout; repeatable",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Reproduce the chosen experiments, print them and write the reports."""
    from dpcp_audit.papers.reproduce import experiments
    from dpcp_audit.reports.reproduction import reproduction_terminal
    from dpcp_audit.reports.reproduction.reproduction_data import to_data
    from dpcp_audit.reports.writers import parse_reports, write_all

    if options.experiments == ["list"]:
        for experiment in experiments.experiments().values():
            print(f"{experiment.id}\t{experiment.source}\t{experiment.title}")
        return 0
    chosen = experiments.select(options.experiments)
    writers = parse_reports(options.report, _formats())
    extent = experiments.Extent(options.profile)
    started = time.perf_counter()
    with reproduction_terminal.watched() as progress:
        reproductions = experiments.reproduce(
            chosen,
            extent=extent,
            seed=options.seed,
            jobs=options.jobs,
            data=options.data,
            progress=progress,
        )
    document = to_data(
        reproductions,
        extent=extent,
        seed=options.seed,
        data=options.data,
        seconds=time.perf_counter() - started,
    )
    try:
        write_all(document, writers)
    finally:
        to_stdout = any(writer.path is None for writer in writers)
        reproduction_terminal.show(document, stream=sys.stderr if to_stdout else sys.stdout)
    return 0


def _formats() -> Mapping[str, Render]:
    from dpcp_audit.reports.reproduction.rendering import render_csv, render_html, render_markdown
    from dpcp_audit.reports.reproduction.reproduction_data import dump

    return {"json": dump, "html": render_html, "markdown": render_markdown, "csv": render_csv}
