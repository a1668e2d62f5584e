"""Marks on functions that are to be proved or refused."""

from collections.abc import Callable

PROVED = []
REFUSED = []


def proved_at(claim, total) -> Callable:
    def mark(function) -> Callable:
        PROVED.append((function, claim, total))
        return function

    return mark


def refused(reason) -> Callable:
    def mark(function) -> Callable:
        REFUSED.append((function, reason))
        return function

    return mark
