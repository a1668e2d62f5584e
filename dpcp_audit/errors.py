"""Errors that end a command with one line and a documented exit code."""

from __future__ import annotations


class UsageError(ValueError):
    """The command was called with something it cannot use (exit code 2)."""


class IncompleteError(RuntimeError):
    """Something could not be completed, for example a report not written (exit code 3)."""


class MissingExtraError(RuntimeError):
    """An optional dependency is not installed; the message says how to get it (exit code 2)."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed; install it with: pip install 'dpcp-audit[{extra}]'"
        )
