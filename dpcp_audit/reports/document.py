"""Results documents, read and written, and the report files that are made of them."""

from __future__ import annotations

import difflib
import json
import math
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dpcp_audit import __version__
from dpcp_audit.engine.run_settings import LIBRARIES, provenance, third_party
from dpcp_audit.engine.suites import find
from dpcp_audit.engine.tasks import plain_record
from dpcp_audit.reports.formats import format_names, report_format
from dpcp_audit.reports.results_schema import (
    SCHEMA_VERSION,
    read_overview,
    read_results,
)
from dpcp_audit.targets.answers import one_line
from dpcp_audit.words.checks import Overview
from dpcp_audit.words.errors import IncompleteError, UsageError, require_package, shown, write_whole
from dpcp_audit.words.results import (
    INDEPENDENT_DRAWS,
    EvidenceKind,
    Finding,
    PlainData,
    Verdict,
)
from dpcp_audit.words.values import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.words.results import Outcome


_NOTHING_ASSUMED = "none"
"""The assumption of a proof that covers every case of its claim."""
_IN_MEMORY = "# no command can: its scores are arrays in memory; result.replay() where they are"
"""Shown in place of the command that replays a finding."""
RESULTS = "RESULTS.json"
"""Stands for the results file in the command that replays a finding."""
_NOTHING: PlainData = {
    "evidence": None,
    "proof": None,
    "power": None,
    "witness": {},
    "note": "",
    "figures": (),
    "estimates": (),
    "tables": (),
    "traced": None,
    "extent": None,
    "location": None,
    "unproved": None,
}
"""The parts of an outcome that a finding holds, as they are where a check failed."""
_MOST_FINDINGS = 10_000
"""The most findings of a file that is read; the largest suite has a thirtieth of that."""


_WRITTEN_BY = "'--report json=FILE' of a run, check, trace or estimate writes one"


def to_document(
    settings: RunSettings,
    findings: Sequence[Finding],
    *,
    seconds: float,
    complete: bool,
    replayable: bool = True,
    config: Path | None = None,
) -> dict[str, Any]:
    """Return the results document of a run, ready for ``json.dump``.

    Numbers that JSON lacks become the strings "inf", "-inf" and "nan". Only
    ``provenance`` and keys whose name contains ``seconds`` differ between runs of the same
    settings.
    Findings of arrays in memory are not ``replayable`` by a command. ``config`` is the file that
    the checks were read from.
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
        "provenance": asdict(provenance(settings, config=config)),
        "summary": {str(v): verdicts.count(v) for v in Verdict}
        | {"contradictions": sum(entry["contradicts"] for entry in entries)},
        "findings": entries,
    }
    return plain_record(document | {"overview": _overview(settings.suite, plain_record(document))})


def _overview(suite: str, document: PlainData) -> PlainData:
    """Return a suite's overview; one that fails is empty, so that no finished run is lost."""
    make = find(suite).overview
    try:
        made = make(document)
        overview = plain_record(asdict(made))
        if made != Overview():  # of most suites, which have none to check
            read_overview(overview)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (of any package's code)
        said = one_line(f"{type(error).__name__}: {error}")
        sys.stderr.write(f"warning: the overview of the suite {suite} is left out: {said}\n")
        return asdict(Overview())
    return overview


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of an outcome, and how many times the claim its power is."""
    found = asdict(outcome)
    if outcome.power is not None:
        found["power"]["factor"] = outcome.power.factor
    return found


def _entry(finding: Finding, settings: RunSettings, *, replayable: bool) -> dict[str, Any]:
    claim, outcome = finding.claim, finding.outcome
    found = _NOTHING if outcome is None else outcome_data(outcome)
    return {
        "id": claim.id,
        "statement": finding.statement,
        "formula": claim.formula,
        "source": asdict(claim.source),
        "subject": claim.subject,
        "standing": claim.standing,
        "assumptions": _assumed(finding),
        "parameters": claim.parameters,
        "expected": claim.expected,
        "verdict": finding.verdict,
        "contradicts": finding.verdict.contradicts(claim.expected, strict=settings.strict),
        **{part: found[part] for part in _NOTHING},
        "location": _location(finding),
        "replay": f"dpcp-audit replay {shlex.quote(claim.id)} {RESULTS}"
        if replayable
        else _IN_MEMORY,
        "error": finding.error,
        "hint": finding.hint,
        "seconds": round(finding.seconds, 3),
    }


def _assumed(finding: Finding) -> str:
    """Return on what a claim rests; a proof says that it rests on nothing, where that is so."""
    outcome, claimed = finding.outcome, finding.claim.assumptions
    if outcome is not None and outcome.evidence.kind is EvidenceKind.EXACT:  # nothing was sampled
        claimed = claimed.replace(INDEPENDENT_DRAWS, "").strip("; ")
    if finding.verdict is not Verdict.PROVED or outcome is None or outcome.proof is None:
        return claimed
    found: list[str] = [claimed, *outcome.proof.parameters.get("assumptions", ())]
    return "; ".join(each for each in found if each) or _NOTHING_ASSUMED


def _location(finding: Finding) -> PlainData | None:
    """Return the line that spends the loss, where it is known, else where the claim is made."""
    found = None if finding.outcome is None else finding.outcome.location
    place = found or finding.claim.location
    return None if place is None else asdict(place)


def agree(first: object, second: object) -> bool:
    """Return True if two pieces of plain data agree, floats up to the rounding of machines."""
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
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not a results file (nested too deeply)") from error
    except ValueError as error:  # of the decoder, or text that is not Unicode
        raise UsageError(f"{path}: not a JSON file ({error})", hint=_WRITTEN_BY) from error
    try:
        read_results(document)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    return document


def _check_head(path: Path, document: object) -> None:
    """Refuse what a glance shows to be no results file of this tool, however large it is."""
    if not is_record(document) or "schema_version" not in document:
        raise UsageError(
            f"{path}: not a dpcp-audit results file (no schema_version)", hint=_WRITTEN_BY
        )
    version = shown(document["schema_version"], 20).strip("'")
    if version.split(".", maxsplit=1)[0] != SCHEMA_VERSION.split(".", maxsplit=1)[0]:
        raise UsageError(f"{path}: schema version {version}, this tool reads {SCHEMA_VERSION}")
    count = len(document["findings"]) if is_list(document.get("findings")) else 0
    if count > _MOST_FINDINGS:
        raise UsageError(f"{path}: {count} findings, this tool reads at most {_MOST_FINDINGS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One report: how it is rendered and where it goes (``None`` is stdout)."""

    render: Render
    path: Path | None


def format_for(
    path: Path, *, option: str = "path", names: Sequence[str] | None = None
) -> ReportFormat:
    """Return the format that a file's suffix asks for; a message names the option.

    ``names`` are those to choose from, all formats unless given.

    Raises
    ------
    UsageError
        If no format has the suffix.
    """
    choice = format_names() if names is None else names
    known = {found.suffix: found for found in map(report_format, choice)}
    fitting = [suffix for suffix in known if path.name.endswith(suffix)]
    if not fitting:
        suffixes = ", ".join(sorted(known))
        raise UsageError(
            f"{option} must end in one of {suffixes}, got {str(path)!r}",
            hint="or name the format: html=PATH",
        )
    return known[max(fitting, key=len)]


def parse_reports(
    arguments: Sequence[str],
    formats: Mapping[str, Render] | None = None,
    *,
    inputs: Sequence[Path] = (),
) -> tuple[Writer, ...]:
    """Return the writers that ``FORMAT=PATH`` arguments name.

    ``formats`` are those of a results document unless given. No report may overwrite ``inputs``,
    the files that the command reads.

    Everything that can be known to fail is refused here, before any long work: unknown
    formats, missing extras, folders that do not exist or cannot be written to, one file or
    stdout named twice, a file that is read.
    """
    writers = tuple(_parse(argument, formats) for argument in arguments)
    paths = [writer.path for writer in writers]
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(
                f"--report: {path or 'stdout'} is named more than once",
                hint="give each report a file of its own",
            )
        if path is not None and any(_is_file(path, each) for each in inputs):
            raise UsageError(
                f"--report: {path} would overwrite the results that are read",
                hint="name another file",
            )
    return writers


def _is_file(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


def _parse(argument: str, formats: Mapping[str, Render] | None) -> Writer:
    name, found, target = argument.partition("=")
    names = format_names() if formats is None else tuple(formats)
    if not found:  # the file's name says the format
        wanted = format_for(Path(argument), option="--report", names=names)
        name, target = next(name for name in names if report_format(name) is wanted), argument
    elif not target:
        raise UsageError(
            f"--report must be FORMAT=PATH, got {argument!r}", hint="such as html=report.html"
        )
    if name not in names:
        raise UsageError(f"--report: unknown format {name!r}", hint=_meant(name, names))
    known = report_format(name)
    known.require()
    render = known.render if formats is None else formats[name]
    if target == "-":
        return Writer(render=render, path=None)
    path = Path(target)
    require_writable(path, option="--report")
    return Writer(render=render, path=path)


def _meant(name: str, names: Sequence[str]) -> str:
    """Return the format that a word may stand for, by its suffix or its spelling, or all."""
    by_suffix = [each for each in names if report_format(each).suffix == f".{name}"]
    near = by_suffix or difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}"


def require_writable(path: Path, *, option: str) -> None:
    """Refuse a file that could not be written in the end, before any long work.

    Raises
    ------
    UsageError
        If the option is invalid; the message names it.
    """
    try:
        _refuse(path, option)
    except UsageError:
        raise
    except (OSError, ValueError) as error:  # too long, or no path at all
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{option}: {path}: {reason}") from error


def _refuse(path: Path, option: str) -> None:
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder", hint="name a file in it")
    if not path.parent.is_dir():
        raise UsageError(
            f"{option}: the folder {path.parent} does not exist", hint=f"mkdir -p {path.parent}"
        )
    beside = path if path.exists() and not path.is_file() else Path(os.path.realpath(path)).parent
    if not os.access(beside, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(
            f"{option}: {path} cannot be written to", hint="name a file in a folder that is yours"
        )
    if not path.exists() or path.is_file():
        with tempfile.TemporaryFile(dir=beside):  # what access alone does not say
            pass


def replay_from(command: str, results: Path) -> str:
    """Return the command that replays a finding with the file that holds the results.

    Examples
    --------
    >>> replay_from("dpcp-audit replay 'a[b]' RESULTS.json", Path("my results.json"))
    "dpcp-audit replay 'a[b]' 'my results.json'"
    """
    if not command.endswith(f" {RESULTS}"):
        return command
    return command.removesuffix(RESULTS) + shlex.quote(str(results))


def _without_figures(document: dict[str, Any]) -> dict[str, Any]:
    findings = [finding | {"figures": []} for finding in document["findings"]]
    overview = document.get("overview", {"tables": []}) | {"figures": []}
    return document | {"findings": findings, "overview": overview}


def _stdout() -> TextIO:
    stream: TextIO | None = sys.stdout  # None where the caller closed it
    if stream is None:
        raise IncompleteError("--report: stdout is closed")
    return stream


def write_all(
    document: dict[str, Any],
    writers: Sequence[Writer],
    *,
    figures: bool = True,
    results: Path | None = None,
) -> None:
    """Render and write every report; what could not be written is reported once all were tried.

    The results themselves come first, since all other reports can be made from them; these name
    the results' file, which may also be given. Without ``figures``, which take the most time, the
    others are written sooner.
    """
    failures: list[str] = []
    shown = document if figures else _without_figures(document)
    files = [writer.path for writer in writers if writer.render is dump and writer.path]
    if (results := next(iter(files), results)) is not None and "findings" in document:
        findings = [
            each | {"replay": replay_from(each["replay"], results)} for each in shown["findings"]
        ]
        shown = shown | {"findings": findings}
    for writer in sorted(writers, key=lambda each: each.render is not dump):
        text = writer.render(document if writer.render is dump else shown)
        if writer.path is None:
            _stdout().write(text)
            continue
        try:
            write_whole(writer.path, text)
        except OSError as error:
            failures.append(f"{writer.path}: {error.strerror}")
    if failures:
        raise IncompleteError(f"--report: {'; '.join(failures)}")


Render = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A format of reports: what a module in :mod:`dpcp_audit.reports.formats` holds as ``FORMAT``.

    Parameters
    ----------
    suffix : str
        Ending of the files' names, such as ".html".
    help : str
        The format's purpose, in a few words.
    render : callable
        A function from a results document to the text of the report.
    packages : tuple of str
        Optional packages that it imports.
    extra : str
        The extra of this package that installs them.
    """

    suffix: str
    help: str
    render: Render
    packages: tuple[str, ...] = ()
    extra: str = ""

    def require(self) -> None:
        """Raise ``MissingExtraError`` where a package that it imports is not installed."""
        for package in self.packages:
            require_package(package, self.extra)
