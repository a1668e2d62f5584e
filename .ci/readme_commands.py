"""Print a command of the README, or run all that it prints, in one shell, one after the other.

Usage: readme_commands.py [MARK] README.md

With a mark, the shell block that follows ``<!-- MARK -->`` is printed. Without one, every ``sh``
block and every code span that begins with ``dpcp-audit`` is run in the page's order, but for the
block of the tests. Each must exit with 0; after ``<!-- exits 1 -->``, with 1; and in a table's row
that says "needs `pip install ...`", which is not followed here, with 2, which is usage.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TESTS = "test-command"
_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^>]*) -->\n)?```(?P<kind>\w*)\n(?P<block>.*?)```", re.DOTALL
)
_PRINTED = re.compile(
    _BLOCK.pattern + r"|`(?P<span>dpcp-audit [^`\n]+)`(?P<rest>[^\n]*)", re.DOTALL
)
_NEEDS = "needs `pip install"


class Command(NamedTuple):
    """What a page prints, and how it says that it ends."""

    words: str
    code: int


def fenced_block(text: str, mark: str) -> str:
    """Return the first fenced block after the comment, without its fences."""
    for found in _BLOCK.finditer(text):
        if found["mark"] == mark:
            return found["block"].strip()
    raise ValueError(f"no fenced block stands after <!-- {mark} -->")


def printed(text: str) -> list[Command]:
    """Return the commands that a page prints, but for that of the tests, in its order."""
    commands = []
    for found in _PRINTED.finditer(text):
        if found["span"]:
            commands.append(Command(found["span"], 2 if _NEEDS in found["rest"] else 0))
        elif found["kind"] == "sh" and found["mark"] != TESTS:
            mark = re.fullmatch(r"exits (\d+)", found["mark"] or "")
            commands.append(Command(found["block"].strip(), int(mark[1]) if mark else 0))
    return commands


def run(commands: list[Command]) -> list[str]:
    """Run the commands in one shell, as a reader types them; return what ended otherwise."""
    with tempfile.NamedTemporaryFile("r") as codes:
        lines = (f"{each.words}\necho $? >> {codes.name}" for each in commands)
        script = "\n".join(f"echo '$ command {i}' >&2\n{line}" for i, line in enumerate(lines, 1))
        subprocess.run(  # noqa: S603  (the page's own words)
            ["bash", "-c", script],  # noqa: S607
            stdout=subprocess.DEVNULL,
            check=False,
        )
        ended = [int(line) for line in codes.read().split()]
    if len(ended) != len(commands):
        return [f"the shell ended after {len(ended)} of {len(commands)} commands"]
    return [
        f"exit code {code}, not {each.code}: {each.words}"
        for each, code in zip(commands, ended, strict=True)
        if code != each.code
    ]


def main(arguments: list[str]) -> int:
    """Print the marked command, or run all."""
    *mark, path = arguments
    text = Path(path).read_text(encoding="utf-8")
    if mark:
        sys.stdout.write(fenced_block(text, mark[0]) + "\n")
        return 0
    commands = printed(text)
    for number, each in enumerate(commands, 1):
        sys.stdout.write(f"{number} (exit code {each.code}): {each.words}\n")
    sys.stdout.flush()
    wrong = run(commands)
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
