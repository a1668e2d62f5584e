"""CONTRIBUTING shows how to add things, as diffs of at most three files that apply."""

from __future__ import annotations

import re
import shutil
import subprocess
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


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_applies(name: str) -> None:
    command = ["git", "apply", "--check", "-"]
    done = subprocess.run(
        command, input=DIFFS[name], cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
