"""Calls of a Python function: fresh copies in, checked numbers out."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._types import is_array
from dpcp_audit.targets import answers
from dpcp_audit.targets.call_blocks import CallBlocks
from dpcp_audit.targets.captured_output import Talk
from dpcp_audit.targets.data_forms import DataForm, handed_over
from dpcp_audit.targets.fixed_seeds import fixed_seed
from dpcp_audit.targets.global_state import seeded
from dpcp_audit.targets.kinds import Kind, RandomStyle, Takes
from dpcp_audit.targets.loading import code_of, floating_errors, raised
from dpcp_audit.targets.seeding_calls import seeded_alike
from dpcp_audit.targets.target_errors import TargetError, TargetRaisedError, TargetUnusableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.targets.calling_convention import Convention


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
    _talk: Talk = field(default_factory=Talk, init=False, repr=False, compare=False)
    _latest: list[tuple[Any, ...]] = field(
        default_factory=list[tuple[Any, ...]], init=False, repr=False, compare=False
    )
    _blocks: CallBlocks = field(default_factory=CallBlocks, init=False, repr=False, compare=False)

    def outputs(
        self, inputs: tuple[np.ndarray, ...], size: int, *, rng: np.random.Generator
    ) -> FloatArray:
        """Return ``size`` outputs on one input, shape (size,), or (size, d) of arrays."""
        with self._globals(rng), self._talk.limited(), floating_errors(self.function):
            if not self.vectorised:
                return self._called(inputs, size, rng)
            if self.kind.takes is Takes.VALUE:  # an array of values, an output for each
                return self._many((np.full(size, inputs[0]),), size, rng, {})
            return self._many(inputs, size, rng, {"size": size})

    def each(
        self, inputs: Sequence[tuple[np.ndarray, ...]], *, rng: np.random.Generator
    ) -> FloatArray:
        """Return one output on each of many inputs, shape (len(inputs),), or (len(inputs), d)."""
        with self._globals(rng), self._talk.limited(), floating_errors(self.function):
            if self.vectorised:
                return np.concatenate([self._many(x, 1, rng, {"size": 1}) for x in inputs])
            return self._stacked([self._one(x, rng) for x in inputs], inputs[-1])

    def _called(self, inputs: tuple[Any, ...], size: int, rng: np.random.Generator) -> FloatArray:
        """Return outputs of as many calls; in blocks where these are the same."""

        def one_by_one(count: int, *, rng: np.random.Generator) -> FloatArray:
            return self._stacked([self._one(inputs, rng) for _ in range(count)], inputs)

        def at_once(count: int, *, rng: np.random.Generator) -> FloatArray:
            return self._many(inputs, count, rng, {"size": count})

        if not self.convention.sized:
            return one_by_one(size, rng=rng)
        return self._blocks.outputs(size, one_by_one=one_by_one, at_once=at_once, rng=rng)

    def reports(self, values: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Return one report for each value, shape (n,)."""
        with self._globals(rng), self._talk.limited(), floating_errors(self.function):
            if not self.vectorised:
                return np.array([self._one((v,), rng) for v in values.tolist()], dtype=np.float64)
            return self._many((values,), len(values), rng, {})

    def fixed_seed(self) -> str | None:
        """Return where the function seeds a generator with a fixed number, if that can be seen."""
        return fixed_seed(self.function) or self._seeded_alike()

    def _seeded_alike(self) -> str | None:
        """Return where two calls on the latest data seed with one number of their own."""
        code = code_of(self.function)
        fitted = self.kind.takes is Takes.ROWS  # models are fitted with seeds of their own
        if not self._latest or self.vectorised or fitted or code is None:
            return None

        latest = self._latest[0]

        def run(number: int, inputs: tuple[Any, ...] = latest) -> None:
            rng = np.random.default_rng(number)
            with self._globals(rng), self._talk.limited(), floating_errors(self.function):
                self._call(inputs, rng, {})

        others = tuple(_others(x) for x in latest)
        return seeded_alike(run, lambda: run(0, others), file=code.co_filename)

    def close(self) -> None:
        """Do nothing: a function needs no end."""

    def _globals(self, rng: np.random.Generator) -> AbstractContextManager[None]:
        return seeded(rng) if self.convention.style is RandomStyle.GLOBAL else nullcontext()

    def _one(self, inputs: tuple[Any, ...], rng: np.random.Generator) -> float | FloatArray:
        self._latest[:] = [inputs]
        answer = self._call(inputs, rng, {})
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
        """Return what to say where a signature, as of a wrapper, kept a keyword to itself."""
        if self.convention.style is not RandomStyle.GLOBAL:
            return ""
        if not isinstance(error, TypeError | KeyError):
            return ""
        styles = {"'rng'": RandomStyle.GENERATOR, "'seed'": RandomStyle.SEED}
        style = next((style for name, style in styles.items() if name in str(error)), None)
        return "" if style is None else f"; if it takes its randomness so, say --rng {style}"

    def _wrong(self, error: Exception, inputs: tuple[Any, ...]) -> TargetError:
        return TargetUnusableError(f"{self.name} {error}; on {describe(self.kind, inputs)}")


def describe(kind: Kind, inputs: tuple[Any, ...]) -> str:
    """Return what a call was given, in words."""
    if kind.takes is Takes.VALUE:
        (value,) = inputs
        return f"{len(value)} values" if is_array(value) else f"the value {value}"
    if kind.takes is Takes.CLIENTS:
        (clients,) = inputs
        return f"{len(clients)} clients with {', '.join(str(len(x)) for x in clients)} scores"
    return " and ".join(
        f"{name} of shape {np.shape(x)}" for name, x in zip(kind.inputs, inputs, strict=True)
    )


def _others(data: Any) -> Any:
    """Return scores of which none is as it was, in [0, 1] as long as they are."""
    if not is_array(data) or data.dtype.kind != "f":
        return data
    return np.where(data > 0.5, data / 2, data / 2 + 0.3)
