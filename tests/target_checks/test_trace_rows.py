"""Rows of traces and of estimates."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

import dpcp_audit as dp
from dpcp_audit.audits.traced_privacy import TracedPrivacy
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.loss_rows import (
    privacy_alone,
    rows_of_estimates,
    rows_of_traces,
    without_coverage,
)
from dpcp_audit.targets import Kind, TargetRaisedError, TargetSpec
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Coverage, LocalDP, PureDP
from dpcp_audit.words.options import dashed, plain
from dpcp_audit.words.results import Verdict

CODE = """
import math
import numpy as np

def mean(scores, *, rng, scale=1.0):
    return (scores.sum() + rng.laplace(scale=scale)) / len(scores)

def many(scores, size, *, rng):
    return scores.mean() + rng.laplace(scale=1 / len(scores), size=size)

def old(scores, seed):
    return scores.mean() + np.random.default_rng(seed).laplace(scale=1 / len(scores))

def response(value, *, rng, epsilon=1.0):
    return value if rng.random() < math.exp(epsilon) / (1 + math.exp(epsilon)) else 1 - value

def responses(values, *, rng):
    keep = rng.random(len(values)) < math.e / (1 + math.e)
    return np.where(keep, values, 1 - np.asarray(values))

def broken(scores, *, rng):
    raise KeyError("no scores today")

def choosy(scores, *, rng):
    if type(rng) is not np.random.Generator:
        raise KeyError("only NumPy's")
    return scores.mean() + rng.laplace(scale=1.0)

def silent_for_one(scores, *, rng):
    if len(scores) < 2:
        return float(scores[0])
    return float(scores.max() + rng.laplace(scale=1.0))

def calibrator(probabilities, labels, *, rng):
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return scores.mean() + rng.laplace(scale=1 / len(labels))
"""

PATHS = 40
"""What a path of these targets loses is exact, or every path is enumerated."""


def checked(
    tmp_path, name, guarantee, *, kind=Kind.QUANTILE, scope="release", **settings: Any
) -> Any:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    extra = {"domain": 2} if kind is Kind.RANDOMIZER else {}
    target = TargetSpec(kind=kind, target=f"{tmp_path}/mine.py:{name}", **extra, **settings)
    given = {"n": [10], "draws": 600} if kind is not Kind.RANDOMIZER else {"draws": 600}
    spec = CheckSpec.of(target, [guarantee], {"name": name} | given, spell=dashed)
    (row,) = rows_of_traces([spec], scope)
    context = Context(seed=0, name=row.claim.id, significance=1e-6)
    check = replace(row.check, paths=PATHS)
    return row, pickle.loads(pickle.dumps(check))(context)  # noqa: S301


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("name", "kind", "settings"),
    [
        ("mean", Kind.QUANTILE, {}),
        ("many", Kind.QUANTILE, {"vectorised": True}),
        ("old", Kind.QUANTILE, {}),
        ("response", Kind.RANDOMIZER, {}),
        ("responses", Kind.RANDOMIZER, {"vectorised": True}),
        ("calibrator", Kind.CALIBRATOR, {}),
    ],
)
def test_every_kind_of_target_is_traced(tmp_path, name, kind, settings) -> None:
    claim = LocalDP if kind is Kind.RANDOMIZER else PureDP
    _, fine = checked(tmp_path, name, claim(1.0 + 1e-6), kind=kind, **settings)
    every = kind is Kind.RANDOMIZER  # pair is enumerated
    assert fine.verdict is (Verdict.PROVED if every else Verdict.CONSISTENT)
    assert fine.evidence.value == pytest.approx(1.0, rel=1e-6)
    _, wrong = checked(tmp_path, name, claim(0.9), kind=kind, **settings)
    assert wrong.verdict is Verdict.REFUTED


def test_a_target_that_raises_without_a_trace_is_an_error(tmp_path) -> None:
    with pytest.raises(TargetRaisedError, match=r"raised KeyError.*no scores today.*\bline 22\b"):
        checked(tmp_path, "broken", PureDP(1.0))
    _, found = checked(tmp_path, "choosy", PureDP(1.0))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "only NumPy's" in found.note


def test_the_scope_is_a_parameter_of_the_claim(tmp_path) -> None:
    row, found = checked(tmp_path, "mean", PureDP(1.5), scope="transcript")
    assert row.claim.parameters["scope"] == "transcript"
    assert found.witness["scope"] == "transcript"


def test_a_command_is_refused() -> None:
    target = TargetSpec(kind=Kind.QUANTILE, command=("cat",))
    spec = CheckSpec.of(target, [PureDP(1.0)], {"draws": 600, "n": [5]}, spell=dashed)
    (row,) = rows_of_traces([spec])
    with pytest.raises(UsageError, match="a command cannot be traced"):
        row.check(Context(seed=0, name="x", significance=0.1))


def test_coverage_is_left_out(tmp_path) -> None:
    target = TargetSpec(kind=Kind.QUANTILE, target="mine.py:mean")
    both = CheckSpec.of(target, [PureDP(1.0), Coverage(0.9)], {}, spell=dashed)
    alone = without_coverage(both)
    assert alone.guarantees == (PureDP(1.0),)
    assert alone.draws == 1000
    neither = CheckSpec.of(target, [Coverage(0.9)], {}, spell=dashed)
    with pytest.raises(UsageError, match="claims no privacy"):
        rows_of_traces([neither])


def _spec(*guarantees) -> CheckSpec:  # noqa: ANN002
    target = TargetSpec(target="mine.py:f", kind=Kind.QUANTILE)
    return CheckSpec.of(target, guarantees, {}, spell=plain)


def test_each_privacy_claim_has_a_row() -> None:
    spec = privacy_alone(_spec(PureDP(1.0), PureDP(2.0), Coverage(at_least=0.9)))
    rows = rows_of_estimates([spec], paths=7)
    assert [row.check.guarantee for row in rows] == [PureDP(1.0), PureDP(2.0)]
    assert {row.check.paths for row in rows} == {7}


def test_a_target_without_a_claim_has_one_row_that_says_so() -> None:
    (row,) = rows_of_estimates([_spec()])
    assert row.claim.id == "mine.py:f[loss]"
    assert row.claim.source.section == "nothing is claimed"


def test_the_pair_that_is_traced_is_one_on_which_the_target_draws(tmp_path) -> None:
    _, outcome = checked(tmp_path, "silent_for_one", PureDP(1.0))
    assert "no draw is seen" not in outcome.note
    assert outcome.traced is not None
    assert outcome.traced.draws


def test_the_pairs_of_an_enumeration_share_the_false_alarm_probability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each later pair may use all of its share; the first, whose paths were all run, a half."""
    shares: list[float] = []
    judge = TracedPrivacy.judge

    def noted(check: TracedPrivacy, trace: Any, context: Context) -> Any:
        shares.append(context.significance)
        return judge(check, trace, context)

    monkeypatch.setattr(TracedPrivacy, "judge", noted)

    def coin(scores, *, rng) -> int:
        return int(rng.random() < 0.5 + 0.1 * float(scores.max() > 0.5))

    dp.audit(coin, dp.PureDP(1.0), n=5, rng=0, draws=1000, prove=False)
    first, *later = shares
    assert len(later) == 3
    assert first / 2 + sum(later) <= first * (1 + 1e-9)
