"""A small results document for the report formats: every verdict, and hostile texts."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

HOSTILE = "<script>alert(1)</script> | `code` </details> & \"quoted\" 'q' $x$ *b* [l](http://evil.example)"

PROFILE: dict[str, Any] = {
    "kind": "lines",
    "title": "Privacy profile",
    "x_label": "ε",
    "y_label": "δ(ε)",
    "series": [
        {"name": "claimed", "x": [0.0, 1.0, 2.0], "y": [0.5, 0.0, 0.0]},
        {"name": "exact", "x": [0.0, 1.0, 2.0], "y": [0.6, 0.25, "inf"]},
    ],
    "description": "The exact curve lies above the claimed one.",
    "marks": {"claimed ε": 1.0},
    "log_x": False,
    "log_y": False,
}

COVERAGE: dict[str, Any] = {
    "kind": "histogram",
    "title": f"Coverage {HOSTILE}",
    "x_label": "coverage $\\alpha",
    "y_label": "trials",
    "series": [{"name": HOSTILE, "x": [0.8, 0.85, 0.9, 0.95], "y": [3, 90, 7]}],
    "description": HOSTILE,
    "marks": {"bound": 0.85, "off": "-inf"},
    "log_x": False,
    "log_y": True,
}


def evidence(**changes: Any) -> dict[str, Any]:
    """Return exact evidence of a log-ratio of 2, with changes."""
    exact = {
        "kind": "exact",
        "quantity": "epsilon",
        "at": {},
        "detail": "largest log-ratio",
        "bound": "at most",
        "value": 2.0,
        "lower": 2.0,
        "upper": 2.0,
        "claimed": 1.0,
        "confidence": 1.0,
        "n_samples": None,
    }
    return exact | changes


def finding(name: str, verdict: str, expected: str, **changes: Any) -> dict[str, Any]:
    """Return a finding with exact evidence, with changes."""
    plain = {
        "id": name,
        "statement": f"Statement of {name}.",
        "formula": "log P/Q ≤ ε",
        "source": {"paper": "P-COQS", "section": "Section 5"},
        "subject": "",
        "standing": "paper",
        "assumptions": "",
        "parameters": {},
        "expected": expected,
        "verdict": verdict,
        "contradicts": False,
        "evidence": evidence(),
        "power": None,
        "witness": {"n": 10, "epsilon": 1.0},
        "note": "What it means.",
        "figures": [],
        "replay": f"dpcp-audit replay '{name}' RESULTS.json",
        "error": "",
        "seconds": 0.1,
    }
    return plain | changes


def document(*findings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a results document of the findings, or of one finding of each verdict."""
    verdicts = [entry["verdict"] for entry in findings or FINDINGS]
    contradictions = sum(entry["contradicts"] for entry in findings or FINDINGS)
    plain = {
        "schema_version": "2.0",
        "tool": {"name": "dpcp-audit", "version": "0.1.0"},
        "libraries": {"numpy": "2.4.6", "scipy": "1.17.1"},
        "python": "3.11.7",
        "suite": "papers",
        "seed": 0,
        "profile": "smoke",
        "false_alarm": 0.001,
        "strict": False,
        "complete": True,
        "wall_seconds": 12.345,
        "summary": {verdict: verdicts.count(verdict) for verdict in VERDICTS}
        | {"contradictions": contradictions},
        "findings": deepcopy(list(findings or FINDINGS)),
    }
    return plain | changes


VERDICTS = ("REFUTED", "PROVED", "CONSISTENT", "INCONCLUSIVE", "ERROR")

FINDINGS = (
    finding(
        "krr",
        "PROVED",
        "PROVED",
        evidence=evidence(value=1.0, lower=1.0, upper=1.0),
        proof={
            "method": "closed form",
            "argument": f"A report's log-ratio is ε. {HOSTILE}",
            "premises": [
                {"says": "ε ≤ 1", "left": [1.0, 1.0], "right": [1.0, 1.0], "holds": True},
                {"says": HOSTILE, "left": ["-inf", 0.5], "right": [0.1, "inf"], "holds": True},
            ],
            "parameters": {"epsilon": 1.0},
        },
    ),
    finding(
        "theorem[scores=beta(5,0.2)]",
        "CONSISTENT",
        "CONSISTENT",
        evidence=evidence(
            kind="certified",
            quantity="coverage-failure",
            detail="",
            value=0.01234567,
            lower=1.3e-5,
            upper=0.0345678,
            claimed=0.1,
            confidence=0.99995,
            n_samples=20000,
        ),
        figures=[COVERAGE],
    ),
    finding("slow", "INCONCLUSIVE", "PROVED", evidence=evidence(kind="indicative", claimed=None)),
    finding(
        "histlap[scale=1/epsilon]",
        "REFUTED",
        "REFUTED",
        evidence=evidence(value="inf", lower=1.5, upper="inf"),
        figures=[PROFILE, PROFILE],
        witness={
            "scores": [i / 7 for i in range(40)],
            "noise": [0.5] * 100,
            "event": "q ≤ 0.5",
            "pair": [[0], [1]],
        },
    ),
    finding(
        "broken",
        "ERROR",
        "PROVED",
        evidence=None,
        witness={},
        note="",
        formula="",
        error="ValueError: scores must not be empty, got []",
    ),
    finding(
        f"a-hostile-{HOSTILE}",
        "REFUTED",
        "PROVED",
        contradicts=True,
        statement=HOSTILE,
        formula=HOSTILE,
        note=f"{HOSTILE}\n\n# not a heading",
        source={"paper": HOSTILE, "section": HOSTILE},
        evidence=evidence(detail=HOSTILE),
        witness={HOSTILE: f"```\n{HOSTILE}"},
        replay=HOSTILE,
    ),
)
