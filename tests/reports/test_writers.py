"""What ``--report`` accepts, and writing the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.report_document import document

from dpcp_audit.reports.document import Writer, dump, parse_reports, write_all
from dpcp_audit.words.errors import IncompleteError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_writers_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "r=1.json"
    assert parse_reports([f"json={path}", "json=-"]) == (
        Writer(render=dump, path=path),
        Writer(render=dump, path=None),
    )
    assert parse_reports([]) == ()


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


def test_the_results_are_written_first_and_pages_of_a_stopped_run_have_no_figures(
    tmp_path: Path,
) -> None:
    """Whoever pressed Ctrl-C may press it again."""
    results = document()
    assert any(finding["figures"] for finding in results["findings"])
    seen: list[dict[str, Any]] = []

    def render(shown: dict[str, Any]) -> str:
        assert (tmp_path / "r.json").exists()
        seen.append(shown)
        return ""

    page = Writer(render=render, path=tmp_path / "page")
    writers = (page, Writer(render=dump, path=tmp_path / "r.json"))
    write_all(results, writers, figures=False)
    write_all(results, writers)
    assert [any(f["figures"] for f in shown["findings"]) for shown in seen] == [False, True]
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == dump(results)


def test_a_folder_that_takes_no_file_is_refused_although_access_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(UsageError, match="--report: .*: No space left on device"):
        parse_reports([f"json={tmp_path / 'a.json'}"])


def test_reports_name_the_results_file_that_is_written(tmp_path: Path) -> None:
    results, page = tmp_path / "my results.json", tmp_path / "page.md"
    write_all(document(), parse_reports([f"json={results}", f"markdown={page}"]))
    text = page.read_text(encoding="utf-8")
    assert f"dpcp-audit replay 'broken' '{results}'" in text
    assert "RESULTS.json" not in text
    assert results.read_text(encoding="utf-8") == dump(document())


def test_no_report_overwrites_the_results_that_it_is_made_of(tmp_path: Path) -> None:
    results = tmp_path / "r.json"
    results.write_text("{}")
    for name in (results, tmp_path / "." / "r.json"):
        with pytest.raises(UsageError, match="would overwrite the results that are read"):
            parse_reports([f"markdown={name}"], inputs=(results,))
    assert parse_reports([f"markdown={tmp_path / 'r.md'}"], inputs=(results,))
