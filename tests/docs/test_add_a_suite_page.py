"""The page on suites of other packages: what it prints is a package whose claims come out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.words.checks import Context, Suite

if TYPE_CHECKING:
    from dpcp_audit.words.results import Verdict

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
PAGE = (HOWTO / "add_a_suite.md").read_text("utf-8")
OF_A_PAPER = (HOWTO / "claims_of_a_paper.md").read_text("utf-8").partition("## A suite of two")[2]


def verdicts(suite: Suite) -> list[tuple[Verdict, Verdict | None]]:
    """Return the verdict of each claim of a suite, and the one that is expected."""
    contexts = [Context(seed=0, name=row.claim.id, significance=1e-6) for row in suite.rows()]
    return [
        (row.check(context).verdict, row.claim.expected)
        for row, context in zip(suite.rows(), contexts, strict=True)
    ]


def test_its_mechanism_and_its_claims_are_a_suite_whose_verdicts_are_the_expected_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"<!-- file: truncated_count.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "truncated_count.py").write_text("".join(blocks), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    suite = import_module("truncated_count").SUITE
    del sys.modules["truncated_count"]
    assert isinstance(suite, Suite)
    found = verdicts(suite)
    assert found
    assert all(verdict is expected for verdict, expected in found)


def test_the_suite_of_two_files_runs_once_it_is_installed(tmp_path: Path) -> None:
    """The module fixes its own seed: each run of it gives the same verdicts."""
    for needed in ("pip", "hatchling"):
        pytest.importorskip(needed, reason="the printed package is built and installed")
    claims, metadata = re.findall(r"```toml\n(.*?)```", OF_A_PAPER, re.DOTALL)
    (module,) = re.findall(r"```python\n(.*?)```", OF_A_PAPER.partition("## ")[0], re.DOTALL)
    package = tmp_path / "source" / "noisy_ranks"
    package.mkdir(parents=True)
    (package / "claims.toml").write_text(claims, "utf-8")
    (package / "__init__.py").write_text(module, "utf-8")
    (package.parent / "pyproject.toml").write_text(metadata, "utf-8")
    installed = tmp_path / "installed"
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    _python("-m", "pip", "install", *options, f"--target={installed}", str(package.parent))
    report = tmp_path / "results.json"
    ran = ["-m", "dpcp_audit", "run", "--suite=noisy-ranks", f"--report=json={report}"]
    _python(*ran, path=str(installed))
    findings = json.loads(report.read_text("utf-8"))["findings"]
    assert [(each["verdict"], each["expected"]) for each in findings] == [
        ("PROVED", "PROVED"),
        ("CONSISTENT", "CONSISTENT"),
    ]


def _python(*words: str, path: str = "") -> None:
    """Run Python with these words, and with a folder of installed packages; it must succeed."""
    environment = os.environ | ({"PYTHONPATH": path} if path else {})
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_metadata_name_the_suite() -> None:
    project = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])["project"]
    assert project["entry-points"]["dpcp_audit.suites"] == {"count": "truncated_count:SUITE"}


def test_it_imports_public_names_alone() -> None:
    modules = re.findall(r"from (dpcp_audit[\w.]*) import", PAGE)
    assert modules
    assert all(re.fullmatch(r"dpcp_audit(\.extensions\.\w+)?", each) for each in modules)
