"""Each finding is one sentence from its fields, and shows one estimate with both its sides."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from support.report_document import evidence, finding

from dpcp_audit.audits.certificates import Hits, certify
from dpcp_audit.audits.search.event_search import Ones, feature_as_data
from dpcp_audit.reports.sentences import (
    _capital,
    _event,
    note_of,
    sentence,
    shown_estimate,
    shown_numbers,
)
from dpcp_audit.reports.terminal_findings import print_findings
from dpcp_audit.words.formatting import number
from dpcp_audit.words.guarantees import PureDP

PLACE = {"file": "mine.py", "line": 13}
LINE = {
    "location": PLACE,
    "law": "laplace",
    "draws": 1.0,
    "moved": 1.0,
    "scale": 0.5,
    "sensitivity": 1.0,
    "mean_loss": 1.1,
    "largest_loss": 2.0,
    "share": 1.0,
    "joined": False,
}
TRACED = {"draws": [LINE], "leaks": [], "unfollowed": []}
ONE = ["laplace noise of scale 1", "laplace noise of scale 1 on a sum"]


def leak(hits: tuple[int, int], **witness: Any) -> dict[str, Any]:
    """A refuted claim of 1-DP with the counts of an event on 20 scores and on their neighbour."""
    counts = [{"of": "the event", "hits": each, "trials": 1000} for each in hits]
    found = evidence(
        kind="certified",
        value=1.86,
        lower=1.6,
        upper="inf",
        confidence=0.999,
        n_samples=2000,
        sample={"measure": "log-ratio", "counts": counts},
    )
    case = {
        "scores": [0.5] * 19 + [0.0],
        "neighbour_scores": [0.5] * 19 + [1.0],
        "event": [[0.5, "inf"]],
        "swapped": False,
        "complement": False,
    }
    return finding("x", "REFUTED", "REFUTED", evidence=found, witness=case | witness)


def test_a_leak_is_told_with_its_event_both_probabilities_and_the_line() -> None:
    told = leak((270, 42)) | {"traced": TRACED, "location": PLACE}
    assert sentence(told) == (
        "With 20 scores, changing one from 1 to 0 makes an output above 0.5 about 6.4 times as "
        "likely (27 % against 4.2 %); ε = 1 allows 2.72 times. Certified: ε ≥ 1.6. "
        "At mine.py:13, Laplace noise of scale 0.5 is added on this pair; a scale of 1 would do."
    )


ONES = feature_as_data(Ones(bounds=(0.0, 4.0), rounds=5))


@pytest.mark.parametrize(
    ("witness", "words"),
    [
        ({"swapped": True}, "changing one from 0 to 1 makes an output above 0.5"),
        ({"event": [["-inf", 0.25]]}, "makes an output of at most 0.25"),
        ({"event": [[0.25, 0.5]]}, "makes an output in (0.25, 0.5]"),
        ({"event": {"feature": {}, "intervals": []}}, "makes one set of outputs, which the"),
        (
            {"event": {"feature": {"kind": "coordinate", "index": 3}, "intervals": [[0.5, "inf"]]}},
            "makes an output whose entry 3 is above 0.5 about",
        ),
        (
            {"event": {"feature": ONES, "intervals": [["-inf", 4.0]]}},
            "an output that a bisection reaches with at most 4 of 5 steps to the upper half about",
        ),
        ({"event": {"feature": ONES, "intervals": [["-inf", 0.0]]}}, "an output of at most 0.125 "),
        ({"event": {"feature": ONES, "intervals": [[4.0, "inf"]]}}, "an output above 3.875 about"),
        (
            {"event": {"feature": ONES | {"resolution": 0.1}, "intervals": [[4.0, "inf"]]}},
            "an output above 3.969 about",
        ),
        (
            {"event": {"feature": {"kind": "decimals", "most": 6}, "intervals": [["-inf", 0.0]]}},
            "makes an output with exactly 0 decimals about",
        ),
        ({"event": [[-5e-324, 0.0]]}, "makes the output 0 about"),
        ({"event": [[1 - 2**-24, "inf"]]}, "makes an output above 0.9999999 about"),
        ({"scores": [0.5] * 19}, "With 20 scores, removing one of 1 makes"),
    ],
)
def test_the_change_and_the_event_are_those_of_the_witness(
    witness: dict[str, Any], words: str
) -> None:
    assert words in sentence(leak((270, 42), **witness))


def test_an_output_that_is_no_number_is_told_as_it_was_returned() -> None:
    assert "makes the output None about" in sentence(leak((270, 42), output="None"))
    other = leak((42, 270), output="'None'", complement=True)
    assert "makes an output other than 'None' about" in sentence(other)


def test_of_a_complement_the_outputs_outside_are_told() -> None:
    """Above 0.5 are 958 outputs of the scores and 730 of their neighbour."""
    hits = Hits(958, 730, 1000)
    found = certify(PureDP(1.0), hits, significance=0.001, complement=True).evidence
    counts = found.sample.counts
    told = sentence(leak((counts[0].hits, counts[1].hits), complement=True))
    assert told.startswith(
        "With 20 scores, changing one from 0 to 1 makes an output of at most 0.5"
    )
    assert "about 6.4 times as likely (27 % against 4.2 %)" in told


def test_what_never_happened_on_one_input_is_no_ratio() -> None:
    told = sentence(leak((270, 0)))
    assert "makes an output above 0.5 possible (27 % against none in 1000 calls)" in told


def test_the_side_of_an_event_is_told_whose_probabilities_differ_more() -> None:
    """Of 99.8 % against 79.9 % the other side: 20.1 % against 0.2 %."""
    told = sentence(leak((998, 799)))
    assert "changing one from 0 to 1 makes an output of at most 0.5 about 100 times as" in told
    assert "(20.1 % against 0.2 %)" in told
    possible = sentence(leak((1000, 799)))
    assert "makes an output of at most 0.5 possible (20.1 % against none in 1000 calls)" in possible


def test_the_power_of_a_trace_is_that_of_its_paths_and_not_of_calls() -> None:
    power = {"quantity": "epsilon", "bound": "at most", "smallest": 1.1, "claimed": 1.0}
    power |= {"detection": 0.95, "factor": 1.1, "at": {}, "detail": ""}
    told = leak((270, 42), path_seed=1) | {"verdict": "CONSISTENT", "power": power}
    assert "These 2000 traced paths would catch ε ≥ 1.1" in sentence(told)
    told["witness"]["spent"] = 2000
    assert "These 2000 calls would catch ε ≥ 1.1" in sentence(told)


def test_a_game_that_refutes_is_told_by_the_guesses_and_by_how_many_may_be_right() -> None:
    told = leak((0, 0))
    del told["witness"]["event"]
    guesses = {"of": "guesses", "hits": 1237, "trials": 1384, "allowed": 1077}
    told["evidence"]["sample"] = {"measure": "rates", "counts": [guesses]}
    assert sentence(told) == (
        "With 20 scores, changing one from 0 to 1: an observer who sees the output guesses its "
        "input rightly 1,237 times in 1,384; ε = 1 allows at most 1,077. Certified: ε ≥ 1.6."
    )


@pytest.mark.parametrize(
    ("witness", "by"),
    [
        ({"moment": {}}, "Certified by a test of all outputs at once: ε ≥ 1.6."),
        (
            {"event": {"feature": ONES, "intervals": [["-inf", 4.0]]}},
            "Certified by the steps in which a bisection reaches it: ε ≥ 1.6.",
        ),
        (
            {"event": [["-inf", 0.0], [0.5, 0.75]]},
            "Certified by a set of outputs, which the witness lists: ε ≥ 1.6.",
        ),
    ],
)
def test_an_interval_beside_the_test_is_told_with_the_test_that_certifies(
    witness: dict[str, Any], by: str
) -> None:
    told = leak((270, 42))
    del told["witness"]["event"]
    told["witness"] |= witness
    told["evidence"]["odds"] = {
        "output": None, "value": 0.0, "neighbour": 0.27, "event": [[0.5, "inf"]], "trials": 3930
    }  # fmt: skip
    assert sentence(told) == (
        "With 20 scores, changing one from 0 to 1 makes an output above 0.5 possible (27 % against "
        f"none in 3930 calls); ε = 1 allows 2.72 times. {by}"
    )


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("INCONCLUSIVE", "(exact, on one pair; others may lose more)"), ("CONSISTENT", "(exact)")],
)
def test_an_undecided_claim_says_that_its_exact_number_is_of_one_pair(
    verdict: str, said: str
) -> None:
    told = finding("x", verdict, verdict, evidence=evidence(value=0.5, lower=0.5, upper=0.5))
    told["witness"] = {"value": [0.0], "neighbour": [1.0]}
    assert sentence(told).startswith(f"Found ε = 0.5 {said}; promised ε ≤ 1.")


def test_a_claim_that_withstands_says_what_would_have_been_caught() -> None:
    power = {"quantity": "epsilon", "bound": "at most", "smallest": 1.25, "claimed": 1.0}
    power |= {"detection": 0.95, "factor": 1.25, "at": {}, "detail": "of a Laplace mechanism"}
    shown = evidence(kind="certified", value=0.3, lower=0.0, upper="inf", n_samples=2000)
    told = finding("x", "CONSISTENT", "CONSISTENT", evidence=shown, power=power)
    assert sentence(told) == (
        "Found ε ≥ 0 (no upper limit); promised ε ≤ 1. These 2000 calls would catch ε ≥ 1.25 "
        "(1.25 × the claim), of a Laplace mechanism, with 95 % probability."
    )


NUMBERS = st.floats(0, 50)


@given(lower=NUMBERS, value=NUMBERS, ends=st.tuples(NUMBERS, NUMBERS).map(sorted))
def test_the_estimate_that_is_shown_is_one(lower: float, value: float, ends: list[float]) -> None:
    """Its lower end is the test's, so that it never contradicts the verdict; it is in order."""
    decided = evidence(
        kind="certified", lower=lower, value=max(lower, value), upper="inf", confidence=0.999
    )
    other = {"quantity": "epsilon", "at": {}, "detail": "", "confidence": 0.95}
    other |= {"value": ends[0], "lower": 0.0, "upper": ends[1]}
    shown = shown_estimate(finding("x", "CONSISTENT", "", evidence=decided, estimates=[other]))
    assert shown["lower"] == lower
    assert lower <= shown["value"]
    if lower <= ends[1]:
        assert shown["value"] <= shown["upper"] == ends[1]
        assert shown["confidence"] == 0.95
    else:
        assert math.isinf(float(shown["upper"]))


def test_an_estimate_of_another_quantity_is_not_mixed_in() -> None:
    decided = evidence(kind="certified", value=2.0, lower=1.5, upper="inf")
    other = {"quantity": "delta", "at": {}, "detail": "", "confidence": 0.95}
    other |= {"value": 1.6, "lower": 1.0, "upper": 3.0}
    found = finding("x", "REFUTED", "", evidence=decided, estimates=[other])
    assert shown_estimate(found) == decided | {"value": 1.5}


@given(note=st.text())
@example(note="Not proved for every input: mine.py:13: no noise is added. Hint: add noise.")
def test_a_sentence_comes_from_fields_and_never_from_the_words_of_a_note(note: str) -> None:
    stopped = {"reason": "no noise is added", "location": {"file": "mine.py", "line": 13}}
    bound = evidence(kind="exact", lower=0.0, value=5.0, upper=5.0)
    for unproved in (None, stopped | {"hint": "add noise"}):
        fields = {"evidence": bound, "unproved": unproved}
        told = sentence(finding("x", "INCONCLUSIVE", "INCONCLUSIVE", **fields, note=note))
        assert told.startswith("Not proved for every input: mine.py:13: ") == bool(unproved)
        assert told.endswith(" Hint: add noise.") == bool(unproved)


def test_the_hint_of_a_proof_is_told_once() -> None:
    stopped = {"reason": "ε ≤ 2 is proved", "location": {"file": "mine.py", "line": 13}}
    stopped |= {"hint": "a scale ≥ 2 would prove it"}
    told = leak((270, 42)) | {"traced": TRACED, "location": PLACE, "unproved": stopped}
    assert (sentence(told) + note_of(told)).count("a scale ≥ 2 would prove it") == 1
    assert sentence(told).endswith(
        "At mine.py:13, Laplace noise of scale 0.5 is added on this pair; ε ≤ 2 is proved. "
        "Hint: a scale ≥ 2 would prove it."
    )
    assert "Not proved" not in note_of(told)


@pytest.mark.parametrize(
    ("draws", "least", "said"),
    [
        ([("laplace", 1.0)] * 2, 0.4, "mine.py:13 adds Laplace noise of scale 1, and the"),
        ([("laplace", 1.0), ("normal", 2.0)], 0.4, "mine.py:13: the"),
        ([], 0.0, "mine.py:13: the"),
    ],
)
def test_where_nothing_refutes_the_end_of_the_proof_comes_first(
    draws: list[tuple[str, float]], least: float, said: str
) -> None:
    read = PLACE | {"draws": [{"law": law, "scale": scale} for law, scale in draws]}
    stopped = {"reason": "the source proves only ε ≤ 2, but ε ≤ 1 is claimed", "location": PLACE}
    stopped |= {"hint": "a scale ≥ 2 would prove it", "source": [read], "bound": 2.0}
    shown = evidence(kind="certified", value=0.5, lower=least, upper="inf", n_samples=2000)
    told = finding("x", "INCONCLUSIVE", "INCONCLUSIVE", evidence=shown, unproved=stopped)
    seen = "; they show ε ≥ 0.4 with 100 % confidence" if least else ""
    assert sentence(told) == (
        f"Undecided: {said} source proves only ε ≤ 2, but ε ≤ 1 is claimed. Hint: a scale ≥ 2 "
        f"would prove it. The 2,000 calls refute nothing{seen}."
    )
    assert note_of(told) == told["note"]
    stream = io.StringIO()
    print_findings([told], Console(file=stream, width=200))
    assert told["note"] not in stream.getvalue()


def test_noise_that_another_line_uses_is_told_with_what_the_proof_says_of_its_use() -> None:
    used = {"file": "mine.py", "line": 14}
    read = {"private": [], "sensitivity": None, "unit": "ε", "share": None, "stops": False}
    source = [
        read | PLACE | {"text": "", "noise": ["normal noise"], "cost": None},
        read | used | {"text": "", "noise": [], "cost": "inf"},
    ]
    stopped = {"reason": "Gaussian noise has no pure ε", "location": used, "hint": "claim zCDP"}
    told = leak((270, 42)) | {"traced": TRACED, "location": PLACE}
    told["unproved"] = stopped | {"source": source}
    assert sentence(told).endswith("line 14: Gaussian noise has no pure ε. Hint: claim zCDP.")
    assert "Not proved" not in note_of(told)
    told["unproved"] = stopped | {"source": source[:1]}
    assert "Not proved for every input: mine.py:14" in note_of(told)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mean_loss": "inf"}, ""),
        ({"location": {"file": "mine.py", "line": 14}}, ""),
        (
            {"draws": 20.0, "share": 0.25},
            "noise of scale 0.5 is drawn 20 times, which causes 25 % of the loss.",
        ),
        (
            {"scale": "nan"},
            "At mine.py:13, Laplace noise is drawn once, which causes all of the loss.",
        ),
        (
            {"draws": 2.0, "law": "gumbel"},
            "noise by gumbel of scale 0.5 is drawn 2 times, which causes all of the loss.",
        ),
        ({"scale": 2.0}, "At mine.py:13, Laplace noise of scale 2 is added on this pair."),
        ({"law": "normal"}, "At mine.py:13, Gaussian noise of scale 0.5 is added on this pair."),
        (
            {"sensitivity": "nan"},
            "At mine.py:13, Laplace noise of scale 0.5 is added on this pair.",
        ),
    ],
)
def test_the_line_that_spends_is_told_from_its_numbers(changed: dict[str, Any], said: str) -> None:
    traced = TRACED | {"draws": [LINE | changed]}
    told = sentence(leak((270, 42)) | {"traced": traced, "location": PLACE})
    after = told.partition("Certified: ε ≥ 1.6.")[2].strip()
    assert after.endswith(said)
    assert bool(after) == bool(said)


@pytest.mark.parametrize(
    ("place", "blames", "said"),
    [
        (PLACE, True, "At mine.py:13, data is used"),
        (PLACE, False, "On this pair, data reaches the output"),
        (None, True, "On this pair, data reaches the output"),
    ],
)
def test_data_without_noise_is_told_with_its_line(
    place: dict[str, Any] | None, blames: bool, said: str
) -> None:
    seen = {"says": "data is returned", "location": PLACE, "paths": 3, "blames": blames}
    traced = {"draws": [], "leaks": [seen], "unfollowed": []}
    assert said in sentence(leak((270, 42)) | {"traced": traced, "location": place})


def test_an_event_of_one_number_is_that_output() -> None:
    of_one = leak((270, 42), event=[[math.nextafter(0.5, 0), 0.5]])
    assert " makes the output 0.5 about 6.4 times as likely" in sentence(of_one)
    few = leak((270, 42), event=[[0.5, 0.5 + 1e-9]])
    assert " makes the output about 0.5 about 6.4 times" in sentence(few)


@pytest.mark.parametrize(
    ("hits", "said"), [(629, "2.75 times as likely"), (640, "2.8 times as likely")]
)
def test_a_ratio_beside_what_is_allowed_has_the_digits_that_tell_them_apart(hits, said) -> None:
    """Of 2.72 that ε = 1 allows, 2.7 would be less."""
    finding_of = leak((hits, 229))
    counts = finding_of["evidence"]["sample"]["counts"]
    wide = [each | {"trials": 10_000} for each in counts]
    finding_of["evidence"]["sample"] |= {"counts": wide}
    assert said in sentence(finding_of)


@pytest.mark.parametrize(("verdict", "shown"), [("CONSISTENT", "≥ 0.7"), ("REFUTED", "≥ 0.2")])
def test_of_a_claim_that_withstands_the_larger_lower_end_is_shown(verdict: str, shown: str) -> None:
    test = evidence(
        kind="indicative", value=0.4, lower=0.2, upper="inf", confidence=0.999, n_samples=400
    )
    other = {"quantity": "epsilon", "at": {}, "detail": "", "confidence": 0.95}
    other |= {"value": 0.9, "lower": 0.7, "upper": "inf"}
    found = shown_estimate(finding("x", verdict, verdict, evidence=test, estimates=[other]))
    assert shown_numbers(found) == (shown, "")
    of_one = (found["confidence"], str(found["kind"]), found["n_samples"])
    whole = (0.95, "certified", None) if verdict == "CONSISTENT" else (0.999, "indicative", 400)
    assert of_one == whole
    beyond = other | {"lower": 1.1, "value": 1.2}
    kept = shown_estimate(finding("x", verdict, verdict, evidence=test, estimates=[beyond]))
    assert shown_numbers(kept) == ("≥ 0.2", "")


@pytest.mark.parametrize(
    ("chances", "value", "words"),
    [
        (
            (0.27, 0.0),
            "inf",
            "1 to 0 makes the output 0.5 possible (27 %), which was impossible; ε = 1",
        ),
        (
            (0.042, 0.27),
            1.861,
            "0 to 1 makes the output 0.5 about 6.4 times as likely (27 % against 4.2 %); ε = 1",
        ),
    ],
)
def test_a_computed_loss_is_told_by_an_output_and_both_probabilities(
    chances: tuple[float, float], value: object, words: str
) -> None:
    odds = {"output": 0.5, "value": chances[0], "neighbour": chances[1]}
    shown = evidence(kind="exact", value=value, lower=value, upper=value, odds=odds)
    case = {"value": [0.5] * 19 + [0.0], "neighbour": [0.5] * 19 + [1.0]}
    told = sentence(finding("x", "REFUTED", "REFUTED", evidence=shown, witness=case))
    end = f"allows 2.72 times. Exact: ε = {number(value)}."
    assert told == f"With 20 records, changing one from {words} {end}"


@pytest.mark.parametrize(
    ("event", "rarer", "words"),
    [
        ([[0.5, "inf"]], 0.042, "an output above 0.5 about 6.4 times as likely (27 % against"),
        (
            {"feature": {"kind": "coordinate", "index": 2}, "intervals": [["-inf", 0.5]]},
            0.0,
            "an output whose entry 2 is at most 0.5 possible (27 %), which was as good as",
        ),
    ],
)
def test_noise_that_refutes_is_told_by_an_event_of_the_output(
    event: Any, rarer: float, words: str
) -> None:
    odds = {"output": None, "event": event, "value": 0.27, "neighbour": rarer}
    shown = evidence(kind="certified", value=2.0, lower=1.9, upper="inf", odds=odds)
    case = {"value": [1.0, 0.0], "neighbour": [0.0, 0.0]}
    told = sentence(finding("x", "REFUTED", "REFUTED", evidence=shown, witness=case))
    assert f"changing one from 0 to 1 makes {words}" in told
    assert told.endswith("ε = 1 allows 2.72 times. Certified: ε ≥ 1.9.")


def test_last_bits_that_refute_are_named_as_the_cause_with_the_remedy() -> None:
    cause = "the release reveals data through its floating-point representation: ... Round it: page"
    event = {"feature": {"kind": "trailing-zeros"}, "intervals": [[3.0, "inf"]]}
    told = sentence(leak((270, 42), event=event, representation=cause) | {"location": PLACE})
    assert "makes an output with at least 4 trailing zero bits about 6.4 times" in told
    assert told.endswith(f"Certified: ε ≥ 1.6. T{cause[1:]}")


def test_a_check_that_failed_says_why_and_what_to_do() -> None:
    failed = finding("x", "ERROR", "CONSISTENT", evidence=None, error="the target raised")
    assert sentence(failed) == "The target raised"
    assert sentence(failed | {"hint": "call it"}) == "The target raised. Hint: call it."


@pytest.mark.parametrize(
    ("interval", "outside", "words"),
    [
        ([-math.inf, 0.5], False, "an output of at most 0.5"),
        ([-math.inf, math.nextafter(1.0, 0.0)], False, "an output below 1"),
        ([0.5, math.inf], False, "an output above 0.5"),
        ([math.nextafter(1.0, 0.0), math.inf], False, "an output of at least 1"),
        ([math.nextafter(1.0, 0.0), math.inf], True, "an output below 1"),
    ],
)
def test_a_limit_beside_the_number_that_is_printed_is_told_apart(
    interval: list[float],
    outside: bool,
    words: str,
) -> None:
    assert _event([interval], outside=outside) == words


@pytest.mark.parametrize(("samples", "said"), [(0, "Nothing was compared."), (9, "Found ")])
def test_of_no_printed_number_that_was_compared_no_share_is_told(samples: int, said: str) -> None:
    shown = evidence(quantity="misprints", kind="certified", value=0.0, lower=0.0, upper=1.0)
    shown |= {"claimed": 0.0, "n_samples": samples}
    told = sentence(finding("x", "INCONCLUSIVE", "CONSISTENT", evidence=shown))
    assert told.startswith(said)
    assert ("[0 %, 100 %]" in told) == bool(samples)
    assert bool(shown_numbers(shown)[1]) == bool(samples)


def test_the_name_of_a_file_keeps_its_letter() -> None:
    assert _capital("mine.py:none returned None") == "mine.py:none returned None"
    assert _capital("found nothing") == "Found nothing"


@pytest.mark.parametrize(("line", "named"), [(13, True), (14, False)])
def test_a_refutation_of_read_code_says_where_no_line_can_be_named(line: int, named: bool) -> None:
    stopped = {"reason": "any of records is not followed", "location": None, "hint": ""}
    traced = TRACED | {"draws": [LINE | {"location": {"file": "mine.py", "line": line}}]}
    told = leak((270, 42)) | {"traced": traced, "location": PLACE, "unproved": stopped}
    assert ("which line causes it" in sentence(told)) != named
