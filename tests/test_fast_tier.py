"""The fast tier: what it leaves out exists, and every room has tests in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SLOW_FILES, SLOW_MARKS
from test_storeys import STOREYS

TESTS = Path(__file__).parent


def test_the_slow_files_exist() -> None:
    assert {name for name in SLOW_FILES if not (TESTS / name).is_file()} == set()


def test_every_room_has_fast_tests() -> None:
    fast = {
        path.relative_to(TESTS).parts[0]
        for path in TESTS.rglob("test_*.py")
        if path.relative_to(TESTS).as_posix() not in SLOW_FILES
    }
    assert set(STOREYS) - fast == {"words"}  # whose tests stand beside the rooms


def test_a_test_of_a_fast_file_is_fast(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("fast")


@pytest.mark.statistical(false_alarm=0)
def test_a_sampled_test_is_not(request: pytest.FixtureRequest) -> None:
    """No false alarms: nothing is drawn."""
    assert "statistical" in SLOW_MARKS
    assert request.node.get_closest_marker("fast") is None
