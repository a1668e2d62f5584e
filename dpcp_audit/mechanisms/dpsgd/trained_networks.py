"""What a training leaves: replicas of one network, asked for logits, losses and accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.func import vmap

from dpcp_audit.mechanisms.dpsgd.examples import network_inputs
from dpcp_audit.mechanisms.dpsgd.preparation import in_mode

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from dpcp_audit._types import FloatArray
    from dpcp_audit.mechanisms.dpsgd.examples import Examples
    from dpcp_audit.mechanisms.dpsgd.gradients import FlatModel

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
