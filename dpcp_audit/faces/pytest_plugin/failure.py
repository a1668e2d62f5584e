"""A refuted claim as a test's failure says it, and the power of an audit in a few words."""

from __future__ import annotations

import linecache
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.encoding import plain_data
from dpcp_audit.reports.sentences import sentence, violation
from dpcp_audit.reports.witness import short, telling
from dpcp_audit.targets.answers import NOT_PROVED
from dpcp_audit.words.formatting import confidence, number
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.words.results import Claim, Outcome


_WIDTH = 88


def failure(where: str, claim: Claim, outcome: Outcome, share: float, replay: str) -> str:
    """Return the lines of a failure.

    Parameters
    ----------
    where : str
        The line of the test, and the function.
    share : float
        The probability with which the test fails a correct mechanism.
    replay : str
        The command that runs the test again.
    """
    evidence: Any = plain_data(asdict(outcome.evidence))
    samples = f"{number(evidence['n_samples'])} samples, {evidence['kind']} at confidence"
    surety = f"{samples} {confidence(evidence['confidence'])}"
    if evidence["n_samples"] is None:
        surety = "computed"
    lines = [
        f"{where} breaks its promise",
        f"  claim     {claim.statement}",
        *_wrapped("found", sentence(_plain(outcome))),
        f"  evidence  {surety}; this test fails a correct",
        f"            mechanism with probability at most {share:.3g}",
        *_line(outcome),
        *_wrapped("note", outcome.note),
        *_witness(outcome.witness),
        f"  replay    {replay}",
    ]
    return "\n".join(lines)


def unproved(where: str, claim: Claim, outcome: Outcome) -> str:
    """Return the lines of the failure of a claim that must be proved and is not."""
    reason, _, remedy = outcome.note.partition(" Hint: ")
    return "\n".join(
        [
            f"{where} is {NOT_PROVED}",
            *_wrapped("claim", claim.statement),
            *_wrapped("reason", reason.partition(": ")[2]),
            *_line(outcome),
            *_wrapped("remedy", remedy),
            *_wrapped("source", "dpcp-audit prove prints it, each line with what it costs"),
        ]
    )


def _line(outcome: Outcome) -> list[str]:
    """Return the line of the code that spends the loss, as it is written."""
    place = outcome.location
    if place is None:
        return []
    linecache.checkcache(place.file)
    code = linecache.getline(place.file, place.line).strip()
    return [f"  line      {place.file}:{place.line}: {code}".rstrip(": ")]


def _plain(outcome: Outcome) -> Any:
    """Return the outcome as a finding of a results document has it."""
    return plain_data(asdict(outcome))


def _wrapped(name: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"  {name if i == 0 else '':<10}{line}" for i, line in enumerate(lines)]


def _witness(witness: dict[str, Any]) -> list[str]:
    plain = {key: plain_data(value) for key, value in witness.items()}
    shown = [f"{key}: {short(value)}" for key, value in telling(plain).items()]
    return [f"  {'witness' if i == 0 else '':<10}{line}" for i, line in enumerate(shown)]


def power_of(finding: Mapping[str, Any]) -> str:
    """Return the violation that an audit would have caught, for a column of a table.

    Examples
    --------
    >>> power = {"quantity": "epsilon", "bound": "at most", "smallest": 2.0, "factor": 2.0}
    >>> power_of({"verdict": "CONSISTENT", "power": power})
    'ε ≥ 2 (2 × the claim)'
    """
    if finding["verdict"] == Verdict.REFUTED:
        return "refuted"
    if (finding.get("note") or "").startswith(NOT_PROVED.capitalize()):
        return "not proved"
    if finding["verdict"] == Verdict.PROVED and finding["power"] is None:
        return "proved for every input"
    power = finding["power"]
    return "nothing" if power is None else violation(power).replace("no violation", "nothing")
