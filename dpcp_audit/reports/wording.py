"""Numbers, intervals and witnesses in the words of a report."""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

DASH = "–"
_WIDTH = 76
_SHOWN_ITEMS = 40


def number(value: object, *, digits: int = 4) -> str:
    """Return a number for readers.

    Parameters
    ----------
    value : float, int, str or None
        A JSON number, one of the strings "inf", "-inf" and "nan", or None.
    digits : int
        Significant digits; whole numbers below 10¹⁵ keep all of theirs.

    Examples
    --------
    >>> number(0.0641372), number(1.3e-5), number(11080), number("inf"), number(None)
    ('0.06414', '1.3e-05', '11,080', '∞', '–')
    """
    if value is None:
        return DASH
    amount = to_float(value)
    if math.isnan(amount):
        return "not a number"
    if math.isinf(amount):
        return "∞" if amount > 0 else "-∞"
    if amount.is_integer() and abs(amount) < 1e15:
        return f"{amount:,.0f}" if abs(amount) >= 1e4 else f"{amount + 0.0:.0f}"
    if abs(amount) >= 1e4:
        return f"{amount:,.0f}" if abs(amount) < 1e9 else f"{amount:.{digits}g}"
    return f"{amount:.{digits}g}"


def to_float(value: object) -> float:
    """Return a document's number as a float; "inf", "-inf" and "nan" are its JSON strings."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"value must be a number, got {value!r}")  # noqa: TRY004  (bad input)
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"value must be a number, got {value!r}") from None


def confidence(value: object) -> str:
    """Return a probability near 1 so that its distance from 1 shows.

    Examples
    --------
    >>> confidence(0.95), confidence(0.99995), confidence(1.0)
    ('0.95', '1 - 5e-05', '1')
    """
    missing = 1 - to_float(value)
    return f"1 - {number(missing, digits=3)}" if 0 < missing < 1e-3 else number(value)


def telling_digits(evidence: Mapping[str, Any]) -> int:
    """Return the digits (4 to 8) at which measured and claimed numbers that differ look different.

    1.00004 beside a claim of 1 must not be printed as 1.
    """
    claimed = evidence.get("claimed")
    if claimed is None:
        return 4
    measured = [evidence[key] for key in ("value", "lower", "upper")]
    differing = [m for m in measured if _differ(to_float(m), to_float(claimed))]
    for digits in range(4, 9):
        shown = number(claimed, digits=digits)
        if all(number(m, digits=digits) != shown for m in differing):
            return digits
    return 8


def _differ(a: float, b: float) -> bool:
    return not (a == b or math.isclose(a, b, rel_tol=1e-7))


def interval(evidence: Mapping[str, Any]) -> str:
    """Return the interval, or "" where it is a single point."""
    lower, upper = evidence["lower"], evidence["upper"]
    if lower == upper:
        return ""
    digits = telling_digits(evidence)
    shown = number(lower, digits=digits), number(upper, digits=digits)
    return "" if shown[0] == shown[1] else f"[{shown[0]}, {shown[1]}]"


def plain(value: object, *, indent: int = 0) -> str:
    """Return JSON-like text: short values on one line, long lists wrapped and cut off.

    A list of more than 40 items shows its first 20 and says how many more there are.
    """
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= _WIDTH - indent:
        return flat
    if isinstance(value, dict):
        return _block("{", [f"{_key(k)}: {plain(v, indent=indent + 2)}" for k, v in value.items()])
    if isinstance(value, list):
        return _list(value, indent)
    return flat


def _key(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)


def _list(items: list[Any], indent: int) -> str:
    shown = items if len(items) <= _SHOWN_ITEMS else items[: _SHOWN_ITEMS // 2]
    hidden = len(items) - len(shown)
    more = [f"… {hidden:,} more"] if hidden else []
    if any(isinstance(item, dict | list) for item in shown):
        return _block("[", [*(plain(item, indent=indent + 2) for item in shown), *more])
    text = ", ".join(json.dumps(item, ensure_ascii=False) for item in shown)
    width = _WIDTH - indent
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return "[\n" + textwrap.indent("\n".join([*lines, *more]), "  ") + "\n]"


def _block(opening: str, parts: list[str]) -> str:
    inner = textwrap.indent(",\n".join(parts), "  ")
    return f"{opening}\n{inner}\n{'}' if opening == '{' else ']'}"
