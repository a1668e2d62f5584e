"""The false-alarm probabilities that statistical tests state, and their sum over a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BUDGET = 1e-4
"""The probability with which a default run fails on correct code, at most."""


def false_alarm(item: pytest.Item) -> float | None:
    """Return what a test's closest mark states: 0 where none is drawn, None where it is missing."""
    mark = item.get_closest_marker("statistical")
    if mark is None:
        return 0.0
    number = mark.kwargs.get("false_alarm")
    if not isinstance(number, int | float) or not 0 <= number < 1:
        return None
    return float(number)


def total(items: Iterable[pytest.Item]) -> float:
    """Return the sum over the tests of a default run: a union bound, whatever their dependence."""
    counted = (item for item in items if item.get_closest_marker("study") is None)
    return math.fsum(false_alarm(item) or 0.0 for item in counted)


def require_a_budget_that_is_kept(items: Sequence[pytest.Item]) -> None:
    """Raise ``pytest.UsageError`` where a number is missing, or the sum exceeds the budget."""
    silent = [item.nodeid for item in items if false_alarm(item) is None]
    if silent:
        raise pytest.UsageError(
            "a statistical test states its false-alarm probability: "
            f"@pytest.mark.statistical(false_alarm=1e-7). Without one: {', '.join(silent)}"
        )
    if total(items) > BUDGET:
        most = sorted(items, key=lambda item: false_alarm(item) or 0.0)[-3:]
        raise pytest.UsageError(
            f"statistical tests fail on correct code with probability {total(items):.3g}, more "
            f"than {BUDGET:g}. The largest: {', '.join(item.nodeid for item in most)}"
        )


def stated(items: Sequence[pytest.Item]) -> list[str]:
    """Return a line on the statistical tests of a run, if there are any."""
    count = sum(item.get_closest_marker("statistical") is not None for item in items)
    return [f"{count} statistical tests, false alarms at most {total(items):.2g}"] if count else []
