"""The glossary: at most 40 nouns, which are those of the code."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import dpcp_audit
from dpcp_audit.words.guarantees import PrivacyGuarantee
from tests.docs.test_docs import DOCS, script

NOUNS = re.findall(
    r"^- \*\*(.+?)\.\*\*", (DOCS / "glossary.md").read_text("utf-8"), flags=re.MULTILINE
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _words(name: str) -> set[str]:
    """Return the words of a name, such as ``false_alarm`` or ``ClaimResult``, in the singular."""
    return {part.lower().rstrip("s") for part in _PARTS.findall(name)}


def _words_of_the_code() -> set[str]:
    """Return the words of all names, and of the headings that documented checks have."""
    found = set().union(*map(_words, script("_ext/checks.py").HEADINGS))
    for path in Path(dpcp_audit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found |= _words(node.name)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {w for t in targets if isinstance(t, ast.Name) for w in _words(t.id)}
    return found


def test_it_has_at_most_forty_nouns_each_once() -> None:
    assert 20 <= len(NOUNS) == len(set(NOUNS)) <= 40


def test_every_noun_names_something_in_the_code() -> None:
    code = _words_of_the_code()
    unknown = {noun for noun in NOUNS if not _words(noun) <= code}
    assert unknown == set()


def test_every_public_class_is_made_of_its_nouns() -> None:
    """Guarantees are one noun; ``DPAudit`` is the audit of differential privacy."""
    nouns = set().union(*map(_words, NOUNS)) | {"dp"}
    public = (getattr(dpcp_audit, name) for name in dpcp_audit.__all__)
    classes = [
        each for each in public if inspect.isclass(each) and not issubclass(each, PrivacyGuarantee)
    ]
    assert len(classes) >= 10
    missing = {each.__name__ for each in classes if not _words(each.__name__) <= nouns}
    assert missing == set()
