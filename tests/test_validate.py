from __future__ import annotations

from enum import StrEnum

import numpy as np
import pytest

from dpcp_audit.words import validate as _validate


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (_validate.finite, [0, -1.5, np.float32(2)], [np.inf, np.nan, "1", None, True, [1, 2]]),
        (_validate.positive, [1e-300, 3], [0, -1, np.inf, np.nan, "x", False]),
        (_validate.non_negative, [0, 3.0], [-1e-300, np.inf, np.nan, None]),
        (_validate.open_unit, [0.5, 1e-300], [0, 1, -0.1, np.nan, True]),
        (_validate.closed_unit, [0, 1, 0.5], [-1e-9, 1.1, np.nan, b"0"]),
    ],
)
def test_number_checks_name_the_argument_and_the_value(check, good, bad) -> None:
    for value in good:
        check(epsilon=value)
    for value in bad:
        with pytest.raises(ValueError, match="^epsilon must ") as caught:
            check(epsilon=value)
        assert repr(value) in str(caught.value)


def test_integer() -> None:
    _validate.integer(n=3, m=np.int64(4), at_least=3)
    for value in (2, 3.0, True, np.True_, "3", None):
        with pytest.raises(ValueError, match="^n must be an integer"):
            _validate.integer(n=value, at_least=3)


def test_bounds() -> None:
    assert _validate.bounds([0, 2]) == (0.0, 2.0)
    for value in ((1, 1), (2, 1), (0, np.inf), (np.nan, 1), (1,), (1, 2, 3), "ab", 5, None):
        with pytest.raises(ValueError, match="^bounds must "):
            _validate.bounds(value)


def test_instance_names_the_argument_and_the_classes() -> None:
    _validate.instance(int, str, first=1, second="a")
    with pytest.raises(
        ValueError, match=r"^second must be int or str, got 1\.5\nhint: help\(int\)"
    ):
        _validate.instance(int, str, first=1, second=1.5)


def test_choice() -> None:
    _validate.choice(Colour, colour=Colour.RED)
    with pytest.raises(ValueError, match=r"colour must be a Colour \(red\), got 'red'"):
        _validate.choice(Colour, colour="red")


@pytest.mark.parametrize(
    ("value", "must"),
    [
        ([], "not be empty"),
        ([[0.5]], "have 1 dimension"),
        ([np.nan], "finite"),
        ([np.inf], "finite"),
        (["a"], "array of numbers"),
        ([[1], [2, 3]], "array of numbers"),
        ([0.5, 1.5], r"lie in \[0, 1\], got \[1.5\]"),
        ([-0.1], "lie in"),
    ],
)
def test_scores_refuses(value, must) -> None:
    with pytest.raises(ValueError, match=f"^scores must {must}|^scores must .*{must}"):
        _validate.scores(value, within=(0.0, 1.0))


def test_scores_returns_floats() -> None:
    result = _validate.scores([0, 1], within=(0.0, 1.0))
    assert result.dtype == np.float64
    assert result.tolist() == [0.0, 1.0]


def test_probabilities() -> None:
    assert _validate.probabilities([[0.5, 0.5]]).shape == (1, 2)
    for value, must in (([[0.5, 0.6]], "sum to 1"), ([[1.5, -0.5]], r"lie in \[0, 1\]")):
        with pytest.raises(ValueError, match=must):
            _validate.probabilities(value)


def test_labels() -> None:
    assert _validate.labels([0, 2], n_classes=3).dtype == np.int64
    for value, must in (([3], "lie in 0..2"), ([-1], "lie in"), ([0.5], "integers"), ([], "empty")):
        with pytest.raises(ValueError, match=must):
            _validate.labels(value, n_classes=3)


def test_generator() -> None:
    generator = np.random.default_rng(1)
    assert _validate.generator(generator) is generator
    assert _validate.generator(7).random() == np.random.default_rng(7).random()
    assert isinstance(_validate.generator(None), np.random.Generator)
    for value in (True, 1.5, "1", -1, object()):
        with pytest.raises(ValueError, match="^rng must be a numpy Generator"):
            _validate.generator(value)


def test_long_values_are_shown_short() -> None:
    with pytest.raises(ValueError, match="got") as caught:
        _validate.array(["x" * 1000], name="scores", ndim=1)
    assert len(str(caught.value).partition("\n")[0]) < 150
