"""Whose data differ between neighbours."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What one difference of a federated target's data is."""

    RECORD = "record"
    """One score of one client."""
    CLIENT = "client"
    """All scores of one client."""
