"""Options: a field of a dataclass, which also says how the field is written by every face.

An option is declared once, at the field that holds it::

    alpha: float | None = field(default=None, metadata=option(Number(open_unit), "the level"))

Of it are made the option ``--alpha`` of the command line, the key ``alpha`` of TOML files and
results, and the keyword ``alpha`` of ``dpcp_audit.audit`` and of the pytest fixture.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.values import Flag, Pair, Positive, Probability, Whole, is_list

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from dpcp_audit.words.values import Value


F = TypeVar("F", bound=Callable[..., Any])
Spelling = Callable[[str], str]
"""A function from an option's name to its spelling at a face."""
_OPTION = "option"
"""The key of a field's metadata."""
REMOVED = {
    "sequential": "leave it out: a search stops as soon as a claim is refuted",
    "tradeoff": "claim the (ε, δ) of each line of the curve: --approx-dp, several times",
    "rng": "say how the target takes its randomness by randomness, such as 'seed'",
    "output": "--report html=report.html writes a page, tables= the tables, cells= the numbers",
}
"""The advice for options of earlier versions."""


class Group(StrEnum):
    """The topic of an option; also the heading that it has in ``--help``."""

    TARGET = "the target"
    SCORES = "the law of the scores"
    THEOREM = "the parameters of the theorem"
    CLAIM = "claims (repeatable, except coverage)"
    TRIAL = "the audit"
    RUN = "the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Parameters
    ----------
    name : str
        The field, and the keyword in Python; in TOML and on the command line with dashes.
    value : Value
        The reader of a value.
    help : str
        One line that describes the option.
    group : Group
        The group of options that it belongs to.
    metavar : str
        Placeholder of its value in ``--help``.
    flag : str
        Name on the command line, where that is not the option's own; without dashes in front it is
        positional.
    kinds : tuple of str
        The kinds of target that it applies to; empty for all.
    advice : mapping
        For each other kind, the advice on what to do instead.
    python : bool
        True if it is a keyword in Python; guarantees, for example, are objects there.
    default : object
        The field's; None of a field without one.
    required : bool
        True if the field has no default.
    otherwise : str
        Words for the value that holds where none is given, if the default does not say it.
    """

    name: str = ""
    value: Value
    help: str
    group: Group = Group.TRIAL
    metavar: str = ""
    flag: str = ""
    kinds: tuple[str, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict[str, str])
    python: bool = True
    default: Any = None
    required: bool = False
    otherwise: str = ""


def option(value: Value, help: str, **others: Any) -> dict[str, Option]:  # noqa: A002
    """Return the metadata of a field that is an option; ``others`` are those of ``Option``."""
    return {_OPTION: Option(value=value, help=help, **others)}


@functools.cache
def options_of(owner: type) -> tuple[Option, ...]:
    """Return the options that are fields of a dataclass, in their order."""
    return tuple(
        replace(
            each.metadata[_OPTION],
            name=each.name,
            default=_default(each),
            required=each.default is MISSING and each.default_factory is MISSING,
        )
        for each in dataclasses.fields(owner)
        if _OPTION in each.metadata
    )


def dashed(name: str) -> str:
    """Return an option's name as TOML and the command line spell it."""
    return name.replace("_", "-")


def flag_of(option: Option) -> str:
    """Return an option's name on the command line; a flag that is on has one to turn it off."""
    if option.flag:
        return option.flag
    return f"--no-{dashed(option.name)}" if option.default is True else f"--{dashed(option.name)}"


def default_of(option: Option) -> str:
    """Return the default of an option, in words; "" where there is none."""
    if option.otherwise or option.required or option.default in (None, (), {}, "", False):
        return option.otherwise
    if option.default is True:
        return "yes"
    data = option.value.as_data(option.default)
    return " ".join(map(_word, data)) if is_list(data) else _word(data)


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def described(option: Option) -> str:
    """Return the text of ``--help`` for an option, with its default.

    A flag that is on by default has an option that turns it off.
    """
    if option.default is True:
        return f"do not {option.help}"
    repeatable = option.value.arguments(default=option.default).get("action") == "append"
    of_many = "; repeatable" if repeatable and option.group is not Group.CLAIM else ""
    default = default_of(option)
    return f"{option.help}{of_many}{f' (default: {default})' if default else ''}"


def plain(name: str) -> str:
    """Return an option's name as Python spells it."""
    return name


def read(
    options: Iterable[Option], given: Mapping[str, object], spell: Spelling = plain
) -> dict[str, Any]:
    """Return the values of the options that are given, checked, by their names; None is not given.

    Raises
    ------
    UsageError
        If an option is invalid; the message names it as the face spells it.
    """
    found: dict[str, Any] = {}
    for each in options:
        value = given.get(name := spell(each.name))
        if value is not None:
            with hinted(each.help):
                found[each.name] = each.value.read(value, name)
    return found


@contextmanager
def hinted(hint: str) -> Generator[None]:
    """Give errors of usage that are raised inside a hint, unless they have one."""
    try:
        yield
    except UsageError as error:
        if "\n" in str(error):
            raise
        raise UsageError(str(error), hint=hint) from error.__cause__


def as_data(owner: object) -> dict[str, Any]:
    """Return the options of a dataclass's object as plain data, but for those that are empty."""
    kind = cast("Hashable", type(owner))
    return {
        dashed(each.name): each.value.as_data(value)
        for each in options_of(kind)
        if (value := getattr(owner, each.name)) is not None and value not in ((), {}, "")
    }


def parser_of(option: Option) -> Callable[[str], Any]:
    """Return a parser of an option's word, for ``argparse``; what is wrong is its error."""
    name = f"--{dashed(option.name)}"

    def parse(word: str) -> Any:
        try:
            return option.value.read(option.value.of_words(word, name), name)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix(f"{name} ")) from None

    return parse


def require_known(
    given: Iterable[str],
    names: Iterable[str],
    meant: Callable[[str], str] = lambda _: "",
    *,
    what: str = "key",
) -> None:
    """Refuse names that are not among those known, with the nearest one that is.

    Parameters
    ----------
    meant : callable
        Returns what is to be said instead of a name that people use; "" where nothing is known.
    what : str
        The face's word for a name: "key", or "keyword" in Python.
    """
    known = sorted(names)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            use = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}"
            gone = REMOVED.get(dashed(name))
            raise UsageError(f"unknown {what} {name!r}", hint=gone or meant(name) or use)


def checks_keywords(function: F, *, instead: Mapping[str, str] | None = None) -> F:
    """Return an entry point that takes a target first, refusing keywords that it does not know.

    Those that the target knows are named, too, and where they are to be given.

    Parameters
    ----------
    instead : mapping, optional
        For keywords of other entry points, the advice on what to write in their place.
    """
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*arguments: Any, **given: Any) -> Any:
        unknown = [name for name in given if name not in names]
        if unknown:
            if hint := (instead or {}).get(unknown[0]):
                raise UsageError(f"unknown keyword {unknown[0]!r}", hint=hint)
            own = _parameters_of(arguments[0] if arguments else given.get("function"))
            for name in difflib.get_close_matches(unknown[0], own, n=1):
                raise UsageError(
                    f"unknown keyword {unknown[0]!r}",
                    hint=f"did you mean {name!r}? give it as options={{{name!r}: ...}}",
                )
            require_known(unknown, names, what="keyword")
        return function(*arguments, **given)

    return cast("F", checked)


def _parameters_of(target: object) -> list[str]:
    try:
        return list(inspect.signature(target).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # of a name, or of code that has none
        return []


def require_kind(
    options: Iterable[Option], given: Mapping[str, object], kind: str, spell: Spelling = plain
) -> None:
    """Refuse options that do not apply to a kind of target."""
    for each in options:
        value = given.get(name := spell(each.name))
        if not each.kinds or kind in each.kinds or value is None:
            continue
        if each.value.read(value, name) != each.default:
            raise not_of(each, name, kind)


def not_of(option: Option, name: str, kind: str) -> UsageError:
    """Return the error that an option, or what it claims, does not apply to a kind of target."""
    applies = f"{name} applies to a {' or '.join(option.kinds)}, not to a {kind}"
    return UsageError(applies, hint=option.advice.get(kind, ""))


@contextmanager
def in_place(where: str) -> Generator[None]:
    """Put the place in front of errors of values raised inside, which become usage errors."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{where}: {error}" if where else str(error)) from error


def _default(owned: dataclasses.Field[Any]) -> Any:
    if owned.default_factory is not MISSING:
        return owned.default_factory()
    return None if owned.default is MISSING else owned.default


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run; None leaves one open."""

    false_alarm: float | None = field(
        default=None,
        metadata=option(
            Probability(),
            "probability that the run refutes any true claim",
            group=Group.RUN,
            metavar="P",
            otherwise="0.001; in pytest 0.0001, for estimates 0.05",
        ),
    )
    strict: bool | None = field(
        default=None,
        metadata=option(Flag(), "an INCONCLUSIVE verdict fails the run", group=Group.RUN),
    )
    seed: int | None = field(
        default=None,
        metadata=option(
            Whole(at_least=0),
            "seed of every random stream",
            group=Group.RUN,
            metavar="N",
            otherwise="0",
        ),
    )


RUN_OPTIONS = options_of(RunOptions)
"""Every option of a run."""


MOST_USERS, MOST_ROUNDS = 10**15, 60
"""Counts beyond 2⁵³ are no longer whole in doubles, nor are midpoints apart after 60 halvings."""
_LARGEST_EPSILON = 500.0
"""e^ε beyond it comes near the end of a float's range."""


def parameter(value: Value, help: str, **others: Any) -> dict[str, Option]:  # noqa: A002
    """Return the metadata of a field that is a parameter; a choice shows its values."""
    return option(value, help, group=Group.THEOREM, **({"metavar": value.words} | others))


N = parameter(Whole(at_most=MOST_USERS), "n, the number of calibration users", metavar="N")
ALPHA = parameter(Probability(), "α, the miscoverage aimed at, a probability", metavar="A")
EPSILON = parameter(
    Positive(at_least=1e-9, at_most=_LARGEST_EPSILON),
    "ε, the privacy that is paid, in nats",
    metavar="E",
)
RHO = parameter(
    Positive(at_least=1e-12, at_most=1e12),
    "ρ of zCDP, the privacy that is paid, in nats",
    metavar="R",
)
DELTA = parameter(Probability(), "δ, the failure probability that the theorem allows", metavar="D")
BETA = parameter(Probability(), "β, the failure probability that the theorem allows", metavar="B")
ROUNDS = parameter(
    Whole(at_most=MOST_ROUNDS), "T, the number of halvings, ⌈log2(1/τ)⌉", metavar="T"
)
BOUNDS = parameter(
    Pair(), "[a, b], the public interval of the scores, in their units", metavar="A B"
)
RESOLUTION = parameter(
    Positive(at_least=1e-18), "Δ, the resolution of the search, in units of the scores", metavar="D"
)
WINDOW_COUNT = parameter(
    Whole(at_least=0, at_most=MOST_USERS),
    "M(Δ), the most scores in an interval of length Δ, in ranks",
    metavar="M",
    otherwise="what the scores need",
)
WINDOWS = parameter(
    Whole(at_least=1, at_most=2),
    "how often M(Δ) counts: 1 as printed; 2 is a corrected variant, since the search may end 3Δ/2 "
    "from the score that it looks for",
    metavar="1|2",
)
