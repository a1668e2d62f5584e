"""The zoo as data: what the issue asks for is there, and each mutant stands beside its twin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.engine.suites import suite
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.loss_rows import TargetTrace
from dpcp_audit.words.guarantees import ZCDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.zoo import broken_mechanisms, specimen
from dpcp_ledger.zoo.specimen import Specimen, SpecimenCheck
from dpcp_ledger.zoo.zoo_suite import (
    mutants,
    row_id,
    rows_of,
    specimens,
    twins,
)

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from dpcp_audit.words.checks import Row


ASKED_FOR = {
    *(f"{kind}-noise-{f}" for kind in ("search", "laplace", "gaussian") for f in (0.5, 0.8, 0.9)),
    *("sigma-of-range", "undivided-budget", "one-draw", "sensitivity-over-n", "histogram-scale"),
    *("exponq-normaliser", "wrong-k", "uneven-alternatives", "flip-of-wrong-epsilon"),
    *("gaussian-for-laplace", "laplace-for-gaussian", "own-bounds", "fixed-seed"),
    *("small-n-fallback", "rank-off-by-one", "no-correction", "strict-sets", "printed-debiasing"),
    *("aps-on-unit-interval", "rounded", "calibrated-on-training-rows"),
}
BY_NAME = {specimen.name: specimen for specimen in specimens()}
each_mutant = pytest.mark.parametrize("mutant", mutants(), ids=lambda s: s.name)
each = pytest.mark.parametrize("specimen", specimens(), ids=lambda s: s.name)


def test_every_bug_that_was_asked_for_is_there() -> None:
    assert {mutant.name for mutant in mutants()} >= ASKED_FOR


def test_names_and_ids_are_distinct() -> None:
    assert len(BY_NAME) == len(specimens()) == len(mutants()) + len(twins())
    rows = suite("zoo")
    assert len({row.claim.id for row in rows}) == len(rows) > len(specimens())


@each_mutant
def test_a_mutant_claims_what_its_twin_claims(mutant: Specimen) -> None:
    twin = BY_NAME[mutant.twin]
    assert not twin.twin
    assert not twin.caught_by
    assert mutant.privacy in {twin.privacy, None}
    assert mutant.coverage in {twin.coverage, None}
    assert (mutant.target, mutant.options, mutant.strict, mutant.pipeline) != (
        twin.target,
        twin.options,
        twin.strict,
        twin.pipeline,
    )


@each_mutant
def test_each_check_of_a_mutant_catches_it_or_says_why_not(mutant: Specimen) -> None:
    columns = {column for column in SpecimenCheck if row_id(mutant, column) in _ids(mutant)}
    assert mutant.caught_by
    assert columns == mutant.caught_by | set(mutant.unseen)
    assert not mutant.caught_by & set(mutant.unseen)
    assert SpecimenCheck.EXACT in mutant.caught_by


@each
def test_a_specimen_can_be_told_to_check(specimen: Specimen) -> None:
    """It loads, its calls give numbers, and its specification survives as plain data."""
    spec = specimen.spec
    if spec.guarantees:
        assert CheckSpec.from_data(spec.as_data()) == spec
    with spec.target.open() as target:
        if spec.target.domain is not None:
            value = 1
        elif spec.target.kind == "calibrator":
            value = (np.tile([0.7, 0.3], (30, 1)), np.zeros(30, dtype=np.int64))
        else:
            n = specimen.sizes[0] if specimen.sizes else 30
            value = np.linspace(0.1, 0.9, n)
        assert target(value, 3, rng=np.random.default_rng(0)).shape == (3,)


def test_the_loss_of_a_bisection_is_that_of_its_bits() -> None:
    """At σ → ∞ a bit shows 2/π of the Gaussian's ρ where both outcomes are as likely."""
    wide = specimen.search_loss(100.0)
    assert wide.value < 20 / (2 * 100.0**2)
    assert wide.value > 0.6 * 20 / (2 * 100.0**2)


def test_one_draw_is_released_with_the_probability_that_its_law_says() -> None:
    """Score r of 500 comes out with probability Φ(1/σ) − Φ(0); the sample differs by < 6 sd."""
    found = specimen.one_draw_loss()
    scores = np.linspace(0.001, 0.999, 500)
    released = broken_mechanisms.one_draw(scores, size=20_000, rng=np.random.default_rng(0))
    moved = found.witness["moved"]
    hits = np.mean(np.abs(released - scores[moved - 1]) < 2.0**-19)
    chance = found.witness["probability"]
    assert abs(hits - chance) < 6 * math.sqrt(chance / 20_000)
    assert found.value == math.inf


def test_the_gaps_are_chosen_with_twice_the_odds_that_are_allowed() -> None:
    assert specimen.gaps_loss(0.5).value == pytest.approx(2.0)
    assert specimen.gaps_loss(1.0).value == pytest.approx(1.0)


def test_code_that_is_random_has_no_deterministic_loss() -> None:
    scores = np.linspace(0.1, 0.9, 500)
    with pytest.raises(ValueError, match="must return two different constants, got"):
        specimen.deterministic_loss(broken_mechanisms.search, ZCDP(0.5), scores, scores, size=1)


def _ids(specimen: Specimen) -> set[str]:
    return {row.claim.id for row in rows_of(specimen)}


ROWS = [row for row in suite("zoo") if row.claim.expected is not None]
SIGNIFICANCE = 1e-6 / len(ROWS)
PATHS = 20
SLOW = (
    *(f"{kind}-noise-{factor}[" for kind in ("laplace", "gaussian") for factor in (0.8, 0.9)),
    *("laplace-for-gaussian[check=b", "one-draw[check=b", "ldpcp"),
    *(f"{name}[check=traced]" for name in ("search", "exponq", "undivided-budget")),
    *(f"search-noise-{factor}[check=traced]" for factor in (0.5, 0.8, 0.9)),
    "calibrated-on-training-rows[check=pipeline]",
)
"""What takes too many draws or seconds; ``dpcp-audit selftest`` runs it, in ``.ci/run`` too."""


def marked(row: Row) -> ParameterSet:
    name = row.claim.id.removeprefix("zoo.")
    traced = isinstance(row.check, TargetTrace)
    if traced:
        row = replace(row, check=replace(row.check, paths=PATHS))
    if row.check.sampled and name.startswith(SLOW):
        return pytest.param(row, Profile.CI, id=row.claim.id, marks=pytest.mark.study)
    return pytest.param(row, Profile.SMOKE, id=row.claim.id)


@pytest.mark.known_bad
@pytest.mark.parametrize(("row", "profile"), [marked(row) for row in ROWS])
def test_false_claims_are_refuted_and_true_ones_are_not(row: Row, profile: Profile) -> None:
    false = row.claim.expected is Verdict.REFUTED
    finding = check_row(row, RunSettings(profile=profile), significance=SIGNIFICANCE)
    assert not finding.error
    assert (finding.verdict is Verdict.REFUTED) == false, finding
