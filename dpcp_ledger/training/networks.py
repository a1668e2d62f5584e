"""Networks that can be trained privately, and the replicas that a training leaves."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import nn
from torch.func import vmap

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_ledger.training.examples import network_inputs
from dpcp_ledger.training.gradients import FlatModel

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from dpcp_audit.extensions.claims import BoolArray, FloatArray
    from dpcp_ledger.training.examples import Examples


_PROBED = 3
_MIXING: tuple[type[nn.Module], ...] = (
    # the parent of all of them
    nn.modules.batchnorm._BatchNorm,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
)


def private_copy(module: nn.Module, data: Examples) -> FlatModel:
    """Return a copy of the network; the caller's own is left alone.

    Raises
    ------
    ValueError
        If the network mixes examples, keeps running statistics, has frozen parameters or none,
        or does not give one logit for each class.
    """
    _validate.instance(nn.Module, module=module)
    for name, part in _parts(module):
        if isinstance(part, _MIXING) or getattr(part, "track_running_stats", False):
            raise ValueError(
                f"module must treat every example on its own, got {type(part).__name__} at "
                f"{name!r}; use GroupNorm in place of batch normalisation"
            )
    parameters = dict(module.named_parameters())
    if not parameters:
        raise ValueError("module must have parameters to train, got none")
    for name, parameter in parameters.items():
        if parameter.dtype != torch.float32 or not parameter.requires_grad:
            raise ValueError(
                f"module must have float32 parameters that are all trained, got {name!r} "
                f"({parameter.dtype}, requires_grad={parameter.requires_grad})"
            )
    own = copy.deepcopy(module)
    with in_mode(own, training=False):
        _probe(own, data)
    return FlatModel(own)


def _parts(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    parts: Iterator[tuple[str, nn.Module]] = cast("Any", module).named_modules()
    return parts


@contextmanager
def in_mode(module: nn.Module, *, training: bool) -> Generator[None]:
    """Hold a network in training or evaluation mode; every layer's own mode comes back."""
    before = {part: part.training for part in module.modules()}
    module.train(training)
    try:
        yield
    finally:
        for part, mode in before.items():
            part.training = mode


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Seed torch's global generator, and give it back as it was."""
    with cast("Any", torch.random).fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:160]


def member_table(members: BoolArray | None, *, replicas: int, n: int) -> BoolArray:
    """Return True for each of n examples in each replica's data, shape (replicas, n)."""
    if members is None:
        _validate.integer(replicas=replicas, at_least=1)
        return np.ones((replicas, n), dtype=np.bool_)
    inside = np.asarray(members)
    if inside.dtype != np.bool_ or inside.ndim != 2 or inside.shape[1] != n or not len(inside):
        raise ValueError(
            f"members must be bool of shape (replicas, {n}), got {inside.dtype} of shape "
            f"{inside.shape}"
        )
    return inside


def first_parameters(model: FlatModel, initial: FloatArray | None, *, replicas: int) -> Tensor:
    """Return the initial parameters of the descent, shape (replicas, d)."""
    if initial is None:
        return model.initial(replicas)
    given = np.asarray(initial, dtype=np.float32)
    return torch.as_tensor(np.broadcast_to(given, (replicas, model.size)).copy())


@torch.no_grad()
def _probe(module: nn.Module, data: Examples) -> None:
    """Refuse a network whose outputs on a batch are not those on its examples one by one."""
    given = torch.tensor(data.inputs[:_PROBED])
    inputs = torch.cat([given, torch.zeros_like(given[:1])])
    try:
        together: Tensor = module(inputs)
        alone = torch.cat([module(one.unsqueeze(0)) for one in inputs])
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"module must take inputs of shape (n, {', '.join(map(str, given.shape[1:]))}), got "
            f"the error: {_first_line(error)}"
        ) from error
    if together.shape != (len(inputs), data.n_classes):
        raise ValueError(
            f"module must return logits of shape (n, {data.n_classes}), got shape "
            f"{tuple(together.shape)} for n = {len(inputs)}"
        )
    close = 1e-3 * float(alone.nan_to_num().abs().max())
    if not torch.allclose(together, alone, rtol=1e-3, atol=close, equal_nan=True):
        raise ValueError(
            "module must treat every example on its own; its logits of a batch are not those of "
            "the examples one by one"
        )


def logistic(n_features: int, n_classes: int) -> nn.Module:
    """Return multinomial logistic regression, from (n, n_features) to logits (n, n_classes)."""
    return nn.Linear(n_features, n_classes)


def head(n_features: int, n_classes: int, *, hidden: int = 28, dropout: float = 0.2) -> nn.Module:
    """Return the thesis's head on given features: ReLU units, dropout, classes.

    DP-SKIN, Chapter 4: 28 units; dropout of 0.4 and 0.2 with SGD, 0.1 with Adam. The softmax
    is part of the loss.
    """
    return nn.Sequential(
        nn.Linear(n_features, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, n_classes),
    )


def small_cnn(channels: int, n_classes: int) -> nn.Module:
    """Return two convolutions and a linear layer, for images of at least 4 × 4 pixels."""
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
        data = torch.tensor(network_inputs(inputs))
        at_once = max(1, _PREDICTED_AT_ONCE // len(self.parameters))
        with in_mode(self.model.module, training=False):
            parts = [of_replicas(self.parameters, part) for part in torch.split(data, at_once)]
        outputs: FloatArray = torch.cat(parts, dim=1).double().numpy()
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
