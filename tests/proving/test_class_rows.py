"""Calibrators of rows of class probabilities and labels: proofs, and attacks."""

import pytest
from proving import attack_functions_classes as wrong
from proving import correct_functions_classes as right

import dpcp_audit as dp
from dpcp_audit.words.errors import UsageError

K, N = 3, 20


@pytest.mark.parametrize("function", right.OF_CLASSES, ids=lambda each: each.__name__)
def test_a_calibrator_is_proved(function) -> None:
    added, replaced = right.OF_CLASSES[function]
    for total, neighbours in ((added, "add-remove"), (replaced, "substitution")):
        found = dp.prove(function, dp.PureDP(total), n=N, classes=K, neighbours=neighbours)
        assert found.proved, (found.place, found.reason)
        assert found.total == total


def test_thresholds_of_classes_cost_one_class_of_an_added_record() -> None:
    one = dp.prove(right.thresholds_of_classes, dp.ZCDP(0.5), classes=K, neighbours="add-remove")
    two = dp.prove(right.thresholds_of_classes, dp.ZCDP(1.0), classes=10, n=N)
    assert (one.proved, two.proved) == (True, True)
    assert (one.total, two.total) == (0.5, 1.0)
    assert any("McSherry 2009" in rule for rule in two.rules)


def test_a_rank_of_the_number_of_a_class_is_a_whole_number_that_moves_by_one() -> None:
    found = dp.prove(right.by_its_own_rank, dp.ZCDP(0.4), classes=K, neighbours="add-remove")
    assert (found.proved, found.total) == (True, pytest.approx(0.4))


@pytest.mark.parametrize("factor", [0.9, 0.5])
def test_less_noise_is_not_proved(factor) -> None:
    options = {"rho": 0.5 / factor**2}
    found = dp.prove(
        right.thresholds_of_classes, dp.ZCDP(0.5), classes=K, neighbours="add-remove",
        options=options,
    )  # fmt: skip
    assert not found.proved
    assert found.total == pytest.approx(0.5 / factor**2)


@pytest.mark.parametrize("row", wrong.CLASSES, ids=lambda row: row.name)
def test_an_attack_is_not_proved(row) -> None:
    found = dp.prove(row.function, row.claim, n=N, classes=K, neighbours=row.neighbours)
    assert not found.proved, found.total


def test_what_classes_cannot_stand_beside_is_refused() -> None:
    for other in ({"clients": 3}, {"domain": 3, "shuffle_n": 9}):
        with pytest.raises(UsageError, match="classes is of rows and labels"):
            dp.prove(right.counts_by_label, dp.PureDP(1.0), classes=K, **other)
    with pytest.raises(ValueError, match="classes"):
        dp.prove(right.counts_by_label, dp.PureDP(1.0), classes=1)
