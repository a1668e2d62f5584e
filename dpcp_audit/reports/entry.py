"""One finding of a results document, as every report shows it; and what was expected of it.

The suites of papers and of planted bugs record the verdict that each claim is known to have, so
that another one is news. Of what users claim of their own code nothing is known beforehand: a
refutation is the finding itself, and contradicts nobody. Every report asks here.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.sentences import (
    note_of,
    only_above,
    only_below,
    power_of,
    sentence,
    shown_estimate,
    shown_numbers,
    stopped_early,
    undecided_by_proof,
    unsaid_stop,
)
from dpcp_audit.reports.severity import (
    Breach,
    breach,
    named,
    premise_text,
    rules_of,
    source_of,
    times_of,
)
from dpcp_audit.reports.witness import short, tables_of_finding, telling
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.formatting import (
    DASH,
    confidence,
    counted,
    interval,
    number,
    plain,
    printable,
    telling_digits,
    to_float,
)
from dpcp_audit.words.results import (
    Assumption,
    EvidenceKind,
    ProofMethod,
    Standing,
    Verdict,
    source_listing,
    stem_of,
)
from dpcp_audit.words.values import is_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.results import PlainData


_MOST_SIZES = 12
_USERS = frozenset({"targets", "traces", "estimates", "theorem-case"})
"""The suites of what users name themselves."""
_WHAT = "what was expected"


def recorded(document: Mapping[str, Any]) -> bool:
    """Return True if the run's suite records which verdicts are expected."""
    return document.get("suite") not in _USERS


def findings_of(document: Mapping[str, Any]) -> list[PlainData]:
    """Return the findings of a document, ``expected`` None where no suite has recorded it."""
    findings: list[PlainData] = document["findings"]
    return findings if recorded(document) else [each | {"expected": None} for each in findings]


def _surprises(document: Mapping[str, Any], finding: Mapping[str, Any]) -> bool:
    """Return True if a verdict contradicts what is recorded: by a suite, or by a baseline."""
    return bool(finding["contradicts"]) and (recorded(document) or bool(finding.get("worse")))


def sampled(document: Mapping[str, Any]) -> bool:
    """Return True if a verdict rests on samples, or if a check failed before one was known.

    A proof beside which samples were taken rests on them, too, since they might have refuted.
    """
    return any(
        (each.get("evidence") or {}).get("kind") != EvidenceKind.EXACT
        or (each.get("extent") or {}).get("calls")
        for each in document["findings"]
    )


def overall_of(document: Mapping[str, Any]) -> str:
    """Return the suite's sentence on the whole run, on one line; "" where there is none."""
    return _said(document, "summary")


def headline_of(document: Mapping[str, Any]) -> str:
    """Return the suite's own headline of the run; "" where the claims are counted."""
    return _said(document, "headline")


def _said(document: Mapping[str, Any], key: str) -> str:
    said = (document.get("overview") or {}).get(key) or ""
    return " ".join(printable(said).split())


def told(document: Mapping[str, Any]) -> str:
    """Return a clause on verdicts that contradict the recorded ones; "" if none are recorded.

    Examples
    --------
    >>> told({"suite": "papers", "findings": [{"contradicts": True}, {"contradicts": False}]})
    '1 verdict contradicts what was expected'
    >>> told({"suite": "targets", "findings": [{"contradicts": True}]})
    ''
    """
    surprising = [each for each in document["findings"] if _surprises(document, each)]
    worse = sum(bool(each.get("worse")) for each in surprising)
    count = len(surprising) - worse
    verb = "verdict contradicts" if count == 1 else "verdicts contradict"
    parts = [f"{count} {verb} {_WHAT}"] if count else []
    if worse:
        parts.append(f"{counted(worse, 'claim')} got worse than in the baseline")
    none = f"no verdict contradicts {_WHAT}" if recorded(document) else ""
    return "; ".join(parts) or none


WORST_FIRST = (
    Verdict.REFUTED,
    Verdict.ERROR,
    Verdict.VACUOUS,
    Verdict.INCONCLUSIVE,
    Verdict.CONSISTENT,
    Verdict.PROVED,
)
OWN = frozenset({Standing.PAPER, Standing.STATED})
"""The standings of claims that somebody makes as they are tested."""
_HOW = {
    EvidenceKind.EXACT: "computed, without samples; the interval encloses the numerical error",
    EvidenceKind.CERTIFIED: "sampled; the interval holds at the stated confidence",
    EvidenceKind.INDICATIVE: "an indication, without a guarantee",
}
_BASIS: dict[str, str] = {
    EvidenceKind.CERTIFIED: "sampled",
    EvidenceKind.INDICATIVE: "an indication",
}
_TAKEN = {
    Assumption.NONE: "",
    Assumption.TRADE_OFF: "that the mechanism differs from the claim in its noise alone",
}
STANDINGS = {
    Standing.PAPER: "the paper's own claim, as printed",
    Standing.READING: "another reading of what is printed",
    Standing.CORRECTED: "a corrected form of what is printed",
    Standing.OUTSIDE_HYPOTHESIS: "the printed statement outside its hypotheses",
    Standing.ERRATUM: "an erratum: a step, a constant or a caption",
    Standing.PRACTICE: "common practice, which nobody proves",
    Standing.CONTROL: "a control, known to be false",
    Standing.STATED: "stated of the code",
}

LABELS = {
    Standing.PAPER: "as printed",
    Standing.READING: "a reading",
    Standing.CORRECTED: "corrected",
    Standing.OUTSIDE_HYPOTHESIS: "outside its hypotheses",
    Standing.ERRATUM: "an erratum",
    Standing.PRACTICE: "practice",
    Standing.CONTROL: "a control",
    Standing.STATED: "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One finding; its texts are raw and are escaped by the format.

    Parameters
    ----------
    sentence : str
        The finding in plain words, the same in every report.
    anchor : str
        Fragment identifier, unique in the document.
    subject, standing, parameters
        The claim's own.
    expected : str
        The verdict that the suite has recorded; "" of a claim of the user's own.
    contradicts : bool
        True if the verdict contradicts what is recorded.
    quantity, measured, interval, claimed, kind : str
        Cells of the tables; without evidence, an en dash or "".
    reason : str
        The reason why the claim is not decided, or why the source does not prove it; else "".
    tried : str
        The cases, sizes and calls of a search, in a line; "" of other checks.
    source : str
        The source that a proof has read, line by line with its remarks; "" where none was read.
    place_in_code : str
        The line that spends the loss, or where the claim is made, with its text; "" if unknown.
    worse : str
        The way in which it got worse than in an earlier session; "" where it did not.
    factor : float or None
        The smallest violation that would have been refuted, as a multiple of the promise.
    breach : Breach
        The evidence against the promise, and its severity.
    times : tuple of float, or None
        The number and both ends of its interval, as multiples of the promised number; None
        where nothing is claimed of a number.
    facts : tuple of (str, str)
        The evidence, name and value; empty where there is none.
    page : str
        The https address of the paper's statements; "" where there is none.
    witness : str
        The witness as JSON-like text, "" where there is none.
    place : int
        Index of the finding in the document.
    """

    id: str
    anchor: str
    statement: str
    formula: str
    subject: str
    standing: Standing
    parameters: Mapping[str, Any]
    paper: str
    section: str
    verdict: Verdict
    expected: str
    contradicts: bool
    worse: str
    sentence: str
    reason: str
    tried: str
    source: str
    place_in_code: str
    note: str
    factor: float | None
    error: str
    replay: str
    quantity: str
    value: float | None
    limit: float | None
    measured: str
    interval: str
    claimed: str
    kind: str
    breach: Breach
    times: tuple[float, float, float] | None
    facts: tuple[tuple[str, str], ...]
    page: str
    witness: str
    figures: tuple[Mapping[str, Any], ...]
    tables: tuple[Mapping[str, Any], ...]
    place: int

    @property
    def stem(self) -> str:
        """The id without its variant."""
        return stem_of(self.id)

    @property
    def heading(self) -> str:
        """The heading: its subject, or else its id without variant."""
        return self.subject or self.stem

    @property
    def label(self) -> str:
        """Whose claim it is, in a word or two; "" of a claim stated of code."""
        return LABELS[self.standing]

    @property
    def against(self) -> str:
        """The reference of the verdict: the expected one, or that of an earlier session."""
        if self.worse:
            return "worse than in the baseline"
        return f"expected {self.expected}" if self.expected else ""

    @property
    def refuted(self) -> bool:
        """True if the claim is refuted."""
        return self.verdict is Verdict.REFUTED

    @property
    def unclaimed(self) -> bool:
        """True if a number was estimated of which nothing is claimed."""
        return self.value is not None and self.limit is None

    @property
    def needs_attention(self) -> bool:
        """True if the finding is refuted, contradicts its expectation or failed."""
        return self.contradicts or self.verdict in {Verdict.REFUTED, Verdict.ERROR}

    @property
    def basis(self) -> str:
        """The basis of the number where it was not computed: "sampled", or "an indication"."""
        return _BASIS.get(self.kind, "")

    @property
    def apart(self) -> bool:
        """True if it is nobody's claim as it is made, and is counted separately."""
        return self.standing not in OWN

    @property
    def rank(self) -> tuple[bool, int, bool, bool, float, int]:
        """The sort key: contradictions, verdict, standing, promise, how much worse."""
        return (
            not self.contradicts,
            WORST_FIRST.index(self.verdict),
            self.apart and self.refuted,
            self.refuted and not self.breach.guarantee,
            -self.breach.times if self.refuted else 0.0,
            self.place,
        )


def entries_of(document: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Return the entries of a document, worst first."""
    findings = findings_of(document)
    anchors = _anchors([printable(finding["id"]) for finding in findings])
    entries = [
        _entry(finding, anchor, place, document)
        for place, (finding, anchor) in enumerate(zip(findings, anchors, strict=True))
    ]
    return tuple(sorted(entries, key=lambda entry: entry.rank))


def _anchors(ids: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    anchors: list[str] = []
    for name in ids:
        slug = "claim-" + re.sub(r"[^A-Za-z0-9]+", "-", name[:200]).strip("-").lower()
        seen[slug] += 1
        # No slug holds a dot, so that a numbered one cannot meet another's.
        anchors.append(slug if seen[slug] == 1 else f"{slug}.{seen[slug]}")
    return anchors


def _entry(
    finding: Mapping[str, Any], anchor: str, place: int, document: Mapping[str, Any]
) -> Entry:
    evidence: PlainData = shown_estimate(finding) if finding.get("evidence") else {}
    digits = telling_digits(evidence)
    value, claimed = evidence.get("value"), evidence.get("claimed")
    measured, limits = shown_numbers(evidence) if evidence else (DASH, "")
    return Entry(
        id=printable(finding["id"]),
        anchor=anchor,
        statement=printable(finding["statement"]),
        formula=printable(finding.get("formula") or ""),
        subject=printable(finding["subject"]),
        standing=Standing(finding["standing"]),
        parameters=finding["parameters"],
        paper=printable(finding["source"]["paper"]),
        section=printable(finding["source"]["section"]),
        verdict=Verdict(finding["verdict"]),
        expected=printable(finding["expected"] or ("open" if recorded(document) else "")),
        contradicts=_surprises(document, finding),
        worse=printable(finding.get("worse") or ""),
        sentence=printable(sentence(finding)),
        reason=_reason(finding),
        tried=tried(finding.get("extent")),
        source=printable("\n".join(source_listing(source_of(finding)))),
        place_in_code=_location(finding),
        note=printable(note_of(finding)),
        factor=to_float(finding["power"]["factor"]) if finding.get("power") else None,
        error=printable(HINT.join(filter(None, (finding.get(k) for k in ("error", "hint"))))),
        replay=printable(finding.get("replay") or ""),
        quantity=printable(named(evidence)) if evidence else "",
        value=None if value is None else float(value),
        limit=None if claimed is None else float(claimed),
        measured=measured,
        interval=limits,
        claimed=number(claimed, digits=digits),
        kind=str(evidence.get("kind", DASH)),
        breach=breach(evidence),
        times=times_of(evidence),
        facts=(*_printed(finding, document), *_facts(finding, document.get("seed"))),
        page=_page(finding),
        witness=printable(plain(telling(finding["witness"]))) if finding.get("witness") else "",
        figures=tuple(finding.get("figures") or ()),
        tables=tables_of_finding(finding),
        place=place,
    )


def _reason(finding: Mapping[str, Any]) -> str:
    """Return the reason why a claim is not decided or not proved, beside its sentence."""
    if finding["verdict"] != Verdict.INCONCLUSIVE:
        return printable(unsaid_stop(finding))
    said = finding.get("power") or undecided_by_proof(finding)
    note = "" if said else finding.get("note") or ""
    return printable(f"{note} {unsaid_stop(finding)}".strip())


def _facts(finding: Mapping[str, Any], seed: object) -> tuple[tuple[str, str], ...]:
    if not finding.get("evidence"):
        return (*_claim(finding), *_in_the_code(finding))
    evidence = shown_estimate(finding)
    digits = telling_digits(evidence)
    measured, limits = shown_numbers(evidence)
    early = stopped_early(evidence)
    facts = [
        *([("Got worse", printable(finding["worse"]))] if finding.get("worse") else []),
        ("Quantity", printable(named(evidence))),
        ("Measured", f"{measured} {limits}" if early else measured),
        ("Interval", interval(evidence) if early else limits or _side(evidence)),
        ("Claimed", number(evidence.get("claimed"), digits=digits)),
    ]
    if evidence["kind"] != EvidenceKind.EXACT:
        facts.append(("Confidence", confidence(evidence["confidence"])))
    if evidence.get("n_samples") is not None:
        facts.append(("Samples", number(evidence.get("n_samples"))))
        facts += [("Seed", printable(DASH if seed is None else seed)), *_counts(evidence)]
    if told := power_of(finding):
        facts.append(("Power", told))
    facts.append(("Method", _HOW[EvidenceKind(evidence["kind"])]))
    if taken := _TAKEN[Assumption(evidence.get("assumption") or Assumption.NONE)]:
        facts.append(("The interval assumes", taken))
    return (*facts, *_proof(finding), *_claim(finding), *_in_the_code(finding))


def _printed(
    finding: Mapping[str, Any], document: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """Return the printed statement: the sentence, its cases, and its corrected forms."""
    printed: PlainData = finding["source"].get("printed") or {}
    ids = [id_ for id_ in printed.get("corrected") or () if id_ != finding["id"]]
    verdicts = {each["id"]: each["verdict"] for each in document["findings"]} if ids else {}
    forms = (f"{id_} ({verdicts[id_]})" if id_ in verdicts else id_ for id_ in ids)
    facts = {
        "Paper": printed.get("title"),
        "As printed": f"“{printed['quote']}”" if printed.get("quote") else "",
        "Quantifier": printed.get("quantifier"),
        "Hypotheses": printed.get("hypotheses"),
        "Corrected form": ", ".join(forms),
        "On the statement": printed.get("note"),
    }
    return tuple((name, printable(said)) for name, said in facts.items() if said)


def _page(finding: Mapping[str, Any]) -> str:
    page = printable((finding["source"].get("printed") or {}).get("page") or "")
    return page if page.startswith("https://") else ""


def _side(evidence: Mapping[str, Any]) -> str:
    """Return the known side of a number, where no interval is shown."""
    if only_below(evidence):
        return "no upper limit"
    return "an upper bound" if only_above(evidence) else "a single point"


def _claim(finding: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the standing, assumptions and parameters of the claim."""
    parameters = ", ".join(f"{name} = {short(v)}" for name, v in finding["parameters"].items())
    facts = [
        ("Standing", STANDINGS[Standing(finding["standing"])]),
        ("Assumptions", printable(finding["assumptions"])),
        ("Parameters", printable(parameters)),
    ]
    return [(name, said) for name, said in facts if said]


def _proof(finding: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the proof of the claim, one item for each rule."""
    proof = finding.get("proof")
    if not proof:
        return []
    method = "" if proof["method"] == ProofMethod.ARGUMENT else f"{proof['method']}. "
    return [
        ("Proof", f"{method}{printable(proof['argument'])}"),
        *(("Rule", printable(rule)) for rule in rules_of(proof)),
        ("Premises", printable("; ".join(map(premise_text, proof["premises"])))),
    ]


def _counts(evidence: Mapping[str, Any]) -> list[tuple[str, str]]:
    sample: PlainData = evidence.get("sample") or {}
    return [("Counted", _counted(count)) for count in sample.get("counts") or ()]


def _counted(count: Mapping[str, Any]) -> str:
    return f"{printable(count['of'])}: {number(count['hits'])} of {number(count['trials'])}"


def _in_the_code(finding: Mapping[str, Any]) -> list[tuple[str, str]]:
    place = _location(finding)
    return [("In the code", place)] if place else []


def _location(finding: Mapping[str, Any]) -> str:
    """Return a finding's line with its text: "mine.py:3: q + rng.laplace()"."""
    location = finding.get("location")
    if not is_record(location) or "file" not in location:
        return ""
    text = f": {location['text']}" if location.get("text") else ""
    return printable(f"{location['file']}:{location.get('line', '?')}{text}")


def tried(extent: Mapping[str, Any] | None) -> str:
    """Return the extent of a search, on one line; "" where it is not recorded.

    Examples
    --------
    >>> tried({"cases": 3, "of": "pairs of neighbours", "sizes": [1, 2], "calls": 600,
    ...        "planned": 1000})
    '3 pairs of neighbours at n = 1 and 2, in 600 of 1,000 calls'
    """
    if not extent:
        return ""
    sizes = [f"{size:,}" for size in extent["sizes"]]
    if len(sizes) > _MOST_SIZES:
        sizes = [f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"]
    *most, last = sizes or [""]
    at = f" at n = {' and '.join(filter(None, [', '.join(most), last]))}" if sizes else ""
    planned = f" of {extent['planned']:,}" if extent["planned"] > extent["calls"] else ""
    calls = f", in {extent['calls']:,}{planned} calls" if extent["calls"] else ""
    return printable(f"{extent['cases']:,} {extent['of']}{at}{calls}")
