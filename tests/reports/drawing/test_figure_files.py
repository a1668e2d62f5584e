"""A figure in a file of its own: the same bytes for the same figure, no file where none can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpcp_audit.reports.charts import require_figure_file, save_figure
from dpcp_audit.words.errors import IncompleteError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

FIGURE = {
    "kind": "lines",
    "title": "A law",
    "x_label": "coverage",
    "y_label": "P(coverage ≤ x)",
    "series": [{"name": "F", "x": [0.0, 0.5, 1.0], "y": [0.0, 0.5, 1.0], "texts": []}],
    "description": "A line.",
    "marks": {"1−α": 0.9},
    "log_x": False,
    "log_y": False,
    "columns": [],
}


def test_the_same_figure_gives_the_same_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    save_figure(FIGURE, first)
    save_figure(FIGURE, second)
    assert first.read_bytes() == second.read_bytes()
    assert "1−α = 0.9" in first.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_the_suffix_is_the_format(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"law{suffix}"
    save_figure(FIGURE, path)
    assert path.read_bytes().startswith(start)


def test_paths_that_no_figure_can_have_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for path in (tmp_path / "a.gif", tmp_path / "a", tmp_path / "no" / "a.svg"):
        with pytest.raises(UsageError, match="--figure"):
            require_figure_file(path)
    with pytest.raises(UsageError, match="cannot be written to"):
        require_figure_file(tmp_path / "folder.svg")
    require_figure_file(tmp_path / "a.svg")


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(IncompleteError, match="--figure"):
        save_figure(FIGURE, tmp_path / "gone" / "a.svg")
