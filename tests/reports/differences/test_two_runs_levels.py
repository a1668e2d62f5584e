"""How often the comparison of two runs calls a number moved, with and without reason."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom
from support.report_document import document, evidence, finding

from dpcp_audit.audits.certificates import smallest_violation
from dpcp_audit.audits.search.event_search import Event, Ones
from dpcp_audit.audits.search.pilot_hypotheses import EventTest
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.two_runs import RunDifferences, compare
from dpcp_audit.words.evidence import conclude
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Claim, Finding, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.statistical(false_alarm=1e-7)

RATES = (0.0, 0.002, 0.01, 0.1, 0.5)
LEVEL = 0.2
QUANTITIES = {"rates": "failure", "log-ratio": "epsilon", "mean": "coverage"}


@pytest.fixture(autouse=True)
def _garbage_of_other_tests_is_left() -> Iterator[None]:
    """Leave alone what other tests hold: statsmodels' ``multipletests`` collects at each call."""
    gc.freeze()
    yield
    gc.unfreeze()


def sampled(measure: str, value: float, sample: dict[str, Any]) -> dict[str, Any]:
    numbers = {"value": value, "lower": 0.0, "upper": "inf", "kind": "certified"}
    return evidence(quantity=QUANTITIES[measure], confidence=0.999, sample=sample, **numbers)


def counted(measure: str, hits: list[int], trials: list[int], **more: Any) -> dict[str, Any]:
    counts = [
        {"of": str(i), "hits": k, "trials": n, **more}
        for i, (k, n) in enumerate(zip(hits, trials, strict=True))
    ]
    return sampled(measure, 0.0, {"measure": measure, "counts": counts})


def stopped(rate: float, rng: np.random.Generator) -> dict[str, Any]:
    """Stop at the tenth failure, or after 2000 trials."""
    failures = np.flatnonzero(rng.random(2000) < rate)
    trials = int(failures[9]) + 1 if failures.size >= 10 else 2000
    return counted("rates", [min(10, failures.size)], [trials], any_time=True)


def mean(high: float, trials: int, rng: np.random.Generator) -> dict[str, Any]:
    """A mean of rare large values, where a normal approximation fails."""
    values = high * (rng.random(trials) < 0.01)
    sample = {
        "measure": "mean",
        "trials": trials,
        "variance": float(values.var(ddof=1)),
        "range": [0.0, high],
    }
    return sampled("mean", float(values.mean()), sample)


def unchanged_run(trials: int, rng: np.random.Generator) -> dict[str, Any]:
    """Fixed rates, several at once, stopped ones, means and log-ratios."""
    evidences = [
        *(counted("rates", [int(rng.binomial(trials, p))], [trials]) for p in RATES),
        counted("rates", rng.binomial(trials, RATES).tolist(), [trials] * len(RATES)),
        *(stopped(p, rng) for p in RATES),
        *(mean(high, trials, rng) for high in (1.0, 5.0)),
        counted("log-ratio", rng.binomial(trials, [0.3, 0.1]).tolist(), [trials] * 2),
        counted("log-ratio", rng.binomial(trials, [0.02, 0.01]).tolist(), [trials] * 2),
    ]
    rows = [
        finding(f"f{i}", "CONSISTENT", "CONSISTENT", evidence=e) for i, e in enumerate(evidences)
    ]
    return document(*rows)


def test_unchanged_runs_are_rarely_called_moved() -> None:
    """At most the level of 80 pairs of unchanged runs is called moved.

    The test fails, on a comparison that errs with exactly its level, with probability < 1e-7.
    """
    rng = np.random.default_rng(20)
    pairs = 80
    alarms = 0
    for _ in range(pairs):
        old, new = unchanged_run(400, rng), unchanged_run(1600, rng)
        alarms += any(c.changed for c in compare(old, new, false_alarm=LEVEL).changes)
    assert alarms <= int(binom.isf(1e-7, pairs, LEVEL))


@pytest.mark.statistical(false_alarm=1e-8)
def test_a_tripled_failure_rate_is_seen() -> None:
    """Among all the unchanged ones, at the default level: 1 % against 3 % at 10 000 trials.

    Fisher's test with Holm's share of 1e-3 among 15 tests misses one pair with probability
    7e-11, summed over the outcomes; of twenty, any with less than 1e-8.
    """
    rng = np.random.default_rng(21)
    missed = 0
    for _ in range(20):
        old, new = unchanged_run(400, rng), unchanged_run(400, rng)
        for results, rate in ((old, 0.01), (new, 0.03)):
            hits = int(rng.binomial(10_000, rate))
            results["findings"][0]["evidence"] = counted("rates", [hits], [10_000])
        worse = [c.id for c in compare(old, new, false_alarm=1e-3).worsenings]
        missed += "f0" not in worse
    assert missed == 0


ONES = 19.0
"""Ones among the bits of P-COQS's threshold, beyond which the event begins."""


def audited(rho: float, seed: int, *, claim: float) -> dict[str, Any]:
    """Count the event of P-COQS of noise for ρ, on its worst pair, against a claim of pure DP."""
    mechanism = PCOQS(alpha=0.1, rho=rho)
    bits = Ones(bounds=mechanism.bounds, rounds=mechanism.rounds, resolution=mechanism.resolution)
    test = EventTest(
        event=Event(np.array([ONES]), np.array([False, True]), bits),
        swapped=True,
        complement=False,
        promise=1.0,
    )
    rng = np.random.default_rng(seed)
    outputs = (mechanism.sample(x, 80_000, rng=rng) for x in mechanism.worst_pair(50))
    guarantee = PureDP(claim)
    evidence = test.judge(guarantee, *outputs, significance=1e-4).evidence
    power = smallest_violation(guarantee, 80_000, significance=1e-4)
    outcome = conclude(evidence, lambda: power, witness={}, note="")
    made = Claim(
        id="target",
        statement="s",
        source=Source(paper="P", section="1"),
        expected=Verdict.CONSISTENT,
    )
    found = Finding(claim=made, outcome=outcome)
    return to_document(RunSettings(seed=seed), [found], seconds=0.0, complete=True)


def outcome_of(comparison: RunDifferences) -> tuple[str, str, bool]:
    (change,) = comparison.changes
    return change.verdict, change.number, bool(comparison.worsenings)


@pytest.mark.statistical(false_alarm=2e-7)
def test_halved_noise_of_pcoqs_is_seen_before_it_breaks_the_claim() -> None:
    """Half the noise, still within the claim: the same event's log-ratio goes from 0.55 to 1.

    That is 14 standard deviations of the difference, of which the boxes at 1e-4 take eight: a
    miss has a probability below 1e-7. So has an alarm at the unchanged twin, for the same reason.
    """
    old = audited(0.125, 0, claim=6.0)
    assert outcome_of(compare(old, audited(0.5, 1, claim=6.0), false_alarm=1e-4)) == (
        "none",
        "worse",
        True,
    )
    again = audited(0.125, 1, claim=6.0)
    assert outcome_of(compare(old, again, false_alarm=1e-4)) == ("none", "none", False)
