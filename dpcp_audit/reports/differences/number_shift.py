"""Whether the number of one finding moved between two results documents.

Where the documents hold the counts or the variance behind a number, a two-sample test says so;
otherwise two intervals that do not meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import to_float
from dpcp_audit.reports.document import agree
from dpcp_audit.results import ROUNDING, Count, EvidenceKind, Measure, Sample, Verdict
from dpcp_audit.stats.two_samples import Shift, comparable, compare_samples

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAMPLING = {"seed", "trials", "draws", "samples", "n_samples"} | {
    *("games", "stage", "stages", "spent"),
}
"""Keys of a witness that say how much was sampled, not what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftTest:
    """What the test of one finding's number says.

    Parameters
    ----------
    shift : Shift or None
        The test's p-values; None where the documents hold too little for one.
    certain : bool
        Whether both numbers are exact, so that the p-values are 0 or 1.
    differs : tuple of str
        Keys of the witnesses that say that the numbers were measured at different cases.
    reason : str
        Why there is no test.
    """

    shift: Shift | None = None
    certain: bool = False
    differs: tuple[str, ...] = ()
    reason: str = ""


def measure(old: Mapping[str, Any], new: Mapping[str, Any]) -> ShiftTest:
    """Test one finding's number, which two documents hold."""
    before, after = old["evidence"], new["evidence"]
    reason = _obstacle(before, after)
    if reason:
        return ShiftTest(reason=reason)
    differs = _differences(old["witness"], new["witness"])
    shift = _shift(before, after)
    if shift is None:
        return ShiftTest(differs=differs, reason="the results hold too little for a test")
    certain = before["kind"] == after["kind"] == EvidenceKind.EXACT
    lower = old if shift.higher < shift.lower else new
    if certain and lower["verdict"] == Verdict.PROVED:
        differs = ()  # the lower number covers every case
    return ShiftTest(shift=shift, certain=certain, differs=differs)


def _obstacle(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """Return why two pieces of evidence cannot be compared, or an empty text."""
    if old is None or new is None:
        return "nothing was measured in one of the runs"
    if old["quantity"] != new["quantity"] or not agree(old["at"], new["at"]):
        return "another quantity was measured"
    if any(math.isnan(to_float(e[key])) for e in (old, new) for key in ("value", "lower", "upper")):
        return "a number is missing"
    return ""


def _shift(old: Mapping[str, Any], new: Mapping[str, Any]) -> Shift | None:
    samples = _sample(old), _sample(new)
    if samples[0] is not None and samples[1] is not None and comparable(samples[0], samples[1]):
        return compare_samples(
            to_float(old["value"]), samples[0], to_float(new["value"]), samples[1]
        )
    return _apart(old, new)


def _apart(old: Mapping[str, Any], new: Mapping[str, Any]) -> Shift | None:
    """Compare two intervals: that both are right and disjoint has no other explanation."""
    if EvidenceKind.INDICATIVE in {old["kind"], new["kind"]}:
        return None
    wrong = sum(1 - to_float(evidence["confidence"]) for evidence in (old, new))
    if not 0 <= wrong < 1:
        return None
    if wrong and all(math.isinf(to_float(evidence["upper"])) for evidence in (old, new)):
        return None  # two lower limits
    return Shift(
        higher=wrong if _above(new["lower"], old["upper"]) else 1.0,
        lower=wrong if _above(old["lower"], new["upper"]) else 1.0,
    )


def _above(first: float | str, second: float | str) -> bool:
    """Tell whether the first number is larger by more than rounding."""
    a, b = to_float(first), to_float(second)
    return a > b and not (
        math.isfinite(a) and math.isfinite(b) and a - b <= ROUNDING * max(abs(a), abs(b), 1e-6)
    )


def _sample(evidence: Mapping[str, Any]) -> Sample | None:
    data = evidence.get("sample")
    if data is None:
        return None
    low, high = (to_float(end) for end in data.get("range", (0.0, 1.0)))
    sample = Sample(
        measure=Measure(data["measure"]),
        counts=tuple(
            Count(
                of=count["of"],
                hits=count["hits"],
                trials=count["trials"],
                undecided=count.get("undecided", 0),
                any_time=count.get("any_time", False),
            )
            for count in data.get("counts", ())
        ),
        trials=data.get("trials", 0),
        variance=to_float(data.get("variance", 0.0)),
        range=(low, high),
    )
    believable = 0 <= sample.variance < math.inf and math.isfinite(high - low) and low < high
    return sample if believable else None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the witnesses at which other things than sample sizes differ."""
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(
        key for key in keys if key not in _SAMPLING and not agree(old.get(key), new.get(key))
    )
