"""The notebooks of the examples: as their sources say, and their cells run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
LARGEST = 150_000


def script() -> Any:
    path = ROOT / "docs" / "update_notebooks.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_user_has_a_notebook() -> None:
    assert [path.stem for path in SOURCES] == ["author", "reviewer", "team"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_s_cells_run_and_print_what_it_holds(source: Path) -> None:
    """``python docs/update_notebooks.py`` renews them."""
    pytest.importorskip("pandas")
    written = source.with_suffix(".ipynb")
    stored = json.loads(written.read_text("utf-8"))
    assert written.stat().st_size < LARGEST
    module = script()
    cells = module.cells_of(source.read_text("utf-8"))
    assert [(each["cell_type"], each["source"]) for each in stored["cells"]] == cells
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in stored["cells"]:
        if cell["cell_type"] == "code":
            outputs = module.run_cell(cell["source"], names)
            printed = [each["text"] for each in outputs if each["output_type"] == "stream"]
            held = [each["text"] for each in cell["outputs"] if each["output_type"] == "stream"]
            assert printed == held
            assert len(outputs) == len(cell["outputs"])
