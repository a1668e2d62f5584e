"""The pytest plugin: what it says, how it shares its budget, and how it takes wrong use."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from support.plugin_files import DETECTING, FLIPPED, HALVED, PRIVATE, UNTRACED, findings, run

from dpcp_audit.faces import planning

pytest_plugins = ["pytester"]
JSON = "--dp-audit-report=json=found.json"
TWICE = """
@pytest.mark.parametrize("name", ["a", "b c"])
def test_twice(dp_audit, name):
    for _ in range(2):
        dp_audit.local(flip, LocalDP(1.0), domain=2, vectorised=True, draws=4000, trace=False)
"""
NOISY = """
def noisy(value, *, rng):
    return float(np.clip(value, 0, 1) + rng.laplace())

@pytest.mark.filterwarnings("ignore")  # of an inconclusive audit
def test_noisy(dp_audit):
    dp_audit.local(noisy, LocalDP(1.0), kind="local", draws=1000, trace=False)
"""
WRONG = {
    "dp_audit.private(mean, 1.0)": "guarantee must be one such as ZCDP*got 1.0",
    "dp_audit.private(mean, LocalDP(1.0))": "*domain must be given for a randomizer*",
    "dp_audit.private(mean, PureDP(1.0), vectorized=True)": "unknown keyword 'vectorized'*",
    "dp_audit.private(mean, PureDP(1.0), n=9)": "*missing a required argument: 'size'*",
    "dp_audit.private(3, PureDP(1.0))": "*is no function, but of type int*",
    "dp_audit(mean, PureDP(1.0))": "call a method of dp_audit: private, *",
    "dp_audit.covers(conformal, at_least=90)": "at_least must lie in (0, 1), got 90",
    "dp_audit.local(flip, LocalDP(1.0), domain=2, options={'size': 3})": "options must be*",
    "dp_audit.covers(lambda s: np.nan, at_least=0.9)": "*could not be audited: lambda returned*",
    "dp_audit.covers(lambda s: 1 / 0, at_least=0.9)": "*could not be audited*ZeroDivisionError*",
}


def test_local_code_need_not_report_one_of_a_domain(pytester) -> None:
    run(pytester, tests=NOISY).assert_outcomes(passed=1)


def test_a_refuted_claim_fails_with_what_a_reader_needs(pytester) -> None:
    result = run(pytester, "--dp-audit-seed=3", tests=HALVED + DETECTING)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "halved breaks its promise: With 100 records, changing one from * to * makes*",
            "*allows 2.72 times. Certified: ε ≥ 1.999. At test_it.py:*",
            "  claim     halved is 1-differentially private*",
            "  evidence  *; this test fails*",
            "            *with probability at most 5·10⁻⁵",
            "  line      test_it.py:*: return np.mean(scores) + rng.laplace(*",
            "  replay    pytest test_it.py::test_halved --dp-audit-seed=3 --dp-audit-false-*=5e-05",
            "  more      -v shows how it was found, and the witness",
            "*dp-audit*",
            "2 audits; false-alarm probability of the session 0.0001, in 2 tests; seed 3",
            "REFUTED test_it.py::test_halved[[]puredp:epsilon=1]",
            "CONSISTENT test_it.py::test_private[[]puredp:epsilon=1]",
            "    Found ε ≥ *; promised ε ≤ 1. These * calls*",
        ]
    )
    told = " ".join(result.stdout.str().split())
    assert "ε = 1 allows 2.72 times. Certified: ε ≥ " in told
    assert "plugin_audits.py" not in result.stdout.str()  # no wall of traceback
    report = result.stdout.str()[result.stdout.str().index("halved breaks") :].splitlines()
    whole = ("  replay ", "  line ", "FAILED ")  # pytest prints the last, in full where CI is set
    assert all(len(line) <= 80 for line in report if not line.startswith(whole)), report


def test_a_verbose_failure_says_how_it_was_found(pytester) -> None:
    result = run(pytester, "-v", tests=HALVED)
    result.stdout.fnmatch_lines(
        [
            "  note      test_it.py:* spends 2 in its one laplace draw; 1 is claimed.*",
            "  witness   where they differ: *neighbour*",
            "            guarantee:*",
            "            value: 100 numbers: *",
            "            path_loss: 2*",
        ]
    )


def test_the_replay_line_gives_the_same_finding(pytester) -> None:
    private = PRIVATE.replace("**SIZE", "**SIZE, trace=False")
    result = run(pytester, JSON, "--dp-audit-seed=2", tests=private + UNTRACED + TWICE)
    (line,) = set(re.findall(r"replay    pytest (.*)", result.stdout.str()))
    first = findings(pytester)["test_it.py::test_halved[puredp:epsilon=1]"]
    run(pytester, JSON, *shlex.split(line))
    (again,) = findings(pytester).values()
    assert again["verdict"] == "REFUTED"
    assert again["evidence"] == first["evidence"]
    assert again["witness"] == first["witness"]
    assert shlex.split(again["replay"])[1:] == shlex.split(line)


def test_all_audits_share_the_budget(pytester) -> None:
    tests = TWICE + PRIVATE.replace("**SIZE", "**SIZE, trace=False")
    run(pytester, JSON, "--dp-audit-false-alarm=0.01", tests=tests)
    shares = {id_: 1 - f["evidence"]["confidence"] for id_, f in findings(pytester).items()}
    test = 0.9 * 0.01 / 3
    assert shares == pytest.approx(
        {
            "test_it.py::test_private[puredp:epsilon=1]": test / 2,
            "test_it.py::test_twice[a][localdp:epsilon=1]": test / 2,
            "test_it.py::test_twice[a]#2[localdp:epsilon=1]": test / 6,
            "test_it.py::test_twice[b%20c][localdp:epsilon=1]": test / 2,
            "test_it.py::test_twice[b%20c]#2[localdp:epsilon=1]": test / 6,
        }
    )
    assert sum(shares.values()) < 0.01


def test_deselection_and_order_change_no_number(pytester) -> None:
    private = PRIVATE.replace("**SIZE", "**SIZE | {'trace': False}")
    run(pytester, JSON, tests=private + TWICE)
    everything = findings(pytester)
    run(pytester, JSON, "-k", "private", "--dp-audit-report=html=found.html")
    (one,) = findings(pytester).values()
    assert one == everything[one["id"]]
    assert one["id"] in (pytester.path / "found.html").read_text(encoding="utf-8")
    run(pytester, JSON, "test_it.py::test_twice", "test_it.py::test_private")
    assert findings(pytester) == everything


def test_the_fixture_must_be_named(pytester) -> None:
    result = run(pytester, tests="def test_it(request): request.getfixturevalue('dp_audit')\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["dp_audit must be an argument of the test or of one of its*"])


def test_a_fixture_may_name_it(pytester) -> None:
    through = "@pytest.fixture\ndef audit(dp_audit): return dp_audit\n"
    result = run(pytester, tests=through + FLIPPED.replace("dp_audit", "audit"))
    result.assert_outcomes(passed=1)


def test_wrong_use_is_one_line(pytester) -> None:
    cases = "".join(f"def test_{i}(dp_audit): {call}\n" for i, call in enumerate(WRONG))
    result = run(pytester, tests=cases)
    result.assert_outcomes(failed=len(WRONG))
    lines = [line for line in result.stdout.lines if re.match(r"test_it.py:\d+: ", line)]
    assert len(lines) == len(WRONG)
    result.stdout.fnmatch_lines([f"test_it.py:*: *{said}*" for said in WRONG.values()])


def test_an_inconclusive_audit_warns_or_fails(pytester) -> None:
    tests = PRIVATE.replace("**SIZE", "**SIZE | {'draws': 600, 'trace': False}")
    result = run(pytester, "-Wdefault", "--dp-audit-false-alarm=1e-80", tests=tests)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*InconclusiveAuditWarning: test_it.py:*: mean: inconclusive. *600*"]
    )
    strict = run(pytester, "--dp-audit-false-alarm=1e-80", "--dp-audit-strict")
    strict.assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("scale", "draws", "false_alarm"), [("0.5", 600, "1e-80"), ("0.9", 4000, "1e-4")]
)
def test_a_warning_names_the_noise_that_the_proof_finds_too_small(
    pytester, scale: str, draws: int, false_alarm: str
) -> None:
    """Where the calls would catch no violation, and where they would catch a larger one."""
    tests = (
        "import numpy as np\nfrom dpcp_audit import PureDP\n"
        f"def less(scores, *, rng): return np.sum(scores) + rng.laplace(0, {scale})\n"
        "def test_it(dp_audit):\n"
        f"    dp_audit.private(less, PureDP(1.0), n=20, draws={draws}, trace=False)\n"
    )
    result = run(pytester, "-Wdefault", f"--dp-audit-false-alarm={false_alarm}", tests=tests)
    result.assert_outcomes(passed=1)
    said = f"Undecided: test_it.py:* adds Laplace noise of scale {scale}, and the source"
    result.stdout.fnmatch_lines([f"*Warning: test_it.py:*: less: {said}*", f"    {said}*"])
    assert "raise draws" not in result.stdout.str()


def test_draws_of_the_command_line_are_those_of_the_replay(pytester) -> None:
    result = run(pytester, "--dp-audit-draws=2400", tests=UNTRACED)
    result.stdout.fnmatch_lines(["*replay * --dp-audit-draws=2400"])


def test_a_budget_is_planned_into_a_power_of_two(pytester, monkeypatch) -> None:
    """Of which a tenth of a second a call, as it is told here, leaves 2¹² calls in ten minutes."""
    timed = {"seconds": 0.1, "rates": [0.1], "spent": 0.0}
    monkeypatch.setattr(planning._Timing, "__call__", lambda *_: timed)
    tests = UNTRACED.replace("**SIZE", "n=100, vectorised=True, budget='10m'")
    result = run(pytester, tests=tests)
    (draws,) = set(re.findall(r"replay .* --dp-audit-draws=(\d+)", result.stdout.str()))
    assert int(draws) == 2**12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dp-audit-false-alarm=2"], "*--dp-audit-false-alarm: must lie in (0, 1)*got 2"),
        (["--dp-audit-seed=-1"], "*--dp-audit-seed: must be a whole number >= 0, got -1"),
        (["--dp-audit-report=pdf=x"], "*--dp-audit-report: unknown format 'pdf'*"),
        (["--dp-audit-report=json=-"], "*--dp-audit-report must name a file, got 'json=-'"),
        (["--dp-audit-report=json=no/where"], "*--dp-audit-report: *folder no does not exist*"),
        (["--dp-audit-baseline=none.json"], "*--dp-audit-baseline: *none.json: No such file*"),
        (["-o", "dp_audit_strict=ture"], "*dp_audit_strict must be true or false, got 'ture'"),
        (["-o", "dp_audit_draws=many"], "*dp_audit_draws must be a whole number >= 1, got 'many'"),
    ],
)
def test_wrong_options_are_refused_before_any_test(pytester, arguments, said) -> None:
    result = run(pytester, *arguments, tests=PRIVATE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])


def test_the_configuration_file_sets_what_options_do(pytester) -> None:
    pytester.makeini(
        "[pytest]\naddopts = --strict-config\ndp_audit_false_alarm = 0.02\ndp_audit_seed = 9\n"
        "dp_audit_draws = 700\ndp_audit_strict = true"
    )
    tests = PRIVATE.replace("**SIZE", "n=100, vectorised=True, trace=False")
    result = run(pytester, JSON, tests=tests)
    result.stdout.fnmatch_lines(["1 audit; * 0.02, in 1 test; seed 9"])
    (found,) = findings(pytester).values()
    assert found["witness"]["draws"] == 700
    result = run(pytester, "--dp-audit-seed=4")
    result.stdout.fnmatch_lines(["1 audit; *seed 4"])


def test_a_session_without_audits_says_nothing(pytester) -> None:
    result = run(pytester, tests="def test_it(): pass\n")
    assert "dp-audit =" not in result.stdout.str()
    run(pytester, "--collect-only", JSON)
    assert not (pytester.path / "found.json").exists()


def test_the_plugin_itself_is_light() -> None:
    heavy = "{'numpy', 'scipy', 'joblib', 'rich', 'dpcp_audit.audits'} & set(sys.modules)"
    command = f"import sys, dpcp_audit.faces.pytest_plugin.hooks; print({heavy})"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


TRACED = """
def search(scores, *, rng, sigma=1.0):
    low, high = 0.0, 1.0
    for _ in range(2):
        middle = (low + high) / 2
        count = np.sum(scores <= middle) + rng.normal(scale=sigma)
        low, high = (middle, high) if count < 0.9 * len(scores) else (low, middle)
    return high

def test_spent(dp_audit):
    from dpcp_audit.words.guarantees import ZCDP
    dp_audit.traced(search, ZCDP(0.5), n=5)
"""


def test_a_traced_failure_shows_the_line_that_spends(pytester) -> None:
    result = run(pytester, tests=TRACED)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "search breaks its promise: With 5 records, *",
            "  line      test_it.py:*: count = np.sum(scores <= middle) + rng.normal(scale=sigma)",
        ]
    )


def test_a_long_audit_says_how_many_calls_are_left(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcp_audit.faces.keywords.QUIET_SECONDS", 0)
    result = run(pytester, tests=DETECTING)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_it.py::*: * of * calls made, * left"])
