"""What holds for every command line: one line on what was wrong, and no exit code of a verdict."""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.faces.cli import main as command_line
from dpcp_audit.faces.cli.main import main, parser_of_commands
from dpcp_audit.reports.document import dump, to_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


HOSTILE = ("", "x", "-1", "1e400", "9" * 400, "nan", "\x1b[2J\u202e", "=", "[[", "a b", "../x")
WORDS: dict[str, tuple[str, ...]] = {
    "--suite": ("papers",),
    "--pool": ("pool.npz", "results.json"),
    "--only": ("ldpcp.krr", "zoo.wrong-k*"),
    "--profile": ("smoke",),
    "--seed": ("0", "7"),
    "--false-alarm": ("0.001", "0.5"),
    "--jobs": ("1", "2"),
    "--engine": ("local",),
    "--budget": ("5s", "1m"),
    "--memory": ("2GiB",),
    "--journal": ("j.ndjson", "results.json"),
    "--resume": ("j.ndjson", "results.json"),
    "--log": ("log",),
    "--report": ("json=-", "json=r.json", "csv=r.csv", "markdown=r.md", "junit=r.xml", "sarif=r"),
    "--command": ("false", "cat"),
    "--bounds": ("0", "1"),
    "--domain": ("2", "4"),
    "--option": ("a=1", "scores=2"),
    "--call-seconds": ("1",),
    "--approx-dp": ("1", "0.1"),
    "--renyi-dp": ("2", "1"),
    "--name": ("mine",),
    "--n": ("5", "5,9"),
    "--draws": ("600",),
    "--detect": ("2",),
    "--config": ("checks.toml", "results.json"),
    "--recipe": ("nope",),
    "--data": ("nowhere",),
}
"""Words with which an option is of use, or nearly; those of numbers not named here are these."""
NUMBERS = ("1", "0.5", "0.9")
PLACES: dict[str, tuple[str, ...]] = {
    "option.target": ("mine.py:mean", "mine.py:raises", "mine.py:gone", "gone.py:mean"),
    "name": ("split-conformal", "ldpcp-4"),
    "words": ("--n=9",),
    "results": ("results.json", "mine.py"),
    "old": ("results.json",),
    "new": ("results.json", "pool.npz"),
    "finding_id": ("ldpcp.krr", "nope"),
    "experiments": ("nope", "list"),
    "shell": ("bash", "fish"),
    "file": ("claims.py", "mine.py"),
}
ALWAYS: dict[str, tuple[str, ...]] = {
    "run": ("--profile=smoke", "--only=ldpcp.krr", "--jobs=1"),
    "check": ("--jobs=1",),
    "theorem": ("--profile=smoke", "--jobs=1"),
    "selftest": ("--profile=smoke", "--only=zoo.wrong-k*", "--jobs=1"),
    "compare-calibrators": ("--alpha=2",),
}
"""What keeps a command cheap; the last one takes minutes, so that it is always refused."""


def command_lines(count: int, *, rng: np.random.Generator, hostile: float) -> Iterator[list[str]]:
    """Yield command lines of up to five options.

    Parameters
    ----------
    hostile : float
        The probability that a word is a hostile one.
    """
    actions = parser_of_commands()._actions
    (commands,) = (each for each in actions if isinstance(each, argparse._SubParsersAction))
    names = list(commands.choices)
    for _ in range(count):
        name = names[rng.integers(len(names))]
        yield [name, *_drawn(commands.choices[name]._actions, rng, hostile), *ALWAYS.get(name, ())]


def _drawn(
    actions: Sequence[argparse.Action], rng: np.random.Generator, hostile: float
) -> list[str]:
    places = [each for each in actions if not each.option_strings]
    options = [each for each in actions if each.option_strings]
    words = [_word(each.dest, PLACES, each, rng, hostile) for each in places]
    for index in rng.permutation(len(options))[: rng.integers(6)]:
        option = options[index]
        count = 1 if option.nargs is None else option.nargs if isinstance(option.nargs, int) else 0
        name = option.option_strings[-1]
        words += [name, *(_word(name, WORDS, option, rng, hostile) for _ in range(count))]
    return words


def _word(
    name: str,
    known: dict[str, tuple[str, ...]],
    action: argparse.Action,
    rng: np.random.Generator,
    hostile: float,
) -> str:
    good = known.get(name) or tuple(map(str, action.choices or NUMBERS))
    menu = HOSTILE if rng.random() < hostile else good
    return menu[rng.integers(len(menu))]


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
