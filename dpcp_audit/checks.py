"""Checks: what tests a claim, and the context that it runs in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from dpcp_audit import _validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.results import Outcome, PlainData, Power


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a run hands to a check.

    Parameters
    ----------
    seed : int
        The run's seed.
    name : str
        The finding's id; it keys the random streams, so that a check draws the same numbers
        whatever runs beside it, in whatever order.
    significance : float
        The probability with which this check may refute a true claim.
    effort : float
        Factor on every sample size; 1 is the ``ci`` profile.
    """

    seed: int
    name: str
    significance: float
    effort: float = 1.0

    def __post_init__(self) -> None:
        _validate.integer(seed=self.seed, at_least=0, at_most=None)
        _validate.open_unit(significance=self.significance)
        _validate.positive(effort=self.effort)

    def rng(self, chunk: int = 0) -> np.random.Generator:
        """Return the random stream of one chunk of this check."""
        digest = hashlib.sha256(self.name.encode()).digest()
        key = int.from_bytes(digest[:8], "big")
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(key, chunk)))

    def samples(self, count: int) -> int:
        """Return a sample size: ``count`` at effort 1, never below 100."""
        return max(100, round(count * self.effort))


@runtime_checkable
class Check(Protocol):
    """Tests one claim."""

    @property
    def sampled(self) -> bool:
        """Whether the verdict can be wrong by chance, and so takes from the error budget."""
        ...

    def __call__(self, context: Context) -> Outcome:
        """Run the check."""
        ...


@runtime_checkable
class Planned(Check, Protocol):
    """A check whose power is known before it runs."""

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest violation that is refuted with probability 0.95."""
        ...

    def draws_needed(self, violation: float, *, significance: float) -> float:
        """Return the budget at which a true value of ``violation`` is refuted so often.

        Raises
        ------
        ValueError
            If the claim allows it, or if no budget is large enough.
        """
        ...


@runtime_checkable
class Chunked(Check, Protocol):
    """A check whose work falls into chunks that can run anywhere, in any order.

    Its ``__call__`` is ``whole(self, context)``. A chunk draws from ``context.rng(index)`` and
    from nothing else, so that it can be run again.
    """

    def chunks(self, context: Context) -> int:
        """Return the number of chunks, at least 1."""
        ...

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run one chunk and return its result as plain data, small enough to be kept."""
        ...

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the results of all chunks, in the order of their indices."""
        ...


def whole(check: Chunked, context: Context) -> Outcome:
    """Run all chunks of a check, one after the other, and judge them."""
    results = [check.chunk(context, index) for index in range(check.chunks(context))]
    return check.combine(context, results)
