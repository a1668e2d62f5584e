"""Inversion of one step's update: which input it came from.

The gradient of a linear layer is the outer product of what comes back to its outputs, which is
the bias's gradient, and its input: from the update of a batch of one the input follows by a
division. Clipping scales both alike; the noise of DP-SGD does not cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.training.image_figures import gallery
from dpcp_audit.audits.training.success_rate import conclude_share
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.mechanisms.dpsgd.training_settings import DPSGD, Poisson

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.checks import Context
    from dpcp_audit.mechanisms.dpsgd.examples import Examples
    from dpcp_audit.mechanisms.dpsgd.training import Step
    from dpcp_audit.results import Outcome

_NOISES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_SHOWN = 3


class Inverted(NamedTuple):
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
) -> Inverted:
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
    from dpcp_audit.mechanisms.dpsgd.networks import logistic  # noqa: PLC0415  (needs torch)
    from dpcp_audit.mechanisms.dpsgd.training import train  # noqa: PLC0415

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
    return Inverted(data.inputs.astype(np.float64), np.clip(found, 0.0, 1.0))


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

    def _invert(self, noise: float, count: int, rng: np.random.Generator) -> Inverted:
        chosen = self.data.take(rng.integers(len(self.data), size=count))
        return invert_updates(chosen, noise_multiplier=noise, clip_norm=self.clip_norm, rng=rng)

    def _errors(self, found: Inverted) -> tuple[FloatArray, FloatArray]:
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
