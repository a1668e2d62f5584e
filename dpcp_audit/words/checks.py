"""Checks, the rows that pair each with a claim, the suites of rows, and signs of life of a check.

What calls a target says so here (``count_calls``); whoever runs the check may listen. Without a
listener a call costs a look at one variable.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import in_setting
from dpcp_audit.words.results import (
    Claim,
    Figure,
    Source,
    Standing,
    Table,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from dpcp_audit.words.results import Outcome, PlainData, Power


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The seed, share of the error budget and effort that a run hands to a check.

    Parameters
    ----------
    seed : int
        The run's seed.
    name : str
        The finding's id; it keys the random streams, so that a check draws the same numbers
        whatever runs beside it, in whatever order.
    significance : float
        The probability with which this check may refute a true claim.
    effort : float
        Factor on every sample size; 1 is the ``ci`` profile.
    """

    seed: int
    name: str
    significance: float
    effort: float = 1.0

    def __post_init__(self) -> None:
        _validate.integer(seed=self.seed, at_least=0, at_most=None)
        _validate.open_unit(significance=self.significance)
        _validate.positive(effort=self.effort)

    def rng(self, chunk: int = 0) -> np.random.Generator:
        """Return the random stream of one chunk of this check."""
        digest = hashlib.sha256(self.name.encode()).digest()
        key = int.from_bytes(digest[:8], "big")
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(key, chunk)))

    def samples(self, count: int) -> int:
        """Return a sample size: ``count`` at effort 1, never below 100."""
        return max(100, round(count * self.effort))


@runtime_checkable
class Check(Protocol):
    """Tests one claim."""

    @property
    def sampled(self) -> bool:
        """True if the verdict can be wrong by chance, and so takes from the error budget."""
        ...

    def __call__(self, context: Context) -> Outcome:
        """Run the check."""
        ...


class Sampled:
    """The base of checks whose verdict can be wrong by chance."""

    __slots__ = ()

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True


@runtime_checkable
class Planned(Check, Protocol):
    """A check whose power is known before it runs."""

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest violation that is refuted with probability 0.95."""
        ...

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the budget at which a true value of ``violation`` is refuted so often.

        Raises
        ------
        ValueError
            If the claim allows it, or if no budget is large enough.
        """
        ...


@runtime_checkable
class Chunked(Check, Protocol):
    """A check whose work falls into chunks that can run anywhere, in any order.

    Its ``__call__`` is ``whole(self, context)``. A chunk draws from ``context.rng(index)`` and
    from nothing else, so that it can be run again.
    """

    def chunks(self, context: Context) -> int:
        """Return the number of chunks, at least 1."""
        ...

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run one chunk and return its result as plain data, small enough to be kept."""
        ...

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the results of all chunks, in the order of their indices."""
        ...


def whole(check: Chunked, context: Context) -> Outcome:
    """Run all chunks of a check, one after the other, and judge them."""
    results = [check.chunk(context, index) for index in range(check.chunks(context))]
    return check.combine(context, results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A claim, as data, with the check that decides it."""

    claim: Claim
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMaker:
    """Makes claims of one source.

    Parameters
    ----------
    subject : str
        Heading of the claims, unless they name another: their subject.
    standing : Standing
        Their standing, unless they say otherwise.
    """

    paper: str
    subject: str = ""
    standing: Standing = Standing.PAPER

    def __call__(
        self,
        id_: str,
        section: str,
        expected: Verdict | None,
        statement: str,
        formula: str = "",
        *,
        subject: str = "",
        standing: Standing | None = None,
        assumptions: str = "",
        parameters: PlainData | None = None,
    ) -> Claim:
        """Return the claim; what its parameters fix is added to its statement (``in_setting``)."""
        return Claim(
            id=id_,
            statement=in_setting(statement, parameters or {}),
            source=Source(paper=self.paper, section=section),
            expected=expected,
            formula=formula,
            subject=subject or self.subject,
            standing=standing or self.standing,
            assumptions=assumptions,
            parameters=parameters or {},
        )


def claims_of(paper: str, *, subject: str = "", standing: Standing = Standing.PAPER) -> ClaimMaker:
    """Return a maker of claims of one paper; ``subject`` and ``standing`` are those of most."""
    return ClaimMaker(paper=paper, subject=subject, standing=standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Tables and figures of all findings of a suite together, and what they come to.

    Parameters
    ----------
    headline : str
        The headline of the reports, if it does not count claims.
    summary : str
        The findings, counted as the suite counts, in a sentence or two; reports and terminal print
        it first.
    """

    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    headline: str = ""
    summary: str = ""


def _require_nothing() -> None:
    """Return: nothing is needed."""


def _nothing() -> tuple[Skipped, ...]:
    """Return nothing: all checks can run here."""
    return ()


def _no_overview(document: Mapping[str, Any]) -> Overview:  # noqa: ARG001
    """Return an overview without figures and tables."""
    return Overview()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The claims that ``dpcp-audit run --suite NAME`` tests, under its registered name.

    Parameters
    ----------
    summary : str
        One line that says what the suite tests.
    rows : callable
        Returns its claims with their checks, in the order of the reports. Two calls with the
        same arguments return the same claims, in any process.
    takes : frozenset of str
        The keyword arguments of ``rows``, all with a default: ``pools``, the files of saved
        pools; ``targets``, third-party code; others of its own, plain data.
    overview : callable
        A function from the results document to the part above the findings.
    require : callable
        Raises ``MissingExtraError`` where what the checks run with is not installed.
    skipped : callable
        Returns the checks that cannot run here and are not among the rows, with the reasons.
    scaled : bool
        True if a run's profile scales its sample sizes; False where the rows fix them.
    longest : tuple of str
        Ids of the checks that take longest, the longest first. They are handed out before the
        others, so that no worker is left alone with one in the end; findings do not depend on it.
    given_by : str
        The command that gives the suite its claims, such as ``check``; "" of one with its own.

    Examples
    --------
    >>> Suite(summary="No claims yet.", rows=lambda: ()).takes
    frozenset()
    """

    summary: str
    rows: Callable[..., Iterable[Row]]
    takes: frozenset[str] = frozenset()
    overview: Callable[[Mapping[str, Any]], Overview] = _no_overview
    require: Callable[[], None] = _require_nothing
    skipped: Callable[[], tuple[Skipped, ...]] = _nothing
    scaled: bool = True
    longest: tuple[str, ...] = ()
    given_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Checks that were asked for and cannot run here.

    Parameters
    ----------
    name : str
        Name of the recipe that holds the checks.
    reason : str
        Why, and what helps.
    """

    name: str
    reason: str

    def as_data(self) -> dict[str, str]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``as_data`` returns."""
        return cls(name=data["name"], reason=data["reason"])


class _Counter:
    """Counts calls for one listener, which hears of them every few seconds."""

    def __init__(self, listen: Callable[[int], None], seconds: float) -> None:
        self._listen = listen
        self._seconds = seconds
        self._calls = 0
        self._heard = time.monotonic()

    def add(self, calls: int) -> None:
        self._calls += calls
        now = time.monotonic()
        if now - self._heard >= self._seconds:
            self._heard = now
            self._listen(self._calls)


_counter: _Counter | None = None


@contextmanager
def listening(listen: Callable[[int], None], *, seconds: float) -> Generator[None]:
    """Tell ``listen`` how many calls were made, at the first call after each ``seconds``.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append, seconds=0):
    ...     count_calls(3)
    ...     count_calls(2)
    >>> heard
    [3, 5]
    """
    global _counter  # noqa: PLW0603  (one check runs at a time in a process)
    before, _counter = _counter, _Counter(listen, seconds)
    try:
        yield
    finally:
        _counter = before


def count_calls(calls: int) -> None:
    """Count calls of a target that were made."""
    if _counter is not None:
        _counter.add(calls)
