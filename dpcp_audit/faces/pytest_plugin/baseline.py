"""Reference cases, which one session measures and a later one measures again.

A later search may choose other neighbours, another event or another law of scores, and numbers
of different cases cannot be compared. So each session's report holds, beside a finding, a case
whose number every later session can have on fresh draws: of a privacy claim the event that
tells the neighbours of its witness apart best, whatever is claimed; of coverage, the law of
its witness.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING

from dpcp_audit.audits.search.pair_space import input_from_data
from dpcp_audit.engine.tasks import plain_record
from dpcp_audit.reports.document import load
from dpcp_audit.reports.severity import named
from dpcp_audit.reports.two_runs import Movement, compare
from dpcp_audit.targets import Kind
from dpcp_audit.targets.kinds import tried
from dpcp_audit.theorems import coverage_audit
from dpcp_audit.words.formatting import number
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Count, Evidence, EvidenceKind, Measure, Sample

if TYPE_CHECKING:
    from pathlib import Path

    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Finding, Outcome, PlainData
    from dpcp_audit.words.validate import FloatArray


REFERENCE = "reference"
"""The key of a finding that holds it."""
_NOTHING = PureDP(1e-6)
"""The claim that an event is chosen against: neighbours that cannot be distinguished."""
_PILOT, _COUNTED = 1 / 8, 1 / 2
"""The shares of an audit's draws that choose an event on either neighbour, and count it on both."""
_FEWEST = 200
_NEVER = 1e-12
"""The significance of measuring a coverage, where no verdict is sought: it never stops early."""


@cache
def _findings(path: Path) -> dict[str, PlainData]:
    return {finding["id"]: finding for finding in load(path)["findings"]}


def baseline_of(path: Path | None, id_: str) -> PlainData | None:
    """Return the finding of an earlier session, if there is one."""
    return None if path is None else _findings(path).get(id_)


def reference(
    outcome: Outcome, target: Target, context: Context, *, draws: int
) -> PlainData | None:
    """Return the evidence and the witness of a case that can be measured again.

    None for coverage, whose finding is one, and where no event tells the neighbours apart.
    """
    witness = outcome.witness
    if "value" not in witness:
        return None
    from dpcp_audit.audits.search.pilot_hypotheses import (  # noqa: PLC0415  (slow to import)
        choose_event_or_moment,
    )

    size = max(_FEWEST, round(_PILOT * draws))
    pair = {"likelier": witness["value"], "other": witness["neighbour"]}
    pilot = _outputs(pair, target, _named(context, "pilot"), (size, size))
    bounds = tried(target.bounds) if target.kind is Kind.QUANTILE else None
    try:
        chosen = choose_event_or_moment(_NOTHING, *pilot, bounds=bounds).as_data()
    except ValueError:  # of outputs that are all alike
        return None
    if "event" not in chosen:
        return None
    if chosen["swapped"]:
        pair = {"likelier": pair["other"], "other": pair["likelier"]}
    trials = max(_FEWEST, round(_COUNTED * draws))
    case = pair | {"event": chosen["event"], "n_samples": trials}
    return _counted(case, target, _named(context, REFERENCE))


def measured_again(old: PlainData, target: Target, context: Context) -> PlainData | None:
    """Return the evidence and the witness of an earlier finding's case, on fresh draws.

    None where that finding holds no such case, or the target has no answer for it any more.
    """
    fresh = _named(context, "again")
    try:
        if REFERENCE in old:
            return _counted(old[REFERENCE]["witness"], target, fresh)
        witness = old["witness"]
        again = coverage_audit.confirm(
            witness, target, seed=_seed(fresh), draws=witness["calls"], significance=_NEVER
        )
    except (KeyError, TypeError, ValueError):
        return None
    return _plain(again.evidence, again.witness)


def worsening(finding: Finding, old: PlainData, again: PlainData, *, false_alarm: float) -> str:
    """Return how the case of an earlier finding got worse, "" where it did not.

    Parameters
    ----------
    again : dict
        The result of its case now.
    false_alarm : float
        The probability that an unchanged function is said to have got worse.
    """
    new = {
        "id": old["id"],
        "verdict": finding.verdict,
        "expected": finding.claim.expected,
        "contradicts": False,
        "error": finding.error,
        **again,
    }
    before = {"findings": [old | old.get(REFERENCE, {})]}
    after = {"findings": [new], "complete": True}
    (change,) = compare(before, after, false_alarm=false_alarm).changes
    if change.number is not Movement.WORSE:
        return ""
    was, now = before["findings"][0]["evidence"]["value"], again["evidence"]["value"]
    return (
        f"{named(again['evidence'])}: {number(was)} -> {number(now)} "
        f"(p = {number(change.p_value, digits=2)})"
    )


def _counted(case: PlainData, target: Target, context: Context) -> PlainData:
    """Guess from the event which of the neighbours, drawn by a fair coin, an output comes from."""
    from dpcp_audit.audits.search.event_search import Event  # noqa: PLC0415  (slow to import)

    trials = int(case["n_samples"])
    heads = int(context.rng(2).binomial(trials, 0.5))
    likelier, other = _outputs(case, target, context, (heads, trials - heads))
    event = Event.from_data(case["event"])
    right = int(event.contains(likelier).sum()) + int((~event.contains(other)).sum())
    evidence = Evidence(
        kind=EvidenceKind.INDICATIVE,
        quantity=Quantity.SHARE_OF_OUTPUTS,
        detail="by which an event tells two neighbours apart",
        value=right / trials,
        lower=0.0,
        upper=1.0,
        n_samples=trials,
        sample=Sample(
            measure=Measure.RATES, counts=(Count(of="right guesses", hits=right, trials=trials),)
        ),
    )
    return _plain(evidence, case)


def _outputs(
    case: PlainData, target: Target, context: Context, sizes: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return so many outputs on the first input, and on the second."""
    first, second = (
        target(input_from_data(case[name]), max(1, size), rng=context.rng(chunk))[:size]
        for chunk, (name, size) in enumerate(zip(("likelier", "other"), sizes, strict=True))
    )
    return first, second


def _plain(evidence: Evidence, witness: PlainData) -> PlainData:
    return plain_record({"evidence": asdict(evidence), "witness": witness})


def _named(context: Context, what: str) -> Context:
    return replace(context, name=f"{context.name} {what}")


def _seed(context: Context) -> int:
    digest = hashlib.sha256(f"{context.seed} {context.name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
