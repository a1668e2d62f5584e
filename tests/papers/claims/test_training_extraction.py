"""The rows on extraction and reconstruction: what they state, without PyTorch and with."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.waiting import PATIENCE

from dpcp_audit.audits.training.extraction import HarderToExtract
from dpcp_audit.audits.training.reconstruction import Reconstruction
from dpcp_audit.checks import Context
from dpcp_audit.papers.claims import training_extraction
from dpcp_audit.papers.claims.training_extraction import _CLASSIFIER, rows

ROWS = {row.claim.id: row for row in rows()}


def test_the_trainings_have_the_privacy_that_is_stated() -> None:
    assert 0.98 < _CLASSIFIER.epsilon_at(1e-5) <= 1.0
    for row in ROWS.values():
        if isinstance(row.check, Reconstruction):
            rate = row.check.guarantee.parameters["sampling_rate"]
            assert row.check.attack.rate == rate
            assert row.check.attack.training.steps == row.check.guarantee.parameters["steps"]
        if isinstance(row.check, HarderToExtract):
            private = row.check.harder.training
            assert private.noise_multiplier == _CLASSIFIER.noise_multiplier
            assert private.lot_size == _CLASSIFIER.sampling_rate * row.check.splits.trained


WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
"""


def test_the_rows_are_read_without_pytorch() -> None:
    code = f"{WITHOUT_TORCH}\nfrom {training_extraction.__name__} import rows\nprint(len(rows()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert int(done.stdout) == len(ROWS)


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
    assert outcome.figures
    assert outcome.note
