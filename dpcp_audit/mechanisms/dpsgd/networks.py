"""Networks to train privately: no layer mixes examples, so that per-example gradients exist.

What a training leaves: replicas of one network, asked for logits, losses and accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.func import vmap

from dpcp_audit.mechanisms.dpsgd.examples import network_inputs
from dpcp_audit.mechanisms.dpsgd.preparation import in_mode
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from dpcp_audit.mechanisms.dpsgd.examples import Examples
    from dpcp_audit.mechanisms.dpsgd.gradients import FlatModel
    from dpcp_audit.words.arrays import FloatArray


def logistic(n_features: int, n_classes: int) -> nn.Module:
    """Return multinomial logistic regression, from (n, n_features) to logits (n, n_classes)."""
    _validate.integer(n_features=n_features, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    return nn.Linear(n_features, n_classes)


def head(n_features: int, n_classes: int, *, hidden: int = 28, dropout: float = 0.2) -> nn.Module:
    """Return the thesis's head on given features: ReLU units, dropout, classes.

    DP-SKIN, Chapter 4: 28 units; dropout of 0.4 and 0.2 with SGD, 0.1 with Adam. The softmax
    is part of the loss.
    """
    _validate.integer(n_features=n_features, hidden=hidden, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must lie in [0, 1), got {dropout!r}")
    return nn.Sequential(
        nn.Linear(n_features, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, n_classes),
    )


def small_cnn(channels: int, n_classes: int) -> nn.Module:
    """Return two convolutions and a linear layer, for images of at least 4 × 4 pixels."""
    _validate.integer(channels=channels, at_least=1)
    _validate.integer(n_classes=n_classes, at_least=2)
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, n_classes),
    )


_PREDICTED_AT_ONCE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """Trained replicas of one network.

    Parameters
    ----------
    model : FlatModel
    parameters : Tensor, shape (replicas, d)
    """

    model: FlatModel
    parameters: Tensor

    @torch.no_grad()
    def logits(self, inputs: NDArray[np.float32]) -> FloatArray:
        """Return logits of shape (replicas, n, k) for inputs (n, ...), without dropout."""
        of_replicas: Any = vmap(self.model.logits, in_dims=(0, None))
        data = torch.tensor(network_inputs(inputs), device=self.parameters.device)
        at_once = max(1, _PREDICTED_AT_ONCE // len(self.parameters))
        with in_mode(self.model.module, training=False):
            parts = [of_replicas(self.parameters, part) for part in torch.split(data, at_once)]
        outputs: FloatArray = torch.cat(parts, dim=1).cpu().double().numpy()
        return outputs

    def probabilities(self, inputs: NDArray[np.float32]) -> FloatArray:
        """Return class probabilities of shape (replicas, n, k) for inputs (n, ...)."""
        return np.asarray(np.exp(_log_softmax(self.logits(inputs))), dtype=np.float64)

    def losses(self, data: Examples) -> FloatArray:
        """Return the cross-entropy of every example, shape (replicas, n)."""
        log_probabilities = _log_softmax(self.logits(data.inputs))
        return -log_probabilities[:, np.arange(len(data)), data.labels]

    def accuracy(self, data: Examples) -> FloatArray:
        """Return the share of examples whose likeliest class is right, shape (replicas,)."""
        guesses = self.logits(data.inputs).argmax(axis=2)
        return np.asarray((guesses == data.labels).mean(axis=1), dtype=np.float64)


def finished(model: FlatModel, parameters: Tensor) -> Trained:
    """Return the trained replicas, unless a training has left the finite numbers."""
    lost = int((~torch.isfinite(parameters)).any(dim=1).sum())
    if lost:
        raise FloatingPointError(
            f"{lost} of {len(parameters)} replicas diverged: their parameters are not finite; "
            "a smaller learning_rate may help"
        )
    return Trained(model=model, parameters=parameters)


def _log_softmax(logits: FloatArray) -> FloatArray:
    from scipy.special import log_softmax  # noqa: PLC0415  (slow to import)

    return np.asarray(log_softmax(logits, axis=-1), dtype=np.float64)
