"""The reading of a results document: which finding comes first, and what each line says.

Every report format is derived from here, so that no two of them disagree.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.entry import (
    WORST_FIRST,
    entries_of,
    headline_of,
    overall_of,
    sampled,
    told,
)
from dpcp_audit.reports.families import families, lanes
from dpcp_audit.words.checks import Skipped
from dpcp_audit.words.formatting import (
    DASH,
    clipped,
    counted,
    number,
    plain,
    printable,
    rounded_up,
)
from dpcp_audit.words.results import Standing, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.reports.entry import Entry
    from dpcp_audit.reports.families import Family, Lane
    from dpcp_audit.words.results import PlainData


_WRITTEN = (
    "The verdicts are about the statements, mechanisms, parameters and data listed here, not about "
    "another implementation or a deployment."
)
_NOT_PROVED = (
    "CONSISTENT is not a proof: a violation below the stated power, or at inputs that were not "
    "tried, can go undetected."
)
_PROVED_ONLY = (
    "PROVED covers every case that its statement names, in real arithmetic: not side channels, "
    "the random number generator or floating-point noise."
)
_UNDECIDED = "INCONCLUSIVE and ERROR say nothing about the claim."
_SECURITY = "https://github.com/dpcp-audit/dpcp-audit/blob/main/docs/explanation/security.md"
_ONE_CALL = (
    "A privacy verdict is about one call and the data that the call gets: further releases of the "
    "same data add up, and a model that was trained on them counts, too. The security model says "
    f"what is assumed of the code and its environment: {_SECURITY}"
)
_FALSE_ALARMS = (
    "The false-alarm probability limits how often true claims are refuted; it says nothing about "
    "false claims that are missed."
)
_UNCLAIMED = "Nothing is claimed; a loss was estimated"
_ALONE = {
    Verdict.REFUTED: "is refuted",
    Verdict.ERROR: "could not be checked",
    Verdict.VACUOUS: "is vacuous",
    Verdict.INCONCLUSIVE: "could not be decided",
    Verdict.CONSISTENT: "is not refuted",
    Verdict.PROVED: "is proved",
}


_APART = {
    Standing.READING: ("other reading of a printed sentence", "other readings of what is printed"),
    Standing.CORRECTED: ("corrected form", "corrected forms"),
    Standing.OUTSIDE_HYPOTHESIS: (
        "statement outside its hypotheses",
        "statements outside their hypotheses",
    ),
    Standing.ERRATUM: ("erratum", "errata"),
    Standing.PRACTICE: ("practice that nobody proves", "practices that nobody proves"),
    Standing.CONTROL: (
        "control, known to be false and caught",
        "controls, known to be false and caught",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A results document, read: its entries worst first and the sentences of the banner.

    Parameters
    ----------
    contradicting : tuple of Entry
        Entries whose verdict differs from the one that a suite or a baseline has recorded.
    expectations : str
        A sentence about expected verdicts; "" where nothing is recorded.
    suite_headline : str
        The suite's own headline, counted as it counts; "" where the claims are counted.
    overall : str
        The suite's summary of the run, counted as it counts; "" where it has none.
    """

    entries: tuple[Entry, ...]
    families: tuple[Family, ...]
    papers: str
    counts: Mapping[Verdict, int]
    contradicting: tuple[Entry, ...]
    expectations: str
    false_alarm: str
    sampled: bool
    complete: bool
    skipped: tuple[Skipped, ...]
    overall: str = ""
    suite_headline: str = ""

    @property
    def own(self) -> tuple[Entry, ...]:
        """The claims that somebody makes: as printed by a paper, or stated of a target."""
        return tuple(entry for entry in self.entries if not entry.apart)

    @property
    def headline(self) -> str:
        """The headline: the suite's own, or the claims as they are made, and nothing else.

        Of a run that is about its controls, how many of them are caught comes before; of a run
        that was stopped, after how many claims it was.
        """
        if self.complete:
            return self._whole_headline
        told = self._whole_headline
        after = counted(len(self.entries), "claim")
        return f"Stopped after {after}: {told[:1].lower()}{told[1:]}"

    @property
    def _whole_headline(self) -> str:
        if self.suite_headline:
            return self.suite_headline
        controls = sum(entry.standing is Standing.CONTROL for entry in self.entries)
        if not self.own or controls <= len(self.own):
            return self._headline
        caught = "All" if self.caught == controls else f"{self.caught or 'None'} of"
        return (
            f"{caught} {controls} controls {_is(self.caught or 1)} caught; "
            f"{self._headline[:1].lower()}{self._headline[1:]}"
        )

    @property
    def _headline(self) -> str:
        own = self.own or self.entries
        counts = Counter(entry.verdict for entry in own)
        refuted, total = counts[Verdict.REFUTED], len(own)
        what = "claims" if self.own else "controls and readings"
        if not total:
            return "No claim was tested"
        if all(entry.standing is Standing.CONTROL for entry in own):
            what = "controls, known to be false,"
            return f"{refuted or 'None'} of {total} {what} {_is(refuted or 1)} caught"
        if total == 1:
            return _UNCLAIMED if own[0].unclaimed else f"The claim {_ALONE[own[0].verdict]}"
        for verdict in (Verdict.REFUTED, Verdict.VACUOUS, Verdict.PROVED):
            if counts[verdict] == total:
                every = "Both" if total == 2 else f"All {total}"
                return f"{every} {what} are {verdict.lower()}"
        if not refuted + counts[Verdict.PROVED] + counts[Verdict.CONSISTENT]:
            all_failed = counts[Verdict.ERROR] == total
            return f"None of {total} {what} could be {'checked' if all_failed else 'decided'}"
        return f"{refuted or 'None'} of {total} {what} {_is(refuted or 1)} refuted"

    @property
    def broken(self) -> tuple[Family, ...]:
        """The families in which a claim is refuted as it is made, the worst first."""
        return tuple(f for f in self.families if f.refuted and not f.refuted[0].apart)

    @property
    def apart(self) -> tuple[Family, ...]:
        """The families in which readings and the like alone are refuted; controls left out."""
        return tuple(f for f in self.families if f.refuted and f.refuted[0].apart and not f.control)

    @property
    def controls(self) -> tuple[Family, ...]:
        """The families whose refutation shows that the audit can refute."""
        return tuple(f for f in self.families if f.refuted and f.control)

    @property
    def sound(self) -> tuple[Family, ...]:
        """The families in which nothing is refuted."""
        return tuple(f for f in self.families if not f.refuted)

    @property
    def failed(self) -> tuple[Entry, ...]:
        """The checks that could not be completed."""
        return tuple(entry for entry in self.entries if entry.verdict is Verdict.ERROR)

    @property
    def tally(self) -> tuple[tuple[Verdict, int], ...]:
        """The verdicts of the claims as they are made, worst first, each with its number."""
        counts = Counter(entry.verdict for entry in self.own)
        return tuple((verdict, counts[verdict]) for verdict in WORST_FIRST if counts[verdict])

    @property
    def counted_apart(self) -> tuple[int, int]:
        """The number of readings, errata and the like, and of those refuted; no caught controls."""
        apart = [entry for entry in self.entries if entry.apart and not _caught(entry)]
        return len(apart), sum(entry.refuted for entry in apart)

    @property
    def caught(self) -> int:
        """The number of controls that are refuted, as they should be."""
        return sum(map(_caught, self.entries))

    @property
    def sources(self) -> tuple[str, ...]:
        """The papers, or targets, that the claims are of, in the order of their first claims."""
        return tuple(dict.fromkeys(e.paper for e in sorted(self.entries, key=lambda e: e.place)))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Every finding on one scale, by families."""
        return lanes(self.families)

    @property
    def assurance(self) -> str:
        """The grounds of the verdicts: the false-alarm probability, and what proofs rest on."""
        said = (
            "If every claim were true, this run would refute any of them with probability at most "
            f"{self.false_alarm}."
            if self.sampled
            else "Nothing was sampled, so no verdict depends on chance."
        )
        if not self.counts[Verdict.PROVED]:
            return said
        return f"{said} A proof rests on the assumptions and rules that are listed with its claim."

    @property
    def limits(self) -> tuple[str, ...]:
        """The conclusions that these results do not support."""
        open_ = self.counts[Verdict.INCONCLUSIVE] + self.counts[Verdict.ERROR]
        said = {
            _WRITTEN: True,
            _ONE_CALL: True,
            _NOT_PROVED: self.counts[Verdict.CONSISTENT],
            _PROVED_ONLY: self.counts[Verdict.PROVED],
            _UNDECIDED: open_,
            _FALSE_ALARMS: self.sampled,
        }
        return tuple(limit for limit, holds in said.items() if holds)

    @property
    def scope(self) -> str:
        """The sentence that a reviewer signs."""
        counts = ((verdict, self.counts[verdict]) for verdict in WORST_FIRST)
        tally = ", ".join(f"{n} {verdict.lower()}" for verdict, n in counts if n) or "none"
        stopped = "" if self.complete else "INCOMPLETE: the run was stopped before its end. "
        return (
            f"{stopped}This report is of {counted(len(self.entries), 'claim')} of {self.papers} "
            f"({tally}), with the code, inputs and settings that it names, and within the limits "
            "that it lists."
        )

    @property
    def meaning(self) -> str:
        """The meaning of the run, in a few sentences."""
        decided = {Verdict.REFUTED, Verdict.VACUOUS, Verdict.PROVED, Verdict.CONSISTENT}
        if not any(self.counts[verdict] for verdict in decided):
            return "No claim could be decided." if self.entries else "Nothing was tested."
        said = [self._refuted, self._vacuous, self._apart, self._proved, self._withstood]
        return " ".join(sentence for sentence in said if sentence)

    @property
    def caution(self) -> str:
        """The most likely wrong conclusion from the run."""
        if self.counts[Verdict.CONSISTENT]:
            return _NOT_PROVED
        return _PROVED_ONLY if self.counts[Verdict.PROVED] else _WRITTEN

    @property
    def _refuted(self) -> str:
        refuted = sum(entry.refuted for entry in self.own)
        if not refuted:
            return "The evidence excludes none of these claims." if self.own else ""
        them, each = _is(refuted, "it", "them"), _is(refuted, "It has", "Each has")
        return (
            f"The evidence excludes {counted(refuted, 'claim')} as stated: do not rely on {them}. "
            f"{each} a witness, and a command that runs it again."
        )

    @property
    def _vacuous(self) -> str:
        vacuous = self.counts[Verdict.VACUOUS]
        each = _is(vacuous, "promises", "promise")
        return f"{counted(vacuous, 'claim')} {each} nothing in the case tested." if vacuous else ""

    @property
    def _apart(self) -> str:
        """The refuted entries that are not claims as somebody makes them."""
        refuted = Counter(entry.standing for entry in self.entries if entry.refuted)
        parts = [
            f"{refuted[standing]} {_is(refuted[standing], *words)}"
            for standing, words in _APART.items()
            if refuted[standing]
        ]
        return f"Also refuted, counted separately: {_and(parts)}." if parts else ""

    @property
    def _proved(self) -> str:
        proved = self.counts[Verdict.PROVED]
        statement = _is(proved, "its statement names", "their statements name")
        said = f"{counted(proved, 'claim')} {_is(proved)} proved for every case that {statement}."
        return said if proved else ""

    @property
    def _withstood(self) -> str:
        """The claims that were not refuted, and the violations that would have been seen."""
        tried = [entry for entry in self.entries if entry.verdict is Verdict.CONSISTENT]
        if not tried:
            return ""
        said = f"{counted(len(tried), 'claim')} {_is(len(tried))} not refuted"
        factors = [e.factor for e in tried if e.factor is not None and math.isfinite(e.factor)]
        if not factors:
            return f"{said}."
        some = "" if len(factors) == len(tried) else f"for {len(factors)} of them, "
        return (
            f"{said}; {some}a violation of the named kind, by a factor of "
            f"{rounded_up(max(factors), digits=3)} or more, would have been refuted with "
            "probability 0.95."
        )


def read(document: Mapping[str, Any]) -> Reading:
    """Read a results document of schema version 2.

    Raises
    ------
    ValueError
        If the document's schema version is another.
    """
    version = str(document.get("schema_version"))
    if version.partition(".")[0] != "2":
        raise ValueError(f"document must have schema_version 2.x, got {version!r}")
    entries = entries_of(document)
    return Reading(
        entries=entries,
        families=families(entries),
        papers=_listed([name for name, _ in Counter(e.paper for e in entries).most_common()]),
        counts=Counter(entry.verdict for entry in entries),
        contradicting=tuple(entry for entry in entries if entry.contradicts),
        expectations=_sentence(told(document)),
        false_alarm=number(document.get("false_alarm")),
        sampled=sampled(document),
        complete=bool(document.get("complete", True)),
        skipped=tuple(
            Skipped(name=printable(each["name"]), reason=printable(each["reason"]))
            for each in document.get("skipped") or ()
        ),
        overall=overall_of(document),
        suite_headline=headline_of(document),
    )


SIGN_OFF = (
    *("Reviewer", "Role", "Decision (accept, accept with conditions, reject)"),
    *("Date", "Signature"),
)
"""What a reviewer fills in."""
SIGNED = ("Finished", "Tool", "Git commit")
"""The facts of a run that a signature is of, beside the digests of the code."""
ORIGIN = ("Finished", "Command", "Git commit")
"""The facts of a run that a report begins with."""


def run_facts(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return when and how the run was made, and what is needed to repeat it: name and value."""
    tool: PlainData = document["tool"]
    libraries: PlainData = document.get("libraries") or {}
    origin: PlainData = document.get("provenance") or {}
    digests: dict[str, str] = {**(origin.get("code") or {}), **(origin.get("imported") or {})}
    facts = {
        "Finished": origin.get("finished"),
        "Command": origin.get("command"),
        "Tool": f"{tool['name']} {tool['version']}",
        "Suite": document.get("suite", DASH),
        "Profile": document.get("profile", DASH),
        "Seed": document.get("seed", DASH),
        "False-alarm probability": number(document.get("false_alarm")),
        "Time": f"{number(document.get('wall_seconds'), digits=3)} s",
        "Python": document.get("python", DASH),
        "Platform": origin.get("platform"),
        "Git commit": _commit(origin) if origin else None,
        "Libraries": ", ".join(f"{name} {of}" for name, of in libraries.items()) or DASH,
        **{f"Options of {each['name']}": _options(each) for each in document.get("targets") or ()},
        **{f"SHA-256 of {name}": of for name, of in digests.items()},
    }
    return tuple(
        (printable(name), printable(value)) for name, value in facts.items() if value is not None
    )


_NO_OPTIONS = {"target", "name", "location", "planned"}


def _options(check: Mapping[str, Any]) -> str:
    """Return the resolved options of a check, and the calls that were planned for its claims."""
    given = {key: value for key, value in check.items() if key not in _NO_OPTIONS}
    calls = {"calls": check["planned"]} if check.get("planned") else {}
    return "; ".join(f"{key} = {plain(value)}" for key, value in {**given, **calls}.items())


def _caught(entry: Entry) -> bool:
    return entry.refuted and entry.standing is Standing.CONTROL


_STATES = {
    "untracked": ("is not committed", "are not committed"),
    "changed": ("has changed since", "have changed since"),
    "outside": ("is not in this repository", "are not in this repository"),
}


def _commit(origin: PlainData) -> str:
    """Return the commit, and which of the files that were audited it does not hold as they are."""
    if not origin.get("revision"):
        return "unknown: no git, or no commit in the working directory"
    files: PlainData = origin.get("uncommitted") or {}
    of_state = {state: [name for name in files if files[name] == state] for state in _STATES}
    states = [
        f"{_and(names)} {_is(len(names), *_STATES[state])}"
        for state, names in of_state.items()
        if names
    ]
    if origin.get("changed") and not states:
        states = ["other files have changed since"]
    return ", but ".join([origin["revision"], _and(states)] if states else [origin["revision"]])


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}." if clause else ""


def _is(count: int, one: str = "is", many: str = "are") -> str:
    return one if count == 1 else many


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _listed(names: Sequence[str]) -> str:
    """Name the first few, and count the others."""
    shown = [clipped(name, 80) for name in names]
    if len(shown) > 4:
        shown = [*shown[:3], f"{len(shown) - 3} other sources"]
    if len(shown) < 2:
        return shown[0] if shown else "no paper"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
