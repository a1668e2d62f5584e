"""The size of the packages, room by room: code lines, files and public classes.

    python -m benchmarks.size

Code lines are those that hold a token of code: no blanks, comments or docstrings. The page
docs/maintaining/size.md says what they are for; a test holds its numbers to within 5 %.
"""

from __future__ import annotations

import ast
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

_LAYOUT = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
        *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    }
)


class Size(NamedTuple):
    """The code lines, files and public classes of a room."""

    lines: int
    files: int
    classes: int


def sizes(package: Path) -> dict[str, Size]:
    """Return the size of each folder of a package; "." has the files beside them."""
    lines, files, classes = Counter[str](), Counter[str](), Counter[str]()
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).parts
        room = parts[0] if len(parts) > 1 else "."
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        named = (node.name for node in nodes if isinstance(node, ast.ClassDef))
        lines[room] += len(_code_lines(file) - _docstring_lines(nodes))
        files[room] += 1
        classes[room] += sum(not name.startswith("_") for name in named)
    return {room: Size(lines[room], files[room], classes[room]) for room in files}


def _code_lines(file: Path) -> set[int]:
    with tokenize.open(file) as text:
        tokens = list(tokenize.generate_tokens(text.readline))
    spans = (range(t.start[0], t.end[0] + 1) for t in tokens if t.type not in _LAYOUT)
    return {line for span in spans for line in span}


def _docstring_lines(nodes: list[ast.AST]) -> set[int]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in nodes if isinstance(node, owners) and ast.get_docstring(node)]
    return {line for node in first for line in range(node.lineno, (node.end_lineno or 0) + 1)}


if __name__ == "__main__":
    for name in ("dpcp_audit", "dpcp_ledger"):
        found = sizes(Path(name))
        found["all"] = Size(*map(sum, zip(*found.values(), strict=True)))
        print(f"{name:16} lines files classes")
        for room, size in sorted(found.items(), key=lambda each: -each[1].lines):
            print(f"  {room:14} {size.lines:5,} {size.files:5} {size.classes:7}")
