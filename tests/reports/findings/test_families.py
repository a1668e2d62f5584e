"""Which mechanism a report names first, and in which words."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.report_document import document, evidence, finding

from dpcp_audit._format import clipped, gist, printable, share
from dpcp_audit.engine.suites import suite
from dpcp_audit.reports.findings.families import families
from dpcp_audit.reports.findings.severity import Promise, breach
from dpcp_audit.reports.findings.summary import read


def refuted(name: str, value: float, **changes: Any) -> dict[str, Any]:
    return finding(
        name,
        "REFUTED",
        "REFUTED",
        evidence=evidence(**{"value": value, "lower": value, "upper": value} | changes),
    )


def rate(value: float, claimed: float = 0.1) -> dict[str, Any]:
    return evidence(
        kind="certified",
        quantity="failure probability",
        value=value,
        lower=value - 0.05,
        upper=1.0,
        claimed=claimed,
        n_samples=100,
        confidence=0.999,
    )


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"value": 2.0, "claimed": 1.0}, 1 - (1 + math.e) / (1 + math.e**2)),  # of 1 − tanh(ε/2)
        ({"value": "inf", "claimed": 1.0}, 1.0),
        ({"value": 5000.0, "claimed": 1000.0}, 1.0),
        ({"quantity": "δ(ε=1)", "value": 0.55, "claimed": 0.1}, 0.5),
        ({"quantity": "mean coverage", "value": 0.45, "claimed": 0.9, "bound": "at least"}, 0.5),
        ({"quantity": "mean coverage", "value": 0.95, "claimed": 0.9}, 0.5),
        ({"quantity": "largest |E[Z]|", "value": 0.9, "claimed": 0.0}, 1.0),
        ({"quantity": "D_α at α=2", "value": 4.0, "claimed": 1.0}, 0.75),
        ({"value": 0.5, "claimed": 1.0}, 0.0),
        ({"value": "nan", "claimed": 1.0}, 0.0),
        ({"value": 2.0, "claimed": None}, 0.0),
    ],
)
def test_severity_is_the_share_of_the_promise_that_is_gone(
    changes: dict[str, Any], severity: float
) -> None:
    value = changes["value"]
    found = breach(evidence(**{"lower": value, "upper": value} | changes), "")
    assert found.severity == pytest.approx(severity, abs=1e-12)


def test_severity_takes_the_end_of_the_interval_that_is_nearest_to_the_claim() -> None:
    wide = evidence(value=5.0, lower=1.2, upper="inf", kind="certified")
    assert breach(wide, "").severity == pytest.approx(1 - (1 + math.e) / (1 + math.exp(1.2)))
    covers = evidence(
        quantity="mean coverage", value=0.5, lower=0.4, upper=0.72, claimed=0.9, bound="at least"
    )
    assert breach(covers, "").severity == pytest.approx(0.2)


def test_the_words_tell_a_coverage_bound_from_another() -> None:
    coverage = breach(rate(1.0), "LDP-CP covers at least 1−α")
    assert (coverage.promise, coverage.consequence) == (
        Promise.GUARANTEE,
        "Misses its coverage bound",
    )
    assert (coverage.promised, coverage.found) == ("≤ 10 % of runs", "100 % of runs")
    assert coverage.surety == "≥ 95 % of runs, sampled"
    rank = breach(rate(1.0), "the rank error is at most τ*")
    assert (rank.promise, rank.consequence) == (Promise.STATEMENT, "Misses its bound")


def test_a_spread_of_coverages_is_no_coverage() -> None:
    spread = breach(evidence(quantity="printed spread of P-COQS's coverage", value=57.0), "")
    assert (spread.promise, spread.consequence) == (Promise.STATEMENT, "Not true as stated")


def test_the_worst_family_leads_and_what_a_user_relies_on_goes_before_a_remark() -> None:
    reading = read(
        document(
            finding("fine.x", "PROVED", "PROVED"),
            refuted("remark.x", 1e9, quantity="mean M(Δ)", claimed=1.0),
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


def test_a_contradiction_leads_whatever_its_severity() -> None:
    reading = read(
        document(
            refuted("severe.x", 1e9),
            finding("other.x", "PROVED", "REFUTED", contradicts=True),
        )
    )
    assert reading.families[0].name == "other.x"


def test_the_worst_variant_speaks_for_its_claim() -> None:
    reading = read(document(refuted("a[n=1]", 1.5), refuted("a[n=2]", 9.0), refuted("a[n=3]", 2.0)))
    (family,) = reading.families
    assert [entry.id for entry in family.reasons] == ["a[n=2]"]
    assert family.tally == "3 refuted"


def test_yardsticks_blame_nobody() -> None:
    name = "pcoqs.remark-5[mechanism=split-conformal,attack=sets]"
    reading = read(document(refuted(name, 99.0), refuted("exponq.privacy[x=1]", 1.1)))
    assert [family.name for family in reading.broken] == ["ExponQ, privacy"]
    assert reading.families[0].name == "ExponQ, privacy"
    assert [family.name for family in reading.controls] == [
        "Split conformal prediction, without noise"
    ]
    assert "excludes 1 promise as stated" in reading.meaning
    assert "1 more claim is a control, known to be broken, and caught." in reading.meaning


def test_controls_alone_exclude_no_promise() -> None:
    reading = read(document(refuted("zoo.a[x=1]", 2.0), finding("b.x", "PROVED", "PROVED")))
    assert reading.meaning.startswith("The evidence excludes none of these promises. 1 more claim")


def test_foreign_targets_are_called_by_their_name() -> None:
    (family,) = read(document(refuted("check.mymodule:f[claim=zcdp]", 2.0))).families
    assert family.name == "mymodule:f"


def test_every_claim_of_the_papers_has_a_family_with_a_name() -> None:
    claims = document(*(finding(row.claim.id, "PROVED", "PROVED") for row in suite()))
    names = {family.name for family in read(claims).families}
    assert not {name for name in names if name.startswith(("ldpcp.", "pcoqs.", "dpskin."))}
    assert len(names) < 25


def test_claims_at_many_sizes_become_a_map_of_where_they_fail() -> None:
    claims = [
        refuted(f"grid.t[scores=beta(5,0.2),n={n},epsilon=4]", 2.0)
        if n > 1000
        else finding(f"grid.t[scores=beta(5,0.2),n={n},epsilon=4]", "PROVED", "PROVED")
        for n in (500, 10_000, 10**6)
    ]
    claims += [finding(f"grid.t[scores=uniform,n={n}]", "PROVED", "PROVED") for n in (500, 10_000)]
    claims += [finding("grid.t[scores=uniform,n=1000000]", "ERROR", "PROVED", evidence=None)]
    claims += [finding("grid.t[scores=other,n=500]", "PROVED", "PROVED")]
    (family,) = families(read(document(*claims)).entries)
    assert family.figures == ()
    more = [finding(f"grid.t[scores=late,n={n}]", "PROVED", "PROVED") for n in (500, 10_000)]
    (family,) = families(read(document(*claims, *more)).entries)
    (figure,) = family.figures
    assert figure["columns"] == ["500", "10⁴", "10⁶"]
    assert [row["name"] for row in figure["series"]] == ["beta(5,0.2), ε=4", "uniform", "late"]
    assert figure["series"][0]["texts"] == ["2", "✕ 2", "✕ 2"]
    assert figure["series"][0]["y"][0] == 0.0
    assert figure["series"][0]["y"][1] > 0
    assert figure["series"][1]["y"][2] == "nan"


def test_texts_are_cut_and_cleaned() -> None:
    assert clipped("abc def", 5) == "abc…"
    assert printable("a\u00a0b\u200bc\r\n") == "a b\ufffdc \n"
    assert gist("One thing; another.", 100) == "One thing; another."
    assert gist("A mean outside would be refuted.", 100) == ""
    assert share(0.0) == "0 %"
