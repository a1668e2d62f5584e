"""What the page on continuous integration and the repository offer to other projects works.

The steps of the workflows and the entry of the hook are run as they are written, with a command
``dpcp-audit`` on the path.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "ci.md").read_text("utf-8")
REUSABLE = ".github/workflows/dpcp-audit.yml"
CODE = """
def private_quantile(scores, *, rng):
    return sorted(scores)[-1] + rng.laplace(scale=SCALE)
def report(value, *, rng):
    return int(rng.integers(3))
"""
CHECKS = """
[[{table}]]
target = "mine.py:report"
kind = "randomizer"
domain = 3
local-dp = 2.0
[[{table}]]
target = "mine.py:private_quantile"
kind = "quantile"
pure-dp = 1.0
n = 20
draws = 4000
trace = false
"""


def page(start: str) -> list[Any]:
    """Return the YAML files of the page that begin so."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return [yaml.safe_load(block) for block in blocks if block.startswith(start)]


def triggers(workflow: Any) -> Any:
    """Return what YAML 1.1 reads as the key ``True``."""
    return workflow[True]


@pytest.fixture
def project(tmp_path: Path) -> Any:
    """Return a function that runs a shell command in a project, with ``dpcp-audit`` there."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "dpcp-audit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpcp_audit "$@"\n')
    command.chmod(0o755)
    (tmp_path / "checks.toml").write_text(CHECKS.format(table="check"))
    (tmp_path / "pyproject.toml").write_text(CHECKS.format(table="tool.dpcp-audit.check"))
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    source = {"PYTHONPATH": str(ROOT), "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"}

    def run(line: str, scale: str = "2", **environment: str) -> int:
        (tmp_path / "mine.py").write_text(CODE.replace("SCALE", scale))
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", line],
            cwd=tmp_path,
            env=os.environ | source | environment,
            check=False,
        )
        return done.returncode

    return run


def step(name: str) -> str:
    """Return what a step of the reusable workflow runs."""
    (job,) = yaml.safe_load((ROOT / REUSABLE).read_text("utf-8"))["jobs"].values()
    (found,) = (each for each in job["steps"] if each.get("name") == name)
    return str(found["run"])


@pytest.mark.known_bad
def test_the_reusable_workflow_fails_for_a_broken_promise_alone(project, tmp_path) -> None:
    for scale, code in (("2", 0), ("0.1", 1)):
        assert project(step("Audit"), scale, CONFIG="checks.toml", STRICT="") == code
    assert project(step("Page")) == project(step("Summary")) == 0
    written = {path.name for path in tmp_path.glob("audit.*")}
    assert written == {"audit.sarif", "audit.xml", "audit.json", "audit.md", "audit.html"}
    assert "REFUTED" in (tmp_path / "summary.md").read_text("utf-8")


def test_the_page_calls_the_reusable_workflow_with_inputs_that_it_has() -> None:
    called, own = page("on:")
    offered = triggers(yaml.safe_load((ROOT / REUSABLE).read_text("utf-8")))["workflow_call"]
    job = called["jobs"]["audit"]
    assert job["uses"].endswith(f"/{REUSABLE}@main")
    assert job["with"].keys() <= offered["inputs"].keys()
    assert job["permissions"] == own["jobs"]["audit"]["permissions"]
    for name in offered["inputs"].keys() - {"config"}:
        assert f"`{name}`" in PAGE


@pytest.mark.known_bad
def test_the_steps_of_the_page_run(project) -> None:
    steps = page("on:")[1]["jobs"]["audit"]["steps"]
    (check,) = (each["run"] for each in steps if "check" in each.get("run", ""))
    (summary,) = (each["run"] for each in steps if "GITHUB" in each.get("run", ""))
    assert project(check) == 0
    assert project(summary) == 0
    (installs,) = (each["run"] for each in steps if "pip install" in each.get("run", ""))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extra,) = re.findall(r"dpcp-audit\[(\w+)\]", installs)
    assert extra in extras["optional-dependencies"]


@pytest.mark.known_bad
def test_the_hook_s_entry_runs_with_and_without_the_page_s_arguments(project) -> None:
    (offered,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    ((used,),) = (each["hooks"] for each in page("repos:")[0]["repos"])
    assert used["id"] == offered["id"]
    assert not used.keys() - {"id", "args", "additional_dependencies"}
    entry = offered["entry"]
    assert project(" ".join([entry, *used["args"]])) == 0
    assert project(entry, "0.1") == 1
    assert "pre-push" in offered["stages"]
    assert "install -t pre-push" in PAGE
