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
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Iterable, Mapping

    from dpcp_audit._values import Value

Spelling = Callable[[str], str]
"""How a face spells the name of an option."""
_OPTION = "option"
"""The key of a field's metadata."""


class Group(StrEnum):
    """What an option is about; also the heading that it has in ``--help``."""

    TARGET = "the target"
    SCORES = "the law of the scores"
    THEOREM = "the parameters of the theorem"
    CLAIM = "what it claims (repeatable, but for coverage)"
    TRIAL = "how it is tried"
    RUN = "the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Parameters
    ----------
    name : str
        The field, and the keyword in Python; in TOML and on the command line with dashes.
    value : Value
        How a value is read.
    help : str
        What it is, in a line.
    group : Group
        What it is about.
    metavar : str
        What ``--help`` calls its word, or its words.
    flag : str
        Its name on the command line, where that is not the option's own; without dashes in
        front it is positional.
    kinds : tuple of str
        The kinds of target that it applies to; empty for all.
    advice : mapping
        By the other kinds, what to do instead.
    python : bool
        Whether it is a keyword in Python; guarantees, for example, are objects there.
    default : object
        The field's; None of a field without one.
    required : bool
        Whether the field has no default.
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


def option(value: Value, help: str, **others: Any) -> dict[str, Option]:  # noqa: A002
    """Return the metadata of a field that is an option; ``others`` are those of ``Option``."""
    return {_OPTION: Option(value=value, help=help, **others)}


@cache
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
        Naming the option as the face spells it.
    """
    return {
        each.name: each.value.read(value, name)
        for each in options
        if (value := given.get(name := spell(each.name))) is not None
    }


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
    given: Iterable[str], names: Iterable[str], meant: Callable[[str], str] = lambda _: ""
) -> None:
    """Refuse names that are not among those known, with the nearest one that is.

    Parameters
    ----------
    meant : callable
        Returns what is to be said instead of a name that people use; "" where nothing is known.
    """
    known = sorted(names)
    for name in given:
        if name not in known:
            if said := meant(name):
                raise UsageError(f"unknown key {name!r}: {said}")
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f", use {', '.join(known)}"
            raise UsageError(f"unknown key {name!r}{hint}")


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
    advice = f": {option.advice[kind]}" if kind in option.advice else ""
    return UsageError(f"{name} applies to a {' or '.join(option.kinds)}, not to a {kind}{advice}")


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
