"""What takes minutes to measure: suites of trainings and tables, canaries, two workers, peers."""

from __future__ import annotations

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import canaries, peer_samples, runner
from benchmarks.performance.clock import BARE_IMPORT, program
from benchmarks.performance.measured_number import Measured
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import Engine, run
from dpcp_audit.engine.suites import row_of, suite
from dpcp_audit.engine.tasks import RunFinished
from dpcp_audit.engine.worker_pool import family
from dpcp_audit.words.checks import Context

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit.words.checks import Row

TEST = """\
import numpy as np


def quantile(scores, *, rng):
    return float(np.quantile(scores, 0.9, method="higher"))


def test_quantile(dp_audit):
    dp_audit.covers(quantile, at_least=0.85, alpha=0.1)
"""
WHITE_BOX = "dpskin.dp-sgd[audit=white-box]"
PEER_RUNS = 12


def training() -> Iterator[Measured]:
    """Time the suite of trainings at ci."""
    yield from _suite("training", at_most=80)


def tables() -> Iterator[Measured]:
    """Time the suite of tables at ci."""
    yield from _suite("tables", at_most=180)


def _suite(name: str, *, at_most: float) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        run = ("-m", "dpcp_audit", "run", "--suite", name, "--profile", "ci", "--jobs", "1")
        seconds, held = program((*run, "--report", f"json={Path(folder) / 'found.json'}"))
    what = f"suite `{name}` at `ci`, one worker"
    yield Measured(name=what, value=seconds, unit="s", at_most=at_most)
    yield Measured(name=f"{what}: largest process", value=held, unit="GiB")


def white_box() -> Iterator[Measured]:
    """Time 4.8 million white-box canaries, and what they certify of ε."""
    effort = 20.0
    context = Context(seed=0, name=WHITE_BOX, significance=2 * canaries.USUAL, effort=effort)
    begun = time.process_time()
    evidence = row_of(WHITE_BOX, "training").check(context).evidence
    seconds = time.process_time() - begun
    trials = evidence.n_samples or 0
    yield Measured(
        name="white-box canaries, 4.8 million trials",
        value=seconds * 4.8e6 / trials,
        unit="s",
        at_most=100,
    )
    yield Measured(
        name="share of ε that they certify",
        value=evidence.lower / (evidence.claimed or 1),
        unit="",
        at_least=0.7,
        limit="0.79 by the best bets, known beforehand",
    )


def workers() -> Iterator[Measured]:
    """Time the suite of papers with two workers and with one, in turns.

    What cells are forked off is started before. Elapsed time is right on a quiet machine alone;
    processor time of the busier worker, what one waits for, hardly depends on other programs.
    """
    settings = RunSettings(profile=Profile.CI)
    rows = suite()
    runner.timed(rows[:1], settings, Engine(jobs=1))
    turns = [_shift(rows, settings, jobs) for _ in range(2) for jobs in (2, 1)]
    two, one = turns[::2], turns[1::2]
    what = "suite `papers` at `ci`, two workers"
    elapsed = min(shift.elapsed for shift in one) / min(shift.elapsed for shift in two)
    busiest = min(shift.busiest for shift in one) / min(shift.busiest for shift in two)
    at_work = max(shift.checks / shift.elapsed for shift in two)
    yield Measured(
        name=f"{what} against one, elapsed time", value=elapsed, unit="times", at_least=1.9
    )
    yield Measured(
        name=f"{what} against one, processor time of the busier worker",
        value=busiest,
        unit="times",
        at_least=1.9,
    )
    yield Measured(name=f"{what}: at work on average", value=at_work, unit="times", at_least=1.9)


class _Shift(NamedTuple):
    """What a run took, in seconds."""

    elapsed: float
    checks: float
    """Elapsed time of all checks."""
    busiest: float
    """Processor time of the worker that used most."""


def _shift(rows: Sequence[Row], settings: RunSettings, jobs: int) -> _Shift:
    here = os.getpid()
    before = {pid: runner.cpu_seconds(pid) for pid in family(here)[1:]}
    used: dict[int, float] = {}
    for event in run(rows, settings, engine=Engine(jobs=jobs)):
        if isinstance(event, RunFinished):
            checks = sum(finding.seconds for finding in event.findings)
            return _Shift(event.seconds, checks, max(used.values()))
        for pid in family(here)[1:]:
            used[pid] = runner.cpu_seconds(pid) - before.get(pid, 0.0)
    raise AssertionError("a run ends with RunFinished")


def pytest_quantile() -> Iterator[Measured]:
    """Time a test of a correct quantile at the default draws, and an empty test."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_mine.py").write_text(TEST)
        (folder / "test_empty.py").write_text("def test_nothing():\n    pass\n")
        run = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
        commands = BARE_IMPORT, (*run, "test_empty.py"), (*run, "test_mine.py")
        bare, empty, audited = (
            min(program(arguments, folder).seconds for _ in range(5)) for arguments in commands
        )
    yield Measured(
        name="pytest: a correct quantile's coverage at the default draws, beyond an empty test",
        value=audited - empty,
        unit="s",
        at_most=1.0,
        limit=f"a bare import of NumPy and SciPy: {bare:.2f} s",
    )


def peers() -> Iterator[Measured]:
    """Compare samples and time to a refutation with jax_privacy's auditor, where it is installed.

    Laplace noise at ε = 1, a claim of 0.9, at 95 %.
    """
    if find_spec("jax_privacy") is None:
        return
    target = next(each for each in peer_samples.targets() if each.name.startswith("Laplace"))
    seeds = range(PEER_RUNS)
    begun = time.process_time()
    ours = peer_samples.ours(target, seeds, score_given=True)
    middle = time.process_time()
    theirs = peer_samples.jax_privacy(target, seeds)
    spent = middle - begun, time.process_time() - middle
    yield Measured(
        name="samples to refute Laplace noise claimed at 0.9 of its ε: jax_privacy / ours",
        value=theirs / ours,
        unit="times",
        at_least=1.0,
        limit=f"half of {PEER_RUNS} runs: {theirs:,.0f} and {ours:,.0f}, log-ratio given",
    )
    yield Measured(
        name="processor time of these: jax_privacy / ours",
        value=spent[1] / spent[0],
        unit="times",
        limit=f"{spent[1]:.2f} s and {spent[0]:.2f} s, the search for the size included",
    )
