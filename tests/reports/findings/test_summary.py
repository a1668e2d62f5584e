from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.report_document import HOSTILE, document, evidence, finding

from dpcp_audit.reports.formats.ci import render_junit
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown
from dpcp_audit.reports.sentences import power_sentence
from dpcp_audit.reports.severity import breach
from dpcp_audit.reports.summary import read
from dpcp_audit.reports.terminal import summary_line
from dpcp_audit.words.formatting import interval, number, plain, telling_digits


def test_contradictions_stand_first_then_the_worst_verdicts_then_the_documents_order() -> None:
    reading = read(
        document(
            finding("p", "PROVED", "PROVED"),
            finding("c", "CONSISTENT", "PROVED"),
            finding("r2", "REFUTED", "REFUTED"),
            finding("e", "ERROR", "PROVED", evidence=None),
            finding("i", "INCONCLUSIVE", "PROVED"),
            finding("r1", "REFUTED", "REFUTED"),
            finding("x", "PROVED", "REFUTED", contradicts=True),
        )
    )
    assert [entry.id for entry in reading.entries] == ["x", "r2", "r1", "e", "i", "c", "p"]


def test_ids_that_look_alike_get_anchors_of_their_own() -> None:
    names = ["a[b]", "a-b", "a.b", "A-B", "a-b-2"]
    reading = read(document(*(finding(name, "PROVED", "PROVED") for name in names)))
    anchors = [entry.anchor for entry in reading.entries]
    assert len(set(anchors)) == len(names)
    assert not any(character.isspace() for anchor in anchors for character in anchor)


@pytest.mark.parametrize(
    ("findings", "headline"),
    [
        ([finding("a", "PROVED", "PROVED")], "The claim is proved"),
        ([finding("a", "REFUTED", "REFUTED")], "The claim is refuted"),
        ([finding(n, "REFUTED", "REFUTED") for n in "ab"], "Both claims are refuted"),
        ([finding(n, "PROVED", "PROVED") for n in "ab"], "Both claims are proved"),
        ([finding(n, "ERROR", "PROVED") for n in "ab"], "None of 2 claims could be checked"),
        ([finding(n, "INCONCLUSIVE", "PROVED") for n in "ab"], "None of 2 claims could be decided"),
    ],
)
def test_the_headline_is_grammatical(findings: list[dict[str, Any]], headline: str) -> None:
    assert read(document(*findings)).headline == headline


@pytest.mark.parametrize(
    ("verdicts", "meaning"),
    [
        (["ERROR", "INCONCLUSIVE"], "No claim could be decided"),
        (["PROVED"], "1 claim is proved for every case that its statement names."),
        (["CONSISTENT", "REFUTED"], "1 claim is not refuted."),
        (["CONSISTENT", "CONSISTENT"], "2 claims are not refuted."),
    ],
)
def test_the_meaning_is_grammatical(verdicts: list[str], meaning: str) -> None:
    claims = (finding(str(i), verdict, "PROVED") for i, verdict in enumerate(verdicts))
    said = read(document(*claims)).meaning
    assert meaning in said
    assert ("do not rely on it" in said) == ("REFUTED" in verdicts)


def test_an_empty_run_says_so() -> None:
    nothing = document() | {"findings": []}
    assert read(nothing).headline == "No claim was tested"
    assert "Claims of" not in render_markdown(nothing)


def test_a_run_that_was_stopped_says_so_before_its_verdicts_and_where_it_is_signed() -> None:
    stopped = read(document(finding("a", "PROVED", "PROVED"), complete=False))
    assert stopped.headline == "Stopped after 1 claim: the claim is proved"
    assert stopped.scope.startswith("INCOMPLETE: ")


@pytest.mark.parametrize("version", ["1.1", "20.1", None])
def test_another_schema_is_refused(version: str | None) -> None:
    with pytest.raises(ValueError, match=r"document must have schema_version 2\.x, got"):
        read(document(schema_version=version))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0, "0"),
        (-0.0, "0"),
        (2.0, "2"),
        (0.0641372, "0.06414"),
        (1.3e-5, "1.3·10⁻⁵"),
        (1e-300, "10⁻³⁰⁰"),
        (11080, "11,080"),
        (11080.4, "11,080"),
        (1e12, "1,000,000,000,000"),
        (1.23456e18, "1.235·10¹⁸"),
        ("inf", "∞"),
        ("-inf", "-∞"),
        ("nan", "not a number"),
    ],
)
def test_numbers_are_short(value: object, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize("value", [True, [], "two", {}])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="value must be a number, got"):
        number(value)


def test_measured_and_claimed_numbers_that_differ_look_different() -> None:
    close = evidence(value=1.00004, lower=1.00004, upper=1.00004, claimed=1.0)
    (entry,) = read(document(finding("a", "REFUTED", "REFUTED", evidence=close))).entries
    assert (entry.measured, entry.claimed) == ("1.00004", "1")


def test_rounding_errors_do_not_lengthen_numbers() -> None:
    assert telling_digits(evidence(value=1 + 1e-13, lower=1.0, upper=1 + 1e-13)) == 4


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ({"lower": 1.5, "upper": "inf"}, "(≥ 1.5)"),
        ({"lower": "-inf", "upper": 0.3}, "(≤ 0.3)"),
        ({"lower": "-inf", "upper": "inf"}, ""),
        ({"lower": 0.0812349, "upper": 0.1234561}, "[0.08123, 0.1235]"),
        ({"lower": 1.0 + 1e-13, "upper": "inf"}, "(> 1)"),  # refuted: must not read as ≥ 1
        ({"lower": 1.00004, "upper": 3.0}, "[1.00004, 3]"),
        ({"lower": 0.2, "upper": 1.0 - 1e-13}, "[0.2, 1)"),
        ({"lower": 0.2, "upper": 1.0}, "[0.2, 1]"),
    ],
)
def test_intervals_are_rounded_outward_and_agree_with_the_verdict(
    ends: dict[str, Any], shown: str
) -> None:
    assert interval(evidence(kind="certified", **ends)) == shown


def test_runs_of_one_number_are_written_as_python_repeats_them() -> None:
    value = [0.0] * 45 + [1.0] * 4 + [0.5]
    text = plain({"value": value})
    assert text == '{\n  "value": [0.0] * 45 + [1.0] * 4 + [0.5]\n}'
    assert eval(text) == {"value": value}  # noqa: S307  (a witness can be pasted)
    whole = [i / 7 for i in range(1000)]
    assert eval(plain(whole)) == whole  # noqa: S307


def test_a_long_list_says_how_much_it_leaves_out() -> None:
    text = plain({"scores": list(range(100_000))})
    assert "… 99,980 more" in text
    assert len(text) < 400


def test_what_could_not_be_run_stands_in_every_report() -> None:
    """A recipe whose library is missing: its name and the reason, escaped."""
    skipped = [{"name": "recipe-x", "reason": f"install it\x1b {HOSTILE}"}]
    left_out = document(skipped=skipped)
    assert [(each.name, each.reason[:11]) for each in read(left_out).skipped] == [
        ("recipe-x", "install it\ufffd")
    ]
    page, text, xml = (render(left_out) for render in (render_html, render_markdown, render_junit))
    assert "<bdi>recipe-x</bdi>: <bdi>install it\ufffd &lt;script&gt;" in page
    assert "**Not run here:**\n\n- recipe-x: install it" in text
    suites = {suite.get("name"): suite for suite in ET.fromstring(xml)}  # noqa: S314  (ours)
    suite = suites["not run here"]
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("1", "1", "0")
    assert suite[1][0].get("message") == f"install it\ufffd {HOSTILE}"
    nothing = document()
    for render in (render_html, render_markdown, render_junit):
        assert "not run here" not in render(nothing).lower()


def seen(quantity: str, smallest: float | str, claimed: float, **more: Any) -> dict[str, Any]:
    base = {"bound": "at most", "detection": 0.95, "factor": 2.0, "at": {}, "detail": ""}
    return base | {"quantity": quantity, "smallest": smallest, "claimed": claimed} | more


def test_powers_say_what_is_true() -> None:
    assert power_sentence(seen("rho", "inf", 0.5)) == "This check would catch no violation."
    blind = seen("miscoverage", "inf", 0.05, why="without any τ the bound would hold")
    assert power_sentence(blind, 40) == (
        "These 40 calls would catch no violation, because without any τ the bound would hold."
    )
    exact = seen("rho", 0.5, 0.5, detection=1.0, factor=1.0)
    assert power_sentence(exact) == ("This check would catch anything beyond the claim.")
    covers = seen("coverage", 0.89, 0.9, bound="at least", factor=1.1)
    assert power_sentence(covers) == (
        "This check would catch coverage ≤ 89 % (1.1 × the miscoverage allowed) with 95 % "
        "probability."
    )


def test_a_power_without_end_is_left_out_of_the_summary() -> None:
    claim = finding("a", "CONSISTENT", "PROVED", power=seen("epsilon", 0.1, 0.0, factor="inf"))
    assert "1 claim is not refuted." in read(document(claim)).meaning


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ({"value": 1 / 3, "lower": 1 / 3, "upper": 1 / 3 + 1e-12, "claimed": 1 / 3}, ""),
        ({"value": 0.3, "lower": 0.3, "upper": 1 / 3, "claimed": 1 / 3}, "[0.3, 0.3333]"),
        (
            {"value": 12345.7, "lower": 12345.678, "upper": 12346.2, "claimed": 12345.6},
            "(12,346, 12,347]",
        ),
    ],
)
def test_an_end_at_the_claim_is_printed_as_the_claim(numbers: dict[str, Any], shown: str) -> None:
    assert interval(evidence(**numbers)) == shown


def test_the_headline_and_the_table_print_the_same_bound() -> None:
    found = evidence(
        kind="certified", quantity="rho", value=5.0, lower=3.42581, upper="inf", claimed=0.5
    )
    assert (breach(found).found, breach(found).surety) == ("ρ ≥ 3.425", "sampled, no upper limit")
    assert interval(found) == "(≥ 3.425)"
    barely = evidence(
        kind="certified", quantity="rho", value=1.0, lower=0.5 + 1e-15, upper="inf", claimed=0.5
    )
    assert breach(barely).found == "ρ > 0.5"
    between = breach(found | {"upper": 6.0})
    assert (between.found, between.surety) == ("ρ = 5", "ρ ≥ 3.425, sampled")


def test_of_a_run_about_its_controls_these_come_first() -> None:
    controls = [
        finding(name, "REFUTED", "REFUTED") | {"standing": "control"} for name in ("a", "b", "c")
    ]
    twins = [finding("d", "CONSISTENT", "CONSISTENT"), finding("e", "PROVED", "PROVED")]
    caught = read(document(*controls, *twins))
    assert caught.headline == "All 3 controls are caught; none of 2 claims is refuted"
    missed = read(document(*controls[:2], controls[2] | {"verdict": "CONSISTENT"}, *twins))
    assert missed.headline == "2 of 3 controls are caught; none of 2 claims is refuted"


def test_the_banner_says_what_it_does_not_mean() -> None:
    assert "not a proof" in read(document(finding("c", "CONSISTENT", "PROVED"))).caution
    assert "listed here" in read(document(finding("r", "REFUTED", "PROVED"))).caution


def test_one_claim_of_unknown_power_hides_not_what_would_have_been_seen() -> None:
    def tried(name: str, factor: float | str) -> dict[str, Any]:
        power = {
            "quantity": "epsilon",
            "bound": "at most",
            "smallest": 2.0,
            "claimed": 1.0,
            "detection": 0.95,
            "at": {},
            "detail": "",
            "factor": factor,
        }
        return finding(name, "CONSISTENT", "CONSISTENT") | {"power": power}

    seen = (
        "a violation of the named kind, by a factor of 2 or more, would have been refuted with "
        "probability 0.95"
    )
    assert (
        f"2 claims are not refuted; {seen}"
        in read(document(tried("a", 2.0), tried("b", 1.5))).meaning
    )
    assert (
        f"2 claims are not refuted; for 1 of them, {seen}"
        in read(document(tried("a", 2.0), tried("b", "inf"))).meaning
    )


def test_a_run_of_proofs_speaks_of_no_false_alarms() -> None:
    drawn = evidence(kind="certified", n_samples=100, confidence=0.999)
    proved = document(finding("a", "PROVED", "PROVED"))
    mixed = document(*proved["findings"], finding("b", "CONSISTENT", "PROVED", evidence=drawn))
    tried = {"cases": 3, "of": "pairs of neighbours", "sizes": [9], "calls": 600, "planned": 600}
    beside = document(finding("a", "PROVED", "PROVED", extent=tried))
    for found, said in ((proved, False), (mixed, True), (beside, True)):
        reading = read(found)
        assert ("this run would refute" in reading.assurance) is said
        assert any("false-alarm" in limit for limit in reading.limits) is said
        assert ("false-alarm" in summary_line(found)) is said
        assert "rests on the assumptions and rules" in reading.assurance


def test_what_a_search_has_tried_and_the_line_stand_in_every_report() -> None:
    pytest.importorskip("jinja2")
    searched = {"cases": 3, "of": "pairs of neighbours", "sizes": [1, 20], "calls": 600}
    place = {"file": "mine.py", "line": 3, "text": "q + rng.laplace(0, 1)"}
    found = finding("a", "REFUTED", "CONSISTENT", contradicts=True, location=place)
    run = document(found | {"extent": searched | {"planned": 2000}})
    for shown in (render_markdown(run), render_html(run)):
        assert "3 pairs of neighbours at n = 1 and 20, in 600 of 2,000 calls" in shown
        assert "mine.py:3: q + rng.laplace(0, 1)" in shown


def test_what_is_not_decided_says_why_unfolded() -> None:
    stopped = {"reason": "a loop is not followed", "location": None, "hint": ""}
    open_ = finding("a", "INCONCLUSIVE", "CONSISTENT", unproved=stopped, note="Few calls.")
    shown = render_markdown(document(open_)).partition("<details>")[0]
    assert "Not decided" in shown
    assert "Few calls. Not proved for every input: a loop is not followed." in shown


def test_reports_begin_with_their_date_command_and_commit() -> None:
    pytest.importorskip("jinja2")
    origin = {"finished": "2026-01-02T03:04:05Z", "command": "dpcp-audit run", "revision": "abc"}
    run = document(provenance=origin)
    heads = render_markdown(run).partition("Claims of")[0], render_html(run).partition("<main>")[0]
    for head in heads:
        assert all(said in head for said in origin.values())
