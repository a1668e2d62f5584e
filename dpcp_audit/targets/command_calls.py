"""Calls of a program of any language, over JSON lines (docs/command_protocol.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._plain_data import is_list, is_record
from dpcp_audit.targets import answers
from dpcp_audit.targets.calling_convention import draw_seed
from dpcp_audit.targets.kinds import Gives, Takes
from dpcp_audit.targets.process import LineProcess
from dpcp_audit.targets.target_errors import (
    TargetError,
    TargetRaisedError,
    TargetUnusableError,
    one_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.targets.kinds import Kind

PROTOCOL = 1
"""The version of the protocol, sent with every request."""
BATCH = 256
"""The most draws that one request asks for; a longer batch takes several."""


@dataclass(slots=True, kw_only=True)
class CommandCaller:
    """Asks a program for outputs, a batch of at most 256 at a time.

    The program is started with the first request; one that failed is killed, and the next
    request starts it again. How a batch is divided does not depend on the clock, so that a
    program which takes its randomness from the seeds repeats its outputs.
    """

    command: tuple[str, ...]
    name: str
    kind: Kind
    domain: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call_seconds: float = 10.0
    _process: LineProcess | None = None
    _id: int = 0

    def outputs(
        self, inputs: tuple[np.ndarray, ...], size: int, *, rng: np.random.Generator
    ) -> FloatArray:
        """Return ``size`` outputs on one input, shape (size,), or (size, d) of arrays."""
        if self.kind.takes is Takes.VALUE:
            return self.reports(np.full(size, inputs[0]), rng=rng)
        data = {name: x.tolist() for name, x in zip(self.kind.inputs, inputs, strict=True)}
        text = json.dumps(data, allow_nan=False)[1:-1]
        sizes = [min(BATCH, size - start) for start in range(0, size, BATCH)]
        return self._ask_all(((text, part) for part in sizes), rng)

    def reports(self, values: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Return one report for each value, shape (n,), or (n, d) of arrays."""
        parts = [values[start : start + BATCH].tolist() for start in range(0, len(values), BATCH)]
        asked = (
            (json.dumps({"inputs": part, "domain": self.domain})[1:-1], len(part)) for part in parts
        )
        return self._ask_all(asked, rng)

    def fixed_seed(self) -> str | None:
        """Return None: the program's source is not read."""
        return None

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask_all(self, parts: Iterable[tuple[str, int]], rng: np.random.Generator) -> FloatArray:
        found = [self._ask(text, size, draw_seed(rng)) for text, size in parts]
        return np.concatenate(found) if found else np.empty(0)

    def _ask(self, text: str, size: int, seed: int) -> FloatArray:
        self._id += 1
        head = {"protocol": PROTOCOL, "id": self._id, "kind": str(self.kind), "size": size}
        head |= {"seed": seed, "options": dict(self.options)}
        request = f"{json.dumps(head, allow_nan=False)[:-1]}, {text}}}\n".encode()
        if self._process is None or not self._process.alive:
            self._process = LineProcess(self.command, name=self.name)
        try:
            line = self._process.ask(request, seconds=self.call_seconds)
            return self._values(self._reply(line), size)
        except TargetRaisedError as error:
            raise type(error)(f"{error}; asked for {self._asked(size)}") from error
        except TargetError as error:
            self.close()
            raise TargetUnusableError(f"{error}; asked for {self._asked(size)}") from error

    def _asked(self, size: int) -> str:
        return f"{size} draws in request {self._id}"

    def _reply(self, line: bytes) -> Mapping[str, Any]:
        shown = one_line(line.decode(errors="replace"), longest=60)
        try:
            reply = json.loads(line)
        except ValueError:
            raise TargetUnusableError(
                f"{self.name} printed {shown!r}, which is no JSON; stdout is for replies alone, "
                "messages go to stderr"
            ) from None
        if not is_record(reply) or "id" not in reply or not {"values", "error"} & set(reply):
            raise TargetUnusableError(
                f"{self.name} replied {shown!r}, which must be an object with 'id' and 'values', "
                "or 'id' and 'error'"
            )
        if reply["id"] != self._id:
            raise TargetUnusableError(
                f"{self.name} replied to request {reply['id']!r}, not to {self._id}: one reply for "
                "each request, with its id"
            )
        if "error" in reply:
            raise TargetRaisedError(f"{self.name} reported an error: {one_line(reply['error'])}")
        return reply

    def _values(self, reply: Mapping[str, Any], size: int) -> FloatArray:
        values = reply["values"]
        try:
            if is_list(values):
                values = [_value(value, self.kind) for value in values]
            return answers.numbers_of(values, size, kind=self.kind)
        except answers.AnswerError as error:
            raise TargetUnusableError(f"{self.name} {error}") from None


def _value(value: Any, kind: Kind) -> float | list[float]:
    """Return a number, or of a kind that returns arrays a list of them."""
    if kind.gives is Gives.VECTOR and is_list(value):
        return [_number(each, kind) for each in value]
    return _number(value, kind)


def _number(value: Any, kind: Kind) -> float:
    """Return a number; a text such as "0.25" or "-inf" is one too, since some languages send it."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise answers.AnswerError(
                f"returned {one_line(value, longest=60)!r} among its values, not a number"
            ) from None
    return answers.number(value, kind=kind)
