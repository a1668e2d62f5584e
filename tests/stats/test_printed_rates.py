"""Printed rates: which counts give which digits, against a recount of every count."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest

from dpcp_ledger.dpskin.printed_accuracies import PrintedRate, constant_rate, impossible


def printed(count: int, cases: int) -> set[str]:
    """Return what a share may be printed as in percent, to two decimals."""
    share = Decimal(100 * count) / Decimal(cases)
    ways = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN)
    return {str(share.quantize(Decimal("0.01"), way)) for way in ways}


@pytest.mark.parametrize("cases", [1, 7, 193, 800, 1512, 10_015])
def test_the_counts_of_a_rate_are_those_that_are_printed_so(cases: int) -> None:
    every = {count: printed(count, cases) for count in range(cases + 1)}
    for number in range(0, 10_001, 37):
        digits = f"{number / 100:.2f}"
        expected = tuple(count for count, texts in every.items() if digits in texts)
        assert PrintedRate(digits=digits, whole=100).counts(cases) == expected, digits


def test_every_share_passes_and_digits_between_shares_do_not() -> None:
    own = [PrintedRate(digits=d, whole=100) for k in range(1513) for d in printed(k, 1512)]
    assert impossible(own, 1512) == ()
    between = [PrintedRate(digits=d, whole=100) for d in ("59.83", "60.12", "59.91")]
    assert impossible(between, 1512) == ("59.83", "59.91")


def test_a_rate_is_tested_where_some_digits_are_no_share() -> None:
    rate = PrintedRate(digits="59.83", whole=100)
    for cases in (10, 100, 1512, 6_600):
        texts = {text for count in range(cases + 1) for text in printed(count, cases)}
        assert rate.tested(cases) is (len(texts) < 10_001), cases
    assert not rate.tested(16_000)


def test_shares_one_and_a_half_units_apart_give_all_digits() -> None:
    """Points out of fifteen: tenths are 3/2 of them apart, and each is rounded or cut off to."""
    points = [PrintedRate(digits=str(k), whole=15) for k in range(16)]
    assert impossible(points, 10) == ()
    assert not points[0].tested(10)
    assert impossible(points, 9) != ()
    assert points[0].tested(9)


def test_the_best_constant_answers_the_largest_class() -> None:
    assert constant_rate({"a": 909, "b": 603}) == PrintedRate(digits="909", whole=1512).rate
    with pytest.raises(ValueError, match="^classes must hold"):
        constant_rate({})
    with pytest.raises(ValueError, match="^cases must"):
        constant_rate({"a": 0})


@pytest.mark.parametrize("digits", ["", "x", "100.01", "-1"])
def test_what_is_no_rate_is_refused(digits: str) -> None:
    with pytest.raises(ValueError, match="^digits must"):
        PrintedRate(digits=digits, whole=100)
