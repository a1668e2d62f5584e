"""The shapes of options' values: read, written back, and refused by one message."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.messages import require_line_and_hint

from dpcp_audit.words import values
from dpcp_audit.words.errors import UsageError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


GOOD: list[tuple[values.Value, object, object]] = [
    (values.Text(), "a", "a"),
    (values.Text(one_word=True), "a", "a"),
    (values.Words(), "perl 'my file.pl' -x", ("perl", "my file.pl", "-x")),
    (values.Words(), ["perl", "x y"], ("perl", "x y")),
    (values.Flag(), False, False),
    (values.Choice(Colour), "red", Colour.RED),
    (values.Whole(), 3, 3),
    (values.Whole(at_least=0), 0, 0),
    (values.NonNegative(), 0, 0.0),
    (values.Probability(), 0.5, 0.5),
    (values.Sizes(at_most=10**7), 7, (7,)),
    (values.Sizes(at_most=10**7), [500, 50, 500], (50, 500)),
    (values.Whole(), np.int64(5), 5),
    (values.Several(values.Whole()), 7, (7,)),
    (values.Several(values.Whole()), [5, 7, 5], (5, 7)),
    (values.Several(values.Whole()), "1e2..2e3", (100, 200, 500, 1000, 2000)),
    (values.Several(values.Whole()), "3,10..30", (3, 10, 20, 30)),
    (values.Several(values.Positive()), "0.3..2.5", (0.3, 0.5, 1.0, 2.0, 2.5)),
    (values.Several(values.Positive()), "1e-6..1e5", tuple(10.0**e for e in range(-6, 6))),
    (values.Sizes(at_most=10**7), np.int64(5), (5,)),
    (values.Sizes(at_most=10**7), np.array([6, 5]), (5, 6)),
    (values.Sizes(at_most=10**7), range(3, 5), (3, 4)),
    (values.NonNegative(), np.float32(0.5), 0.5),
    (values.Pair(), [-1, 2], (-1.0, 2.0)),
    (values.KeywordTable(), {"a": 1}, {"a": 1}),
    (values.Duration(), "1.5m", 90.0),
    (values.Duration(), "2h", 7200.0),
    (values.Duration(), "0.5 s", 0.5),
]
BAD: list[tuple[values.Value, object, str]] = [
    (values.Text(), " ", "x must be a text, got ' '"),
    (values.Text(one_word=True), "a b", "x must be a text without whitespace, got 'a b'"),
    (values.Whole(), np.bool_(True), "x must be a whole number >= 1, got"),
    (values.NonNegative(), 10**400, "x must be a number within a float's range, got 1000"),
    (values.Pair(), [0, 10**400], "x must be a number within a float's range, got 1000"),
    (values.Duration(), 10**400, "x must be a time such as 60"),
    (values.Words(), [], "x must be a command line, got []"),
    (values.Words(), ["a", 1], "x must be a command line"),
    (values.Words(), "perl 'x", "x: No closing quotation"),
    (values.Flag(), 1, "x must be true or false, got 1"),
    (values.Choice(Colour), "green", "x must be one of red, blue, got 'green'"),
    (values.Choice(Colour, (Colour.RED,)), "blue", "x must be one of red, got 'blue'"),
    (values.Whole(), True, "x must be a whole number >= 1, got True"),
    (values.Several(values.Whole()), "5..2", "x must be a range a..b with 0 < a < b, got '5..2'"),
    (values.Several(values.Whole()), "1,y", "x must be a whole number >= 1, got 'y'"),
    (values.Several(values.Whole()), "1..", "x must be a whole number >= 1, got ''"),
    (values.Several(values.Whole()), [], "x must be a number, or a list of them, got []"),
    (values.Several(values.Positive()), "1e-99..1e99", "a range must span at most 22 powers"),
    (values.Whole(), 2.0, "x must be a whole number >= 1, got 2.0"),
    (values.NonNegative(), math.inf, "x must be finite and >= 0, got inf"),
    (values.NonNegative(), math.nan, "x must be finite and >= 0, got nan"),
    (values.Probability(), 1, "x must lie in (0, 1), got 1"),
    (values.Probability(), 1e-300, "x must lie in (0, 1), at least 1e-100, got 1e-300"),
    (values.Probability(), "0.5", "x must be a number, got '0.5'"),
    (values.Sizes(at_most=10**7), [[3]], "x must be a whole number >= 1, or a list of them"),
    (values.Pair(), [0], "x must be two numbers, got [0]"),
    (values.KeywordTable(), [1], "x must be a table, got [1]"),
    (values.Duration(), "1 day", "x must be a time such as 60"),
    (values.Duration(), "1s2m", "x must be a time such as 60"),
    (values.Duration(), math.nan, "x must be a time such as 60"),
]


@pytest.mark.parametrize(("value", "written", "read"), GOOD)
def test_a_value_is_read_and_survives_its_own_data(value, written, read) -> None:
    assert value.read(written, "x") == read
    assert value.read(value.as_data(read), "x") == read


@pytest.mark.parametrize(("value", "written", "message"), BAD)
def test_what_is_wrong_is_named_with_what_it_got(value, written, message) -> None:
    with pytest.raises(UsageError) as caught:
        value.read(written, "x")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "words", "read"),
    [
        (values.Whole(), "12", 12),
        (values.Probability(), "1e-3", 1e-3),
        (values.Sizes(at_most=10**7), "50,500", (50, 500)),
        (values.Pair(), ["0", "2.5"], (0.0, 2.5)),
        (
            values.KeywordTable(),
            ["a=1", 'b="x"', "c=x y", "d=[1, 2]"],
            {"a": 1, "b": "x", "c": "x y", "d": [1, 2]},
        ),
        (values.Duration(), "2m", 120.0),
        (values.Text(), "name", "name"),
    ],
)
def test_words_of_a_command_line_are_read(value, words, read) -> None:
    assert value.read(value.of_words(words, "--x"), "x") == read


@pytest.mark.parametrize("value", [values.Whole(), values.Probability(), values.Text()])
def test_an_integer_too_long_to_print_is_refused_too(value: values.Value) -> None:
    with pytest.raises(UsageError, match="x must be .*, got an integer of more than 4300 digits"):
        value.read(-(10**5000), "x")


def test_what_numpy_counts_becomes_plain_data() -> None:
    assert [type(n) for n in values.Sizes(at_most=10**7).read(np.array([5, 6]), "n")] == [int, int]
    assert type(values.Whole().read(np.int64(5), "draws")) is int


def test_a_word_that_is_no_number_is_refused_as_it_is_written() -> None:
    with pytest.raises(UsageError, match="x must be a whole number >= 1, got 'ten'"):
        values.Whole().read(values.Whole().of_words("ten", "--x"), "x")
    with pytest.raises(UsageError, match="--option must be NAME=VALUE, got 'x'"):
        values.KeywordTable().of_words(["x"], "--option")


ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())
)


@given(ANY, st.sampled_from([value for value, _, _ in GOOD]))
def test_any_value_is_read_or_refused_in_one_line(written: Any, value: values.Value) -> None:
    caught = "x"
    try:
        value.read(written, "x")
    except UsageError as error:
        caught = str(error)
    assert caught.startswith("x")
    require_line_and_hint(caught)
