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
    """That in Perl is run by ``test_targets_command``."""
    run = {"audit_my_quantile.py", "check_coverage.py", "command_quantile.pl"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == run
