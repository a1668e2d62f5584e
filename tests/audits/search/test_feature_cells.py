"""Rare atoms where δ is claimed: found with the calls that are planned, and never where none is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import blind_spots

from dpcp_audit.audits.search.pair_space import ScorePair
from dpcp_audit.audits.search.pilot_hypotheses import promise_of_atoms, shows_atoms
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.target_checks.target_claims import TargetPrivacy
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.search.pair_space import Candidate

CLAIM = ApproxDP(1.0, 1e-5)
LEVEL = 2.25e-5
"""That of one of two tests of a session of pytest."""
STUDIED = pytest.mark.study
TWINS = [
    pytest.param(blind_spots.the_rare_largest, id="largest"),
    pytest.param(blind_spots.the_rare_smallest, id="smallest", marks=STUDIED),
]


def verdict(
    twins: Callable[[bool], Any], seed: int, *, correct: bool, level: float = LEVEL
) -> Verdict:
    given = {"vectorised": True, "trace": False, "n": [100]}
    spec = spec_of(twins(correct), (CLAIM,), given, file=None)
    audit = TargetPrivacy(spec=spec, guarantee=CLAIM)
    assert audit.planned_calls == 2**18
    return audit(Context(seed=seed, name="rare", significance=level)).verdict


@pytest.mark.known_bad
@pytest.mark.parametrize("twins", TWINS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=STUDIED) for seed in range(1, 5))])
def test_a_delta_of_a_thousandth_is_refuted_at_defaults(
    twins: Callable[[bool], Any], seed: int
) -> None:
    assert verdict(twins, seed, correct=False) is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-6)
def test_its_correct_twin_is_not_refuted() -> None:
    """False alarm at most 1e-6."""
    twin = blind_spots.the_rare_largest
    assert verdict(twin, 0, correct=True, level=1e-6) is Verdict.CONSISTENT


def outputs_with(hits: tuple[int, int]) -> list[np.ndarray]:
    """Return 2,000 outputs of either input; so many of them are 0.25, and 0.75."""
    first, second = np.random.default_rng(0).normal(size=(2, 2000))
    first[: hits[0]], second[: hits[1]] = 0.25, 0.75
    return [first, second]


@pytest.mark.parametrize("hits", [(4, 0), (0, 4), (3, 3)])
def test_values_of_one_input_alone_come_before_all_else(hits: tuple[int, int]) -> None:
    assert promise_of_atoms(CLAIM, *outputs_with(hits)) > 1


def test_values_that_both_inputs_have_or_many_show_nothing() -> None:
    shared = outputs_with((5, 0))
    shared[1][0] = 0.25
    rounded = [x.round(2) for x in outputs_with((0, 0))]
    for outputs in (outputs_with((3, 0)), outputs_with((1, 1)), shared, rounded):
        assert math.isinf(promise_of_atoms(CLAIM, *outputs))


def test_nothing_is_promised_where_no_delta_is_claimed_or_of_vectors() -> None:
    outputs = outputs_with((9, 9))
    assert math.isinf(promise_of_atoms(PureDP(1.0), *outputs))
    assert math.isinf(promise_of_atoms(ZCDP(1.0), *outputs))
    assert math.isinf(promise_of_atoms(CLAIM, *(x[:, None] for x in outputs)))


def test_pairs_of_one_outlier_are_watched() -> None:
    def candidate(*counts: int) -> Candidate:
        pair = ScorePair(
            positions=np.arange(len(counts)) / 10,
            counts=np.array(counts),
            source=0.0,
            target=1.0,
        )
        return ScorePairs().candidate(pair, "")

    assert shows_atoms(candidate(99))
    assert not shows_atoms(candidate(49, 50))
