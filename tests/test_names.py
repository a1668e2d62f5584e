"""One name, one thing: no class and no module of the package bears the name of another."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from test_storeys import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CLASS = re.compile(r"^ *class ([A-Za-z]\w*).*:$", re.MULTILINE)


def twice(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that stand for several things, with the places of these."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: where for name, where in places.items() if len(where) > 1}


def modules(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules of a package but for ``__init__``, with their paths."""
    for path in sorted(folder.rglob("*.py")):
        if path.name != "__init__.py" and path.parent.name != "extensions":  # named as the rooms
            yield path.name, str(path.relative_to(folder))


def classes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the classes of a package that are not private to their module, with their paths."""
    for path in sorted(folder.rglob("*.py")):
        for name in re.findall(
            r"^ *class ([A-Za-z]\w*).*:$", path.read_text("utf-8"), re.MULTILINE
        ):
            yield name, str(path.relative_to(folder))


def constants(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the constants of each module, as often as it sets them, with their lines."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            )
            for name in (each for target in targets for each in ast.walk(target)):
                if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(name, ast.Name):
                    yield f"{path.relative_to(folder)}: {name.id}", str(node.lineno)


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE.with_name("dpcp_ledger")])
def test_no_module_sets_a_constant_twice(folder: Path) -> None:
    assert twice(constants(folder)) == {}


def test_no_module_has_the_name_of_another() -> None:
    assert twice(modules(PACKAGE)) == {}


def test_no_class_has_the_name_of_another() -> None:
    assert twice(classes(PACKAGE)) == {}


def test_a_second_thing_of_a_name_is_seen(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
        (tmp_path / folder / "same.py").write_text(
            "class Same:\n    ...\nclass _Own:\n    ...\nA = B = 1\nA: int = 2\n", "utf-8"
        )
    places = ["a/same.py", "b/same.py"]
    assert twice(modules(tmp_path)) == {"same.py": places}
    assert twice(classes(tmp_path)) == {"Same": places}
    assert twice(constants(tmp_path)) == {f"{place}: A": ["5", "6"] for place in places}
