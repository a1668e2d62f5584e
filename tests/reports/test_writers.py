"""What ``--report`` accepts, and writing the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.report_document import document

from dpcp_audit.errors import IncompleteError, MissingExtraError, UsageError
from dpcp_audit.reports import report_format
from dpcp_audit.reports.document import dump
from dpcp_audit.reports.writers import Writer, parse_reports, write_all

if TYPE_CHECKING:
    from pathlib import Path


def test_writers_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "r=1.json"
    assert parse_reports([f"json={path}", "json=-"]) == (
        Writer(render=dump, path=path),
        Writer(render=dump, path=None),
    )
    assert parse_reports([]) == ()


def test_a_missing_extra_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report_format, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpcp-audit\[report\]'"):
        parse_reports([f"html={tmp_path / 'a.html'}"])


def test_every_report_is_tried_before_a_failure_is_told(tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    gone = tmp_path / "gone"
    gone.mkdir()
    paths = parse_reports([f"json={gone / 'a.json'}", f"json={good}"])
    gone.rmdir()
    with pytest.raises(IncompleteError, match=r"gone/a\.json: No such file"):
        write_all(document(), paths)
    assert good.read_text(encoding="utf-8") == dump(document())


def test_folders_that_are_read_only_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UsageError, match="cannot be written to"):
        parse_reports([f"json={tmp_path / 'a.json'}"])
