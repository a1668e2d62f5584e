"""The files that hosts and tools read from the repository's root say what the package says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_storeys import STOREYS

from dpcp_audit.faces.cli.main import main

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
INPUTS = {"checkboxes", "dropdown", "input", "textarea"}


def read(*path: str) -> Any:
    return yaml.safe_load(ROOT.joinpath(*path).read_text("utf-8"))


def test_the_citation_is_of_this_package() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # the format's own
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == PROJECT["name"]
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]


def test_the_project_has_one_home() -> None:
    home = PROJECT["urls"]["Source"]
    assert all(url.startswith(home) for url in PROJECT["urls"].values())


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_forms(path: Path) -> None:
    form = read(str(path))
    assert form.keys() == {"name", "description", "labels", "body"}
    asked = [each for each in form["body"] if each["type"] != "markdown"]
    assert {each["type"] for each in asked} <= INPUTS
    assert all(each["attributes"]["label"] for each in asked)
    names = [each["id"] for each in asked]
    assert len(set(names)) == len(names)
    assert any(each.get("validations", {}).get("required") for each in asked)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_few_rights_and_pin_their_actions(path: Path) -> None:
    workflow = read(str(path))
    assert workflow["permissions"]["contents"] == "read"
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert "${{" not in step.get("run", "")  # inputs come in by the environment


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_digest_beside_their_version(path: Path) -> None:
    """A tag can be moved, a commit cannot."""
    used = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    for each in used:
        if not each.startswith("dpcp-audit/"):
            assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each


def test_coverage_is_reported() -> None:
    steps = read(".github", "workflows", "weekly.yml")["jobs"]["coverage"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert [word.split()[3] for word in commands if "-m coverage" in word] == [
        "run",
        "report",
        "html",
    ]


def test_only_a_publishing_job_has_more_rights_than_reading() -> None:
    extra = {
        (path.stem, name): set(job["permissions"]) - {"contents"}
        for path in WORKFLOWS
        for name, job in read(str(path))["jobs"].items()
        if "permissions" in job
    }
    assert extra == {
        ("release", "publish"): {"id-token"},
        ("pages", "deploy"): {"pages", "id-token"},
    }
    jobs = [read(str(path))["jobs"] for path in WORKFLOWS]
    scripts = {
        step.get("run", "") for each in jobs for job in each.values() for step in job["steps"]
    }
    own = {line for line in scripts if line.startswith(".ci/")}
    assert own == {f".ci/{name}" for name in ("run", "wheel", "other_pythons", "minimum", "diffs")}
    assert all(os.access(ROOT / line, os.X_OK) for line in own)


def test_every_release_says_what_you_must_change() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    names = [each.partition("\n")[0] for each in releases]
    released = [each for each in names if each != "[Unreleased]"]
    assert released == names[-len(released) :]  # what is not released yet stands first
    dated = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", each) for each in released]
    assert all(dated), released
    assert [each.count("### What you must change") for each in releases] == [1] * len(names)
    versions = [tuple(map(int, each[1].split("."))) for each in dated if each]
    assert versions == sorted(versions, reverse=True)
    assert ".".join(map(str, versions[0])) == PROJECT["version"]
    assert read("CITATION.cff")["date-released"] == dated[0][2]


def test_a_tag_is_released_if_it_is_the_version_and_the_changelog_has_it() -> None:
    steps = read(".github", "workflows", "release.yml")["jobs"]["build"]["steps"]
    (command,) = (each["run"] for each in steps if "TAG" in each.get("env", {}))
    for tag, code in ((f"v{PROJECT['version']}", 0), ("v0.1.0", 1), ("v9.9.9", 1)):
        done = subprocess.run(
            [shutil.which("bash") or "", "-c", command],
            cwd=ROOT,
            env=os.environ | {"TAG": tag},
            check=False,
        )
        assert done.returncode == code, tag


def test_every_python_that_the_package_names_is_tested() -> None:
    prefix = "Programming Language :: Python :: 3."
    named = {each.removeprefix(prefix) for each in PROJECT["classifiers"] if prefix in each}
    jobs = read(".github", "workflows", "ci.yml")["jobs"].values()
    settings = [step.get("with", {}) for job in jobs for step in job["steps"]]
    tested = {each for one in settings for each in one.get("python-version", "").split()}
    assert {each.removeprefix("3.") for each in tested} == named
    command = (ROOT / ".ci" / "other_pythons").read_text("utf-8")
    assert all(each in command for each in tested - {"3.11"})
    assert PROJECT["requires-python"] == f">=3.{min(map(int, named))}"


@pytest.mark.parametrize("path", ["workflows/dpcp-audit.yml"])
def test_the_reusable_workflow_uses_options_that_exist(path: str, capsys: Any) -> None:
    text = (ROOT / ".github" / path).read_text("utf-8")
    command = re.search(r"dpcp-audit check .*?(?=\n {6}-)", text, re.DOTALL)
    assert command is not None
    with pytest.raises(SystemExit, match="0"):
        main(["check", "--help"])
    shown = capsys.readouterr().out
    used = set(re.findall(r"--[a-z-]+", command[0])) | {"--strict"}
    assert used >= {"--config", "--report"}
    assert all(option in shown for option in used)
    assert all(f"{name}=" in shown for name in re.findall(r"--report (\w+)=", command[0]))


def test_the_hooks_run_commands_of_this_project() -> None:
    (offered,) = read(".pre-commit-hooks.yaml")
    assert offered["entry"].split()[0] in PROJECT["scripts"]
    assert {"id", "name", "entry", "language"} <= offered.keys()
    own = [hook for each in read(".pre-commit-config.yaml")["repos"] for hook in each["hooks"]]
    assert {hook["entry"].split()[0] for hook in own} == {"ruff", "mypy"}
    assert {hook["language"] for hook in own} == {"system"}


def test_a_library_that_ships_a_package_called_tests_shadows_nothing(tmp_path: Path) -> None:
    """diffprivlib does."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_validate.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_picture_of_the_architecture_has_every_room() -> None:
    picture = (ROOT / "docs" / "architecture.svg").read_text("utf-8")
    rooms = re.findall(r'<text class="room"[^>]*>([^<]+)<', picture)
    assert rooms == ["dpcp_ledger", "extensions", *reversed(STOREYS)]
