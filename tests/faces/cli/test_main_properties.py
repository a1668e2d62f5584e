"""What holds for every command line: one line on what was wrong, and no exit code of a verdict."""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.random_commands import HOSTILE, command_lines

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.faces.cli import main as command_line
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.document import dump, to_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTHING: dict[str, list[str]] = {
    "run": ["--only", "nope"],
    "check": ["nope.py:f", "--kind", "quantile", "--pure-dp", "1", "--alpha", "2"],
    "list": ["--only", "nope"],
    "report": ["none.json", "--report", "json=-"],
    "replay": ["nope", "none.json"],
    "schema": ["nope"],
    "compare": ["none.json", "none.json"],
    "compare-calibrators": ["--alpha", "2"],
    "reproduce": ["nope"],
    "selftest": ["--only", "nope"],
    "theorem": ["nope"],
}
"""Arguments with which a command is refused whatever else is given, before it runs anything."""
MINE = """
def mean(scores, *, rng):
    return scores.mean() + rng.laplace() / len(scores)


def raises(scores, *, rng):
    raise ValueError("planted")
"""
CHECKS = """
[[check]]
target = "mine.py:mean"
kind = "quantile"
pure-dp = 1
draws = 600
"""
SHOWING = {"--help", "-h", "--version", "--suites", "--list"}


def lines() -> Iterator[list[str]]:
    """Yield a command line for each option of each command and each word."""
    parser = command_line.parser_of_commands()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        for option in command._actions:
            if not option.option_strings or SHOWING & set(option.option_strings):
                continue
            count = option.nargs if isinstance(option.nargs, int) else 1
            for word in HOSTILE if count else ("",):
                words = [word] * count
                yield [name, *NOTHING.get(name, ["nope"]), option.option_strings[-1], *words]


def ended(line: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command line; return its exit code, its stdout and its stderr."""
    try:
        code = main(line)
    except SystemExit as end:
        code = 0 if end.code is None else int(end.code)
    out, err = capsys.readouterr()
    assert "unexpected" not in err, (line, err)
    assert "Traceback" not in err, (line, err)
    return code, out, err


def test_no_command_line_ends_with_a_traceback_or_a_false_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    parsers = cache(command_line.parser_of_commands)  # one a command, not one a line
    monkeypatch.setattr(command_line, "parser_of_commands", parsers)
    tried = 0
    for line in lines():
        code, _, said = ended(line, capsys)
        assert code in {2, 3}, (line, code, said)
        assert said.strip(), line
        tried += 1
    assert tried >= 700


@pytest.mark.parametrize(
    ("seed", "count", "hostile"),
    [(0, 40, 0.9), *(pytest.param(each, 70, 0.3, marks=pytest.mark.study) for each in range(10))],
)
def test_random_command_lines_end_with_their_exit_code(
    *,
    seed: int,
    count: int,
    hostile: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Some of them run audits; 1 is the exit code of a refutation alone.

    The study has 700: python -m pytest -m study tests/faces/cli/test_main_properties.py
    """
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    for line in command_lines(count, rng=np.random.default_rng(seed), hostile=hostile):
        code, out, err = ended(line, capsys)
        assert code in {0, 1, 2, 3}, (line, code)
        if code == 1:
            assert "refuted" in (out + err).lower(), (line, out, err)
        if code > 1:
            assert err.strip(), line


def prepare(folder: Path) -> None:
    """Write the files that the words name: a target, a pool, checks and results."""
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    (folder / "checks.toml").write_text(CHECKS, encoding="utf-8")
    np.savez(folder / "pool.npz", probabilities=[[0.2, 0.8], [0.7, 0.3]], labels=[1, 0])
    settings = RunSettings(profile=Profile.SMOKE)
    found = [check("ldpcp.krr", settings)]
    document = to_document(settings, found, seconds=1.0, complete=True)
    (folder / "results.json").write_text(dump(document), encoding="utf-8")
