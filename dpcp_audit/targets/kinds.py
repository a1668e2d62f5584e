"""What a target computes, and how it takes its randomness."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a target computes."""

    QUANTILE = "quantile"
    """``f(scores, *, rng) -> float``: a threshold from (n,) scores."""
    RANDOMIZER = "randomizer"
    """``f(value, *, rng) -> int``: a report in {0, …, K−1} of a value in {0, …, K−1}."""
    CALIBRATOR = "calibrator"
    """``f(probabilities, labels, *, rng) -> float``: a threshold on the score 1 − p_y."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments that carry data."""
        return _INPUTS[self]


_INPUTS = {
    Kind.QUANTILE: ("scores",),
    Kind.RANDOMIZER: ("value",),
    Kind.CALIBRATOR: ("probabilities", "labels"),
}


class RandomStyle(StrEnum):
    """How a target takes its randomness."""

    GENERATOR = "generator"
    """As a ``numpy.random.Generator``, by the keyword ``rng``."""
    SEED = "seed"
    """As an integer in [0, 2³¹), another one for each call, by the keyword ``seed``."""
    GLOBAL = "global"
    """By itself: from NumPy's or Python's global generator, or from the system's entropy."""
    NONE = "none"
    """Not at all: the code is deterministic."""
