"""Games: trainings with canaries that are in by fair coins, and what is kept of them.

Of each run: counts of guesses, and the largest scores.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.stats import betabinom

from dpcp_audit.audits.training.one_run import Guesses, top_guesses, total
from dpcp_audit.audits.training.run_bets import Ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.words.arrays import BoolArray, FloatArray


MOST_GUESSES = 10_000
_BLOCK = 1000
"""Canaries of a block of runs."""
_MISSED = 0.05
"""The probability with which a violation that is stated as seen may be missed."""
_GROUPS = 32


class GameResults(NamedTuple):
    """The outcomes of a game's runs, both of shape (runs, m)."""

    scores: FloatArray
    """Larger where the attacker takes a canary to be in."""
    members: BoolArray


class Game(Protocol):
    """Trains models side by side, each with its own coins, and scores the canaries."""

    @property
    def canaries(self) -> int:
        """The number of canaries of a run, m."""
        ...

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play independent runs."""
        ...

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play the same training without its noise, in less time than so many runs."""
        ...


def guessed(played: GameResults, share: float) -> dict[str, int]:
    """Return the guesses of this share of the canaries, as plain data."""
    made = max(1, round(share * played.scores.size))
    found = top_guesses(played.scores, played.members, guesses=made)
    return {"correct": found.correct, "guesses": found.guesses, "canaries": found.canaries}


def blocks(played: GameResults) -> list[GameResults]:
    """Return the runs in blocks of 1,000 canaries or so, whose guesses are independent."""
    size = max(1, round(_BLOCK / played.scores.shape[1]))
    cuts = range(size, len(played.scores), size)
    pairs = zip(np.split(played.scores, cuts), np.split(played.members, cuts), strict=True)
    return [GameResults(*pair) for pair in pairs]


def beginnings(played: GameResults, count: int) -> list[GameResults]:
    """Return the first canaries of a single run, from few to all."""
    canaries = played.scores.shape[1]
    sizes = {max(1, canaries >> k) for k in range(count)}
    return [GameResults(played.scores[:, :m], played.members[:, :m]) for m in sorted(sizes)]


def grouped(parts: Sequence[dict[str, int]]) -> list[Guesses]:
    """Return the guesses of all chunks, neighbouring ones together where they are many."""
    guesses = [Guesses(**part) for part in parts]
    size = math.ceil(len(guesses) / _GROUPS)
    return [total(guesses[i : i + size]) for i in range(0, len(guesses), size)]


def foreseen(groups: Sequence[Guesses], twin: Guesses) -> list[Guesses]:
    """Return the groups' guesses if as many were right as of a twin's, at the 5 % quantile.

    Right ones are spread as evenly as whole numbers allow. The twin's rate of right guesses is
    known by Jeffreys's posterior.
    """
    right, wrong = twin.correct + 0.5, twin.guesses - twin.correct + 0.5
    hits = int(betabinom.ppf(_MISSED, total(groups).guesses, right, wrong))
    made = np.cumsum([0, *(group.guesses for group in groups)])
    correct = np.diff(np.floor(made * hits / made[-1])).astype(int).tolist()
    return [replace(group, correct=one) for group, one in zip(groups, correct, strict=True)]


def ranked_of(results: Sequence[dict[str, Any]]) -> Ranked:
    """Return the largest scores of the runs of all chunks."""
    return Ranked(
        np.concatenate([np.asarray(result["scores"]) for result in results]),
        np.concatenate([np.asarray(result["members"], dtype=np.bool_) for result in results]),
    )
