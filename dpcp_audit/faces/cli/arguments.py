"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dpcp_audit.reports.formats import menu
from dpcp_audit.target_checks.check_options import claims_with
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.options import (
    REMOVED,
    RUN_OPTIONS,
    Group,
    Option,
    dashed,
    described,
    flag_of,
    parser_of,
)
from dpcp_audit.words.results import Verdict
from dpcp_audit.words.values import Duration, Probability, Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dpcp_audit.words.values import Value


class Commands(Protocol):
    """The commands of a parser."""

    def add_parser(self, name: str, **settings: Any) -> argparse.ArgumentParser:
        """Return the parser of a further command."""
        ...


class Parser(Protocol):
    """A parser, or a group of its options."""

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        """Add an option."""
        ...

    def set_defaults(self, **values: Any) -> None:
        """Set what the parsed options hold where nothing else is given."""
        ...


DEFAULT_SECONDS = 3600.0
"""The time limit of a check."""
_MOST_JOBS = 10_000
_DEST = "option."
"""The prefix of a table option's name in ``argparse``: the plain name 'command' is taken."""
_OPTION = re.compile(r"--[a-z][a-z-]*")


def refuse_unknown(
    parser: argparse.ArgumentParser,
    unknown: Sequence[str],
    *,
    instead: Mapping[str, str] | None = None,
) -> None:
    """End with a usage error where words were left over, naming the nearest options.

    Parameters
    ----------
    instead : mapping, optional
        For options that are not accepted, the advice on what to give in their place.
    """
    if not unknown:
        return
    names = sorted(set(_OPTION.findall(parser.format_usage() + parser.format_help())))
    given = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    hints = REMOVED | dict(instead or {})
    gone = [hints[each] for word in given if (each := word.removeprefix("--")) in hints]
    near = [" or ".join(meant) for word in given if (meant := _meant(word, names))]
    hint = f"{HINT}did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
    hint = f"{HINT}{'; '.join(dict.fromkeys(gone))}" if gone else hint
    parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _meant(word: str, names: Sequence[str]) -> list[str]:
    """Return the options that a word may stand for: those that claim it, or the nearest one."""
    claims = [f"--{dashed(name)}" for name in claims_with(word.removeprefix("--"))]
    return [name for name in claims if name in names] or difflib.get_close_matches(word, names, n=1)


def groups_of(parser: argparse.ArgumentParser) -> dict[Group, Parser]:
    """Return a heading in ``--help`` for each group of options."""
    return {group: parser.add_argument_group(group) for group in Group}


def add_options(groups: dict[Group, Parser], options: Iterable[Option]) -> None:
    """Add the options of a table, each to its group; ``given`` returns what was given."""
    for each in options:
        settings: dict[str, Any] = {"default": None, "help": described(each)}
        settings |= each.value.arguments(default=each.default)
        if each.metavar and settings.get("action") != "store_const":
            two = settings.get("nargs") == 2
            settings["metavar"] = tuple(each.metavar.split()) if two else each.metavar
        if each.flag and not each.flag.startswith("--"):
            groups[each.group].add_argument(_DEST + each.name, nargs="?", **settings)
        else:
            groups[each.group].add_argument(flag_of(each), dest=_DEST + each.name, **settings)


def given(parsed: argparse.Namespace, options: Iterable[Option]) -> dict[str, object]:
    """Return the given options of a table, as a TOML table holds them.

    Examples
    --------
    >>> from dpcp_audit.target_checks.check_spec import TABLE
    >>> parser = argparse.ArgumentParser()
    >>> add_options(groups_of(parser), TABLE)
    >>> words = ["mine.py:f", "--zcdp", "0.5", "--n", "50,500", "--no-ties"]
    >>> given(parser.parse_args(words), TABLE)
    {'target': 'mine.py:f', 'zcdp': [0.5], 'n': [50, 500], 'ties': False}
    """
    return {
        dashed(each.name): each.value.of_words(words, flag_of(each))
        for each in options
        if (words := getattr(parsed, _DEST + each.name, None)) is not None
    }


def add_selection(parser: argparse.ArgumentParser, *, default_suite: str | None = "papers") -> None:
    """Add the options that select claims."""
    parser.add_argument(
        "--suite",
        metavar="NAME",
        default=default_suite,
        help="the claims to test: papers, theorems, tables, training, zoo, or a suite of another "
        "package; 'dpcp-audit list --suites' says what each tests (default: papers)",
    )
    parser.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="PATH",
        help="saved probabilities and labels (FILE.npz), for a suite that takes them, such as "
        "theorems or tables; repeatable",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GLOB",
        help="only claims whose id matches; repeatable ('*' and '?' are wildcards)",
    )


def add_settings(parser: Parser) -> None:
    """Add the settings of a suite's run; None is what is left out, which a journal may settle."""
    parser.add_argument(
        "--profile",
        choices=("smoke", "ci", "full"),
        help="how much effort to spend (default: ci)",
    )
    for each in sorted(RUN_OPTIONS, key=lambda row: row.name != "seed"):
        settings = each.value.arguments(default=False)
        if each.metavar:
            settings |= {"metavar": each.metavar, "type": parser_of(each)}
        flag = f"--{dashed(each.name)}"
        parser.add_argument(flag, dest=each.name, help=described(each), **settings)


def add_run_options(parser: Parser, *, budget: bool = True) -> None:
    """Add what a run is given beside its settings: workers, limits, a journal, a log.

    Without ``budget``, ``--budget`` is left to the command, and checks have the default limit.
    """
    parser.add_argument(
        "--jobs",
        type=_reader("jobs", Whole(at_most=_MOST_JOBS)),
        metavar="N",
        help="worker processes; results do not depend on it (default: all cores)",
    )
    parser.add_argument(
        "--engine",
        default="local",
        metavar="ENGINE",
        help="where the checks run: local or dask=tcp://HOST:PORT; results do not depend on it"
        " (default: %(default)s)",
    )
    parser.set_defaults(time_limit=DEFAULT_SECONDS)
    if budget:
        parser.add_argument(
            "--budget",
            dest="time_limit",
            type=_reader("budget", Duration()),
            default=DEFAULT_SECONDS,
            metavar="TIME",
            help="stop a check after this time, such as 60s, 5m or 2h (default: 1h)",
        )
    parser.add_argument(
        "--memory",
        type=memory,
        metavar="SIZE",
        help="stop a check that takes more memory than this, such as 500MiB or 2GiB",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="PATH",
        help="record finished checks in this file, so that --resume can continue the run",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="PATH",
        help="continue the run of this journal, with its settings",
    )
    parser.add_argument(
        "--log", type=Path, metavar="PATH", help="append each event to this file, one on a line"
    )


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the results file that a command reads."""
    parser.add_argument(
        "results", type=Path, metavar="RESULTS.json", help="results of 'dpcp-audit run'"
    )


def add_report(parser: Parser, *, required: bool = False) -> None:
    """Add ``--report``."""
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        required=required,
        metavar="FORMAT=PATH",
        help=f"write a report: {menu()}; PATH '-' is stdout; a PATH alone, such as report.html, "
        "gives the format by its suffix; repeatable",
    )


def add_display(parser: Parser) -> None:
    """Add how much is shown."""
    parser.add_argument("-q", "--quiet", action="store_true", help="print the summary line only")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="show each claim's statement, note and power, and every witness",
    )
    parser.add_argument(
        "--show",
        action="append",
        default=[],
        type=str.lower,
        choices=[verdict.lower() for verdict in Verdict],
        metavar="VERDICT",
        help="print only claims with this verdict; reports contain all; repeatable",
    )


def _reader(name: str, value: Value) -> Callable[[str], Any]:
    """Return the parser of an option that no table has."""
    return parser_of(Option(name=name, value=value, help=""))


def memory(text: str) -> int:
    """Parse a positive size, such as 500MiB or 2GiB, as bytes."""
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
    unit = text.strip().lstrip("0123456789.")
    try:
        value = float(text.strip().removesuffix(unit)) * units[unit.strip()]
    except (KeyError, ValueError):
        value = 0.0
    if not 0 < value < sys.maxsize:
        least = "must be positive and below 8 EiB, such as 500MiB or 2GiB"
        raise argparse.ArgumentTypeError(f"{least}, got {text!r}")
    return max(1, int(value))


probability = _reader("false-alarm", Probability())
"""The parser of a probability in (0, 1)."""
