"""Trade-off curves in files: the guarantees of their lines, and curves that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.trade_off_file import TradeOffFile, guarantees_of_curve
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, PureDP
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from pathlib import Path

QUANTILE = {"target": "m:f", "kind": "quantile"}


def corners(guarantee, points) -> np.ndarray:
    alpha = np.array(points)
    return np.stack([alpha, 1 - guarantee.power(alpha)], axis=1)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_the_curve_of_a_guarantee_gives_it_back(epsilon, delta) -> None:
    turn = (1 - delta) / (1 + np.exp(epsilon))
    claimed = PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
    (found,) = guarantees_of_curve(corners(claimed, [0.0, turn, 1 - delta]))
    assert found.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert getattr(found, "delta", 0.0) == pytest.approx(delta, abs=1e-7)


def test_lines_between_points_of_a_smooth_curve_claim_more_than_it_does() -> None:
    gaussian = GaussianDP(1.0)
    found = guarantees_of_curve(corners(gaussian, np.linspace(0, 1, 15)))
    assert len(found) > 3
    for each in found:
        delta = getattr(each, "delta", 0.0)
        assert delta <= gaussian.delta_at(each.epsilon) + 1e-9


def test_a_file_is_claimed_and_kept_as_its_guarantees(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("0,0.9\n0.25,0.25\n0.9,0\n")
    spec = CheckSpec.from_data(QUANTILE | {"tradeoff": str(path), "gdp": 1.0})
    assert [type(each) for each in spec.guarantees] == [GaussianDP, ApproxDP]
    assert CheckSpec.from_data(spec.as_data()).guarantees == (
        spec.guarantees[1],
        spec.guarantees[0],
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 0.9\n", "a curve must have 2 corners or more"),
        ("0 0.9\n0.5 0.5\n0.9 0\n", "must fall, be convex, and lie below"),
        ("0 0.1\n0.5 0.9\n", "must fall, be convex, and lie below"),
        ("0 2\n1 0\n", "corners in .0, 1."),
        ("a b\n", "tradeoff must be a text file with a line 'ALPHA BETA'"),
        ("0 0.3\n1 0\n", "a line of slope -1 or less"),
    ],
)
def test_what_is_no_curve_is_told(text, words, tmp_path: Path) -> None:
    path = tmp_path / "curve.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        TradeOffFile().read(str(path), "tradeoff")
    with pytest.raises(UsageError, match="tradeoff must be a text file"):
        TradeOffFile().read(str(tmp_path / "none"), "tradeoff")


@pytest.mark.parametrize("value", ["9" * 5000, "no\0file", 3.0])
def test_what_no_file_can_be_called_is_told(value: object) -> None:
    with pytest.raises(UsageError, match="tradeoff must be a text file"):
        TradeOffFile().read(value, "tradeoff")
