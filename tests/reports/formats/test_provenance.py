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
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.sarif import render_sarif
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
    "repository": "https://example.org/team/code",
}


def run_of(folder: Path) -> RunSettings:
    (folder / "mine.py").write_text(CODE)
    check = {"target": "mine.py:f", "kind": "quantile", "pure-dp": 1.0}
    return RunSettings(suite="targets", seed=0, targets=(CheckSpec.from_data(check),))


def test_code_is_named_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = provenance(run_of(tmp_path))
    assert found.code["mine.py"] == sha256(CODE.encode()).hexdigest()[:12]
    assert (found.revision, found.changed, found.repository) == ("", False, "")


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


def test_reports_say_it() -> None:
    pytest.importorskip("jinja2")
    whole: Any = document(finding("a", "REFUTED", "CONSISTENT")) | {"provenance": ORIGIN}
    (run,) = json.loads(render_sarif(whole))["runs"]
    (place,) = run["versionControlProvenance"]
    assert (place["repositoryUri"], place["revisionId"]) == (ORIGIN["repository"], "f" * 40)
    assert run["invocations"][0]["commandLine"] == ORIGIN["command"]
    page = render_html(whole)
    for word in ("2026-01-02T03:04:05Z", "a b.py:f", f"{'f' * 40}, with changes", "0123456789ab"):
        assert word in page


def test_results_of_earlier_versions_have_none() -> None:
    whole: Any = document(finding("a", "REFUTED", "CONSISTENT"))
    assert "provenance" not in whole
    assert "versionControlProvenance" not in render_sarif(whole)
