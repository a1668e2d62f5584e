"""Degenerate targets: code whose samples say nothing about its law, recognised and named.

A target that seeds itself gives the same "random" numbers at every call, one that always
returns the same value gives nothing to compare, and one that draws from a global generator
cannot be run again. An audit of any of them would find nothing to object to, for the wrong
reason; so it raises ``DegenerateTargetError`` unless the target's randomness is declared.

Every sampled test rests on that. Code whose every single output keeps its promise, but which
reuses one draw for several outputs in a row, would be refuted far more often than stated. The
probe has a millionth of a check's significance, which is taken off the significance of its tests:
its error is part of the run's false-alarm probability, and independent draws are as good as never
refused. A draw that is reused shows at far smaller p-values.

What it cannot see: outputs of one batch that depend on those of another, and the dependence
between outputs of a target whose every call is a process of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcp_audit.stats.serial_dependence import serial_dependence
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import FloatArray, IntArray


_PROBE, _CONFIRM, _CONFIRMATIONS = 64, 256, 4

OR_NONE = "declare that it draws none (--randomness none; in Python randomness='none')"
"""What code may be told that returns the same in every call."""


class Randomness(StrEnum):
    """The declared source of a target's random numbers."""

    GENERATOR = "generator"
    """From the generator that it is handed, and from nowhere else: its runs repeat."""
    EXTERNAL = "external"
    """Also from elsewhere: a global generator or the system's entropy. Runs do not repeat."""
    NONE = "none"
    """Nowhere: the same input always gives the same output."""


class DegenerateTargetError(ValueError):
    """The target's samples say nothing about its law, or are no samples at all."""


class ConstantOutputsError(DegenerateTargetError):
    """All outputs are one and the same: of what, and what to do about it where nothing seeds it."""

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(found, advice)
        self.found, self.advice = found, advice

    def __str__(self) -> str:
        """Return the line that is told."""
        return f"{self.found}, which says nothing about its privacy: {self.advice}"

    def of_seed(self, place: str) -> DegenerateTargetError:
        """Return the error of code whose own seed keeps its outputs the same."""
        return DegenerateTargetError(
            f"{self.found}, since it seeds itself by {place}: draw from the rng or seed that it is "
            "handed"
        )


class OutOfTimeError(DegenerateTargetError):
    """A limit of time is over, which ends an audit: what it has not refuted, it leaves open."""


def draw(
    sample: Callable[..., Any], value: object, size: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return ``size`` outputs of a target on one input, as numbers.

    Infinite outputs are outputs: a conformal threshold may be +∞.

    Returns
    -------
    ndarray, shape (size,) or (size, d)

    Raises
    ------
    DegenerateTargetError
        If the target returns NaN, another shape or no numbers.
    """
    return _outputs(sample(value, size, rng=rng), size)


def draw_each(
    sample: Callable[..., Any], values: Sequence[object], *, rng: np.random.Generator
) -> FloatArray:
    """Return one output of a target on each of many inputs, as numbers.

    A target with a method ``each`` is asked for them at once.

    Returns
    -------
    ndarray, shape (len(values),) or (len(values), d)

    Raises
    ------
    DegenerateTargetError
        If the target returns NaN, another shape or no numbers.
    """
    each = getattr(sample, "each", None)
    if each is None:
        drawn = [draw(sample, value, 1, rng=rng) for value in values]
        if len({one.shape for one in drawn}) > 1:
            raise DegenerateTargetError("sample must return as many numbers on each input")
        return np.concatenate(drawn)
    return _outputs(each(values, rng=rng), len(values))


def _outputs(drawn: Any, size: int) -> FloatArray:
    try:
        outputs = np.asarray(drawn, dtype=np.float64)
    except (TypeError, ValueError):
        raise DegenerateTargetError(
            f"sample must return an array of numbers, got {type(drawn).__name__}"
        ) from None
    if outputs.ndim not in (1, 2) or len(outputs) != size or outputs.size == 0:
        raise DegenerateTargetError(
            f"sample must return shape ({size},) or ({size}, d), got shape {outputs.shape}"
        )
    if np.isnan(outputs).any():
        raise DegenerateTargetError("sample must return numbers, got NaN")
    return outputs


def probe(
    sample: Callable[..., Any],
    value: object,
    *,
    randomness: Randomness = Randomness.GENERATOR,
    rng: np.random.Generator | int | None = None,
) -> None:
    """Draw a few outputs on one input, and test them against the declared randomness.

    The same generator must give the same outputs, unless EXTERNAL is declared; other
    generators must give others, unless NONE is. A sound target is taken for one that seeds
    itself with probability at most 1e-8: four fresh generators must agree in all of 256
    outputs that are not all equal, and a rare output agrees in one place with probability
    at most 0.02/256³. NumPy's and ``random``'s global states are left as they were found.

    Raises
    ------
    DegenerateTargetError
        With what the target does, and what to do about it.
    """
    _validate.choice(Randomness, randomness=randomness)
    seeds = _validate.generator(rng).integers(2**63, size=2 + _CONFIRMATIONS)
    kept = _global_states()
    try:
        first = draw(sample, value, _PROBE, rng=np.random.default_rng(seeds[0]))
        between = _global_states()
        again = draw(sample, value, _PROBE, rng=np.random.default_rng(seeds[0]))
        moved = _moved(between, _global_states())
        if randomness is not Randomness.EXTERNAL:
            _require_repeatable(repeats=np.array_equal(first, again), moved=moved)
        other = draw(sample, value, _PROBE, rng=np.random.default_rng(seeds[1]))
        if randomness is Randomness.NONE:
            _require_deterministic(first, other)
        elif np.array_equal(first, other) and not _constant(first):
            _require_fresh(sample, value, seeds[2:])
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002  (this restores what the target may move)
        random.setstate(kept[1])


def _require_repeatable(*, repeats: bool, moved: Sequence[str]) -> None:
    if moved:
        raise DegenerateTargetError(
            f"sample draws from the global state of {' and '.join(moved)}: draw from the rng it "
            "is handed, or declare Randomness.EXTERNAL (randomness global)"
        )
    if not repeats:
        raise DegenerateTargetError(
            "sample gives other outputs when it is handed the same rng again, so it draws from "
            "elsewhere: draw from rng alone, or declare Randomness.EXTERNAL (randomness global)"
        )


def _require_deterministic(first: FloatArray, other: FloatArray) -> None:
    if not _constant(np.concatenate([first, other])):
        raise DegenerateTargetError(
            "sample is declared to use no randomness and returns different values on "
            "one input: declare where its randomness comes from, or leave randomness out"
        )


def _require_fresh(sample: Callable[..., Any], value: object, seeds: IntArray) -> None:
    runs = [draw(sample, value, _CONFIRM, rng=np.random.default_rng(seed)) for seed in seeds]
    if all(np.array_equal(runs[0], run) for run in runs) and not _constant(runs[0]):
        raise DegenerateTargetError(
            "sample seeds itself: different generators give the same outputs, so its draws are "
            "not random; let it draw from the rng it is handed"
        )


def _constant(outputs: FloatArray) -> bool:
    return bool((outputs == outputs[:1]).all())


def _global_states() -> tuple[Any, Any]:
    return np.random.get_state(), random.getstate()  # noqa: NPY002  (what the target may draw from)


def _moved(before: tuple[Any, Any], after: tuple[Any, Any]) -> list[str]:
    """Return which global generators stand elsewhere after a call than after the same call before.

    A target that seeds them from its own rng leaves them where it did before.
    """
    same = all(np.array_equal(x, y) for x, y in zip(before[0], after[0], strict=True))
    return [
        name
        for name, moved in (("numpy.random", not same), ("random", before[1] != after[1]))
        if moved
    ]


PROBED = 1e-6
"""The share of a check's significance that the probe of independence has."""


class DependentOutputsError(DegenerateTargetError):
    """Outputs in a row depend on each other, so that no test of a claim on them is valid."""


def unprobed(significance: float) -> float:
    """Return what the probe leaves of a check's significance to its tests."""
    _validate.open_unit(significance=significance)
    return (1 - PROBED) * significance


def require_independent(*batches: ArrayLike, significance: float) -> None:
    """Refuse outputs that depend on each other in the order in which they came.

    Outputs that are independent draws of one law are refused with probability at most 1e-6 of
    ``significance``, whatever the law.

    Parameters
    ----------
    *batches : array_like, shape (size,) or (size, d)
        Outputs of one input each, in order.
    significance : float
        The significance of the whole check.

    Raises
    ------
    DependentOutputsError
        With the lag and the statistic.
    """
    for batch in batches:
        found = serial_dependence(batch)
        if found is not None and found.p_value <= PROBED * significance / len(batches):
            raise DependentOutputsError(
                f"sample's outputs depend on each other: {found}. Every output must be a draw of "
                "its own: draw anew for each, or let one call return one output"
            )


class Drawable(Protocol):
    """A source of outputs that declares where its randomness comes from."""

    @property
    def randomness(self) -> Randomness:
        """The source of its random numbers."""
        ...

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleDraws:
    """Asks for outputs one by one.

    Code that seeds itself returns the same batch each time, and so the same output each time
    that it is asked for one.

    Parameters
    ----------
    target : Drawable
    """

    target: Drawable

    @property
    def randomness(self) -> Randomness:
        """The target's."""
        return self.target.randomness

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input, each of a call of its own."""
        return np.concatenate([self.target(value, 1, rng=rng) for _ in range(size)])
