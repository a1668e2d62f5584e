"""Command lines drawn at random from the parser itself: good words, hostile ones and mixtures."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dpcp_audit.faces.cli.main import parser_of_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

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
