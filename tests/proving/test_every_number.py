"""Proofs for every number of records under substitution, beside proofs at one number and leaks."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proving.attack_functions_numbers import (
    ATTACKS,
    gumbel_of_two_scales,
    type_of_a_comparison,
)
from proving.correct_functions import CORRECT
from proving.correct_functions_benchmarks import BENCHMARKS
from proving.correct_functions_numbers import RIGHT
from proving.correct_functions_wider import WIDER

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

ROWS = [
    each
    for each in (*CORRECT, *WIDER, *BENCHMARKS)
    if each.neighbours is Relation.SUBSTITUTION and "staircase" not in each.name
]
MOST = 90
"""Right functions under substitution that are proved for every number, at least."""
ROUNDING = 1e-9
"""Relative: a scale that is a double at one number is a real number for all of them."""


def proved_for_all(function: Any, claim: Any, **rest: Any) -> dp.ProofResult | None:
    found = dp.prove(function, claim, **rest)
    return found if found.proved and found.n is None else None


@given(row=st.sampled_from(ROWS), n=st.integers(1, 400))
@settings(max_examples=120, deadline=None)
def test_no_bound_at_one_number_is_above_that_of_all(row, n) -> None:
    every = proved_for_all(row.function, row.claim, bounds=row.bounds, n=n)
    one = dp.prove(row.function, row.claim, bounds=row.bounds, n=n, every_n=False)
    if every is not None:
        assert one.stop is None, one.reason
        assert one.total <= every.total * (1 + ROUNDING)


def test_most_right_functions_are_proved_for_every_number() -> None:
    found = [proved_for_all(row.function, row.claim, bounds=row.bounds) for row in ROWS]
    assert sum(each is not None for each in found) >= MOST


@pytest.mark.parametrize(
    ("function", "claim"), RIGHT, ids=lambda each: getattr(each, "__name__", "")
)
def test_sizes_that_cancel_are_proved_for_every_number(function, claim) -> None:
    found = dp.prove(function, claim)
    assert found.proved, found.reason
    assert found.n is None
    assert "of every n ≥ 1" in repr(found)
    for n in (1, 2, 3, 50):
        assert dp.prove(function, claim, n=n, every_n=False).total <= found.total * (1 + ROUNDING)


def but_for_seven(scores: Any, *, rng: Any) -> Any:
    if len(scores) == 7:
        return scores[0]
    return np.mean(scores) + rng.laplace(0, 1 / len(scores))


def test_a_proof_for_one_number_says_what_stops_it_for_others() -> None:
    found = dp.prove(but_for_seven, dp.PureDP(1.0), n=100)
    assert found.proved
    assert found.n == 100
    assert found.other_n.endswith(": one record is taken out")
    assert f"\n  not for every n: {found.other_n}\n" in repr(found)
    assert not dp.prove(but_for_seven, dp.PureDP(1.0), n=100, every_n=False).other_n
    checked = dp.audit(but_for_seven, dp.PureDP(1.0), n=100)[0]
    assert checked.verdict is dp.Verdict.PROVED
    assert f"Not for every n: {found.other_n}." in checked.finding.outcome.note


@pytest.mark.parametrize(
    ("function", "claim"), ATTACKS, ids=lambda each: getattr(each, "__name__", "")
)
@pytest.mark.parametrize("n", [1, 7, 100])
def test_what_leaks_at_some_number_is_not_proved_for_every_one(function, claim, n) -> None:
    assert proved_for_all(function, claim, n=n) is None


def test_gumbel_draws_whose_scales_may_differ_are_not_proved_for_every_number() -> None:
    assert proved_for_all(gumbel_of_two_scales, dp.ZCDP(0.125)) is None
    assert proved_for_all(gumbel_of_two_scales, dp.PureDP(1.0)) is None


def test_a_comparison_with_the_size_has_the_type_that_python_gives_it() -> None:
    rng = np.random.default_rng(0)
    types = {type(type_of_a_comparison(np.full(3, score), rng=rng)) for score in (0.1, 0.5)}
    assert types == {float, np.float64}
