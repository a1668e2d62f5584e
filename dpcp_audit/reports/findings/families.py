"""Findings in families: what one mechanism promises in one respect, the worst family first."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import number, power
from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.reports.findings.entry import Entry

# The first pattern that an id matches decides; brackets stand for themselves.
_NAMES: tuple[tuple[str, str], ...] = (
    ("ldpcp.algorithm-3*", "LDP-CP-S, Algorithm 3"),
    ("ldpcp.rr-debias*", "LDP-CP-S, Algorithm 3"),
    ("ldpcp.blocks*", "LDP-CP-S, Algorithm 3"),
    ("ldpcp.theorem-4*", "LDP-CP-S, coverage"),
    ("ldpcp.starred[scores=uniform*", "LDP-CP-S, coverage"),
    ("ldpcp.theorem-1*", "LDP-CP-L, coverage"),
    ("ldpcp.theorem-3*", "LDP-CP-L, coverage"),
    ("ldpcp.starred*", "LDP-CP-L, coverage"),
    ("ldpcp.equation-2*", "LDP-CP-L, coverage"),
    ("ldpcp.shuffle*", "LDP-CP, shuffled reports"),
    ("shuffle.bounds*", "Shuffled reports, upper bounds"),
    ("ldpcp.krr*", "LDP-CP, privacy of one report"),
    ("ldpcp.rr*", "LDP-CP, privacy of one report"),
    ("ldpcp.label-attack*", "LDP-CP, privacy of one report"),
    ("ldpcp.membership*", "LDP-CP, privacy of one report"),
    ("ldpcp.threshold-leak*", "LDP-CP, privacy of one report"),
    ("ldpcp.*", "LDP-CP, other statements"),
    ("pcoqs.epsilon-equivalence*", "P-COQS, equivalence with ε-DP"),
    ("pcoqs.table*", "P-COQS, the printed tables"),
    ("zoo.*", "The zoo of planted bugs"),
    ("histlap.tables*", "P-COQS, the printed tables"),
    ("pcoqs.remark-5[mechanism=split-conformal*", "Split conformal prediction, without noise"),
    ("pcoqs.proposition-1.zcdp*", "P-COQS, privacy"),
    ("pcoqs.remark-5*", "P-COQS, privacy"),
    ("pcoqs.proposition-1.rank*", "P-COQS, rank error"),
    ("pcoqs.remark-2*", "P-COQS, rank error"),
    ("pcoqs.remark-3*", "P-COQS, rank error"),
    ("pcoqs.remark-4*", "P-COQS, rank error"),
    ("pcoqs.*", "P-COQS, coverage"),
    ("exponq.privacy*", "ExponQ, privacy"),
    ("exponq.*", "ExponQ, coverage"),
    ("histlap.privacy*", "HistLap, privacy"),
    ("histlap.*", "HistLap, coverage"),
    ("conformal.split*", "Split conformal prediction, coverage"),
    ("pipeline.*", "A pipeline's budget"),
    ("reproduced.*[form=written]", "The printed tables, against the algorithms as written"),
    ("reproduced.pcoqs-*", "P-COQS, tables reproduced"),
    ("reproduced.ldpcp-*", "LDP-CP, tables and figures reproduced"),
    ("compared*", "All calibrators at equal privacy"),
    ("dpskin.*[*flaw=*", "Private training with planted bugs"),
    ("dpskin.*[*model=non-private*", "Training without noise, the attacks' yardstick"),
    ("dpskin.*[*noise=half*", "Private training with planted bugs"),
    ("dpskin.dp-sgd*", "DP-SGD, audited by canaries"),
    ("dpskin.dp-adam*", "DP-Adam, audited by canaries"),
    ("dpskin.attacks[attack=extraction*", "Trained models, extraction"),
    ("dpskin.attacks[attack=reconstruction*", "Trained models, reconstruction"),
    ("dpskin.attacks[attack=inversion*", "Trained models, reconstruction"),
    ("dpskin.attacks*", "Trained models, membership inference"),
    ("dpskin.pipeline*", "A private classifier under P-COQS"),
    ("dpskin.gaussian*", "DP-SKIN, the Gaussian mechanism"),
    ("dpskin.theorem-2*", "DP-SKIN, the Gaussian mechanism"),
    ("dpskin.*", "DP-SKIN, privacy of training"),
)
_CONTROLS = frozenset(
    {
        "Split conformal prediction, without noise",
        "The zoo of planted bugs",
        "Private training with planted bugs",
        "Training without noise, the attacks' yardstick",
    }
)
_GREEK = {"epsilon": "ε", "rho": "ρ", "delta": "δ", "alpha": "α", "beta": "β"}
_LEAST_CELLS, _MOST_CASES, _MOST_SIZES = 6, 60, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Entries that belong together, worst first.

    Parameters
    ----------
    control : bool
        Whether its refutations show that the audit bites, and blame nobody.
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
    def reasons(self) -> tuple[Entry, ...]:
        """Of each refuted claim the worst variant."""
        first = {entry.stem: entry for entry in reversed(self.refuted)}
        return tuple(sorted(first.values(), key=lambda entry: entry.rank[2:]))

    @property
    def tally(self) -> str:
        """How many of its claims have which verdict, in words."""
        words = {
            Verdict.REFUTED: "refuted",
            Verdict.ERROR: "not completed",
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
        stems = dict.fromkeys(entry.stem for entry in self.entries)
        maps = (_region([e for e in self.entries if e.stem == stem]) for stem in stems)
        return tuple(figure for figure in maps if figure)

    @property
    def rank(self) -> tuple[bool, bool, bool, tuple[float, ...], int]:
        """What it is sorted by: contradictions, failures, refutations by severity, the rest."""
        refuted = self.refuted
        return (
            not any(entry.contradicts for entry in self.entries),
            not any(entry.verdict is Verdict.ERROR for entry in self.entries),
            not refuted or self.control,
            refuted[0].rank[2:4] if refuted else (),
            min(entry.place for entry in self.entries),
        )


def families(entries: Sequence[Entry]) -> tuple[Family, ...]:
    """Return the entries in families, the worst first."""
    members: dict[str, list[Entry]] = {}
    for entry in entries:
        members.setdefault(_name(entry), []).append(entry)
    found = [
        Family(
            name=name,
            anchor=f"family-{place}",
            entries=tuple(group),
            control=name in _CONTROLS,
        )
        for place, (name, group) in enumerate(members.items(), start=1)
    ]
    return tuple(sorted(found, key=lambda family: family.rank))


def _name(entry: Entry) -> str:
    id_ = entry.id.removeprefix("grid.")
    for pattern, name in _NAMES:
        if fnmatch.fnmatchcase(id_, pattern.replace("[", "[[]")):
            return name
    return entry.stem.removeprefix("check.")


def _region(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Return a heat map over n and the rest of the variant, where enough was tried."""
    cells: dict[tuple[str, int], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.place):
        variant = _variant(entry.id)
        size = variant.pop("n", "")
        if size.isdecimal() and entry.value is not None:
            cells[_case(variant), int(size)] = entry
    columns = sorted({size for _, size in cells})[:_MOST_SIZES]
    sizes = Counter(label for label, _ in cells)
    rows = [label for label in sizes if sizes[label] > 1][:_MOST_CASES]
    tried = sum((row, n) in cells for row in rows for n in columns)
    if len(columns) < 2 or tried < max(_LEAST_CELLS, len(columns) * len(rows) / 2):
        return None
    return _heat_map(cells, rows, columns)


def _variant(id_: str) -> dict[str, str]:
    """Return the parts of an id's brackets by name; commas in parentheses part nothing."""
    _, _, inside = id_.rstrip("]").partition("[")
    parts = re.split(r",(?![^()]*\))", inside)
    return {key: value for key, _, value in (part.partition("=") for part in parts) if value}


def _case(variant: Mapping[str, str]) -> str:
    ordered = sorted(variant.items(), key=lambda item: item[0] != "scores")
    return ", ".join(
        value if key in {"scores", "on-miss"} else f"{_GREEK.get(key, key)}={value}"
        for key, value in ordered
    )


def _heat_map(
    cells: Mapping[tuple[str, int], Entry], rows: Sequence[str], columns: Sequence[int]
) -> dict[str, Any]:
    first = cells[next(key for key in cells if key[0] in rows)]
    series = []
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
        "title": f"{first.stem.removeprefix('grid.')}: {first.quantity} by n",
        "x_label": "n",
        "y_label": "",
        "columns": [power(n) for n in columns],
        "series": series,
        "marks": {"✕ refuted": 0.0},
        "description": (
            f"The {first.quantity} in each case (rows) at each size n (columns). Where the claim "
            "is refuted, the cell is orange and bears a cross: the stronger its colour, the more "
            "of the promise is gone."
        ),
    }


def _excess(entry: Entry) -> float:
    return max(entry.breach.severity, 0.01) if entry.refuted else 0.0


def _measured(entry: Entry) -> str:
    shown = number(entry.value, digits=2)
    return f"✕ {shown}" if entry.refuted else shown
