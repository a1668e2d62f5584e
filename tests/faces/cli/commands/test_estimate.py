"""``dpcp-audit estimate``: with a claim and without, reports, exit codes, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpcp_audit.faces.cli.main import main

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
    settings = ("--kind", "quantile", "--n", "10", "--draws", "4000", "--jobs", "1")
    return main(["estimate", "mine.py:mean", *settings, "--paths", "100", *words])


def test_without_a_claim_the_loss_is_estimated(folder, capsys) -> None:
    code = run("--report", "json=a.json", "--report", "html=a.html")
    assert code == 0
    shown = capsys.readouterr().out
    assert "The privacy loss on the pair" in shown
    assert "membership advantage" in shown
    document = json.loads((folder / "a.json").read_text("utf-8"))
    (finding,) = document["findings"]
    evidence = finding["evidence"]
    assert evidence["claimed"] is None
    assert 0.4 < evidence["lower"] < 0.632 < evidence["upper"]
    assert document["false_alarm"] == 0.05
    assert "Nothing is claimed; a loss was estimated" in (folder / "a.html").read_text("utf-8")
    assert main(["replay", finding["id"], "a.json"]) == 0


def test_a_claim_stands_beside_and_is_refuted(folder, capsys) -> None:
    assert run("--pure-dp", "0.5", "--false-alarm", "0.001") == 1
    shown = capsys.readouterr().out
    assert "claimed" in shown
    assert "REFUTED" in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--resume", "a.journal"), "--resume is not for estimates"),
        (("--paths", "-3"), "paths must be"),
    ],
)
def test_mistakes_are_said(folder, capsys, words, says) -> None:
    try:
        code = run(*words)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert says in capsys.readouterr().err
