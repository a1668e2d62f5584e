"""What is measured in a minute or so: each figure with what is wanted and what limits it."""

from __future__ import annotations

import json
import math
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from benchmarks import pcoqs_trials, runner
from benchmarks.performance.clock import BARE_IMPORT, best, program
from benchmarks.performance.crew import DASK, LOCAL, makespan
from benchmarks.performance.measured_number import Measured
from dpcp_audit.engine.suites import find
from dpcp_audit.engine.tasks import Task, perform, pickled
from dpcp_audit.engine.worker_pool import Limits, WorkerProcess
from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.words.checks import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEARCH = PCOQS(alpha=0.1, rho=0.5)
TRIALS, RECOUNTS, CHUNKS = 16_384, 40, 1000
USERS, USER_TRIALS = 100, 2000
TARGET = """\
import numpy as np


def quantile(scores, *, rng):
    return float(np.quantile(scores, 0.9))
"""
CHECK = """\
[[check]]
name = "quantile-{number}"
target = "mine.py:quantile"
kind = "quantile"
zcdp = 0.5
draws = 2048
"""
ONE = ("mine.py:quantile", "--kind", "quantile", "--zcdp", "0.5", "--draws", "2048")


def starts() -> Iterator[Measured]:
    """Time a first verdict, and eighteen, as multiples of a bare import."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(TARGET)
        checks = "\n".join(CHECK.format(number=number) for number in range(18))
        (folder / "checks.toml").write_text(checks)
        check = ("-m", "dpcp_audit", "check")
        commands = BARE_IMPORT, (*check, *ONE), (*check, "--config", "checks.toml")
        bare, one, many = (
            min(program(arguments, folder).seconds for _ in range(4)) for arguments in commands
        )
    limit = f"a bare import of NumPy and SciPy: {bare:.2f} s"
    yield Measured(
        name="`check` of a broken quantile, 2,048 calls",
        value=one,
        unit="s",
        at_most=1.2,
        limit=limit,
    )
    yield Measured(name="the same, in bare imports", value=one / bare, unit="times", limit="1")
    yield Measured(
        name="eighteen checks of one config", value=many, unit="s", at_most=12, limit=limit
    )


PROVED = """\
import numpy as np


def quantile(scores, *, rng, rho=0.5, alpha=0.1, rounds=10):
    low, high = 0.0, 1.0
    sigma = np.sqrt(rounds / (2 * rho))
    for _ in range(rounds):
        middle = (low + high) / 2
        if np.sum(scores <= middle) + rng.normal(0, sigma) < (1 - alpha) * (len(scores) + 1):
            low = middle
        else:
            high = middle
    return high
"""


def proved() -> Iterator[Measured]:
    """Time the verdict on a correct P-COQS, which its source proves, beside a bare import."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(PROVED)
        commands = BARE_IMPORT, ("-m", "dpcp_audit", "check", *ONE[:-2])
        least = [math.inf] * len(commands)
        for _ in range(6):  # they take turns
            took = (program(arguments, folder).seconds for arguments in commands)
            least = list(map(min, least, took))
    bare, one = least
    yield Measured(
        name="`check` of a correct P-COQS at defaults, proved",
        value=one,
        unit="s",
        at_most=1.2,
        limit=f"a bare import of NumPy and SciPy: {bare:.2f} s",
    )
    yield Measured(
        name="a proved `check`, in bare imports",
        value=one / bare,
        unit="times",
        at_most=3,
        limit="1",
    )


def suites() -> Iterator[Measured]:
    """Time the suites that take a minute or so, one worker, and simulate more."""
    wanted = {("papers", "smoke"): 15.0, ("theorems", "ci"): 15.0, ("papers", "ci"): 50.0}
    peak, found = 0.0, list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "found.json"
        for (suite, profile), most in wanted.items():
            run = ("-m", "dpcp_audit", "run", "--suite", suite, "--profile", profile)
            whole = (*run, "--jobs", "1", "--report", f"json={path}")
            spent = [program(whole) for _ in range(2)]
            seconds = min(each.seconds for each in spent)
            peak = max(peak, *(each.gibibytes for each in spent))
            what = f"suite `{suite}` at `{profile}`, one worker"
            yield Measured(name=what, value=seconds, unit="s", at_most=most)
            found = json.loads(path.read_text())["findings"]
    yield Measured(name="largest process of these runs", value=peak, unit="GiB", at_most=0.3)
    first = {id_: place for place, id_ in enumerate(find("papers").longest)}
    handed = sorted(found, key=lambda each: first.get(each["id"], len(first)))
    yield from crews([each["seconds"] for each in handed])


def crews(checks: list[float]) -> Iterator[Measured]:
    """Simulate the suite with more workers, as checks are handed out and the longest first."""
    ordered = sorted(checks, reverse=True)
    for workers, dispatch in ((2, LOCAL), (8, LOCAL), (64, DASK), (1000, DASK)):
        alone = sum(checks)
        usual, longest = (
            alone / makespan(chunks, workers, dispatch=dispatch) for chunks in (checks, ordered)
        )
        yield Measured(
            name=f"suite `papers` at `ci`, {workers:,} workers against one, simulated",
            value=usual,
            unit="times",
            at_least=1.9 if workers == 2 else None,
            limit=f"longest check first {longest:.2f}; the longest check alone "
            f"{alone / ordered[0]:.1f}",
        )
    study = [10.0] * 20_000
    alone = sum(study)
    yield Measured(
        name="study of 20,000 chunks of 10 s, 1,000 Dask workers against one, simulated",
        value=alone / makespan(study, 1000, dispatch=DASK),
        unit="times",
        limit="1,000",
    )


def trials() -> Iterator[Measured]:
    """Time a P-COQS trial on i.i.d. scores, a recount, and the random draws alone."""
    rng = np.random.default_rng(0)

    def of(n: int) -> Callable[[], object]:
        return lambda: SEARCH.trials(Uniform(), n=n, trials=TRIALS, rng=rng)

    def recount() -> object:
        return [pcoqs_trials.recount(2400, rng, pcoqs_trials.sum_count) for _ in range(RECOUNTS)]

    def draws() -> object:
        return [rng.standard_normal(TRIALS) for _ in range(SEARCH.rounds)]

    small, large, huge, again, normal = best(
        of(2400), of(10**6), of(10**12), recount, draws, repeats=15
    )
    limit = f"{SEARCH.rounds} normal draws: {1e6 * normal / TRIALS:.2f} µs"
    trial = small / TRIALS
    yield Measured(name="P-COQS trial, n = 2,400", value=1e6 * trial, unit="µs", limit=limit)
    yield Measured(
        name="NumPy recount / trial, n = 2,400",
        value=again / RECOUNTS / trial,
        unit="times",
        at_least=40,
        limit=f"{normal and again / RECOUNTS / (normal / TRIALS):.0f} times by the draws alone",
    )
    for n, seconds in (("10⁶", large), ("10¹²", huge)):
        yield Measured(
            name=f"P-COQS trial, n = {n} / n = 2,400",
            value=seconds / small,
            unit="times",
            at_most=1.5,
        )


def laws() -> Iterator[Measured]:
    """Time the exact law of P-COQS's threshold."""
    rng = np.random.default_rng(1)
    for n, power, most in ((10**5, "10⁵", 5), (10**6, "10⁶", 40)):
        scores = np.sort(rng.random(n))
        exact, read = best(partial(SEARCH.laws, scores), scores.sum, repeats=5)
        yield Measured(
            name=f"exact P-COQS law, n = {power}, sorted scores",
            value=1e3 * exact,
            unit="ms",
            at_most=most,
            limit=f"reading the scores once: {1e3 * read:.2f} ms",
        )


def labels() -> Iterator[Measured]:
    """Time an LDP-CP-L trial on a pool of 100 users."""
    rng = np.random.default_rng(2)
    at_million: dict[int, float] = {}
    for k in (10, 100, 1000):
        chances = np.exp(log_softmax(3 * rng.standard_normal((USERS, k)), axis=1))
        true = (np.cumsum(chances, axis=1) < rng.random((USERS, 1))).sum(axis=1)
        mechanism = LDPCPLabels(alpha=0.1, epsilon=4.0, k=k, rounds=10, window_width=1e-9)

        run = partial(mechanism.trials, 1 - chances, true, trials=USER_TRIALS, rng=rng)
        million, billion = best(partial(run, n=10**6), partial(run, n=10**9), repeats=3)
        at_million[k] = million / USER_TRIALS
        yield Measured(
            name=f"LDP-CP-L trial, k = {k:,}, n = 10⁶, pool of {USERS} users",
            value=1e6 * at_million[k],
            unit="µs",
            at_most=20 if k == 10 else 10 * 1e6 * at_million[k // 10],
            limit="" if k == 10 else "wanted: at most linear in k",
        )
        yield Measured(
            name=f"LDP-CP-L trial, k = {k:,}: n = 10⁹ / n = 10⁶",
            value=billion / million,
            unit="times",
            at_most=1.5,
        )


def chunks() -> Iterator[Measured]:
    """Time chunks that do nothing, in a worker process."""
    (row,) = runner.nothing(CHUNKS)
    context, check = Context(seed=0, name="nothing", significance=0.5), pickled(row.check)
    cell = WorkerProcess()

    def there(index: int) -> object:
        return cell.run(Task(check=check, context=context, index=index, chunks=CHUNKS), Limits())

    there(0)
    before = runner.cpu_seconds(cell.pid)
    (ours,) = best(lambda: [there(index) for index in range(CHUNKS)], repeats=1)
    theirs = runner.cpu_seconds(cell.pid) - before
    cell.close()
    (bare,) = best(
        lambda: [perform(row.check, context, index=i, chunks=CHUNKS) for i in range(CHUNKS)],
        repeats=1,
    )
    yield Measured(
        name="a chunk's overhead on this machine, both processes",
        value=1e3 * (ours + theirs) / CHUNKS,
        unit="ms",
        at_most=1.0,
        limit=f"in one process: {1e3 * bare / CHUNKS:.2f} ms",
    )
