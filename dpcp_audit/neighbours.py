"""Neighbours: pairs of inputs that differ in one person, under a named relation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from dpcp_audit import _validate

T = TypeVar("T")


class Relation(StrEnum):
    """What one person's difference may be."""

    SUBSTITUTION = "substitution"
    """One record is replaced by another; n is public and fixed (Hamming distance 1)."""
    ADD_REMOVE = "add-remove"
    """One record is added or taken away."""
    ZERO_OUT = "zero-out"
    """One record is replaced by one that contributes nothing; n is public and fixed."""
    ONE_LABEL = "one-label"
    """One record keeps its features and changes its label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours(Generic[T]):
    """Two inputs that differ in one person.

    Parameters
    ----------
    relation : Relation
        In what way they differ.
    value, neighbour : object
        The two inputs, as the mechanism takes them.
    """

    relation: Relation
    value: T
    neighbour: T

    def __post_init__(self) -> None:
        _validate.choice(Relation, relation=self.relation)
