"""The commands that take a TARGET: check, prove, trace and estimate."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments
from dpcp_audit.target_checks import config_file
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import RUN_OPTIONS, Group, dashed, read

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.arguments import Commands, Parser
    from dpcp_audit.proving.proof_result import ProofResult
    from dpcp_audit.reports.document import Writer
    from dpcp_audit.reports.terminal import Display
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.config_file import Config
    from dpcp_audit.words.checks import Row, Skipped
    from dpcp_audit.words.options import Option
    from dpcp_audit.words.results import Finding


def _no_target() -> UsageError:
    """Return the error that there is nothing to be checked."""
    return UsageError(
        "TARGET must be given: package.module:function or file.py:function",
        hint="such as mine.py:private_quantile --kind quantile --pure-dp 1",
    )


def kinds() -> str:
    """Return a line for each kind of target: how its function is written."""
    wide = max(len(kind) for kind in Kind)
    lines = (f"--kind {kind.value:<{wide}}  {kind.form}" for kind in Kind)
    return textwrap.indent("\n".join(lines), "  ")


def add_target_command(
    commands: Commands,
    name: str,
    *,
    description: str,
    epilog: str,
    claims: str,
    options: Sequence[Option] = (),
    execute: Callable[[argparse.Namespace], int],
) -> dict[Group, Parser]:
    """Declare a command that takes a TARGET; return the groups of its options.

    Parameters
    ----------
    description, epilog : str
        The text of its help.
    claims : str
        The claims as its usage shows them.
    options : sequence of Option
        Options of this command, beside those of all.
    """
    groups = _declared(
        commands, name, description=description, epilog=epilog, claims=claims, execute=execute
    )
    arguments.add_options(groups, (*TABLE, *RUN_OPTIONS, *options))
    arguments.add_run_options(groups[Group.RUN], budget=False)
    arguments.add_report(groups[Group.RUN])
    arguments.add_display(groups[Group.RUN])
    return groups


def _declared(
    commands: Commands,
    name: str,
    *,
    description: str,
    epilog: str,
    claims: str,
    execute: Callable[[argparse.Namespace], int],
    **defaults: Any,
) -> dict[Group, Parser]:
    """Declare a command on a TARGET without options; return the groups that they go to."""
    parser = commands.add_parser(
        name,
        description=description,
        usage=f"%(prog)s TARGET --kind KIND {claims} [OPTION]...   (--help lists them all)",
        epilog=epilog,
    )
    parser.set_defaults(execute=execute, **defaults)
    return arguments.groups_of(parser)


def values_of(options: argparse.Namespace, table: Sequence[Option]) -> dict[str, Any]:
    """Return the values of a table's options that were given."""
    return read(table, arguments.given(options, table), dashed)


def _config_of(
    options: argparse.Namespace, what: str, *, programs: bool = False, claimed: bool = True
) -> Config:
    """Return the checks of the target that was given, with ``programs`` also of a --command.

    Raises
    ------
    UsageError
        If there is none, or a journal is to be gone on with: ``what`` is run again.
    """
    given = arguments.given(options, TABLE)
    if getattr(options, "resume", None) is not None:
        raise UsageError(f"--resume is not for {what}", hint="run the command again without it")
    if "target" not in given and not (programs and "command" in given):
        raise _no_target()
    return config_file.of_options(given, claimed=claimed)


def _show_tables(document: dict[str, Any], *, stream: TextIO, **others: Any) -> None:
    """Print the tables of a run's results, and then the findings."""
    from dpcp_audit.reports.terminal import print_summary, print_tables

    print_tables(document, stream=stream)
    print_summary(document, stream=stream, **others)


def _show_lines(
    document: dict[str, Any], *, stream: TextIO, display: Display, **others: Any
) -> None:
    """Print the lines that a trace has seen, and the findings; all tables where more is asked."""
    from dpcp_audit.reports.terminal import print_summary, print_tables

    findings = document["findings"]
    if not display.verbose:
        findings = [each | {"tables": []} for each in findings]
    print_tables(document | {"findings": findings}, stream=stream)
    print_summary(document, stream=stream, display=display, **others)


_CHECK = """\
Audit your own code: name the target, its kind and its claims.

{kinds}

A calibrator's threshold is on the score 1 - p_y: the set is {{y : 1 - p_y <= threshold}}.
Without TARGET and --command the checks of --config are run, or those of [tool.dpcp-audit]
in the nearest pyproject.toml, here or in a folder above. --recipe checks code of other libraries.
"""
_CHECK_EPILOG = """\
example:
  dpcp-audit check mine.py:private_quantile --kind quantile --pure-dp 1 --n 100

exit codes:
  0  nothing was refuted
  1  a claim was refuted (with --strict, or left open)
  2  usage
  3  something could not be completed: the target raised, hung, returned NaN, is constant, ...
"""


def add_check(commands: Commands) -> None:
    """Declare the command and its options."""
    groups = add_target_command(
        commands,
        "check",
        description=_CHECK.format(kinds=kinds()),
        epilog=_CHECK_EPILOG,
        claims="CLAIM...",
        execute=execute_check,
    )
    _add_sources(groups[Group.TARGET])


def execute_check(options: argparse.Namespace) -> int:
    """Plan the checks, run them and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.run_commands import refuse_others
    from dpcp_audit.faces.planning import share_imports
    from dpcp_audit.faces.runs import require_outputs, resumed
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.target_checks.target_rows import rows_of_targets

    writers = parse_reports(options.report)
    config, skipped = _recipes(options) if options.recipe else (_config_given(options), ())
    chosen = _chosen_settings(options, config)
    require_outputs(options)
    if options.resume is not None:
        decided: list[Finding] = []
        rows, settings = resumed(options.resume, targets=config.checks)
        refuse_others(chosen, settings)
    else:
        checks, decided = _planned(config.checks)
        settings = RunSettings(suite="targets", targets=checks, skipped=skipped, **chosen)
        rows = rows_of_targets(checks)
        if not options.quiet:
            _announce(rows, settings, decided)
    if len(decided) < len(rows):
        share_imports()
    return _run(rows, settings, options, writers, decided=decided)


def _run(
    rows: Sequence[Row],
    settings: RunSettings,
    options: argparse.Namespace,
    writers: tuple[Writer, ...],
    show: Callable[..., None] | None = None,
    *,
    decided: Sequence[Finding] = (),
) -> int:
    """Check the rows of targets, publish the results and return the exit code."""
    from dpcp_audit.faces.planning import time_limit
    from dpcp_audit.faces.runs import exit_code, publish, watch

    options.time_limit = max(map(time_limit, settings.targets), default=options.time_limit)
    results = watch(rows, settings, options, decided)
    publish(results, writers, options, show)
    return exit_code(results)


def _planned(specs: Sequence[CheckSpec]) -> tuple[tuple[CheckSpec, ...], list[Finding]]:
    """Prove or plan the claims of the checks, with a sign of life on a terminal."""
    from rich.console import Console

    from dpcp_audit.engine import cell_template
    from dpcp_audit.faces.planning import plan_unproved
    from dpcp_audit.words.errors import IncompleteError

    cell_template.prepare()  # before the console starts a thread
    try:
        with Console(stderr=True).status("loading the code and timing its first calls"):
            return plan_unproved(specs)
    except KeyboardInterrupt:
        raise IncompleteError("interrupted before the first call: no report is written") from None


def _announce(rows: Sequence[Row], settings: RunSettings, decided: Sequence[Finding]) -> None:
    """Say with how many calls each claim is tested that is open, and what power they buy."""
    from rich.console import Console

    from dpcp_audit.engine.runner import share
    from dpcp_audit.faces.planning import announcement
    from dpcp_audit.reports.terminal_findings import print_indented

    console, significance = Console(stderr=True), share(settings, rows)
    over = {finding.claim.id for finding in decided}
    for row in rows:
        if row.claim.id in over:
            continue
        said = announcement(row, significance)
        if console.is_terminal:
            console.print(row.claim.id, markup=False, highlight=False, soft_wrap=True)
            print_indented(said, console)
        else:
            console.file.write(f"{row.claim.id}: {said}\n")


def _chosen_settings(options: argparse.Namespace, config: Config) -> dict[str, Any]:
    """Return the run's settings: the option where given, else the file's, else the default."""
    given = values_of(options, RUN_OPTIONS)
    chosen = {each.name: given.get(each.name, getattr(config, each.name)) for each in RUN_OPTIONS}
    return {name: value for name, value in chosen.items() if value is not None}


def _config_given(options: argparse.Namespace) -> Config:

    given = arguments.given(options, TABLE)
    if not {"target", "command"} & given.keys():
        if given:
            raise UsageError(
                f"--{next(iter(given))} needs a TARGET, or a --command",
                hint="dpcp-audit check mine.py:function --kind quantile --pure-dp 1",
            )
        options.config = options.config or config_file.found()
        if options.config is None:
            raise _no_target()
        return config_file.load(options.config)
    if options.config is not None:
        raise UsageError(
            "--config cannot be combined with TARGET or --command",
            hint="name the target in the file, or leave --config out",
        )
    return config_file.of_options(given)


def _recipes(options: argparse.Namespace) -> tuple[Config, tuple[Skipped, ...]]:
    """Return the checks of the recipes, and the recipes that cannot run here."""
    from dpcp_audit.target_checks import recipes

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


_DEFAULT_N = 100
_PROVE = """\
Prove a promise of privacy for every input, by reading the source. The function is not run. Line by
line, the proof bounds how far two neighbouring inputs can be apart, and adds up the cost of each
noise draw. The first line that leaks, or that cannot be followed, stops the proof.

Local privacy is proved for every two values of a user; with --shuffle-n, a promise is proved for
the shuffled reports of all users. With --group K, any K persons may differ. Coverage is proved for
every law of the scores, if the rank of the threshold does not depend on the scores. TARGET and
its claims are those of 'dpcp-audit check'.
"""
_PROVE_EPILOG = """\
example:
  dpcp-audit prove mine.py:private_quantile --kind quantile --zcdp 0.5 --n 50
  dpcp-audit prove mine.py:unary_encoding --kind randomizer --domain 10 --local-dp 1
  dpcp-audit prove mine.py:of_clients --kind federated --clients 5 --unit client --zcdp 0.5

exit codes:
  0  proved, or not decided: a proof that stops refutes nothing
  1  with --strict: not proved
  2  usage
"""


_READ = frozenset(
    {
        *("target", "kind", "randomness", "bounds", "domain", "options", "strict"),
        *("n", "clients", "unit", "neighbours", "shuffle_n", "group", "ties", "open_sets"),
    }
)
"""The options that a proof reads, beside the claims."""
_OF_CHECK = "'dpcp-audit check' takes it, and tries the same proof first"


def add_prove(commands: Commands) -> None:
    """Declare the command and the options that a proof reads."""
    table = (*TABLE, *RUN_OPTIONS)
    read_here = [each for each in table if each.group is Group.CLAIM or each.name in _READ]
    others = [dashed(each.name) for each in table if each not in read_here]
    instead = dict.fromkeys((*others, "report", "quiet", "verbose", "as"), _OF_CHECK)
    groups = _declared(
        commands,
        "prove",
        description=_PROVE,
        epilog=_PROVE_EPILOG,
        claims="CLAIM...",
        execute=execute_prove,
        instead=instead,
    )
    arguments.add_options(groups, read_here)


def execute_prove(options: argparse.Namespace) -> int:
    """Load the target, read its source and print the proof for each number of scores."""
    from dpcp_audit.proving.coverage import CoverageSetting, prove_coverage
    from dpcp_audit.proving.proof_result import card
    from dpcp_audit.proving.prover import prove
    from dpcp_audit.target_checks.source_proofs import inputs_of
    from dpcp_audit.targets import Takes, TargetError
    from dpcp_audit.targets.loading import load

    (spec,) = _config_of(options, "proofs").checks
    _require_provable(spec)
    privacy, coverage = spec.privacy, spec.coverage
    local = spec.target.kind.takes is Takes.VALUE
    try:
        function = load(spec.target.target)
    except TargetError as error:
        hint = "" if error.hint else "TARGET is FILE.py:FUNCTION"
        raise UsageError(str(error), hint=hint) from None
    bounds, given = spec.target.bounds, spec.target.options
    proofs: list[ProofResult] = []
    for n in (_DEFAULT_N,) if local else spec.n or (_DEFAULT_N,):
        if privacy:
            proofs.append(prove(function, *privacy, n=n, options=given, **inputs_of(spec)))
        if coverage is not None:
            setting = CoverageSetting(n=n, bounds=bounds, ties=spec.ties, open_sets=spec.open_sets)
            proofs.append(prove_coverage(function, coverage, setting, given))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    print("\n\n".join(card(each, width) for each in proofs))
    strict = values_of(options, RUN_OPTIONS).get("strict", False)
    return int(strict and not all(each.proved for each in proofs))


def _require_provable(spec: CheckSpec) -> None:
    """Refuse the kinds, claims and ways of calling a target that ``prove`` does not read."""
    from dpcp_audit.targets import Kind, RandomStyle, Takes

    takes = spec.target.kind.takes
    whole = spec.coverage is None or spec.target.kind is Kind.QUANTILE
    if not whole or takes is Takes.ROWS:
        raise UsageError(
            "prove takes --kind quantile, vector, federated, calibrator, randomizer or local, and "
            "claims of privacy; of --kind quantile also claims of coverage",
            hint="dpcp-audit check tests all other kinds and claims",
        )
    if takes in {Takes.VALUE, Takes.RECORDS} and spec.target.domain is None:
        what = "one user's value of a finite domain" if takes is Takes.VALUE else "K classes"
        raise UsageError(f"prove takes {what}", hint="give --domain K")
    if spec.target.randomness is RandomStyle.SEED:
        raise UsageError(
            "prove reads functions that take no seed",
            hint="dpcp-audit check tests those with --randomness seed",
        )


_TRACE = """\
Follow the noise of an unchanged function, and find the line that spends the privacy loss. Each
comparison with a noisy number, and each noisy value that is read, is an observation. The trace
computes its probability on an input and on its neighbour; the log-ratio is the privacy loss of that
run. The whole law of randomizers, and of other functions with finite randomness, is enumerated.
TARGET, its claims and its options are those of 'dpcp-audit check'.

  --scope release      what leaves the function (default)
  --scope transcript   every noisy number that the code acts on, as if released:
                       what a proof by composition pays for
"""
_TRACE_EPILOG = """\
example:
  dpcp-audit trace mine.py:private_quantile --kind quantile --zcdp 0.5 --n 100

exit codes:
  0  nothing was refuted
  1  a claim was refuted (with --strict, or left open)
  2  usage
  3  something could not be completed
"""


def add_trace(commands: Commands) -> None:
    """Declare the command and its options."""
    groups = add_target_command(
        commands,
        "trace",
        description=_TRACE,
        epilog=_TRACE_EPILOG,
        claims="CLAIM...",
        execute=execute_trace,
    )
    groups[Group.RUN].add_argument(
        "--scope",
        choices=("release", "transcript"),
        default="release",
        help="the output that the claims cover (default: %(default)s)",
    )


def execute_trace(options: argparse.Namespace) -> int:
    """Load the target, trace it and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.planning import plan
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.target_checks.loss_rows import rows_of_traces, without_coverage

    writers = parse_reports(options.report)
    config = _config_of(options, "traces")
    rows_of_traces(config.checks, options.scope)
    settings = RunSettings(
        suite="traces",
        targets=plan([without_coverage(spec) for spec in config.checks]),
        options={"scope": options.scope},
        **values_of(options, RUN_OPTIONS),
    )
    rows = rows_of_traces(settings.targets, options.scope)
    return _run(rows, settings, options, writers, _show_lines)


_ESTIMATE = """\
Estimate the privacy loss of a function on the worst pair of neighbours that a search finds: epsilon
at several delta, rho and Renyi divergences, the Gaussian mu, total variation, membership advantage
and true-positive rates, each with an interval. All intervals hold at once. Lower ends come from
outputs, upper ends from the trace of the noise or its exact law, if the code can be followed.
Otherwise there is no upper end, and "partition" bounds the loss over a partition of the outputs;
the function may lose more. TARGET, its claims and its options are those of 'dpcp-audit check';
claims are optional, and are shown beside the estimates.
"""
_ESTIMATE_EPILOG = """\
example:
  dpcp-audit estimate mine.py:private_quantile --kind quantile --n 100 --report html=loss.html

exit codes:
  0  no claim was refuted
  1  a claim was refuted
  2  usage
  3  something could not be completed
"""


def add_estimate(commands: Commands) -> None:
    """Declare the command and its options."""
    from dpcp_audit.target_checks.loss_rows import ESTIMATE_OPTIONS

    add_target_command(
        commands,
        "estimate",
        description=_ESTIMATE,
        epilog=_ESTIMATE_EPILOG,
        claims="[CLAIM]...",
        options=ESTIMATE_OPTIONS,
        execute=execute_estimate,
    )


def execute_estimate(options: argparse.Namespace) -> int:
    """Load the target, estimate its loss and publish the results."""
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.planning import plan
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.target_checks.loss_rows import (
        ESTIMATE_OPTIONS,
        FALSE_ALARM,
        privacy_alone,
        rows_of_estimates,
    )

    writers = parse_reports(options.report)
    config = _config_of(options, "estimates", programs=True, claimed=False)
    rows_of_estimates(config.checks)
    defaults: dict[str, Any] = {"false_alarm": FALSE_ALARM}
    settings = RunSettings(
        suite="estimates",
        targets=plan([privacy_alone(spec) for spec in config.checks]),
        options=values_of(options, ESTIMATE_OPTIONS),
        **defaults | values_of(options, RUN_OPTIONS),
    )
    rows = rows_of_estimates(settings.targets, **settings.options)
    return _run(rows, settings, options, writers, _show_tables)
