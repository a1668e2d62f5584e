"""Every claim of every kind of target: it is tested, or refused in a line that says what to do."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.messages import require_line_and_hint
from support.samplers import context

from dpcp_audit.target_checks.check_options import CLAIMS, REFUSED
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.targets.kinds import Kind, Takes
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import dashed

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray

VALUES: dict[str, Any] = {
    "pure_dp": 1.0,
    "approx_dp": [1.0, 0.01],
    "zcdp": 0.5,
    "local_dp": 1.0,
    "renyi_dp": [2.0, 1.0],
    "gaussian_dp": 1.0,
    "gdp": 1.0,
    "coverage_at_least": 0.8,
    "class_conditional_coverage": 0.8,
}
BESIDE = {"with_confidence": {"coverage-at-least": 0.8}, "shuffle_n": {"approx-dp": [1.0, 0.01]}}
VALUES |= {"with_confidence": 0.5, "shuffle_n": 3}
SETTINGS = {Kind.RANDOMIZER: {"domain": 2}}
OF_SETS = {*REFUSED} - {"local_dp", "shuffle_n"}
CELLS = list(product(Kind, VALUES))


def quantile(scores: FloatArray, *, rng: np.random.Generator) -> float:
    return float(scores.max() + rng.normal())


def vector(scores: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    return scores[:2].sum() + rng.normal(size=2)


def randomizer(value: int, *, rng: np.random.Generator) -> int:
    return value ^ int(rng.random() < 0.3)


def local(value: float, *, rng: np.random.Generator) -> float:
    return value + float(rng.laplace())


def calibrator(probabilities: FloatArray, labels: FloatArray, *, rng: np.random.Generator) -> Any:
    return np.full(probabilities.shape[1], 0.9 + 0.01 * rng.normal()) + 0 * labels[0]


def federated(clients: tuple[FloatArray, ...], *, rng: np.random.Generator) -> float:
    return float(sum(part.sum() for part in clients) + rng.normal())


class Fitted:
    """Predicts sets and intervals that hold nearly all, with noise."""

    def fit(self, features: FloatArray, labels: FloatArray, *, rng: np.random.Generator) -> None:
        self.noise = rng.normal() + 0 * features[0, 0] * labels[0]

    def predict_set(self, features: FloatArray) -> FloatArray:
        return np.tile([True, True, self.noise > 0], (len(features), 1))

    def predict_interval(self, features: FloatArray) -> FloatArray:
        return np.tile([-9.0, 9.0 + self.noise], (len(features), 1))

    def predict(self, features: FloatArray) -> FloatArray:
        return np.full(len(features), self.noise)


def model(features: FloatArray, labels: FloatArray, *, rng: np.random.Generator) -> Fitted:
    fitted = Fitted()
    fitted.fit(features, labels, rng=rng)
    return fitted


def spec(kind: Kind, claim: str) -> CheckSpec:
    of = "Fitted" if kind in {Kind.PREDICTOR, Kind.REGRESSION} else str(kind)
    said = BESIDE.get(claim, {}) | {dashed(claim): VALUES[claim]}
    given = {"target": f"{Path(__file__)}:{of}", "kind": str(kind), "trace": False}
    sizes = {} if kind.takes is Takes.VALUE else {"n": 6}
    draws = 100 if claim in OF_SETS else 600
    settings = sizes | SETTINGS.get(kind, {}) | {"draws": draws}
    return CheckSpec.from_data(given | settings | said)


def test_every_claim_is_among_those_that_are_tried() -> None:
    assert {each.name for each in CLAIMS} | {"shuffle_n"} == set(VALUES)


@pytest.mark.parametrize(("kind", "claim"), CELLS)
def test_a_cell_is_tested_or_refused_in_a_line(kind: Kind, claim: str) -> None:
    if kind not in REFUSED.get(claim, ()):
        (row,) = rows_of_targets([spec(kind, claim)])
        if claim in {*REFUSED, "pure_dp"} or kind is Kind.QUANTILE:  # others are tested alike
            row.check(context(0, significance=1e-9))
        return
    with pytest.raises(UsageError) as caught:
        spec(kind, claim)
    said = str(caught.value)
    assert said.endswith(REFUSED[claim][kind])
    require_line_and_hint(said)
