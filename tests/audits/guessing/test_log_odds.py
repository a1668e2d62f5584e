"""Log-odds: a step function that survives being written down."""

from __future__ import annotations

import json

import numpy as np

from dpcp_audit.audits.guessing.experts import LogOdds
from dpcp_audit.audits.search.features import ScalarValue

RULE = LogOdds(
    feature=ScalarValue(),
    cuts=np.array([0.0, 1.0, 2.0, 3.0]),
    steps=np.array([-2.0, 0.1, -0.1, 1.234, 1.231]),
)
OUTPUTS = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, np.inf])


def test_cells_are_open_to_the_left_and_closed_to_the_right() -> None:
    expected = [-2.0, -2.0, -2.0, 0.1, 0.1, -0.1, -0.1, 1.234, 1.234, 1.231, 1.231]
    assert RULE(OUTPUTS).tolist() == expected


def test_what_is_below_the_threshold_is_left_out_and_equal_cells_are_merged() -> None:
    above = RULE.above(0.5)
    assert above(OUTPUTS).tolist() == [-2.0] * 3 + [0.0] * 4 + [1.23] * 4
    assert above.cuts.tolist() == [0.0, 2.0]


def test_it_comes_back_from_json() -> None:
    again = LogOdds.from_data(json.loads(json.dumps(RULE.as_data())))
    assert again(OUTPUTS).tolist() == RULE(OUTPUTS).tolist()
