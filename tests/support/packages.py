"""Packages that register suites, as an installation would leave them, without a network."""

from __future__ import annotations

import importlib
import shutil
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.engine import run_settings as environment
from dpcp_audit.engine import suites
from dpcp_audit.target_checks import recipes
from dpcp_ledger.comparison import calibrator_study

if TYPE_CHECKING:
    import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "third_party_suite"
CALIBRATOR = EXAMPLE.with_name("third_party_calibrator")
RECIPE = EXAMPLE.with_name("third_party_recipe")


def clear() -> None:
    """Forget what was found before."""
    for cached in (
        suites.find,
        suites._default_rows,
        environment.environment,
        calibrator_study._methods,
    ):
        cached.cache_clear()
    importlib.invalidate_caches()


def register(
    folder: Path,
    package: str,
    version: str = "1.0.0",
    group: str = suites.GROUP,
    **registered: str,
) -> None:
    """Write the metadata of a package that registers suites, or recipes, as pip does."""
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", encoding="utf-8"
    )
    lines = [f"{name} = {place}" for name, place in registered.items()]
    text = "\n".join([f"[{group}]", *lines, ""])
    (info / "entry_points.txt").write_text(text, encoding="utf-8")


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put what is installed in a folder on the path, until the test ends."""
    monkeypatch.syspath_prepend(str(folder))
    clear()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the code may change within a second


def install_example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the example package in a folder, from its pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copy(EXAMPLE / "geometric_response.py", folder)
    register(
        folder,
        project["name"],
        project["version"],
        **project["entry-points"][suites.GROUP],
    )
    use(folder, monkeypatch)


def install_recipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the example package with a recipe in a folder, from its pyproject.toml."""
    project = tomllib.loads((RECIPE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(RECIPE / "laplace_counts", folder / "laplace_counts")
    registered = project["entry-points"][recipes.GROUP]
    register(folder, project["name"], project["version"], recipes.GROUP, **registered)
    use(folder, monkeypatch)


def install_calibrator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the example package with a calibrator in a folder, from its pyproject.toml."""
    project = tomllib.loads((CALIBRATOR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copy(CALIBRATOR / "noisy_counts.py", folder)
    registered = project["entry-points"][calibrator_study.GROUP]
    register(folder, project["name"], project["version"], calibrator_study.GROUP, **registered)
    use(folder, monkeypatch)
