"""A measured number, with what is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A number, with what is wanted of it where something is."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    limit: str = ""
    on: str = ""

    @property
    def met(self) -> bool:
        """Whether it is as wanted."""
        below = self.at_most is None or self.value <= self.at_most
        return below and (self.at_least is None or self.value >= self.at_least)
