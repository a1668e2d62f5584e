"""The rows on extraction and reconstruction: what they state, without PyTorch and with."""

from __future__ import annotations

from dpcp_ledger.claims.training_extraction import _CLASSIFIER, _training, rows
from dpcp_ledger.training.extraction import _TRAINED, HarderToExtract
from dpcp_ledger.training.reconstruction import Reconstruction

ROWS = {row.claim.id: row for row in rows()}


def test_the_trainings_have_the_privacy_that_is_stated() -> None:
    assert 0.98 < _CLASSIFIER.epsilon_at(1e-5) <= 1.0
    for row in ROWS.values():
        if isinstance(row.check, Reconstruction):
            rate = row.check.guarantee.parameters["sampling_rate"]
            assert row.check.attack.rate == rate
            assert row.check.attack.training.steps == row.check.guarantee.parameters["steps"]
        if isinstance(row.check, HarderToExtract):
            noise = row.check.harder.training.noise_multiplier
            assert noise == _CLASSIFIER.noise_multiplier
    assert _training(private=True).lot_size == _CLASSIFIER.sampling_rate * _TRAINED
