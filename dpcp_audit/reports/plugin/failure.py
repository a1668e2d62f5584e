"""A refuted claim as a test's failure says it: claim, evidence, witness, and how to replay it."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import plain_data
from dpcp_audit.reports.findings.wording import (
    clipped,
    confidence,
    interval,
    number,
    telling_digits,
)

if TYPE_CHECKING:
    from dpcp_audit.audits.evidence import Claim, Outcome

_LONGEST = 160
_MANY = 6


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
        f"  evidence  {evidence['quantity']}: {measured}{promised}",
        f"            {samples} {confidence(evidence['confidence'])}; this test fails a correct",
        f"            mechanism with probability at most {share:.3g}",
        f"  note      {outcome.note}",
        *_witness(outcome.witness),
        f"  replay    {replay}",
    ]
    return "\n".join(lines)


def _witness(witness: dict[str, Any]) -> list[str]:
    shown = [f"{key}: {_short(plain_data(value))}" for key, value in witness.items()]
    return [f"  {'witness' if i == 0 else '':<10}{line}" for i, line in enumerate(shown)]


def _short(value: Any) -> str:
    """Return a value on one line; runs of one number are counted."""
    if isinstance(value, list) and len(value) > _MANY and not isinstance(value[0], list | dict):
        runs = [(item, len(list(group))) for item, group in groupby(value)]
        parts = [f"{item:.6g}" + (f" (x{count})" if count > 1 else "") for item, count in runs]
        return clipped(f"{len(value)} numbers: {', '.join(parts)}", _LONGEST)
    return clipped(json.dumps(value, ensure_ascii=False), _LONGEST)
