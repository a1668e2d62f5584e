"""What was expected of a verdict, said only where a catalogue has recorded it.

The suites of papers and of planted bugs record the verdict that each claim is known to have, so
that another one is news. Of what users claim of their own code nothing is known beforehand: a
refutation is the finding itself, and contradicts nobody. Every report asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit._format import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.results import PlainData

_USERS = frozenset({"targets", "traces", "estimates", "theorem-case"})
"""The suites of what users name themselves."""
_WHAT = "what was expected"


def recorded(document: Mapping[str, Any]) -> bool:
    """Tell whether the run's suite records which verdicts are expected."""
    return document.get("suite") not in _USERS


def findings_of(document: Mapping[str, Any]) -> list[PlainData]:
    """Return the findings of a document, ``expected`` None where no suite has recorded it."""
    findings: list[PlainData] = document["findings"]
    return findings if recorded(document) else [each | {"expected": None} for each in findings]


def surprises(document: Mapping[str, Any], finding: Mapping[str, Any]) -> bool:
    """Tell whether a verdict contradicts what is recorded: by a suite, or by a baseline."""
    return bool(finding["contradicts"]) and (recorded(document) or bool(finding.get("worse")))


def told(document: Mapping[str, Any]) -> str:
    """Return whether any verdict contradicts what is recorded, as a clause; "" if nothing is.

    Examples
    --------
    >>> told({"suite": "papers", "findings": [{"contradicts": True}, {"contradicts": False}]})
    '1 verdict contradicts what was expected'
    >>> told({"suite": "targets", "findings": [{"contradicts": True}]})
    ''
    """
    surprising = [each for each in document["findings"] if surprises(document, each)]
    worse = sum(bool(each.get("worse")) for each in surprising)
    count = len(surprising) - worse
    verb = "verdict contradicts" if count == 1 else "verdicts contradict"
    parts = [f"{count} {verb} {_WHAT}"] if count else []
    if worse:
        parts.append(f"{counted(worse, 'claim')} got worse than in the baseline")
    none = f"no verdict contradicts {_WHAT}" if recorded(document) else ""
    return "; ".join(parts) or none
