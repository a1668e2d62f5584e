"""The training suite as a command: listed without PyTorch, run with it alone."""

from __future__ import annotations

import importlib.util

import pytest

from dpcp_audit.frontends.cli.main import main

ONE = ["--suite", "training", "--only", "dpskin.pipeline?budget?"]


@pytest.fixture
def no_torch(monkeypatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else find(name)
    )


@pytest.mark.usefixtures("no_torch")
def test_the_claims_are_listed_without_pytorch(capsys) -> None:
    assert main(["list", *ONE]) == 0
    assert "dpskin.pipeline[budget]" in capsys.readouterr().out


@pytest.mark.usefixtures("no_torch")
def test_a_run_says_what_to_install(capsys) -> None:
    assert main(["run", *ONE]) == 2
    assert "pip install 'dpcp-audit[dpsgd]'" in capsys.readouterr().err
