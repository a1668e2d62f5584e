"""Recipes of other packages, by entry points: found, run, told apart, and refused in one line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support import packages

from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks import recipes
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "laplace-counts"
FEW = ["--draws", "2000"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with the example package installed in it."""
    packages.install_recipe(tmp_path, monkeypatch)
    yield tmp_path
    sys.modules.pop("laplace_counts", None)


def test_it_is_known_behind_those_of_this_package_while_it_is_installed(folder: Path) -> None:
    assert recipes.names()[-1] == NAME
    found = recipes.load(NAME)
    assert found.obstacle() == ""
    assert [spec.target.target for spec in found.config.checks] == ["laplace_counts:histogram"]


def test_it_is_unknown_without() -> None:
    assert NAME not in recipes.names()


def test_it_runs_by_its_name(folder: Path) -> None:
    assert main(["check", "--recipe", NAME, *FEW]) == 0


@pytest.mark.known_bad
def test_a_quarter_of_its_noise_is_refuted(folder: Path) -> None:
    code = folder / "laplace_counts" / "__init__.py"
    code.write_text(code.read_text().replace("scale=2 / epsilon", "scale=0.5 / epsilon"))
    assert main(["check", "--recipe", NAME, "--draws", "20000"]) == 1


def test_a_name_of_this_package_is_nobody_else_s(folder: Path) -> None:
    packages.register(folder, "taker", group=recipes.GROUP, reference="laplace_counts")
    packages.clear()
    assert recipes.names().count("reference") == 1
    assert recipes.load("reference").summary.startswith("the mechanisms of this package")


def test_a_name_that_two_packages_register_is_refused(folder: Path) -> None:
    packages.register(folder, "taker", group=recipes.GROUP, **{NAME: "laplace_counts"})
    packages.clear()
    with pytest.raises(
        UsageError, match="registered by laplace-counts and taker\nhint: uninstall one"
    ):
        recipes.load(NAME)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere", "nowhere must be a package with a file absent.toml .ModuleNotFoundError"),
        ("laplace_counts", "laplace_counts must be a package with a file absent.toml .FileNotF"),
    ],
)
def test_a_recipe_that_is_not_where_it_should_be_is_told_in_one_line(
    folder: Path, place: str, words: str
) -> None:
    packages.register(folder, "forgetful", group=recipes.GROUP, absent=place)
    packages.clear()
    with pytest.raises(UsageError, match=words):
        recipes.load("absent")
