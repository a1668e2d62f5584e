"""Both suites agree on which scores the theorems of LDP-CP admit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.data.populations import Beta, Deferred, Uniform
from dpcp_audit.engine.suites import suite
from dpcp_audit.mechanisms.ldpcp.editions import OnMiss
from dpcp_audit.papers.claims.admission import standing_of
from dpcp_audit.results import Standing
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.theorem import FailureRate

if TYPE_CHECKING:
    from dpcp_audit.rows import Row

UNIFORM = ScoreTheorem(population=Uniform(), n=11_080, epsilon=4.0, delta=0.1)


@pytest.mark.parametrize(
    ("theorem", "standing"),
    [
        (UNIFORM, Standing.PAPER),
        (replace(UNIFORM, on_miss=OnMiss.UPPER_END), Standing.READING),
        (replace(UNIFORM, population=Beta(5, 0.2)), Standing.OUTSIDE_HYPOTHESIS),
        (replace(UNIFORM, population=Beta(5, 0.2), rounds=25), Standing.PAPER),
        (
            replace(UNIFORM, population=Beta(5, 0.2), on_miss=OnMiss.UPPER_END),
            Standing.OUTSIDE_HYPOTHESIS,
        ),
    ],
)
def test_scores_and_the_answer_to_a_miss_decide(theorem: ScoreTheorem, standing: Standing) -> None:
    assert standing_of(theorem, theorem.population) is standing


def sampled_coverage() -> list[tuple[Row, LabelTheorem | ScoreTheorem]]:
    """Return the sampled rows of Theorems 3 and 4 in the suite of the papers."""
    checks = [(row, row.check) for row in suite("papers")]
    rates = [(row, check.theorem) for row, check in checks if isinstance(check, FailureRate)]
    return [
        (row, theorem)
        for row, theorem in rates
        if isinstance(theorem, LabelTheorem | ScoreTheorem) and "form=" not in row.claim.id
    ]


def test_the_suite_of_the_papers_states_what_the_suite_of_theorems_computes() -> None:
    rows = sampled_coverage()
    assert len(rows) >= 9
    for row, theorem in rows:
        if isinstance(theorem, LabelTheorem):
            population = Deferred(theorem.pool_name, theorem.pool().hps_population)
            computed = standing_of(theorem, population)
        else:
            computed = standing_of(theorem, theorem.population)
        assert row.claim.standing is computed, row.claim.id
