"""A public training script of the thesis's setting, as it is, beside its correction.

The script (ISIC 2018 Task 3, ResNet-18 with 28 units, DP-Adam, σ = 8.1, batches of 20, clipping at
1) is no DP-Adam. It clips the gradient of a batch's *mean*, tensor by tensor, adds noise of that
scale to the mean without dividing it by the batch, takes fixed slices of the file, normalises by
batch statistics, seeds its noise with 42, and hands DP-Adam's direction to Adam once more.

Canaries are in a batch, or in the training and the calibration alike. The other records of the
batch are one image with every label in turn, so that their gradients nearly cancel. Privacy is
promised for any records; these show what the training spends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr

from dpcp_audit.extensions.audits import MembershipInference
from dpcp_audit.extensions.claims import (
    ApproxDP,
    Computed,
    GaussianDP,
    Neighbours,
    Relation,
    Row,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_ledger.dpskin.proof_steps import clipped_mean_budget
from dpcp_ledger.mechanisms.releases import BisectionBits
from dpcp_ledger.paper import Heading
from dpcp_ledger.training.canary_games import CanaryStatistic, Watcher
from dpcp_ledger.training.examples import Examples, digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from dpcp_audit.extensions.claims import FloatArray, PrivacyGuarantee
    from dpcp_audit.extensions.mechanisms import PCOQS
    from dpcp_ledger.mechanisms.thesis_training import PublishedGradients, PublishedStep
    from dpcp_ledger.training.examples import DPSGD
    from dpcp_ledger.training.training_pipeline import PrivatePipeline


PUBLISHED_SEED = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTraining:
    """DP-Adam as published: ``as_published``, the defaults; each departure can be put right.

    Parameters
    ----------
    batch_size, epochs : int
        Examples of a batch, a slice of the file; passes over it.
    noise_multiplier, clip_norm : float
        σ and C: the noise has standard deviation σ·C.
    learning_rate : float
        η > 0 of the outer Adam, PyTorch's default.
    noise_seed : int or None
        Seeds the noise of every training alike; None draws it afresh.
    per_example : bool
        Clips every example's whole gradient, and divides sum and noise by the batch (Algorithm 2),
        in place of clipping the mean, tensor by tensor.
    """

    batch_size: int = 20
    epochs: int = 40
    noise_multiplier: float = 8.1
    clip_norm: float = 1.0
    learning_rate: float = 1e-3
    noise_seed: int | None = PUBLISHED_SEED
    per_example: bool = False

    def guarantee(self, tensors: int) -> GaussianDP:
        """Return the guarantee of the training if one record is replaced by another.

        A record is in one batch an epoch, and there it moves each of ``tensors`` clipped means by
        2C at most, for noise σC: Gaussian releases of μ = 2/σ, which compose to
        μ = 2√(tensors·epochs)/σ. Where every example is clipped, the whole is one such release.

        Raises
        ------
        ValueError
            If the noise has a fixed seed: nothing is promised then.

        Examples
        --------
        >>> training = PublishedTraining(noise_seed=None)
        >>> round(training.guarantee(1).epsilon_at(1e-5), 2)
        7.4
        """
        if self.noise_seed is not None:
            raise ValueError(f"noise_seed must be None for any privacy, got {self.noise_seed}")
        releases = self.epochs * (1 if self.per_example else tensors)
        return GaussianDP(2 * math.sqrt(releases) / self.noise_multiplier)


as_published = PublishedTraining()
"""The training as its script runs it."""


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """The release is a score already; ``name`` says which."""

    name: str = "log-likelihood ratio of the steps and of the search's bits"

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:  # noqa: ARG002
        """Return the identity."""
        return lambda releases: releases


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCanary:
    """Plays a pipeline with the target in or out, and returns the log-likelihood ratio of both.

    In, the target's gradient has the clipping norm, on a weight that no other example moves,
    and its score lies at the lower bound; out, it has no gradient, and its score lies at the
    upper bound. The other scores are those of ``worst_pair``. The attacker watches every step
    of the training and sees the threshold. Logistic regression on digits; each weight of a
    pixel that is always dark is a game of its own, independent of the others.

    Parameters
    ----------
    settings : DPSGD
        The training; SGD under Poisson sampling, as the attacker takes it to be.
    calibrator : PCOQS
    examples : int
        Digits beside the target.
    scores : int
        Calibration scores, the target's among them.
    """

    settings: DPSGD
    calibrator: PCOQS
    examples: int = 60
    scores: int = 60

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return the attacker's log-likelihood ratio of ``size`` games, shape (size,).

        ``value`` is 1 where the target is in, and 0 where it is out.
        """
        return self._of_training(bool(value), size, rng) + self._of_threshold(value, size, rng)

    def _of_training(self, inside: bool, size: int, rng: np.random.Generator) -> FloatArray:  # noqa: FBT001
        from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415
        from dpcp_ledger.training.examples import GradientCanaries  # noqa: PLC0415
        from dpcp_ledger.training.networks import logistic  # noqa: PLC0415

        data = digits().take(np.arange(self.examples))
        features, dark = data.inputs.shape[1], np.flatnonzero(~data.inputs.any(axis=0))
        weights = (np.arange(data.n_classes)[:, None] * features + dark).ravel()
        members = np.full((-(-size // weights.size), weights.size), inside)
        watch = Watcher(
            attack=CanaryStatistic.LIKELIHOOD, settings=self.settings, coordinates=weights
        )
        train(
            logistic(features, data.n_classes),
            data,
            self.settings,
            rng=rng,
            replicas=len(members),
            canaries=GradientCanaries(
                coordinates=weights, members=members, norm=self.settings.clip_norm
            ),
            observer=watch,
        )
        return watch.scores.ravel()[:size]

    def _of_threshold(self, value: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Score the search's bits: of probability 1/2 with the target, Φ(1/σ) without."""
        mechanism = self.calibrator
        inputs = mechanism.worst_pair(self.scores)
        thresholds = mechanism.sample(inputs[0 if value else 1], size, rng=rng)
        search = BisectionBits(
            bounds=mechanism.bounds, rounds=mechanism.rounds, resolution=mechanism.resolution
        )
        shift = 1 / mechanism.noise_scale
        ones = search.ones(thresholds)
        one, zero = (-math.log(2) - float(log_ndtr(sign * shift)) for sign in (1, -1))
        return ones * one + (mechanism.rounds - ones) * zero


def pipeline_canary(
    game: PipelineCanary, guarantee: PrivatePipeline, *, n_samples: int = 60_000
) -> MembershipInference:
    """Test a pipeline's guarantee against an attacker who sees its worst-case target's part."""
    return MembershipInference(
        sample=game,
        guarantee=guarantee,
        neighbours=Neighbours(relation=guarantee.training.relation, value=1, neighbour=0),
        attacks=(_AsItIs(),),
        n_samples=n_samples,
        witness={
            "settings": repr(game.settings),
            "calibrator": repr(game.calibrator),
            "examples": game.examples,
            "scores": game.scores,
        },
    )


_PUBLIC = 900
"""Digits from which features are learned without privacy; no private record is among them."""
_PATTERN = 5
_SIDE_BY_SIDE = 128
"""Trainings whose parameters stay in a processor's cache."""


class PublishedView(StrEnum):
    """The attacker's view."""

    STEPS = "the noisy gradients of all steps"
    LOSS = "the final model's loss"


_ATTACKS = {
    PublishedView.STEPS: "log-likelihood ratio of the noisy gradients",
    PublishedView.LOSS: "loss of the final model on both batches",
}


class HeadFeatures(StrEnum):
    """The features that the trained head is given."""

    PIXELS = "pixels"
    """A stand-in for what a frozen network gives, normalised by batch statistics."""
    LEARNED = "learned"
    """A layer of ReLU units fitted to other digits: a stand-in for a pretrained network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCanary:
    """Plays a training with the target or its mirror image, and returns the attacker's score.

    Of the steps it is the log-likelihood ratio itself: the attacker knows every other record, and
    so both gradients that the noise may have been added to. Where the noise's seed is fixed, its
    noise is taken away first, and the squared distances from both are compared.

    Parameters
    ----------
    settings : PublishedTraining
    view : PublishedView
    features : HeadFeatures
    reach : float
        Distance of the target from its batch, in each feature.
    """

    settings: PublishedTraining
    view: PublishedView = PublishedView.STEPS
    features: HeadFeatures = HeadFeatures.PIXELS
    reach: float = 1.0

    def network(self) -> nn.Module:
        """Return the head of 28 units, normalised by its batch where examples may mix."""
        from torch import nn  # noqa: PLC0415  (an extra)

        first, last = nn.Linear(64, 28), nn.Linear(28, 10)
        if self.settings.per_example:
            return nn.Sequential(first, nn.ReLU(), last)
        normalised = nn.BatchNorm1d(28, track_running_stats=False)
        return nn.Sequential(first, normalised, nn.ReLU(), last)

    def data(self, *, inside: bool) -> Examples:
        """Return the records of the one batch, the target or its mirror image first."""
        size, known = self.settings.batch_size, _features(self.features)
        centre = known.inputs.mean(axis=0)
        signs = np.random.default_rng(_PATTERN).choice([-1.0, 1.0], size=centre.size)
        target = centre + (self.reach if inside else -self.reach) * signs
        return Examples(
            inputs=np.concatenate([[target], np.tile(centre, (size - 1, 1))]),
            labels=np.arange(size) % known.n_classes,
            n_classes=known.n_classes,
        )

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return the scores of ``size`` games with the target (``value`` 1) or without (0)."""
        if self.settings.noise_seed is not None:  # one run is all of them
            return np.repeat(_replayed(self, value), size)
        parts = (min(_SIDE_BY_SIDE, size - start) for start in range(0, size, _SIDE_BY_SIDE))
        return np.concatenate([self._played(value, part, rng) for part in parts])

    def _played(self, value: int, size: int, rng: np.random.Generator | None) -> FloatArray:
        """Return the scores of a few games, trained side by side."""
        from dpcp_ledger.mechanisms.thesis_training import (  # noqa: PLC0415  (torch)
            PublishedGradients,
            train_as_published,
        )
        from dpcp_ledger.training.networks import copied  # noqa: PLC0415  (torch)

        worlds = self.data(inside=False), self.data(inside=True)
        gradients = PublishedGradients(copied(self.network()), self.settings)
        other = _first_batch(worlds[1 - value], self.settings)
        watch = _Watch(gradients, other, sign=1 if value else -1)
        if self.settings.noise_seed is not None:
            train_as_published(self.network(), worlds[0], self.settings, observer=watch.learn)
        trained = train_as_published(
            self.network(), worlds[value], self.settings, rng=rng, replicas=size, observer=watch
        )
        if self.view is PublishedView.STEPS:
            return watch.total
        heads = [world.take(np.arange(self.settings.batch_size)) for world in worlds]
        outside, inside = (trained.losses(head).mean(axis=1) for head in heads)
        return np.asarray(outside - inside)


@cache
def _replayed(game: PublishedCanary, value: int) -> FloatArray:
    """Return the score of the only game that a fixed seed allows."""
    return game._played(value, 1, None)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


class _Watch:
    """Adds up the log-likelihood ratios of the steps on the target's batch.

    Parameters
    ----------
    gradients : PublishedGradients
    other : tuple of Tensor
        The target's batch as it is in the world that is not trained.
    sign : int
        1 where the target is in the world that is trained, else −1.
    """

    def __init__(
        self, gradients: PublishedGradients, other: tuple[Tensor, Tensor], *, sign: int
    ) -> None:
        self._gradients, self._other, self._sign = gradients, other, sign
        self._noise: list[Tensor] = []
        self._steps = 0
        self.total: FloatArray = np.zeros(())

    def learn(self, step: PublishedStep, /) -> None:
        """Keep the noise of a training without the target."""
        if step.batch == 0:
            self._noise.append(step.noisy - step.clean)

    def __call__(self, step: PublishedStep, /) -> None:
        """Compare a step with both gradients that it may be of."""
        import torch  # noqa: PLC0415  (an extra)

        if step.batch:
            return
        scale = 1.0 if self._noise else self._gradients.noise_scale(len(self._other[1]))
        seen = step.noisy - self._noise[self._steps] if self._noise else step.noisy
        other = self._gradients.clipped(step.before, *self._other)
        apart, both = step.clean - other, (seen - step.clean) + (seen - other)
        gain = (apart * both).sum(1, dtype=torch.float64)  # ‖seen − other‖² − ‖seen − clean‖²
        self.total = self.total + self._sign * (gain / (2 * scale**2)).numpy()
        self._steps += 1


def published_canary(
    game: PublishedCanary, guarantee: PrivacyGuarantee, *, n_samples: int
) -> MembershipInference:
    """Test a guarantee of the published training against an attacker of its worst-case record."""
    return MembershipInference(
        sample=game,
        guarantee=guarantee,
        neighbours=Neighbours(relation=Relation.SUBSTITUTION, value=1, neighbour=0),
        attacks=(_AsItIs(name=_ATTACKS[game.view]),),
        n_samples=n_samples,
        witness={"game": repr(game)},
    )


def _first_batch(data: Examples, settings: PublishedTraining) -> tuple[Tensor, Tensor]:
    import torch  # noqa: PLC0415  (an extra)

    at = slice(settings.batch_size)
    return torch.tensor(data.inputs[at]), torch.tensor(data.labels[at])


@cache
def _features(kind: HeadFeatures) -> Examples:
    """Return private digits as the head is given them."""
    every = digits()
    private = every.take(np.arange(_PUBLIC, len(every)))
    if kind is HeadFeatures.PIXELS:
        return private
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415  (slow to import)

    public = every.take(np.arange(_PUBLIC))
    fitted: Any = MLPClassifier((64,), tol=1e-2, n_iter_no_change=5, random_state=0)
    fitted.fit(public.inputs, public.labels)
    weights: FloatArray = fitted.coefs_[0]
    shift: FloatArray = fitted.intercepts_[0]
    return Examples(
        inputs=np.maximum(0, private.inputs @ weights + shift),
        labels=private.labels,
        n_classes=private.n_classes,
    )


_claim = claims_of("DP-SKIN", subject=Heading.TRAINED_MODELS, standing=Standing.PRACTICE)
_SECTION = "Chapter 4, by a public training script"
_TENSORS = 66
"""The number of parameter tensors of ResNet-18 with its head."""
_DELTA = 1e-5
_PRINTED = ApproxDP(0.59812, _DELTA)
_FRESH = replace(as_published, noise_seed=None)
_RIGHT = replace(_FRESH, per_example=True)
_SAYS = "The public script's training, on stand-ins for the images' features,"


def rows() -> list[Row]:
    """Return the rows; those that train run with PyTorch."""
    printed = f"has the ε that Chapter 4 prints for σ = {as_published.noise_multiplier:g}"
    right = _RIGHT.guarantee(1)
    return [
        _budget(),
        _row(
            "seed=fixed,sees=steps",
            Verdict.REFUTED,
            f"{_SAYS} {printed}; its noise is seeded with 42 in every run, and the attacker "
            "replays it.",
            PublishedCanary(settings=as_published),
            _PRINTED,
            n_samples=400,
        ),
        _row(
            "seed=fixed,sees=loss",
            Verdict.REFUTED,
            f"{_SAYS} {printed}, by membership inference on the final model alone; its noise is "
            "seeded with 42 in every run.",
            PublishedCanary(settings=as_published, view=PublishedView.LOSS),
            _PRINTED,
            n_samples=400,
        ),
        _row(
            "seed=fresh,sees=steps",
            Verdict.REFUTED,
            f"{_SAYS} {printed}, also with fresh noise in every run.",
            PublishedCanary(settings=_FRESH),
            _PRINTED,
            n_samples=400,
        ),
        _row(
            "seed=fresh,clipping=examples,sees=steps",
            Verdict.CONSISTENT,
            "Algorithm 2's clipping and noise in the same batches, with Adam twice, on features "
            "learned from other images (a stand-in for a pretrained network), spends what its "
            f"composition says: ε = {right.epsilon_at(_DELTA):.3g} at δ = {_DELTA:g}.",
            PublishedCanary(settings=_RIGHT, features=HeadFeatures.LEARNED, reach=20.0),
            right,
            n_samples=500,
        ),
    ]


def _budget() -> Row:
    training = as_published
    return Row(
        claim=_claim(
            "dpskin.as-published[budget]",
            _SECTION,
            Verdict.REFUTED,
            "The public script's training, with fresh noise, has the ε that Chapter 4 prints for "
            f"σ = {training.noise_multiplier:g}, by composition over tensors and steps.",
            "ε = √(2·log(1.25/δ))/σ",
            parameters=_fixed(training) | {"tensors": _TENSORS, "delta": _DELTA},
        ),
        check=Computed(
            partial(
                clipped_mean_budget,
                (training.epochs,),
                noise=training.noise_multiplier,
                tensors=_TENSORS,
                delta=_DELTA,
                claimed=_PRINTED.epsilon,
            )
        ),
    )


def _row(
    variant: str,
    expected: Verdict,
    statement: str,
    game: PublishedCanary,
    guarantee: PrivacyGuarantee,
    *,
    n_samples: int,
) -> Row:
    named = dict(part.split("=") for part in variant.split(","))
    promised = guarantee.parameters if expected is Verdict.REFUTED else {"delta": _DELTA}
    return Row(
        claim=_claim(
            f"dpskin.as-published[{variant}]",
            _SECTION,
            expected,
            statement,
            "TPR − e^ε·FPR ≤ δ(ε) for every ε",
            standing=Standing.CONTROL if expected is Verdict.CONSISTENT else None,
            parameters=_fixed(game.settings) | promised | named,
        ),
        check=published_canary(game, guarantee, n_samples=n_samples),
    )


def _fixed(training: PublishedTraining) -> dict[str, float]:
    return {
        "batch_size": training.batch_size,
        "epochs": training.epochs,
        "noise_multiplier": training.noise_multiplier,
    }
