"""CONTRIBUTING shows how to add things, as diffs of at most three files that apply."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
DIFFS = dict(
    re.findall(r"^### ([^\n]+)\n(?:(?!^##).)*?^```diff\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
)


def test_each_kind_of_thing_has_its_diff() -> None:
    assert list(DIFFS) == [
        "A mechanism",
        "A theorem",
        "A claim",
        "An option of `check`",
        "A report format",
    ]


@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_is_of_three_files_at_most(name: str) -> None:
    assert 1 <= len(re.findall(r"^\+\+\+ b/", DIFFS[name], re.MULTILINE)) <= 3


_LEFT_OUT = (".git", ".venv", ".*_cache", ".hypothesis", "_build", "dist", "build")
"""Of the copy; what Python keeps of its modules is copied, and of a changed file read anew."""


CLAIM = "conformal.split[side=upper,n=20]"
TESTS = [
    "tests/docs/test_bibliography.py",
    "tests/faces/test_keywords.py::test_the_types_are_those_of_the_table",
    "tests/test_names.py",
]
"""What a change of any kind has to keep, beside the tests that it brings."""
USES = (
    ["dpcp_audit", "run", "--only", CLAIM, "--profile", "smoke", "--jobs", "1"],
    ["dpcp_audit", "check", "--config", "checks.toml"],
)
CHECKS = """
[[check]]
target = "mine.py:f"
kind = "quantile"
coverage-at-least = 0.1
classifier-scores = false
n = 20
draws = 1000
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_the_diffs_add_works(tmp_path: Path) -> None:
    """All changes are made in one copy; their tests, and what they make possible, run there."""
    copy = tmp_path / "copy"
    git = str(shutil.which("git"))
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for diff in DIFFS.values():
        subprocess.run([git, "apply", "-"], input=diff, cwd=copy, text=True, check=True)
    brought = re.findall(r"^\+\+\+ b/(tests/\S+)", "".join(DIFFS.values()), re.MULTILINE)
    (copy / "mine.py").write_text("def f(scores):\n    return float(scores.max())\n")
    (copy / "checks.toml").write_text(CHECKS)
    environment = os.environ | {"PYTHONPATH": str(copy)}
    for command in (["pytest", "-q", "-p", "no:cacheprovider", *brought, *TESTS], *USES):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
