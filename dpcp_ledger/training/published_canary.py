"""The worst-case record of the published training: in a batch, or its mirror image in its place.

The other records of its batch are one image with every label in turn, so that their gradients
nearly cancel. Privacy is promised for any records; these show what the training spends.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.audits import MembershipInference
from dpcp_audit.extensions.claims import Neighbours, Relation
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import Examples, digits
from dpcp_ledger.training.pipeline_canary import AsItIs

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dpcp_audit.extensions.claims import FloatArray, PrivacyGuarantee
    from dpcp_ledger.mechanisms.published_settings import PublishedTraining
    from dpcp_ledger.mechanisms.published_training import PublishedGradients, PublishedStep


_PUBLIC = 900
"""Digits from which features are learned without privacy; no private record is among them."""
_PATTERN = 5
_SIDE_BY_SIDE = 128
"""Trainings whose parameters stay in a processor's cache."""


class PublishedView(StrEnum):
    """What the attacker sees."""

    STEPS = "the noisy gradients of all steps"
    LOSS = "the final model's loss"


_ATTACKS = {
    PublishedView.STEPS: "log-likelihood ratio of the noisy gradients",
    PublishedView.LOSS: "loss of the final model on both batches",
}


class HeadFeatures(StrEnum):
    """What the trained head is given."""

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
    batches : int
        Batches of an epoch; the target is in the first.
    reach : float
        How far the target lies from its batch, in each feature.
    """

    settings: PublishedTraining
    view: PublishedView = PublishedView.STEPS
    features: HeadFeatures = HeadFeatures.PIXELS
    batches: int = 1
    reach: float = 1.0

    def __post_init__(self) -> None:
        _validate.integer(batches=self.batches, at_least=1)
        _validate.positive(reach=self.reach)
        _validate.choice(PublishedView, view=self.view)
        _validate.choice(HeadFeatures, features=self.features)

    @property
    def tensors(self) -> int:
        """The number of tensors that are trained."""
        return len(list(self.network().parameters()))

    def network(self) -> nn.Module:
        """Return the head of 28 units, normalised by its batch where examples may mix."""
        from torch import nn  # noqa: PLC0415  (an extra)

        first, last = nn.Linear(64, 28), nn.Linear(28, 10)
        if self.settings.per_example:
            return nn.Sequential(first, nn.ReLU(), last)
        normalised = nn.BatchNorm1d(28, track_running_stats=False)
        return nn.Sequential(first, normalised, nn.ReLU(), last)

    def data(self, *, inside: bool) -> Examples:
        """Return the records, the target or its mirror image first."""
        size, known = self.settings.batch_size, _features(self.features)
        centre = known.inputs.mean(axis=0)
        signs = np.random.default_rng(_PATTERN).choice([-1.0, 1.0], size=centre.size)
        target = centre + (self.reach if inside else -self.reach) * signs
        rest = slice(size * (self.batches - 1))
        return Examples(
            inputs=np.concatenate([[target], np.tile(centre, (size - 1, 1)), known.inputs[rest]]),
            labels=np.concatenate([np.arange(size) % known.n_classes, known.labels[rest]]),
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
        from dpcp_ledger.mechanisms.published_training import (  # noqa: PLC0415  (torch)
            PublishedGradients,
            published_model,
            train_as_published,
        )

        worlds = self.data(inside=False), self.data(inside=True)
        gradients = PublishedGradients(published_model(self.network()), self.settings)
        other = _first_batch(worlds[1 - value], self.settings)
        watch = _Watch(gradients, other, sign=1 if value else -1)
        if self.settings.noise_seed is not None:
            train_as_published(self.network(), worlds[0], self.settings, observer=watch.learn)
        trained = train_as_published(
            self.network(),
            worlds[value],
            self.settings,
            rng=rng,
            replicas=size,
            observer=watch,
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
        attacks=(AsItIs(name=_ATTACKS[game.view]),),
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
