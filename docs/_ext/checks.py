"""The directive ``checks``: a section a check, from its docstring and the counts of its level."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

LEVELS = Path(__file__).parents[1] / "levels.md"
HEADINGS = ("Null hypothesis", "Statistic", "Level", "Power", "Reference")
_FIELD = re.compile(r"^:([A-Z][\w ]+): ((?:.|\n(?=    ))+)", re.MULTILINE)
_COUNTS = ("claim, met with equality", "false alarms", "refuted", "of")


class Documented(NamedTuple):
    """A check: its title, its class, and its rows of the page of levels."""

    title: str
    place: str
    rows: tuple[str, ...] = ()


CHECKS = (
    Documented("Event rule", "audits.search.pilot_hypotheses.EventTest", ("rule: event",)),
    Documented("Moment rule", "audits.search.moment_test.MomentTest", ("rule: moment",)),
    Documented("Game rule", "audits.guessing_game.GameTest", ("rule: game",)),
    Documented(
        "Search for the worst neighbours",
        "audits.blackbox.BlackBoxPrivacy",
        ("black box, a given pair", "black-box search"),
    ),
    Documented(
        "Traces",
        "audits.traced_privacy.TracedPrivacy",
        ("traced audit, law of the losses", "traced audit, mean cost"),
    ),
    Documented(
        "Noise and outputs together",
        "target_checks.two_sided.TwoSidedPrivacy",
        ("both sides of a function",),
    ),
    Documented("Local privacy", "audits.local.LocalPrivacy", ("local channel",)),
    Documented(
        "Estimates of the loss",
        "audits.pair_estimate.LossEstimation",
        ("estimate, band of the ROC curve",),
    ),
    Documented("Proofs", "target_checks.target_claims.ProvedAlone"),
    Documented("Exact claims", "words.evidence.Computed"),
    Documented("Simulated numbers", "words.evidence.Simulated"),
    Documented(
        "Membership inference on a release",
        "audits.release_membership.MembershipInference",
        ("membership",),
    ),
    Documented(
        "Canaries in a training",
        "audits.training.canary_audit.CanaryAudit",
        ("canaries of one run", "canaries"),
    ),
    Documented(
        "Parts of a training", "audits.training.engine_checks.PartCheck", ("lots of a training",)
    ),
    Documented(
        "Membership in trained models",
        "dpcp_ledger.training.model_membership.ModelMembership",
        ("membership in models",),
    ),
    Documented(
        "Reconstruction from a training", "dpcp_ledger.training.reconstruction.Reconstruction"
    ),
    Documented("Extraction of a model", "dpcp_ledger.training.extraction.HarderToExtract"),
    Documented("Coverage", "theorems.coverage_audit.CoverageAudit", ("coverage audit",)),
    Documented(
        "Duties of a calibrator",
        "target_checks.battery.DutyCheck",
        ("battery of a calibrator",),
    ),
    Documented(
        "Failure rate of a theorem",
        "theorems.theorem.FailureRate",
        ("failure rate", "failure rate, stopped early"),
    ),
    Documented(
        "Mean of a statistic",
        "theorems.theorem.MeanBound",
        ("mean of a statistic", "mean of a statistic, stopped early"),
    ),
    Documented(
        "Search for a law that breaks a theorem",
        "dpcp_ledger.ldpcp.ldpcp_theorems.DistributionSearch",
    ),
    Documented("Printed tables", "dpcp_ledger.claims.reproduced_tables.Reproduced"),
    Documented("Calibrators side by side", "dpcp_ledger.claims.compared_calibrators.Compared"),
    Documented("Change between two runs", "stats.samples.Shift", ("comparison of two runs",)),
    Documented("Two counts against a line", "stats.ratio_test.RatioTest"),
    Documented("Two counts against a curve", "stats.curve_test.CurveTest"),
    Documented("Right guesses", "stats.rates.GuessingTest"),
    Documented("A rate, at any time", "stats.rates.RateSequence"),
    Documented("A mean, at any time", "stats.bounded_mean.MeanBets"),
    Documented("Dependence between outputs", "stats.samples.SerialDependence"),
)


def class_of(check: Documented) -> type:
    """Return the class; places without a package are in ``dpcp_audit``."""
    module, _, name = check.place.rpartition(".")
    prefix = "" if module.startswith("dpcp_") else "dpcp_audit."
    found = getattr(import_module(prefix + module), name)
    assert isinstance(found, type)  # noqa: S101  (for the type checker)
    return found


def fields_of(documented: type) -> dict[str, str]:
    """Return the fields of a docstring, each on one line."""
    text = inspect.getdoc(documented) or ""
    return {name: " ".join(said.split()) for name, said in _FIELD.findall(text)}


def counts_of(check: Documented) -> list[tuple[str, ...]]:
    """Return what the page of levels counted: claim, false alarms, refuted, and of what."""
    lines = LEVELS.read_text("utf-8").splitlines()
    cells = [tuple(line.strip("| ").split(" | ")) for line in lines if line.startswith("| ")]
    return [
        (row[1], row[2], row[5], row[6]) for name in check.rows for row in cells if row[0] == name
    ]


def section(check: Documented) -> str:
    """Return a check's section as Markdown."""
    said = fields_of(class_of(check))
    parts = [f"## {check.title}", *(f"**{name}.** {said[name]}" for name in HEADINGS)]
    counts = counts_of(check)
    if counts:
        table = [_COUNTS, ("---",) * len(_COUNTS), *counts]
        parts.append("Counted at the level 0.05:")
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in table))
    return "\n\n".join(parts).replace("``", "`")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; what stands above needs no Sphinx, so that the tests read it."""
    from sphinx.util.docutils import SphinxDirective  # noqa: PLC0415

    class Checks(SphinxDirective):
        """A section for each check."""

        def run(self) -> list[nodes.Node]:
            """Return the sections."""
            text = "\n\n".join(map(section, CHECKS))
            return self.parse_text_to_nodes(text, allow_section_headings=True)

    app.add_directive("checks", Checks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
