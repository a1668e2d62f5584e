"""Opacus as a target: the same training, done by Opacus's gradients, clipping, noise and sampler.

What Opacus does otherwise than Algorithms 1 and 2 is left as it is:

- It divides the noisy sum by an expected batch size. ``PrivacyEngine.make_private`` sets it to
  the whole part of q·N with the true N, which add/remove neighbours do not share (issues 571 and
  819 of pytorch/opacus); here it is the lot size L, a public constant, unless the settings have
  the flaw ``DIVIDES_BY_SIZE``, which is Opacus's own rule.
- Its factor is min(1, C/(‖g‖ + 1e-6)) in place of 1/max(1, ‖g‖/C).
- Clipping by layers clips every parameter tensor on its own, a weight apart from its bias, each
  to C/√P with P tensors.
"""

from __future__ import annotations

import copy
import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dpcp_audit.words import validate as _validate
from dpcp_ledger.training.dpsgd import Step
from dpcp_ledger.training.examples import DPSGD, Adam, Clipping, Flaw, Poisson
from dpcp_ledger.training.networks import (
    Trained,
    finished,
    first_parameters,
    member_table,
    private_copy,
    seeded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray
    from dpcp_ledger.training.dpsgd import Observer
    from dpcp_ledger.training.examples import Examples


def opacus_train(
    module: nn.Module,
    data: Examples,
    settings: DPSGD,
    *,
    rng: np.random.Generator | int | None = None,
    replicas: int = 1,
    members: BoolArray | None = None,
    initial: FloatArray | None = None,
    observer: Observer | None = None,
) -> Trained:
    """Train replicas of a network with Opacus, one after the other in every step.

    Parameters and errors are those of ``training.train``, whose initial parameters it
    draws from the same ``rng``; lots come from Opacus's own sampler.
    """
    generator = _validate.generator(rng)
    inside = member_table(members, replicas=replicas, n=len(data))
    seeds = [int(s) for s in generator.integers(2**62, size=3)]
    with seeded(seeds[0]):
        model = private_copy(module, data)
        start = first_parameters(model, initial, replicas=len(inside))
        noise = torch.Generator().manual_seed(seeds[2])
        sizes = inside.sum(axis=1).tolist()
        parts = [
            _replica(model.module, flat, settings, size=size, noise=noise)
            for flat, size in zip(start, sizes, strict=True)
        ]
        flat = start
        for index, lot in enumerate(_lots(data, inside, settings, seeds[1])):
            for part, own in zip(parts, lot, strict=True):
                part.step(own)
            after = torch.stack([part.flat() for part in parts])
            if observer is not None:
                observer(Step(index=index, before=flat, after=after))
            flat = after
    return finished(model, flat)


@dataclass(frozen=True, slots=True, eq=False)
class _Replica:
    """One network in Opacus's hands."""

    wrapped: Any
    optimiser: Any

    def step(self, lot: tuple[Tensor, Tensor]) -> None:
        """Take one private step on a lot of inputs and labels, which may be empty."""
        inputs, labels = lot
        self.optimiser.zero_grad()
        # inputs that want gradients: torch warns of hooks that fire without any
        logits = self.wrapped(inputs.requires_grad_())
        torch.autograd.backward(cross_entropy(logits, labels))
        self.optimiser.step()

    def flat(self) -> Tensor:
        """Return a copy of the parameters, shape (d,)."""
        return torch.cat([p.detach().reshape(-1) for p in self.wrapped.parameters()])


def _replica(
    module: nn.Module, flat: Tensor, settings: DPSGD, *, size: int, noise: torch.Generator
) -> _Replica:
    opacus = _opacus()
    own = copy.deepcopy(module).train()
    torch.nn.utils.vector_to_parameters(flat.clone(), own.parameters())
    wrapped = opacus.GradSampleModule(own)
    per_layer = settings.clipping is Clipping.PER_LAYER
    tensors = len(list(own.parameters()))
    kind = opacus.optimizers.get_optimizer_class(
        clipping="per_layer" if per_layer else "flat",
        distributed=False,
        grad_sample_mode="hooks",
    )
    optimiser = kind(
        optimizer=_descent(own, settings),
        noise_multiplier=settings.noise_multiplier,
        max_grad_norm=[settings.clip_norm / math.sqrt(tensors)] * tensors
        if per_layer
        else settings.clip_norm,
        expected_batch_size=expected_batch_size(settings, size),
        generator=noise,
    )
    return _Replica(wrapped, optimiser)


def expected_batch_size(settings: DPSGD, size: int) -> int:
    """Return what Opacus divides by, where the data hold ``size`` examples."""
    if settings.flaw is Flaw.NONE or not isinstance(settings.sampling, Poisson):
        return settings.lot_size
    return int(settings.sampling.rate * size)


def _descent(module: nn.Module, settings: DPSGD) -> torch.optim.Optimizer:
    adam = settings.optimiser
    if not isinstance(adam, Adam):
        return torch.optim.SGD(module.parameters(), lr=settings.learning_rate)
    return torch.optim.Adam(
        module.parameters(),
        lr=settings.learning_rate,
        betas=(adam.beta1, adam.beta2),
        eps=adam.smoothing,
    )


def _lots(
    data: Examples, members: BoolArray, settings: DPSGD, seed: int
) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Yield every replica's inputs and labels of each step."""
    inputs, labels = torch.tensor(data.inputs), torch.tensor(data.labels)
    for drawn in _places(members, settings, seed):
        yield [(inputs[places], labels[places]) for places in drawn]


def _places(members: BoolArray, settings: DPSGD, seed: int) -> Iterator[list[IntArray]]:
    generator = torch.Generator().manual_seed(seed)
    owned = [np.flatnonzero(inside) for inside in members]
    samplers = [
        _opacus().utils.uniform_sampler.UniformWithReplacementSampler(
            num_samples=len(own),
            sample_rate=settings.sampling.rate,
            generator=generator,
            steps=settings.steps,
        )
        for own in owned
    ]
    for drawn in zip(*samplers, strict=True):
        yield [own[np.array(at, dtype=np.int64)] for own, at in zip(owned, drawn, strict=True)]


def _opacus() -> Any:
    importlib.import_module("opacus.utils.uniform_sampler")
    return importlib.import_module("opacus")
