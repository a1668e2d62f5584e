"""Run every command of the tutorial and write its output into the page.

Usage: python docs/update_tutorial.py [--check] [docs/tutorial.md]

With ``--check`` the page is left as it is, and must say what its commands print now: every line but
for its numbers, of a table's rows verdict and claim, and every exit code.

A Python block whose first line is ``# NAME`` is a file. In a ``console`` block, a line after ``$``
is a command, which a backslash continues, and what follows is what it prints to stdout, without the
times of pytest.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

_BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)
_PLUGIN = "dpcp_audit.faces.pytest_plugin.hooks"


def executed(text: str, folder: Path) -> str:
    """Return the page with the outputs that its commands have now.

    Parameters
    ----------
    text : str
        The page.
    folder : Path
        An empty folder, in which the files are written and the commands run.
    """
    _write_programs(folder / ".bin")
    return _BLOCK.sub(lambda block: _executed_block(block[1], block[2], folder), text)


def _executed_block(language: str, content: str, folder: Path) -> str:
    if language == "python":
        name = content.partition("\n")[0].removeprefix("# ")
        (folder / name).write_text(content, encoding="utf-8")
        return f"```python\n{content}```"
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", content, re.MULTILINE)
    shown = "".join(f"$ {command}\n{_output(command, folder)}" for command in commands)
    return f"```console\n{shown}```"


def _output(command: str, folder: Path) -> str:
    root = Path(__file__).parents[1]
    environment = os.environ | {
        "PATH": f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",  # files are rewritten within a second
        "COLUMNS": "100",
    }
    for name in ("CI", "BUILD_NUMBER"):  # where one of them is set, pytest's summary is longer
        environment.pop(name, None)
    done = subprocess.run(  # noqa: S603  (the page's own words)
        ["bash", "-c", command],  # noqa: S607
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    shown = "\n".join(lines) or done.stderr
    return re.sub(r"( passed| failed) in [\d.]+s( \([\d:]+\))?", r"\1", shown).rstrip() + "\n"


def _write_programs(folder: Path) -> None:
    """Put ``dpcp-audit`` and ``pytest`` of this Python into a folder."""
    folder.mkdir()
    installed = any(entry.value == _PLUGIN for entry in metadata.entry_points(group="pytest11"))
    plugin = () if installed else ("-p", _PLUGIN)
    for name, arguments in {
        "dpcp-audit": ("-m", "dpcp_audit"),
        "pytest": ("-m", "pytest", "-p", "no:cacheprovider", *plugin),
    }.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *arguments])} "$@"\n')
        program.chmod(0o755)


def told(page: str) -> list[str]:
    """Return the lines of a page: of a table's rows verdict and claim, and no other numbers."""
    lines = (re.split(r" {2,}", line) for line in page.splitlines() if not line.startswith(" "))
    kept = (" ".join(cells[:2] if len(cells) > 2 else cells) for cells in lines)
    return [re.sub(r"(?<!code )(?<![\w=>.])\d+(\.\d+)?", "N", line) for line in kept]


def main(arguments: list[str]) -> int:
    """Write the outputs into the page, or compare them with it."""
    only_check = arguments[:1] == ["--check"]
    paths = arguments[only_check:]
    page = Path(paths[0]) if paths else Path(__file__).parent / "tutorial.md"
    before = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        text = executed(before, Path(folder))
    if only_check:
        changed = list(difflib.unified_diff(told(before), told(text), "page", "now", lineterm=""))
        print("\n".join(changed), end="\n" if changed else "")
        return 1 if changed else 0
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
