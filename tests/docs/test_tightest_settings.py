"""The search for tight settings: deterministic, within the hypotheses, and better than chance."""

from __future__ import annotations

import numpy as np
import pytest
from tightest_settings import (
    COARSE_SPACES,
    SPACES,
    SettingScale,
    SettingSpace,
    search_settings,
)

from dpcp_ledger.claims.tightest_cases import tight_cases


def test_a_seed_gives_a_setting() -> None:
    space = SPACES["ldpcp.theorem-3"]
    one, two = (search_settings(space, evaluations=60, rng=3) for _ in range(2))
    assert one.setting == two.setting
    assert one.ratio == one.hostile.failure_probability() / one.hostile.allowed_failure
    assert one.setting != search_settings(space, evaluations=60, rng=4).setting


def test_theorem_1_is_tightest_for_many_users() -> None:
    """Smirnov's law tends to Massart's bound, δ/4."""
    found = search_settings(SPACES["ldpcp.theorem-1"], evaluations=80, rng=0)
    assert 0.24 < found.ratio < 0.25
    assert found.setting["n"] > 1000


@pytest.mark.parametrize("name", SPACES)
def test_a_small_search_finds_no_refutation(name: str) -> None:
    found = search_settings(SPACES[name], evaluations=25, rng=1)
    assert 0 <= found.ratio <= 0.5


@pytest.mark.parametrize("name", COARSE_SPACES)
def test_at_any_resolution_the_printed_bound_is_refuted(name: str) -> None:
    """Proposition 1 and Theorem 1, within their hypotheses; M(Δ) decides there."""
    found = search_settings(COARSE_SPACES[name], evaluations=400, rng=1)
    assert found.ratio > 1
    assert 2 * found.setting["n"] * found.setting["resolution"] > 0.5


def test_the_settings_of_the_rows_are_the_tightest_rows() -> None:
    """Of each theorem the searched row is, but for Theorem 1's two-sided form."""
    one_sided = {name: [] for name in SPACES}
    for case in tight_cases():
        if not getattr(case.hostile.theorem, "two_sided", False):
            ratio = case.hostile.failure_probability() / case.hostile.allowed_failure
            one_sided[case.name].append(ratio)
    assert all(max(ratios) == ratios[-1] for ratios in one_sided.values())


def test_scales() -> None:
    assert SettingScale(low=1, high=100).at(0.5) == 10
    assert SettingScale(low=1, high=4, whole=True, log=False).at(0.4) == 2


def test_a_space_without_settings_is_refused() -> None:
    empty = SettingSpace({"n": SettingScale(low=1, high=2)}, lambda _: None)
    with pytest.raises(ValueError, match="got none in 5 tries"):
        search_settings(empty, evaluations=5, rng=np.random.default_rng(0))
