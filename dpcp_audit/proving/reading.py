"""The reading of one function: its state, and what of it is observed, and so charged for.

The parts of the interpreter are built on it, and the rules speak to it.
"""

# pyright: reportUnknownVariableType=false

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving import arithmetic, gathering, noise_rules, torch_values
from dpcp_audit.proving.charges import Rules
from dpcp_audit.proving.distances import (
    UNKNOWN,
    WHOLE,
    Leak,
    Line,
    Noise,
    Noisy,
    Once,
    Private,
    Public,
    PublicAnswer,
    Reference,
    Refusal,
    Value,
    is_data,
    is_known,
    is_public,
)
from dpcp_audit.proving.paths import ITSELF, UNEQUAL, Contents, Note, Path, ThresholdAnswers
from dpcp_audit.proving.thresholds import Difference, compared, released
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    import ast
    from contextlib import AbstractContextManager

    from dpcp_audit.proving.charges import Charge
    from dpcp_audit.proving.distances import Records
    from dpcp_audit.proving.exact_numbers import Surd
    from dpcp_audit.proving.sources import FunctionSource
    from dpcp_audit.words.results import Drawing


class Interpreter:
    """The reading of one function on records of a stated size, range and neighbour relation.

    Parameters
    ----------
    n : int or None
        The number of records; None where it is not public.
    answers : ThresholdAnswers, optional
        The answers of comparisons with noisy thresholds on the path that is read.
    reports : module, optional
        The module ``local_laws``, which reads a report of each record with a reader of its own.
    """

    def __init__(
        self, n: int | None, answers: ThresholdAnswers | None = None, reports: Any = None
    ) -> None:
        self.n, self.reports = n, reports
        self.loss = Quantity.EPSILON
        self.notes: dict[tuple[str, int], list[Note]] = {}
        self.rules = Rules()
        self.unchanged: set[str] = set()
        self.steps = 0
        self.doubted: Refusal | None = None
        self.reset(ThresholdAnswers() if answers is None else answers)

    def reset(self, answers: ThresholdAnswers) -> None:
        """Begin another reading, on the path that these answers lead along."""
        self.answers = answers
        self.path = Path()
        self.line, self.frame, self.depth, self.tried = 0, 0, 0, 0
        self.file = ""
        self.each_record, self.for_some, self.quiet = False, False, False
        self.iterated: list[Value] = []
        self.maxima: dict[int, tuple[int, Charge]] = {}
        self.vectors: dict[tuple[tuple[int, Surd, int], ...], tuple[int, Noisy]] = {}
        self._captured: set[int] = set()
        self.returning: int = 0
        self.shown: Refusal | None = None
        self.made: dict[tuple[int, str], int] = {}
        self.taken: dict[tuple[int, str], int] = {}
        self.copies: dict[ast.expr, bool] = {}
        self.noised: set[int] = set()

    # ------------------------------------------------------------------ what is observed

    def refuse(self, reason: str, hint: str = "") -> Refusal:
        """Return the refusal at the line that is read."""
        return Refusal(self.line, reason, hint, self.file)

    def leak(self, reason: str, hint: str, *, unpaid: bool = False) -> Leak:
        """Return the refusal of data that is used without noise at the line that is read."""
        return Leak(self.line, reason, hint, self.file, unpaid=unpaid)

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

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return the answer of a noisy threshold on this path; None of any other comparison."""
        answer = compared(self, name, a, b)
        return None if answer is None else PublicAnswer((), answer)

    def charge(self, charge: Charge) -> None:
        """Put a use of noise on the account."""
        if self.each_record:
            raise self.refuse("noise is used once for each record")
        self.path.ledger = self.path.ledger.add(charge)
        if charge.rule:
            self.rules.add(charge.rule)

    def use(self, draw: tuple[int, ...], token: int) -> bool:
        """Use a draw; return whether this very value was released before."""
        try:
            return self.path.use(draw, token)
        except LookupError:
            raise self.leak(
                "noise that was used before is used again: its second use hides nothing",
                "draw fresh noise for each value",
                unpaid=True,
            ) from None

    def release(self, value: Value) -> Value:
        """Observe a value: charge for its noise, and return what is public then."""
        if isinstance(value, Noise):
            self.use(value.draw, ITSELF)
            plainly = value.whole and value.shape == () and not value.moved
            return WHOLE if plainly else value.released
        if isinstance(value, Noisy):
            vector = self._vector_of(value)
            if vector is not None:
                self.release(vector)
            elif self._takes_back(value) or not self.use(value.noise.draw, value.token):
                self.charge(noise_rules.charge_of(self, value))
            return noise_rules.released(value)
        if isinstance(value, torch_values.Tensor):
            return torch_values.released(self, value)
        if isinstance(value, Difference):
            if not released(self, value):
                raise self.refuse("a gap to a noisy threshold is used that was not found beyond it")
            return Public(())
        if isinstance(value, tuple) and not is_known(value):
            return tuple(self.release(each) for each in value)
        return value

    def _takes_back(self, value: Noisy) -> bool:
        """Return True if the place of the largest was shown before: it follows from the values."""
        draw, path = value.noise.draw, self.path
        token, charge = self.maxima.get(path.used.get(draw, 0), (0, None))
        if charge is None or token != value.token or draw in path.unsure:
            return False
        path.used[draw] = token
        path.ledger = path.ledger.without(charge)
        return True

    def _vector_of(self, value: Noisy) -> Noisy | None:
        """Return the vector that a noisy number was made a part of on this path, or None."""
        moved = self.path.used.get(value.noise.draw)
        for key, (token, vector) in self.vectors.items():
            if token == moved and any(each == value.token for each, *_ in key):
                return vector
        return None

    def public(self, value: Value, what: str, hint: str = "") -> Value:
        """Observe a value that must be public: of a condition, an index, a result."""
        value = self.release(self.opened(value))
        if isinstance(value, tuple) and not is_known(value):
            return tuple(self.public(each, what, hint) for each in value)
        if isinstance(value, Private) and not value.bare:
            raise Refusal(value.line or self.line, value.reason, value.hint, self.file)
        if is_data(value):
            raise self.leak(
                f"{what} depends on {arithmetic.kind(value)} without noise",
                hint or arithmetic.remedy(self, value),
            )
        if not is_public(value):
            raise self.refuse(f"{what} is {arithmetic.kind(value)}, which is not followed")
        return value

    def one_record(self, records: Records) -> Fraction:
        """Return the distance by which one person moves a sum over records."""
        low, high = records.low, records.high
        if self.n is None:
            return max(abs(low), abs(high))
        if records.chosen:
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        return high - low

    # ------------------------------------------------------------------ lists and arrays

    def opened(self, value: Value) -> Value:
        """Return the contents of a list, in depth; other values as they are."""
        if isinstance(value, Reference):
            if gathering.is_shown(self, value):
                return UNKNOWN
            if self.cells(value).kind == "object" and self.depth:
                raise self.refuse("an object is taken as text or as a number")
            return tuple(self.opened(each) for each in self.cells(value).items)
        if isinstance(value, Once):
            return tuple(self.opened(each) for each in value.items)
        if isinstance(value, tuple) and not is_known(value):
            return tuple(self.opened(each) for each in value)
        return value

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

    def gathered(self, value: Value) -> Value:
        """Return a list of numbers as one array."""
        return gathering.gathered(self, value)

    def entries_or_none(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items of a loop over a value; None where they are not known."""
        return gathering.entries(self, value)

    # ------------------------------------------------------------------ what the parts on it read

    @property
    def line(self) -> int:
        """The line that is read, with its file."""
        return Line(self._line, self.file)

    @line.setter
    def line(self, number: int) -> None:
        self._line = int(number)

    def operate(self, name: str, a: Value, b: Value) -> Value:
        """Return the result of an operator."""
        raise NotImplementedError

    def entries(self, value: Value, what: str) -> tuple[Value, ...]:
        """Return the items of a loop over a value, or refuse."""
        raise NotImplementedError

    def for_each_record(self, records: Records) -> AbstractContextManager[None]:
        """Read for one record what is done for each: nothing may be drawn, used or stored."""
        raise NotImplementedError

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        raise NotImplementedError

    def inline(
        self,
        source: FunctionSource,
        node: Any,
        defaults: tuple[tuple[str, Value], ...],
        args: list[Value],
        kw: dict[str, Value],
        *,
        parent: int | None = None,
    ) -> Value:
        """Read a function's body with these arguments, and return its value."""
        raise NotImplementedError
