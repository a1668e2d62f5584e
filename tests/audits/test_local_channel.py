"""Known channels: the exact loss over all pairs, the best guess, and what is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.audits.finite_laws import (
    channel_log_ratio,
    channel_outcome,
    guess_bound,
    guess_success,
)
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import LocalDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.computed import Computation


def channel_of(epsilon: float, k: int) -> FloatArray:
    return np.exp([law.log_mass for law in KaryRandomizedResponse(epsilon, k).laws()])


@pytest.mark.parametrize(("epsilon", "k"), [(0.3, 2), (2.0, 10), (6.0, 40)])
def test_the_exact_channel_of_kary_response(epsilon: float, k: int) -> None:
    channel = channel_of(epsilon, k)
    assert channel_log_ratio(channel).value == pytest.approx(epsilon, rel=1e-12)
    assert guess_success(channel) == pytest.approx(guess_bound(epsilon, k), rel=1e-12)
    verdicts = [
        channel_outcome(LocalDP(epsilon * factor), channel).verdict
        for factor in (1 - 1e-12, 1.0, 1 + 1e-12)
    ]
    assert verdicts == [Verdict.REFUTED, Verdict.CONSISTENT, Verdict.PROVED]


def test_the_exact_channel_is_the_largest_ratio_of_all() -> None:
    rng = np.random.default_rng(0)
    channel = rng.dirichlet(np.ones(6), size=5)
    ratios = np.log(channel[:, None] / channel[None])
    worst = channel_log_ratio(channel)
    assert worst.value == pytest.approx(ratios.max())
    assert ratios[(*worst.inputs, worst.output)] == pytest.approx(worst.value)


def test_an_output_that_one_input_never_gives() -> None:
    held: Computation = channel_outcome(LocalDP(5.0), [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    assert held.verdict is Verdict.REFUTED
    assert math.isinf(held.value)
    assert channel_outcome(LocalDP(5.0), [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]).value == 0.0


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ([[0.5, 0.5]], "two rows"),
        ([[0.5, 0.4], [0.5, 0.5]], "sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "lie in"),
        ([0.5, 0.5], "dimension"),
    ],
)
def test_channels_that_are_none(channel: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=f"channel must .*{message}"):
        channel_log_ratio(channel)  # type: ignore[arg-type]
