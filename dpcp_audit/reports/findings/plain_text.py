"""A finding in plain text, for the formats that other tools read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpcp_audit._format import interval, to_float
from dpcp_audit.reports.findings.severity import named
from dpcp_audit.results import EvidenceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_WITNESS = 4000


def sentence(finding: Mapping[str, Any]) -> str:
    """Return the verdict, what was expected and the number behind it, on one line."""
    verdict, expected = finding["verdict"], finding["expected"]
    start = verdict if expected in {verdict, None} else f"{verdict} (expected {expected})"
    if worse := finding.get("worse"):
        start = f"worse than in the baseline ({_line(worse)}); {verdict}"
    evidence = finding["evidence"]
    if evidence is None:
        return f"{start}: {_line(finding['error'])}"
    claimed = "" if evidence["claimed"] is None else f", claimed {_number(evidence['claimed'])}"
    return f"{start}: {_line(named(evidence))} = {_found(evidence)}{claimed}"


def paragraphs(finding: Mapping[str, Any]) -> str:
    """Return the claim, the evidence, the witness and how to run it again."""
    source = finding["source"]
    witness = json.dumps(finding["witness"], ensure_ascii=False)
    if len(witness) > _LONGEST_WITNESS:
        witness = witness[:_LONGEST_WITNESS] + " ... (the results file holds all of it)"
    parts = [
        sentence(finding),
        finding["statement"],
        f"Source: {source['paper']}, {source['section']}",
        finding["note"],
        _method(finding["evidence"]),
        proof_text(finding.get("proof")),
        f"Witness: {witness}" if finding["witness"] else "",
        f"Run it again: {finding['replay']}" if finding["replay"] else "",
    ]
    return "\n\n".join(part for part in parts if part)


def family(finding_id: str) -> str:
    """Return the claim's id without its variant.

    Examples
    --------
    >>> family("pcoqs.theorem-1[coverage=marginal]")
    'pcoqs.theorem-1'
    """
    return finding_id.partition("[")[0] or finding_id


def _method(evidence: Mapping[str, Any] | None) -> str:
    if evidence is None:
        return ""
    if evidence["kind"] == EvidenceKind.EXACT:
        return "Computed; the interval is an enclosure, or the numerical error."
    if evidence["kind"] == EvidenceKind.INDICATIVE:
        return "An indication, without a guarantee."
    wrong = f"{1 - to_float(evidence['confidence']):.3g}"
    return f"From {evidence['n_samples']} samples; the interval is wrong with probability {wrong}."


def proof_text(proof: Mapping[str, Any] | None) -> str:
    """Return how a claim was proved, on one line; empty where it is not."""
    if not proof:
        return ""
    premises = "; ".join(premise_text(premise) for premise in proof["premises"])
    return f"Proved by {proof['method']}: {proof['argument']} Premises: {premises}."


def premise_text(premise: Mapping[str, Any]) -> str:
    """Return a premise with the enclosed ends of its sides, where doubles tell them apart.

    Examples
    --------
    >>> premise_text({"says": "δ(1) ≤ δ", "left": [0.1, 0.1], "right": [0.25, 0.25]})
    'δ(1) ≤ δ: 0.1 ≤ 0.25'
    """
    left, right = (to_float(premise[side][end]) for side, end in (("left", 1), ("right", 0)))
    return f"{premise['says']}: {left!r} ≤ {right!r}" if left <= right else str(premise["says"])


def _found(evidence: Mapping[str, Any]) -> str:
    return f"{_number(evidence['value'])} {interval(evidence)}".rstrip()


def _number(value: float | str) -> str:
    return f"{to_float(value):.6g}"


def _line(text: str) -> str:
    return " ".join(text.split())
