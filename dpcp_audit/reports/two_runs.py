"""Two runs of the same claims compared: verdicts, and numbers by a two-sample test.

Where the documents hold the counts or the variance behind a number, a two-sample test says so;
otherwise two intervals that do not meet.

A difference counts as significant by Holm's method over all findings that can be tested, so
that the comparison of two runs of unchanged mechanisms calls any number moved with probability
at most its false-alarm probability. Exact numbers need no test: they differ or they do not.

Where a check searches for the worst case, two runs may measure different ones; a number can then
be larger because the search was luckier. Such numbers are tested too, apart from the others and
with a false-alarm probability of their own, and do not count as a worsening unless asked for.
"""

# pyright: reportUnknownVariableType=false
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import agree
from dpcp_audit.reports.results_schema import typed
from dpcp_audit.stats.samples import Shift, comparable, compare_samples
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import require_package
from dpcp_audit.words.formatting import to_float
from dpcp_audit.words.quantities import Bound
from dpcp_audit.words.results import ROUNDING, EvidenceKind, Sample, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.results import PlainData


_SAMPLING = {"seed", "trials", "draws", "samples", "n_samples"} | {
    *("games", "stage", "stages", "spent"),
}
"""Keys of a witness that say how much was sampled, not what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShiftTest:
    """The test of one finding's number.

    Parameters
    ----------
    shift : Shift or None
        The test's p-values; None where the documents hold too little for one.
    certain : bool
        True if both numbers are exact, so that the p-values are 0 or 1.
    differs : tuple of str
        Keys of the witnesses that say that the numbers were measured at different cases.
    asked : tuple of str
        Names of the options in which the two runs differ for this claim.
    reason : str
        Why there is no test.
    untold : bool
        True if that is because the documents hold too little.
    """

    shift: Shift | None = None
    certain: bool = False
    differs: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    reason: str = ""
    untold: bool = False


def measure(old: Mapping[str, Any], new: Mapping[str, Any]) -> _ShiftTest:
    """Test one finding's number, which two documents hold."""
    before, after = old["evidence"], new["evidence"]
    reason = _obstacle(before, after)
    if reason:
        return _ShiftTest(reason=reason)
    differs = _differences(old["witness"], new["witness"])
    shift = _shift(before, after)
    if shift is None:
        return _ShiftTest(differs=differs, reason=_NO_TEST, untold=True)
    certain = before["kind"] == after["kind"] == EvidenceKind.EXACT
    lower = old if shift.higher < shift.lower else new
    if lower["verdict"] == Verdict.PROVED:
        differs = ()  # the lower number covers every case
    return _ShiftTest(shift=shift, certain=certain, differs=differs)


def _obstacle(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """Return the reason why two pieces of evidence cannot be compared, or an empty text."""
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
    """Return True if the first number is larger by more than rounding."""
    a, b = to_float(first), to_float(second)
    return a > b and not (
        math.isfinite(a) and math.isfinite(b) and a - b <= ROUNDING * max(abs(a), abs(b), 1e-6)
    )


def _sample(evidence: Mapping[str, Any]) -> Sample | None:
    """Return the counts or the variance behind a number, where they can be believed."""
    data = evidence.get("sample")
    if data is None:
        return None
    sample: Sample = typed(Sample, data, "sample")
    low, high = sample.range
    believable = 0 <= sample.variance < math.inf and math.isfinite(high - low) and low < high
    return sample if believable else None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the witnesses at which other things than sample sizes differ."""
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(
        key for key in keys if key not in _SAMPLING and not agree(old.get(key), new.get(key))
    )


class Movement(StrEnum):
    """The direction of a change between two runs."""

    WORSE = "worse"
    BETTER = "better"
    NONE = "none"
    """No significant difference."""
    UNTESTED = "untested"
    """The documents do not hold what a test needs; the remark says why."""


_NOT_ASKED = frozenset({"location", "planned", "draws", "budget", "detect", "call-seconds"}) | {
    *("prove", "trace"),
}
"""Keys of a target's check that say how it is tried, not what is asked."""
_CASES = {
    **dict.fromkeys(("value", "neighbour", "scores", "neighbour_scores", "others"), "inputs"),
    **dict.fromkeys(("event", "output", "swapped", "complement", "feature"), "events"),
    **dict.fromkeys(("path_seed", "path_number", "path_of", "path_loss"), "paths"),
    "law": "laws of the scores",
    "n": "numbers of scores",
}
"""What keys of witnesses are, as people call it."""
_NO_TEST = "the results hold too little for a test"
_MOVED = frozenset({Movement.WORSE, Movement.BETTER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one finding.

    Parameters
    ----------
    old, new : dict or None
        The finding as the documents hold it; None where a document has none.
    verdict : Movement
        WORSE where a claim is refuted that was not, and was not expected to be.
    number : Movement
        The movement of the measured number, by the test.
    p_value : float or None
        The two-sided test's p-value, adjusted for all tests of the comparison; None without a test.
    differs : tuple of str
        The settings of the two numbers that differ, by name of the witness.
    asked : tuple of str
        Names of the options in which the two runs differ for this claim.
    remark : str
        A remark that a reader needs for this comparison.
    between : tuple
        The finding in the runs between the two, in their order.
    """

    id: str
    old: PlainData | None
    new: PlainData | None
    verdict: Movement
    number: Movement
    p_value: float | None = None
    differs: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    remark: str = ""
    between: tuple[PlainData | None, ...] = ()

    @property
    def changed(self) -> bool:
        """True if there is anything to tell: a claim came or went, moved, or was asked anew."""
        runs = (self.old, *self.between, self.new)
        verdicts = {None if each is None else str(each["verdict"]) for each in runs}
        moved = None in verdicts or len(verdicts) > 1 or self.number in _MOVED
        return moved or bool(self.asked)

    @property
    def fixed(self) -> bool:
        """True if a refuted claim is proved, or its number is significantly better, as asked."""
        if self.verdict is not Movement.BETTER or self.new is None or self.asked:
            return False
        better = self.number is Movement.BETTER and not self.differs
        return better or self.new["verdict"] == Verdict.PROVED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifferences:
    """The changes between two runs.

    Parameters
    ----------
    changes : tuple of Change
        One change for each finding, worst first.
    false_alarm : float
        Probability that any number of two unchanged runs is called moved.
    strict : bool
        True if a number that is worse at another case counts as a worsening.
    complete : bool
        True if the new run came to its end and has checked all that the old one has.
    runs : tuple of str
        The names of the runs, the oldest first.
    """

    changes: tuple[Change, ...]
    false_alarm: float
    strict: bool
    complete: bool
    runs: tuple[str, ...] = ("old", "new")

    @property
    def worsenings(self) -> tuple[Change, ...]:
        """The changes that count as a worsening."""
        return tuple(change for change in self.changes if self.counts(change))

    def counts(self, change: Change) -> bool:
        """Return True if a change counts as a worsening."""
        worse_number = change.number is Movement.WORSE and (self.strict or not change.differs)
        return change.verdict is Movement.WORSE or worse_number

    @property
    def tests(self) -> int:
        """The number of findings whose numbers were tested."""
        return sum(change.p_value is not None for change in self.changes)


def compare(
    old: Mapping[str, Any], *later: Mapping[str, Any], false_alarm: float, strict: bool = False
) -> RunDifferences:
    """Compare results documents, as ``document.load`` returns them, the oldest first.

    The oldest and the newest are tested against each other; the runs between them are shown.
    The runs must be independent (of different seeds) or repeat each other (of the same).

    Raises
    ------
    ValueError
        If ``false_alarm`` is not a probability in (0, 1).
    """
    _validate.open_unit(false_alarm=false_alarm)
    *between, new = later
    runs = old, new
    others = [{str(each["id"]): each for each in run["findings"]} for run in between]
    before = {str(finding["id"]): finding for finding in old["findings"]}
    after = {str(finding["id"]): finding for finding in new["findings"]}
    ids = list(dict.fromkeys(id_ for run in (before, *others, after) for id_ in run))
    pairs = {id_: (before.get(id_), after.get(id_)) for id_ in ids}
    tested = {
        id_: replace(measure(first, second), asked=_asked((first, second), runs))
        for id_, (first, second) in pairs.items()
        if first is not None and second is not None
    }
    adjusted = _adjust(tested)
    changes = [
        replace(
            _change(id_, pair, tested.get(id_), adjusted.get(id_), false_alarm),
            between=tuple(run.get(id_) for run in others),
        )
        for id_, pair in pairs.items()
    ]
    lost = bool(before.keys() - after.keys()) or any(
        finding["verdict"] == Verdict.ERROR and before.get(id_, {}).get("verdict") != Verdict.ERROR
        for id_, finding in after.items()
    )
    return RunDifferences(
        changes=tuple(sorted(changes, key=_rank)),
        false_alarm=false_alarm,
        strict=strict,
        complete=bool(new["complete"]) and not lost,
        runs=_names([old, *later]),
    )


def _names(runs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of runs: the days on which they ended, where these differ."""
    if len(runs) == 2:
        return "old", "new"
    provenances: list[Mapping[str, Any]] = [run.get("provenance") or {} for run in runs]
    ends = [str(each.get("finished") or "")[:10] for each in provenances]
    if all(ends) and len(set(ends)) == len(ends):
        return tuple(ends)
    return tuple(f"run {place}" for place in range(1, len(runs) + 1))


def _asked(
    findings: tuple[Mapping[str, Any], Mapping[str, Any]],
    runs: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> tuple[str, ...]:
    """Return the options of a claim's check that two runs do not share."""
    first, second = map(_settings, findings, runs)
    names = dict.fromkeys((*first, *second))
    return tuple(name for name in names if not agree(first.get(name), second.get(name)))


def _settings(finding: Mapping[str, Any], run: Mapping[str, Any]) -> PlainData:
    settings = {name: run.get(name) for name in ("pools", "options")}
    for check in run.get("targets") or ():
        if finding.get("subject") == check.get("name"):
            settings |= {name: of for name, of in check.items() if name not in _NOT_ASKED}
    return settings


def _adjust(tested: Mapping[str, _ShiftTest]) -> dict[str, float]:
    """Return Holm's adjusted p-values: of the same cases, and of others, each among their own.

    Those of exact numbers are 0 or 1 and need no adjustment.
    """
    adjusted = {
        id_: measured.shift.p_value
        for id_, measured in tested.items()
        if measured.shift is not None and measured.certain
    }
    for elsewhere in (False, True):
        family = [
            (measured.shift.p_value, id_)
            for id_, measured in tested.items()
            if measured.shift is not None
            and not measured.certain
            and bool(measured.differs) is elsewhere
        ]
        if family:
            p_values, ids = zip(*family, strict=True)
            adjusted |= zip(ids, _holm(p_values), strict=True)
    return adjusted


def _holm(p_values: Sequence[float]) -> list[float]:
    require_package("statsmodels", "all")
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415  (slow to import)

    return [float(p) for p in multipletests(p_values, method="holm")[1]]  # pyright: ignore[reportOptionalIterable]


def _change(
    id_: str,
    pair: tuple[PlainData | None, PlainData | None],
    measured: _ShiftTest | None,
    p_value: float | None,
    false_alarm: float,
) -> Change:
    old, new = pair
    verdict = _verdict(old, new)
    if measured is None or old is None or new is None:
        remark = "a new claim" if old is None else "no longer checked"
        return Change(
            id=id_, old=old, new=new, verdict=verdict, number=Movement.UNTESTED, remark=remark
        )
    number = Movement.UNTESTED
    if measured.shift is not None and p_value is not None:
        number = Movement.NONE
        if p_value <= false_alarm:
            rises = measured.shift.higher <= measured.shift.lower
            at_least = new["evidence"].get("bound") == Bound.AT_LEAST
            number = Movement.BETTER if rises is at_least else Movement.WORSE
    return Change(
        id=id_,
        old=old,
        new=new,
        verdict=verdict,
        number=number,
        p_value=p_value,
        differs=measured.differs,
        asked=measured.asked,
        remark="; ".join(_remarks(old, new, measured, verdict, number)),
    )


def _verdict(old: PlainData | None, new: PlainData | None) -> Movement:
    """Return the direction of a verdict's change; ERROR and INCONCLUSIVE have none."""
    was = None if old is None else old["verdict"]
    is_ = None if new is None else new["verdict"]
    if Verdict.REFUTED not in {was, is_} or was == is_ or new is None:
        return Movement.NONE
    if is_ == Verdict.REFUTED:
        unexpected = new["expected"] != Verdict.REFUTED if old else new["contradicts"]
        return Movement.WORSE if unexpected else Movement.NONE
    return Movement.BETTER if is_ in {Verdict.PROVED, Verdict.CONSISTENT} else Movement.NONE


def _claimed(finding: PlainData) -> Any:
    evidence: PlainData = finding["evidence"] or {}
    return evidence.get("claimed")


def _remarks(
    old: PlainData,
    new: PlainData,
    measured: _ShiftTest,
    verdict: Movement,
    number: Movement,
) -> Sequence[str]:
    asked = " and ".join(measured.asked)
    remarks = [f"asked with another {asked}"] if asked else []
    known = dict.fromkeys(_CASES[key] for key in measured.differs if key in _CASES)
    names = _listed(list(known)) if known else ""
    if measured.untold:  # another case, or too few counts in a document
        why = f"the two runs measured different {names}" if names else measured.reason
        remarks.append(f"no p-value: {why}; only the verdicts can be compared")
    elif measured.reason:
        remarks.append(measured.reason)
    elif measured.differs:
        remarks.append(f"measured at another case{f': the {names} differ' if names else ''}")
    claims = [_claimed(finding) for finding in (old, new)]
    if None not in claims and not agree(*(to_float(claim) for claim in claims)):
        remarks.append(f"the claim changed from {claims[0]} to {claims[1]}")
    if verdict in _MOVED and number is Movement.NONE:
        remarks.append("the number itself did not move significantly")
    if new["error"] and not old["error"]:
        remarks.append(f"could not be checked: {new['error']}")
    return remarks


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _rank(change: Change) -> tuple[bool, bool, bool, str]:
    return (
        change.verdict is not Movement.WORSE,
        change.number is not Movement.WORSE or bool(change.differs),
        not change.changed,
        change.id,
    )
