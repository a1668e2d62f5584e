"""Planted bugs turn a session of pytest red, their correct twins do not; baselines see more."""

from __future__ import annotations

import json

import pytest
from support.plugin_files import ARGUMENTS, DETECTING, FLIPPED, TARGETS, UNTRACED, findings, run
from support.printed_findings import wrong_in

pytest_plugins = ["pytester"]

SELDOM = "--dp-audit-false-alarm=1e-6"
pytestmark = pytest.mark.known_bad
JSON = "--dp-audit-report=json=found.json"
FORMATS = ("html", "markdown", "junit", "sarif", "csv")
COVERAGE = """
def test_covers(dp_audit):
    dp_audit.covers(conformal, at_least=0.9, n=50, draws=1000)

def test_uncorrected(dp_audit):
    dp_audit.covers(uncorrected, at_least=0.9, n=50, draws=1000)
"""
LOCAL = """
@pytest.mark.parametrize("epsilon", [0.9, 0.5])  # flip is 0.85-LDP
def test_local(dp_audit, epsilon):
    dp_audit.local(flip, LocalDP(epsilon), domain=2, vectorised=True, draws=4000, trace=False)
"""
SLACK = """
def test_slack(dp_audit):
    dp_audit.private(mean, PureDP(2.5), **SIZE | {"draws": 24_000, "trace": False})
"""


@pytest.mark.statistical(false_alarm=1.1e-6)
def test_planted_bugs_fail_and_twins_pass_also_in_workers(pytester) -> None:
    """False-alarm probability: 1e-6, the session's own, and 1e-8 by missing a planted bug."""
    pytest.importorskip("xdist")
    result = run(pytester, JSON, SELDOM, tests=DETECTING + UNTRACED + COVERAGE + LOCAL)
    result.assert_outcomes(passed=3, failed=3)
    plain = findings(pytester)
    refuted = {id_ for id_, finding in plain.items() if finding["verdict"] == "REFUTED"}
    assert refuted == {
        "test_it.py::test_halved[puredp:epsilon=1]",
        "test_it.py::test_uncorrected[coverage>=0.9]",
        "test_it.py::test_local[0.5][localdp:epsilon=0.5]",
    }
    assert wrong_in(json.loads((pytester.path / "found.json").read_text())) == {}
    (pytester.path / "found.json").unlink()
    again = pytester.runpytest_subprocess(
        *ARGUMENTS, "-n", "2", JSON, SELDOM, "-k", "not test_private"
    )
    again.assert_outcomes(passed=2, failed=3)
    found = findings(pytester)
    assert found == {id_: finding for id_, finding in plain.items() if "test_private" not in id_}
    sections = [
        [line for line in said.outlines if line.startswith(WORDS) and "test_private" not in line]
        for said in (result, again)
    ]
    assert sections[0] == sections[1]
    assert len(sections[0]) == len(found)


WORDS = ("REFUTED", "CONSISTENT", "PROVED")


@pytest.mark.statistical(false_alarm=3e-6)
def test_less_noise_within_the_claim_is_a_worsening(pytester, monkeypatch) -> None:
    """False-alarm probability: 1e-6, the session's own, in each of three.

    The test itself fails, and every format says so: a run that exits with 1 and whose reports
    look clean would be believed.
    """
    run(pytester, JSON, SELDOM, tests=SLACK).assert_outcomes(passed=1)
    baseline = ("--dp-audit-baseline=found.json", "--dp-audit-seed=1", SELDOM)
    same = run(pytester, *baseline)
    assert same.ret == pytest.ExitCode.OK
    same.stdout.fnmatch_lines(
        ["against found.json: 1 compared, none got worse; *probability 1e-07"]
    )
    monkeypatch.setenv("NOISE", "0.5")
    formats = ["json=w.json", *(f"{name}=w.{name}" for name in FORMATS)]
    reports = [f"--dp-audit-report={each}" for each in formats]
    worse = run(pytester, *baseline, "--junitxml=own.xml", *reports)
    worse.assert_outcomes(failed=1)  # although 2-DP is 2.5-DP
    assert worse.ret == pytest.ExitCode.TESTS_FAILED
    moved = "*tells two neighbours apart: *->*"
    worse.stdout.fnmatch_lines(
        [
            "test_it.py:*: mean got worse than in *found.json",
            moved,
            "  replay*--dp-audit-seed=1*--dp-audit-baseline=*found.json",
            "WORSE test_it.py::test_slack*",
            "    *two neighbours*",
        ]
    )
    texts = {name: (pytester.path / f"w.{name}").read_text(encoding="utf-8") for name in FORMATS}
    own = (pytester.path / "own.xml").read_text()
    assert 'failures="1"' in own
    assert 'failures="1"' in texts["junit"]
    for name in ("html", "markdown"):
        assert "1 claim got worse than in the baseline." in texts[name]
    assert "worse than in the baseline (" in texts["sarif"]
    assert '"level": "error"' in texts["sarif"]
    assert "tells two neighbours apart: " in texts["csv"].splitlines()[1].rpartition(",")[2]
    (found,) = json.loads((pytester.path / "w.json").read_text())["findings"]
    assert (found["verdict"], found["contradicts"]) == ("CONSISTENT", True)
    assert "->" in found["worse"]
    monkeypatch.setenv("NOISE", "2")
    better = run(pytester, *baseline)
    assert better.ret == pytest.ExitCode.OK


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_smaller_coverage_is_a_worsening(pytester) -> None:
    """False-alarm probability: 1e-6, the session's own."""
    covers = (
        "def test_covers(dp_audit):\n    dp_audit.covers(conformal, at_least=0.5, draws=2000)\n"
    )
    run(pytester, JSON, SELDOM, tests=covers).assert_outcomes(passed=1)
    pytester.makepyfile(test_it=TARGETS.replace("0.9 *", "0.7 *") + covers)
    worse = pytester.runpytest_inprocess(*ARGUMENTS, SELDOM, "--dp-audit-baseline=found.json")
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["WORSE test_it.py::test_covers*", "    coverage, *"])


CRASHES = """
import os
def test_crashes(dp_audit):
    os._exit(3)
"""


@pytest.mark.statistical(false_alarm=1e-6)
def test_what_passed_before_a_worker_died_is_in_the_report(pytester) -> None:
    """False-alarm probability: 1e-6, the session's own."""
    pytest.importorskip("xdist")
    tests = FLIPPED + COVERAGE.partition("def test_unc")[0] + CRASHES
    pytester.makepyfile(test_it=TARGETS + tests)
    died = pytester.runpytest_subprocess(
        *ARGUMENTS, "-n", "1", "--max-worker-restart=0", JSON, SELDOM
    )
    assert died.ret != pytest.ExitCode.OK
    document = json.loads((pytester.path / "found.json").read_text())
    verdicts = {f["id"]: f["verdict"] for f in document["findings"]}
    assert verdicts == {
        "test_it.py::test_flipped[localdp:epsilon=1]": "CONSISTENT",
        "test_it.py::test_covers[coverage>=0.9]": "PROVED",
    }
    assert not document["complete"]
    died.stdout.fnmatch_lines(
        ["2 audits; *", "CONSISTENT test_it.py::test_flipped*", "*incomplete*"]
    )
