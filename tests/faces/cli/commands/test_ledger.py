"""The command ``ledger``: from results files, or from runs of its own, to one page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpcp_audit.engine import suites
from dpcp_audit.faces.cli import run_commands
from dpcp_audit.faces.cli.main import main


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("results") / "related.json"
    only = ["run", "--suite", "related", "--only", "zhu.feedback", "--jobs", "1", "-q"]
    assert main([*only, "--report", f"json={path}"]) == 0
    return path.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, results) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("related.json").write_text(results, encoding="utf-8")
    return tmp_path


def test_the_page_comes_from_results_files(capsys) -> None:
    assert main(["ledger", "related.json"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# The ledger of claims\n")
    assert "| `zhu.feedback`<br>" in text
    assert "- `wild`: " in text
    assert "- `related`: " not in text
    assert "- `targets`: " not in text  # its claims are given


def test_a_folder_stands_for_its_files_and_the_page_has_two_forms() -> None:
    assert main(["ledger", ".", "--report", "a.html", "--report", "markdown=a.md"]) == 0
    assert Path("a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path("a.md").read_text(encoding="utf-8").startswith("# The ledger")


def test_a_verdict_that_contradicts_its_expectation_is_the_exit_code(results) -> None:
    changed = json.loads(results)
    changed["summary"]["contradictions"] = 1
    Path("related.json").write_text(json.dumps(changed), encoding="utf-8")
    assert main(["ledger", "related.json", "--report", "markdown=a.md"]) == 1


def test_a_suite_without_results_is_run_and_its_results_are_kept(monkeypatch, results) -> None:
    ran = []

    def run(options) -> int:
        ran.append((options.suite, options.report))
        changed = json.loads(results) | {"suite": options.suite}
        Path(options.report[0].partition("=")[2]).write_text(json.dumps(changed), encoding="utf-8")
        return 0

    monkeypatch.setattr(suites, "names", lambda: ["related", "wild"])
    monkeypatch.setattr(run_commands, "execute_run", run)
    words = ["ledger", "related.json", "--run", "kept", "--report", "markdown=a.md"]
    assert main(words) == main(words) == 0
    assert ran == [("wild", ["json=kept/wild.json"])]


def test_a_file_that_is_no_results_file_is_refused(capsys) -> None:
    Path("other.json").write_text("{}", encoding="utf-8")
    assert main(["ledger", "other.json"]) == 2
    assert "not a dpcp-audit results file" in capsys.readouterr().err


def test_a_file_in_place_of_a_folder_of_runs_is_refused(capsys) -> None:
    assert main(["ledger", "--run", "related.json"]) == 2
    assert "--run: related.json is no folder\nhint: " in capsys.readouterr().err


def test_without_any_results_there_is_no_page(capsys) -> None:
    Path("empty").mkdir()
    for words in ([], ["empty"]):
        assert main(["ledger", *words]) == 2
        out, err = capsys.readouterr()
        assert not out
        assert "RESULTS must be results files" in err
        assert "\nhint: " in err
