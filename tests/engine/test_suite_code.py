"""What a third-party suite's code may do wrong: one line names its package, and no run is lost."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from support import packages

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODE = """
import sys
from dataclasses import dataclass, replace
import geometric_response
from dpcp_audit.words.errors import MissingExtraError
from dpcp_audit.words.checks import Row
from dpcp_audit.words.checks import Overview

ROW = geometric_response.rows()[0]

@dataclass
class Odd:
    x: int = 1

def with_claim(**changes):
    return (Row(claim=replace(ROW.claim, **changes), check=ROW.check),)

def with_check(check):
    return (Row(claim=ROW.claim, check=check),)

def missing():
    raise MissingExtraError("torch", "torch")

class Sampled:
    sampled = "yes"
    def __call__(self, context): ...

SUITE = replace(geometric_response.SUITE, {changes})
"""
RUN = ["run", "--suite", "mine", "--only", "geometric.exact", "--profile", "smoke", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder on the path, with the example package in it."""
    packages.install_example(tmp_path, monkeypatch)
    yield tmp_path
    for module in ("geometric_response", "mine"):
        sys.modules.pop(module, None)
    packages.clear()


def change(folder: Path, changes: str) -> None:
    """Register the example's suite with some of its fields changed."""
    (folder / "mine.py").write_text(CODE.replace("{changes}", changes), encoding="utf-8")
    packages.register(folder, "mine-and-broken", mine="mine:SUITE")
    packages.clear()


def test_the_unchanged_suite_runs(folder: Path) -> None:
    change(folder, "")
    assert main(RUN) == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("rows=lambda: 1 / 0", "ZeroDivisionError: division by zero"),
        ("rows=lambda: sys.exit(0)", "SystemExit: 0"),
        ("rows=lambda: None", "TypeError: 'NoneType' object is not iterable"),
        ("rows=lambda: [1, 2]", "TypeError: rows must hold instances of Row, got int"),
        ("rows=lambda: (1 / 0 for _ in range(1))", "ZeroDivisionError"),
        ("rows=lambda: with_check(print)", "check of geometric.exact must be callable and have"),
        ("rows=lambda: with_check(Sampled())", "check of geometric.exact must be callable"),
        ("rows=lambda: (Row(claim=1, check=ROW.check),)", "claim must be a Claim, got int"),
        ("rows=lambda: with_claim(source='p. 3')", "source of geometric.exact must be a Source"),
        ("rows=lambda: with_claim(parameters=3)", "parameters of geometric.exact must be a dict"),
        (
            "rows=lambda: with_claim(parameters={'n': [Odd()]})",
            "parameters of geometric.exact: value must be plain data, got Odd",
        ),
    ],
)
def test_rows_that_cannot_be_used_are_a_usage_error(
    folder: Path, changes: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder, changes)
    assert main(RUN) == 2
    line, hint = capsys.readouterr().err.splitlines()
    assert "mine:SUITE of the package mine-and-broken returns no rows: " in line
    assert said in line
    assert hint.startswith("hint: ")


@pytest.mark.parametrize(
    ("require", "said"),
    [
        ("lambda: 1 / 0", "the package mine-and-broken cannot run: ZeroDivisionError"),
        ("lambda: sys.exit(0)", "the package mine-and-broken cannot run: SystemExit: 0"),
        ("missing", "torch is not installed\nhint: pip install"),
    ],
)
def test_a_requirement_that_fails_is_a_usage_error(
    folder: Path, require: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder, f"require={require}")
    assert main(RUN) == 2
    assert said in capsys.readouterr().err


def test_a_requirement_that_fails_is_an_error_in_python(folder: Path) -> None:
    change(folder, "require=lambda: 1 / 0")
    with pytest.raises(UsageError, match="the package mine-and-broken cannot run"):
        dp.run("mine", only="geometric.exact", profile="smoke", jobs=1)


@pytest.mark.parametrize(
    ("overview", "said"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("5", "TypeError: "),
        ("Odd()", "ValueError: overview"),
        ("Overview(figures=5)", "ValueError: overview.figures"),
    ],
)
def test_an_overview_that_fails_loses_no_results(
    folder: Path, overview: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder, f"overview=lambda _: {overview}")
    results = folder / "results.json"
    assert main([*RUN, "--report", f"json={results}", "--report", f"html={folder / 'a.html'}"]) == 0
    assert f"the overview of the suite mine is left out: {said}" in capsys.readouterr().err
    document = json.loads(results.read_text(encoding="utf-8"))
    assert document["overview"] == {"figures": [], "tables": [], "headline": "", "summary": ""}
    assert [each["verdict"] for each in document["findings"]] == ["CONSISTENT"]
