"""The commands that test claims of suites: run, list and theorem."""

from __future__ import annotations

import argparse
import sys
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments
from dpcp_audit.faces.cli.main import EXIT_CODES
from dpcp_audit.words.values import is_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TextIO

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.arguments import Commands, Parser
    from dpcp_audit.theorems.catalogue import NamedTheorem
    from dpcp_audit.words.options import Option
    from dpcp_audit.words.results import Claim


def add_run(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "run",
        epilog=EXIT_CODES,
    )
    arguments.add_selection(parser, default_suite=None)
    add_suite_options(parser)
    parser.add_argument(
        "--figures",
        action="store_true",
        help="keep the figures of a suite that leaves them out, such as theorems",
    )
    parser.set_defaults(execute=execute_run)


def add_suite_options(parser: Parser) -> None:
    """Add what every suite is run with; what is left out has its default, or is resumed."""
    arguments.add_settings(parser)
    arguments.add_run_options(parser)
    arguments.add_report(parser)
    arguments.add_display(parser)


def execute_run(options: argparse.Namespace) -> int:
    """Check the claims that the options select and publish the results."""
    from dpcp_audit.faces.runs import exit_code

    return exit_code(run_suite(options, only=options.only))


def run_suite(
    options: argparse.Namespace,
    *,
    fixed: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    show: Callable[..., None] | None = None,
) -> dict[str, Any]:
    """Run a suite, or go on with a run of it, publish and return the results.

    Parameters
    ----------
    fixed : mapping, optional
        Settings that the command fixes, such as the suite.
    only : sequence of str
        Patterns of ids; without, all claims.
    show : callable, optional
        Prints the results; by default a summary.
    """
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.suites import find, select
    from dpcp_audit.faces.runs import publish, resumed, watch
    from dpcp_audit.reports.document import parse_reports
    from dpcp_audit.words.errors import UsageError

    writers = parse_reports(options.report)
    chosen = _chosen_settings(options) | dict(fixed or {})
    if options.resume is None:
        settings = RunSettings(**chosen)
        settings = replace(settings, skipped=find(settings.suite).skipped())
        rows = select(only, settings.suite, **settings.given)
    else:
        rows, settings = resumed(options.resume)
        if only:
            raise UsageError(
                "--only cannot be combined with --resume",
                hint="leave --only out: the claims are those that the run was begun with",
            )
        refuse_others(chosen, settings)
    results = watch(rows, settings, options)
    publish(results, writers, options, show)
    return results


def _chosen_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given; of those left out the default holds."""
    from dpcp_audit.engine.run_settings import Profile

    chosen = {
        "seed": options.seed,
        "profile": options.profile and Profile(options.profile),
        "false_alarm": options.false_alarm,
        "strict": options.strict or None,
        "suite": getattr(options, "suite", None),
        "pools": tuple(getattr(options, "pool", ())) or None,
        "options": {"figures": True} if getattr(options, "figures", False) else None,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def refuse_others(chosen: Mapping[str, Any], settings: RunSettings) -> None:
    """Raise ``UsageError`` where what is chosen is not what the resumed run was begun with."""
    from dpcp_audit.words.errors import UsageError

    for name, value in chosen.items():
        if (recorded := getattr(settings, name)) != value:
            option = name.replace("_", "-").replace("pools", "pool")
            raise UsageError(
                f"--{option}: the resumed run was begun with {recorded}, got {value}",
                hint=f"leave --{option} out: a resumed run has the settings that it was begun with",
            )


_LONGEST_CELL = 400


def add_list(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("list")
    arguments.add_selection(parser)
    parser.add_argument(
        "--suites",
        action="store_true",
        help="list the installed suites instead, with their packages and what they test",
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON list of objects instead of a table"
    )
    parser.set_defaults(execute=execute_list)


def execute_list(options: argparse.Namespace) -> int:
    """Print the ids, expected verdicts, standings and statements of the selected claims."""
    from dpcp_audit.engine.suites import select

    if options.suites:
        lines = list(_suites())
    else:
        rows = select(options.only, options.suite, pools=tuple(options.pool))
        lines = [_line(row.claim, whole=options.json) for row in rows]
    if options.json:
        _print_json(lines)
    else:
        _print_table(lines)
    return 0


def _line(claim: Claim, *, whole: bool) -> dict[str, Any]:
    """Return the data shown of a claim; ``whole`` adds what a program may ask for."""
    told = {
        "claim": claim.id,
        "expected": "-" if claim.expected is None else str(claim.expected),
        "standing": str(claim.standing),
        "source": str(claim.source),
        "statement": claim.statement,
    }
    return told | {"parameters": claim.parameters} if whole else told


def _suites() -> Iterator[dict[str, Any]]:
    """Yield the suites; the line of one that cannot be used, or is ignored, says so."""
    from dpcp_audit.engine.suites import entries, ignored, names, package

    for name in names():
        owners = " and ".join(map(package, entries(name)))
        yield {"suite": name, "package": owners, "tests": _summary(name)}
    for entry in ignored():
        told = "ignored: dpcp-audit has a suite of this name"
        yield {"suite": entry.name, "package": package(entry), "tests": told}


def _summary(name: str) -> str:
    from dpcp_audit.engine.suites import find
    from dpcp_audit.words.errors import UsageError

    try:
        return find(name).summary
    except UsageError as error:
        return f"cannot be used: {error}"


def _print_json(lines: Sequence[dict[str, Any]]) -> None:
    import json

    from dpcp_audit.engine.tasks import plain_data

    print(json.dumps(plain_data(list(lines)), ensure_ascii=False, indent=2))


def _print_table(lines: Sequence[dict[str, Any]]) -> None:
    """Print a head and a line each, aligned; a terminal cuts the last column at its width."""
    import shutil
    import sys

    from dpcp_audit.targets.answers import one_line
    from dpcp_audit.words.formatting import clipped

    table = [
        [one_line(str(cell), longest=_LONGEST_CELL) for cell in line.values()] for line in lines
    ]
    heads = [list(lines[0])] if lines else []
    widths = [max(map(len, column)) for column in zip(*heads, *table, strict=True)]
    for cells in [*heads, *table]:
        text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        if sys.stdout.isatty():
            room = max(shutil.get_terminal_size().columns, widths[0] + 1)
            text = clipped(text, room)
        print(text.rstrip())


_THEOREM = """\
Test a theorem on a law of scores, at your own parameters: how often does its bound fail, and how
often may it? 'dpcp-audit theorem NAME --help' lists the parameters of a theorem.
"""
_THEOREM_EPILOG = """\
example:
  dpcp-audit theorem ldpcp-4 --pool mine.npz --n 20000 --epsilon 2 --delta 0.05 --alpha 0.1
  dpcp-audit theorem ldpcp-4 --n 100..1e6 --epsilon 0.5,1,2 --figure slack.svg

Several values, or a range, print a table: for each case the coverage that a theorem promises, and
the coverage that is actually exceeded. The table gives no verdicts.

exit codes:
  0  the theorem was not refuted
  1  it was refuted; if the scores violate its hypotheses, the output says so
  2  usage
  3  something could not be completed (with --strict, or could not be decided)
"""
_WIDTH = 80
_ALIKE = (("epsilon", "rho"), ("delta", "beta"))
"""Parameters that stand for the same thing in theorems of different privacy."""
_OF_ONE_CASE = (
    *("report", "journal", "resume", "log", "memory", "jobs", "profile"),
    *("false_alarm", "strict", "quiet", "verbose", "show"),
)
"""Options of the run that a table of several cases does not take."""


def add_theorem(commands: Commands) -> None:
    """Declare the command; the options of a theorem are declared once its name is known."""
    parser = commands.add_parser(
        "theorem",
        description=_THEOREM,
        usage="%(prog)s NAME [OPTION]...   (--list shows the names)",
        epilog=_THEOREM_EPILOG,
    )
    parser.add_argument(
        "--list", action="store_true", help="list the theorems, with statements and parameters"
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="name of a theorem, such as ldpcp-4; it comes first"
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(execute=execute_theorem)


def execute_theorem(options: argparse.Namespace) -> int:
    """Test the theorem, print what was found, and publish the results."""
    from dpcp_audit.faces.runs import exit_code
    from dpcp_audit.reports.charts import require_figure_file, save_figure
    from dpcp_audit.theorems.catalogue import named_theorem
    from dpcp_audit.theorems.theorem_case import writes_several
    from dpcp_audit.words.errors import UsageError
    from dpcp_audit.words.results import Verdict

    if options.list:
        return _list_theorems()
    if options.name is None:
        raise UsageError(
            "NAME of a theorem must be given", hint="such as ldpcp-4; --list shows them all"
        )
    named = named_theorem(options.name)
    try:
        parsed = _parsed(named, options.words)
    except SystemExit as end:  # of --help, or of a mistake that the parser has told
        return int(end.code or 0)
    if parsed.figure is not None:
        require_figure_file(parsed.figure)
    given = _given(named, parsed)
    if writes_several(_options(named), given):
        return _explore(named, given, parsed)
    results = run_suite(parsed, fixed=_fixed(named, parsed), show=_show)
    if parsed.figure is not None:
        save_figure(_figure(results), parsed.figure)
    refuted = any(each["verdict"] == Verdict.REFUTED for each in results["findings"])
    return 1 if refuted else exit_code(results)


def _parsed(named: NamedTheorem, words: list[str]) -> argparse.Namespace:
    parser = parser_of(named)
    parsed, unknown = parser.parse_known_args(words)
    arguments.refuse_unknown(parser, unknown, instead=_instead(named))
    parsed.command = f"theorem {named.name}"
    return parsed


def _instead(named: NamedTheorem) -> dict[str, str]:
    """Return the theorem's own parameter in place of another theorem's privacy or failure one."""
    taken = {each.name: each for each in named.parameters}
    return {
        absent: f"{named.name} takes --{name}: {taken[name].help}"
        for pair in _ALIKE
        for absent, name in (pair, pair[::-1])
        if name in taken and absent not in taken
    }


def parser_of(named: NamedTheorem) -> argparse.ArgumentParser:
    """Return the parser of a theorem: its parameters, the law of the scores, the run."""
    from dpcp_audit.faces.cli.main import HintingParser
    from dpcp_audit.words.options import Group, dashed

    says = named.statement
    told = (
        f"{says.source}: {says.words}",
        f"Bound: {says.bound}.",
        f"Assumed: {says.assumptions}.",
    )
    required = " ".join(f"--{dashed(each.name)} {each.metavar}" for each in _required(named))
    parser = HintingParser(
        prog=f"dpcp-audit theorem {named.name}",
        usage=f"%(prog)s --pool FILE.npz|NAME {required} [OPTION]...",
        description="\n\n".join(textwrap.fill(line, _WIDTH) for line in told),
    )
    groups = arguments.groups_of(parser)
    arguments.add_options(groups, _options(named))
    groups[Group.RUN].add_argument(
        "--figure",
        type=Path,
        metavar="PATH",
        help="draw the law of the statistic with the theorem's bound, or a heat map of several "
        "cases: PATH ends in .svg, .png or .pdf",
    )
    add_suite_options(groups[Group.RUN])
    return parser


def _fixed(named: NamedTheorem, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the command fixes."""
    from dpcp_audit.theorems.theorem_case import SUITE_NAME

    case = {"theorem": named.name} | _given(named, parsed)
    return {"suite": SUITE_NAME, "options": {"case": case}}


def _given(named: NamedTheorem, parsed: argparse.Namespace) -> dict[str, object]:
    """Return the given parameters of the theorem and of the law of the scores."""
    return arguments.given(parsed, _options(named))


def _options(named: NamedTheorem) -> tuple[Option, ...]:
    """Return the source of the scores and the theorem's parameters, each one number or several."""
    from dpcp_audit.theorems.theorem_case import SOURCES, several

    told = (
        replace(each, help=_told(each) if each.required else each.help) for each in named.parameters
    )
    return several((*SOURCES, *told))


def _explore(named: NamedTheorem, given: dict[str, object], parsed: argparse.Namespace) -> int:
    """Print what the theorem promises over a grid, and what is reached."""
    from dataclasses import asdict

    from dpcp_audit.faces.theorems import exploration
    from dpcp_audit.reports.charts import save_figure
    from dpcp_audit.theorems.theorem_case import TheoremGrid
    from dpcp_audit.words.errors import UsageError
    from dpcp_audit.words.options import dashed, in_place

    for name in _OF_ONE_CASE:
        if getattr(parsed, name) not in (None, False, []):
            raise UsageError(
                f"--{dashed(name)} applies to one case, and several were given",
                hint="from Python, dpcp_audit.explore returns a data frame or plain data for JSON",
            )
    grid = TheoremGrid.of(named.name, given, spell=dashed)
    found = exploration(grid, parsed.seed or 0, tell=partial(print, file=sys.stderr))
    print(found, end="")
    if parsed.figure is not None:
        with in_place("--figure"):
            save_figure(asdict(found.figure()), parsed.figure)
    return 0


def _show(
    document: dict[str, Any],
    *,
    stream: TextIO,
    results: Path | None,
    **others: Any,  # noqa: ARG001  (one finding is shown whole)
) -> None:
    """Print what was found on a screen, and the command that finds it again."""
    import shlex

    from dpcp_audit.faces.result import card
    from dpcp_audit.reports.terminal import summary_line
    from dpcp_audit.words.results import stem_of

    for finding in document["findings"]:
        print(card(stem_of(finding["id"]), finding), file=stream)
        if results is not None:
            command = ("dpcp-audit", "replay", finding["id"], str(results))
            print(f"{'replay':<10} {shlex.join(command)}", file=stream)
    if not document["findings"]:
        print("the check was not finished: there is no verdict", file=stream)
    print(textwrap.fill(summary_line(document), _WIDTH), file=stream)


def _figure(results: dict[str, Any]) -> dict[str, Any]:
    from dpcp_audit.words.errors import IncompleteError

    for finding in results["findings"]:
        for figure in finding["figures"]:
            return dict(figure)
    raise IncompleteError("--figure: there is nothing to draw, for the check was not completed")


def _list_theorems() -> int:
    """Print what each theorem says and takes, at most 80 columns wide."""
    from dpcp_audit.theorems.catalogue import CATALOGUE

    print("\n\n".join("\n".join(_described(named)) for named in CATALOGUE))
    return 0


def _described(named: NamedTheorem) -> Iterator[str]:
    from dpcp_audit.words.options import flag_of

    says = named.statement
    yield f"{named.name}  ({says.source})"
    yield from textwrap.wrap(says.words, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    for each in named.parameters:
        head = f"    {flag_of(each)} {each.metavar}".rstrip()
        told = textwrap.wrap(_told(each), _WIDTH - 28)
        if len(head) > 27:
            yield head
            head = ""
        yield f"{head:<27} {told[0]}"
        yield from (f"{'':<27} {line}" for line in told[1:])


def _told(option: Option) -> str:
    """Return the description of a parameter, with its default."""
    if option.required:
        return f"{option.help} (required)"
    if option.otherwise:
        return f"{option.help} (default: {option.otherwise})"
    default = option.value.as_data(option.default)
    shown = " ".join(map(str, default)) if is_list(default) else default
    return f"{option.help} (default: {shown})"


def _required(named: NamedTheorem) -> list[Option]:
    return [each for each in named.parameters if each.required]
