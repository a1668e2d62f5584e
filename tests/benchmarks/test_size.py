"""``docs/maintaining/size.md``: its numbers are those of the code, to within 5 %."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.size import Size, sizes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "maintaining" / "size.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) \| (\d+) \| (\d+) \|", re.MULTILINE)


def test_code_lines_are_counted_without_prose(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "top.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "room" / "a.py").write_text(
        '"""A module.\n\nWith prose."""\n\n# a comment\nclass A:\n    """Of prose."""\n\n'
        '    x = """two\nlines"""\n\n\nclass _B:\n    def f(self):\n        "Prose."\n'
        "        return 1  # one\n",
        encoding="utf-8",
    )
    assert sizes(tmp_path) == {".": Size(1, 1, 0), "room": Size(6, 1, 1)}


@pytest.mark.parametrize("package", ["dpcp_audit", "dpcp_ledger"])
def test_the_page_has_the_numbers_of_the_code(package: str) -> None:
    start = PAGE.index(f"`python -m benchmarks.size`, {package}")
    printed = {
        room: Size(int(lines.replace(",", "")), int(files), int(classes))
        for room, lines, files, classes in ROW.findall(PAGE[start:].partition("\n## ")[0])
    }
    found = {room: size for room, size in sizes(ROOT / package).items() if room != "."}
    assert printed.keys() == found.keys()
    for room, size in found.items():
        assert size == pytest.approx(printed[room], rel=0.05, abs=2), room
