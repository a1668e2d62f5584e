"""Auditors of every shape of target, on mechanisms that meet their claim with equality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from level_case import CheckTrial, LevelCase
from release_cases import Response

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.record_pairs import (
    ClientPairs,
    NumberPairs,
    RowPairs,
    ShuffledPairs,
    ShuffledReports,
    ValuePairs,
    shuffled_pairs,
)
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.pools import made_classes, made_outcomes
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.theorems.row_laws import LawCatalogue, RowLaws
from dpcp_audit.words.guarantees import ApproxDP, Coverage, LocalDP, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.audits.search.pair_space import PairSpace, Sampler
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import BoolArray, FloatArray

_SEARCHED, _CALLS = 600, 300
"""Outputs of a search on all inputs, and calibrations."""
_VALUES, _CLIENTS, _USERS = 3, 2, 5
_COVERED = 0.9
"""What is claimed of coverage, and of the labels in a set."""


@dataclass(frozen=True, slots=True)
class NoisyNumbers:
    """Numbers of an input, of an ℓ₁ sensitivity, with Laplace noise for ``epsilon``."""

    numbers: Callable[[Any], Any]
    sensitivity: float
    epsilon: float

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs, shape (size,) or (size, d)."""
        shown = np.asarray(self.numbers(value), dtype=np.float64)
        scale = self.sensitivity / self.epsilon
        return np.asarray(shown + rng.laplace(scale=scale, size=(size, *shown.shape)))


@dataclass(frozen=True, slots=True)
class UnaryEncoding:
    """A bit for each value, all of them with the same noise (basic RAPPOR)."""

    epsilon: float

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs, shape (size, K)."""
        kept = rng.random((size, _VALUES)) < 1 / (1 + math.exp(-self.epsilon / 2))
        return np.where(np.arange(_VALUES) == value, kept, ~kept).astype(np.float64)


@dataclass(frozen=True, slots=True)
class NoisySets:
    """Sets of new rows that hold all labels or none, by a noisy bit: whether label 0 occurs."""

    epsilon: float

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw sets as indicators, shape (size, K)."""
        kept = rng.random(size) < 1 / (1 + math.exp(-self.epsilon))
        shown = kept == bool((value[1] == 0).any())
        return np.repeat(shown[:, None], _VALUES, axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class AllOrNothing:
    """Covers everything with probability ``share``, and nothing else: equality on every law."""

    kind: Kind
    share: float

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return thresholds, intervals of the new rows, or sets, of each call."""
        if self.kind is Kind.FEDERATED:
            return self._thresholds((size,), rng)
        if self.kind is Kind.CALIBRATOR:
            return self._thresholds((size, _VALUES), rng)
        rows, covers = len(value[2]), self._covers((size, 1), rng)
        if self.kind is Kind.PREDICTOR:
            return np.repeat(covers, rows * _VALUES, axis=1).astype(np.float64)
        ends = self._thresholds((size, 1), rng)
        return np.tile(np.concatenate([-ends, ends], axis=1), rows)

    def _thresholds(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.where(self._covers(shape, rng), np.inf, -np.inf)

    def _covers(self, shape: tuple[int, ...], rng: np.random.Generator) -> BoolArray:
        return rng.random(shape) < self.share


def shape_cases() -> Iterator[LevelCase]:
    """Yield the searches of each shape, the shuffled reports, and the audits of sets."""
    for claim, (pairs, made) in searches().items():
        guarantee = LocalDP(1.0) if "LDP" in claim else PureDP(1.0)
        yield _search(claim, guarantee, (made(1.0), made(2.0)), pairs)
    yield _search("shuffled reports, (ε, δ)-DP", *_shuffled())
    for claim, check in _audits().items():
        yield LevelCase(
            auditor="coverage audit",
            claim=claim,
            trial=CheckTrial(tight=check(_COVERED), twice=check(2 * _COVERED - 1)),
            at_twice="twice the misses",
        )


def _histogram(scores: Any) -> Any:
    return np.histogram(scores, bins=2, range=(0.0, 1.0))[0]


def _total(clients: Any) -> float:
    return float(sum(np.sum(scores) for scores in clients))


def _clipped(rows: Any) -> Any:
    """Return two ends that move by up to 1 each where one outcome changes: sensitivity 2."""
    return np.clip(rows[1], -1, 1).sum() / 2 + np.array([-1.0, 1.0])


def searches() -> dict[str, tuple[PairSpace, Callable[[float], Sampler]]]:
    """Return the neighbours that are searched, and the mechanism of a loss."""
    scores = ScorePairs(sizes=(1,))
    clients = ClientPairs(scores=ScorePairs(sizes=(4,)), clients=_CLIENTS)
    classes = RowPairs(pool=made_classes(), sizes=(1,))
    outcomes = RowPairs(pool=made_outcomes(), sizes=(2,), whole=False)
    return {
        "vector: ε-DP, Laplace histogram": (
            scores,
            lambda epsilon: NoisyNumbers(_histogram, 2.0, epsilon),
        ),
        "local: ε-LDP, Laplace number": (
            NumberPairs(limits=(0.0, 1.0)),
            lambda epsilon: NoisyNumbers(float, 1.0, epsilon),
        ),
        "local: ε-LDP, unary encoding": (ValuePairs(n_values=_VALUES), UnaryEncoding),
        "federated: ε-DP, Laplace sum": (
            clients,
            lambda epsilon: NoisyNumbers(_total, 1.0, epsilon),
        ),
        "predictor: ε-DP, sets by a noisy bit": (classes, NoisySets),
        "regression: ε-DP, Laplace intervals": (
            outcomes,
            lambda epsilon: NoisyNumbers(_clipped, 2.0, epsilon),
        ),
    }


def _search(
    claim: str, guarantee: PrivacyGuarantee, samples: tuple[Sampler, Sampler], pairs: PairSpace
) -> LevelCase:
    tight, twice = (
        BlackBoxPrivacy(sample=sample, guarantee=guarantee, pairs=pairs, draws=_SEARCHED)
        for sample in samples
    )
    trial = CheckTrial(tight=tight, twice=twice)
    return LevelCase(auditor="black-box search", claim=claim, trial=trial)


def _shuffled() -> tuple[ApproxDP, tuple[Sampler, Sampler], PairSpace]:
    """Return the δ(½) of five users' 3-ary responses, their reports and those of twice the loss."""
    channel = np.exp([law.log_mass for law in KaryRandomizedResponse(2.0, _VALUES).laws()])
    delta = max(pair.delta_at(0.5) for _, pair in shuffled_pairs(channel, _USERS))
    tight, twice = (
        ShuffledReports(reporter=reporter, n=_USERS, values=tuple(range(_VALUES)))
        for reporter in (_reporter(2.0), _reporter(4.0))
    )
    return ApproxDP(0.5, float(delta)), (tight, twice), ShuffledPairs(n_values=_VALUES)


def _reporter(epsilon: float) -> Any:
    return Response(epsilon, _VALUES)


def _audits() -> dict[str, Callable[[float], Check]]:
    """Return the audits of coverage, each of the share that is covered."""
    classes, outcomes = made_classes(), made_outcomes()
    return {
        "calibrator: of each class": lambda share: _audit(
            Kind.CALIBRATOR, share, LawCatalogue(classifiers=False, per_class=True, classes=_VALUES)
        ),
        "federated: mean coverage": lambda share: _audit(
            Kind.FEDERATED, share, LawCatalogue(classifiers=False, clients=_CLIENTS)
        ),
        "predictor: of each class": lambda share: _audit(
            Kind.PREDICTOR, share, RowLaws(pool=classes, per_class=True)
        ),
        "regression: mean coverage": lambda share: _audit(
            Kind.REGRESSION, share, RowLaws(pool=outcomes)
        ),
    }


def _audit(kind: Kind, share: float, laws: LawCatalogue | RowLaws) -> CoverageAudit:
    per_class = laws.per_class
    return CoverageAudit(
        calibrate=AllOrNothing(kind, share),
        kind=kind,
        guarantee=Coverage(at_least=_COVERED, per_class=per_class),
        n=9,
        draws=_CALLS,
        laws=laws,
    )
