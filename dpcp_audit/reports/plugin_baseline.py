"""Yardsticks: cases that one session measures and a later one measures again.

A later search may choose other neighbours, another event or another law of scores, and numbers
of different cases cannot be compared. So each session's report holds, beside a finding, a case
whose number every later session can have on fresh draws: of a privacy claim the event that
tells the neighbours of its witness apart best, whatever is claimed; of coverage, the law of
its witness.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING

from dpcp_audit.audits.blackbox.accusations import accuse
from dpcp_audit.audits.blackbox.pairs import input_from_data
from dpcp_audit.audits.certificates import LOG_RATIO, Hits
from dpcp_audit.audits.events import Event
from dpcp_audit.audits.evidence import Evidence, EvidenceKind
from dpcp_audit.audits.targets import Kind
from dpcp_audit.mechanisms.guarantees import PureDP
from dpcp_audit.reports.document import load, plain_data
from dpcp_audit.theorems import foreign

if TYPE_CHECKING:
    from pathlib import Path

    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.check import Context
    from dpcp_audit.audits.evidence import Outcome, PlainData
    from dpcp_audit.audits.targets import Target

YARDSTICK = "yardstick"
"""The key of a finding that holds it."""
_NOTHING = PureDP(1e-6)
"""What an event is chosen against: neighbours that cannot be told apart."""
_PILOT, _COUNTED = 1 / 8, 1 / 4
"""Of an audit's draws, on either neighbour."""
_FEWEST = 200
_NEVER = 1e-12
"""The significance of measuring a coverage, where no verdict is sought: it never stops early."""


@cache
def _findings(path: Path) -> dict[str, PlainData]:
    return {finding["id"]: finding for finding in load(path)["findings"]}


def baseline_of(path: Path | None, id_: str) -> PlainData | None:
    """Return the finding of an earlier session, if there is one."""
    return None if path is None else _findings(path).get(id_)


def yardstick(
    outcome: Outcome, target: Target, context: Context, *, draws: int
) -> PlainData | None:
    """Return the evidence and the witness of a case that can be measured again.

    None for coverage, whose finding is one, and where no event tells the neighbours apart.
    """
    witness = outcome.witness
    if "value" not in witness:
        return None
    pilot = _outputs(witness, target, _named(context, "pilot"), max(_FEWEST, round(_PILOT * draws)))
    bounds = target.bounds if target.kind is Kind.QUANTILE else None
    try:
        chosen = accuse(_NOTHING, *pilot, bounds=bounds).as_data()
    except ValueError:  # of outputs that are all alike
        return None
    if "event" not in chosen:
        return None
    kept = {key: witness[key] for key in ("value", "neighbour", "relation") if key in witness}
    size = max(_FEWEST, round(_COUNTED * draws))
    case = kept | {"event": chosen["event"], "swapped": chosen["swapped"], "n_samples": size}
    return _counted(case, target, _named(context, YARDSTICK))


def measured_again(old: PlainData, target: Target, context: Context) -> PlainData | None:
    """Return the evidence and the witness of an earlier finding's case, on fresh draws.

    None where that finding holds no such case, or the target has no answer for it any more.
    """
    fresh = _named(context, "again")
    try:
        if YARDSTICK in old:
            return _counted(old[YARDSTICK]["witness"], target, fresh)
        witness = old["witness"]
        again = foreign.confirm(
            witness, target, seed=_seed(fresh), draws=witness["calls"], significance=_NEVER
        )
    except (KeyError, TypeError, ValueError):
        return None
    return _plain(again.evidence, again.witness)


def _counted(case: PlainData, target: Target, context: Context) -> PlainData:
    first, second = _outputs(case, target, context, case["n_samples"])
    if case["swapped"]:
        first, second = second, first
    event = Event.from_data(case["event"])
    hits = Hits(int(event.contains(first).sum()), int(event.contains(second).sum()), len(first))
    ratio = math.log((hits.successes + 0.5) / (hits.neighbour_successes + 0.5))
    evidence = Evidence(
        kind=EvidenceKind.INDICATIVE,
        quantity=LOG_RATIO,
        value=ratio,
        lower=-math.inf,
        upper=math.inf,
        n_samples=2 * hits.trials,
        sample=hits.as_sample(),
    )
    return _plain(evidence, case)


def _outputs(
    case: PlainData, target: Target, context: Context, size: int
) -> tuple[FloatArray, FloatArray]:
    value, neighbour = (input_from_data(case[name]) for name in ("value", "neighbour"))
    return (
        target(value, size, rng=context.rng(0)),
        target(neighbour, size, rng=context.rng(1)),
    )


def _plain(evidence: Evidence, witness: PlainData) -> PlainData:
    data = plain_data({"evidence": asdict(evidence), "witness": witness})
    assert isinstance(data, dict)  # noqa: S101  (for the type checker)
    return data


def _named(context: Context, what: str) -> Context:
    return replace(context, name=f"{context.name} {what}")


def _seed(context: Context) -> int:
    digest = hashlib.sha256(f"{context.seed} {context.name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
