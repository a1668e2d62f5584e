"""``dpcp-audit replay``: one finding of a results file, run again."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from dpcp_audit.faces.cli import arguments
from dpcp_audit.reports.severity import named
from dpcp_audit.reports.terminal_findings import plain_line
from dpcp_audit.reports.witness import one_line
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.faces.cli.arguments import Commands
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.results import Finding


_LONGEST = 400
"""Characters of a witness."""


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("replay", allow_abbrev=False)
    parser.add_argument("finding_id", metavar="FINDING-ID", help="a finding's id")
    arguments.add_results(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run one finding again; 0 if the same comes out.

    Third-party code is tested again on the recorded pair and event (or law of scores), on fresh
    draws of the code as it is now: exit code 0 means refuted again, or again not refuted. Any
    other check is repeated with its seed: verdict, evidence and witness must be the same, numbers
    up to the rounding of other machines.
    """
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.suites import require, row_of
    from dpcp_audit.reports import document as documents
    from dpcp_audit.target_checks.target_claims import TargetClaim

    results = documents.load(options.results)
    recorded = _recorded(results, options.finding_id)
    settings = RunSettings.of_document(results)
    require(settings.suite)
    row = row_of(options.finding_id, settings.suite, **settings.given)
    confirms = isinstance(row.check, TargetClaim) and bool(recorded["witness"])
    finding = _confirmed(row, recorded, settings) if confirms else _repeated(row, settings)
    document = documents.to_document(settings, [finding], seconds=0.0, complete=True)
    (again,) = document["findings"]
    print(f"claim     {plain_line(recorded['id'])}: {plain_line(recorded['statement'])}")
    print(f"witness   {plain_line(one_line(recorded['witness'], limit=_LONGEST))}")
    print(f"recorded  {recorded['verdict']}  {_measured(recorded)}")
    print(f"{'now' if confirms else 'replayed':<10}{again['verdict']}  {_measured(again)}")
    if confirms:
        return _compared(recorded, again)
    same = all(
        documents.agree(recorded[key], again[key]) for key in ("verdict", "evidence", "witness")
    )
    print("reproduced" if same else "not reproduced")
    return 0 if same else 1


def _repeated(row: Row, settings: RunSettings) -> Finding:
    from dpcp_audit.engine.runner import check_row, share

    return check_row(row, settings, significance=share(settings))


def _confirmed(row: Row, recorded: dict[str, Any], settings: RunSettings) -> Finding:
    """Test a recorded witness on draws that no earlier run has had."""
    from dpcp_audit.engine.runner import share
    from dpcp_audit.engine.tasks import attempt
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Finding

    context = Context(
        seed=settings.seed, name=f"{row.claim.id} replay", significance=share(settings)
    )
    check: Any = row.check
    outcome, error = attempt(lambda: check.confirm(recorded["witness"], context))
    return Finding(claim=row.claim, outcome=outcome, error=error)


def _compared(recorded: dict[str, Any], again: dict[str, Any]) -> int:
    """Say what became of a recorded case, and return the exit code."""
    was, is_ = (finding["verdict"] == Verdict.REFUTED for finding in (recorded, again))
    if again["verdict"] == Verdict.ERROR:
        print("the recorded case could not be tested")
        return 3
    if was and is_:
        print("reproduced: the recorded case still refutes the claim")
    elif was:
        print(
            "not reproduced: the current code is not refuted on the recorded case. Other cases may "
            "refute it: run the audit again"
        )
    elif is_:
        print("not reproduced: the recorded case now refutes the claim")
    else:
        print("reproduced: the recorded case still does not refute the claim")
    return 0 if was is is_ else 1


def _recorded(results: dict[str, Any], finding_id: str) -> dict[str, Any]:
    for finding in results["findings"]:
        if finding.get("id") == finding_id:
            return dict(finding)
    raise UsageError(f"the results hold no finding {finding_id!r}", hint=_near(results, finding_id))


def _near(results: dict[str, Any], finding_id: str) -> str:
    """Return the ids that a reader may have meant."""
    ids = [finding["id"] for finding in results["findings"]]
    near = difflib.get_close_matches(finding_id, ids, n=2, cutoff=0.3) or ids[:2]
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "they hold no finding"


def _measured(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    if evidence is None:
        return plain_line(finding["error"])
    return plain_line(
        f"{named(evidence)} = {evidence['value']} in [{evidence['lower']}, "
        f"{evidence['upper']}], claimed {evidence['claimed']}"
    )
