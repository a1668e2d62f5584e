"""The results document: findings as plain JSON data, the source of every report format."""

from __future__ import annotations

import json
import math
import platform
import shlex
import sys
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dpcp_audit import __version__
from dpcp_audit.engine.encoding import plain_record
from dpcp_audit.engine.run_settings import LIBRARIES, provenance, third_party
from dpcp_audit.engine.suites import find
from dpcp_audit.reports.results_schema import (
    SCHEMA_VERSION,
    SchemaError,
    read_overview,
    read_results,
)
from dpcp_audit.targets.answers import one_line
from dpcp_audit.words.checks import Overview
from dpcp_audit.words.plain import is_list, is_record, shown
from dpcp_audit.words.results import Finding, PlainData, Power, Verdict
from dpcp_audit.words.whole_files import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dpcp_audit.engine.run_settings import RunSettings


NOTHING_ASSUMED = "none"
"""What a proof assumes that holds of all that its claim speaks of."""
IN_MEMORY = "# no command can: its scores are arrays in memory; result.replay() where they are"
"""In place of the command that replays a finding."""
_MOST_FINDINGS = 10_000
"""Of a file that is read; the largest suite has a thirtieth of that."""


class DocumentError(UsageError):
    """A results file that cannot be read as one."""


def to_document(
    settings: RunSettings,
    findings: Sequence[Finding],
    *,
    seconds: float,
    complete: bool,
    replayable: bool = True,
) -> dict[str, Any]:
    """Return the results document of a run, ready for ``json.dump``.

    Numbers that JSON lacks become the strings "inf", "-inf" and "nan". Only
    ``provenance`` and keys whose name contains ``seconds`` differ between runs of the same
    settings.
    Findings of arrays in memory are not ``replayable`` by a command.
    """
    verdicts = [finding.verdict for finding in findings]
    entries = [_entry(finding, settings, replayable=replayable) for finding in findings]
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "dpcp-audit", "version": __version__},
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in LIBRARIES}
        | third_party(settings.suite),
        **settings.as_data(),
        "complete": complete,
        "wall_seconds": round(seconds, 3),
        "provenance": asdict(provenance(settings)),
        "summary": {str(v): verdicts.count(v) for v in Verdict}
        | {"contradictions": sum(entry["contradicts"] for entry in entries)},
        "findings": entries,
    }
    return plain_record(document | {"overview": _overview(settings.suite, plain_record(document))})


def _overview(suite: str, document: PlainData) -> PlainData:
    """Return a suite's overview; one that fails is empty, so that no finished run is lost."""
    make = find(suite).overview
    try:
        overview = plain_record(asdict(make(document)))
        read_overview(overview)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (of any package's code)
        said = one_line(f"{type(error).__name__}: {error}")
        sys.stderr.write(f"warning: the overview of the suite {suite} is left out: {said}\n")
        return asdict(Overview())
    return overview


def _entry(finding: Finding, settings: RunSettings, *, replayable: bool) -> dict[str, Any]:
    claim, outcome = finding.claim, finding.outcome
    return {
        "id": claim.id,
        "statement": claim.statement,
        "formula": claim.formula,
        "source": asdict(claim.source),
        "subject": claim.subject,
        "standing": claim.standing,
        "assumptions": _assumed(finding),
        "parameters": claim.parameters,
        "expected": claim.expected,
        "verdict": finding.verdict,
        "contradicts": finding.verdict.contradicts(claim.expected, strict=settings.strict),
        "evidence": None if outcome is None else asdict(outcome.evidence),
        "proof": None if outcome is None or outcome.proof is None else asdict(outcome.proof),
        "power": None if outcome is None or outcome.power is None else _power(outcome.power),
        "witness": {} if outcome is None else outcome.witness,
        "note": "" if outcome is None else outcome.note,
        "figures": [] if outcome is None else [asdict(figure) for figure in outcome.figures],
        "estimates": [] if outcome is None else [asdict(each) for each in outcome.estimates],
        "tables": [] if outcome is None else [asdict(table) for table in outcome.tables],
        "location": _location(finding),
        "replay": f"dpcp-audit replay {shlex.quote(claim.id)} RESULTS.json"
        if replayable
        else IN_MEMORY,
        "error": finding.error,
        "seconds": round(finding.seconds, 3),
    }


def _assumed(finding: Finding) -> str:
    """Return on what a claim rests; a proof says that it rests on nothing, where that is so."""
    proof = None if finding.outcome is None else finding.outcome.proof
    if finding.verdict is not Verdict.PROVED or proof is None:
        return finding.claim.assumptions
    found: list[str] = [finding.claim.assumptions, *proof.parameters.get("assumptions", ())]
    return "; ".join(each for each in found if each) or NOTHING_ASSUMED


def _location(finding: Finding) -> PlainData | None:
    """Return the line that spends the loss, where it is known, else where the claim is made."""
    found = None if finding.outcome is None else finding.outcome.location
    place = found or finding.claim.location
    return None if place is None else asdict(place)


def _power(power: Power) -> dict[str, Any]:
    return asdict(power) | {"factor": power.factor}


def agree(first: object, second: object) -> bool:
    """Tell whether two pieces of plain data agree, floats up to the rounding of other machines."""
    if is_record(first) and is_record(second):
        return first.keys() == second.keys() and all(agree(first[k], second[k]) for k in first)
    if is_list(first) and is_list(second):
        return len(first) == len(second) and all(map(agree, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return first == second


def dump(document: dict[str, Any]) -> str:
    """Return the document as JSON text."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def load(path: Path) -> dict[str, Any]:
    """Read a results document, refusing other files, unknown major versions and other shapes."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        _check_head(path, read)
        document = plain_record(read)
        dump(document).encode()  # what cannot be written again is refused here
    except DocumentError:
        raise
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise DocumentError(f"{path}: not a results file (nested too deeply)") from error
    except ValueError as error:  # of the decoder, or text that is not Unicode
        raise DocumentError(f"{path}: not a JSON file ({error})") from error
    try:
        read_results(document)
    except SchemaError as error:
        raise DocumentError(f"{path}: {error}") from error
    return document


def _check_head(path: Path, document: object) -> None:
    """Refuse what a glance shows to be no results file of this tool, however large it is."""
    if not is_record(document) or "schema_version" not in document:
        raise DocumentError(f"{path}: not a dpcp-audit results file (no schema_version)")
    version = shown(document["schema_version"], 20).strip("'")
    if version.split(".", maxsplit=1)[0] != SCHEMA_VERSION.split(".", maxsplit=1)[0]:
        raise DocumentError(f"{path}: schema version {version}, this tool reads {SCHEMA_VERSION}")
    count = len(document["findings"]) if is_list(document.get("findings")) else 0
    if count > _MOST_FINDINGS:
        raise DocumentError(f"{path}: {count} findings, this tool reads at most {_MOST_FINDINGS}")
