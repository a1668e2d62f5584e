"""Random programs: no pair of inputs shows more than is proved, and many show as much.

The exact loss of each program is computed by the program's writer, without the prover's rules, and
for plain programs traced as well.
"""

from __future__ import annotations

from typing import Any

import pytest
from proving.random_programs import PAIRS, N, Writer

import dpcp_audit as dp
from dpcp_audit.targets.loading import load

PROGRAMS = 300
STUDIED = 10_000
TRACED = 8
SLACK = 1 + 1e-6
"""Rounding of the exact losses, which are doubles and quadratures."""


def proved_and_exact(seed: int, folder, kinds=Writer.KINDS) -> tuple[float, float, Any]:
    """Return a program's proof, its largest exact loss on the pairs, and the function."""
    writer = Writer(seed, kinds)
    path = folder / f"program_{seed}.py"
    path.write_text(writer.text)
    function = load(f"{path}:program")
    proof = dp.prove(function, dp.PureDP(1000.0), n=N)
    assert proof.proved, (writer.text, proof.line, proof.reason)
    return proof.total, max(writer.loss(a, b) for a, b in PAIRS), function


def share_that_is_tight(seeds, folder) -> float:
    tight = 0
    for seed in seeds:
        proved, exact, _ = proved_and_exact(seed, folder)
        assert exact <= proved * SLACK, Writer(seed).text
        tight += exact > proved / SLACK
    return tight / len(seeds)


def test_no_pair_shows_more_than_is_proved_and_many_as_much(tmp_path) -> None:
    assert share_that_is_tight(range(PROGRAMS), tmp_path) > 1 / 3


@pytest.mark.study
def test_no_pair_shows_more_than_is_proved_in_a_study(tmp_path) -> None:
    assert share_that_is_tight(range(PROGRAMS, STUDIED + PROGRAMS), tmp_path) > 1 / 3


@pytest.mark.parametrize("seed", range(TRACED))
def test_no_traced_pair_shows_more_than_is_proved(seed, tmp_path) -> None:
    proved, exact, function = proved_and_exact(seed, tmp_path, Writer.TRACED)
    traced = max(dp.trace(function, a, b, draws=30).epsilon() for a, b in PAIRS[:4])
    assert traced <= min(proved, exact) * SLACK
