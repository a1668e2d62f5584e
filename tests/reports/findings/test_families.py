"""Findings in families, on one scale, and which comes first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.report_document import document, evidence, finding

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.engine.suites import suite
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.families import FARTHEST, families, lanes, position
from dpcp_audit.reports.sentences import shown_numbers
from dpcp_audit.reports.severity import breach
from dpcp_audit.reports.summary import read
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Claim, Finding, Source, Verdict

if TYPE_CHECKING:
    from dpcp_audit.reports.families import _FindingMark


def refuted(name: str, value: float, **changes: Any) -> dict[str, Any]:
    return finding(
        name,
        "REFUTED",
        "REFUTED",
        evidence=evidence(**{"value": value, "lower": value, "upper": value} | changes),
    )


def rate(value: float, claimed: float = 0.1, quantity: str = "coverage-failure") -> dict[str, Any]:
    return evidence(
        kind="certified",
        quantity=quantity,
        detail="",
        value=value,
        lower=value - 0.05,
        upper=1.0,
        claimed=claimed,
        n_samples=100,
        confidence=0.999,
    )


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ({"value": 2.0, "claimed": 1.0}, 2.0),
        ({"value": "inf", "claimed": 1.0}, math.inf),
        ({"quantity": "rho", "value": 5.0, "claimed": 0.5}, 10.0),
        ({"quantity": "delta", "at": {"epsilon": 1.0}, "value": 0.55, "claimed": 0.11}, 5.0),
        ({"quantity": "coverage", "value": 0.45, "claimed": 0.9, "bound": "at least"}, 5.5),
        ({"quantity": "coverage", "value": 0.99, "claimed": 0.9}, 1.1),
        ({"quantity": "miscoverage", "value": 0.2, "claimed": 0.1}, 2.0),
        ({"quantity": "difference", "value": 0.9, "claimed": 0.0}, math.inf),
        ({"quantity": "renyi-divergence", "value": 4.0, "claimed": 1.0}, 4.0),
        ({"quantity": "true-positive-rate", "value": 0.9, "claimed": 0.3}, 3.0),
        ({"quantity": "attack-success", "value": 0.9, "claimed": 0.3}, 3.0),
        ({"value": 0.5, "claimed": 1.0}, 1.0),
        ({"value": "nan", "claimed": 1.0}, 1.0),
        ({"value": 2.0, "claimed": None}, 1.0),
    ],
)
def test_rank_is_how_many_times_worse_than_promised(changes: dict[str, Any], times: float) -> None:
    value = changes["value"]
    found = breach(evidence(**{"lower": value, "upper": value} | changes))
    assert found.times == pytest.approx(times)


def test_the_end_of_the_interval_that_is_nearest_to_the_claim_counts() -> None:
    wide = evidence(value=5.0, lower=1.2, upper="inf", kind="certified")
    assert breach(wide).times == pytest.approx(1.2)
    covers = evidence(
        quantity="coverage", value=0.5, lower=0.4, upper=0.72, claimed=0.9, bound="at least"
    )
    assert breach(covers).times == pytest.approx(2.8)


@pytest.mark.parametrize(
    ("upper", "found"), [(7.2, "ε = 7.2"), (91.7, "ε ≥ 7.2"), ("inf", "ε ≥ 7.2")]
)
def test_a_computed_number_known_from_below_alone_is_not_said_to_be_the_loss(
    upper: object, found: str
) -> None:
    assert breach(evidence(value=7.2, lower=7.2, upper=upper, kind="exact")).found == found


def test_of_calls_that_stopped_when_they_refuted_the_certified_end_is_what_was_found() -> None:
    few = evidence(
        kind="certified",
        quantity="coverage",
        bound="at least",
        claimed=0.9,
        value=0.2,
        lower=0.0,
        upper=0.888,
        n_samples=10,
        sample={"any_time": True},
    )
    found = breach(few)
    assert (found.found, found.surety) == ("≤ 88.8 %", "sampled, 20 % over 10 calls")
    assert shown_numbers(few) == ("≤ 0.888", "(0.2 over 10 calls)")
    assert breach(few | {"upper": 0.95}).found == "20 %"
    entries = read(document(finding("a", "REFUTED", "PROVED", evidence=few))).entries
    facts = dict(entries[0].facts)
    assert (facts["Measured"], facts["Interval"]) == ("≤ 0.888 (0.2 over 10 calls)", "[0, 0.888]")
    ((mark,),) = (lane.marks for lane in lanes(families(entries)))
    assert mark.place == position(1.12)


def test_each_promise_that_is_stated_of_code_has_a_lane_of_its_own() -> None:
    claims = [finding(name, "PROVED", "PROVED", subject="f") for name in ("f[a]", "f[b]")]
    stated = document(*(each | {"standing": "stated"} for each in claims))
    assert [lane.name for lane in read(stated).lanes] == ["f[a]", "f[b]"]
    assert [lane.name for lane in read(document(*claims)).lanes] == ["f"]


@pytest.mark.parametrize("quantity", list(Quantity))
@pytest.mark.parametrize("bound", list(Bound))
def test_every_quantity_says_what_a_refutation_means(quantity: Quantity, bound: Bound) -> None:
    found = breach(evidence(quantity=str(quantity), bound=str(bound), value=0.5, claimed=0.25))
    assert found.consequence
    assert found.promised.startswith(f"{quantity.unit} {bound.sign} ".lstrip())
    assert (found.guarantee) == (found.consequence != "Not true as stated") or (
        quantity in {Quantity.FAILURE, Quantity.MISPRINTS} or bound is not quantity.bound
    )


def test_a_coverage_that_falls_short_with_confidence_does_not_cover_more() -> None:
    """The share of calibrations that miss the bound: larger is worse, coverage or not."""
    found = breach(rate(0.4))
    assert (found.guarantee, found.consequence) == (True, "Misses its coverage bound")
    assert (found.promised, found.found) == ("≤ 10 % of runs", "40 % of runs")
    assert found.surety == "≥ 35 % of runs, sampled"
    rank = breach(rate(1.0, quantity="failure"))
    assert (rank.guarantee, rank.consequence) == (False, "Misses its bound")
    short = evidence(quantity="coverage", value=0.8, claimed=0.9, bound="at least")
    assert breach(short).consequence == "Covers less than promised"
    assert breach(short | {"bound": "at most"}).consequence == "Covers more than promised"


def test_a_loss_ten_times_the_claim_goes_before_a_coverage_miss_of_a_tenth_of_a_percent() -> None:
    misses = evidence(quantity="coverage", value=0.899, lower=0.8, upper=0.899, claimed=0.9)
    reading = read(
        document(
            finding("short.x", "REFUTED", "REFUTED", evidence=misses | {"bound": "at least"}),
            refuted("zcdp.x", 5.0, quantity="rho", detail="", claimed=0.5),
        )
    )
    assert [entry.id for entry in reading.entries] == ["zcdp.x", "short.x"]
    worst = reading.entries[0].breach
    assert (worst.consequence, worst.promised, worst.found) == (
        "Leaks more than promised",
        "ρ ≤ 0.5",
        "ρ = 5",
    )


def test_the_worst_family_leads_and_what_a_user_relies_on_goes_before_a_remark() -> None:
    reading = read(
        document(
            finding("fine.x", "PROVED", "PROVED"),
            refuted("remark.x", 1e9, quantity="count", claimed=1.0),
            refuted("mild.x", 1.1),
            finding("severe.x", "REFUTED", "REFUTED", statement="covers", evidence=rate(1.0)),
        )
    )
    assert [family.name for family in reading.families] == [
        "severe.x",
        "mild.x",
        "remark.x",
        "fine.x",
    ]
    assert [family.name for family in reading.broken] == ["severe.x", "mild.x", "remark.x"]
    assert [family.name for family in reading.sound] == ["fine.x"]


def test_the_worst_variant_speaks_for_its_claim() -> None:
    reading = read(document(refuted("a[n=1]", 1.5), refuted("a[n=2]", 9.0), refuted("a[n=3]", 2.0)))
    (family,) = reading.families
    assert [entry.id for entry in family.broken] == ["a[n=2]"]
    assert family.tally == "3 refuted"


def test_controls_and_readings_are_counted_apart() -> None:
    reading = read(
        document(
            refuted("split[attack=sets]", 99.0) | {"standing": "control", "subject": "Split"},
            refuted("t[coverage=conditional]", 50.0) | {"standing": "reading", "subject": "T"},
            refuted("exponq[x=1]", 1.1) | {"subject": "ExponQ, privacy"},
        )
    )
    assert reading.headline == "The claim is refuted"
    assert [family.name for family in reading.broken] == ["ExponQ, privacy"]
    assert reading.families[0].name == "ExponQ, privacy"
    assert [family.name for family in reading.apart] == ["T"]
    assert [family.name for family in reading.controls] == ["Split"]
    assert "excludes 1 claim as stated" in reading.meaning
    apart = "1 other reading of a printed sentence and 1 control, known to be false and caught."
    assert f"counted separately: {apart}" in reading.meaning


def test_printed_claims_and_readings_of_a_family_are_labelled() -> None:
    reading = read(
        document(
            refuted("t[coverage=conditional]", 50.0) | {"standing": "reading", "subject": "T"},
            refuted("t[n=50]", 1.1) | {"subject": "T"},
            finding("t[n=500]", "PROVED", "PROVED") | {"subject": "T"},
            finding("t[bound=doubled]", "PROVED", "PROVED", standing="corrected", subject="T"),
            refuted("mine", 1.1) | {"subject": "Mine", "standing": "stated"},
        )
    )
    (printed,) = (family for family in reading.families if family.name == "T")
    assert [(each.id, each.label) for each in printed.refuted] == [
        ("t[n=50]", "as printed"),
        ("t[coverage=conditional]", "a reading"),
    ]
    assert {each.label for each in reading.entries} == {"as printed", "a reading", "corrected", ""}


def sized(case: dict[str, Any], n: int, verdict: str = "PROVED", **changes: Any) -> dict[str, Any]:
    name = f"t[{case},n={n}]"
    made = refuted(name, 2.0) if verdict == "REFUTED" else finding(name, verdict, "PROVED")
    return made | {"subject": "T", "parameters": {**case, "n": n}} | changes


def test_claims_at_many_sizes_become_a_map_of_where_they_fail() -> None:
    beta = {"population": "beta(5,0.2)", "epsilon": 4.0}
    claims = [sized(beta, n, "REFUTED" if n > 1000 else "PROVED") for n in (500, 10_000, 10**6)]
    claims += [sized({"population": "uniform"}, n) for n in (500, 10_000)]
    claims += [sized({"population": "uniform"}, 10**6, "ERROR", evidence=None)]
    claims += [sized({"population": "other"}, 500)]
    (family,) = families(read(document(*claims)).entries)
    assert family.figures == ()
    more = [sized({"population": "late"}, n) for n in (500, 10_000)]
    (family,) = families(read(document(*claims, *more)).entries)
    (figure,) = family.figures
    assert figure["columns"] == ["500", "10⁴", "10⁶"]
    assert [row["name"] for row in figure["series"]] == ["beta(5,0.2), ε=4", "uniform", "late"]
    assert figure["series"][0]["texts"] == ["2", "✕ 2", "✕ 2"]
    assert figure["series"][0]["y"][0] == 0.0
    assert figure["series"][0]["y"][1] > 0
    assert figure["series"][1]["y"][2] == "nan"


def test_the_suite_of_theorems_is_mapped_over_n() -> None:
    """Its maps have the scores, and whatever else varies within a claim, as their rows."""
    claims = [row.claim for row in suite("theorems")]
    made = [
        finding(claim.id, "PROVED", "PROVED")
        | {"subject": claim.subject, "parameters": claim.parameters}
        | {"source": {"paper": claim.source.paper, "section": claim.source.section}}
        for claim in claims
    ]
    figures = [
        figure for family in families(read(document(*made)).entries) for figure in family.figures
    ]
    titles = [figure["title"].partition(":")[0] for figure in figures]
    assert len(set(titles)) == len(titles)
    assert set(titles) == {
        "LDP-CP-S, coverage (Theorem 4)",
        "LDP-CP-L, coverage (Theorem 1)",
        "LDP-CP-L, coverage (Theorem 3)",
        "P-COQS, rank error (Proposition 1)",
        "P-COQS, coverage (Theorem 1)",
        "P-COQS, coverage (Corollary 1)",
        "P-COQS, coverage (Section 4, after Theorem 1)",
        "ExponQ, coverage (Theorem 1)",
        "HistLap, coverage (Section 5, HistLap)",
        "Split conformal prediction, coverage (Split conformal prediction)",
    }
    shown = {row["name"] for figure in figures for row in figure["series"]}
    assert {"uniform", "uniform, ρ=0.05", "beta(5,0.2), upper-end, ε=4"} <= shown


IDS = ("ldpcp.krr", "ldpcp.shuffle[n=2452]", "histlap.privacy[scale=1/epsilon]")


@pytest.fixture(scope="module")
def placed() -> dict[str, Any]:
    unknown = Claim(id="x", statement="s", source=Source(paper="P", section="1"), expected=None)
    found = [check(id_, RunSettings()) for id_ in IDS]
    found.append(Finding(claim=unknown, outcome=None, error="ValueError: planted"))
    return to_document(RunSettings(), found, seconds=1.0, complete=True)


def marks(placed: dict[str, Any]) -> dict[str, _FindingMark]:
    found = lanes(read(placed).families)
    return {mark.told.partition(":")[0]: mark for lane in found for mark in lane.marks}


def test_a_claim_that_is_attained_lies_at_its_promise(placed: dict[str, Any]) -> None:
    assert marks(placed)["ldpcp.krr"].place == 50.0


def test_twice_as_much_lies_where_two_is_on_the_scale(placed: dict[str, Any]) -> None:
    mark = marks(placed)["histlap.privacy[scale=1/epsilon]"]
    assert mark.verdict is Verdict.REFUTED
    assert mark.place == pytest.approx(50 + 50 * math.log(2) / math.log(FARTHEST), abs=0.02)
    assert mark.apart


def test_what_has_no_number_has_no_place(placed: dict[str, Any]) -> None:
    assert set(marks(placed)) == set(IDS)


@given(st.floats(min_value=0.0), st.floats(min_value=0.0))
def test_worse_is_never_farther_left(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= position(low) <= position(high) <= 100


def test_only_claims_as_they_are_made_colour_the_bar(placed: dict[str, Any]) -> None:
    reading = read(placed)
    assert reading.counted_apart == (1, 1)
    assert sum(count for _, count in reading.tally) == len(placed["findings"]) - 1


def test_controls_alone_have_a_headline_of_their_own(placed: dict[str, Any]) -> None:
    controls = [
        finding | {"standing": "control"}
        for finding in placed["findings"]
        if finding["verdict"] == "REFUTED"
    ]
    reading = read(placed | {"findings": controls, "overview": None})
    assert reading.headline == "2 of 2 controls, known to be false, are caught"
    assert reading.caught == 2
    assert reading.counted_apart == (0, 0)
