"""Files written whole: whatever ends the writing, the old file or the new one is there."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dpcp_audit
import dpcp_ledger
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports.charts import save_figure
from dpcp_audit.reports.document import parse_reports
from dpcp_audit.words.errors import IncompleteError, UsageError, write_whole

FIGURE = {
    "kind": "lines",
    "title": "A law",
    "x_label": "x",
    "y_label": "y",
    "series": [{"name": "F", "x": [0.0, 1.0], "y": [0.0, 1.0], "texts": []}],
    "description": "A line.",
    "marks": {},
    "log_x": False,
    "log_y": False,
    "columns": [],
}
OLD, NEW = "the old report\n", "the new report\r\n" * 100_000
_WRITER = """
import os, resource, signal
from pathlib import Path
{planted}
import dpcp_audit
from dpcp_audit.words.errors import write_whole
write_whole(Path({path!r}), "the new report\\r\\n" * 100_000)
"""
_KILLED = "{module}.{function} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)"
_FULL = "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))"


def written(path: Path, planted: str) -> subprocess.CompletedProcess[str]:
    """Write the new report in a process of its own, with something planted in its way."""
    program = _WRITER.format(planted=planted, path=str(path))
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(("module", "function"), [("os", "fsync"), ("Path", "replace")])
def test_a_kill_at_the_moment_of_writing_leaves_the_old_file(
    module: str, function: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(OLD, encoding="utf-8")
    done = written(path, _KILLED.format(module=module, function=function))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert path.read_text(encoding="utf-8") == OLD


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the write fails in the middle."""
    path = tmp_path / "report.html"
    path.write_text(OLD, encoding="utf-8")
    done = written(path, _FULL)
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert path.read_text(encoding="utf-8") == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_file_has_the_permissions_of_the_old_one(tmp_path: Path) -> None:
    path, fresh, plain = tmp_path / "old", tmp_path / "fresh", tmp_path / "plain"
    path.write_text(OLD, encoding="utf-8")
    path.chmod(0o604)
    for each in (path, fresh):
        write_whole(each, NEW)
        assert each.read_bytes() == NEW.encode()
    plain.write_text(OLD, encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o604
    assert fresh.stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file, link = tmp_path / "folder" / "file", tmp_path / "link"
    file.write_text(OLD, encoding="utf-8")
    link.symlink_to(file)
    write_whole(link, NEW)
    assert link.is_symlink()
    assert file.read_bytes() == NEW.encode()


def test_what_is_no_file_is_written_to_as_it_is() -> None:
    write_whole(Path(os.devnull), NEW)
    assert not Path(os.devnull).is_file()
    with pytest.raises(OSError, match="No space left"):
        write_whole(Path("/dev/full"), NEW)


def test_a_folder_that_takes_no_new_file_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    path.write_text(OLD, encoding="utf-8")
    monkeypatch.setattr("os.access", lambda asked, _mode: asked != tmp_path)
    with pytest.raises(UsageError, match="cannot be written to"):
        parse_reports([f"json={path}"])


def failing(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_report_that_fails_leaves_the_old_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command line's own reports are written whole."""
    path = tmp_path / "report.json"
    path.write_text(OLD, encoding="utf-8")

    monkeypatch.setattr("os.fsync", failing)
    run = ["run", "--profile", "smoke", "--jobs", "1", "--only", "ldpcp.krr"]
    assert main([*run, "--report", f"json={path}"]) == 3
    assert path.read_text(encoding="utf-8") == OLD


def test_a_figure_that_fails_leaves_the_old_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "law.svg"
    path.write_text(OLD, encoding="utf-8")
    monkeypatch.setattr("os.fsync", failing)
    with pytest.raises(IncompleteError, match="No space left"):
        save_figure(FIGURE, path)
    assert path.read_text(encoding="utf-8") == OLD


def test_nothing_else_writes_files() -> None:
    """Journals and logs grow, line by line; all else goes through ``write_whole``."""
    packages = [Path(each.__file__).parent for each in (dpcp_audit, dpcp_ledger)]
    written = {
        path.name
        for package in packages
        for path in package.rglob("*.py")
        if ".write_" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in {"write_text", "write_bytes"}
    }
    assert written == {"errors.py"}
