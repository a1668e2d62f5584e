"""The rows on extraction and reconstruction: what they state, without PyTorch and with."""

from __future__ import annotations

import pytest

from dpcp_audit.words.checks import Context
from dpcp_ledger.claims.training_extraction import _CLASSIFIER, _training, rows
from dpcp_ledger.training.extraction import AttackSuccess, Splits
from dpcp_ledger.training.reconstruction import Reconstruction

ROWS = {row.claim.id: row for row in rows()}


def test_the_trainings_have_the_privacy_that_is_stated() -> None:
    assert 0.98 < _CLASSIFIER.epsilon_at(1e-5) <= 1.0
    for row in ROWS.values():
        if isinstance(row.check, Reconstruction):
            rate = row.check.guarantee.parameters["sampling_rate"]
            assert row.check.attack.rate == rate
            assert row.check.attack.training.steps == row.check.guarantee.parameters["steps"]
        if isinstance(row.check, AttackSuccess) and "queries" in row.check.witness:
            assert row.check.witness["noise_multipliers"][0] == _CLASSIFIER.noise_multiplier
    assert _training(private=True).lot_size == _CLASSIFIER.sampling_rate * Splits().trained


@pytest.mark.parametrize(
    "name",
    [
        "dpskin.attacks[attack=reconstruction,prior=simplex,noise=half]",
        "dpskin.attacks[attack=inversion,release=update,model=non-private]",
        "dpskin.attacks[attack=extraction,model=dp-sgd,answers=probabilities]",
    ],
)
def test_what_must_be_refuted_is(name) -> None:
    """At the significance that a row of a run of sixty has."""
    row = ROWS[name]
    outcome = row.check(Context(seed=5, name=name, significance=1e-3 / 60, effort=0.5))
    assert outcome.verdict is row.claim.expected
    assert outcome.note
