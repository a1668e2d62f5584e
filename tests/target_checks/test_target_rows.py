"""Rows of targets, and of shuffled reports."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

import dpcp_audit as dp
from dpcp_audit.audits.exact import worst_measurement
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words.results import Claim, EvidenceKind, Standing, Verdict
from dpcp_ledger.mechanisms.shuffled_response import ShuffledKaryResponse

if TYPE_CHECKING:
    import numpy as np


def claims(**data: Any) -> list[Claim]:
    spec = CheckSpec.from_data({"target": "mine.py:f", "kind": "quantile", "name": "f"} | data)
    return [row.claim for row in rows_of_targets([spec])]


def test_a_claim_is_stated_of_the_target() -> None:
    for claim in claims(**{"zcdp": 0.5, "coverage-at-least": 0.9}):
        assert (claim.subject, claim.standing) == ("f", Standing.STATED)


@pytest.mark.parametrize(
    ("data", "parameters"),
    [
        ({"zcdp": 0.5}, {"neighbours": "substitution", "rho": 0.5}),
        (
            {"approx-dp": [1, 1e-6], "n": [50, 100], "neighbours": "add-remove"},
            {"neighbours": "add-remove", "epsilon": 1.0, "delta": 1e-6},
        ),
        (
            {"coverage-at-least": 0.9, "n": 50, "alpha": 0.1},
            {"n": 50, "alpha": 0.1, "at_least": 0.9, "at_most": 1.0, "confidence": 1.0},
        ),
    ],
)
def test_parameters_are_what_was_asked_for(
    data: dict[str, Any], parameters: dict[str, Any]
) -> None:
    (claim,) = claims(**data)
    assert claim.parameters == {"bounds": [0.0, 1.0]} | parameters
    assert json.loads(json.dumps(claim.parameters)) == claim.parameters


EPSILON, K, N = 2.0, 3, 50
SHUFFLED = ShuffledKaryResponse(EPSILON, K).pair(N)
DELTA = worst_measurement(dp.ApproxDP(0.5, 1e-3), [SHUFFLED])[0].value


def krr(value: int, *, rng: np.random.Generator) -> int:
    kept = (math.exp(EPSILON) - 1) / (math.exp(EPSILON) + K - 1)
    return value if rng.random() < kept else int(rng.integers(K))


def leaky(value: int, *, rng: np.random.Generator) -> int:
    """Report the value itself once in fifty times, by a number that is not finite."""
    if rng.normal() > 2.05:
        return value
    return int(rng.integers(K))


def bare(value: int, *, rng: np.random.Generator) -> int:
    return value if rng.normal() < 3 else int(rng.integers(K))


def marking(value: int, *, rng: np.random.Generator) -> int:
    """Report a value that no other user does, once in ten times."""
    return value if rng.random() < 0.1 else 0


def weighed(value: int, *, rng: np.random.Generator) -> int:
    """Report six things, none of which is like another."""
    shares = [(1, 2, 3, 4, 5, 6), (5, 3, 1, 2, 6, 4)][value]
    return int(rng.choice(6, p=[share / 21 for share in shares]))


def unary(value: int, *, rng: np.random.Generator) -> list[bool]:
    """Report a bit for each value, as optimised unary encoding at ε = 2 does."""
    lit = 1 / (math.exp(2) + 1)
    return [bool(rng.random() < (0.5 if bit == value else lit)) for bit in range(3)]


def noisy(value: float, *, rng: np.random.Generator) -> float:
    return value + float(rng.laplace(scale=0.5))


class TestNumbersAndBits:
    @pytest.mark.known_bad
    @pytest.mark.parametrize(("sampled", "epsilon"), [(False, 0.05), (True, 0.01)])
    def test_bits_are_refuted(self, sampled: bool, epsilon: float) -> None:
        """By the law of the counts, or by samples of the sums of each bit, of four users."""
        claim = dp.ApproxDP(epsilon, 1e-3)
        more = {"trace": False, "draws": 8000} if sampled else {"draws": 600}
        result = dp.audit(unary, claim, kind="local", domain=3, shuffle_n=4, **more)
        found = result["approx_dp"].estimate
        assert found is not None
        assert result.verdict is Verdict.REFUTED
        assert found.kind is (EvidenceKind.CERTIFIED if sampled else EvidenceKind.EXACT)

    @pytest.mark.known_bad
    @pytest.mark.statistical(false_alarm=1e-8)
    def test_numbers_are_refuted_below_what_they_show_and_not_above(self) -> None:
        """A sum of three, one of which changes by 1, is as private as one report at least."""
        settings = {"kind": "local", "shuffle_n": 3, "draws": 6000, "false_alarm": 1e-8}
        low = dp.audit(noisy, dp.PureDP(0.2), **settings)
        assert low.verdict is Verdict.REFUTED
        assert dp.audit(noisy, dp.PureDP(2.0), **settings).verdict is not Verdict.REFUTED


class TestVerdict:
    @pytest.mark.known_bad
    def test_a_report_that_nobody_else_gives_is_not_hidden(self) -> None:
        """Among users of the same value it would be, in a crowd."""
        claim = dp.ApproxDP(1.0, 0.01)
        result = dp.audit(marking, claim, kind="randomizer", domain=2, shuffle_n=1000, draws=600)
        found = result["approx_dp"].estimate
        assert found is not None
        assert result.verdict is Verdict.REFUTED
        assert found.value == pytest.approx(0.1)

    def test_merged_reports_bound_the_loss_from_below_alone(self) -> None:
        claim = dp.ApproxDP(0.1, 0.2)
        result = dp.audit(weighed, claim, kind="randomizer", domain=2, shuffle_n=4, draws=600)
        found = result["approx_dp"].estimate
        assert found is not None
        assert found.lower < 0.2 < found.upper
        assert result.verdict is Verdict.INCONCLUSIVE

    @pytest.mark.known_bad
    def test_a_delta_that_is_too_small_is_refuted_exactly(self) -> None:
        claim = dp.ApproxDP(0.5, DELTA / 2)
        result = dp.audit(krr, claim, kind="randomizer", domain=K, shuffle_n=N, draws=600)
        found = result["approx_dp"].estimate
        assert result.verdict is Verdict.REFUTED
        assert found is not None
        assert found.kind is EvidenceKind.EXACT
        assert found.value == pytest.approx(DELTA, rel=1e-6)
        assert result["approx_dp"].replay()

    def test_the_right_delta_is_not(self) -> None:
        claim = dp.ApproxDP(0.5, 1.01 * DELTA)
        result = dp.audit(krr, claim, kind="randomizer", domain=K, shuffle_n=N, draws=600)
        assert result.verdict is Verdict.CONSISTENT

    @pytest.mark.known_bad
    def test_reports_that_are_bare_are_refuted_by_samples(self) -> None:
        claim = dp.ApproxDP(0.5, 1e-3)
        result = dp.audit(
            bare, claim, kind="randomizer", domain=K, shuffle_n=5, draws=4000, trace=False
        )
        assert result.verdict is Verdict.REFUTED
        found = result["approx_dp"].estimate
        assert found is not None
        assert found.kind is EvidenceKind.CERTIFIED

    @pytest.mark.statistical(false_alarm=1e-3 * 1e-6)
    def test_hidden_reports_are_not_refuted_by_samples(self) -> None:
        claim = dp.ApproxDP(1.0, 0.1)
        result = dp.audit(
            *(leaky, claim),
            kind="randomizer",
            domain=K,
            shuffle_n=20,
            draws=2000,
            trace=False,
            false_alarm=1e-9,
        )
        assert result.verdict is not Verdict.REFUTED
