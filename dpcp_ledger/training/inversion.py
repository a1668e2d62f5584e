"""Inversion: of a step's update to its input, and of a trained model to what a class looks like.

The gradient of a linear layer is the outer product of what comes back to its outputs, which is
the bias's gradient, and its input: from the update of a batch of one the input follows by a
division. Clipping scales both alike; the noise of DP-SGD does not cancel.

What a class looks like is no secret of any one person, and nothing that DP promises to keep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Figure, FigureKind, Series
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import DPSGD, Poisson
from dpcp_ledger.training.reconstruction import conclude_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.extensions.claims import (
        BoolArray,
        Context,
        FloatArray,
        IntArray,
        Outcome,
        PlainData,
    )
    from dpcp_audit.extensions.mechanisms import Examples
    from dpcp_audit.extensions.training import Step, Trained


def gallery(
    columns: Mapping[str, FloatArray], *, rows: Sequence[str], title: str, description: str
) -> Figure:
    """Return a heat map of images side by side: a cell for each pixel.

    Parameters
    ----------
    columns : mapping
        By name, images of shape (rows, f), square, row by row, all of one size.
    rows : sequence of str
        What the images of each row show.
    """
    shapes = sorted({images.shape for images in columns.values()})
    side = math.isqrt(shapes[0][1])
    if shapes != [(len(rows), side * side)] or not side:
        raise ValueError(f"columns must hold {len(rows)} square images each, got shapes {shapes}")
    labels = [_in_the_middle(name, place, side) for name in columns for place in range(side)]
    places = [float(place) for place in range(len(labels))]
    series = [
        Series(
            name=_in_the_middle(row, line, side),
            x=places,
            y=[float(v) for images in columns.values() for v in _line(images[image], line, side)],
            texts=[" "] * len(labels),
        )
        for image, row in enumerate(rows)
        for line in range(side)
    ]
    return Figure(
        kind=FigureKind.HEATMAP,
        title=title,
        x_label="pixels",
        y_label="",
        series=series,
        columns=labels,
        description=description,
    )


def _line(image: FloatArray, line: int, side: int) -> FloatArray:
    return image[line * side : (line + 1) * side]


def _in_the_middle(name: str, place: int, side: int) -> str:
    return name if place == side // 2 else " "


_NOISES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_SHOWN = 3


class _Inverted(NamedTuple):
    """Inputs and what an attacker makes of them, each of shape (m, f)."""

    inputs: FloatArray
    guesses: FloatArray


def ratio_of_gradients(weights: FloatArray, biases: FloatArray) -> FloatArray:
    """Return the input x that fits ∂W = ∂b·xᵀ best, by least squares.

    Parameters
    ----------
    weights : ndarray, shape (..., u, f)
        Gradients of a linear layer's weights, of a batch of one, scaled and noised or not.
    biases : ndarray, shape (..., u)
        Gradients of its biases, scaled alike.

    Returns
    -------
    ndarray, shape (..., f)
        NaN where all biases' gradients are 0, and nothing comes back to the layer.

    Examples
    --------
    >>> ratio_of_gradients(np.array([[0.5, 1.0], [-1.0, -2.0]]), np.array([0.5, -1.0]))
    array([1., 2.])
    """
    if weights.shape[:-1] != biases.shape:
        raise ValueError(
            f"biases must have shape {weights.shape[:-1]}, as the weights say, "
            f"got shape {biases.shape}"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        inputs = np.einsum("...uf,...u->...f", weights, biases) / (biases**2).sum(-1)[..., None]
    return np.asarray(inputs, dtype=np.float64)


def invert_updates(
    data: Examples, *, noise_multiplier: float, clip_norm: float = 1.0, rng: np.random.Generator
) -> _Inverted:
    """Invert the update of one DP-SGD step on each example alone, by the ratio of gradients.

    A logistic regression with parameters drawn anew for each example, and pixels in [0, 1]:
    what the division gives is cut to that range.

    Parameters
    ----------
    data : Examples
        m examples with features (m, f) in [0, 1].
    noise_multiplier : float
        σ >= 0.
    """
    from dpcp_audit.extensions.training import (  # noqa: PLC0415
        logistic,
        train,
    )

    features = data.inputs.shape[1]
    updates: list[FloatArray] = []

    def watch(step: Step, /) -> None:
        updates.append((step.before - step.after).numpy().astype(np.float64))

    train(
        logistic(features, data.n_classes),
        data,
        DPSGD(
            sampling=Poisson(1.0),
            lot_size=1,
            steps=1,
            noise_multiplier=noise_multiplier,
            clip_norm=clip_norm,
        ),
        rng=rng,
        members=np.eye(len(data), dtype=np.bool_),
        observer=watch,
        device="cpu",
    )
    (update,) = updates
    weights = update[:, : data.n_classes * features].reshape(-1, data.n_classes, features)
    found = ratio_of_gradients(weights, update[:, data.n_classes * features :])
    return _Inverted(data.inputs.astype(np.float64), np.clip(found, 0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UpdateInversion:
    """Test "a step on one example hides it" against the ratio of gradients.

    The attack wins where it comes closer to the example than the data's mean image does, which
    takes no attack. Each trial draws an example, the parameters and the noise; the claim is
    refuted where the attack certainly wins more often than not.

    Parameters
    ----------
    data : Examples
        Features (n, f) in [0, 1], square images row by row.
    noise_multiplier, clip_norm : float
        σ and C of the step.
    examples : int
        Trials at effort 1.
    """

    data: Examples
    noise_multiplier: float
    clip_norm: float = 1.0
    examples: int = 200

    def __post_init__(self) -> None:
        _validate.non_negative(noise_multiplier=self.noise_multiplier)
        _validate.positive(clip_norm=self.clip_norm)
        _validate.integer(examples=self.examples, at_least=1)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Invert, and count how often that beats the mean image."""
        count = context.samples(self.examples)
        found = self._invert(self.noise_multiplier, count, context.rng(0))
        errors, by_mean = self._errors(found)
        wins = errors < by_mean
        levels = [self._typical_error(noise, context.rng(1)) for noise in _NOISES]
        return conclude_share(
            "share of examples to which the inversion comes closer than the mean image",
            wins,
            claimed=0.5,
            significance=context.significance,
            witness={
                "noise_multiplier": self.noise_multiplier,
                "clip_norm": self.clip_norm,
                "examples": count,
                "seed": context.seed,
            },
            note=(
                f"The attack's error (root mean square over pixels) is {errors.mean():.3g}, the "
                f"mean image's {by_mean.mean():.3g}."
            ),
            figures=(self._error_figure(levels, float(by_mean.mean())), self._images(context)),
        )

    def _invert(self, noise: float, count: int, rng: np.random.Generator) -> _Inverted:
        chosen = self.data.take(rng.integers(len(self.data), size=count))
        return invert_updates(chosen, noise_multiplier=noise, clip_norm=self.clip_norm, rng=rng)

    def _errors(self, found: _Inverted) -> tuple[FloatArray, FloatArray]:
        """Return the attack's and the mean image's root mean square errors, shape (m,)."""
        mean = self.data.inputs.mean(axis=0, dtype=np.float64)
        return _rms(found.guesses - found.inputs), _rms(mean - found.inputs)

    def _typical_error(self, noise: float, rng: np.random.Generator) -> float:
        return float(self._errors(self._invert(noise, 100, rng))[0].mean())

    def _error_figure(self, levels: list[float], by_mean: float) -> Figure:
        ends = [_NOISES[0], _NOISES[-1]]
        return Figure(
            kind=FigureKind.LINES,
            title="Inverting one step on one example, against its noise",
            x_label="noise multiplier σ",
            y_label="error per pixel",
            log_x=True,
            series=[
                Series(name="inversion", x=list(_NOISES), y=levels),
                Series(name="mean image", x=ends, y=[by_mean, by_mean]),
            ],
            description=(
                "Root mean square error of the image that follows from the update, over the "
                "noise multiplier; the mean image takes no attack."
            ),
        )

    def _images(self, context: Context) -> Figure:
        few = self.data.take(context.rng(2).integers(len(self.data), size=_SHOWN))
        columns = {"example": few.inputs.astype(np.float64)}
        for noise in (0.0, self.noise_multiplier or 1.0):
            found = invert_updates(
                few, noise_multiplier=noise, clip_norm=self.clip_norm, rng=context.rng(3)
            )
            columns[f"σ = {noise:g}"] = found.guesses
        return gallery(
            columns,
            rows=[f"a {label}" for label in few.labels],
            title="What one step's update shows of its example",
            description="Examples, and their inversions without and with noise.",
        )


def _rms(differences: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((differences**2).mean(axis=1)), dtype=np.float64)


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

    from dpcp_audit.extensions.training import in_mode  # noqa: PLC0415  (needs torch)

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
        from dpcp_audit.extensions.training import (  # noqa: PLC0415
            logistic,
            train,
        )

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
        return {
            "sampling_rate": self.training.sampling.rate,
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
