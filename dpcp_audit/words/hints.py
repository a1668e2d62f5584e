"""Hints: the second line of an error, which says what to write instead of a wrong value."""

from __future__ import annotations

import math
from numbers import Real

from dpcp_audit.words.whole_files import HINT


def value_error(message: str, hint: str) -> ValueError:
    """Return an error of a line that says what is wrong, and of one that says what to do."""
    return ValueError(f"{message}{HINT}{hint}")


def for_number(value: object, example: str = "0.5") -> str:
    """Return what to write where a number is wanted.

    Examples
    --------
    >>> for_number("0.25")
    'write the number without quotes: 0.25'
    >>> for_number(None)
    'give a number, such as 0.5'
    """
    if isinstance(value, str) and not math.isnan(_number(value)):
        return f"write the number without quotes: {value.strip()}"
    return f"give a number, such as {example}"


def for_probability(value: object) -> str:
    """Return what to write where a probability is wanted; a percentage is divided by 100.

    Examples
    --------
    >>> for_probability(95)
    'give a share of 1: 95 % is 0.95'
    """
    number = _number(value)
    if 1 < number < 100 and not isinstance(value, str):
        return f"give a share of 1: {number:g} % is {number / 100:g}"
    return for_number(value, "0.1")


def for_whole(value: object, *, at_least: int = 1, at_most: int | None = None) -> str:
    """Return what to write where a whole number is wanted.

    Examples
    --------
    >>> for_whole(20.0)
    'write 20'
    >>> for_whole(2.5, at_least=600)
    'give a whole number, such as 600'
    """
    number = _number(value)
    top = math.inf if at_most is None else at_most
    if number.is_integer() and at_least <= number <= top and not isinstance(value, bool):
        return f"write {int(number)}"
    nearest = at_least if at_most is None or not number > top else at_most
    return f"give a whole number, such as {nearest if nearest > 1 else min(20, top)}"


def _number(value: object) -> float:
    """Return the number that a value is, or that a text writes; NaN where it is none."""
    if isinstance(value, bool) or not isinstance(value, Real | str):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.nan
