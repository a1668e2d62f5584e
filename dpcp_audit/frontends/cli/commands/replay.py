"""``dpcp-audit replay``: one finding of a results file, run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcp_audit.errors import UsageError
from dpcp_audit.frontends.cli import arguments
from dpcp_audit.reports.findings.severity import named

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.frontends.cli.arguments import Commands


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "replay", help="run one finding of a results file again", allow_abbrev=False
    )
    parser.add_argument("finding_id", metavar="FINDING-ID", help="a finding's id")
    arguments.add_results(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run one finding again with its seed and settings; 0 if the same comes out.

    The same is the verdict, all of the evidence and the witness, numbers up to the rounding
    of other machines.
    """
    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.engine.runner import check
    from dpcp_audit.engine.suites import require
    from dpcp_audit.reports import document as documents

    results = documents.load(options.results)
    recorded = _recorded(results, options.finding_id)
    settings = RunSettings.of_document(results)
    require(settings.suite)
    again = documents.to_document(
        settings, [check(options.finding_id, settings)], seconds=0.0, complete=True
    )["findings"][0]
    print(f"claim     {recorded['id']}: {recorded['statement']}")
    print(f"witness   {_short(recorded['witness'])}")
    print(f"recorded  {recorded['verdict']}  {_measured(recorded)}")
    print(f"replayed  {again['verdict']}  {_measured(again)}")
    same = all(
        documents.agree(recorded[key], again[key]) for key in ("verdict", "evidence", "witness")
    )
    print("the finding replays" if same else "the finding does NOT replay")
    return 0 if same else 1


def _recorded(results: dict[str, Any], finding_id: str) -> dict[str, Any]:
    for finding in results["findings"]:
        if finding.get("id") == finding_id:
            return dict(finding)
    raise UsageError(f"the results hold no finding {finding_id!r}")


def _measured(finding: dict[str, Any]) -> str:
    evidence = finding["evidence"]
    if evidence is None:
        return str(finding["error"])
    return (
        f"{named(evidence)} = {evidence['value']} in [{evidence['lower']}, "
        f"{evidence['upper']}], claimed {evidence['claimed']}"
    )


def _short(witness: object) -> str:
    text = str(witness)
    return text if len(text) <= 400 else text[:397] + "..."
