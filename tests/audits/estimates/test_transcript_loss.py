"""Upper ends from traces: above the exact curve, narrow, and none where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcp_audit.audits.estimates.shown_losses import transcript_curve
from dpcp_audit.laws.laws import LaplacePair
from dpcp_audit.tracing.pair_traces import PairTrace, Remark, trace_target
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.results import SourceLocation


def _noisy(x: Any, *, rng: Any) -> Any:
    return sum(x) + rng.laplace(scale=1.0)


@pytest.fixture(scope="module")
def traced() -> PairTrace:
    return trace_target(TracedTarget.of(_noisy, {}), [0, 1], [0, 0], draws=1000, rng=3)


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_curve_lies_above_the_laplace_mechanisms_and_close(traced) -> None:
    """Each curve errs with probability at most 1e-6."""
    curve = transcript_curve(traced, significance=1e-6)
    assert curve is not None
    truth = LaplacePair((1.0,))
    for epsilon in (0.0, 0.3, 0.7):
        grid = np.linspace(0, 1, 2001)
        reached = float((curve.at(grid) - np.exp(epsilon) * grid).max())
        assert truth.delta_at(epsilon) <= reached + 1e-6 < truth.delta_at(epsilon) + 0.2
    wide = transcript_curve(traced, significance=0.05)
    assert wide is not None
    assert (wide.at(grid) <= curve.at(grid) + 1e-9).all()


def test_what_is_not_followed_or_leaks_has_no_upper_end(traced) -> None:
    remark = Remark(says="data", location=SourceLocation.of("mine.py", 1))
    assert transcript_curve(replace(traced, leaks=(remark,)), significance=0.1) is None
    assert transcript_curve(replace(traced, unfollowed=(remark,)), significance=0.1) is None
    few = traced.forward.part(slice(0, 20))
    assert transcript_curve(replace(traced, forward=few), significance=0.1) is None
