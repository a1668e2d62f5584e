"""What holds for every command line: one line on what was wrong, and no exit code of a verdict."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpcp_audit.frontends.cli import main as command_line
from dpcp_audit.frontends.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

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
WORDS = ("", "x", "-1", "1e400", "9" * 400, "nan", "\x1b[2J\u202e", "=", "[[")
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
            for word in WORDS if count else ("",):
                words = [word] * count
                yield [name, *NOTHING.get(name, ["nope"]), option.option_strings[-1], *words]


def test_no_command_line_ends_with_a_traceback_or_a_false_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tried = 0
    for line in lines():
        try:
            code = main(line)
        except SystemExit as end:
            code = 0 if end.code is None else int(end.code)
        said = capsys.readouterr().err
        assert code in {2, 3}, (line, code, said)
        assert "unexpected" not in said, (line, said)
        assert "Traceback" not in said, (line, said)
        assert said.strip(), line
        tried += 1
    assert tried >= 700
