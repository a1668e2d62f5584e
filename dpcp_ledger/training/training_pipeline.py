"""A pipeline of a private training and P-COQS thresholds on one data set: its composed budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    PrivacyGuarantee,
    Proof,
    ProofMethod,
    Quantity,
    Relation,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    SubsampledGaussian,
    composed_loss,
    envelope,
    least_line,
    loss_interval,
)
from dpcp_audit.extensions.statistics import at_most, ball, ends, exact
from dpcp_ledger.dpskin.training_budgets import renyi_epsilon, sampled_renyi, substituted_renyi
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.paper import REAL_NOISE, Heading, Paper
from dpcp_ledger.training.examples import digits
from dpcp_ledger.training.model_attacks import Cohort

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import BoolArray, FloatArray, PlainData
    from dpcp_audit.extensions.mechanisms import Envelope
    from dpcp_ledger.training.examples import DPSGD, Examples


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatePipeline(PrivacyGuarantee):
    """The guarantee of a private training and of a P-COQS threshold on the same people.

    One person's record is replaced, in the training and in the calibration alike; under
    ZERO_OUT by one that contributes nothing to the training. The noisy counts of the
    threshold are dominated by one Gaussian pair of shift sqrt(2ρ), whatever the scores and so
    whatever model gave them (√N shifts of 1/σ): a Gaussian step of full participation, whose
    privacy loss is composed with that of the training's steps.

    Parameters
    ----------
    training : SubsampledGaussian
        Under SUBSTITUTION or ZERO_OUT: P-COQS promises ρ-zCDP of as many scores.
    calibration : PCOQS
        The mechanism of the threshold.

    Examples
    --------
    >>> from dpcp_audit.extensions.mechanisms import PCOQS
    >>> training = SubsampledGaussian(
    ...     sampling_rate=0.1, steps=100, noise_multiplier=2.0, relation=Relation.SUBSTITUTION
    ... )
    >>> pipeline = PrivatePipeline(training=training, calibration=PCOQS(alpha=0.1, rho=0.5))
    >>> print(f"{training.epsilon_at(1e-5):.2f} {pipeline.epsilon_at(1e-5):.2f}")
    4.37 6.55
    """

    training: SubsampledGaussian
    calibration: PCOQS

    def __post_init__(self) -> None:
        if self.training.relation is Relation.ADD_REMOVE:
            raise ValueError(
                "training.relation must be substitution or zero-out, since P-COQS promises "
                f"ρ-zCDP of as many scores, got {self.training.relation}"
            )

    @property
    def parameters(self) -> dict[str, float]:
        """The training's q, T and σ; ρ of the one threshold."""
        return self.training.parameters | {"rho": self.calibration.rho, "thresholds": 1}

    @property
    def release(self) -> SubsampledGaussian:
        """The threshold's noisy counts, as one Gaussian step of full participation."""
        moved = 2.0 if self.training.relation is Relation.SUBSTITUTION else 1.0
        return SubsampledGaussian(
            sampling_rate=1.0,
            steps=1,
            noise_multiplier=moved / math.sqrt(2 * self.calibration.rho),
            relation=self.training.relation,
        )

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest probability an event may have where a neighbour gives it ``fpr``.

        As :meth:`SubsampledGaussian.power`.
        """
        return least_line(_lines(self), np.asarray(fpr, dtype=np.float64))

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε), from above."""
        return min(1.0, float(_loss(self).get_delta_for_epsilon(epsilon)) + _ROUNDING)

    def epsilon_at(self, delta: float) -> float:
        """Return ε(δ), from above; infinity where δ is at most 1e-12."""
        if delta <= _ROUNDING:
            return math.inf
        return float(_loss(self).get_epsilon_for_delta(delta - _ROUNDING))

    def textbook_epsilon(self, delta: float) -> float:
        """Return ε₁ + ρ + 2·sqrt(ρ·log(2/δ)): each part at δ/2, and basic composition.

        ε₁ is the training's own, by its privacy loss.
        """
        rho = self.calibration.rho
        calibrated = rho + 2 * math.sqrt(rho * math.log(2 / delta))
        return self.training.epsilon_at(delta / 2) + calibrated


@lru_cache(maxsize=4)
def _loss(pipeline: PrivatePipeline) -> Any:
    """Return dp-accounting's distribution of the loss, from above."""
    parts = (pipeline.training, pipeline.release)
    interval = min(loss_interval(part, pessimistic=True) for part in parts)
    first, second = (composed_loss(part, pessimistic=True, interval=interval) for part in parts)
    return first.compose(second)


@lru_cache(maxsize=4)
def _lines(pipeline: PrivatePipeline) -> Envelope:
    epsilons = np.linspace(0.0, min(pipeline.epsilon_at(4 * _ROUNDING), 600.0), 2001)
    above = np.asarray(_loss(pipeline).get_delta_for_epsilon(epsilons))
    return envelope(epsilons, np.minimum(1.0, above + _ROUNDING))


_SIDE_BY_SIDE = 512
_HELD_OUT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitModels:
    """Logistic regression on a few of scikit-learn's digits, and a threshold on top.

    Under ADD_REMOVE each of ``records`` digits is in a model's data by a coin of its own, and
    the threshold is calibrated on 200 public digits that are none of them. Under SUBSTITUTION
    one of each two rivals is in, and the members train the model *and* calibrate the
    threshold: the data of the whole pipeline.

    Parameters
    ----------
    name : str
        Name of the models.
    settings : DPSGD
        The training.
    calibrator : SplitConformal or PCOQS
        Calibrates the threshold of hinge scores.
    records : int
        Digits that may be in the data, at least 2; even under SUBSTITUTION.
    relation : Relation
        ADD_REMOVE or SUBSTITUTION.
    """

    name: str
    settings: DPSGD
    calibrator: SplitConformal | PCOQS
    records: int = 100
    relation: Relation = Relation.ADD_REMOVE

    @property
    def parameters(self) -> PlainData:
        """The settings of the models' training."""
        return {
            "settings": repr(self.settings),
            "calibrator": repr(self.calibrator),
            "records": self.records,
            "relation": str(self.relation),
        }

    def __call__(self, models: int, /, *, rng: np.random.Generator) -> Cohort:
        """Train the models, a few hundred side by side, and calibrate each."""
        records, held_out = _digits(self.records)
        parts = [
            self._trained(records, held_out, min(_SIDE_BY_SIDE, models - start), rng)
            for start in range(0, models, _SIDE_BY_SIDE)
        ]
        members, probabilities, thresholds = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return Cohort(
            members=members,
            labels=records.labels,
            probabilities=probabilities,
            thresholds=thresholds,
            relation=self.relation,
        )

    def without_noise(self) -> Self:
        """Return the same training at σ = 0, clipping kept, under split conformal prediction."""
        return replace(
            self,
            name=f"{self.name}, without noise",
            settings=replace(self.settings, noise_multiplier=0.0),
            calibrator=SplitConformal(alpha=self.calibrator.alpha),
        )

    def _trained(
        self, records: Examples, held_out: Examples, models: int, rng: np.random.Generator
    ) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Return members, probabilities of the records, and thresholds."""
        from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415
        from dpcp_ledger.training.networks import logistic  # noqa: PLC0415

        members = self._members(models, rng)
        network = logistic(records.inputs.shape[1], records.n_classes)
        trained = train(network, records, self.settings, rng=rng, members=members)
        probabilities = trained.probabilities(records.inputs)
        if self.relation is Relation.SUBSTITUTION:
            own = _own_scores(probabilities, records)
            scores = [row[inside] for row, inside in zip(own, members, strict=True)]
        else:
            scores = list(_own_scores(trained.probabilities(held_out.inputs), held_out))
        return members, probabilities, self._thresholds(scores, rng)

    def _members(self, models: int, rng: np.random.Generator) -> BoolArray:
        if self.relation is Relation.SUBSTITUTION:
            coins = rng.random((models, self.records // 2)) < 0.5
            return np.concatenate([coins, ~coins], axis=1)
        return rng.random((models, self.records)) < 0.5

    def _thresholds(self, scores: list[FloatArray], rng: np.random.Generator) -> FloatArray:
        """Calibrate one model after the other: each has scores of its own."""
        if isinstance(self.calibrator, SplitConformal):
            return np.array([self.calibrator.threshold(row) for row in scores])
        return np.array([self.calibrator.sample(row, 1, rng=rng)[0] for row in scores])


@lru_cache(maxsize=4)
def _digits(records: int) -> tuple[Examples, Examples]:
    """Return the records, and digits held out, from one fixed permutation."""
    data = digits()
    if records > len(data) - _HELD_OUT:
        raise ValueError(f"records must leave {_HELD_OUT} of {len(data)} digits, got {records}")
    order = np.random.default_rng(0).permutation(len(data))
    return data.take(order[:records]), data.take(order[records : records + _HELD_OUT])


def _own_scores(probabilities: FloatArray, data: Examples) -> FloatArray:
    """Return the hinge scores of the data's labels, shape (models, n)."""
    return 1 - probabilities[:, np.arange(len(data)), data.labels]


paper = Paper(title="DP-SKIN", subject=Heading.TRAINING_PIPELINE, standing=Standing.PRACTICE)
DELTA = 1e-5
PIPELINE = PrivatePipeline(
    training=SubsampledGaussian(
        sampling_rate=0.2, steps=60, noise_multiplier=4.0, relation=Relation.SUBSTITUTION
    ),
    calibration=PCOQS(alpha=0.1, rho=0.125, resolution=2.0**-6),
)
_ORDERS = (2, 3, 4, 5, 6, 8, 12, 16, 32)
"""Orders of Rényi divergences that bound ε; the best of them is shown."""


@paper.claim(
    "dpskin.pipeline[budget]",
    "Future work, with P-COQS, Proposition 1",
    Verdict.PROVED,
    "A DP-SGD classifier and a P-COQS threshold on the same people spend no more than the textbook "
    "sum of their budgets.",
    "ε(δ) ≤ ε₁(δ/2) + ρ + 2·√(ρ·log(2/δ))",
    assumptions=f"no layer mixes the images of a batch; {REAL_NOISE}",
    parameters=PIPELINE.parameters | {"delta": DELTA, "relation": str(PIPELINE.training.relation)},
    pipeline=PIPELINE,
    delta=DELTA,
)
def trained_pipeline_budget(pipeline: PrivatePipeline, *, delta: float) -> Computation:
    """Compute ε of DP-SGD and P-COQS on the same people, at ``delta``.

    By composed privacy losses, from above, compared with the training's ε at δ/2 plus
    ρ + 2·sqrt(ρ·log(2/δ)), basic composition's sum. The training alone bounds it from below.
    """
    value, claimed = pipeline.epsilon_at(delta), pipeline.textbook_epsilon(delta)
    parts = (pipeline.training.epsilon_at(delta), pipeline.release.epsilon_at(delta))
    proof = _proof(pipeline, delta, claimed)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": delta},
        detail="of the pipeline",
        value=value,
        claimed=claimed,
        lower=pipeline.training.epsilon_below(delta),
        upper=proof.premises[0].left[1] if proof.holds else None,
        proof=proof,
        witness=pipeline.parameters
        | {"delta": delta, "epsilon_of_training": parts[0], "epsilon_of_thresholds": parts[1]},
        note=(
            f"Composed, ε is {value / claimed:.3g} times the textbook sum. The training alone "
            f"has {parts[0]:.4g}, the thresholds alone {parts[1]:.4g}."
        ),
    )


def _proof(pipeline: PrivatePipeline, delta: float, claimed: float) -> Proof:
    """Return the proof that the accounted sum is enough, by divergences of a whole order."""
    bounds = {order: partial(_composed, pipeline, order, delta) for order in _ORDERS}
    order = min(_ORDERS, key=lambda order: ends(bounds[order])[1])
    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "The pair of a step of the training, and that of the noisy counts, dominate every "
            "pair of neighbours, also where the scores are those of the trained model. Their "
            f"Rényi divergences of the order {order}, of a step bounded by a binomial sum, add up "
            "and bound ε at δ; the sum on the right is the accountant's."
        ),
        premises=(at_most("ε(δ) ≤ ε₁(δ/2) + ρ + 2√(ρ·log(2/δ))", bounds[order], claimed),),
        parameters=pipeline.parameters
        | {"delta": delta, "relation": str(pipeline.training.relation)},
    )


def _composed(pipeline: PrivatePipeline, order: int, delta: float) -> arb:
    training, search = pipeline.training, pipeline.calibration
    substituted = training.relation is Relation.SUBSTITUTION
    step = (substituted_renyi if substituted else sampled_renyi)(
        training.sampling_rate, training.noise_multiplier, order
    )
    counts = search.rounds / (2 * exact(search.noise_scale) ** 2)
    return renyi_epsilon(training.steps * step + ball(order * counts), order, delta)
