"""Settings of a run are refused by name where they cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from dpcp_audit.engine.run_settings import RunSettings


@pytest.mark.parametrize(
    "bad",
    [
        {"seed": -1},
        {"seed": 1.5},
        {"profile": "ci"},
        {"false_alarm": 0.0},
        {"false_alarm": 1.0},
        {"false_alarm": 1e-320},
        {"false_alarm": float("nan")},
    ],
)
def test_bad_settings_are_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RunSettings(**bad)
