"""The severity of a refutation, and a finding as plain text for formats that other tools read.

Everything is written from the evidence's fields: the quantity knows its unit, its consequence and
how many times worse than promised a value is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.sentences import (
    amount,
    certified_end,
    note_of,
    only_below,
    sentence,
    stopped_early,
    unsaid_stop,
)
from dpcp_audit.words.evidence import known_side
from dpcp_audit.words.formatting import (
    DASH,
    telling_digits,
    to_float,
)
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import AnnotatedLine, EvidenceKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.words.results import PlainData


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """The severity of a finding, in few words.

    Parameters
    ----------
    consequence : str
        The meaning of a refutation, without numbers.
    promised, found : str
        The numbers, with their units.
    quantity : str
        The quantity of the numbers, where their units do not say it.
    surety : str
        The certainty of ``found``.
    times : float
        The found number over the promised one, at the end of the interval that is nearest to the
        claim; 1 where the evidence does not exclude the claim.
    """

    guarantee: bool
    consequence: str
    promised: str
    found: str
    quantity: str
    surety: str
    times: float

    @property
    def severity(self) -> float:
        """The share of what was found that was not promised, in [0, 1)."""
        return 1 - 1 / self.times


_NOTHING = Breach(
    guarantee=False,
    consequence="",
    promised=DASH,
    found=DASH,
    quantity="",
    surety="",
    times=1.0,
)


def breach(evidence: Mapping[str, Any] | None) -> Breach:
    """Say what evidence means for its claim.

    Parameters
    ----------
    evidence : mapping or None
        The finding's evidence; None where the check could not be completed.
    """
    if not evidence:
        return _NOTHING
    quantity, bound = Quantity(evidence["quantity"]), bound_of(evidence)
    digits = telling_digits(evidence)
    claimed, times = evidence.get("claimed"), times_of(evidence)
    return Breach(
        guarantee=quantity.is_guarantee,
        consequence=quantity.consequence(bound),
        promised=DASH if claimed is None else amount(quantity, claimed, bound.sign, digits=digits),
        found=_nearest(evidence, quantity, digits)
        if only_below(evidence) or stopped_early(evidence) or _at_nearest(evidence, bound)
        else amount(quantity, evidence["value"], digits=digits),
        quantity="" if quantity.unit else named(evidence),
        surety=_surety(evidence, quantity, digits),
        times=1.0 if times is None else max(1.0, times[1 if bound is Bound.AT_MOST else 2]),
    )


def times_of(evidence: Mapping[str, Any] | None) -> tuple[float, float, float] | None:
    """Return the factors by which the number and its interval's ends exceed the promise.

    The number is the one that reports show: the certified end, where sampling stopped early.
    None without evidence, or where nothing is claimed. 1 is as promised.
    """
    if not evidence or evidence.get("claimed") is None:
        return None
    quantity, claimed = Quantity(evidence["quantity"]), to_float(evidence["claimed"])
    bound = bound_of(evidence)
    nearest = "lower" if bound is Bound.AT_MOST else "upper"
    shown = nearest if stopped_early(evidence) else "value"
    value, lower, upper = (
        quantity.times_worse(to_float(evidence[end]), claimed, bound)
        for end in (shown, "lower", "upper")
    )
    return value, lower, upper


def bound_of(evidence: Mapping[str, Any]) -> Bound:
    """Return the side that the claim bounds."""
    return Bound(evidence.get("bound", Bound.AT_MOST))


def named(evidence: Mapping[str, Any]) -> str:
    """Return the name of a number with its parameters, for people."""
    at: PlainData = evidence.get("at") or {}
    return Quantity(evidence["quantity"]).described(
        {name: to_float(value) for name, value in at.items()},
        str(evidence.get("detail", "")),
    )


def _surety(evidence: Mapping[str, Any], quantity: Quantity, digits: int) -> str:
    kind = EvidenceKind(evidence["kind"])
    if kind is EvidenceKind.EXACT:
        return "exact"
    if kind is EvidenceKind.INDICATIVE:
        return "an indication only"
    if only_below(evidence):
        return "sampled, no upper limit"
    if stopped_early(evidence):
        value = amount(quantity, evidence["value"], digits=digits)
        return f"sampled, {value} over {evidence['n_samples']:,} calls"
    return f"{_nearest(evidence, quantity, digits)}, sampled"


def _at_nearest(evidence: Mapping[str, Any], bound: Bound) -> bool:
    """Return True if a computed number is the end of its interval that is nearest to the claim."""
    side = known_side(*(to_float(evidence[key]) for key in ("value", "lower", "upper")))
    exact = EvidenceKind(evidence["kind"]) is EvidenceKind.EXACT
    return exact and side == ("from below" if bound is Bound.AT_MOST else "from above")


def _nearest(evidence: Mapping[str, Any], quantity: Quantity, digits: int) -> str:
    """Return the end of the interval that is nearest to the claim, with its sign."""
    nearest, sign = certified_end(evidence)
    return amount(quantity, nearest, sign, digits=digits)


_LONGEST_WITNESS = 4000


def headline(finding: Mapping[str, Any]) -> str:
    """Return the verdict, what was expected instead, and the finding's sentence."""
    verdict, expected = finding["verdict"], finding["expected"]
    start = verdict if expected in {verdict, None} else f"{verdict} (expected {expected})"
    if worse := finding.get("worse"):
        start = f"worse than in the baseline ({' '.join(worse.split())}); {verdict}"
    undecided = unsaid_stop(finding) if verdict == Verdict.INCONCLUSIVE else ""
    return f"{start}: {sentence(finding)} {undecided}".rstrip()


def paragraphs(finding: Mapping[str, Any]) -> str:
    """Return the claim, the evidence, the witness and how to run it again."""
    source = finding["source"]
    witness = json.dumps(finding["witness"], ensure_ascii=False)
    if len(witness) > _LONGEST_WITNESS:
        witness = witness[:_LONGEST_WITNESS] + " ... (the results file holds all of it)"
    parts = [
        headline(finding),
        finding["statement"],
        f"Source: {source['paper']}, {source['section']}",
        note_of(finding),
        _method(finding["evidence"]),
        proof_text(finding.get("proof")),
        f"Witness: {witness}" if finding["witness"] else "",
        f"Run it again: {finding['replay']}" if finding["replay"] else "",
    ]
    return "\n\n".join(part for part in parts if part)


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
    """Return the proof of a claim on one line; empty where there is none."""
    if not proof:
        return ""
    premises = "; ".join(premise_text(premise) for premise in proof["premises"])
    rules = f" Rules: {'; '.join(rules_of(proof))}." if rules_of(proof) else ""
    return f"Proved by {proof['method']}: {proof['argument']}{rules} Premises: {premises}."


def source_of(finding: Mapping[str, Any]) -> list[AnnotatedLine]:
    """Return the source that a proof has read, or as far as it was read; empty without one."""
    read = (finding.get("proof"), finding.get("unproved"))
    lines: list[dict[str, Any]] = []
    for each in read:
        if each and not lines:
            lines = each.get("source", lines)
    numbers = ("sensitivity", "cost", "share")
    found: list[AnnotatedLine] = []
    for line in lines:
        exact = {name: None if line[name] is None else to_float(line[name]) for name in numbers}
        entry: dict[str, Any] = line | exact
        found.append(AnnotatedLine(**entry))
    return found


def rules_of(proof: Mapping[str, Any]) -> list[str]:
    """Return the rules that a proof from the source has used, with their references."""
    rules: list[str] = proof["parameters"].get("rules") or []
    return rules


def premise_text(premise: Mapping[str, Any]) -> str:
    """Return a premise with the enclosed ends of its sides, where doubles tell them apart.

    Examples
    --------
    >>> premise_text({"says": "δ(1) ≤ δ", "left": [0.1, 0.1], "right": [0.25, 0.25]})
    'δ(1) ≤ δ: 0.1 ≤ 0.25'
    """
    left, right = (to_float(premise[side][end]) for side, end in (("left", 1), ("right", 0)))
    return f"{premise['says']}: {left!r} ≤ {right!r}" if left <= right else str(premise["says"])
