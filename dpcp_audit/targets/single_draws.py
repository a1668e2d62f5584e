"""A target that is asked for one output at a time, as it is used: a seed of its own shows then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.targets.degenerate import Randomness


class Drawable(Protocol):
    """What gives outputs, and says where its randomness comes from."""

    @property
    def randomness(self) -> Randomness:
        """Where its random numbers are drawn."""
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
