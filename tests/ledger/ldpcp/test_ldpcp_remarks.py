"""What LDP-CP says of its estimates: proved of the code that computes it, and of no other code."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.mechanisms import local_labels as cell_counts
from dpcp_audit.mechanisms.local_scores import LDPCPScores
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
    debiased_cdf,
)
from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp.reports import _channel_difference, estimate_bias, noise_model_error

if TYPE_CHECKING:
    import pytest

SEARCH = LDPCPScores(alpha=0.1, epsilon=2.0, rounds=10, window_width=0.05)
POOL = ProbabilityPool(
    name="three",
    probabilities=np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]]),
    labels=np.array([0, 2, 0]),
)


@given(st.integers(2, 50), st.fractions(Fraction(11, 10), 100))
def test_the_channel_is_the_mixture_at_rational_x(k: int, x: Fraction) -> None:
    """The identity behind Equation (2), at values of e^ε where everything is rational."""
    kept, moved, beta = x / (x + k - 1), 1 / (x + k - 1), k / (x + k - 1)
    assert kept == (1 - beta) + beta / k
    assert moved == beta / k
    assert _channel_difference(k) == 0


def test_a_small_bias_of_the_code_is_not_proved_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert estimate_bias(SEARCH, n=1000).verdict is Verdict.PROVED
    debias = BinaryRandomizedResponse.debias
    monkeypatch.setattr(
        BinaryRandomizedResponse, "debias", lambda self, mean: debias(self, mean) + 1e-7
    )
    assert estimate_bias(SEARCH, n=1000).verdict is Verdict.REFUTED


def test_a_bias_that_rounding_hides_is_not_proved_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of 10¹³ reports that is divided by one more: floating point takes it for none."""
    monkeypatch.setattr(LDPCPScores, "divisor", lambda _, asked, __: asked + 1)
    found = estimate_bias(replace(SEARCH, rounds=2), n=2 * 10**13)
    assert found.evidence.lower > 0
    assert found.verdict is Verdict.REFUTED


def test_a_wrong_mixture_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = partial(noise_model_error, lambda: POOL, KaryRandomizedResponse(2.0, 3))
    found = compute()
    assert found.verdict is Verdict.PROVED
    assert found.proof is not None
    assert found.proof.parameters == {"epsilon": 2.0, "k": 3, "population": "three"}
    monkeypatch.setattr(
        cell_counts,
        "debiased_cdf",
        lambda noisy, uniform, *, beta: debiased_cdf(noisy, uniform, beta=beta * 1.001),
    )
    assert compute().verdict is Verdict.REFUTED
