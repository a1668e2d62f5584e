"""What a bound may take for granted, as evidence names it."""

from __future__ import annotations

from enum import StrEnum


class Assumption(StrEnum):
    """The assumption of a sampled bound, besides the independence of its samples."""

    NONE = "none"
    """Nothing: it holds of whatever mechanism."""
    TRADE_OFF = "trade-off"
    """The mechanism differs from the claim in its noise alone."""
    INDEPENDENT = "trade-off, independent"
    """That, and canaries of one run are released independently of one another."""
    GAUSSIAN = "Gaussian scores"
    """The scores of a run's canaries are independent, normal and of one variance."""
