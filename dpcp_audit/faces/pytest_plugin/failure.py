"""A refuted claim, or one that is not proved, as a test's failure says it."""

from __future__ import annotations

import linecache
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.tasks import plain_data
from dpcp_audit.reports.sentences import note_of, sentence
from dpcp_audit.reports.witness import short, telling
from dpcp_audit.words.formatting import confidence, number

if TYPE_CHECKING:
    from dpcp_audit.words.results import Claim, Outcome, Unproved


_WIDTH = 68


def failure(where: str, claim: Claim, outcome: Outcome, share: float, replay: str) -> str:
    """Return the lines of a failure.

    Parameters
    ----------
    where : str
        The line of the test, a colon, and the function.
    share : float
        The probability with which the test fails a correct mechanism.
    replay : str
        The command that runs the test again.
    """
    found: Any = plain_data(asdict(outcome))
    evidence = found["evidence"]
    surety = "computed, without samples"
    if evidence["n_samples"] is not None:
        surety = (
            f"{number(evidence['n_samples'])} samples, {evidence['kind']} at confidence "
            f"{confidence(evidence['confidence'])}; this test fails a correct mechanism with "
            f"probability at most {share:.3g}"
        )
    lines = [
        *_head(where, "breaks its promise", claim),
        *_wrapped("found", sentence(found)),
        *_wrapped("evidence", surety),
        *_line(outcome),
        *_wrapped("note", note_of(found)),
        *_witness(outcome.witness),
        f"  replay    {replay}",
    ]
    return "\n".join(lines)


def not_proved(where: str, claim: Claim, outcome: Outcome, unproved: Unproved) -> str:
    """Return the lines of the failure of a claim that must be proved and is not."""
    return "\n".join(
        [
            *_head(where, "is not proved for every input", claim),
            *_wrapped("reason", unproved.reason),
            *_line(outcome),
            *_wrapped("remedy", unproved.hint),
            *_wrapped("source", "dpcp-audit prove prints it, each line with what it costs"),
        ]
    )


def _head(where: str, what: str, claim: Claim) -> list[str]:
    """Return what pytest's own summary cuts at its first line, and the place and the claim."""
    place, _, function = where.rpartition(": ")
    return [f"{function} {what}", f"  test      {place}", *_wrapped("claim", claim.statement)]


def _line(outcome: Outcome) -> list[str]:
    """Return the line of the code that spends the loss, as it is written."""
    place = outcome.location
    if place is None:
        return []
    linecache.checkcache(place.file)
    code = linecache.getline(place.file, place.line).strip()
    return [f"  line      {place.file}:{place.line}: {code}".rstrip(": ")]


def _wrapped(name: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"  {name if i == 0 else '':<10}{line}" for i, line in enumerate(lines)]


def _witness(witness: dict[str, Any]) -> list[str]:
    plain = {key: plain_data(value) for key, value in witness.items()}
    shown = [f"{key}: {short(value)}" for key, value in telling(plain).items()]
    return [f"  {'witness' if i == 0 else '':<10}{line}" for i, line in enumerate(shown)]
