"""A refuted claim as a test's failure says it: claim, evidence, witness, and how to replay it."""

from __future__ import annotations

import linecache
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import (
    confidence,
    interval,
    number,
    telling_digits,
)
from dpcp_audit.engine.encoding import plain_data
from dpcp_audit.reports.findings.severity import estimate_sentences, named
from dpcp_audit.reports.findings.witness import short, telling

if TYPE_CHECKING:
    from dpcp_audit.results import Claim, Outcome


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
    digits = telling_digits(evidence)
    claimed = evidence["claimed"]
    measured = f"{number(evidence['value'], digits=digits)} {interval(evidence)}".rstrip()
    promised = "" if claimed is None else f", claimed {number(claimed, digits=digits)}"
    samples = f"{number(evidence['n_samples'])} samples, {evidence['kind']} at confidence"
    lines = [
        f"{where} breaks its promise",
        f"  claim     {claim.statement}",
        f"  evidence  {named(evidence)}: {measured}{promised}",
        f"            {samples} {confidence(evidence['confidence'])}; this test fails a correct",
        f"            mechanism with probability at most {share:.3g}",
        *(f"  loss      {said}" for said in estimate_sentences(_estimates(outcome))),
        *_line(outcome),
        f"  note      {outcome.note}",
        *_witness(outcome.witness),
        f"  replay    {replay}",
    ]
    return "\n".join(lines)


def _line(outcome: Outcome) -> list[str]:
    """Return the line of the code that spends the loss, as it is written."""
    place = outcome.location
    if place is None:
        return []
    linecache.checkcache(place.file)
    code = linecache.getline(place.file, place.line).strip()
    return [f"  line      {place.file}:{place.line}: {code}".rstrip(": ")]


def _estimates(outcome: Outcome) -> Any:
    return plain_data({"estimates": [asdict(each) for each in outcome.estimates]})


def _witness(witness: dict[str, Any]) -> list[str]:
    plain = {key: plain_data(value) for key, value in witness.items()}
    shown = [f"{key}: {short(value)}" for key, value in telling(plain).items()]
    return [f"  {'witness' if i == 0 else '':<10}{line}" for i, line in enumerate(shown)]
