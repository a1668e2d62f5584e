"""Findings in families, the worst first, on one scale of how many times worse than promised.

The scale is logarithmic, the promise in its middle: left of it lies what keeps the promise, right
of it what breaks it, and what is beyond its ends is drawn at them.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.words.formatting import number, power, symbol
from dpcp_audit.words.results import Standing, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.reports.entry import Entry
    from dpcp_audit.words.results import PlainData


_LEAST_CELLS, _MOST_CASES, _MOST_SIZES = 6, 60, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Entries that belong together, worst first.

    Parameters
    ----------
    control : bool
        True if its refutations are positive controls: expected, and nobody's claim.
    """

    name: str
    anchor: str
    entries: tuple[Entry, ...]
    control: bool

    @property
    def refuted(self) -> tuple[Entry, ...]:
        """The refuted ones, the worst first."""
        found = (entry for entry in self.entries if entry.refuted)
        return tuple(sorted(found, key=lambda entry: entry.rank[2:]))

    @property
    def broken(self) -> tuple[Entry, ...]:
        """The broken promises, worst first: of a printed claim its worst variant, for each failure.

        Of what is stated of code, every claim is a promise of its own.
        """
        first = {
            (entry.stem if entry.label else entry.id, entry.breach.consequence): entry
            for entry in reversed(self.refuted)
        }
        return tuple(sorted(first.values(), key=lambda entry: entry.rank[2:]))

    @property
    def tally(self) -> str:
        """The number of its claims with each verdict, in words."""
        words = {
            Verdict.REFUTED: "refuted",
            Verdict.ERROR: "not completed",
            Verdict.VACUOUS: "vacuous",
            Verdict.INCONCLUSIVE: "inconclusive",
            Verdict.CONSISTENT: "not refuted",
            Verdict.PROVED: "proved",
        }
        verdicts = [entry.verdict for entry in self.entries]
        counts = [(verdicts.count(verdict), said) for verdict, said in words.items()]
        return ", ".join(f"{count} {said}" for count, said in counts if count)

    @property
    def figures(self) -> tuple[dict[str, Any], ...]:
        """Heat maps of claims that were tried at many sizes: where they hold, where not."""
        by_stem: dict[str, list[Entry]] = {}
        for entry in self.entries:
            by_stem.setdefault(entry.stem, []).append(entry)
        maps = map(_region, by_stem.values())
        return tuple(figure for figure in maps if figure)

    @property
    def rank(self) -> tuple[bool, bool, bool, tuple[float, ...], int]:
        """The sort key: contradictions, failures, refutations by severity, the rest."""
        refuted = self.refuted
        return (
            not any(entry.contradicts for entry in self.entries),
            not any(entry.verdict is Verdict.ERROR for entry in self.entries),
            not refuted or self.control,
            refuted[0].rank[2:5] if refuted else (),
            min(entry.place for entry in self.entries),
        )


def families(entries: Sequence[Entry]) -> tuple[Family, ...]:
    """Return the entries in families, the worst first."""
    members: dict[str, list[Entry]] = {}
    for entry in entries:
        members.setdefault(entry.heading, []).append(entry)
    found = [
        Family(
            name=name,
            anchor=f"family-{place}",
            entries=tuple(group),
            control=all(entry.standing is Standing.CONTROL for entry in group),
        )
        for place, (name, group) in enumerate(members.items(), start=1)
    ]
    return tuple(sorted(found, key=lambda family: family.rank))


def _region(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Return a heat map over n and the other parameters that vary, where enough was tried."""
    cells: dict[tuple[str, int], Entry] = {}
    varying = _varying([entry.parameters for entry in entries])
    for entry in sorted(entries, key=lambda entry: entry.place):
        variant = {name: value for name, value in entry.parameters.items() if name in varying}
        size = variant.pop("n", None)
        if isinstance(size, int) and entry.value is not None:
            cells[_case(variant), size] = entry
    columns = sorted({size for _, size in cells})[:_MOST_SIZES]
    sizes = Counter(label for label, _ in cells)
    rows = [label for label in sizes if sizes[label] > 1][:_MOST_CASES]
    tried = sum((row, n) in cells for row in rows for n in columns)
    if len(columns) < 2 or tried < max(_LEAST_CELLS, len(columns) * len(rows) / 2):
        return None
    return _heat_map(cells, rows, columns)


def _varying(variants: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of the parameters that are not the same everywhere, and choose the case."""
    names = {name for variant in variants for name in variant}
    vary = {name for name in names if any(v.get(name) != variants[0].get(name) for v in variants)}
    return {name for name in vary if name == "n" or not _follows_from_n(name, variants)}


def _follows_from_n(name: str, variants: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a parameter changes with n, and has one value at each n of the same case."""
    values: dict[str, dict[object, set[str]]] = {}
    for variant in variants:
        others = {key: of for key, of in variant.items() if key not in {name, "n"}}
        at_sizes = values.setdefault(repr(sorted(others.items())), {})
        at_sizes.setdefault(repr(variant.get("n")), set()).add(repr(variant.get(name)))
    cases = values.values()
    one = all(len(found) == 1 for at_sizes in cases for found in at_sizes.values())
    return one and any(len(set[str]().union(*at_sizes.values())) > 1 for at_sizes in cases)


def _case(variant: Mapping[str, Any]) -> str:
    ordered = sorted(variant.items(), key=lambda item: item[0] != "population")
    return ", ".join(_told(key, value) for key, value in ordered)


def _told(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    shown = number(value) if isinstance(value, float) else str(value)
    return f"{symbol(name)}={shown}"


def _heat_map(
    cells: Mapping[tuple[str, int], Entry], rows: Sequence[str], columns: Sequence[int]
) -> dict[str, Any]:
    first = cells[next(key for key in cells if key[0] in rows)]
    series: list[PlainData] = []
    for row in rows:
        found = [cells.get((row, n)) for n in columns]
        series.append(
            {
                "name": row or first.stem,
                "x": list(columns),
                "y": ["nan" if entry is None else _excess(entry) for entry in found],
                "texts": ["" if entry is None else _measured(entry) for entry in found],
            }
        )
    return {
        "kind": "heatmap",
        "title": f"{first.heading} ({first.section}): {first.quantity} by n",
        "x_label": "n",
        "y_label": "",
        "columns": [power(n) for n in columns],
        "series": series,
        "marks": {"✕ refuted": 0.0},
        "description": (
            f"The {first.quantity} in each case (rows) at each size n (columns). Where the claim "
            "is refuted, the cell is orange and has a cross; a stronger colour shows a larger "
            "violation."
        ),
    }


def _excess(entry: Entry) -> float:
    return max(entry.breach.severity, 0.01) if entry.refuted else 0.0


def _measured(entry: Entry) -> str:
    shown = number(entry.value, digits=2)
    return f"✕ {shown}" if entry.refuted else shown


FARTHEST = 30.0
"""The factor at the right end of the scale; at the left end is one part in as many."""
TICKS = {0.1: "a tenth", 1.0: "as promised", 10.0: "10 times worse"}
_DRAWN_LAST = (
    Verdict.ERROR,
    Verdict.PROVED,
    Verdict.CONSISTENT,
    Verdict.INCONCLUSIVE,
    Verdict.VACUOUS,
    Verdict.REFUTED,
)
"""Later marks are drawn over earlier ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _FindingMark:
    """One finding on the scale.

    Parameters
    ----------
    place, low, high : float
        The positions of its number and of the ends of its interval, in percent of the scale.
    told : str
        The finding's id, with the numbers found and promised.
    apart : bool
        True if it is nobody's claim as it is made.
    """

    verdict: Verdict
    place: float
    low: float
    high: float
    told: str
    apart: bool

    @property
    def width(self) -> float:
        """The length of the interval, in percent of the scale."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The findings of a family, or one claim that is stated of code."""

    name: str
    anchor: str
    marks: tuple[_FindingMark, ...]


def lanes(families: Sequence[Family]) -> tuple[Lane, ...]:
    """Return the families whose claims bound a number, in their order.

    Of what is stated of code, every claim is a promise of its own, with a lane of its own.
    """
    found: list[Lane] = []
    for family in families:
        if any(entry.label for entry in family.entries):
            found.append(Lane(name=family.name, anchor=family.anchor, marks=_marks(family.entries)))
        else:
            found += [
                Lane(name=entry.id, anchor=entry.anchor, marks=_marks([entry]))
                for entry in family.entries
            ]
    return tuple(lane for lane in found if lane.marks)


def position(factor: float) -> float:
    """Return the position of a factor, in percent of the scale.

    Examples
    --------
    >>> position(1.0), position(0.0), position(1e6)
    (50.0, 0.0, 100.0)
    """
    if factor <= 0:
        return 0.0
    share = math.log(factor) / math.log(FARTHEST) if math.isfinite(factor) else 1.0
    return round(50 + 50 * min(1.0, max(-1.0, share)), 2)


def _marks(entries: Sequence[Entry]) -> tuple[_FindingMark, ...]:
    marks = [_mark(entry) for entry in entries if entry.times is not None]
    return tuple(sorted(marks, key=lambda mark: _DRAWN_LAST.index(mark.verdict)))


def _mark(entry: Entry) -> _FindingMark:
    assert entry.times is not None  # noqa: S101  (the caller has asked)
    place, *ends = map(position, entry.times)
    return _FindingMark(
        verdict=entry.verdict,
        place=place,
        low=min(ends),
        high=max(ends),
        told=f"{entry.id}: {entry.verdict}, {entry.breach.found}, promised {entry.breach.promised}",
        apart=entry.apart,
    )
