"""What an image adds to a step on the thesis's networks, and what it adds unclipped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcp_audit.mechanisms.dpsgd.training_settings import Flaw
from dpcp_audit.papers.claims.training_networks import _STEP
from dpcp_audit.papers.computations.network_steps import StandIn, largest_contribution
from dpcp_audit.results import Verdict


@pytest.mark.parametrize("kind", list(StandIn))
def test_clipped_in_each_layer_it_adds_the_clipping_norm(kind: StandIn) -> None:
    found = largest_contribution(kind, _STEP)
    assert found.verdict is Verdict.CONSISTENT
    assert found.value == pytest.approx(1.0, abs=1e-3)
    assert found.witness["parameters"] > 700_000


@pytest.mark.known_bad
def test_without_clipping_it_adds_more() -> None:
    found = largest_contribution(StandIn.RESNET18, replace(_STEP, flaw=Flaw.NO_CLIPPING))
    assert found.verdict is Verdict.REFUTED
