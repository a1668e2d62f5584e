"""What Hypothesis draws follows from the test alone, on a slow machine and on a busy one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def drawn() -> list[list[int]]:
    """Return what a property is tried on."""
    found: list[list[int]] = []

    @given(st.lists(st.integers()))
    def keep(numbers: list[int]) -> None:
        found.append(numbers)

    keep()
    return found


def test_examples_do_not_depend_on_the_modules_that_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hypothesis would draw the constants of this one: a run in another order, other examples."""
    before = drawn()
    (tmp_path / "many_constants.py").write_text(f"NUMBERS = {list(range(10**6, 10**6 + 50))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("many_constants")
    assert drawn() == before
    del sys.modules["many_constants"]


def test_no_property_fails_by_the_clock() -> None:
    chosen = settings()
    assert chosen.derandomize
    assert chosen.deadline is None
    assert HealthCheck.too_slow in chosen.suppress_health_check
