"""Where claims are made: the line that a SARIF result of a suite's claim points at."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcp_audit.engine.suites import suite

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["papers", "theorems", "tables", "training", "related"])
def test_every_claim_says_where_it_is_made(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a file of the package; if the working directory is elsewhere, too."""
    monkeypatch.chdir(tmp_path)
    for row in suite(name):
        assert row.claim.location is not None
        assert len(_lines(row.claim.location.file)) >= row.claim.location.line


@pytest.mark.parametrize(("name", "least"), [("papers", 100), ("related", 10)])
def test_the_line_is_the_one_with_the_claim_s_id(name: str, least: int) -> None:
    """Of claims whose ids are spelled out."""
    spelled = 0
    for row in suite(name):
        assert row.claim.location is not None
        lines = _lines(row.claim.location.file)
        if any(f'"{row.claim.id}"' in line for line in lines):
            near = lines[row.claim.location.line - 1 :][:9]
            assert any(f'"{row.claim.id}"' in line for line in near), row.claim.id
            spelled += 1
    assert spelled >= least


def _lines(file: str) -> list[str]:
    return (ROOT / file).read_text("utf-8").splitlines()
