"""Bugs on few pairs, or in few events, that 20,000 draws refute; and their correct twins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import blind_spots

import dpcp_audit as dp
from dpcp_audit.audits import guesser
from dpcp_audit.audits.search import event_search, pair_race
from dpcp_audit.audits.search.event_search import ScalarValue
from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.target_checks.target_claims import TargetPrivacy
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.guarantees import PrivacyGuarantee

pytestmark = pytest.mark.known_bad

DEFAULT_DRAWS = 20_000
PURE, DELTA, LOCAL = PureDP(1.0), ApproxDP(1.0, 1e-5), LocalDP(1.0)
CALIBRATOR: dict[str, Any] = {"kind": "calibrator", "n": [20]}
RANDOMIZER: dict[str, Any] = {"kind": "randomizer", "domain": 10}
CASES: dict[str, tuple[Callable[[bool], Any], PrivacyGuarantee, dict[str, Any]]] = {
    "sparse-vector": (blind_spots.sparse_vector, PURE, {}),
    "first-record": (blind_spots.heavier_record(lambda n: 0), PURE, {"n": [50]}),
    "record-17": (blind_spots.heavier_record(lambda n: 17), PURE, {}),
    "middle-record": (blind_spots.heavier_record(lambda n: n // 2), PURE, {"n": [100]}),
    "ties-refused": (blind_spots.refuses_ties, PURE, {"n": [100, 20]}),
    "odd-n": (blind_spots.less_noise_where(lambda s: len(s) % 2 == 1), PURE, {"n": [100, 500]}),
    "tiny-n": (blind_spots.less_noise_where(lambda s: len(s) <= 2), PURE, {"n": [100, 500]}),
    "several-atoms": (
        blind_spots.less_noise_where(lambda s: 3 <= len(np.unique(s)) <= 6),
        PURE,
        {"n": [100]},
    ),
    "isolated-score": (
        blind_spots.less_noise_where(
            lambda s: len(s) > 30 and np.count_nonzero((s > 0.1) & (s < 0.9)) == 1
        ),
        PURE,
        {},
    ),
    "granularity": (blind_spots.granular, PURE, {"n": [100]}),
    "trailing-digits": (blind_spots.trailing_digits, PURE, {"n": [100]}),
    "middle-digit": (blind_spots.middle_digit, PURE, {"n": [100]}),
    "any-score": (blind_spots.any_score, PURE, {"n": [20]}),
    "the-largest": (blind_spots.the_largest, DELTA, {"n": [100]}),
    "many-rare-values": (blind_spots.many_rare_values, DELTA, {"n": [100]}),
    "early-stop": (blind_spots.stops_early, ZCDP(0.5), {"alpha": 0.1}),
    "infinite": (blind_spots.infinite_of_one, PURE, {"n": [50]}),
    "truncated": (blind_spots.truncated, PURE, {"n": [50]}),
    "drawn-again": (blind_spots.drawn_again, PURE, {"n": [50], "draws": 40_000}),
    "odd-value": (
        blind_spots.less_noise_where(blind_spots.odd_thousandths),
        PURE,
        {"n": [100]},
    ),
    "fullest-bin": (blind_spots.shown_histogram, PURE, {"n": [100]}),
    "next-bin": (blind_spots.cumulated_histogram, PURE, {"n": [100], "draws": 2**17}),
    "missing-class": (blind_spots.missing_class, PURE, CALIBRATOR),
    "first-of-records": (blind_spots.first_record_of, PURE, CALIBRATOR),
    "first-of-labels": (
        blind_spots.first_record_of,
        PURE,
        CALIBRATOR | {"neighbours": "one-label"},
    ),
    "one-value": (blind_spots.one_value_kept, LOCAL, RANDOMIZER),
}
STUDIED = {
    "first-record",
    "middle-record",
    "first-of-records",
    "odd-n",
    "several-atoms",
    "trailing-digits",
    "middle-digit",
    "any-score",
    "many-rare-values",
    "early-stop",
    "infinite",
    "missing-class",
}
"""Of a kind of which another one is in the default run, or slow."""
NAMES = [pytest.param(name, marks=pytest.mark.study) if name in STUDIED else name for name in CASES]


def verdict(name: str, seed: int, *, correct: bool, level: float = 1e-3) -> Verdict:
    twins, claim, options = CASES[name]
    given = {
        "vectorised": True,
        "trace": False,
        "draws": 3000 if correct else DEFAULT_DRAWS,
    } | options
    spec = spec_of(twins(correct), (claim,), given, file=None)
    audit = TargetPrivacy(spec=spec, guarantee=claim)
    return audit(Context(seed=seed, name=name, significance=level)).verdict


@pytest.mark.parametrize("name", NAMES)
def test_a_bug_that_few_pairs_or_events_show_is_found(name: str) -> None:
    assert verdict(name, 0, correct=False) is Verdict.REFUTED


@pytest.mark.study
def test_rare_atoms_find_what_other_parts_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call in 1,000 hands out the largest score: 8 of 8 with the part, 3 of 8 without it."""

    def leaky(scores: np.ndarray, *, rng: np.random.Generator) -> float:
        noisy = float(np.mean(scores) + rng.laplace(scale=1 / len(scores)))
        return float(np.max(scores)) if rng.random() < 1e-3 else noisy

    def found() -> int:
        spec = spec_of(leaky, (DELTA,), {"trace": False, "draws": 2**18, "n": [20]}, file=None)
        audit = TargetPrivacy(spec=spec, guarantee=DELTA)
        contexts = [Context(seed=seed, name="rare", significance=1e-3) for seed in range(8)]
        return sum(audit(context).verdict is Verdict.REFUTED for context in contexts)

    with_them = found()
    monkeypatch.setattr(pair_race, "promise_of_atoms", lambda *_: -math.inf)
    monkeypatch.setattr(pair_race, "claims_delta", lambda _: False)
    assert with_them >= found() + 3


@pytest.mark.parametrize(
    ("part", "refuted"), [(event_search.DecimalPlaces, True), (lambda _: ScalarValue(), False)]
)
def test_decimals_find_what_other_parts_do_not(
    part: object, refuted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding to four decimals, three on some data: 3 of 3 seeds with the part, none without."""

    def rounded(scores: np.ndarray, *, rng: np.random.Generator) -> float:
        noisy = np.sum(scores) + 100 * rng.laplace()
        return float(np.round(noisy, 3 if np.median(scores) > 0.5 else 4))

    monkeypatch.setattr(event_search, "DecimalPlaces", part)
    monkeypatch.setattr(guesser, "DecimalPlaces", part)
    given = {"trace": False, "prove": False, "draws": 6000, "n": [20]}
    spec = spec_of(rounded, (PURE,), given, file=None)
    audit = TargetPrivacy(spec=spec, guarantee=PURE)
    found = audit(Context(seed=0, name="decimals", significance=1e-3)).verdict
    assert (found is Verdict.REFUTED) is refuted


@pytest.mark.study
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("name", CASES)
def test_it_is_found_at_other_seeds(name: str, seed: int) -> None:
    assert verdict(name, seed, correct=False) is Verdict.REFUTED


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("name", NAMES)
def test_its_correct_twin_is_not_refuted(name: str) -> None:
    """False alarm at most 1e-7, the significance of the check."""
    assert verdict(name, 0, correct=True, level=1e-7) is not Verdict.REFUTED


def test_a_number_of_outputs_that_tells_neighbours_apart_is_refused() -> None:
    def told(scores, *, rng) -> object:
        noisy = float(np.mean(scores) + rng.laplace(0, 1 / len(scores)))
        return [noisy] if np.sum(scores) > len(scores) / 2 else [noisy, 0.0]

    result = dp.audit(told, dp.PureDP(1.0), kind="vector", n=1, draws=2000, trace=False)
    assert result["pure_dp"].verdict is dp.Verdict.ERROR
    assert "tells them apart" in " ".join(str(result).split())


def test_the_outputs_of_a_constant_are_not_read_again_for_every_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Outputs are read a few times a pair, not once for each pair that is tried later."""
    read: list[object] = []
    pilot = pair_race.Bank.pilot

    def counted(bank: pair_race.Bank, candidate: Any) -> Any:
        read.append(candidate)
        return pilot(bank, candidate)

    monkeypatch.setattr(pair_race.Bank, "pilot", counted)

    def constant(scores, *, rng) -> float:
        del scores, rng
        return 0.5

    few = {"draws": 1000, "trace": False, "prove": False}
    dp.audit(constant, dp.PureDP(1.0), kind="vector", n=3, rng=0, **few)
    pairs = len(set(map(id, read)))
    assert pairs > 50
    assert len(read) < 10 * pairs
