"""The interface of the interpreter that the rules may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fractions import Fraction

    from dpcp_audit.proving.charges import Charge, Rules
    from dpcp_audit.proving.distances import (
        Leak,
        Noisy,
        Records,
        Reference,
        Refusal,
        Value,
    )
    from dpcp_audit.proving.exact_numbers import Surd
    from dpcp_audit.proving.paths import Contents, Path
    from dpcp_audit.proving.sources import FunctionSource
    from dpcp_audit.proving.threshold_answers import ThresholdAnswers


class Interpreter(Protocol):
    """The reading of one function: its state, and what can be done at the line that is read."""

    n: int | None
    path: Path
    frame: int
    each_record: bool
    for_some: bool
    quiet: bool
    unbounded: bool
    answers: ThresholdAnswers
    rules: Rules
    iterated: list[Value]
    vectors: dict[tuple[tuple[int, Surd, int], ...], tuple[int, Noisy]]

    @property
    def line(self) -> int:
        """The line that is read."""
        ...

    @line.setter
    def line(self, number: int) -> None: ...

    def release(self, value: Value) -> Value:
        """Observe a value: charge for its noise, and return a public one."""
        ...

    def public(self, value: Value, what: str) -> Value:
        """Observe a value that must be public."""
        ...

    def use(self, draw: tuple[int, ...], token: int) -> bool:
        """Use a draw for one value, which the token names; refuse any other use."""
        ...

    def doubt(self, what: str) -> None:
        """Keep a place at which a trace may go another way than the function itself."""
        ...

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return a comparison that the path decides which is read; None of any other."""
        ...

    def charge(self, charge: Charge) -> None:
        """Put a use of noise on the account."""
        ...

    def note(self, text: str) -> None:
        """Keep a remark on the line that is read."""
        ...

    def refuse(self, reason: str, hint: str = "") -> Refusal:
        """Return the refusal at this line."""
        ...

    def leak(self, reason: str, hint: str) -> Leak:
        """Return that data is used without noise at this line."""
        ...

    def one_record(self, records: Records) -> Fraction:
        """Return how far one person moves a sum over records."""
        ...

    def opened(self, value: Value) -> Value:
        """Return the contents of a list, in depth."""
        ...

    def cells(self, reference: Reference) -> Contents:
        """Return what a reference refers to."""
        ...

    def listed(self, items: Any) -> Reference:
        """Return a new list."""
        ...

    def gathered(self, value: Value) -> Value:
        """Return a list of numbers as one array."""
        ...

    def entries(self, value: Value, what: str) -> tuple[Value, ...]:
        """Return what a loop over a value goes through, or refuse."""
        ...

    def entries_or_none(self, value: Value) -> tuple[Value, ...] | None:
        """Return what a loop over a value goes through; None where it is not known."""
        ...

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        ...

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
        """Read a function's body with these arguments."""
        ...
