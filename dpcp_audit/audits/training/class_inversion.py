"""Model inversion: what a class looks like, from a trained model.

What a class looks like is no secret of any one person, and nothing that DP promises to keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.training.image_figures import gallery
from dpcp_audit.audits.training.success_rate import conclude_share
from dpcp_audit.mechanisms.dpsgd.training_settings import DPSGD, Poisson

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.checks import Context
    from dpcp_audit.figures import Figure
    from dpcp_audit.mechanisms.dpsgd.examples import Examples
    from dpcp_audit.mechanisms.dpsgd.training import Trained
    from dpcp_audit.results import Outcome, PlainData

_SHOWN = 3


def class_images(
    trained: Trained, *, n_features: int, n_classes: int, steps: int = 60, penalty: float = 0.02
) -> FloatArray:
    """Return the input that each replica takes for each class most, shape (replicas, k, f).

    Ascent of log p_y(x) − penalty·‖x‖²/2 within [0, 1]^f, from the mid-grey image (Fredrikson,
    Jha and Ristenpart 2015, Algorithm 1, with their cost's logarithm).
    """
    import torch  # noqa: PLC0415  (an extra)
    from torch.func import vmap  # noqa: PLC0415
    from torch.nn.functional import cross_entropy  # noqa: PLC0415

    from dpcp_audit.mechanisms.dpsgd.preparation import in_mode  # noqa: PLC0415  (needs torch)

    _validate.integer(steps=steps, at_least=1)
    place = trained.parameters.device
    images = torch.full((len(trained.parameters), n_classes, n_features), 0.5, device=place)
    labels = torch.arange(n_classes, device=place).repeat(len(trained.parameters))
    logits = vmap(trained.model.logits)
    with in_mode(trained.model.module, training=False):
        for _ in range(steps):
            images.requires_grad_()
            outputs = logits(trained.parameters, images).flatten(0, 1)
            cost = cross_entropy(outputs, labels, reduction="sum")
            (back,) = torch.autograd.grad(cost + penalty * images.square().sum() / 2, images)
            images = (images.detach() - 0.5 * back).clamp(0.0, 1.0)
    return images.cpu().numpy().astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassInversion:
    """Test "the trained model hides what a class looks like" against model inversion.

    Of every training one class, drawn at random, is inverted; the attack wins where the image
    correlates most with the mean image of that class, all taken less the mean of the classes.
    The claim is refuted where it certainly wins more often than a guess, 1/k.

    Parameters
    ----------
    data : Examples
        Features (n, f) in [0, 1], square images row by row.
    training : DPSGD
        Of a logistic regression.
    trainings : int
        At effort 1.
    """

    data: Examples
    training: DPSGD
    trainings: int = 50

    def __post_init__(self) -> None:
        _validate.integer(trainings=self.trainings, at_least=1)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Train, invert, and count the classes that are recognised."""
        count = max(25, round(self.trainings * context.effort))
        images = self._invert(self.training, count, context.rng(0))
        told = recognised(images, self._means())
        wins = told[np.arange(count), context.rng(1).integers(self.data.n_classes, size=count)]
        return conclude_share(
            "share of inverted images that resemble their class's mean most",
            wins,
            claimed=1 / self.data.n_classes,
            significance=context.significance,
            witness=self._witness() | {"trainings": count, "seed": context.seed},
            note=f"Over all classes {told.mean():.4g} of the images are recognised.",
            figures=(self._images(images[0], context),),
        )

    def _invert(self, training: DPSGD, count: int, rng: np.random.Generator) -> FloatArray:
        from dpcp_audit.mechanisms.dpsgd.networks import logistic  # noqa: PLC0415  (needs torch)
        from dpcp_audit.mechanisms.dpsgd.training import train  # noqa: PLC0415

        features, classes = self.data.inputs.shape[1], self.data.n_classes
        trained = train(logistic(features, classes), self.data, training, rng=rng, replicas=count)
        return class_images(trained, n_features=features, n_classes=classes)

    def _means(self) -> FloatArray:
        inputs, labels = self.data.inputs.astype(np.float64), self.data.labels
        return np.stack([inputs[labels == c].mean(axis=0) for c in range(self.data.n_classes)])

    def _images(self, inverted: FloatArray, context: Context) -> Figure:
        plain = replace(self.training, noise_multiplier=0.0)
        columns = {
            "class mean": self._means()[:_SHOWN],
            "σ = 0": self._invert(plain, 1, context.rng(2))[0, :_SHOWN],
            f"σ = {self.training.noise_multiplier:.3g}": inverted[:_SHOWN],
        }
        return gallery(
            columns,
            rows=[f"class {c}" for c in range(_SHOWN)],
            title="What a trained model shows of its classes",
            description="Mean images, and inversions of models trained without and with noise.",
        )

    def _witness(self) -> PlainData:
        rate = self.training.sampling
        return {
            "sampling_rate": rate.rate if isinstance(rate, Poisson) else 1.0,
            "steps": self.training.steps,
            "noise_multiplier": self.training.noise_multiplier,
            "clip_norm": self.training.clip_norm,
        }


def recognised(images: FloatArray, means: FloatArray) -> BoolArray:
    """Tell which image correlates most with its own class's mean.

    Parameters
    ----------
    images : ndarray, shape (..., k, f)
    means : ndarray, shape (k, f)

    Returns
    -------
    ndarray of bool, shape (..., k)
    """
    seen, true = (_standardised(part) for part in (images, means))
    best: IntArray = (seen @ true.T).argmax(axis=-1)
    told: BoolArray = best == np.arange(len(means))
    return told


def _standardised(images: FloatArray) -> FloatArray:
    """Return images less the classes' mean, of mean 0 and norm 1 over the pixels."""
    centred = images - images.mean(axis=-2, keepdims=True)
    centred -= centred.mean(axis=-1, keepdims=True)
    norms = np.linalg.norm(centred, axis=-1, keepdims=True)
    return np.asarray(centred / np.maximum(norms, 1e-12), dtype=np.float64)
