"""The comparison of calibrators as rows of the suite of tables."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec

import pytest
from support.comparisons import compare

from dpcp_audit.engine import tasks as encoding
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import EvidenceKind, Verdict
from dpcp_ledger.claims import compared_calibrators
from dpcp_ledger.claims.compared_calibrators import Compared, comparison_tables
from dpcp_ledger.comparison.calibrator_study import QUICK, Grid

POOL = "digits-logistic"
SMALL = replace(
    QUICK,
    methods=("split", "pcoqs-coarse", "exponq-full", "histlap", "ldpcp-s*", "ldpcp-l", "opendp"),
    sizes=(300, 1000),
    epsilons=(4.0, 8.0),
    delta=1e-3,
    trials=200,
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Grid:
    monkeypatch.setattr(compared_calibrators, "QUICK", SMALL)
    absent = lambda name: None if name == "opendp" else find_spec(name)  # noqa: E731
    monkeypatch.setattr("importlib.util.find_spec", absent)
    return SMALL


def context(*, significance: float = 1e-7, effort: float = 2.0) -> Context:
    return Context(seed=0, name="any", significance=significance, effort=effort)


def test_a_pool_that_the_grid_has_is_compared_once() -> None:
    usual = [row.claim.id for row in compared_calibrators.rows()]
    again = [row.claim.id for row in compared_calibrators.rows(pools=["digits-logistic"] * 2)]
    assert again == usual


def test_chunks_give_the_numbers_of_the_command(small: Grid) -> None:
    compared = Compared(subject=POOL)
    results = [
        json.loads(json.dumps(encoding.encode(compared.chunk(context(), index))))
        for index in range(compared.chunks(context()))
    ]
    found = compared.combine(context(), results)
    expected = compare(replace(small, subjects=(POOL,)))
    assert found.tables == comparison_tables(expected)


@pytest.mark.usefixtures("small")
def test_promises_that_hold_are_consistent() -> None:
    """A false alarm has probability 1e-7."""
    found = Compared(subject=POOL)(context())
    assert found.verdict is Verdict.CONSISTENT
    assert found.evidence.kind is EvidenceKind.CERTIFIED
    assert found.evidence.lower <= found.evidence.value <= found.evidence.upper <= 0.1
    assert found.evidence.n_samples == 200 * (2 + 4)
    assert "A curator is trusted; coverage as measured: " in found.note
    assert "Left out: OpenDP (opendp is not installed" in found.note


@pytest.mark.usefixtures("small")
def test_a_law_of_scores_has_no_sets_to_choose_by() -> None:
    found = Compared(subject="uniform")(context())
    assert "smallest sets" not in found.note


@pytest.mark.known_bad
@pytest.mark.usefixtures("small")
def test_a_calibrator_that_does_not_keep_the_promise_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HistLap, which promises nothing, as if it had promised a mean coverage."""
    monkeypatch.setattr(compared_calibrators, "MEAN_COVERAGE", "")
    found = Compared(subject="beta(5,0.2)")(context())
    assert found.verdict is Verdict.REFUTED
    assert found.witness["method"] == "histlap"
    assert found.evidence.lower > 0.2


@pytest.mark.usefixtures("small")
def test_fewer_runs_see_larger_violations_only() -> None:
    few, fewer = (
        Compared(subject="uniform")(context(effort=0.5, significance=level)).power
        for level in (1e-7, 1e-20)
    )
    assert few is not None
    assert fewer is not None
    assert 1.1 < few.factor < fewer.factor < 2


def test_the_reference_is_counted_once(small: Grid) -> None:
    one = replace(small, subjects=(POOL,))
    assert compared_calibrators._promises(one) == 2 * (1 + 2)
    assert compared_calibrators._promises(replace(one, methods=("histlap",))) == 0


def test_the_full_profile_has_the_whole_grid() -> None:
    compared = Compared(subject="uniform")
    assert compared._grid(context(effort=20.0)) == replace(Grid(), subjects=("uniform",))
    assert compared._grid(context(effort=0.5)).trials == 200
    assert math.prod(map(len, (Grid().sizes, Grid().epsilons, Grid().alphas))) == 108
