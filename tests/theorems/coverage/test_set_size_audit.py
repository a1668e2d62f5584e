"""Claims on the size of sets: refuted where sets are larger, at their level where they are not."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main
from dpcp_audit.laws.pools import made_classes
from dpcp_audit.theorems.coverage.set_size_audit import SetSizeAudit
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import SetSize
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from pathlib import Path

POOL = made_classes()
ROWS, LABELS = len(POOL.labels), 3
MEAN = 1 + 2 * 0.4
"""Of sets that hold the first label, and each of the other two with probability 0.4."""


def sets(value: Any, size: int, /, *, rng: np.random.Generator) -> np.ndarray:
    """Return the same set for every row, of a mean size of 1.8."""
    del value
    held = rng.random((size, 1, 2)) < 0.4
    whole = np.concatenate([np.ones((size, 1, 1), dtype=bool), held], axis=2)
    return np.broadcast_to(whole, (size, ROWS, LABELS)).reshape(size, -1).astype(float)


def audit(at_most: float, *, draws: int = 1000, calibrate: Any = sets) -> SetSizeAudit:
    return SetSizeAudit(
        calibrate=calibrate,
        guarantee=SetSize(at_most),
        pool=POOL,
        labels=LABELS,
        n=(20, 40),
        draws=draws,
    )


def context(seed: int = 0, significance: float = 1e-9) -> Context:
    return Context(seed=seed, name="sets", significance=significance)


class TestVerdict:
    @pytest.mark.known_bad
    def test_sets_that_are_larger_than_claimed_are_refuted(self) -> None:
        outcome = audit(1.4)(context())
        assert outcome.verdict is Verdict.REFUTED
        assert outcome.evidence.quantity is Quantity.SET_SIZE
        assert outcome.evidence.lower > 1.4
        assert outcome.witness["spent"] <= 1000

    @pytest.mark.statistical(false_alarm=1e-9)
    def test_sets_as_large_as_claimed_are_not(self) -> None:
        outcome = audit(MEAN)(context())
        assert outcome.verdict is Verdict.CONSISTENT
        assert outcome.evidence.lower <= MEAN <= outcome.evidence.upper
        assert outcome.power is not None
        assert MEAN < outcome.power.smallest < 2.3

    def test_the_power_that_is_planned_is_of_the_claims_unit(self) -> None:
        planned = audit(MEAN).smallest_violation(context(significance=1e-3))
        needed = audit(MEAN).draws_needed(planned.smallest, significance=1e-3)
        assert MEAN < planned.smallest < 2.0
        assert 500 < needed < 2000

    def test_sets_of_another_shape_are_an_error(self) -> None:
        with pytest.raises(ValueError, match=r"sets of shape \(120, 3\) for 120 new rows, got 7"):
            audit(MEAN, calibrate=lambda value, size, /, *, rng: np.ones((1, 7)))(context())

    def test_a_claim_that_no_set_can_fail_is_refused(self) -> None:
        with pytest.raises(ValueError, match="set_size_at_most must be below the number of labels"):
            audit(3.0)


@pytest.mark.study
@pytest.mark.statistical(false_alarm=1e-6)
def test_the_level_is_held_where_the_claim_is_attained() -> None:
    """2,000 audits at 5 %: as many refutations as 5 % exceed with probability 1e-6 fail it."""
    refuted = sum(
        audit(MEAN, draws=200)(context(seed, 0.05)).verdict is Verdict.REFUTED
        for seed in range(2000)
    )
    assert refuted <= binom.ppf(1 - 1e-6, 2000, 0.05)


class Whole:
    """Sets of the first ``labels`` labels, whatever the rows are."""

    def fit(self, features: Any, labels: Any) -> Whole:
        return self

    def predict_set(self, features: Any) -> np.ndarray:
        return np.tile(np.arange(LABELS) < 2, (len(features), 1))


class TestFaces:
    def test_python(self) -> None:
        result = dp.audit(Whole(), SetSize(1.5), n=20, draws=200, kind="predictor")
        assert result["set_size_at_most"].verdict is Verdict.REFUTED
        assert result["set_size_at_most"].replay()
        assert dp.audit(Whole(), SetSize(2.5), n=20, draws=200).verdict is Verdict.CONSISTENT

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["--kind", "quantile", "--set-size-at-most", "2"], "set-size-at-most applies to a"),
            (["--kind", "predictor", "--set-size-at-most", "3"], "below the number of classes, 3"),
            (["--kind", "predictor", "--set-size-at-most", "0"], "must be finite and > 0"),
        ],
    )
    def test_wrong_uses(
        self, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["check", f"{__file__}:Whole", *more]) == 2
        assert message in capsys.readouterr().err

    def test_toml(self, tmp_path: Path) -> None:
        check = {"target": f"{__file__}:Whole", "kind": "predictor", "name": "whole", "n": 20}
        lines = [f"{key} = {json.dumps(value)}" for key, value in check.items()]
        (tmp_path / "c.toml").write_text(
            "\n".join(["[[check]]", *lines, "set-size-at-most = 1.5", "draws = 200"])
        )
        report = tmp_path / "r.json"
        code = main(
            ["check", "--config", str(tmp_path / "c.toml"), "-q", "--report", f"json={report}"]
        )
        (finding,) = json.loads(report.read_text())["findings"]
        assert code == 1
        assert finding["id"] == "whole[set-size<=1.5]"
        assert math.isclose(finding["evidence"]["value"], 2.0)
