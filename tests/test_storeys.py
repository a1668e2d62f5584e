"""Imports run downward only, from the front ends to the statistics; tests mirror the package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dpcp_audit

PACKAGE = Path(dpcp_audit.__file__).parent
STOREYS = (
    "stats",
    "data",
    "mechanisms",
    "targets",
    "audits",
    "theorems",
    "target_checks",
    "papers",
    "zoo",
    "libraries",
    "engine",
    "reports",
    "frontends",
)
BESIDE = {"docs", "support"}


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
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "__main__.py"]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_downward(path) -> None:
    package = ".".join(["dpcp_audit", *path.relative_to(PACKAGE).parts[:-1]])
    assert upward(path.read_text(encoding="utf-8"), package) == set()


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


def test_tests_mirror_the_package() -> None:
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    strays = {f for f in folders if not (PACKAGE / f).is_dir() and f.parts[0] not in BESIDE}
    assert strays == set()
