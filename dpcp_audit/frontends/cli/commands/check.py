"""``dpcp-audit check``: audit a function, a file of checks, or a command of any language."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.frontends.cli import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.frontends.cli.arguments import Commands
    from dpcp_audit.skipped import Skipped
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.config_file import Config

_DESCRIPTION = """\
Audit code of your own: give it, what kind it is, and what it claims.

  --kind quantile     f(scores, *, rng) -> float            a private quantile of scores
  --kind randomizer   f(value, *, rng) -> int               a local randomizer over 0..K-1
  --kind calibrator   f(probabilities, labels, *, rng) -> float
                      a threshold on the score 1 - p_y; the set is {y : 1 - p_y <= threshold}

Without TARGET and --command the checks of --config are run, or those of [tool.dpcp-audit]
in the pyproject.toml of the working directory. --recipe checks code of other libraries.
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
    parser = commands.add_parser(
        "check",
        help="audit code of your own",
        description=_DESCRIPTION,
        usage="%(prog)s TARGET --kind KIND CLAIM... [OPTION]...   (--help tells them all)",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_target(parser.add_argument_group("the target"))
    _add_claims(parser.add_argument_group("what it claims (repeatable, but for coverage)"))
    _add_setting(parser.add_argument_group("how it is tried"))
    run = parser.add_argument_group("the run")
    arguments.add_false_alarm(run, default=None)
    arguments.add_seed(run, default=None)
    arguments.add_run_options(run, budget=False)
    arguments.add_report(run)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Plan the checks, run them and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.frontends.planning import time_limit
    from dpcp_audit.frontends.publishing import exit_code, publish, resumed, watch
    from dpcp_audit.reports.writers import parse_reports
    from dpcp_audit.target_checks.target_rows import rows_of_targets

    writers = parse_reports(options.report)
    if options.resume is not None:
        rows, settings = resumed(options.resume)
    else:
        config, skipped = _recipes(options) if options.recipe else (_config(options), ())
        settings = RunSettings(
            suite="targets",
            targets=_planned(config.checks),
            skipped=skipped,
            **_chosen(options, config),
        )
        rows = rows_of_targets(settings.targets)
    options.time_limit = max(map(time_limit, settings.targets), default=options.time_limit)
    results = watch(rows, settings, options)
    publish(results, writers)
    return exit_code(results)


def _planned(specs: Sequence[CheckSpec]) -> tuple[CheckSpec, ...]:
    """Plan the checks, with a sign of life on a terminal."""
    from rich.console import Console

    from dpcp_audit.frontends.planning import plan

    with Console(stderr=True).status("loading the code and timing its first calls"):
        return plan(specs)


def _chosen(options: argparse.Namespace, config: Config) -> dict[str, Any]:
    """Return the run's settings: the option where given, else the file's, else the default."""
    chosen = {
        "seed": config.seed if options.seed is None else options.seed,
        "false_alarm": config.false_alarm if options.false_alarm is None else options.false_alarm,
        "strict": options.strict or config.strict,
    }
    return {key: value for key, value in chosen.items() if value is not None}


def _config(options: argparse.Namespace) -> Config:
    from dpcp_audit.errors import UsageError
    from dpcp_audit.target_checks import config_file as config

    given = _given(options)
    if options.target is None and options.command_line is None:
        if given:
            raise UsageError(f"--{next(iter(given))} needs a TARGET, or a --command")
        path = options.config or Path(config.PROJECT_FILE)
        if options.config is None and not path.exists():
            raise UsageError("give a TARGET (package.module:function or file.py:function)")
        return config.load(path)
    if options.config is not None:
        raise UsageError("--config goes without TARGET and --command")
    return config.of_options(given)


def _recipes(options: argparse.Namespace) -> tuple[Config, tuple[Skipped, ...]]:
    """Return the checks of the recipes, and the recipes that cannot run here."""
    from dpcp_audit.errors import UsageError
    from dpcp_audit.libraries import recipes

    given = dict(_given(options))
    efforts = {key: given.pop(key) for key in ("budget", "draws") if key in given}
    if given or options.config is not None:
        other = next(iter(given), "config")
        other = "TARGET" if other == "target" else f"--{other}"
        raise UsageError(f"--recipe goes without {other}: a recipe is a target with its claims")
    return recipes.runnable(recipes.select(options.recipe, **efforts))


def _given(options: argparse.Namespace) -> Mapping[str, Any]:
    """Return the check that the options describe, as a TOML table would hold it."""
    values = {
        "target": options.target,
        "command": options.command_line,
        "options": _keywords(options.option),
    }
    same = (
        *(
            "kind",
            "vectorised",
            "rng",
            "bounds",
            "domain",
            "pure_dp",
            "approx_dp",
            "renyi_dp",
            "zcdp",
        ),
        *("local_dp", "coverage_at_least", "with_confidence", "alpha", "n", "neighbours"),
        *("public_n", "budget", "draws", "name", "call_seconds", "open_sets", "tolerance"),
    )
    values |= {name.replace("_", "-"): getattr(options, name) for name in same}
    ties = {"ties": False} if options.no_ties else {}
    return {
        key: value
        for key, value in values.items()
        if value is not None and value is not False and value not in ([], {})  # but 0 is a value
    } | ties


def _keywords(given: list[str]) -> dict[str, Any]:
    """Read NAME=VALUE, where the value is JSON or else a text."""
    import json

    from dpcp_audit.errors import UsageError

    found: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--option must be NAME=VALUE, got {item!r}")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be whole numbers such as 100 or 50,500, got {text!r}"
        ) from None


def _add_target(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="package.module:function or path/to/file.py:function",
    )
    group.add_argument(
        "--command",
        dest="command_line",
        metavar="'PROGRAM ARGS'",
        help="a program that speaks JSON lines, instead of TARGET",
    )
    group.add_argument("--kind", metavar="KIND", help="quantile, randomizer or calibrator")
    group.add_argument(
        "--rng",
        metavar="STYLE",
        help="how the target takes its randomness: generator, seed, global or none "
        "(default: as its signature says)",
    )
    group.add_argument(
        "--vectorised",
        action="store_true",
        help="the target takes 'size' and returns that many outputs (a randomizer: an array)",
    )
    group.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a keyword argument for the target; repeatable",
    )
    group.add_argument("--domain", type=int, metavar="K", help="a randomizer's number of values")
    group.add_argument(
        "--bounds",
        nargs=2,
        type=float,
        metavar=("A", "B"),
        help="the interval that holds every score (default: 0 1)",
    )
    group.add_argument(
        "--call-seconds", metavar="TIME", help="the longest wait for one reply of --command"
    )
    group.add_argument(
        "--config", type=Path, metavar="FILE.toml", help="a file of checks, instead of TARGET"
    )
    group.add_argument("--name", metavar="NAME", help="what the findings are called")
    group.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="NAME",
        help="check code of another library against its documentation, instead of TARGET "
        "(docs/recipes.md), or 'all'; one whose library is not installed is skipped; repeatable",
    )


def _add_claims(group: argparse._ArgumentGroup) -> None:
    for option, letter, words in (
        ("--pure-dp", "E", "E-differential privacy"),
        ("--zcdp", "R", "R-zero-concentrated differential privacy"),
        ("--local-dp", "E", "E-local differential privacy"),
    ):
        group.add_argument(
            option, action="append", type=float, default=[], metavar=letter, help=words
        )
    group.add_argument(
        "--approx-dp",
        action="append",
        nargs=2,
        type=float,
        default=[],
        metavar=("E", "D"),
        help="(E, D)-differential privacy",
    )
    group.add_argument(
        "--renyi-dp",
        action="append",
        nargs=2,
        type=float,
        default=[],
        metavar=("A", "E"),
        help="a Renyi divergence of order A of at most E",
    )
    group.add_argument(
        "--coverage-at-least",
        type=float,
        metavar="C",
        help="coverage of at least C, over calibration data, noise and test point ...",
    )
    group.add_argument(
        "--with-confidence",
        type=float,
        metavar="P",
        help="... or with probability P over calibration data and noise",
    )


def _add_setting(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--n", type=_sizes, metavar="N[,N...]", help="numbers of calibration scores")
    group.add_argument("--alpha", type=float, metavar="A", help="the miscoverage level aimed at")
    group.add_argument(
        "--neighbours",
        metavar="RELATION",
        help="substitution (default: one score is replaced) or add-remove",
    )
    group.add_argument(
        "--public-n", action="store_true", help="n is public (as substitution has it)"
    )
    group.add_argument(
        "--no-ties", action="store_true", help="coverage is claimed for scores without ties alone"
    )
    group.add_argument(
        "--open-sets", action="store_true", help="sets hold the labels with score < threshold"
    )
    group.add_argument(
        "--tolerance",
        type=float,
        metavar="T",
        help="how much larger thresholds may be taken to be, for single-precision code",
    )
    group.add_argument(
        "--budget", metavar="TIME", help="time for the target, such as 60s or 2m (default: 60s)"
    )
    group.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="calls of the target for each claim, instead of --budget: a run that repeats exactly",
    )
