"""Imports run downward only, from the front ends to the statistics; tests mirror the package."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dpcp_audit

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(dpcp_audit.__file__).parent
STOREYS = (
    "stats",
    "data",
    "mechanisms",
    "targets",
    "tracing",
    "audits",
    "theorems",
    "target_checks",
    "libraries",
    "papers",
    "zoo",
    "engine",
    "reports",
    "frontends",
)
BESIDE = {"benchmarks", "docs", "support"}
OF_THE_WHOLE = {
    "test_false_alarm_budget.py",
    "test_fast_tier.py",
    "test_import_cost.py",
    "test_names.py",
    "test_refusals.py",
    "test_storeys.py",
}


def imported_modules(source: str, package: str) -> set[str]:
    """Return the full names of all that a module of ``package`` imports, at any depth."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return names


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
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path not in on_top]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_downward(path) -> None:
    package = ".".join(["dpcp_audit", *path.relative_to(PACKAGE).parts[:-1]])
    assert upward(path.read_text(encoding="utf-8"), package) == set()


def imports_of(path: Path) -> set[Path]:
    """Return the modules of the package that a module imports, for type checkers too."""
    package = ".".join(["dpcp_audit", *path.relative_to(PACKAGE).parts[:-1]])
    names = imported_modules(path.read_text(encoding="utf-8"), package)
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


@pytest.mark.parametrize("room", STOREYS)
def test_no_imports_go_in_a_circle(room) -> None:
    graph = {path: imports_of(path) for path in modules() if path.is_relative_to(PACKAGE / room)}
    assert len(graph) > 3
    assert {str(path.relative_to(PACKAGE)) for path in in_circles(graph)} == set()


def test_a_circle_is_seen() -> None:
    a, b, c = (Path(name) for name in "abc")
    assert in_circles({a: {b}, b: {a}, c: {a}}) == {a, b}


def test_every_module_stands_in_a_storey_or_beside_them() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in modules()}
    assert {name for name in folders if not name.endswith(".py")} == set(STOREYS)
    assert {"_types.py", "_validate.py"} <= folders


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


@pytest.mark.parametrize(
    "line", ["from dpcp_audit.mechanisms import laws", "from . import check", "import reports"]
)
def test_a_downward_import_is_allowed(line) -> None:
    assert not upward(line, "dpcp_audit.audits")


def stray(test: Path) -> bool:
    """Tell whether a test, named from the folder of tests, stands where its module does not.

    It is named after a module of the folder that it mirrors, after a folder in it or after that
    folder itself; what comes behind says what is tested of it.
    """
    folder = PACKAGE / test.parent
    if test.parts[0] in BESIDE or test.name in OF_THE_WHOLE:
        return False
    if not folder.is_dir():
        return True
    homes = {folder.name, *(path.stem.lstrip("_") for path in folder.iterdir())}
    return not any(f"{test.stem}_".startswith(f"test_{home}_") for home in homes - {""})


def test_tests_mirror_the_package() -> None:
    tests = Path(__file__).parent
    names = [path.relative_to(tests) for path in sorted(tests.rglob("test_*.py"))]
    assert [str(name) for name in names if stray(name)] == []


@pytest.mark.parametrize(
    ("test", "is_stray"),
    [
        ("stats/test_intervals.py", False),
        ("stats/test_intervals_properties.py", False),
        ("mechanisms/ldpcp/test_ldpcp_bugs.py", False),
        ("test_validate.py", False),
        ("audits/test_intervals.py", True),
        ("stats/test_interval.py", True),
        ("unit/test_intervals.py", True),
    ],
)
def test_a_stray_test_is_seen(test, is_stray) -> None:
    assert stray(Path(test)) is is_stray
