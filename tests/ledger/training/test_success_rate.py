"""A share of trials held against a claim."""

from __future__ import annotations

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.words.results import Outcome, Verdict
from dpcp_ledger.training.extraction import AttackSuccess, Played


def judge(hits: int, trials: int, *, claimed: float, significance: float) -> Outcome:
    check = AttackSuccess(
        of="share",
        play=lambda count, _: Played(np.arange(count) < hits, ""),
        claimed=claimed,
        trials=trials,
        fewest=trials,
        witness={},
    )
    return check(context(0, significance=significance))


@pytest.mark.parametrize(
    ("hits", "trials", "claimed", "verdict"),
    [
        (40, 40, 0.5, Verdict.REFUTED),
        (20, 40, 0.5, Verdict.CONSISTENT),
        (0, 40, 0.5, Verdict.CONSISTENT),
        (10, 10, 0.5, Verdict.INCONCLUSIVE),
        (40, 40, 1.0, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(hits, trials, claimed, verdict) -> None:
    judged = judge(hits, trials, claimed=claimed, significance=1e-5)
    assert judged.verdict is verdict
    limits = clopper_pearson(hits, trials, significance=1e-5)
    assert (judged.evidence.lower, judged.evidence.upper) == limits
    assert judged.evidence.value == hits / trials
    assert judged.evidence.sample is not None
    assert judged.evidence.sample.counts[0].hits == hits


def test_the_verdict_turns_where_the_lower_limit_passes_the_claim() -> None:
    verdicts = [judge(hits, 60, claimed=0.3, significance=1e-3).verdict for hits in range(61)]
    turn = verdicts.index(Verdict.REFUTED)
    assert set(verdicts[:turn]) == {Verdict.CONSISTENT}
    assert set(verdicts[turn:]) == {Verdict.REFUTED}
    assert clopper_pearson(turn - 1, 60, significance=1e-3)[0] <= 0.3
    assert clopper_pearson(turn, 60, significance=1e-3)[0] > 0.3


def test_a_claim_outside_the_unit_interval_is_named() -> None:
    with pytest.raises(ValueError, match="claimed must lie in"):
        judge(1, 2, claimed=1.5, significance=0.01)
