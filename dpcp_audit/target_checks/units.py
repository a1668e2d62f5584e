"""Whose data differ between neighbours, and of how many scores coverage is claimed."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What one difference of a federated target's data is."""

    RECORD = "record"
    """One score of one client."""
    CLIENT = "client"
    """All scores of one client."""


COVERAGE_SIZE = 500
"""The number of scores at which coverage is checked, if none is given."""
