"""``dpcp-audit trace``: exit codes, the table of lines, reports, refusals."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from dpcp_audit.frontends.cli.main import main

CODE = """
def mean(scores, *, rng):
    return (scores.sum() + rng.laplace(scale=0.5)) / len(scores)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Any:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    settings = ("--kind", "quantile", "--n", "10", "--draws", "600", "--jobs", "1")
    return main(["trace", "mine.py:mean", *settings, *words])


def test_a_refutation_names_the_line(folder, capsys) -> None:
    code = run("--pure-dp", "1", "--report", "json=a.json", "--report", "html=a.html")
    assert code == 1
    shown = capsys.readouterr().out
    assert "Which line spends the privacy loss" in shown
    assert "mine.py:3" in shown
    (finding,) = json.loads((folder / "a.json").read_text("utf-8"))["findings"]
    assert finding["verdict"] == "REFUTED"
    assert finding["tables"][0]["columns"][0]["texts"] == ["mine.py:3"]
    assert "mine.py:3" in (folder / "a.html").read_text("utf-8")


def test_a_claim_that_the_noise_pays_for_stands(folder) -> None:
    assert run("--pure-dp", "2.0001", "--scope", "transcript") == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing is claimed"),
        (("--coverage-at-least", "0.9"), "claims no privacy"),
        (("--pure-dp", "1", "--resume", "a.journal"), "--resume is not for traces"),
        (("--pure-dp", "1", "--scope", "all"), "--scope"),
    ],
)
def test_mistakes_are_said(folder, capsys, words, says) -> None:
    with pytest.raises(SystemExit) if "--scope" in words else nullcontext():
        assert run(*words) == 2
    assert says in capsys.readouterr().err
