"""What an image adds to a step of the thesis's networks: clipped, unclipped, and normalised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.training_canaries import (
    STEP,
    largest_contribution,
    removed_example,
)
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
