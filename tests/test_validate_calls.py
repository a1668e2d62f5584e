"""Every public callable with every kind of bad value: accepted, or refused by the argument's name.

A call that is good but for one argument either returns or raises a ``ValueError`` that names that
argument, and has a hint on its second line; never anything else.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.user_mechanisms import flip, noisy_sum

import dpcp_audit as dp
from dpcp_audit.laws import pools as scores
from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.laws.populations import Beta
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.pcoqs_budget import GaussianMechanism
from dpcp_audit.mechanisms.quantiles import ExponQ, conformal_rank, optimal_gamma
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
    debiased_cdf,
)
from dpcp_audit.stats import rates, ratio_test
from dpcp_audit.stats import rates as confidence_sequence
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_ledger.comparison.method import PrivateCalibrator, Trust
from dpcp_ledger.mechanisms import label_scores
from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse, ShuffledKaryResponse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BAD: tuple[Any, ...] = (
    *(None, True, "x", "0.5", b"0.5", 0.5j, object(), {}, {"a": 1}, [], [1, "x"], [[0.5], [1, 2]]),
    *(math.nan, math.inf, -math.inf, -1, 0, 0.5, 3, 1e300, 10**400, -(10**400), 1e-320),
    *((), {1}, 2**63, np.datetime64("2020-01-01"), np.float64("nan")),
    *(np.array([]), np.array([math.nan]), np.array(["a"]), np.zeros((2, 2, 2)), np.array(0.5j)),
)
OF_EACH_KIND = (
    *(None, True, "x", 0.5j, object(), [1, "x"], math.nan, math.inf, -1, 0, 0.5, 3, 1e300),
    *(np.datetime64("2020-01-01"), np.array([]), np.zeros((2, 2, 2))),
)
"""Bad values of what runs an audit where it accepts one: its options are read as all others are."""
SAMPLES = tuple(np.random.default_rng(0).laplace([[0.0], [1.0]], size=(2, 300)))
TABLE = [[0.7, 0.3], [0.2, 0.8]]
LEVEL = {"significance": 0.05}
PAIR = Neighbours(relation=Relation.SUBSTITUTION, value=[0.0], neighbour=[1.0])


def noisy(values: Any, size: int, /, *, rng: np.random.Generator) -> Any:
    return np.mean(values) + rng.laplace(size=size)


def mean(scores: Any, size: int, *, rng: np.random.Generator) -> Any:
    return np.mean(scores) + rng.laplace(size=size)


def audited(function: Any, guarantee: Any, **options: Any) -> dp.Result:
    return dp.audit(function, guarantee, **options)


def estimated(function: Any, guarantee: Any, **options: Any) -> Any:
    return dp.estimate(function, guarantee, **options)


def estimated_from(samples: Any, guarantee: Any, **options: Any) -> Any:
    return dp.estimate(None, guarantee, samples=samples, **options)


def proved(function: Any, guarantee: Any, **options: Any) -> Any:
    return dp.prove(function, guarantee, **options)


def traced(function: Any, x: Any, x_neighbour: Any, guarantee: Any, **options: Any) -> Any:
    return dp.trace(function, x, x_neighbour, guarantee, **options)


@cache
def made() -> tuple[Any, dp.Result]:
    """Return what methods are called of: estimates, a trace and a result."""
    return (
        dp.estimate(samples=SAMPLES),
        dp.trace(noisy_sum, [0, 1], [0, 0], dp.PureDP(0.5), draws=20),
        dp.covers(mean, at_least=0.5, n=5, vectorised=True, draws=200),
    )


def method(place: int, name: str) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        return getattr(made()[place], name)(**given)

    call.__qualname__ = name
    return call


def covered(at_least: Any, confidence: Any) -> dp.Result:
    options: dict[str, Any] = {"n": 5, "vectorised": True, "draws": 200}
    return dp.covers(mean, at_least=at_least, confidence=confidence, **options)


class Everything:
    """All labels, of three."""

    def fit(self, features: Any, labels: Any) -> Everything:
        return self

    def predict_set(self, features: Any) -> Any:
        return np.ones((len(features), 3))


def checked(at_least: Any, draws: Any) -> dp.Result:
    return dp.check_calibrator(Everything(), at_least=at_least, draws=draws)


def ran(suite: Any, profile: Any) -> dp.Result:
    return dp.run(suite, profile=profile, only="ldpcp.krr", jobs=1)


AUDITS = (audited, traced, estimated, checked, covered)
LAW = {"scores": "uniform", "profile": "smoke"}
CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (dp.PureDP, {"epsilon": 1.0}),
    (dp.ApproxDP, {"epsilon": 1.0, "delta": 0.1}),
    (dp.ZCDP, {"rho": 0.5}),
    (dp.RenyiDP, {"alpha": 2.0, "epsilon": 1.0}),
    (dp.GaussianDP, {"mu": 1.0}),
    (dp.LocalDP, {"epsilon": 1.0}),
    (dp.Coverage, {"at_least": 0.8, "at_most": 0.9, "confidence": 0.9}),
    (Neighbours, {"relation": Relation.SUBSTITUTION, "value": 1, "neighbour": 2}),
    (PrivateCalibrator, {"label": "a", "privacy": "none", "promise": "", "trust": Trust.CURATOR}
     | {"calibrate": lambda scores, **_: 0.5}),
    (Context, {"seed": 0, "name": "a", "significance": 0.1, "effort": 1.0}),
    (rates.clopper_pearson, {"successes": 3, "trials": 10, **LEVEL}),
    (rates.mean_limits,
     {"mean": 0.5, "variance": 0.1, "count": 10, "bounds": (0.0, 1.0), **LEVEL}),
    (rates.mean_radius, {"variance": 0.1, "count": 10, "width": 1.0, **LEVEL}),
    (confidence_sequence.RateSequence, {"expected_rate": 0.5, **LEVEL}),
    (rates.smallest_violation, {"claimed": 0.1, "trials": 100, **LEVEL}),
    (rates.draws_needed, {"claimed": 0.1, "rate": 0.3, **LEVEL}),
    (rates.rate_reaching,
     {"successes": 3, "trials": 10, "at_least": 0.1}),
    (ratio_test.RatioTest, {"n": 10, "n_prime": 10, "epsilon": 1.0, "delta": 0.1}),
    (ratio_test.epsilon_lower_bound,
     {"x": 9, "n": 10, "y": 1, "n_prime": 10, "delta": 0.0, "resolution": 0.1, **LEVEL}),
    (rates.mean_violation,
     {"variance": 0.1, "count": 100, "bounds": (0.0, 1.0), **LEVEL}),
    (GaussianMechanism, {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 1.0}),
    (HistLap, {"alpha": 0.1, "epsilon": 1.0, "n_bins": 10, "bounds": (0.0, 1.0)}),
    (KaryRandomizedResponse, {"epsilon": 1.0, "k": 3}),
    (BinaryRandomizedResponse, {"epsilon": 1.0}),
    (debiased_cdf, {"noisy": [0.2, 0.5], "uniform": [0.3, 0.6], "beta": 0.5}),
    (conformal_rank, {"n": 10, "alpha": 0.1}),
    (SplitConformal, {"alpha": 0.1}),
    (PCOQS, {"alpha": 0.1, "rho": 0.5, "bounds": (0.0, 1.0), "resolution": 0.01}),
    (ExponQ, {"alpha": 0.1, "epsilon": 1.0, "n_candidates": 10, "gamma": 0.01}),
    (optimal_gamma, {"n": 100, "alpha": 0.1, "epsilon": 1.0}),
    (ShuffledBinaryResponse, {"epsilon": 1.0}),
    (ShuffledKaryResponse, {"epsilon": 1.0, "k": 3}),
    (scores.hps, {"probabilities": TABLE}),
    (label_scores.aps, {"probabilities": TABLE, "u": [[0.5, 0.5], [0.1, 0.2]]}),
    (scores.true_label_scores, {"scores": TABLE, "labels": [0, 1]}),
    (ProbabilityPool, {"name": "p", "probabilities": np.array(TABLE), "labels": np.array([0, 1])}),
    (Beta, {"a": 1.0, "b": 2.0}),
    (audited,
     {"function": mean, "guarantee": dp.PureDP(1.0), "vectorised": True, "n": 10, "alpha": 0.1,
      "bounds": (0.0, 1.0), "draws": 600, "tolerance": 0.0, "seed": 0, "false_alarm": 1e-3,
      "strict": False, "options": {}, "neighbours": "substitution", "kind": "quantile",
      "trace": False}),
    (proved,
     {"function": noisy_sum, "guarantee": dp.PureDP(1.0), "n": 5, "bounds": (0.0, 1.0),
      "neighbours": "substitution", "options": {}}),
    (estimated,
     {"function": flip, "guarantee": dp.LocalDP(1.0), "domain": 2, "draws": 600, "seed": 0,
      "false_alarm": 0.05, "pair": (0, 1), "paths": 10, "options": {}, "trace": False,
      "kind": "randomizer"}),
    (estimated_from, {"samples": SAMPLES, "guarantee": dp.PureDP(1.0), "seed": 0}),
    (method(0, "epsilon"), {"delta": 0.1}),
    (method(0, "delta"), {"epsilon": 1.0}),
    (method(0, "renyi"), {"alpha": 2.0}),
    (method(0, "tpr"), {"fpr": 0.1}),
    (method(0, "report"), {"path": "estimates.json"}),
    (traced,
     {"function": noisy_sum, "x": [0, 1], "x_neighbour": [0, 0], "guarantee": dp.PureDP(0.5),
      "draws": 5, "scope": "release", "neighbours": "substitution", "seed": 0,
      "false_alarm": 0.05, "options": {}}),
    (method(1, "delta"), {"epsilon": 1.0, "significance": 0.05}),
    (method(1, "epsilon"), {"delta": 0.1}),
    (method(1, "renyi"), {"alpha": 2.0}),
    (method(1, "report"), {"path": "trace.json"}),
    (method(2, "plot"), {"figure": 0}),
    (method(2, "report"), {"path": "result.json"}),
    (dp.theorem,
     {"name": "ldpcp-4", "n": 2000, "epsilon": 2, "delta": 0.05, "alpha": 0.1, "seed": 0,
      "false_alarm": 0.05, "strict": False, **LAW}),
    (dp.theorem, {"name": "split-conformal", "scores": [0.1, 0.4, 0.7], "n": 9}),
    (dp.theorem,
     {"name": "split-conformal", "probabilities": TABLE, "labels": [0, 1], "n": 9,
      "profile": "smoke"}),
    (dp.theorem, {"name": "ldpcp-3", "n": 50, "epsilon": 1, "delta": 0.1, "k": 2}),
    (dp.explore,
     {"name": "ldpcp-4", "n": 50, "epsilon": [1, 2], "delta": 0.1, "seed": 0,
      "scores": "uniform"}),
    (dp.primitive, {"law": flip}),
    (dp.calibrate,
     {"scores": [0.1, 0.9], "alpha": 0.1, "guarantee": dp.ZCDP(0.5), "confidence": 0.9,
      "bounds": (0.0, 1.0), "resolution": 1e-3, "rng": 0}),
    (covered, {"at_least": 0.5, "confidence": 0.5}),
    (checked, {"at_least": 0.5, "draws": 100}),
    (ran, {"suite": "papers", "profile": "smoke"}),
]  # fmt: skip


def wrong(function: Callable[..., Any], good: dict[str, Any], name: str, value: Any) -> str:
    """Return what is wrong with the answer to a bad value; "" where nothing is."""
    try:
        with np.errstate(all="ignore"):
            function(**good | {name: value})
    except ValueError as error:
        said = str(error)
        if name not in said and name.replace("_", "-") not in said:
            return f"{name} unnamed: {said}"
        return "" if "\nhint: " in said else f"no hint: {said}"
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the finding)
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize(
    ("function", "good"), CALLS, ids=lambda each: getattr(each, "__qualname__", "")
)
@pytest.mark.filterwarnings("ignore")
def test_bad_values_are_accepted_or_refused_by_name(
    function: Callable[..., Any],
    good: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    function(**good)
    found = {
        (name, repr(value)[:40]): what
        for name in good
        for value in (OF_EACH_KIND if function in AUDITS else BAD)
        if (what := wrong(function, good, name, value))
    }
    assert found == {}


def test_every_public_name_that_can_be_called_is_tried() -> None:
    tried = {function.__name__ for function, _ in CALLS}
    wrapped = {"audit": "audited", "run": "ran", "covers": "covered", "estimate": "estimated"}
    wrapped |= {"prove": "proved", "trace": "traced", "check_calibrator": "checked"}
    elsewhere = {"audit_training", "power", "draws_needed"}  # test_training_audits, test_plans
    results = {"ClaimResult", "DPAudit", "Estimate", "Exploration", "Finding", "LossEstimates"}
    results |= {"Outcome", "Power", "ProofResult", "Result", "Trace", "Verdict", "__version__"}
    public = set(dp.__all__) - results - elsewhere
    assert {wrapped.get(name, name) for name in public} <= tried
