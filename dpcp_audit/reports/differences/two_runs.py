"""Two runs of the same claims compared: verdicts, and numbers by a two-sample test.

A difference counts as significant by Holm's method over all findings that can be tested, so
that the comparison of two runs of unchanged mechanisms calls any number moved with probability
at most its false-alarm probability. Exact numbers need no test: they differ or they do not.

Where a check searches for the worst case, two runs may measure different ones; a number can then
be larger because the search was luckier. Such numbers are tested too, apart from the others and
with a false-alarm probability of their own, and do not count as a worsening unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit import _validate
from dpcp_audit._format import to_float
from dpcp_audit.quantities import Bound
from dpcp_audit.reports.differences.number_shift import ShiftTest, measure
from dpcp_audit.reports.document import agree
from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.results import PlainData


class Movement(StrEnum):
    """Where something went between two runs."""

    WORSE = "worse"
    BETTER = "better"
    NONE = "none"
    """No significant difference."""
    UNTESTED = "untested"
    """The documents do not hold what a test needs; the remark says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one finding.

    Parameters
    ----------
    old, new : dict or None
        The finding as the documents hold it; None where a document has none.
    verdict : Movement
        WORSE where a claim is refuted that was not, and was not expected to be.
    number : Movement
        Whether the measured number moved, by the test.
    p_value : float or None
        Of the two-sided test, adjusted for all tests of the comparison; None without a test.
    differs : tuple of str
        What the two numbers were measured at that is not the same, by name of the witness.
    remark : str
        What a reader must know of this comparison.
    """

    id: str
    old: PlainData | None
    new: PlainData | None
    verdict: Movement
    number: Movement
    p_value: float | None = None
    differs: tuple[str, ...] = ()
    remark: str = ""

    @property
    def changed(self) -> bool:
        """Whether there is anything to tell."""
        moved = {Movement.WORSE, Movement.BETTER}
        return (
            self.old is None
            or self.new is None
            or self.old["verdict"] != self.new["verdict"]
            or self.number in moved
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifferences:
    """What changed between two runs.

    Parameters
    ----------
    changes : tuple of Change
        One a finding, worst first.
    false_alarm : float
        Probability that any number of two unchanged runs is called moved.
    strict : bool
        Whether a number that is worse at another case counts as a worsening.
    complete : bool
        Whether the new run came to its end and could check all that the old one could.
    """

    changes: tuple[Change, ...]
    false_alarm: float
    strict: bool
    complete: bool

    @property
    def worsenings(self) -> tuple[Change, ...]:
        """The changes that count as a worsening."""
        return tuple(change for change in self.changes if self.counts(change))

    def counts(self, change: Change) -> bool:
        """Tell whether a change counts as a worsening."""
        worse_number = change.number is Movement.WORSE and (self.strict or not change.differs)
        return change.verdict is Movement.WORSE or worse_number

    @property
    def tests(self) -> int:
        """The number of findings whose numbers were tested."""
        return sum(change.p_value is not None for change in self.changes)


def compare(
    old: Mapping[str, Any], new: Mapping[str, Any], *, false_alarm: float, strict: bool = False
) -> RunDifferences:
    """Compare two results documents, as ``document.load`` returns them.

    The runs must be independent (of different seeds) or repeat each other (of the same).

    Raises
    ------
    ValueError
        If ``false_alarm`` is not a probability in (0, 1).
    """
    _validate.open_unit(false_alarm=false_alarm)
    before = {str(finding["id"]): finding for finding in old["findings"]}
    after = {str(finding["id"]): finding for finding in new["findings"]}
    ids = [*before, *(id_ for id_ in after if id_ not in before)]
    pairs = {id_: (before.get(id_), after.get(id_)) for id_ in ids}
    tested = {
        id_: measure(first, second)
        for id_, (first, second) in pairs.items()
        if first is not None and second is not None
    }
    adjusted = _adjust(tested)
    changes = [
        _change(id_, pair, tested.get(id_), adjusted.get(id_), false_alarm)
        for id_, pair in pairs.items()
    ]
    lost = any(
        finding["verdict"] == Verdict.ERROR and before.get(id_, {}).get("verdict") != Verdict.ERROR
        for id_, finding in after.items()
    )
    return RunDifferences(
        changes=tuple(sorted(changes, key=_rank)),
        false_alarm=false_alarm,
        strict=strict,
        complete=bool(new["complete"]) and not lost,
    )


def _adjust(tested: Mapping[str, ShiftTest]) -> dict[str, float]:
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
        largest = 0.0
        for i, (p_value, id_) in enumerate(sorted(family)):
            largest = max(largest, min(1.0, (len(family) - i) * p_value))
            adjusted[id_] = largest
    return adjusted


def _change(
    id_: str,
    pair: tuple[PlainData | None, PlainData | None],
    measured: ShiftTest | None,
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
        remark="; ".join(_remarks(old, new, measured, verdict, number)),
    )


def _verdict(old: PlainData | None, new: PlainData | None) -> Movement:
    """Tell where the verdict went; ERROR and INCONCLUSIVE say nothing of a claim."""
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
    measured: ShiftTest,
    verdict: Movement,
    number: Movement,
) -> Sequence[str]:
    remarks: list[str] = []
    if measured.reason:
        remarks.append(measured.reason)
    if measured.differs:
        remarks.append(f"measured at another case (differs in {', '.join(measured.differs)})")
    claims = [_claimed(finding) for finding in (old, new)]
    if None not in claims and not agree(*(to_float(claim) for claim in claims)):
        remarks.append(f"the claim changed from {claims[0]} to {claims[1]}")
    if verdict is Movement.WORSE and number is Movement.NONE:
        remarks.append("the number itself did not move significantly")
    if new["error"] and not old["error"]:
        remarks.append(f"could not be checked: {new['error']}")
    return remarks


def _rank(change: Change) -> tuple[bool, bool, bool, str]:
    return (
        change.verdict is not Movement.WORSE,
        change.number is not Movement.WORSE or bool(change.differs),
        not change.changed,
        change.id,
    )
