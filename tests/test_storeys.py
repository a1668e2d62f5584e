"""Imports run downward only, from the faces to the words; tests mirror the package."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dpcp_audit

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(dpcp_audit.__file__).parent
STOREYS = (
    "words",
    "stats",
    "laws",
    "mechanisms",
    "targets",
    "tracing",
    "proving",
    "audits",
    "theorems",
    "target_checks",
    "engine",
    "reports",
    "faces",
)
BESIDE = {"benchmarks", "docs", "ledger", "support"}


@cache
def imported_modules(source: str, package: str) -> frozenset[str]:
    """Return the full names of all that a module of ``package`` imports, at any depth."""
    names = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(names)


def upward(source: str, package: str) -> set[str]:
    """Return the storeys above its own that a module of ``package`` imports."""
    parts = package.split(".")
    floor = STOREYS.index(parts[1]) if len(parts) > 1 else -1
    reached = {
        name.split(".")[1]
        for name in imported_modules(source, package)
        if name.startswith("dpcp_audit.")
    }
    return {storey for storey in STOREYS[floor + 1 :] if storey in reached}


def modules() -> list[Path]:
    """Return all but those on top: the command, the package's lazy names, the strategies."""
    on_top = {PACKAGE / name for name in ("__init__.py", "__main__.py", "strategies.py")}
    on_top |= set((PACKAGE / "extensions").iterdir())
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path not in on_top]


def package_of(path: Path) -> str:
    """Return the full name of the package that a module is of."""
    return ".".join(["dpcp_audit", *path.relative_to(PACKAGE).parts[:-1]])


def test_imports_run_downward() -> None:
    found = {path: upward(path.read_text(encoding="utf-8"), package_of(path)) for path in modules()}
    assert {path: above for path, above in found.items() if above} == {}


def imports_of(path: Path) -> set[Path]:
    """Return the modules of the package that a module imports, for type checkers too."""
    names = imported_modules(path.read_text(encoding="utf-8"), package_of(path))
    parts = [name.split(".")[1:] for name in names if name.startswith("dpcp_audit.")]
    found = {PACKAGE.joinpath(*each).with_suffix(".py") for each in parts if each}
    return {each for each in found if each.is_file()} - {path}


def in_circles(graph: Mapping[Path, set[Path]]) -> set[Path]:
    """Return the nodes from which a way leads back to themselves."""

    def reached(start: Path) -> set[Path]:
        seen: set[Path] = set()
        waiting = list(graph[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += graph.get(node, ())
        return seen

    return {node for node in graph if node in reached(node)}


def test_no_imports_go_in_a_circle() -> None:
    for room in STOREYS:
        paths = [path for path in modules() if path.is_relative_to(PACKAGE / room)]
        graph = {path: imports_of(path) for path in paths}
        assert len(graph) > 3
        assert {str(path.relative_to(PACKAGE)) for path in in_circles(graph)} == set()


def test_a_circle_is_seen() -> None:
    a, b, c = (Path(name) for name in "abc")
    assert in_circles({a: {b}, b: {a}, c: {a}}) == {a, b}


def test_every_module_stands_in_a_storey_or_beside_them() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in modules()}
    assert {name for name in folders if not name.endswith(".py")} == set(STOREYS)
    assert folders - set(STOREYS) == set()


@pytest.mark.parametrize(
    "line",
    [
        "import dpcp_audit.theorems.pcoqs_coverage",
        "from dpcp_audit.engine import runner",
        "from dpcp_audit import reports",
        "from ..theorems import pcoqs_coverage",
        "from .. import theorems",
        "def f():\n    from dpcp_audit.theorems.pcoqs_coverage import X",
        "if TYPE_CHECKING:\n    from dpcp_audit.engine.runner import X",
    ],
)
def test_an_upward_import_is_seen(line) -> None:
    assert upward(line, "dpcp_audit.audits")


def stray(test: Path) -> bool:
    """Return True if a test, named from the folder of tests, stands where its module does not.

    Tests of a room stand in a folder of the room's name; those of the ledger in ``ledger``.
    """
    return len(test.parts) > 1 and test.parts[0] not in {*STOREYS, *BESIDE}


def test_tests_mirror_the_package() -> None:
    tests = Path(__file__).parent
    names = [path.relative_to(tests) for path in sorted(tests.rglob("test_*.py"))]
    assert [str(name) for name in names if stray(name)] == []


def test_the_ledger_imports_public_names_alone() -> None:
    """It is built on what any other package can import: ``dpcp_audit`` and its extensions."""
    inside = {
        str(path): sorted(names)
        for path in sorted((PACKAGE.parent / "dpcp_ledger").rglob("*.py"))
        if (names := internal(path.read_text(encoding="utf-8")))
    }
    assert inside == {}


def test_examples_and_pages_import_public_names_alone() -> None:
    root = PACKAGE.parent
    pages = [path for path in root.glob("docs/**/*.md") if "maintaining" not in path.parts]
    inside = {
        str(path): found
        for path in [*pages, *root.glob("examples/**/*.py"), root / "README.md"]
        if (found := internal("\n".join(import_lines(path.read_text(encoding="utf-8")))))
    }
    assert inside == {}


def import_lines(text: str) -> list[str]:
    """Return the lines that import something from a module, in a page or a program."""
    found = re.findall(r"^\s*(?:>>> |\.\.\. )?(from [\w.]+ import )", text, re.MULTILINE)
    return [f"{line}x" for line in found]


def internal(source: str) -> set[str]:
    """Return the modules that a source imports of ``dpcp_audit`` and that are not public."""
    bases = {
        node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    public = ("dpcp_audit.extensions", "dpcp_audit.strategies")
    return {
        base for base in bases if base.startswith("dpcp_audit.") and not base.startswith(public)
    }


def test_nothing_here_knows_the_ledger() -> None:
    """The ledger is built on this package as a third party would: by its entry points."""
    known = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if any(
            name.split(".")[0] == "dpcp_ledger"
            for name in imported_modules(path.read_text(encoding="utf-8"), package_of(path))
        )
    ]
    assert known == []
