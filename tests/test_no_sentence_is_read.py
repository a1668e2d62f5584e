"""No program reads a sentence that is made for people: what a text says is a field of its own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dpcp_audit
import dpcp_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

SENTENCES = {
    "assumed", "assumptions", "detail", "differing", "form", "hint", "message", "note", "private",
    "reason", "remark", "says", "sentence", "statement", "vacuous", "why",
}  # fmt: skip
"""Fields and variables whose text is made for people."""
READING = {
    "count", "endswith", "find", "index", "isdigit", "match", "partition", "removeprefix",
    "removesuffix", "rfind", "rpartition", "rsplit", "search", "split", "startswith",
}  # fmt: skip
"""Methods that look into a text."""
MODULES = sorted(
    path
    for package in (dpcp_audit, dpcp_ledger)
    for path in Path(str(package.__file__)).parent.rglob("*.py")
)


def is_sentence(node: ast.expr) -> bool:
    """Return True of a variable or field of a sentence, also as a text or with a default."""
    if isinstance(node, ast.Name | ast.Attribute):
        return getattr(node, "id", getattr(node, "attr", "")) in SENTENCES
    if isinstance(node, ast.Subscript):
        return getattr(node.slice, "value", None) in SENTENCES
    if isinstance(node, ast.BoolOp):
        return any(map(is_sentence, node.values))
    if isinstance(node, ast.Call):
        named = getattr(node.func, "attr", getattr(node.func, "id", ""))
        asked = [getattr(each, "value", None) for each in node.args[:1]]
        if named == "get":
            return asked[0] in SENTENCES if asked else False
        return named in {"str", "lower", "strip"} and any(
            is_sentence(each) for each in (*node.args, getattr(node.func, "value", node.func))
        )
    return False


def readings(source: str) -> Iterator[int]:
    """Yield the lines that look into a sentence, or compare one with a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            told = node.args or node.func.attr != "split"  # split() alone takes spaces together
            if node.func.attr in READING and told and is_sentence(node.func.value):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [
                each
                for each in sides
                if (isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value)
                or (isinstance(each, ast.Name) and each.id.isupper())
            ]
            mark = getattr(node.left, "id", "") == "HINT"  # parts an error and its hint
            looked = isinstance(node.ops[0], ast.In | ast.NotIn) and not mark
            within = looked and is_sentence(sides[-1])
            if within or (texts and not mark and any(map(is_sentence, sides))):
                yield node.lineno


def test_no_program_reads_a_sentence() -> None:
    found = {path.name: list(readings(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "line",
    [
        "reason.startswith(PROVES_ONLY)",
        "str((finding.get('unproved') or {}).get('reason')).startswith('it')",
        "detail.startswith('because ')",
        "form['form'] == 'the value None'",
        "'order statistic' in value.says",
        "named in charge.says",
        "str(remark).partition(' on ')",
        "' noise of scale ' in each['private']",
        "measured.reason == _NO_TEST",
    ],
)
def test_a_reading_of_a_sentence_is_found(line: str) -> None:
    assert list(readings(line))


@pytest.mark.parametrize(
    "line", ["' '.join(note.split())", "detail or ''", "if not hint: pass", "hint != ''"]
)
def test_a_sentence_is_printed(line: str) -> None:
    assert not list(readings(line))
