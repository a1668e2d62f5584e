"""The examples run, and say what they are there to show."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [("audit_my_quantile", ["REFUTED", "CONSISTENT"]), ("check_coverage", ["REFUTED"])],
)
def test_an_example_reaches_its_verdicts(name, verdicts, capsys) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(verdicts)
    for line, verdict in zip(lines, verdicts, strict=True):
        assert verdict in line


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"audit_my_quantile", "check_coverage"}
