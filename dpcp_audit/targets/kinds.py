"""The kinds of target: what each takes and gives, in one table."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple


class Takes(StrEnum):
    """The data that a target is called with."""

    SCORES = "scores"
    """n scores, shape (n,)."""
    RECORDS = "records"
    """n rows of class probabilities, shape (n, K), and n labels."""
    VALUE = "value"
    """One user's value: an integer in {0, …, K−1}, or a number between the bounds."""
    CLIENTS = "clients"
    """A list of clients' scores, an array of shape (n_i,) for each."""
    ROWS = "rows"
    """n rows of features, shape (n, p), n labels, and new rows that predictions are of."""


class Gives(StrEnum):
    """The type of a target's output."""

    NUMBER = "a number"
    REPORT = "a report in 0 … K−1"
    VECTOR = "a number, or an array of them"


class _Form(NamedTuple):
    """A row of the table of kinds.

    Parameters
    ----------
    takes : Takes
    gives : Gives
    inputs : tuple of str
        Names of the arguments that carry data.
    form : str
        The signature of a target of the kind.
    """

    takes: Takes
    gives: Gives
    inputs: tuple[str, ...]
    form: str


class Kind(StrEnum):
    """The kind of a target: its inputs and its output."""

    QUANTILE = "quantile"
    """A threshold from scores."""
    RANDOMIZER = "randomizer"
    """A report in {0, …, K−1} of a value in {0, …, K−1}."""
    CALIBRATOR = "calibrator"
    """A threshold on the score 1 − p_y, or one for each class."""
    VECTOR = "vector"
    """An array of numbers from scores: a histogram, several quantiles, a transcript."""
    LOCAL = "local"
    """A number or an array of them from one user's value: noisy values, bit vectors."""
    FEDERATED = "federated"
    """A number or an array of them from a list of clients' scores."""
    PREDICTOR = "predictor"
    """Prediction sets of new rows, by an object with ``fit`` and ``predict_set``."""
    REGRESSION = "regression"
    """Prediction intervals of new rows, by an object with ``fit`` and ``predict_interval``."""
    MODEL = "model"
    """Predictions of new rows, by the model that a training returns."""

    @property
    def form(self) -> str:
        """The signature of a target of the kind."""
        return _TABLE[self].form

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments that carry data."""
        return _TABLE[self].inputs

    @property
    def takes(self) -> Takes:
        """The data that it is called with."""
        return _TABLE[self].takes

    @property
    def gives(self) -> Gives:
        """The type of the output."""
        return _TABLE[self].gives


_ROWS = ("features", "labels", "new")
_TABLE = {
    Kind.QUANTILE: _Form(Takes.SCORES, Gives.NUMBER, ("scores",), "f(scores, *, rng) -> float"),
    Kind.RANDOMIZER: _Form(Takes.VALUE, Gives.REPORT, ("value",), "f(value, *, rng) -> int"),
    Kind.CALIBRATOR: _Form(
        Takes.RECORDS,
        Gives.VECTOR,
        ("probabilities", "labels"),
        "f(probabilities, labels, *, rng) -> float or array of shape (K,)",
    ),
    Kind.VECTOR: _Form(
        Takes.SCORES, Gives.VECTOR, ("scores",), "f(scores, *, rng) -> array of numbers"
    ),
    Kind.LOCAL: _Form(
        Takes.VALUE, Gives.VECTOR, ("value",), "f(value, *, rng) -> number or array of numbers"
    ),
    Kind.FEDERATED: _Form(
        Takes.CLIENTS,
        Gives.VECTOR,
        ("clients",),
        "f(clients, *, rng) -> number or array of numbers",
    ),
    Kind.PREDICTOR: _Form(
        Takes.ROWS, Gives.VECTOR, _ROWS, "an object with fit(X, y) and predict_set(X)"
    ),
    Kind.REGRESSION: _Form(
        Takes.ROWS, Gives.VECTOR, _ROWS, "an object with fit(X, y) and predict_interval(X)"
    ),
    Kind.MODEL: _Form(
        Takes.ROWS, Gives.VECTOR, _ROWS, "f(features, labels, *, rng) -> model with predict"
    ),
}


def kinds_that(*, take: Takes) -> tuple[Kind, ...]:
    """Return the kinds that take such data."""
    return tuple(kind for kind in Kind if kind.takes is take)


HAVE_CLASSES = (*kinds_that(take=Takes.VALUE), Kind.CALIBRATOR, Kind.PREDICTOR)
"""The kinds whose values, or whose classes, are 0, …, K−1 where K is given."""


class RandomStyle(StrEnum):
    """The way in which a target takes its randomness."""

    GENERATOR = "generator"
    """As a ``numpy.random.Generator``, by the keyword ``rng``."""
    SEED = "seed"
    """As an integer in [0, 2³¹), another one for each call, by the keyword ``seed``."""
    GLOBAL = "global"
    """The target draws from NumPy's or Python's global generator, or from the system's entropy."""
    NONE = "none"
    """Not at all: the code is deterministic."""


_FAR = 1e3
"""The distance from the known end, or from 0 where none is known."""


def tried(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the finite interval that stands for bounds of which an end may be infinite.

    Examples
    --------
    >>> tried((0.0, math.inf)), tried((-math.inf, math.inf)), tried((-1.0, 1.0))
    ((0.0, 1000.0), (-1000.0, 1000.0), (-1.0, 1.0))
    """
    low, high = bounds
    start = 0.0 if math.isinf(low) else low
    end = 0.0 if math.isinf(high) else high
    return (
        end - _FAR if math.isinf(low) else low,
        start + _FAR if math.isinf(high) else high,
    )
