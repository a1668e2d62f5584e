"""When, how and from which code results were made, in the results and in the reports."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from support.report_document import document, finding

from dpcp_audit.engine.run_settings import RunSettings, provenance
from dpcp_audit.reports.formats.ci import render_sarif
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.summary import run_facts
from dpcp_audit.target_checks.check_spec import CheckSpec

if TYPE_CHECKING:
    from pathlib import Path

CODE = "def f(scores, *, rng):\n    return 1.0\n"
ORIGIN = {
    "finished": "2026-01-02T03:04:05Z",
    "command": "dpcp-audit check 'a b.py:f'",
    "platform": "Linux 6, x86_64",
    "code": {"dpcp-audit": "0123456789ab"},
    "revision": "f" * 40,
    "changed": True,
    "uncommitted": {"mine.py": "untracked"},
    "imported": {"helper.py": "ba9876543210"},
    "repository": "https://example.org/team/code",
}


def run_of(folder: Path) -> RunSettings:
    (folder / "mine.py").write_text(CODE)
    return RunSettings(suite="targets", seed=0, targets=(check_of("mine.py:f"),))


def check_of(target: str) -> CheckSpec:
    return CheckSpec.from_data({"target": target, "kind": "quantile", "pure-dp": 1.0})


def test_code_is_named_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = provenance(run_of(tmp_path))
    assert found.code["mine.py"] == sha256(CODE.encode()).hexdigest()
    assert (found.revision, found.changed, found.repository) == ("", False, "")


def test_the_file_of_checks_is_among_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checks.toml").write_text("strict = true\n")
    found = provenance(run_of(tmp_path), config=tmp_path / "checks.toml")
    assert found.code["checks.toml"] == sha256(b"strict = true\n").hexdigest()


def test_the_options_of_each_check_are_in_the_report(tmp_path: Path) -> None:
    targets = [each.as_data() for each in run_of(tmp_path).targets]
    facts = dict(run_facts(document() | {"targets": targets}))
    assert "kind = " in facts["Options of mine.py:f"]
    assert "neighbours = " in facts["Options of mine.py:f"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_commit_and_what_differs_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = run_of(tmp_path)
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for arguments in (
        ("init", "-q"),
        ("remote", "add", "origin", "https://me:secret@example.org/team/code"),
        ("add", "mine.py"),
        (*who, "commit", "-q", "-m", "one"),
    ):
        subprocess.run(["git", *arguments], check=True)  # noqa: S607  (a new repository)
    clean = provenance(settings)
    assert (len(clean.revision), clean.changed) == (40, False)
    assert clean.repository == "https://example.org/team/code"
    (tmp_path / "mine.py").write_text(CODE.replace("1.0", "2.0"))
    assert provenance(settings).changed
    assert provenance(settings).uncommitted == {"mine.py": "changed"}
    assert provenance(settings).folder == ""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert provenance(RunSettings(suite="theorems", seed=0)).folder == "sub"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_files_that_no_commit_holds_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    (tmp_path / "theirs.py").write_text(CODE)
    (tmp_path / "inner" / "mine.py").write_text(CODE)
    (tmp_path / "inner" / "ignored.py").write_text(CODE)
    (tmp_path / "inner" / ".gitignore").write_text("ignored.py")
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "one")):
        subprocess.run(["git", *arguments], check=True)  # noqa: S607  (a new repository)
    names = ("mine.py", "ignored.py", str(tmp_path / "theirs.py"))
    found = provenance(
        RunSettings(suite="targets", targets=tuple(check_of(f"{name}:f") for name in names))
    )
    assert found.uncommitted == {
        "mine.py": "untracked",
        "ignored.py": "untracked",
        names[2]: "outside",
    }


def test_files_that_the_code_imports_have_digests_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "own"
    package.mkdir()
    sources = {
        "mine.py": "import numpy\nfrom helper import rank\n\ndef f(scores):\n    import own.late\n",
        "helper.py": "import mine, absent\n",
        "own/__init__.py": "from . import early\n",
        "own/early.py": "from .late import x\nimport helper\n",
        "own/late.py": "x = (\n",
        "own/unused.py": "",
        "unused.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    for target in ("mine.py:f", "mine:f"):
        found = provenance(RunSettings(suite="targets", targets=(check_of(target),)))
        assert set(found.imported) == {
            "helper.py",
            "own/__init__.py",
            "own/early.py",
            "own/late.py",
        }
        assert found.imported["helper.py"] == sha256(sources["helper.py"].encode()).hexdigest()
    package_alone = provenance(RunSettings(suite="targets", targets=(check_of("own.early:x"),)))
    assert set(package_alone.imported) == {"own/late.py", "helper.py", "mine.py", "own/__init__.py"}


def test_reports_say_it() -> None:
    pytest.importorskip("jinja2")
    whole: Any = document(finding("a", "REFUTED", "CONSISTENT")) | {"provenance": ORIGIN}
    (run,) = json.loads(render_sarif(whole))["runs"]
    (place,) = run["versionControlProvenance"]
    assert place == {
        "repositoryUri": ORIGIN["repository"],
        "mappedTo": {"uriBaseId": "%SRCROOT%"},
    }
    committed = whole | {"provenance": ORIGIN | {"uncommitted": {}}}
    (run,) = json.loads(render_sarif(committed))["runs"]
    assert run["versionControlProvenance"][0]["revisionId"] == "f" * 40
    assert run["invocations"][0]["commandLine"] == ORIGIN["command"]
    assert run["properties"]["provenance"]["uncommitted"] == {}
    for state in (ORIGIN, ORIGIN | {"repository": ""}):
        (run,) = json.loads(render_sarif(whole | {"provenance": state}))["runs"]
        assert run["properties"]["provenance"] == {
            "revision": "f" * 40,
            "changed": True,
            "uncommitted": {"mine.py": "untracked"},
        }
    tool, helper = run["artifacts"]
    assert tool["description"]["text"] == "The code of dpcp-audit."
    assert tool["hashes"] == {"sha-256": "0123456789ab"}
    assert helper["location"]["uri"] == "helper.py"
    assert helper["hashes"] == {"sha-256": "ba9876543210"}
    assert run["properties"]["environment"]["platform"] == ORIGIN["platform"]
    page = render_html(whole)
    said = f"{'f' * 40}, but mine.py is not committed"
    for word in ("2026-01-02T03:04:05Z", "a b.py:f", said, "0123456789ab", "ba9876543210"):
        assert word in page
    nothing = whole | {"provenance": ORIGIN | {"revision": ""}}
    assert "no git, or no commit" in render_html(nothing)


def test_results_of_earlier_versions_have_none() -> None:
    whole: Any = document(finding("a", "REFUTED", "CONSISTENT"))
    assert "provenance" not in whole
    assert "versionControlProvenance" not in render_sarif(whole)


def test_files_of_one_state_are_named_together() -> None:
    states = {"a.py": "untracked", "b.py": "changed", "c.py": "untracked"}
    whole: Any = document(finding("a", "REFUTED", "CONSISTENT"))
    facts = dict(run_facts(whole | {"provenance": ORIGIN | {"uncommitted": states}}))
    said = "a.py and c.py are not committed and b.py has changed since"
    assert facts["Git commit"] == f"{'f' * 40}, but {said}"
