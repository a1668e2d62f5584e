"""The page on theorems: its commands run, and it names every theorem."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dpcp_audit.faces.cli.main import main
from dpcp_audit.theorems.catalogue import CATALOGUE

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "test_a_theorem.md"
COMMANDS = re.findall(r"```sh\ndpcp-audit (.*)\n```", PAGE.read_text(encoding="utf-8"))


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """Of the scores that a theorem does not admit it is refuted; of the others with probability
    at most 1e-7 each.
    """
    monkeypatch.chdir(tmp_path)
    admitted = "gaussian-nb" not in command
    run = [] if ".." in command else ["--jobs", "1", "--profile", "smoke", "--false-alarm=1e-7"]
    code = main([*shlex.split(command), *run])
    out = " ".join(capsys.readouterr().out.split())
    assert code == (0 if admitted else 1)
    assert ("outside its hypotheses" in out) is not admitted
    for name in re.findall(r"(?:--figure |=)(\w+\.\w+)", command):
        assert (tmp_path / name).stat().st_size > 0


def test_there_are_commands_and_every_theorem_is_named() -> None:
    assert len(COMMANDS) == 5
    text = PAGE.read_text(encoding="utf-8")
    for named in CATALOGUE:
        assert f"`{named.name.removesuffix('-starred')}`" in text
