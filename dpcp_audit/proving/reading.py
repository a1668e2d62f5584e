"""The reading of one function: its state, as far as rules know it, its remarks and its account.

The parts of the interpreter are built on it, and the rules speak to it.
"""

# pyright: reportUnknownVariableType=false

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.charges import Rules
from dpcp_audit.proving.distances import (
    Leak,
    Line,
    Noisy,
    Private,
    Reference,
    Refusal,
    Suspect,
    Value,
)
from dpcp_audit.proving.paths import UNEQUAL, Contents, Note, Path, ThresholdAnswers
from dpcp_audit.proving.sources import NARROW, is_narrow
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from dpcp_audit.proving.charges import Charge
    from dpcp_audit.proving.distances import Records
    from dpcp_audit.proving.exact_numbers import Surd
    from dpcp_audit.proving.paths import ThresholdUse
    from dpcp_audit.words.results import Drawing


class Interpreter:
    """The reading of one function on records of a stated size, range and neighbour relation.

    Parameters
    ----------
    n : int or None
        The number of records; None where it is not known.
    answers : ThresholdAnswers, optional
        The answers of comparisons with noisy thresholds.
    reports : module, optional
        The module ``local_laws``, which reads a report of each record with a reader of its own.
    every : bool
        True if the number of records is public, though it is not known.
    """

    def __init__(
        self,
        n: int | None,
        answers: ThresholdAnswers | None = None,
        reports: Any = None,
        *,
        every: bool = False,
    ) -> None:
        self.n, self.reports, self.replaced = n, reports, every or n is not None
        self.loss = Quantity.EPSILON
        self.clients: tuple[int, ...] = ()
        self.notes: dict[tuple[str, int], list[Note]] = {}
        self.rules = Rules()
        self.unchanged: set[str] = set()
        self.steps: int = 0
        self.doubted: Refusal | None = None
        self.answers = ThresholdAnswers() if answers is None else answers
        self.path = Path()
        self.line, self.frame, self.depth, self.tried = 0, 0, 0, 0
        self.file = ""
        self.each_record, self.for_some, self.quiet = False, False, False
        self.iterated: list[Value] = []
        self.maxima: dict[int | ThresholdUse, tuple[int, Charge]] = {}
        self.vectors: dict[tuple[tuple[int, Surd, int], ...], tuple[int, Noisy]] = {}
        self._captured: set[int] = set()
        self.returning: int = 0
        self.shown: Refusal | None = None
        self.made: dict[tuple[int, str], int] = {}
        self.taken: dict[tuple[int, str], int] = {}
        self.copies: dict[ast.expr, bool] = {}
        self.noised: set[int] = set()

    # What the reader has that knows the rules and the language.
    read: Any
    release: Callable[[Value], Value]
    public: Any
    decided: Callable[[str, Value, Value], Value | None]
    opened: Callable[[Value], Value]
    gathered: Callable[[Value], Value]
    entries_or_none: Callable[[Value], tuple[Value, ...] | None]
    operate: Callable[[str, Value, Value], Value]
    call: Callable[[Value, list[Value], dict[str, Value]], Value]
    inline: Any
    entries: Callable[[Value, str], tuple[Value, ...]]
    for_each_record: Callable[[Records], AbstractContextManager[None]]

    def refuse(self, reason: str, hint: str = "") -> Refusal:
        """Return the refusal at the line that is read."""
        return Refusal(self.line, reason, hint, self.file)

    def leak(self, reason: str, hint: str, *, unpaid: bool = False) -> Leak:
        """Return the refusal of data that is used without noise at the line that is read."""
        return Leak(self.line, reason, hint, self.file, unpaid=unpaid)

    def suspect(self, reason: str, hint: str) -> Suspect:
        """Return the refusal of what may be a defect of the line that is read."""
        return Suspect(self.line, reason, hint, self.file)

    def require_followed(self, *values: Value) -> None:
        """Refuse values of which the distance is unknown."""
        for value in values:
            if isinstance(value, Private):
                raise self.refuse(value.reason, value.hint)

    def require_once(self, refused: str) -> None:
        """Refuse what is done for each record."""
        if self.each_record:
            raise self.refuse(refused)

    def require_wide(self, value: Any) -> None:
        """Refuse a number or array of a narrow type, or such a type."""
        if is_narrow(value):
            raise self.refuse(NARROW)

    @contextmanager  # pyright: ignore[reportDeprecated]
    def computing(self) -> Iterator[None]:
        """Compute what plain values give; refuse an error, and a warning of some records."""
        try:
            with np.errstate(all="raise" if self.for_some else "ignore"):
                yield
        except Exception as error:
            raise self.refuse(f"raises {type(error).__name__}: {error}") from None

    def note(
        self,
        says: str,
        sensitivity: Fraction | None = None,
        *,
        noise: bool = False,
        drawn: Drawing | None = None,
    ) -> None:
        """Keep a remark on the line that is read."""
        remarks = self.notes.setdefault((self.file, self.line), [])
        remark = Note(says, sensitivity, noise or drawn is not None, drawn)
        if remark not in remarks:
            remarks.append(remark)

    def doubt(self, what: str) -> None:
        """Keep the first place at which a trace may go another way than the function itself."""
        self.doubted = self.doubted or self.refuse(what)

    def charge(self, charge: Charge) -> None:
        """Put a use of noise on the account."""
        self.require_once("noise is used once for each record")
        self.path.ledger = self.path.ledger.add(charge)
        if charge.rule:
            self.rules.add(charge.rule)

    def use(self, draw: tuple[int, ...], token: int | ThresholdUse) -> bool:
        """Use a draw; return whether this very value was released before."""
        try:
            return self.path.use(draw, token)
        except LookupError:
            raise self.leak(
                "noise that was used before is used again: its second use hides nothing",
                "draw fresh noise for each value",
                unpaid=True,
            ) from None

    def one_record(self, records: Records) -> Fraction:
        """Return the distance by which one person moves a sum over records."""
        low, high = records.low, records.high
        if not self.replaced:
            return max(abs(low), abs(high))
        if records.chosen:
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        return high - low

    def of_whole_clients(self, where: int) -> tuple[int, int]:
        """Return these records and all others of their clients, and the most that one client has.

        Where neighbours differ in one record these records alone, and 1.
        """
        mine = sum(each for each in self.clients if each & where)
        most = max((each.bit_count() for each in self.clients), default=1)
        return mine if self.clients and where != -1 else where, most

    def cells(self, reference: Reference) -> Contents:
        """Return the value that a reference refers to."""
        cells = self.path.heap[reference.address]
        if cells.kind == "lost":
            raise self.refuse(getattr(cells.items[0], "reason", UNEQUAL))
        return cells

    def listed(self, items: Any) -> Reference:
        """Return a new list."""
        entries = tuple(items)  # which may be read only now, and change the path
        return self.path.store(Contents("list", entries))

    @property
    def line(self) -> int:
        """The line that is read, with its file."""
        return Line(self._line, self.file)

    @line.setter
    def line(self, number: int) -> None:
        self._line = int(number)
