"""Every auditor on mechanisms that meet their claim with equality, and the study of the levels."""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest
from case_catalogue import level_cases
from levels_page import holds, judged, page
from release_cases import RELEASES, Gaussian, Laplace, Response
from shape_cases import NoisyNumbers, searches
from study import counted
from study_counts import CHUNK, Series, StudyChunk, Tally, keep, kept, missing, planned, tallies
from support.refusals import WaldTest

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.words.guarantees import RenyiDP

if TYPE_CHECKING:
    from pathlib import Path


CASES = level_cases()
LARGE = WaldTest(allowed=0.3, excessive=0.9, false_alarm=1e-7)
SMALL = WaldTest(allowed=0.05, excessive=0.15, false_alarm=1e-7)
CHEAP = ("one run", "failure rate, stopped", "mean of")
"""Auditors of two milliseconds or so, whose level is measured where it is used."""
SHAPES = ("vector", "local", "federated", "calibrator", "predictor", "regression", "shuffled")
EXPENSIVE = (
    *("canaries", "both sides", "black-box search, bound"),
    *("baseline of the pytest plugin", "comparison of two runs"),
    *(f"black-box search: {shape}" for shape in SHAPES),
    *(f"coverage audit: {shape}" for shape in SHAPES),
)
"""A quarter of a second or more each, or auditors that other cases try: the study has them. The
two tests of canaries are in test_run_bets.py, that of two runs in test_two_runs_levels.py."""


def level_test(name: str) -> WaldTest:
    return SMALL if name.startswith(CHEAP) else LARGE


def default_cases() -> list[str]:
    return [name for name in CASES if not name.startswith(EXPENSIVE)]


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("name", default_cases())
def test_a_true_claim_is_refuted_at_most_at_the_level(name: str) -> None:
    """False alarm at most 1e-7; at three times the level it passes with at most 1e-4."""
    test, trial = level_test(name), CASES[name].trial
    assert not test.exceeded_by(trial(seed, level=test.allowed) for seed in count())


@pytest.mark.statistical(false_alarm=0.5**25)
@pytest.mark.parametrize("name", default_cases())
def test_a_claim_that_is_broken_is_refuted(name: str) -> None:
    """The case is not vacuous. False alarm 3e-8: each of 25 refutes with probability above 0.5."""
    assert any(CASES[name].trial(seed, level=0.3, twice=True) for seed in range(25))


def test_the_same_seed_gives_the_same_answer_wherever_it_runs() -> None:
    name = "one run, by the region: ε-DP, randomised response"
    whole = counted(StudyChunk(name=name, twice=True, first=0, count=20))
    parts = [counted(StudyChunk(name=name, twice=True, first=k, count=10)) for k in (10, 0)]
    assert whole.refuted == sum(part.refuted for part in parts) > 0


def test_a_stopped_study_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "levels.ndjson"
    plan = list(planned(["a", "b"], 2 * CHUNK + 1, 1))
    assert [chunk.count for chunk in plan[:4]] == [CHUNK, CHUNK, 1, 1]
    assert missing(plan, kept(path)) == plan
    for chunk in plan[:3]:
        keep(path, chunk)
    with path.open("a") as file:  # stopped in the middle of a line
        file.write(json.dumps({"name": "a"})[:-1])
    assert missing(plan, kept(path)) == plan[3:]
    assert tallies(kept(path)) == {Series("a", twice=False): Tally(0, 2 * CHUNK + 1)}


def test_a_level_that_is_exceeded_is_shown_and_fails() -> None:
    most = judged(len(CASES), 2000).most
    found = {
        Series(name, twice): Tally(0 if twice else most, 200 if twice else 2000)
        for name in CASES
        for twice in (False, True)
    }
    assert holds(CASES, found)
    assert "**no**" not in page(CASES, found)
    found[Series(next(iter(CASES)), twice=False)] = Tally(most + 1, 2000)
    assert not holds(CASES, found)
    assert page(CASES, found).count("**no**") == 1


def test_a_case_that_was_never_counted_has_no_row() -> None:
    cases = level_cases()
    first = next(iter(cases))
    shown = page(cases, {Series(first, twice=False): Tally(100, 2000)})
    assert shown.count("| 100 of 2,000 |") == 1
    assert "any of the 1 rows" in shown


def test_every_null_of_added_noise_has_exactly_the_loss_that_is_claimed() -> None:
    """Laplace noise of scale s/ε on numbers that move by s in ℓ₁ loses ε, on the worst pair."""
    seen = 0
    for pairs, made in searches().values():
        mechanism = made(1.0)
        if not isinstance(mechanism, NoisyNumbers):
            continue
        seen += 1
        moves = [
            np.abs(np.subtract(*(mechanism.numbers(value) for value in each.inputs))).sum()
            for each in pairs.candidates()
        ]
        assert max(moves) == pytest.approx(mechanism.sensitivity)
    assert seen == 4


def test_every_null_of_a_single_release_has_exactly_the_loss_that_is_claimed() -> None:
    """Its law on two values, by the closed form or the whole channel, meets the claim."""
    pairs = {
        Laplace: lambda epsilon: LaplacePair((epsilon,)),
        Gaussian: GaussianPair,
        Response: lambda _: tight.pair(),
    }
    for guarantee, tight, _ in RELEASES.values():
        pair = pairs[type(tight)](next(iter(astuple(tight))))
        exact = {
            "epsilon": lambda given, pair=pair: pair.epsilon_at(given.get("delta", 0.0)),
            "delta": lambda given, pair=pair: pair.delta_at(given["epsilon"]),
            "rho": lambda _, pair=pair: pair.rho(),
            "mu": lambda _, pair=pair: math.sqrt(2 * pair.rho()),
            "alpha": lambda given: given["alpha"],
        }
        for name, claimed in guarantee.parameters.items():
            lost = pair.renyi(2.0) if isinstance(guarantee, RenyiDP) and name == "epsilon" else None
            found = exact[name](guarantee.parameters) if lost is None else lost
            assert found == pytest.approx(claimed, abs=1e-6), (guarantee, name)
