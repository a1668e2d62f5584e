"""Blocks of calls: ``size`` outputs at once, where these are what as many calls return.

A function that takes a ``size`` may mean anything by it, and one that returns so many outputs may
draw them otherwise than one by one. So a block is taken for calls only where it is shown to be, to
the last bit: from a copy of the same generator so many calls return the same outputs and leave the
generator in the same state. That is tested once for each length, on the input that it is first
wanted for; after that the first output of every block is compared with that of a call. Outputs are
then those of calls one by one, whatever the function means by its ``size``, or calls are made.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.targets.target_errors import TargetError

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

_LENGTHS = (256, 64, 16)
"""Of blocks: only these are tested, so that a longer one cannot be another."""


class SizedCalls(Protocol):
    """Calls of a function on one input."""

    def __call__(self, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs, shape (size,) or (size, d)."""
        ...


@dataclass(slots=True)
class CallBlocks:
    """What is known of a function's blocks: by their length, whether they are its calls."""

    _known: dict[int, bool] = field(default_factory=dict[int, bool])

    def outputs(
        self, size: int, *, one_by_one: SizedCalls, at_once: SizedCalls, rng: np.random.Generator
    ) -> FloatArray:
        """Return ``size`` outputs on one input, in blocks as far as these are calls.

        Parameters
        ----------
        one_by_one : SizedCalls
            Calls the function so often.
        at_once : SizedCalls
            Calls it once, with a size; it may raise ``TargetError``.
        """
        parts: list[FloatArray] = []
        left = size
        for length in _LENGTHS:
            while left >= length and self._is_known(length, one_by_one, at_once, rng):
                part = self._block(length, one_by_one, at_once, rng)
                if part is None:
                    break
                parts.append(part)
                left -= length
        if left or not parts:
            parts.append(one_by_one(left, rng=rng))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _is_known(
        self, length: int, one_by_one: SizedCalls, at_once: SizedCalls, rng: np.random.Generator
    ) -> bool:
        if length not in self._known:
            here, there = copy.deepcopy(rng), copy.deepcopy(rng)
            called, block = one_by_one(length, rng=here), _tried(at_once, length, there)
            self._known[length] = block is not None and _same(called, block) and _alike(here, there)
        return self._known[length]

    def _block(
        self, length: int, one_by_one: SizedCalls, at_once: SizedCalls, rng: np.random.Generator
    ) -> FloatArray | None:
        """Return a block; None, with the generator as it was, where it is none of calls."""
        before, copied = copy.deepcopy(rng), copy.deepcopy(rng)
        first, block = one_by_one(1, rng=copied), _tried(at_once, length, rng)
        draws = not _alike(before, copied)
        if block is not None and _same(first, block[:1]) and draws != _alike(copied, rng):
            return block
        self._known = dict.fromkeys(_LENGTHS, False)
        rng.bit_generator.state = before.bit_generator.state
        return None


def _tried(at_once: SizedCalls, length: int, rng: np.random.Generator) -> FloatArray | None:
    try:
        return at_once(length, rng=rng)
    except TargetError:
        return None


def _same(one: FloatArray, other: FloatArray) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _alike(one: np.random.Generator, other: np.random.Generator) -> bool:
    """Tell whether two generators go on alike."""
    return repr(one.bit_generator.state) == repr(other.bit_generator.state)
