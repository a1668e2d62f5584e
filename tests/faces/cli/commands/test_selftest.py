"""``dpcp-audit selftest``: its table, its exit codes, and what it says when a bug slips through."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.engine import suites
from dpcp_audit.engine.suites import row_of
from dpcp_audit.faces.cli.main import main
from dpcp_audit.reports import document as documents
from dpcp_ledger.zoo import zoo_suite
from dpcp_ledger.zoo.specimen import SpecimenCheck
from dpcp_ledger.zoo.zoo_suite import mutants, twins

if TYPE_CHECKING:
    from pathlib import Path

SOME = ["--only", "zoo.wrong-k*", "--only", "zoo.randomized-response*", "--only", "zoo.rounded[*"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path: Path = tmp_path_factory.mktemp("zoo") / "zoo.json"
    command = ["selftest", "--profile", "smoke", "--jobs", "1", *SOME, "--report", f"json={path}"]
    assert main(command) == 0
    return documents.load(path)


def changed(document: dict[str, Any], id_: str, verdict: str) -> dict[str, Any]:
    other = copy.deepcopy(document)
    (finding,) = (f for f in other["findings"] if f["id"] == id_)
    finding["verdict"] = verdict
    return other


def test_the_table_has_a_line_for_each_specimen_that_was_run(results: dict[str, Any]) -> None:
    bad, good = (zoo_suite.lines_of(results, of=of) for of in (mutants(), twins()))
    assert [line.specimen.name for line in bad] == ["wrong-k", "rounded"]
    assert [line.specimen.name for line in good] == ["randomized-response"]
    caught = bad[0].cells[SpecimenCheck.BLACK_BOX]
    assert caught.mark is zoo_suite.Mark.CAUGHT
    assert caught.draws is not None
    assert caught.draws > 500
    assert bad[1].cells[SpecimenCheck.BLACK_BOX].mark is zoo_suite.Mark.BLIND
    assert bad[0].truth == "3.2 for 1"
    assert bad[0].witness.startswith("two values")


def test_nothing_went_wrong(results: dict[str, Any]) -> None:
    assert zoo_suite.failures(results) == []
    assert "2 of 2 planted bugs are caught" in zoo_suite.summary(results)
    assert "of 1 correct twins, none is refuted" in zoo_suite.summary(results)


@pytest.mark.parametrize(
    ("id_", "verdict", "failure"),
    [
        ("zoo.wrong-k[check=black-box]", "CONSISTENT", "wrong-k: black-box: MISSED"),
        ("zoo.wrong-k[check=black-box]", "ERROR", "wrong-k: black-box: MISSED"),
        (
            "zoo.randomized-response[check=black-box]",
            "REFUTED",
            "randomized-response: black-box: FALSE ALARM",
        ),
        (
            "zoo.randomized-response[check=black-box]",
            "ERROR",
            "randomized-response: black-box: FAILED",
        ),
        ("zoo.rounded[check=black-box]", "REFUTED", "rounded: black-box: FALSE ALARM"),
    ],
)
def test_what_goes_wrong_is_named(
    results: dict[str, Any], id_: str, verdict: str, failure: str
) -> None:
    assert zoo_suite.failures(changed(results, id_, verdict)) == [failure]


def test_a_missed_bug_is_not_counted_as_caught(results: dict[str, Any]) -> None:
    missed = changed(results, "zoo.wrong-k[check=black-box]", "CONSISTENT")
    assert "1 of 2 planted bugs" in zoo_suite.summary(missed)


def test_the_heat_map_is_the_overview(results: dict[str, Any]) -> None:
    (figure,) = results["overview"]["figures"]
    assert figure["kind"] == "heatmap"
    assert [row["name"] for row in figure["series"]] == ["wrong-k", "rounded"]
    assert figure["columns"] == [str(check) for check in SpecimenCheck]
    missed = changed(results, "zoo.wrong-k[check=exact]", "CONSISTENT")
    assert max(zoo_suite.heat_map(missed).series[0].y) == 2.0


def test_the_tables_have_a_row_for_each_bug_and_twin_and_the_reasons(
    results: dict[str, Any],
) -> None:
    bad, good = results["overview"]["tables"]
    assert [column["name"] for column in bad["columns"]] == [
        "planted bug",
        "what is wrong",
        "true, for claimed",
        "black-box",
        "traced",
        "coverage",
        "exact",
        "witness",
    ]
    assert bad["columns"][0]["texts"] == ["wrong-k", "rounded"]
    assert good["columns"][0]["texts"] == ["randomized-response"]
    assert bad["notes"][0].startswith("rounded, black-box: what is done to a private threshold")
    assert "2 of 2 planted bugs are caught" in bad["notes"][-1]


def test_what_goes_wrong_stands_out(results: dict[str, Any]) -> None:
    missed = changed(results, "zoo.wrong-k[check=black-box]", "CONSISTENT")
    bad, _ = zoo_suite.overview(missed).tables
    (column,) = (column for column in bad.columns if column.name == "black-box")
    assert (column.marked, column.texts[0]) == ([0], "MISSED")
    assert bad.notes[0] == "wrong-k: black-box: MISSED"


@pytest.mark.study
@pytest.mark.statistical(false_alarm=1e-3)
@pytest.mark.parametrize("seed", range(3))
def test_all_of_it_passes_at_the_smallest_effort(seed: int) -> None:
    assert main(["selftest", "--profile", "smoke", "--seed", str(seed), "-q"]) == 0


def test_a_bug_that_slips_through_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the mutant's code replaced by its twin's, as if the audit had become blind."""
    row = row_of("zoo.wrong-k[check=black-box]", "zoo")
    twin = row_of("zoo.randomized-response[check=black-box]", "zoo")
    blind = [replace(row, check=twin.check)]
    monkeypatch.setattr(suites, "select", lambda *_, **__: blind)
    assert main(["selftest", "--profile", "smoke", "--jobs", "1"]) == 1
    assert "wrong-k: black-box: MISSED" in capsys.readouterr().out


def test_a_pattern_that_matches_nothing_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["selftest", "--only", "zoo.unicorn*"]) == 2
    assert "no claim matches 'zoo.unicorn*'" in capsys.readouterr().err


def test_the_json_report_may_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "selftest",
        "--profile",
        "smoke",
        "--jobs",
        "1",
        "--only",
        "zoo.wrong-k[check=exact]",
    ]
    assert main([*command, "--report", "json=-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["suite"] == "zoo"
    assert "planted bug" in captured.err


def test_a_run_prints_one_total_and_the_tables_where_asked(
    results: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", "zoo.wrong-k[check=exact]"]
    assert main(["selftest", "--profile", "smoke", "--jobs", "1", *only]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) < 10
    assert "several checks, 1 in all, of which 1 refute" in out
    assert main(["selftest", "--profile", "smoke", "--jobs", "1", *only, "-v"]) == 0
    assert "Which check sees which planted bug" in capsys.readouterr().out
    said = results["overview"]["headline"]
    assert said == "2 of 2 planted bugs are caught; none of 1 correct twins is refuted"
