"""What every row of every suite prints: a quantity, a loss in its unit, no interval that lies."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support.report_document import document, evidence, finding

from dpcp_audit.checks import Context
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.suites import suite
from dpcp_audit.quantities import Bound, Quantity
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.findings.entry import entries_of
from dpcp_audit.results import EvidenceKind, Finding, Verdict

if TYPE_CHECKING:
    from dpcp_audit.reports.findings.entry import Entry
    from dpcp_audit.rows import Row

UNITS = {
    "PureDP": {Quantity.EPSILON},
    "LocalDP": {Quantity.EPSILON},
    "ApproxDP": {Quantity.EPSILON, Quantity.DELTA},
    "ZCDP": {Quantity.RHO},
    "RenyiDP": {Quantity.RENYI_DIVERGENCE},
    "GaussianDP": {Quantity.MU},
}
OF_ATTACKS = {Quantity.ADVANTAGE, Quantity.TRUE_POSITIVE_RATE, Quantity.DELTA}
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def printed(text: str) -> float:
    """Return the number that a report has written."""
    mantissa, _, power = text.replace(",", "").partition("10")
    if power and set(power) <= set("⁻⁰¹²³⁴⁵⁶⁷⁸⁹") and not mantissa.rstrip("·").strip("."):
        return float(f"1e{power.translate(SUPERSCRIPTS)}")
    if "·10" in text:
        number, _, power = text.replace(",", "").partition("·10")
        return float(f"{number}e{power.translate(SUPERSCRIPTS)}")
    return float(text.replace(",", "").replace("∞", "inf"))


def ends(interval: str) -> tuple[float, float, bool, bool]:
    """Return both ends of a printed interval, and whether each is left out itself."""
    inside = interval[1:-1]
    if inside[0] in "≥>":
        return printed(inside[2:]), math.inf, inside[0] == ">", False
    if inside[0] in "≤<":
        return -math.inf, printed(inside[2:]), False, inside[0] == "<"
    low, high = inside.split(", ")
    return printed(low), printed(high), interval[0] == "(", interval[-1] == ")"


def complaints(entry: Entry, found: dict[str, Any]) -> list[str]:
    """Return what is wrong with the way a finding is printed."""
    said = []
    if found["evidence"] is None:
        return [f"not completed: {found['error']}"]
    quantity = Quantity(found["evidence"]["quantity"])
    guarantee = str(found["witness"].get("guarantee", "")).partition("(")[0]
    if guarantee in UNITS and quantity not in UNITS[guarantee] | OF_ATTACKS:
        said.append(f"a claim of {guarantee} is shown as {quantity}")
    if "∞" in entry.interval or "inf" in entry.interval:
        said.append(f"an infinite interval is printed: {entry.interval}")
    if quantity.is_loss and float(found["evidence"]["lower"]) < 0:
        said.append("a loss of privacy is negative")
    if not entry.quantity or (quantity.unit and quantity.unit not in entry.breach.found):
        said.append("a number without its quantity")
    return said + _contradictions(entry, found["evidence"])


def _contradictions(entry: Entry, found: dict[str, Any]) -> list[str]:
    if not entry.interval or found["claimed"] is None or found["kind"] == EvidenceKind.INDICATIVE:
        return []
    low, high, open_low, open_high = ends(entry.interval)
    claimed = printed(entry.claimed)
    at_most = found["bound"] == Bound.AT_MOST
    beyond = low > claimed or (open_low and low >= claimed)
    below = high < claimed or (open_high and high <= claimed)
    excluded = beyond if at_most else below
    if excluded == (entry.verdict is Verdict.REFUTED):
        return []
    return [f"{entry.verdict}, but {entry.interval} stands beside a claim of {entry.claimed}"]


@cache
def results(which: str, only: int | None = None) -> dict[str, Any]:
    """Return the results document of a suite's rows, at the least effort."""
    rows = suite(which)[:only]
    findings = [Finding(claim=row.claim, outcome=run(row)) for row in rows]
    settings = RunSettings(suite=which, profile=Profile.SMOKE)
    return to_document(settings, findings, seconds=0.0, complete=True)


def run(row: Row) -> Any:
    """Run a row at the least effort."""
    return row.check(Context(seed=0, name=row.claim.id, significance=1e-3, effort=0.005))


def wrong(which: str) -> dict[str, list[str]]:
    """Return what is wrong, by the id of the finding."""
    data = results(which)
    by_id = {found["id"]: found for found in data["findings"]}
    told = {entry.id: complaints(entry, by_id[entry.id]) for entry in entries_of(data)}
    return {id_: said for id_, said in told.items() if said}


@pytest.mark.parametrize("which", ["papers", "theorems"])
def test_every_row_prints_what_its_fields_say(which: str) -> None:
    assert wrong(which) == {}


@pytest.mark.study
@pytest.mark.parametrize("which", ["zoo", "training", "tables"])
def test_every_row_of_the_longer_suites_too(which: str) -> None:
    assert wrong(which) == {}


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
