"""Calls of a Python function, and of a program of any language (docs/command_protocol.md).

Generators that a target seeds itself with a number of its source are found there
(``fixed_seed``); one that an attribute, a default or a computation holds is not seen.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import random
import sys
import textwrap
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.targets import answers
from dpcp_audit.targets.answers import (
    DataForm,
    TargetError,
    TargetRaisedError,
    TargetUnusableError,
    handed_over,
    one_line,
)
from dpcp_audit.targets.kinds import Gives, Kind, RandomStyle, Takes
from dpcp_audit.targets.loading import code_of, draw_seed, floating_errors, raised
from dpcp_audit.targets.process import LineProcess
from dpcp_audit.words.checks import count_calls
from dpcp_audit.words.results import SourceLocation
from dpcp_audit.words.validate import is_array
from dpcp_audit.words.values import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from types import CodeType, FunctionType

    from dpcp_audit.targets.loading import Convention
    from dpcp_audit.words.validate import FloatArray, IntArray


_SEEDERS = frozenset(
    {"default_rng", "seed", "set_seed", "manual_seed", "RandomState", "Random", "SeedSequence"}
    | {"PCG64", "MT19937", "Philox", "SFC64", "PRNGKey"}
)
_SEED_KEYWORDS = frozenset({"seed", "random_state"})


def fixed_seed(function: object) -> str | None:
    """Return the call that seeds with a fixed number, and its line; None if there is none to see.

    The function itself is read, and the functions of its own module that it mentions.
    """
    waiting = [_plain(function)]
    seen: set[CodeType] = set()
    while waiting:
        current = waiting.pop()
        if current is None or current.__code__ in seen:
            continue
        seen.add(current.__code__)
        place = _in_source(current)
        if place is not None:
            return place
        waiting += [
            _plain(current.__globals__.get(name))
            for name in current.__code__.co_names
            if getattr(current.__globals__.get(name), "__module__", None) == current.__module__
        ]
    return None


def _plain(function: object) -> FunctionType | None:
    """Return the Python function behind a callable."""
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "func", getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    return function if inspect.isfunction(function) else None


def _in_source(function: FunctionType) -> str | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    code = code_of(function)
    first = 1 if code is None else code.co_firstlineno
    for call in _calls(tree):
        if _seeds(call, function.__globals__):
            place = SourceLocation.of(inspect.getfile(function), first + call.lineno - 1)
            return f"{ast.unparse(call)} at {place}"
    return None


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _seeds(call: ast.Call, names: Mapping[str, Any]) -> bool:
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    by_place = called in _SEEDERS and call.args and _fixed(call.args[0], names)
    by_keyword = any(k.arg in _SEED_KEYWORDS and _fixed(k.value, names) for k in call.keywords)
    return bool(by_place or by_keyword)


def _fixed(node: ast.expr, names: Mapping[str, Any]) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    value = names.get(node.id) if isinstance(node, ast.Name) else value
    return isinstance(value, int) and not isinstance(value, bool)


@contextmanager
def seeded(rng: np.random.Generator) -> Generator[None]:
    """Seed the global generators of NumPy, ``random`` and torch, where it is loaded, from ``rng``.

    They are left as they were found.
    """
    seed = draw_seed(rng)
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    torch = getattr(sys.modules.get("torch"), "default_generator", None)
    tensor = None if torch is None else torch.get_state()
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    if torch is not None:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)
        if torch is not None:
            torch.set_state(tensor)


@contextmanager
def streams_put_back() -> Generator[None]:
    """Leave stdout and stderr as they were, whatever the code has put in their place."""
    with redirect_stdout(sys.stdout), redirect_stderr(sys.stderr):
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCaller:
    """Calls a Python function.

    Every call gets copies of the data, so that a function that sorts in place harms nothing.
    A function that is not vectorised takes one input and returns one output, and is looped
    over; one that has a ``size`` all the same is called in blocks where it returns the same.
    """

    function: Callable[..., Any]
    name: str
    kind: Kind
    convention: Convention
    vectorised: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given_as: DataForm = DataForm.ARRAY
    forms: set[str] = field(default_factory=set[str], init=False, compare=False)

    def outputs(
        self, inputs: tuple[np.ndarray, ...], size: int, *, rng: np.random.Generator
    ) -> FloatArray:
        """Return ``size`` outputs on one input, shape (size,), or (size, d) of arrays."""
        with self._apart(rng):
            if not self.vectorised:
                return self._stacked([self._one(inputs, rng) for _ in range(size)], inputs)
            if self.kind.takes is Takes.VALUE:  # an array of values, an output for each
                return self._many((np.full(size, inputs[0]),), size, rng, {})
            return self._many(inputs, size, rng, {"size": size})

    def each(
        self, inputs: Sequence[tuple[np.ndarray, ...]], *, rng: np.random.Generator
    ) -> FloatArray:
        """Return one output on each of many inputs, shape (len(inputs),), or (len(inputs), d)."""
        with self._apart(rng):
            if self.vectorised:
                return np.concatenate([self._many(x, 1, rng, {"size": 1}) for x in inputs])
            return self._stacked([self._one(x, rng) for x in inputs], inputs[-1])

    def reports(self, values: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Return one report for each value, shape (n,); (n, d) where some are no numbers."""
        with self._apart(rng):
            if not self.vectorised:
                found = [self._one((v,), rng) for v in values.tolist()]
                plain = all(type(each) is float for each in found)
                reports = self._stacked(found, (values,))
                return reports if plain else reports.reshape(len(found), -1)
            return self._many((values,), len(values), rng, {})

    def fixed_seed(self) -> str | None:
        """Return the place where the function seeds a generator with a fixed number, if seen."""
        return fixed_seed(self.function)

    def close(self) -> None:
        """Do nothing: a function needs no end."""

    @contextmanager
    def _apart(self, rng: np.random.Generator) -> Generator[None]:
        """Keep within a batch of calls what they do to generators, NumPy and Python's streams."""
        own = seeded(rng) if self.convention.style is RandomStyle.GLOBAL else nullcontext()
        with own, floating_errors(self.function), streams_put_back():
            yield

    def _one(self, inputs: tuple[Any, ...], rng: np.random.Generator) -> float | FloatArray:
        answer = self._call(inputs, rng, {})
        count_calls(1)
        answers.require_one_form(answer, self.forms, kind=self.kind)
        try:
            return answers.one(answer, kind=self.kind)
        except answers.AnswerError as error:
            raise self._wrong(error, inputs) from None

    def _stacked(self, found: list[float | FloatArray], inputs: tuple[Any, ...]) -> FloatArray:
        try:
            return answers.stacked(found)
        except answers.AnswerError as error:
            raise self._wrong(error, inputs) from None

    def _many(
        self,
        inputs: tuple[np.ndarray, ...],
        size: int,
        rng: np.random.Generator,
        keywords: Mapping[str, int],
    ) -> FloatArray:
        answer = self._call(inputs, rng, keywords)
        count_calls(size)
        try:
            return answers.numbers_of(answer, size, kind=self.kind)
        except answers.AnswerError as error:
            raise self._wrong(error, inputs) from None

    def _call(
        self, inputs: tuple[Any, ...], rng: np.random.Generator, keywords: Mapping[str, int]
    ) -> Any:
        data, named = self.convention.named([handed_over(x, self.given_as) for x in inputs])
        process = os.getpid()
        try:
            random = self.convention.keywords(rng)
            return self.function(*data, **named, **random, **keywords, **self.options)
        except (Exception, SystemExit) as error:
            code = code_of(self.function)
            what = raised(error, file=None if code is None else code.co_filename)
            raise TargetRaisedError(
                f"{self.name} raised {what}, on {describe(self.kind, inputs)}"
                f"{self.given_as.shown}{self._hint(error)}"
            ) from error
        finally:
            if os.getpid() != process:  # a child that the function forked, and that came back:
                os._exit(0)  # it would go on with the audit, and fork again

    def _hint(self, error: BaseException) -> str:
        """Return the advice for a signature, such as a wrapper's, that hides a keyword."""
        if self.convention.style is not RandomStyle.GLOBAL:
            return ""
        if not isinstance(error, TypeError | KeyError):
            return ""
        styles = {"'rng'": RandomStyle.GENERATOR, "'seed'": RandomStyle.SEED}
        style = next((style for name, style in styles.items() if name in str(error)), None)
        return "" if style is None else f"; if it takes its randomness so, say randomness {style}"

    def _wrong(self, error: Exception, inputs: tuple[Any, ...]) -> TargetError:
        return TargetUnusableError(f"{self.name} {error}; on {describe(self.kind, inputs)}")


def describe(kind: Kind, inputs: tuple[Any, ...]) -> str:
    """Return the inputs of a call, in words."""
    if kind.takes is Takes.VALUE:
        (value,) = inputs
        return f"{len(value)} values" if is_array(value) else f"the value {value}"
    if kind.takes is Takes.CLIENTS:
        (clients,) = inputs
        return f"{len(clients)} clients with {', '.join(str(len(x)) for x in clients)} scores"
    return " and ".join(
        f"{name} of shape {np.shape(x)}" for name, x in zip(kind.inputs, inputs, strict=True)
    )


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
        text = self._text(inputs)
        sizes = [min(BATCH, size - start) for start in range(0, size, BATCH)]
        return self._ask_all(((text, part) for part in sizes), rng)

    def each(
        self, inputs: Sequence[tuple[np.ndarray, ...]], *, rng: np.random.Generator
    ) -> FloatArray:
        """Return one output on each of many inputs, shape (len(inputs),), or (len(inputs), d)."""
        found = [self._ask(self._text(each), 1, draw_seed(rng))[0] for each in inputs]
        try:
            return answers.stacked(found)
        except answers.AnswerError as error:
            raise TargetUnusableError(f"{self.name} {error}") from None

    def reports(self, values: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Return one report for each value, shape (n,), or (n, d) of arrays."""
        parts = [values[start : start + BATCH].tolist() for start in range(0, len(values), BATCH)]
        asked = (
            (json.dumps({"inputs": part, "domain": self.domain})[1:-1], len(part)) for part in parts
        )
        return self._ask_all(asked, rng)

    def _text(self, inputs: tuple[np.ndarray, ...]) -> str:
        data = {name: x.tolist() for name, x in zip(self.kind.inputs, inputs, strict=True)}
        return json.dumps(data, allow_nan=False)[1:-1]

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
            count_calls(size)
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
