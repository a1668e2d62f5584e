"""Networks with and without DP training as subjects of the comparison of calibrators."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_ledger.comparison.method import NETWORKS, subject


@pytest.mark.parametrize("suffix", ["", ":log"])
def test_a_network_is_a_subject(suffix) -> None:
    found = subject(f"digits-dp-adam-logistic-eps8{suffix}")
    assert found.name == f"digits-dp-adam-logistic-eps8{suffix}"
    assert found.labelled is not None
    assert found.labelled.scores.shape == (899, 10)
    assert found.population.cdf(np.array([1.0]))[0] == 1


def test_every_name_is_its_pools() -> None:
    for name in ("breast-cancer-adam-head", "breast-cancer-dp-adam-logistic-eps8"):
        assert subject(name).name == name
    assert "breast-cancer-adam-cnn" not in NETWORKS
