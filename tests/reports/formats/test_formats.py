"""A report format is an entry of its module's ``FORMATS``, and a line of the table of formats."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpcp_audit.reports import formats
from dpcp_audit.reports.document import format_for, parse_reports, write_all
from dpcp_audit.reports.formats import format_names, menu, report_format
from dpcp_audit.words.errors import UsageError

PLANTED = '''\
"""How many findings there are."""

from dpcp_audit.reports.document import ReportFormat


def render(document):
    return f"{len(document['findings'])} findings"


FORMATS = {
    "count": ReportFormat(suffix=".count", help="the number of findings", render=render),
}
'''


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One more format: its file, in a folder that the package has as well, and its line."""
    (tmp_path / "planted_count.py").write_text(PLANTED, encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    monkeypatch.setitem(formats._MODULES, "count", "planted_count")
    yield tmp_path
    sys.modules.pop("dpcp_audit.reports.formats.planted_count", None)


def test_a_format_is_a_module_and_a_line(planted: Path) -> None:
    document: dict[str, Any] = {"findings": [{}, {}]}
    assert "count=" in menu()
    write_all(document, parse_reports([f"count={planted / 'a.txt'}"]))
    assert (planted / "a.txt").read_text(encoding="utf-8") == "2 findings"
    assert format_for(planted / "b.count").render(document) == "2 findings"


def test_without_the_line_it_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="unknown format 'count'\nhint: use one of cells, csv, html"
    ):
        parse_reports([f"count={tmp_path / 'a.txt'}"])


def test_the_menu_names_the_formats() -> None:
    shipped = {"cells", "csv", "html", "json", "junit", "markdown", "sarif", "tables"}
    assert shipped <= set(format_names())
    assert all(f"{name}=" in menu() for name in format_names())


def test_suffixes_are_told_apart() -> None:
    suffixes = [report_format(name).suffix for name in format_names()]
    assert len(set(suffixes)) == len(suffixes)
    assert format_for(Path("a.tables.md")) is report_format("tables")
    with pytest.raises(
        UsageError, match=r"^path must end in one of \.cells\.csv, \.csv, \.html.*got 'a\.pdf'"
    ):
        format_for(Path("a.pdf"))


def test_a_path_alone_says_its_format(tmp_path: Path) -> None:
    (writer,) = parse_reports([str(tmp_path / "a.sarif")])
    assert writer.render is report_format("sarif").render
    with pytest.raises(UsageError, match=r"^--report must end in one of .*got 'a\.pdf'"):
        parse_reports(["a.pdf"])


def test_the_menu_imports_no_format() -> None:
    code = (
        "import sys; from dpcp_audit.reports.formats import menu; menu(); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("word", "meant"), [("md", "markdown"), ("markdwn", "markdown")])
def test_a_format_that_is_misspelt_is_guessed(word: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"{word}'\nhint: did you mean '{meant}'"):
        parse_reports([f"{word}=x"])
