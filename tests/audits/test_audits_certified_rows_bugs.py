"""What was chosen on some rows is certified on others, wherever a sample is cut in two.

That no draw is used twice is tested in ``test_audits_fresh_draws``; here rows are counted that were
drawn once. Each test fails at any seed if the certifying part is the part that chose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from case_catalogue import level_cases
from support.samplers import context, gaussian, laplace, on_pair, pair

from dpcp_audit.audits import loss_bracket, pair_estimate
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.guessing_game import GameTest
from dpcp_audit.audits.loss_bracket import _OutputPartition, transcript_curve
from dpcp_audit.audits.pair_estimate import estimate_pair
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.search.moment_test import MomentTest
from dpcp_audit.audits.search.pair_race import PairRace
from dpcp_audit.audits.search.pilot_hypotheses import EventTest
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.audits.traced_privacy import TracedPrivacy
from dpcp_audit.audits.training.canary_games import RunBets
from dpcp_audit.tracing.pair_traces import LossSample, PairTrace
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.guarantees import ZCDP, GaussianDP, PureDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training import model_membership

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

pytestmark = pytest.mark.known_bad


def rows(arrays: Iterable[Any]) -> set[float]:
    """Return the numbers of arrays; of a continuous law no two are equal."""
    return {float(x) for each in arrays for x in np.ravel(each)}


def spied(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, see: Callable[..., None]) -> None:
    """Let ``see`` look at the arguments of a function before it runs."""
    function = getattr(owner, name)

    def seen(*given: Any, **settings: Any) -> Any:
        see(*given, **settings)
        return function(*given, **settings)

    monkeypatch.setattr(owner, name, seen)


@pytest.mark.parametrize(
    ("target", "guarantee"), [("laplace", PureDP(1.0)), ("gaussian", ZCDP(0.1))]
)
def test_a_search_certifies_on_outputs_that_have_chosen_nothing(
    monkeypatch, target, guarantee
) -> None:
    known: set[float] = set()
    judged: list[bool] = []

    def choosing(race: PairRace, candidate: Any) -> None:
        known.update(rows(race.bank.pilot(candidate)))

    def judging(_: object, __: object, first: Any, second: Any, **___: Any) -> None:
        judged.append(not known & rows((first, second)))

    spied(monkeypatch, PairRace, "choose_pair_test", choosing)
    for kind in (EventTest, GameTest, MomentTest):
        spied(monkeypatch, kind, "judge", judging)
    sample = {"laplace": laplace(1.0), "gaussian": gaussian(1.0)}[target]
    BlackBoxPrivacy(
        sample=lambda value, size, *, rng: sample(float(np.mean(value)), size, rng=rng),
        guarantee=guarantee,
        pairs=ScorePairs(sizes=(1,)),
        draws=6000,
    )(context(0, significance=0.05))
    assert known
    assert judged
    assert all(judged)


def counted_rows(monkeypatch: pytest.MonkeyPatch, module: Any) -> tuple[set[float], set[float]]:
    """Return the outputs that a partition is learned from, and those counted, as they come."""
    learned, counted = set[float](), set[float]()
    spied(monkeypatch, module, "learn_partition", lambda *o, **_: learned.update(rows(o)))
    spied(monkeypatch, _OutputPartition, "counts", lambda _, o: counted.update(rows([o])))
    return learned, counted


@pytest.mark.parametrize(
    "check",
    [
        on_pair(laplace(1.0), PureDP(1.0), draws=2000),
        MembershipInference(
            sample=laplace(1.0), guarantee=PureDP(1.0), neighbours=pair(), n_samples=800
        ),
    ],
    ids=lambda check: type(check).__name__,
)
def test_a_findings_estimate_counts_other_outputs_than_it_learned_from(monkeypatch, check) -> None:
    learned, counted = counted_rows(monkeypatch, loss_bracket)
    check(context(0))
    assert len(learned) > 400
    assert len(counted) > 400
    assert not learned & counted


def test_a_table_of_estimates_counts_other_outputs_than_it_learned_from(monkeypatch) -> None:
    learned, counted = counted_rows(monkeypatch, pair_estimate)
    draws = [np.random.default_rng(k).laplace(size=500) for k in range(4)]
    estimate_pair((draws[0], draws[1]), (draws[2], draws[3]), None, significance=0.05)
    assert (learned, counted) == (rows(draws[:2]), rows(draws[2:]))


def traced(first: float, rest: float, share: float) -> PairTrace:
    """Return the trace of paths of which a first share has one loss, and the rest another."""
    losses = np.where(np.arange(400) < share * 400, first, rest)
    sample = LossSample(losses=losses, departed=np.zeros(400, dtype=bool))
    return PairTrace(
        forward=sample,
        backward=sample,
        exact=None,
        lines=(),
        leaks=(),
        unfollowed=(),
        values=False,
        released=True,
    )


@pytest.mark.parametrize(
    ("first", "rest", "verdict"),
    [(10.0, 0.0, Verdict.CONSISTENT), (10.0, 10.0, Verdict.REFUTED)],
)
def test_the_law_of_the_losses_is_tested_on_paths_that_did_not_choose(first, rest, verdict) -> None:
    audit = TracedPrivacy(
        target=TracedTarget.of(lambda x, *, rng: x, {}),
        guarantee=GaussianDP(1.0),
        neighbours=pair(),
    )
    found = audit.judge(traced(first, rest, 0.5), context(0, significance=0.05))
    refuted = found.verdict is Verdict.REFUTED
    assert refuted == (verdict is Verdict.REFUTED)


def test_a_curve_of_traces_bounds_by_the_paths_that_did_not_choose() -> None:
    curve = transcript_curve(traced(0.1, 10.0, 0.25), significance=0.05)
    assert curve is not None
    assert curve.at(0.1) > 0.99


def test_bets_on_runs_are_settled_by_runs_that_did_not_choose_them(monkeypatch) -> None:
    """Scores are rounded, so that runs are counted."""
    chose: list[int] = []
    settled: list[int] = []
    spied(monkeypatch, RunBets, "chosen", lambda pilot, **_: chose.append(len(pilot.scores)))
    spied(monkeypatch, RunBets, "lower_bound", lambda _, runs, **__: settled.append(len(runs[0])))
    level_cases()["canaries: a step of DP-SGD, Gaussian"].trial(0, level=0.05)
    assert len(chose) == len(settled) > 0
    assert {sum(each) for each in zip(chose, settled, strict=True)} == {500}


def test_fresh_models_certify_what_pilots_chose(monkeypatch) -> None:
    chose: list[Any] = []
    held: list[Any] = []
    spied(monkeypatch, model_membership, "choices", lambda _, pilot: chose.append(pilot))
    spied(monkeypatch, model_membership, "hold", lambda _, __, fresh, **___: held.append(fresh))
    level_cases()["membership in models: ε-DP, randomised response"].trial(0, level=0.05)
    assert chose
    assert held
    assert not any(np.shares_memory(a.coins, b.coins) for a in chose for b in held)
