"""``dpcp-audit check``: audit a function, a file of checks, or a command of any language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments, target_command
from dpcp_audit.target_checks import config_file
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.words.options import RUN_OPTIONS, Group

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.arguments import Commands, Parser
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.config_file import Config
    from dpcp_audit.words.checks import Row, Skipped


_DESCRIPTION = """\
Audit your own code: name the target, its kind and its claims.

{kinds}

A calibrator's threshold is on the score 1 - p_y: the set is {{y : 1 - p_y <= threshold}}.
Without TARGET and --command the checks of --config are run, or those of [tool.dpcp-audit]
in the nearest pyproject.toml, here or in a folder above. --recipe checks code of other libraries.
"""
_EPILOG = """\
example:
  dpcp-audit check mine.py:private_quantile --kind quantile --pure-dp 1 --n 100

exit codes:
  0  nothing was refuted
  1  a claim was refuted (with --strict, or left open)
  2  usage
  3  something could not be completed: the target raised, hung, returned NaN, is constant, ...
"""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    groups = target_command.add_parser(
        commands,
        "check",
        description=_DESCRIPTION.format(kinds=target_command.kinds()),
        epilog=_EPILOG,
        claims="CLAIM...",
        execute=execute,
    )
    _add_sources(groups[Group.TARGET])


def execute(options: argparse.Namespace) -> int:
    """Plan the checks, run them and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.commands.run import refuse_others
    from dpcp_audit.faces.runs import (
        exit_code,
        publish,
        require_outputs,
        resumed,
        time_limit,
        watch,
    )
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.target_checks.target_rows import rows_of_targets

    writers = parse_reports(options.report)
    config, skipped = _recipes(options) if options.recipe else (_config(options), ())
    chosen = _chosen(options, config)
    require_outputs(options)
    if options.resume is not None:
        rows, settings = resumed(options.resume, targets=config.checks)
        refuse_others(chosen, settings)
    else:
        settings = RunSettings(
            suite="targets", targets=_planned(config.checks), skipped=skipped, **chosen
        )
        rows = rows_of_targets(settings.targets)
    if not options.quiet and options.resume is None:
        _announce(rows, settings)
    options.time_limit = max(map(time_limit, settings.targets), default=options.time_limit)
    results = watch(rows, settings, options)
    publish(results, writers, options)
    return exit_code(results)


def _planned(specs: Sequence[CheckSpec]) -> tuple[CheckSpec, ...]:
    """Plan the checks, with a sign of life on a terminal."""
    from rich.console import Console

    from dpcp_audit.engine import cell_template
    from dpcp_audit.faces.runs import plan
    from dpcp_audit.words.errors import IncompleteError

    cell_template.prepare()  # before the console starts a thread
    try:
        with Console(stderr=True).status("loading the code and timing its first calls"):
            return plan(specs)
    except KeyboardInterrupt:
        raise IncompleteError("interrupted before the first call: no report is written") from None


def _announce(rows: Sequence[Row], settings: RunSettings) -> None:
    """Say with how many calls each claim is tested, and what power they buy."""
    from rich.console import Console

    from dpcp_audit.engine.runner import share
    from dpcp_audit.faces.runs import announcement
    from dpcp_audit.reports.terminal_findings import print_indented

    console, significance = Console(stderr=True), share(settings, rows)
    for row in rows:
        said = announcement(row, significance)
        if console.is_terminal:
            console.print(row.claim.id, markup=False, highlight=False, soft_wrap=True)
            print_indented(said, console)
        else:
            console.file.write(f"{row.claim.id}: {said}\n")


def _chosen(options: argparse.Namespace, config: Config) -> dict[str, Any]:
    """Return the run's settings: the option where given, else the file's, else the default."""
    given = target_command.chosen(options, RUN_OPTIONS)
    chosen = {each.name: given.get(each.name, getattr(config, each.name)) for each in RUN_OPTIONS}
    return {name: value for name, value in chosen.items() if value is not None}


def _config(options: argparse.Namespace) -> Config:
    from dpcp_audit.words.errors import UsageError

    given = arguments.given(options, TABLE)
    if not {"target", "command"} & given.keys():
        if given:
            raise UsageError(
                f"--{next(iter(given))} needs a TARGET, or a --command",
                hint="dpcp-audit check mine.py:function --kind quantile --pure-dp 1",
            )
        path = options.config or config_file.found()
        if path is None:
            raise target_command.no_target()
        return config_file.load(path)
    if options.config is not None:
        raise UsageError(
            "--config cannot be combined with TARGET or --command",
            hint="name the target in the file, or leave --config out",
        )
    return config_file.of_options(given)


def _recipes(options: argparse.Namespace) -> tuple[Config, tuple[Skipped, ...]]:
    """Return the checks of the recipes, and the recipes that cannot run here."""
    from dpcp_audit.target_checks import recipes
    from dpcp_audit.words.errors import UsageError

    given = arguments.given(options, TABLE)
    efforts = {key: given.pop(key) for key in recipes.EFFORTS if key in given}
    if given or options.config is not None:
        other = next(iter(given), "config")
        other = "TARGET" if other == "target" else f"--{other}"
        raise UsageError(
            f"--recipe cannot be combined with {other}",
            hint="a recipe is a target with its claims: leave the other out",
        )
    return recipes.runnable(recipes.select(options.recipe, efforts))


def _add_sources(group: Parser) -> None:
    group.add_argument(
        "--config", type=Path, metavar="FILE.toml", help="a file of checks, instead of TARGET"
    )
    group.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="NAME",
        help="check code of another library against its documentation, instead of TARGET "
        "(docs/recipes.md), or 'all'; one whose library is not installed is skipped; repeatable",
    )
