"""What holds for all tests: threads, Hypothesis, and which tests are fast."""

from __future__ import annotations

import compileall
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from support.false_alarms import require_a_budget_that_is_kept, stated

if TYPE_CHECKING:
    from collections.abc import Generator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of PyTorch: the cores are shared by the workers
for of_terminals in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
    os.environ.pop(of_terminals, None)  # what is printed is the same wherever the tests are started
os.environ.pop("SOURCE_DATE_EPOCH", None)
KEEPS_NO_BYTECODE = sys.dont_write_bytecode
sys.dont_write_bytecode = False  # while tests are collected, which are 600 files

TIMELESS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("ci", derandomize=True, max_examples=60, **TIMELESS)
settings.register_profile("explore", max_examples=1000, **TIMELESS)
settings.load_profile("ci")
# Hypothesis also draws the constants of all local modules that are imported by then: what a
# property is tried on would depend on the tests that ran before it in the same process.
NO_CONSTANTS = providers.Constants()
providers._get_local_constants = lambda: NO_CONSTANTS

SLOW_MARKS = ("statistical", "known_bad", "study")
SLOW_FILES = frozenset(
    {
        "audits/test_blackbox.py",
        "audits/training/canaries/test_canary_audit.py",
        "audits/training/test_one_run.py",
        "docs/test_comparison_page.py",
        "docs/test_contributing.py",
        "docs/test_docs.py",
        "docs/test_dpsgd_docs.py",
        "docs/test_examples.py",
        "engine/test_backends.py",
        "engine/test_journal.py",
        "engine/test_runner.py",
        "engine/test_suites.py",
        "engine/test_worker_pool.py",
        "faces/cli/commands/test_check.py",
        "faces/cli/commands/test_check_mistakes.py",
        "faces/cli/commands/test_compare_calibrators.py",
        "faces/cli/commands/test_reproduce.py",
        "faces/cli/commands/test_selftest.py",
        "faces/cli/commands/test_new_claim.py",
        "faces/cli/test_main.py",
        "faces/pytest_plugin/test_hooks.py",
        "faces/test_publishing.py",
        "faces/test_typed_use.py",
        "ledger/claims/test_compared_calibrators.py",
        "ledger/claims/test_papers_suite.py",
        "ledger/claims/test_reproduced_tables.py",
        "ledger/claims/test_training_extraction.py",
        "ledger/claims/test_training_membership.py",
        "ledger/comparison/test_calibrator_study.py",
        "ledger/reproduce/test_simulation_study_laws.py",
        "mechanisms/test_budgets.py",
        "proving/test_torch_steps.py",
        "proving/test_opendp_measurements.py",
        "test_absent_packages.py",
    }
)
"""Files, from the folder of tests, that take ten seconds or more on one core."""


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Search no file of the tests for examples in docstrings: the package's have them."""
    found = yield
    return [each for each in found if type(each) is pytest.Module]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is fast, before ``-m`` selects."""
    here = Path(__file__).parent
    for item in items:
        slow_file = item.path.is_relative_to(here) and (
            item.path.relative_to(here).as_posix() in SLOW_FILES
        )
        if not slow_file and not any(map(item.get_closest_marker, SLOW_MARKS)):
            item.add_marker("fast")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse tests that state no false-alarm probability, or too much of it in all.

    What a program that a test starts imports is compiled once, even where Python is told to keep
    no bytecode: such a program may keep none of its own, as files are rewritten within a second.
    What collection made lives until the end: the garbage collector need not look at it again and
    again, as at each ``gc.collect`` of statsmodels.
    """
    require_a_budget_that_is_kept(session.items)
    sys.dont_write_bytecode = KEEPS_NO_BYTECODE
    if KEEPS_NO_BYTECODE:
        for package in ("dpcp_audit", "dpcp_ledger"):
            compileall.compile_dir(Path(__file__).parents[1] / package, quiet=2)
    gc.collect()
    gc.freeze()


def pytest_report_collectionfinish(items: list[pytest.Item]) -> list[str]:
    """Return what a run on correct code fails with, at most."""
    return stated(items)
