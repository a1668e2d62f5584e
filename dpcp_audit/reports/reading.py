"""How a results document is read: which finding comes first, and what each line says.

Every report format is derived from here, so that no two of them disagree.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.audits.evidence import EvidenceKind, Verdict
from dpcp_audit.reports.wording import DASH, confidence, interval, number, plain, telling_digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORST_FIRST = (
    Verdict.ERROR,
    Verdict.REFUTED,
    Verdict.INCONCLUSIVE,
    Verdict.CONSISTENT,
    Verdict.PROVED,
)
_HOW = {
    EvidenceKind.EXACT: "computed exactly; the interval is numerical slack",
    EvidenceKind.CERTIFIED: "sampled; the interval holds at the stated confidence",
    EvidenceKind.INDICATIVE: "an indication, without a guarantee",
}
LIMITS = tuple(
    """\
The verdicts speak of the statements as written here and of the mechanisms, parameters and data \
listed here, not of another implementation or of a deployment.
CONSISTENT is not a proof: a violation smaller than the interval shows, or at inputs that were \
not tried, would not have been seen.
PROVED covers every case that its statement speaks of, in real arithmetic: side channels, random \
number generators and floating-point noise are outside of it.
INCONCLUSIVE and ERROR say nothing of the claim.
The false-alarm probability bounds true claims that are refuted; it says nothing of false claims \
that are missed.""".splitlines()
)
"""What no reader should take from a clean result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One finding as every report shows it; texts are raw and are escaped by the format.

    Parameters
    ----------
    anchor : str
        Fragment identifier, unique in the document.
    quantity, measured, interval, claimed, kind : str
        Cells of the summary table; without evidence, an en dash or "".
    facts : tuple of (str, str)
        The evidence, name and value; empty where there is none.
    witness : str
        The witness as JSON-like text, "" where there is none.
    """

    id: str
    anchor: str
    statement: str
    formula: str
    paper: str
    section: str
    verdict: Verdict
    expected: str
    contradicts: bool
    note: str
    error: str
    replay: str
    quantity: str
    measured: str
    interval: str
    claimed: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    witness: str
    figures: tuple[Mapping[str, Any], ...]

    @property
    def needs_attention(self) -> bool:
        """Whether the finding is refuted, contradicts its expectation or failed."""
        return self.contradicts or self.verdict in {Verdict.REFUTED, Verdict.ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A results document, read: its entries worst first and the sentences of the banner."""

    entries: tuple[Entry, ...]
    papers: str
    counts: Mapping[Verdict, int]
    contradicting: tuple[Entry, ...]
    false_alarm: str
    complete: bool

    @property
    def headline(self) -> str:
        """What a reader must know first."""
        refuted, total = self.counts[Verdict.REFUTED], len(self.entries)
        if not total:
            return "No claim was put to the test"
        if refuted == total > 1:
            return f"All {total} claims are refuted"
        return f"{refuted or 'None'} of {_count(total, 'claim')} {_is(refuted or 1)} refuted"

    @property
    def holding(self) -> int:
        """Number of claims that hold: proved, or consistent with the evidence."""
        return self.counts[Verdict.PROVED] + self.counts[Verdict.CONSISTENT]

    @property
    def standing(self) -> str:
        """Whether any verdict contradicts what was expected."""
        count = len(self.contradicting)
        if not count:
            return "No verdict contradicts what was expected."
        verb = "contradicts" if count == 1 else "contradict"
        return f"{_count(count, 'verdict')} {verb} what was expected."

    @property
    def tally(self) -> tuple[tuple[Verdict, int], ...]:
        """The verdicts that occur, worst first, each with its number."""
        return tuple(
            (verdict, self.counts[verdict]) for verdict in WORST_FIRST if self.counts[verdict]
        )

    @property
    def assurance(self) -> str:
        """What the run's false-alarm probability says."""
        return (
            "If every tested claim were true, the probability that this run refutes any of them "
            f"is at most {self.false_alarm}."
        )

    @property
    def meaning(self) -> str:
        """What the run means, in two sentences."""
        return f"{self._refuted_sentence()} {self._holding_sentence()}"

    def _refuted_sentence(self) -> str:
        refuted = self.counts[Verdict.REFUTED]
        if not refuted:
            return "The evidence excludes none of these promises."
        it = "it comes" if refuted == 1 else "each comes"
        return (
            f"The evidence excludes {_count(refuted, 'promise')} as stated; "
            f"{it} with a witness and a command that runs it again."
        )

    def _holding_sentence(self) -> str:
        proved, consistent = self.counts[Verdict.PROVED], self.counts[Verdict.CONSISTENT]
        if not self.holding:
            return "No claim can be said to hold."
        parts = [
            f"{proved} {_is(proved)} proved by exact evidence that covers every case",
            f"{consistent} withstood this run's attempts to refute {_is(consistent, 'it', 'them')}",
        ]
        said = ", ".join(part for part in parts if not part.startswith("0 "))
        return f"{_count(self.holding, 'claim')} {_is(self.holding, 'holds', 'hold')}: {said}."


def read(document: Mapping[str, Any]) -> Reading:
    """Read a results document of schema version 1.

    Raises
    ------
    ValueError
        If the document's schema version is another.
    """
    version = str(document.get("schema_version"))
    if version.partition(".")[0] != "1":
        raise ValueError(f"document must have schema_version 1.x, got {version!r}")
    findings = sorted(document["findings"], key=_rank)
    anchors = _anchors([str(finding["id"]) for finding in findings])
    entries = tuple(_entry(f, a) for f, a in zip(findings, anchors, strict=True))
    return Reading(
        entries=entries,
        papers=_listed(sorted({entry.paper for entry in entries})),
        counts=Counter(entry.verdict for entry in entries),
        contradicting=tuple(entry for entry in entries if entry.contradicts),
        false_alarm=number(document.get("false_alarm")),
        complete=bool(document.get("complete", True)),
    )


def run_facts(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what is needed to repeat the run, name and value."""
    tool, libraries = document["tool"], document.get("libraries") or {}
    return (
        ("Tool", f"{tool['name']} {tool['version']}"),
        ("Suite", str(document.get("suite", DASH))),
        ("Profile", str(document.get("profile", DASH))),
        ("Seed", str(document.get("seed", DASH))),
        ("False-alarm probability", number(document.get("false_alarm"))),
        ("Time", f"{number(document.get('wall_seconds'), digits=3)} s"),
        ("Python", str(document.get("python", DASH))),
        ("Libraries", ", ".join(f"{name} {of}" for name, of in libraries.items()) or DASH),
    )


def _rank(finding: Mapping[str, Any]) -> tuple[bool, int, str]:
    place = WORST_FIRST.index(Verdict(finding["verdict"]))
    return (not finding["contradicts"], place, str(finding["id"]))


def _anchors(ids: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    anchors = []
    for name in ids:
        slug = "claim-" + re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
        seen[slug] += 1
        # No slug holds a dot, so that a numbered one cannot meet another's.
        anchors.append(slug if seen[slug] == 1 else f"{slug}.{seen[slug]}")
    return anchors


def _entry(finding: Mapping[str, Any], anchor: str) -> Entry:
    evidence = finding.get("evidence") or {}
    digits = telling_digits(evidence)
    return Entry(
        id=str(finding["id"]),
        anchor=anchor,
        statement=str(finding["statement"]),
        formula=str(finding.get("formula") or ""),
        paper=str(finding["source"]["paper"]),
        section=str(finding["source"]["section"]),
        verdict=Verdict(finding["verdict"]),
        expected=str(finding["expected"] or "open"),
        contradicts=bool(finding["contradicts"]),
        note=str(finding.get("note") or ""),
        error=str(finding.get("error") or ""),
        replay=str(finding.get("replay") or ""),
        quantity=str(evidence.get("quantity", "")),
        measured=number(evidence.get("value"), digits=digits),
        interval=interval(evidence) if evidence else "",
        claimed=number(evidence.get("claimed"), digits=digits),
        kind=str(evidence.get("kind", DASH)),
        facts=_facts(evidence),
        witness=plain(finding["witness"]) if finding.get("witness") else "",
        figures=tuple(finding.get("figures") or ()),
    )


def _facts(evidence: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if not evidence:
        return ()
    digits = telling_digits(evidence)
    return (
        ("Quantity", str(evidence["quantity"])),
        ("Measured", number(evidence["value"], digits=digits)),
        ("Interval", interval(evidence) or "a single point"),
        ("Claimed", number(evidence.get("claimed"), digits=digits)),
        ("Confidence", confidence(evidence["confidence"])),
        ("Samples", number(evidence.get("n_samples"))),
        ("How it was had", _HOW[EvidenceKind(evidence["kind"])]),
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _is(count: int, one: str = "is", many: str = "are") -> str:
    return one if count == 1 else many


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return names[0] if names else "no paper"
    return f"{', '.join(names[:-1])} and {names[-1]}"
