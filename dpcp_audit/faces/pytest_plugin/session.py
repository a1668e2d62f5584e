"""A session of pytest as a results document, its reports, its comparison and its summary."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.faces.pytest_plugin.audit_session import COMPARED, AuditSession
from dpcp_audit.faces.pytest_plugin.baseline import REFERENCE
from dpcp_audit.reports import document as documents
from dpcp_audit.reports.document import parse_reports, write_all
from dpcp_audit.reports.sentences import sentence
from dpcp_audit.words.errors import IncompleteError, MissingExtraError, UsageError
from dpcp_audit.words.formatting import counted
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.results import PlainData


_LONGEST_ID = 66
_MOST_TOLD = 8
"""So many audits that nothing refuted are told in a sentence each; of more, their verdicts."""
_NARROWEST = 40


def require_files(session: AuditSession) -> None:
    """Refuse a report that cannot be written, and a baseline that cannot be read."""
    try:
        parse_reports(session.reports)
        if session.baseline is not None:
            documents.load(session.baseline)
        to_stdout = [report for report in session.reports if report.endswith("=-")]
    except documents.DocumentError as error:
        raise pytest.UsageError(f"--dp-audit-baseline: {error}") from error
    except (UsageError, MissingExtraError) as error:
        raise pytest.UsageError(str(error).replace("--report", "--dp-audit-report", 1)) from error
    if to_stdout:
        raise pytest.UsageError(f"--dp-audit-report must name a file, got {to_stdout[0]!r}")


def as_data(session: AuditSession) -> PlainData:
    """Return what was found in this process as JSON data: what a worker sends."""
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
            lines += _paragraph(sentence(finding))
    return lines


def _paragraph(text: str) -> list[str]:
    """Return a text as an indented paragraph in the terminal's width."""
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")


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
