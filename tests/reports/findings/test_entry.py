"""One finding as every report shows it, and what was expected of it."""

from __future__ import annotations

import io
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.printed_findings import complaints, printed, wrong_in
from support.report_document import document, evidence, finding
from support.row_outcomes import least_effort

import dpcp_audit as dp
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.suites import suite
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.entry import entries_of
from dpcp_audit.reports.formats.ci import render_junit, render_sarif
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown
from dpcp_audit.reports.summary import read
from dpcp_audit.reports.terminal import print_summary
from dpcp_audit.words.results import Finding


@cache
def results(which: str, step: int = 1) -> dict[str, Any]:
    """Return the results document of a suite's rows, or each so many, at the least effort."""
    claims = [row.claim for row in suite(which)[::step]]
    findings = [Finding(claim=it, outcome=least_effort(which, it.id).outcome) for it in claims]
    settings = RunSettings(suite=which, profile=Profile.SMOKE)
    return to_document(settings, findings, seconds=0.0, complete=True)


@pytest.mark.parametrize(("which", "step"), [("papers", 2), ("theorems", 6)])
def test_rows_print_what_their_fields_say(which: str, step: int) -> None:
    assert wrong_in(results(which, step)) == {}


@pytest.mark.study
@pytest.mark.parametrize("which", ["papers", "theorems", "zoo", "training", "tables"])
def test_every_row_too(which: str) -> None:
    assert wrong_in(results(which)) == {}


def quantile(scores: np.ndarray, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """A threshold with less noise than any of the claims below needs."""
    return np.quantile(scores, 0.9) + rng.laplace(scale=1 / len(scores), size=size)


def randomizer(values: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Randomised response with ε = 3 over four values."""
    kept = rng.random(len(values)) < 1 / (1 + 3 * math.exp(-3))
    others = (values + rng.integers(1, 4, len(values))) % 4
    return np.where(kept, values, others)


def calibrator(probabilities: np.ndarray, labels: np.ndarray, *, rng: np.random.Generator) -> float:
    """The plain quantile of the scores, without noise to speak of."""
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return float(np.quantile(scores, 0.5) + rng.laplace(scale=1e-3))


PRIVACY = (
    dp.PureDP(0.5),
    dp.ApproxDP(0.5, 1e-3),
    dp.ZCDP(0.05),
    dp.RenyiDP(2.0, 0.05),
    dp.GaussianDP(0.2),
)
LENIENT = (dp.PureDP(40.0), dp.ApproxDP(40.0, 0.5), dp.ZCDP(400.0), dp.GaussianDP(40.0))
CHECKS = {
    "quantile": lambda: dp.audit(quantile, *PRIVACY, **QUANTILE, trace=False),
    "traced": lambda: dp.audit(quantile, dp.ApproxDP(0.5, 1e-3), **QUANTILE),
    "lenient": lambda: dp.audit(quantile, *LENIENT, **QUANTILE, trace=False),
    "coverage": lambda: dp.audit(quantile, dp.Coverage(0.95), **QUANTILE),
    "lenient-coverage": lambda: dp.audit(quantile, dp.Coverage(0.2), **QUANTILE),
    "confidence": lambda: dp.audit(quantile, dp.Coverage(0.95, 1.0, 0.9), **QUANTILE),
    "randomizer": lambda: dp.audit(
        randomizer, dp.LocalDP(1.0), kind="randomizer", domain=4, vectorised=True, draws=4000
    ),
    "calibrator": lambda: dp.audit(
        calibrator, dp.ZCDP(0.05), dp.Coverage(0.9), kind="calibrator", **CALIBRATOR
    ),
}
QUANTILE = {"n": 20, "alpha": 0.1, "vectorised": True, "draws": 1000}
CALIBRATOR = {"n": 20, "draws": 1500, "trace": False}


@pytest.mark.parametrize("name", CHECKS)
def test_every_kind_of_check_prints_what_its_fields_say(name: str) -> None:
    data = CHECKS[name]().document
    assert wrong_in(data) == {}
    for found in data["findings"]:
        assert (found["power"] is None) == (found["verdict"] == "REFUTED")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"quantity": "probability"}, "a claim of ZCDP is shown as probability"),
        ({"quantity": "rho", "lower": -0.5}, "a loss of privacy is negative"),
        ({"quantity": "rho", "lower": 0.2, "upper": 0.9}, "REFUTED, but [0.2, 0.9] stands"),
    ],
)
def test_a_planted_error_is_seen(changes: dict[str, Any], complaint: str) -> None:
    shown = evidence(kind="certified", detail="", value=0.7, claimed=0.5, n_samples=100)
    planted = finding("x", "REFUTED", "REFUTED", witness={"guarantee": "ZCDP(rho=0.5)"})
    planted["evidence"] = shown | {"lower": 0.6, "upper": 0.8} | changes
    (entry,) = entries_of(document(planted))
    assert any(complaint in said for said in complaints(entry, planted))


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.5", 0.5), ("1.3·10⁻⁵", 1.3e-5), ("10⁻³⁰⁰", 1e-300), ("11,080", 11080.0), ("10", 10.0)],
)
def test_printed_numbers_are_read(text: str, value: float) -> None:
    assert printed(text) == value


def test_what_an_interval_takes_for_granted_is_a_fact_of_its_own() -> None:
    assumed = evidence() | {"assumption": "trade-off"}
    kept, named = (
        dict(entries_of(document(finding("x", "REFUTED", "REFUTED", evidence=one)))[0].facts)
        for one in (evidence(), assumed)
    )
    assert "The interval assumes" not in kept
    assert "differs from the claim in its noise alone" in named["The interval assumes"]


USERS = ("targets", "traces", "estimates", "theorem-case")
PAGES = (render_html, render_markdown)


def refuted(**changes: Any) -> dict[str, Any]:
    return finding("mine[pure_dp]", "REFUTED", "CONSISTENT", contradicts=True) | changes


def terminal(run: dict[str, Any]) -> str:
    stream = io.StringIO()
    print_summary(run, stream=stream)
    return stream.getvalue()


@pytest.mark.parametrize("suite", USERS)
@pytest.mark.parametrize("render", [*PAGES, terminal, render_junit])
def test_nothing_is_expected_of_a_users_own_claim(render: Any, suite: str) -> None:
    pytest.importorskip("jinja2")
    _, _, body = render(document(refuted(), suite=suite)).rpartition("</style>")
    assert "expected" not in body.lower()
    assert "contradict" not in body.lower()
    assert "REFUTED" in body


@pytest.mark.parametrize("render", [*PAGES, terminal, render_junit, render_sarif])
def test_what_a_suite_has_recorded_is_said(render: Any) -> None:
    pytest.importorskip("jinja2")
    assert "expected" in render(document(refuted(), suite="papers")).rpartition("</style>")[2]


@pytest.mark.parametrize("render", PAGES)
def test_a_worsening_is_said_whatever_the_suite(render: Any) -> None:
    pytest.importorskip("jinja2")
    worse = refuted(worse="privacy loss ε: 0.5 -> 1.2 (p = 1e-9)")
    body = render(document(worse, suite="targets"))
    assert "1 claim got worse than in the baseline." in body
    assert "worse than in the baseline" in render_junit(document(worse, suite="targets"))


def test_a_refuted_claim_of_a_user_still_fails_its_test_case() -> None:
    assert 'failures="1"' in render_junit(document(refuted(), suite="targets"))


def test_users_refutations_are_ranked_by_severity_alone() -> None:
    run = document(refuted(), finding("other", "ERROR", "PROVED", evidence=None), suite="targets")
    reading = read(run)
    assert [entry.id for entry in reading.entries] == ["mine[pure_dp]", "other"]
    assert not reading.contradicting


def test_a_papers_claim_shows_what_is_printed_and_its_corrected_form() -> None:
    printed = {
        "title": "A title",
        "quote": "It covers",
        "quantifier": "for all",
        "hypotheses": "scores in [a, b]",
        "corrected": ["t[form=corrected]"],
        "note": "Not at α* = 0.",
        "page": "https://example.org/statements.md",
    }
    source = {"paper": "P-COQS", "section": "Corollary 1", "printed": printed}
    claim = finding("t[form=printed]", "REFUTED", "REFUTED", source=source)
    results = document(claim, finding("t[form=corrected]", "CONSISTENT", "CONSISTENT"))
    facts = dict(next(e for e in entries_of(results) if e.id == claim["id"]).facts)
    assert facts["Paper"] == "A title"
    assert facts["As printed"] == "“It covers”"
    assert (facts["Quantifier"], facts["Hypotheses"]) == ("for all", "scores in [a, b]")
    assert facts["Corrected form"] == "t[form=corrected] (CONSISTENT)"
    assert facts["On the statement"] == "Not at α* = 0."
    page, text = render_html(results), render_markdown(results)
    assert '<a href="https://example.org/statements.md">' in page
    assert "“It covers”" in page
    assert "“It covers”" in text
    printed["page"] = "javascript:alert(1)"
    assert "javascript" not in render_html(document(claim))
