"""The smallest planted error that each theorem's rows refute, and that the right ones pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from constants_seen import parts_of

from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.tightest_cases import TINY, tight_cases

if TYPE_CHECKING:
    from dpcp_ledger.pcoqs.hostile_scores import HostileTheorem

pytestmark = pytest.mark.known_bad

CORRECTION, NOISE, ROUNDS, WINDOWS = "correction", "noise", "N or T", "M(Δ)"
SMALLEST = {
    # theorem, planted error: the smallest that some row refutes, in per cent
    ("pcoqs.proposition-1.rank", CORRECTION): 2,
    ("pcoqs.proposition-1.rank", NOISE): 2,
    ("pcoqs.proposition-1.rank", ROUNDS): 4,
    ("pcoqs.proposition-1.rank", WINDOWS): 3,
    ("pcoqs.remark-3", CORRECTION): 0.5,
    ("pcoqs.remark-3", NOISE): 0.5,
    ("pcoqs.remark-3", ROUNDS): 1,
    ("pcoqs.remark-3", WINDOWS): 3,
    ("pcoqs.theorem-1", CORRECTION): 2,
    ("pcoqs.theorem-1", NOISE): 2,
    ("pcoqs.theorem-1", ROUNDS): 4,
    ("pcoqs.theorem-1", WINDOWS): 3,
    ("pcoqs.corollary-1", CORRECTION): 2,
    ("pcoqs.corollary-1", NOISE): 2,
    ("pcoqs.corollary-1", ROUNDS): 4,
    ("pcoqs.corollary-1", WINDOWS): 3,
    ("ldpcp.theorem-1", CORRECTION): 1,
    ("ldpcp.theorem-3", CORRECTION): 2,
    ("ldpcp.theorem-4", CORRECTION): 2,
    ("ldpcp.theorem-4", ROUNDS): 4,
}


def cases(name: str) -> list[HostileTheorem]:
    return [case.hostile for case in tight_cases() if case.name == name]


def refuted(hostile: HostileTheorem, error: str, size: float) -> bool:
    """Return True if a row refutes a constant that much too small, or noise that much too large."""
    if (hostile.correction_name == WINDOWS) is not (error == WINDOWS):
        return False
    if error == ROUNDS:
        wrong = hostile.scaled(parts_of(hostile.theorem).with_rounds(1 - size))
    elif error == NOISE:
        wrong = hostile.with_errors(noise=1 + size)
    else:
        wrong = hostile.scaled(1 - size)
    return wrong.case.exact().verdict is Verdict.REFUTED


@pytest.mark.parametrize(("name", "error"), SMALLEST, ids=str)
def test_the_smallest_planted_error(name: str, error: str) -> None:
    """It is refuted by some row and half of it is by none, so the table is not out of date."""
    size = SMALLEST[name, error] / 100
    assert any(refuted(hostile, error, size) for hostile in cases(name))
    assert not any(refuted(hostile, error, size / 2.5) for hostile in cases(name))


def test_every_theorem_has_a_line_of_at_most_five_per_cent() -> None:
    assert {name for name, _ in SMALLEST} == {case.name for case in tight_cases()}
    assert max(SMALLEST.values()) <= 5


@pytest.mark.parametrize("name", ["pcoqs.remark-3", "pcoqs.theorem-1", "pcoqs.corollary-1"])
def test_a_rank_that_is_too_low(name: str) -> None:
    """Four per cent of τ* in ranks, at ρ = 0.005; of the rank itself a third of a per cent."""
    (hostile,) = (
        case
        for case in cases(name)
        if case.allowed_failure == TINY and case.theorem.mechanism.rho == 0.005
    )
    wrong = hostile.with_errors(rank_shift=-30)
    assert wrong.case.exact().verdict is Verdict.REFUTED
    assert hostile.case.exact().verdict is not Verdict.REFUTED


def test_corollary_1_without_any_correction() -> None:
    for hostile in cases("pcoqs.corollary-1"):
        if hostile.correction_name == WINDOWS:
            continue  # τ* is left there
        assert hostile.scaled(0.0).case.exact().verdict is Verdict.REFUTED
