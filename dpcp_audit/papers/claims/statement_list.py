"""What the papers print: statements that are hard to test, and sentences as they stand there."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any


class StatementFate(StrEnum):
    """What became of a statement."""

    ROWS = "tested"
    """Claims of the suites test it."""
    UNTESTED = "cannot be tested here"
    """No run can say; the entry says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStatement:
    """A statement of a paper.

    Parameters
    ----------
    paper, place, says : str
        Where it stands, and what it says.
    rows : tuple of str
        Ids of the claims that test it, or a part of it.
    note : str
        What the rows leave unsaid.
    untested : str
        Why it cannot be tested here.
    """

    paper: str
    place: str
    says: str
    rows: tuple[str, ...] = ()
    note: str = ""
    untested: str = ""

    def __post_init__(self) -> None:
        if self.untested and self.rows:
            raise ValueError(f"a statement that cannot be tested has no rows: {self.says}")
        if not (self.rows or self.untested):
            raise ValueError(f"a statement needs rows or a reason: {self.says}")

    @property
    def fate(self) -> StatementFate:
        """What became of it."""
        return StatementFate.UNTESTED if self.untested else StatementFate.ROWS

    @property
    def reason(self) -> str:
        """What there is to say beside the rows."""
        return self.untested or self.note


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedSentence:
    """What a paper prints of a statement that its rows say in other words.

    Parameters
    ----------
    paper : str
        Where it stands.
    sections : tuple of str
        The sections of the claims that it is quoted for.
    text : str
        The sentence; … stands for what is left out, formulas are set as plain text.
    """

    paper: str
    sections: tuple[str, ...]
    text: str


@cache
def listed_statements() -> tuple[ListedStatement, ...]:
    """Return the statements, in the papers' order."""
    return tuple(_statement(entry) for entry in _read("statements.toml")["statement"])


@cache
def printed_sentences() -> tuple[PrintedSentence, ...]:
    """Return the sentences, in the papers' order."""
    return tuple(
        PrintedSentence(paper=entry["paper"], sections=tuple(entry["sections"]), text=entry["text"])
        for entry in _read("printed_sentences.toml")["sentence"]
    )


def _read(name: str) -> dict[str, Any]:
    folder = resources.files("dpcp_audit.papers.claims")
    return tomllib.loads(folder.joinpath(name).read_text(encoding="utf-8"))


def _statement(entry: dict[str, Any]) -> ListedStatement:
    given: dict[str, Any] = entry | {"rows": tuple(entry.get("rows", ()))}
    return ListedStatement(**given)
