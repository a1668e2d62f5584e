"""A session of pytest: its results document and summary, and its comparison with an earlier one.

A later search may choose other neighbours, another event or another law of scores, and numbers
of different cases cannot be compared. So each session's report holds, beside a finding, a case
whose number every later session can have on fresh draws: of a privacy claim the event that
tells the neighbours of its witness apart best, whatever is claimed; of coverage, the law of
its witness.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.audits.search.pair_space import input_from_data
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.tasks import plain_record
from dpcp_audit.faces.pytest_plugin.audit_session import COMPARED, AuditSession
from dpcp_audit.reports import document as documents
from dpcp_audit.reports.document import load, parse_reports, write_all
from dpcp_audit.reports.sentences import sentence, unsaid_stop
from dpcp_audit.reports.severity import named
from dpcp_audit.reports.two_runs import Movement, compare
from dpcp_audit.targets import Kind
from dpcp_audit.targets.kinds import tried
from dpcp_audit.theorems import coverage_audit
from dpcp_audit.words.errors import IncompleteError, MissingExtraError, UsageError
from dpcp_audit.words.formatting import counted, number, wrapped
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Count, Evidence, EvidenceKind, Measure, Sample, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Finding, Outcome, PlainData
    from dpcp_audit.words.validate import FloatArray


_LONGEST_ID = 66
_MOST_TOLD = 8
"""So many audits that nothing refuted are told in a sentence each; of more, their verdicts."""
_NARROWEST = 40


def require_files(session: AuditSession) -> None:
    """Refuse a report that cannot be written, and a baseline that cannot be read."""
    try:
        parse_reports(session.reports)
        to_stdout = [report for report in session.reports if report.endswith("=-")]
    except (UsageError, MissingExtraError) as error:
        raise pytest.UsageError(str(error).replace("--report", "--dp-audit-report", 1)) from error
    if to_stdout:
        raise pytest.UsageError(f"--dp-audit-report must name a file, got {to_stdout[0]!r}")
    try:
        if session.baseline is not None:
            documents.load(session.baseline)
    except UsageError as error:
        raise pytest.UsageError(f"--dp-audit-baseline: {error}") from error


def as_data(session: AuditSession) -> PlainData:
    """Return the findings of this process as JSON data, for a worker to send."""
    audited = [session.audited[id_] for id_ in sorted(session.audited)]
    settings = RunSettings(
        suite="targets",
        seed=session.seed,
        false_alarm=session.false_alarm,
        strict=session.strict,
        targets=tuple(each.spec for each in audited),
    )
    document = documents.to_document(
        settings,
        [each.finding for each in audited],
        seconds=sum(each.finding.seconds for each in audited),
        complete=session.complete,
    )
    for finding, each in zip(document["findings"], audited, strict=True):
        finding["replay"] = each.replay
        if each.worse:
            finding |= {"worse": each.worse, "contradicts": True}
        if each.reference is not None:
            finding[REFERENCE] = each.reference
    document["summary"]["contradictions"] = sum(f["contradicts"] for f in document["findings"])
    return {
        "tests": session.tests,
        "document": document,
        "compared": sum(each.compared for each in audited),
    }


def conclude(session: AuditSession) -> None:
    """Gather what all processes found, compare it, write the reports, and say what there is."""
    found = _merged([as_data(session), *session.received])
    document = found["document"]
    document["complete"] = document["complete"] and session.complete
    session.lines += _overview(session, found)
    if not document["complete"]:
        session.lines.append("incomplete: the session was stopped, or a worker died")
    if session.baseline is not None:
        session.lines += _compared(session, found)
    try:
        write_all(document, parse_reports(session.reports))
    except IncompleteError as error:
        session.failed = True
        session.lines.append(str(error).replace("--report", "--dp-audit-report", 1))


def _merged(parts: Sequence[PlainData]) -> PlainData:
    document = parts[0]["document"]
    pairs = [
        (finding, target)
        for part in parts
        for finding, target in zip(
            part["document"]["findings"], part["document"]["targets"], strict=True
        )
    ]
    pairs.sort(key=lambda pair: str(pair[0]["id"]))
    findings = [finding for finding, _ in pairs]
    summaries = [part["document"]["summary"] for part in parts]
    document |= {
        "findings": findings,
        "targets": [target for _, target in pairs],
        "complete": all(part["document"]["complete"] for part in parts),
        "wall_seconds": sum(part["document"]["wall_seconds"] for part in parts),
        "summary": {key: sum(each[key] for each in summaries) for key in summaries[0]},
    }
    for part in parts:
        document["provenance"]["code"] |= part["document"]["provenance"]["code"]
    return {
        "tests": max(part["tests"] for part in parts),
        "document": document,
        "compared": sum(part["compared"] for part in parts),
    }


def _overview(session: AuditSession, found: Mapping[str, Any]) -> list[str]:
    findings = found["document"]["findings"]
    if not findings:
        return []
    lines = [
        (
            f"{counted(len(findings), 'audit')}; false-alarm probability of the session "
            f"{session.false_alarm:g}, in {counted(found['tests'], 'test')}; seed {session.seed}"
        )
    ]
    told = [each for each in findings if each["verdict"] not in {Verdict.REFUTED, Verdict.ERROR}]
    for finding in sorted(findings, key=lambda each: each["verdict"] != Verdict.REFUTED):
        lines.append(f"{finding['verdict']} {_clipped(finding['id'])}")
        if finding in told and len(told) <= _MOST_TOLD:
            lines += _paragraph(f"{sentence(finding)} {unsaid_stop(finding)}")
    return lines


def _paragraph(text: str) -> list[str]:
    """Return a text as an indented paragraph in the terminal's width."""
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    return wrapped(text, width, initial_indent="    ", subsequent_indent="    ")


def _clipped(id_: str) -> str:
    return id_ if len(id_) <= _LONGEST_ID else f"...{id_[3 - _LONGEST_ID :]}"


def _compared(session: AuditSession, found: Mapping[str, Any]) -> list[str]:
    """Say what got worse than in the baseline; the tests in which it did have failed."""
    assert session.baseline is not None  # noqa: S101  (for the type checker)
    worse = [f for f in found["document"]["findings"] if f.get("worse")]
    said = f"{found['compared']} compared, {len(worse) or 'none'} got worse"
    chance = f"false-alarm probability {COMPARED * session.false_alarm:g}"
    lines = [f"against {session.baseline.name}: {said}; {chance}"]
    for finding in worse:
        lines += [f"WORSE {_clipped(finding['id'])}", *_paragraph(finding["worse"])]
    return lines


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
    """Return the way in which the case of an earlier finding got worse; "" where it did not.

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
