"""The runner: a stream of events, whoever watches them."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit import _validate
from dpcp_audit.audits.check import Context
from dpcp_audit.audits.evidence import Finding
from dpcp_audit.reports.suite import row_of, suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from dpcp_audit.reports.settings import RunSettings
    from dpcp_audit.reports.suite.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run is about to check these claims."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished:
    """A check came to an end."""

    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """All checks came to an end; ``findings`` are in the suite's order."""

    findings: tuple[Finding, ...]
    seconds: float


Event = RunStarted | CheckFinished | RunFinished


def run(rows: Sequence[Row], settings: RunSettings, *, jobs: int = 1) -> Iterator[Event]:
    """Check every row and yield events as they come.

    The findings depend on the settings alone, not on ``jobs`` or on which of the suite's rows
    run together: a check's random stream is keyed by its id, and its share of the false-alarm
    probability is that of one sampled check among all of the suite's.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415  (slow to import)

    _validate.integer(jobs=jobs, at_least=1)
    started = time.perf_counter()
    ids = tuple(row.claim.id for row in rows)
    yield RunStarted(ids=ids)
    findings: dict[str, Finding] = {}
    significance = share(settings, rows)
    workers = min(jobs, max(1, len(rows)))
    results = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)(
        delayed(check_row)(row, settings, significance=significance) for row in rows
    )
    for finding in results:
        findings[finding.claim.id] = finding
        yield CheckFinished(finding=finding)
    yield RunFinished(
        findings=tuple(findings[id_] for id_ in ids), seconds=time.perf_counter() - started
    )


def share(settings: RunSettings, rows: Sequence[Row] = ()) -> float:
    """Return one sampled check's share of the run's false-alarm probability (Bonferroni).

    Among the suite's sampled checks, or among those of ``rows`` where these are more.
    """
    counts = [
        sum(row.check.sampled for row in among)
        for among in (suite(settings.suite, settings.pools, settings.targets), rows)
    ]
    return settings.false_alarm / max(1, *counts)


def check(finding_id: str, settings: RunSettings) -> Finding:
    """Run the check of one of the suite's rows."""
    row = row_of(finding_id, settings.suite, settings.pools, settings.targets)
    return check_row(row, settings, significance=share(settings))


def check_row(row: Row, settings: RunSettings, *, significance: float) -> Finding:
    """Run the check of a row; a check that raises becomes an ERROR finding."""
    context = Context(
        seed=settings.seed,
        name=row.claim.id,
        significance=significance,
        effort=settings.profile.effort,
    )
    started = time.perf_counter()
    try:
        with _one_thread():
            outcome, error = row.check(context), ""
    except Exception as caught:  # noqa: BLE001  (one broken check must not end the run)
        place = traceback.extract_tb(caught.__traceback__)[-1]
        outcome, error = None, f"{type(caught).__name__}: {caught} (in {place.name})"
    return Finding(
        claim=row.claim, outcome=outcome, error=error, seconds=time.perf_counter() - started
    )


def _one_thread() -> AbstractContextManager[object]:
    """Hold linear algebra to one thread, here as in every worker process.

    Its sums round differently with the number of threads, and findings must not depend on
    the number of workers.
    """
    import scipy.linalg  # noqa: F401, PLC0415  (what is not yet loaded cannot be limited)
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  (needed by runs alone)

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
