"""What is wrong with the way a finding is printed: units, quantities, intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.entry import entries_of
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import EvidenceKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.reports.entry import Entry

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
    if found["evidence"]["kind"] != EvidenceKind.EXACT and "∞" in entry.measured:
        said.append(f"samples show no infinite number: {entry.measured}")
    if quantity.is_loss and float(found["evidence"]["lower"]) < 0:
        said.append("a loss of privacy is negative")
    if not entry.quantity or (quantity.unit and quantity.unit not in entry.breach.found):
        said.append("a number without its quantity")
    return said + _contradictions(entry, found["evidence"])


def _contradictions(entry: Entry, found: dict[str, Any]) -> list[str]:
    if not entry.interval or found["claimed"] is None or found["kind"] == EvidenceKind.INDICATIVE:
        return []
    early = " over " in entry.interval  # then the certified end stands in place of the estimate
    low, high, open_low, open_high = ends(f"({entry.measured})" if early else entry.interval)
    claimed = printed(entry.claimed)
    at_most = found["bound"] == Bound.AT_MOST
    beyond = low > claimed or (open_low and low >= claimed)
    below = high < claimed or (open_high and high <= claimed)
    excluded = beyond if at_most else below
    if excluded == (entry.verdict is Verdict.REFUTED):
        return []
    return [f"{entry.verdict}, but {entry.interval} stands beside a claim of {entry.claimed}"]


def wrong_in(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what is wrong in a results document, by the id of the finding."""
    by_id = {found["id"]: found for found in document["findings"]}
    told = {entry.id: complaints(entry, by_id[entry.id]) for entry in entries_of(document)}
    return {id_: said for id_, said in told.items() if said}
