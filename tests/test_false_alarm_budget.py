"""A statistical test states its false-alarm probability, and a default run keeps its budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.false_alarms import BUDGET

if TYPE_CHECKING:
    from collections.abc import Callable

    Collected = Callable[[str], pytest.RunResult]

pytest_plugins = ["pytester"]
HOOKS = (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8")


@pytest.fixture
def collected(pytester: pytest.Pytester) -> Collected:
    """Return how a session with our hooks collects some tests."""
    pytester.makeconftest(HOOKS)
    pytester.makeini("[pytest]\nmarkers =\n  fast: x\n  statistical: x\n  study: x\n")

    def collect(tests: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=f"import pytest\nmark = pytest.mark.statistical\n{tests}")
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--collect-only")

    return collect


def test_the_sum_counts_every_case_and_the_closest_mark(collected: Collected) -> None:
    tests = """
pytestmark = mark(false_alarm=2e-7)

@pytest.mark.parametrize("case", range(3))
def test_cases(case): ...

@mark(false_alarm=1e-8)
def test_own(): ...

@mark(false_alarm=0.5)
@pytest.mark.study
def test_study(): ...
"""
    found = collected(tests)
    assert found.ret == pytest.ExitCode.OK
    found.stdout.fnmatch_lines(["5 statistical tests, false alarms at most 6.1e-07"])


@pytest.mark.parametrize("given", ["", "()", "(1e-7)", "(false_alarm=None)", "(false_alarm=2)"])
def test_a_test_without_a_number_is_refused_by_name(collected: Collected, given: str) -> None:
    found = collected(f"@mark{given}\ndef test_silent(): ...\ndef test_exact(): ...\n")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*false_alarm=1e-7*Without one: test_it.py::test_silent"])


@pytest.mark.parametrize(("cases", "kept"), [(10, True), (11, False)])
def test_more_than_the_budget_is_refused(collected: Collected, cases: int, kept: bool) -> None:
    each = BUDGET / 10.5
    case = f"@mark(false_alarm={each})\n@pytest.mark.parametrize('case', range({cases}))\n"
    found = collected(case + "def test_cases(case): ...\n")
    assert (found.ret == pytest.ExitCode.OK) is kept
    if not kept:
        found.stderr.fnmatch_lines(["*0.000105, more than 0.0001*test_it.py::test_cases*"])
