"""The pages of findings and of planted bugs are those of the suites."""

from __future__ import annotations

import re
from pathlib import Path

import update_findings
import update_statements
from support.report_document import document

from dpcp_audit.engine.suites import suite
from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.claims.papers_suite import summary
from dpcp_ledger.zoo.specimen import SpecimenCheck
from dpcp_ledger.zoo.zoo_suite import mutants, twins

DOCS = Path(__file__).parents[2] / "docs"
FINDINGS = (DOCS / "findings.md").read_text(encoding="utf-8")
BUGS = (DOCS / "planted_bugs.md").read_text(encoding="utf-8")


def test_each_section_has_the_claims_of_its_standing_that_are_expected_to_be_refuted() -> None:
    """``python docs/update_findings.py papers.json`` renews the page."""
    sections = {
        part.partition("\n")[0]: re.findall(r"^\| `([^`]+)`:", part, re.MULTILINE)
        for part in FINDINGS.split("\n## ")[1:]
    }
    refuted = [row.claim for row in suite() if row.claim.expected is Verdict.REFUTED]
    expected: dict[str, list[str]] = {}
    for standing, (title, _) in update_findings._STANDINGS.items():
        ids = [claim.id for claim in refuted if claim.standing is standing]
        expected |= {title: ids} if ids else {}
    assert sections == expected
    assert next(iter(update_findings._STANDINGS)) is Standing.PAPER


def test_every_standing_has_a_section() -> None:
    assert set(update_findings._STANDINGS) == set(Standing)


def test_the_counts_are_those_of_the_ledger() -> None:
    """Claims that came since wait for the next renewal, as docs/maintaining/release.md asks."""
    (total,) = re.findall(r"(\d+) claims test all this", FINDINGS)
    own = {row.claim.id for row in suite()}
    assert int(total) == len(own & update_statements.found_in_ledger().keys())
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"^The three papers make \d+ statements.*", FINDINGS, re.MULTILINE)
    assert said in readme


def test_ledger_and_findings_count_the_same_statements_of_the_same_run() -> None:
    """The ledger has further suites; of the papers' own alone it says what the findings say."""
    own = {row.claim.id for row in suite()}
    found = {id_: each for id_, each in update_statements.found_in_ledger().items() if id_ in own}
    assert summary(found) in FINDINGS


def test_a_statement_is_printed_as_it_is() -> None:
    results = document()
    for finding in results["findings"]:
        finding |= {"verdict": "REFUTED", "standing": "erratum", "statement": "a|b <i> *c*"}
    page = update_findings.findings_page(results)
    assert "## Errata" in page
    assert "## As printed" not in page
    assert r"a\|b &lt;i&gt; \*c\*" in page


def test_the_table_of_planted_bugs_is_made_from_the_results() -> None:
    columns = {"bug": ["one"], "words": ["no noise"], "exact": ["✓ | 5"]}
    table = {
        "title": "t",
        "columns": [
            {"name": name, "texts": texts, "values": []} for name, texts in columns.items()
        ],
        "notes": ["why", "all"],
    }
    page = update_findings.planted_bugs_page(document() | {"overview": {"tables": [table]}})
    rest = page.removeprefix(update_findings._BUGS)
    assert rest.splitlines() == [
        "",
        "| bug | words | exact |",
        "|:--|:--|:--|",
        r"| one | no noise | ✓ \| 5 |",
        "",
        "- why",
        "",
        "all",
    ]


def test_there_is_a_row_for_each_planted_bug_that_shows_what_refutes_it() -> None:
    """``python docs/update_findings.py zoo.json`` renews the page."""
    lines = [line.strip("| ").split(" | ") for line in BUGS.splitlines() if line.startswith("| ")]
    names, rows = lines[0], {line[0].strip("`"): line for line in lines[1:]}
    assert list(rows) == [mutant.name for mutant in mutants()]
    for mutant in mutants():
        cells = dict(zip(names, rows[mutant.name], strict=False))
        caught = {check for check in SpecimenCheck if cells[check].strip().startswith("✓")}
        assert caught == mutant.caught_by, mutant.name
    assert f"{len(mutants())} of {len(mutants())} planted bugs are caught" in BUGS
    assert f"of {len(twins())} correct twins, none is refuted" in BUGS
