"""What an image adds to a step of the thesis's networks: clipped, unclipped, and normalised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims import training_canaries
from dpcp_ledger.claims.training_canaries import (
    STEP,
    largest_contribution,
    removed_example,
)
from dpcp_ledger.dpskin import training_budgets
from dpcp_ledger.training.examples import Flaw


@pytest.mark.known_bad
def test_without_clipping_it_adds_more() -> None:
    found = largest_contribution(replace(STEP, flaw=Flaw.NO_CLIPPING))
    assert found.verdict is Verdict.REFUTED


def test_normalised_by_groups_an_image_moves_the_sum_by_its_own_gradient() -> None:
    """C at most, whichever image leaves; the gradients are longer than C, so that it is C."""
    found = removed_example(images_in_batch=4, removed=4, batch_statistics=False)
    assert found.verdict is Verdict.CONSISTENT
    assert found.witness["moved"] == pytest.approx([1.0] * 4, abs=1e-4)


@pytest.mark.known_bad
def test_with_batch_normalisation_it_moves_the_others_too() -> None:
    """Several C, and no more than every gradient turned round: C·(2·3 + 1)."""
    found = removed_example(images_in_batch=4, removed=4, batch_statistics=True)
    assert found.verdict is Verdict.REFUTED
    assert min(found.witness["moved"]) > 2.0
    assert max(found.witness["moved"]) <= 7.0


def test_the_rows_are_the_two_of_a_pair() -> None:
    """They differ in the normalisation alone."""
    batch, group = (
        row.claim for row in training_canaries.paper.rows if "normalisation=" in row.claim.id
    )
    assert (batch.expected, group.expected) == (Verdict.REFUTED, Verdict.CONSISTENT)
    assert batch.parameters["images"] == group.parameters["images"]
    assert batch.formula == group.formula


def test_rows_on_resnet50_assume_that_no_layer_mixes_images() -> None:
    """All four trainings of the thesis's tables, and no other sampling, are proved."""
    proved = [
        row.claim
        for row in training_budgets.paper.rows
        if "epsilon-table[training" in row.claim.id and row.claim.expected is Verdict.PROVED
    ]
    assert len(proved) == 4
    assert all("no layer mixes the images of a batch" in each.assumptions for each in proved)
