"""What a target answers, and its streams."""

from __future__ import annotations

import decimal
import fractions
import itertools
import sys
from contextlib import nullcontext
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.made_targets import drawn, quantile, randomizer, refusal

import dpcp_audit as dp
from dpcp_audit.targets import (
    Kind,
    Target,
    TargetRaisedError,
    TargetUnusableError,
    answers,
)
from dpcp_audit.targets.answers import AnswerError, DegenerateTargetError
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable


def of(answer) -> Target:
    """Return a quantile that returns one and the same object."""
    return quantile(lambda scores: answer)


class FakeTensor:
    """What torch's scalars look like from outside."""

    ndim, shape = 0, ()

    def item(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    "answer",
    [
        *(0.5, np.float64(0.5), np.float32(0.5), np.array(0.5), fractions.Fraction(1, 2)),
        *(decimal.Decimal("0.5"), FakeTensor()),
    ],
)
def test_numbers_of_every_make(answer) -> None:
    assert drawn(of(answer)) == [0.5] * 4


def test_a_conformal_threshold_may_be_infinite() -> None:
    assert drawn(of(np.inf)) == [np.inf] * 4
    assert drawn(of(-np.inf)) == [-np.inf] * 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned None, not a number: does it end in a return?"),
        ((0.5, 0.1), "returned a tuple of 2, not a number: return the one"),
        ([0.5], "returned a list of 1, not a number: return one, or say kind vector"),
        (np.ma.masked, "returned masked numbers: fill them"),
        (np.array([0.5]), "array of shape (1,) and type float64, not a number: if it returns many"),
        (0.5 + 1j, "returned the complex number (0.5+1j), not a number"),
        (np.complex128(1), "returned the complex number (1+0j), not a number"),
        ("0.5", "returned the text '0.5', not a number: texts are outputs of the kinds"),
        (True, "returned True, not a number"),
        (np.bool_(False), "returned False, not a number"),
        ({}, "returned a dict, not a number"),
        (10**400, "returned a number too large"),
        (np.nan, "returned NaN in draw 1 of 3: return a number, or raise"),
        (FakeTensor, "returned a type"),
    ],
)
def test_what_is_no_number_is_refused_by_name(answer, words) -> None:
    message = refusal(of(answer))
    assert words in message
    assert "<lambda>" in message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.zeros(2), "an array of shape (2,) where the shape must be (3,)"),
        (np.zeros((3, 1)), "an array of shape (3, 1) where the shape must be (3,)"),
        (np.ma.array(np.zeros(3), mask=[0, 1, 0]), "returned masked numbers: fill them"),
        (0.5, "one number where the shape must be (3,): is it vectorised?"),
        (None, "returned None, not 3 numbers"),
        (["a", "b", "c"], "returned a list of 3, not 3 numbers"),
        (np.zeros(3) * 1j, "array of shape (3,) and type complex128, not 3 numbers"),
        ([[1.0], [2.0, 3.0]], "returned a list of 2, not 3 numbers"),
        (np.array([True, False, True]), "type bool, not 3 numbers"),
        (np.array([0.0, np.nan, 0.0]), "NaN in draw 2 of 3"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(answer, words) -> None:
    assert words in refusal(quantile(lambda scores, *, size: answer, vectorised=True))


def test_a_wrong_answer_is_degenerate_and_an_exception_is_not() -> None:
    """An input on which code raises can be left out; code that returns NaN is not to be used."""
    with pytest.raises(DegenerateTargetError):
        drawn(of(np.nan))
    with pytest.raises(TargetUnusableError, match="on scores of shape"):
        drawn(of(None))
    with pytest.raises(TargetRaisedError) as caught:
        drawn(quantile(lambda scores: 1 / 0))
    assert not isinstance(caught.value, DegenerateTargetError)


def test_a_detached_tensor_of_many_numbers() -> None:
    class Many:
        def detach(self) -> Many:
            return self

        cpu = detach

        def numpy(self) -> np.ndarray:
            return np.arange(4.0)

    assert drawn(quantile(lambda scores, *, size: Many(), vectorised=True)) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("answer", [2, 2.0, np.int8(2), np.uint64(2), np.array(2)])
def test_reports_of_every_make(answer) -> None:
    assert drawn(randomizer(lambda value: answer), 0) == [2.0] * 4


def test_a_binary_report_may_be_a_truth_value() -> None:
    assert drawn(randomizer(lambda value: value == 1, domain=2), 1) == [1.0] * 4
    many = randomizer(lambda values: values == 1, domain=2, vectorised=True)
    assert drawn(many, 1) == [1.0] * 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (5, "returned 5 in draw 1 of 3, and a report must be an integer in 0..4 (domain 5)"),
        (-1, "returned -1 in draw 1"),
        (1.5, "returned 1.5 in draw 1"),
        (np.inf, "returned inf in draw 1"),
        (np.nan, "returned NaN in draw 1"),
        (object(), "returned a object, not a number"),
    ],
)
def test_what_is_no_report_is_refused_by_name(answer, words) -> None:
    assert words in refusal(randomizer(lambda value: answer), 0)


class Reply(Enum):
    YES = 1
    NO = 2


VALUES = [
    *("yes", "no", b"yes", "", Reply.YES, Reply.NO, ("yes", 1), ("yes", 2), frozenset({"a", 1})),
    *(None, (), {}, frozenset(), frozenset({1}), {1, 2}, {"a": "b"}, 1 + 2j, date(2026, 1, 1)),
]


@pytest.mark.parametrize("kind", [Kind.VECTOR, Kind.LOCAL, Kind.FEDERATED, Kind.RANDOMIZER])
def test_texts_and_the_like_are_values_of_their_own(kind: Kind) -> None:
    codes = [answers.one(value, kind=kind) for value in VALUES]
    assert len(set(codes)) == len(VALUES)
    assert codes == [answers.one(value, kind=kind) for value in VALUES]
    assert answers.one(np.array(["a", "b"]), kind=kind) == answers.one(("a", "b"), kind=kind)
    assert answers.stacked(codes).shape == (len(VALUES),)
    assert (np.array(codes) == np.rint(codes)).all()  # integers, which the public grid keeps apart


def test_a_quantile_is_no_text_and_a_tuple_of_numbers_is_an_array() -> None:
    with pytest.raises(AnswerError, match="not a number"):
        answers.one("yes", kind=Kind.QUANTILE)
    assert np.array_equal(answers.one((1, 2.5), kind=Kind.VECTOR), [1.0, 2.5])


def test_equal_values_have_one_code_whatever_their_type_but_not_in_another_order() -> None:
    assert answers.coded(frozenset({1, 2})) == answers.coded({np.int64(2), 1.0})
    assert answers.coded({"a": 1, "b": "c"}) == answers.coded({"a": np.float64(1), "b": "c"})
    assert answers.coded({"a": 1, "b": "c"}) != answers.coded({"b": "c", "a": 1})
    for text in ("yes", b"yes", ""):
        assert answers.coded(np.array([text])[0]) == answers.coded(text) is not None


def test_a_list_in_one_call_and_a_tuple_in_another_are_refused() -> None:
    def told(scores, *, rng) -> object:
        noisy = float(np.mean(scores) + rng.laplace(0, 1 / len(scores)))
        return [noisy, 0.0] if np.sum(scores) > len(scores) / 2 else (noisy, 0.0)

    result = dp.audit(told, dp.PureDP(1.0), kind="vector", n=1, draws=2000, trace=False)
    assert result["pure_dp"].verdict is dp.Verdict.ERROR
    assert "a list in one call and a tuple in another" in " ".join(str(result).split())


def test_a_text_of_a_number_and_a_dict_of_numbers_are_arrays() -> None:
    texts = [answers.one(x, kind=Kind.VECTOR) for x in ("0.125", b"2")]
    assert np.array_equal(np.stack(texts)[:, 1], [0.125, 2])
    assert texts[0][0] == texts[1][0]
    assert answers.one("nan", kind=Kind.LOCAL) == answers.coded("nan")
    first, second, other = (
        answers.one(x, kind=Kind.VECTOR) for x in ({"a": 1, "b": 2.5}, {"b": 2, "a": 3}, {"a": 1})
    )
    assert np.array_equal(np.stack([first[1:], second[1:]]), [[1, 2.5], [3, 2]])
    assert len({first[0], second[0], other[0]}) == 3


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize(("loss", "refuted"), [(2.0, True), (1.0, False)])
def test_empty_sets_and_none_are_audited(loss: float, refuted: bool) -> None:
    def members(scores: np.ndarray, *, rng: np.random.Generator) -> frozenset[int] | None:
        counted = np.sum(scores > 0.5) + rng.laplace(scale=1 / loss)
        return None if counted < 1 else frozenset(range(max(0, round(3 - counted))))

    found = dp.audit(
        members, dp.PureDP(1.0), kind="vector", n=[4], draws=6000, trace=False, false_alarm=1e-7
    )
    assert (str(found.verdict) == "REFUTED") is refuted
    assert found.verdict is not Verdict.ERROR


def test_texts_that_hardly_ever_come_twice_are_refused() -> None:
    codes = [answers.one(f"of {k}", kind=Kind.LOCAL) for k in range(100)]
    with pytest.raises(AnswerError, match="100 different texts or tuples in 100 calls"):
        answers.stacked(codes)
    assert answers.stacked([*codes[:30], *codes[:30], *codes[:30], *codes[:30]]).shape == (120,)


NAMES = ("anna", "bert", "carl")
FORMS = {
    "text": str,
    "set": lambda name: frozenset({name}),
    "bits": lambda name: tuple(int(name == each) for each in NAMES),
}


def responses(loss: float, form: str) -> Callable[..., object]:
    """Return randomised response over names, in a form."""

    def response(value: int, *, rng: np.random.Generator) -> object:
        kept = rng.random() < np.exp(loss) / (np.exp(loss) + 2)
        other = (value + 1 + rng.integers(2)) % 3
        return FORMS[form](NAMES[value if kept else other])

    return response


@pytest.mark.known_bad
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("loss", "refuted"), [(2.0, True), (1.0, False)])
@pytest.mark.statistical(false_alarm=1e-7)
def test_a_randomizer_reports_texts_and_sets(form: str, loss: float, refuted: bool) -> None:
    """The audit's own false-alarm probability is asked to be 1e-7; the sentence names the text."""
    settings = {"kind": "randomizer", "domain": 3, "trace": False, "false_alarm": 1e-7}
    found = dp.audit(responses(loss, form), dp.LocalDP(1.0), draws=6000, **settings)
    assert found.verdict is (Verdict.REFUTED if refuted else Verdict.CONSISTENT)
    assert "10¹⁵" not in str(found)
    if refuted and form != "bits":
        assert any(name in str(found) for name in NAMES)


@pytest.mark.known_bad
@pytest.mark.parametrize("form", FORMS)
def test_every_path_of_a_randomizer_of_texts_is_run(form: str) -> None:
    settings = {"kind": "randomizer", "domain": 3, "draws": 2000}
    bad, good = (
        dp.audit(responses(loss, form), dp.LocalDP(1.0), **settings)["local_dp"]
        for loss in (2.0, 1.0)
    )
    assert bad.verdict is Verdict.REFUTED
    assert "Exact: ε = 2" in " ".join(str(bad).split())
    assert good.verdict in {Verdict.CONSISTENT, Verdict.PROVED}
    assert "ε = 1 (exact)" in " ".join(str(good).split())


def test_reports_that_are_now_integers_and_now_texts_are_told() -> None:
    calls = itertools.count(1)

    def rare(value: int, *, rng: np.random.Generator) -> object:
        return int(rng.integers(3)) if next(calls) % 500 else "none"

    settings = {"kind": "randomizer", "domain": 3, "trace": False}
    found = dp.audit(rare, dp.LocalDP(1.0), draws=6000, **settings)
    assert found.verdict is Verdict.ERROR
    assert "return reports of one type, or say kind local" in " ".join(str(found).split())


def test_none_is_an_entry_below_every_number() -> None:
    assert np.array_equal(answers.one((None, 0.5), kind=Kind.VECTOR), [-np.inf, 0.5])
    assert np.array_equal(answers.one([None, None], kind=Kind.FEDERATED), [-np.inf, -np.inf])
    assert answers.one((None, "a"), kind=Kind.VECTOR) == answers.coded((None, "a"))


@pytest.mark.known_bad
@pytest.mark.parametrize(("loss", "refuted"), [(3.0, True), (1.0, False)])
@pytest.mark.statistical(false_alarm=1e-7)
def test_a_tuple_of_numbers_and_none_is_compared_entry_by_entry(loss: float, refuted: bool) -> None:
    """The audit's own false-alarm probability is asked to be 1e-7."""

    def first_above(scores: np.ndarray, *, rng: np.random.Generator) -> tuple[float | None, ...]:
        noisy = float(np.mean(scores) + rng.laplace(scale=1 / (loss * len(scores))))
        return (None, None, noisy) if rng.random() < 0.5 else (None, noisy, None)

    found = dp.audit(
        first_above, dp.PureDP(1.0), kind="vector", n=[4], draws=6000, trace=False, false_alarm=1e-7
    )
    assert found.verdict is (Verdict.REFUTED if refuted else Verdict.INCONCLUSIVE)


SCORES = np.array([0.25, 0.75])


def outputs(function: Callable[..., float], size: int) -> np.ndarray:
    with Target.from_callable(function, kind=Kind.QUANTILE) as target:
        first = target(SCORES, size // 2, rng=np.random.default_rng(1))
        return np.concatenate([first, target(SCORES, size // 2, rng=np.random.default_rng(2))])


@pytest.mark.parametrize("fails", [False, True])
def test_streams_are_put_back(fails: bool) -> None:
    before = sys.stdout, sys.stderr

    def takes_them(scores: np.ndarray) -> float:
        sys.stdout = sys.stderr = None
        return float(scores[0]) / (0 if fails else 1)

    with pytest.raises(ValueError, match="raised ZeroDivisionError") if fails else nullcontext():
        outputs(takes_them, 4)
    assert (sys.stdout, sys.stderr) == before


def test_no_stream_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert outputs(lambda scores: float(scores[0] if sys.stdout is None else 0), 2).min() == 0.25
