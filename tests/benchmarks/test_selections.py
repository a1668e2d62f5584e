"""``--only`` of the benchmarks is a glob, as in ``run``; one that matches nothing is an error."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from study import selected

from dpcp_audit.words.errors import UsageError

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    script = BENCHMARKS / arguments[0]
    monkeypatch.setattr(sys, "argv", [str(script), *arguments[1:]])
    return runpy.run_path(str(script))["main"]()


def test_canaries_that_match_nothing_are_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(monkeypatch, "canaries.py", "--only", "dp-sgd[audit=white-box*")
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert "no audit matches 'dp-sgd[audit=white-box*'" in said.err
    assert not said.out


def test_level_cases_are_chosen_by_globs() -> None:
    assert all(name.startswith("rule: event") for name in selected(["rule: event*"]))
    assert len(selected([])) > len(selected(["rule: event*"])) > 0
    with pytest.raises(UsageError, match="no case matches 'score'"):
        selected(["score"])
