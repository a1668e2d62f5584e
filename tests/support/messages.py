"""What every message of an error is: one line that names the argument, and perhaps a hint."""

from __future__ import annotations


def require_line_and_hint(text: str) -> None:
    """Refuse a message of more than a line and a hint."""
    first, *rest = text.removesuffix("\n").split("\n")
    assert first
    assert len(rest) <= 1, text
    assert all(each.startswith("hint: ") for each in rest), text
