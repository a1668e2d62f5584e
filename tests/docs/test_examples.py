"""The examples run, and say what they are there to show."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from support.plugin_files import ARGUMENTS

pytest_plugins = ["pytester"]
FEWER = "--dp-audit-draws=10000"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [("audit_my_quantile", ["REFUTED", "CONSISTENT"]), ("check_coverage", ["REFUTED"])],
)
def test_an_example_reaches_its_verdicts(name, verdicts, capsys) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(verdicts)
    for line, verdict in zip(lines, verdicts, strict=True):
        assert verdict in line


@pytest.mark.known_bad
@pytest.mark.filterwarnings("ignore:Secure RNG:UserWarning")
def test_the_example_of_a_training_finds_the_noise_that_got_lost(capsys) -> None:
    pytest.importorskip("opacus")
    path = EXAMPLES / "audit_training.py"
    runpy.run_path(str(path), run_name="__main__")
    right, broken = re.split(r"(?=\d of 7 claims)", capsys.readouterr().out)
    assert right.startswith("None of 7 claims is refuted")
    refuted = [line.split()[1] for line in broken.splitlines() if line.startswith("REFUTED")]
    assert refuted == ["noise", "epsilon", "canaries"]
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= 30
    page = (EXAMPLES.parent / "docs" / "howto" / "audit_opacus.md").read_text("utf-8")
    assert "\n".join(lines[2:]) in page


def test_the_example_of_tests_passes(pytester) -> None:
    pytester.copy_example(str(EXAMPLES / "test_my_quantile.py"))
    result = pytester.runpytest_inprocess(*ARGUMENTS, FEWER, "--durations=5", "test_my_quantile.py")
    result.assert_outcomes(passed=3, xfailed=1)


def test_the_tests_of_the_readme_pass_on_a_correct_quantile(pytester) -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    (tests,) = (
        code
        for code in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        if "def test_" in code
    )
    correct = (EXAMPLES / "test_my_quantile.py").read_text(encoding="utf-8")
    pytester.mkpydir("mypkg").joinpath("quantile.py").write_text(correct, encoding="utf-8")
    pytester.makepyfile(test_it=tests)
    pytester.syspathinsert()
    few = ("--dp-audit-draws=4000", "-Wdefault")  # warns of too little power
    pytester.runpytest_inprocess(*ARGUMENTS, *few, "test_it.py").assert_outcomes(passed=2)


def test_every_example_is_run() -> None:
    """That in Perl is run by ``test_targets_command``."""
    run = {"audit_training.py", "audit_my_quantile.py", "check_coverage.py", "command_quantile.pl"}
    run |= {"test_my_quantile.py"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == run
