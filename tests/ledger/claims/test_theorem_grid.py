"""The theorem suite's rows run, agree with what is expected of them, and replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.engine.suites import suite
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.claims import papers_suite, theorem_grid
from dpcp_ledger.claims.theorem_grid import WithoutFigures

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row

GRID = tuple(suite("theorems"))
IDS = [row.claim.id for row in GRID]
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


@pytest.fixture(scope="module")
def of_a_pool(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Return the rows of a saved pool of 300 users, a third of them with tied scores."""
    rng = np.random.default_rng(6)
    weights = rng.dirichlet((2, 1, 1), size=300)
    weights[::3] = (0.5, 0.25, 0.25)
    path = tmp_path_factory.mktemp("pool") / "mine.npz"
    np.savez(path, probabilities=weights, labels=[rng.choice(3, p=row) for row in weights])
    found = theorem_grid.rows(pools=(str(path),), figures=True)
    return [row for row in found if "scores=mine" in row.claim.id]


def test_every_theorem_is_tested_on_a_users_pool(of_a_pool: list[Row]) -> None:
    stems = {row.claim.id.partition("[")[0] for row in of_a_pool}
    assert {
        *("grid.ldpcp.theorem-1", "grid.ldpcp.theorem-3", "grid.ldpcp.theorem-4"),
        *("grid.pcoqs.proposition-1.rank", "grid.pcoqs.theorem-1", "grid.pcoqs.corollary-1"),
        *("grid.conformal.split", "grid.exponq.coverage", "grid.histlap.coverage"),
    } <= stems
    searched = [row.claim for row in of_a_pool if "window_count" in row.claim.parameters]
    assert len(searched) == 4
    for claim in searched:
        assert claim.standing is Standing.PAPER, claim.id
        assert claim.parameters["window_count"] > 100  # of 500 users a third share a score


@pytest.mark.statistical(false_alarm=1e-6)
def test_figures_are_kept_where_that_is_asked_for(of_a_pool: list[Row]) -> None:
    """The theorem is true: it is refuted with probability at most 1e-6."""
    id_ = "grid.pcoqs.proposition-1.rank[scores=mine,n=500,rho=0.5]"
    (row,) = (row for row in of_a_pool if row.claim.id == id_)
    outcome = row.check(Context(seed=0, name=id_, significance=1e-6, effort=0.1))
    assert outcome.verdict is not Verdict.REFUTED
    assert len(outcome.figures) == 1
    assert all(isinstance(row.check, WithoutFigures) for row in suite("theorems"))


def test_figures_are_refused_of_a_suite_that_has_them_anyway(capsys) -> None:
    assert main(["run", "--figures", "--only", "ldpcp.krr"]) == 2
    assert "suite papers takes no figures; theorems does" in capsys.readouterr().err


def test_both_suites_agree_on_whose_claim_theorem_4_is() -> None:
    """Where the suite of theorems has the same law, size and budget as a row of the papers'."""
    keys = ("population", "n", "epsilon", "delta", "rounds", "on_miss", "starred", "window")
    grid = {
        tuple(row.claim.parameters.get(key) for key in keys): row.claim.standing
        for row in GRID
        if row.claim.id.startswith("grid.ldpcp.theorem-4")
    }
    shared = [
        (row.claim, grid[case])
        for row in papers_suite.rows()
        if row.claim.id.startswith("ldpcp.theorem-4[scores=")
        and (case := tuple(row.claim.parameters.get(key) for key in keys)) in grid
    ]
    assert len(shared) >= 3
    for claim, standing in shared:
        assert claim.standing is standing, claim.id
