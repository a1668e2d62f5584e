"""One rule says which scores a theorem admits, in the suites and in any other case."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcp_audit.engine.suites import suite
from dpcp_audit.laws.populations import Beta, PiecewiseConstant, Pool, Uniform, atoms
from dpcp_audit.mechanisms.local_scores import Debiasing, OnMiss
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.catalogue import (
    CATALOGUE,
    admission,
    law_of_probabilities,
    likely_crowd,
    standing_of,
)
from dpcp_audit.theorems.ldpcp import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.statement import with_tightness
from dpcp_audit.theorems.theorem import FailureRate
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.results import Standing

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row

UNIFORM = ScoreTheorem(population=Uniform(), n=11_080, epsilon=4.0, delta=0.1)

SEARCH = PCOQS(alpha=0.1, rho=0.5)
COVERAGE = CoverageTheorem(mechanism=SEARCH, n=500, beta=0.1)
_OUTSIDE = Standing.OUTSIDE_HYPOTHESIS


@pytest.mark.parametrize(
    ("theorem", "standing"),
    [
        (COVERAGE, Standing.PAPER),
        (replace(COVERAGE, reading=CoverageReading.CONDITIONAL), Standing.READING),
        (replace(COVERAGE, population=Beta(5, 0.2)), Standing.OUTSIDE_HYPOTHESIS),
        (replace(COVERAGE, population=Beta(5, 0.2), window_count=23), Standing.PAPER),
        (replace(UNIFORM, debiasing=Debiasing.PRINTED), Standing.ERRATUM),
        (UNIFORM, Standing.PAPER),
        (replace(UNIFORM, on_miss=OnMiss.UPPER_END), Standing.CORRECTED),
        (replace(UNIFORM, population=Beta(5, 0.2)), Standing.OUTSIDE_HYPOTHESIS),
        (replace(UNIFORM, population=Beta(5, 0.2), rounds=25), Standing.PAPER),
        (
            replace(UNIFORM, population=Beta(5, 0.2), on_miss=OnMiss.UPPER_END),
            Standing.OUTSIDE_HYPOTHESIS,
        ),
    ],
)
def test_scores_and_the_variant_decide(theorem: object, standing: Standing) -> None:
    assert standing_of(theorem) is standing


def theorem_rows() -> list[tuple[Row, Any]]:
    """Return the rows of the papers' suite, sampled or computed, whose theorem is of scores."""
    kinds = (CoverageTheorem, LabelTheorem, RankError, ScoreTheorem)
    found = [(row, _theorem_of(row.check)) for row in suite("papers")]
    return [(row, theorem) for row, theorem in found if isinstance(theorem, kinds)]


def _theorem_of(check: object) -> object:
    if isinstance(check, FailureRate):
        return check.theorem
    compute = check.compute if isinstance(check, Computed) else None
    whole = isinstance(compute, partial) and compute.func is with_tightness
    return compute.args[0] if whole else None


def test_the_suite_of_the_papers_states_what_is_computed_for_any_case() -> None:
    other = "pcoqs.remark-7"  # leaves M(Δ) out
    rows = [each for each in theorem_rows() if not each[0].claim.id.startswith(other)]
    assert len(rows) >= 17
    for row, theorem in rows:
        assert row.claim.standing is standing_of(theorem), row.claim.id


def test_what_is_not_admitted_says_why_and_what_would_be() -> None:
    found = admission(replace(UNIFORM, population=Beta(5, 0.2)))
    assert "an interval of length 2^(−10) holds 0.3693 of the scores" in found.reason
    (needed,) = re.findall(r"T = (\d+) would admit them", found.reason)
    for rounds, standing in ((int(needed), Standing.PAPER), (int(needed) - 1, _OUTSIDE)):
        theorem = replace(UNIFORM, population=Beta(5, 0.2), rounds=rounds)
        assert standing_of(theorem) is standing
    atom = PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),))
    assert "no T admits them" in admission(replace(UNIFORM, population=atom)).reason


@pytest.mark.parametrize("kind", [RankError, CoverageTheorem])
def test_ties_ask_for_a_larger_window_count(kind: type[CoverageTheorem | RankError]) -> None:
    tied = atoms(np.arange(10) / 10, np.ones(10, dtype=int), name="ten")
    theorem = kind(mechanism=SEARCH, n=100, beta=0.05, population=tied)
    (needed,) = re.findall(r"M\(Δ\) = (\d+) would admit them", admission(theorem).reason)
    for count, standing in ((int(needed), Standing.PAPER), (int(needed) - 1, _OUTSIDE)):
        assert standing_of(replace(theorem, window_count=count)) is standing
    assert standing_of(replace(theorem, population=Uniform())) is Standing.PAPER


def test_a_coarse_resolution_is_admitted_with_the_printed_window_count() -> None:
    """Of 10⁵ uniform scores at most 3,500 lie in an interval (t, t+1/32]: Theorem 1's own M(Δ)."""
    coarse = replace(SEARCH, resolution=1 / 32)
    for kind in (RankError, CoverageTheorem):
        theorem = kind(mechanism=coarse, n=100_000, beta=0.01, window_count=3_500)
        assert standing_of(theorem) is Standing.PAPER
        assert standing_of(replace(theorem, windows=2)) is Standing.CORRECTED
        assert standing_of(replace(theorem, window_count=3_200)) is _OUTSIDE


def test_scores_outside_of_the_public_interval_are_not_admitted() -> None:
    narrow = replace(SEARCH, bounds=(0.0, 0.75))
    found = admission(RankError(mechanism=narrow, n=100, beta=0.05))
    assert found.reason == "0.25 of the scores lie outside of [0, 0.75]"
    wide = Pool(np.linspace(0, 2, 101), "wide")
    assert "lie outside of [0, 1]" in admission(replace(UNIFORM, population=wide)).reason


def test_an_exceeded_window_count_is_as_rare_as_is_said() -> None:
    """2,000 draws of 200 scores; a frequency above 0.05 + 0.02 has probability below 1e-4."""
    rng = np.random.default_rng(5)
    scores = np.sort(rng.random((2_000, 200)), axis=1)
    most = likely_crowd(Uniform(), n=200, length=0.01, chance=0.05)
    crowded = (scores[:, most:] - scores[:, :-most] <= 0.01).any(axis=1)
    assert crowded.mean() <= 0.07
    fewer = (scores[:, most - 3 :] - scores[:, : 3 - most] <= 0.01).any(axis=1)
    assert fewer.mean() > 0.2


def test_no_theorem_object_is_refused() -> None:
    for named in CATALOGUE:
        law = law_of_probabilities([[0.75, 0.25], [0.5, 0.5]], [0, 1])
        assert isinstance(standing_of(named.on(law, named.example)), Standing)
    with pytest.raises(TypeError, match="theorem must be a theorem object, got str"):
        admission("ldpcp-4")
