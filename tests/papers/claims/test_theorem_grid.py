"""The theorem suite's rows run, agree with what is expected of them, and replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.engine.suites import suite
from dpcp_audit.frontends.cli.main import main
from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from pathlib import Path

IDS = [row.claim.id for row in suite("theorems")]
SOME = IDS[5::13]
SETTINGS = RunSettings(suite="theorems", profile=Profile.SMOKE, false_alarm=1e-6)


def contradictions(ids: list[str]) -> list[str]:
    """Return the ids whose check fails, or contradicts what is expected.

    On true claims any id is returned with probability at most 1e-6.
    """
    found = []
    for id_ in ids:
        finding = check(id_, SETTINGS)
        refuted, expected = finding.verdict is Verdict.REFUTED, finding.claim.expected
        contradicted = expected is not None and refuted is not (expected is Verdict.REFUTED)
        if finding.verdict is Verdict.ERROR or contradicted:
            found.append(f"{id_}: {finding.verdict} {finding.error}")
    return found


def test_ids_are_unique_and_every_theorem_is_there() -> None:
    assert len(set(IDS)) == len(IDS) > 200
    bare = {id_.split("[", 1)[0] for id_ in IDS}
    assert {
        "grid.ldpcp.theorem-1",
        "grid.ldpcp.theorem-3",
        "grid.ldpcp.theorem-4",
        "grid.pcoqs.proposition-1.rank",
        "grid.pcoqs.theorem-1",
        "grid.pcoqs.corollary-1",
        "grid.conformal.split",
        "grid.exponq.coverage",
        "grid.histlap.coverage",
    } <= bare
    assert len({id_.split("[", 1)[0] for id_ in SOME}) >= 6


def test_some_rows_run_as_expected() -> None:
    """A row in thirteen, always the same; false alarm at most 1e-6."""
    assert contradictions(SOME) == []


@pytest.mark.study
def test_all_rows_run_as_expected() -> None:
    """False alarm at most 1e-6."""
    assert contradictions(IDS) == []


@pytest.mark.parametrize("kind", ["grid.exponq.coverage", "grid.conformal.split"])
def test_a_finding_of_the_theorem_suite_replays(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id_ = next(id_ for id_ in IDS if id_.startswith(kind))
    results = tmp_path / "results.json"
    ran = ["--suite", "theorems", "--profile", "smoke", "--seed", "7", "--only", id_]
    assert main(["run", *ran, "--report", f"json={results}"]) == 0
    assert main(["replay", id_, str(results)]) == 0
    assert "the finding replays" in capsys.readouterr().out
    tampered = results.read_text().replace('"seed": 7', '"seed": 8')
    (tmp_path / "tampered.json").write_text(tampered)
    assert main(["replay", id_, str(tmp_path / "tampered.json")]) == 1
