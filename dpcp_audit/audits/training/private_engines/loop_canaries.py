# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
"""Canaries in a user's own training loop: odd records that are in or out by fair coins.

Features in random directions, longer than the data's, or where these are no real numbers the
records themselves, with a wrong label. The attacker sees the noisy gradient of every step, takes
from it what is to be expected, and scores a canary by the likelihood of its inner
products with that of the canary alone, clipped, at the same parameters (Nasr et al. 2023).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from dpcp_audit.audits.training.canaries.canary_games import GameResults

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.audits.training.private_engines.engine_training import EngineTraining

_PART, _KNOWN = 8, 256
_LEAST, _MOST = 1e-6, 600.0
_LONGER = 10.0
"""Than the data's own features: their gradients are clipped, and stand out by their direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserLoopGame:
    """A game of the user's training: records (features, label), the labels integers.

    Parameters
    ----------
    training : EngineTraining
        From the parameters that its model has.
    canaries : int
        m: they take the places of so many of the last records, and enter by coins.
    """

    training: EngineTraining
    canaries: int

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Train from the start, run after run."""
        played = [self._run(rng) for _ in range(runs)]
        scores, members = (np.array(part) for part in zip(*played, strict=True))
        return GameResults(scores, members)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play without the optimizer's noise, an eighth of the runs."""
        with self.training.untouched():
            self.training.optimizer.noise_multiplier = 0.0
            return self.play(-(-runs // _PART), rng=rng)

    def _run(self, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        coins = rng.random(self.canaries) < 0.5
        data = self.training.loader.dataset
        plain = [data[i] for i in range(len(data) - self.canaries)]
        last = [data[i] for i in range(len(data) - self.canaries, len(data))]
        classes = 1 + max(int(item[1]) for item in (*plain, *last))
        odd = [_odd(item, classes, rng) for item in last]
        inside = [item for item, coin in zip(odd, coins, strict=True) if coin]
        scores = np.zeros(self.canaries)
        alone = _Alone(self.training, odd, plain[:_KNOWN])

        rate = 1 / max(1, len(self.training.loader))

        def see(noisy: list[Any]) -> None:
            moved, sizes = alone.along(noisy)
            scores[:] += _likelihood(moved, sizes, rate=rate)

        with self.training.untouched(seed=int(rng.integers(2**62))):
            loader = self.training.loader_of([*plain, *inside])
            with self.training.watched(see, steps=True):
                for _ in range(self.training.epochs):
                    self.training.run(loader)
        return scores, coins


def _odd(item: Any, classes: int, rng: np.random.Generator) -> Any:
    """Return a record that looks like no other, with the label after its own."""
    features, label = torch.as_tensor(item[0]), (torch.as_tensor(item[1]) + 1) % classes
    if not features.is_floating_point():
        return features, label
    direction = torch.as_tensor(rng.normal(size=tuple(features.shape))).to(features)
    return direction / direction.norm() * features.norm() * _LONGER, label


def _likelihood(moved: FloatArray, sizes: FloatArray, *, rate: float) -> FloatArray:
    """Return log-likelihood ratios of a step: in the lot at its rate, against out of it.

    Most canaries are out of a lot: their spread is that of the noise and of all others.
    """
    away = moved - np.median(moved)
    spread = max(_LEAST, 1.4826 * float(np.median(np.abs(away))))
    gain = np.minimum(sizes * (away - sizes / 2) / spread**2, _MOST)
    return np.asarray(np.log1p(rate * np.expm1(gain)))


class _Alone:
    """The clipped gradients of single records, at the parameters of the moment."""

    def __init__(self, training: EngineTraining, canaries: list[Any], plain: list[Any]) -> None:
        wrapped = copy.deepcopy(training.model)
        wrapped.remove_hooks()
        self._model = wrapped._module.eval()  # noqa: SLF001  (the user's own module)
        self._live = training.model._module  # noqa: SLF001
        self._lot = training.optimizer.expected_batch_size
        self._clip, self._count, self._size = training.clip_norm, len(canaries), training.size
        self._inputs, self._labels = (
            torch.stack([torch.as_tensor(item[part]) for item in (*canaries, *plain)]).to(
                training.place
            )
            for part in (0, 1)
        )

    def along(self, noisy: list[Any]) -> tuple[FloatArray, FloatArray]:
        """Return how far a step went in each canary's direction, and how far it alone would go."""
        own = self._clipped()
        canaries, plain = own[: self._count], own[self._count :]
        step = torch.cat([each.detach().reshape(-1) for each in noisy])
        others = self._size - self._count
        expected = (plain.mean(dim=0) * others + canaries.sum(dim=0) / 2) / self._size
        sizes = canaries.norm(dim=1)
        moved = canaries @ (step - expected) * self._lot / torch.clamp(sizes, min=1e-12)
        return _plain(moved), _plain(sizes)

    def _clipped(self) -> Any:
        """Return the gradients of all records, shape (records, d)."""
        live = {
            name: each.detach()
            for name, each in self._live.named_parameters()
            if each.requires_grad
        }

        def loss(parameters: Any, features: Any, label: Any) -> Any:
            answer = functional_call(self._model, parameters, (features[None],))
            return cross_entropy(answer, label[None])

        own = vmap(grad(loss), in_dims=(None, 0, 0))(live, self._inputs, self._labels)
        flat = torch.cat([each.reshape(len(self._labels), -1) for each in own.values()], dim=1)
        return flat * torch.clamp(self._clip / (flat.norm(dim=1, keepdim=True) + 1e-12), max=1.0)


def _plain(values: Any) -> FloatArray:
    return np.asarray(values.cpu().numpy(), dtype=np.float64)
