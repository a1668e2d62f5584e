"""The reference DP-SGD and DP-Adam, for many replicas at once (DP-SKIN, Algorithms 1 and 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_ledger.training.examples import DPSGD, Adam, Augmentation, Flaw
from dpcp_ledger.training.gradients import (
    AdamMoments,
    FlatModel,
    clip_factors,
    clipped_sum,
    linear_layers,
    linear_sum,
    norms,
)
from dpcp_ledger.training.networks import Trained, copied, finished, seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from dpcp_audit.extensions.claims import BoolArray, FloatArray
    from dpcp_ledger.training.examples import Examples, GradientCanaries


@dataclass(frozen=True, slots=True, eq=False)
class _PoissonLots:
    """Draws lots of every replica's members, each on its own with probability ``rate``.

    What is drawn is the gaps between those that enter, which are geometric: a lot takes about as
    many random numbers as it has examples. They have 53 bits: with the 24 of a float32 the rate
    would be off by up to 6e-8.

    Parameters
    ----------
    members : Tensor of bool, shape (replicas, n)
    rate : float
        The sampling rate, in (0, 1].
    generator : torch.Generator
    """

    members: Tensor
    rate: float
    generator: torch.Generator
    _order: Tensor = field(init=False)
    _sizes: Tensor = field(init=False)

    def __post_init__(self) -> None:
        order = torch.argsort((~self.members).to(torch.uint8), dim=1, stable=True)
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_sizes", self.members.sum(dim=1, keepdim=True))

    def draw(self) -> tuple[Tensor, Tensor]:
        """Return a lot's places, shape (replicas, b), and weights of 1, or 0 as padding.

        b is the largest lot's size; padding points at any example.
        """
        largest = int(self._sizes.max())
        mean = largest * self.rate
        block = 8 + math.ceil(mean + 6 * math.sqrt(mean))
        ranks = self._gaps(block).cumsum(dim=1)
        while bool((ranks[:, -1:] <= self._sizes).any()):
            ranks = torch.cat([ranks, ranks[:, -1:] + self._gaps(block).cumsum(dim=1)], dim=1)
        inside = ranks <= self._sizes
        width = int(inside.sum(dim=1).max())
        ranks, inside = ranks[:, :width].long() - 1, inside[:, :width]
        places = self._order.gather(1, ranks.clamp_(max=self.members.shape[1] - 1))
        return places, inside.to(torch.float32)

    def _gaps(self, block: int) -> Tensor:
        """Return the distance of each entering member from the one before, from 1."""
        shape = (len(self.members), block)
        drawn = torch.rand(shape, generator=self.generator, dtype=torch.float64)
        if self.rate == 1:
            return torch.ones_like(drawn)
        return drawn.neg_().log1p_().div_(math.log1p(-self.rate)).floor_().add_(1)


__all__ = ["Observer", "Step", "Trained", "train"]

_FLOATS_IN_CACHE = 2**19


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The parameters around each step, as an attacker sees who watches the training."""

    index: int
    """The step, from 0."""
    before: Tensor
    """Parameters of shape (replicas, d)."""
    after: Tensor
    """Parameters of shape (replicas, d)."""


Observer: TypeAlias = "Callable[[Step], object]"
"""Watches a training, step by step; a step's tensors are not to be changed."""


def train(
    module: nn.Module,
    data: Examples,
    settings: DPSGD,
    *,
    rng: np.random.Generator | int | None = None,
    replicas: int = 1,
    members: BoolArray | None = None,
    canaries: GradientCanaries | None = None,
    initial: FloatArray | None = None,
    observer: Observer | None = None,
) -> Trained:
    """Train replicas of a network side by side.

    Parameters
    ----------
    module : torch.nn.Module
        The architecture, in float32, without layers that mix examples. It is copied: neither its
        parameters nor its mode change.
    data : Examples
        n examples.
    settings : DPSGD
        The training.
    rng : Generator, int or None
        Seeds initialisation, lots, dropout and noise.
    replicas : int
        The number of models to train, where ``members`` does not fix it.
    members : ndarray of bool, shape (replicas, n), optional
        True where an example is in a replica's data; all of them are by default.
    canaries : GradientCanaries, optional
        Examples of the attacker's choice beside the data.
    initial : ndarray, shape (d,) or (replicas, d), optional
        The start of the descent; drawn anew for each replica by default.
    observer : Observer, optional
        Is shown every step.

    Returns
    -------
    Trained

    Raises
    ------
    FloatingPointError
        If the parameters of a replica do not stay finite.
    """
    generator = _validate.generator(rng)
    inside = np.ones((replicas, len(data)), dtype=np.bool_) if members is None else members
    seeds = [int(s) for s in generator.integers(2**62, size=3)]
    with seeded(seeds[0]):
        model = copied(module)
        start = (
            model.initial(len(inside))
            if initial is None
            else torch.tensor(initial, dtype=torch.float32).expand(len(inside), -1)
        )
        run = _Run(
            model=model,
            data=data,
            settings=settings,
            members=torch.as_tensor(inside),
            canaries=canaries,
            sampler=torch.Generator().manual_seed(seeds[1]),
            noise=torch.Generator().manual_seed(
                0 if settings.flaw is Flaw.FIXED_NOISE_SEED else seeds[2]
            ),
        )
        model.module.train()
        parameters = run.descend(start, observer)
    return finished(model, parameters)


@dataclass(slots=True, kw_only=True, eq=False)
class _Run:
    """One call of ``train``: where everything lies while it lasts."""

    model: FlatModel
    data: Examples
    settings: DPSGD
    members: Tensor
    canaries: GradientCanaries | None
    sampler: torch.Generator
    noise: torch.Generator
    inputs: Tensor = field(init=False)
    labels: Tensor = field(init=False)
    canary_members: Tensor | None = field(init=False, default=None)
    canary_lots: _PoissonLots | None = field(init=False, default=None)
    coordinates: Tensor | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.inputs, self.labels = torch.tensor(self.data.inputs), torch.tensor(self.data.labels)
        if self.canaries is None:
            return
        self.canary_members = torch.as_tensor(self.canaries.members)
        rate = self.settings.sampling.rate
        self.canary_lots = _PoissonLots(self.canary_members, rate, self.sampler)
        self.coordinates = torch.as_tensor(self.canaries.coordinates)

    def descend(self, flat: Tensor, observer: Observer | None) -> Tensor:
        """Take all steps from ``flat``, shape (replicas, d), and return where they lead."""
        adam, divisor = self.settings.optimiser, self._divisor()
        moments = AdamMoments(adam, flat) if isinstance(adam, Adam) else None
        lots = _PoissonLots(self.members, self.settings.sampling.rate, self.sampler)
        for index in range(self.settings.steps):
            places, weights = lots.draw()
            clean = self._sum(flat, places, weights)
            noise = self._noise(flat)
            mean, noisy = clean / divisor, (clean + noise) / divisor
            if self.settings.flaw is Flaw.NOISE_DIVIDED_TWICE:
                noisy = mean + noise / divisor**2
            after = flat - self.settings.learning_rate * self._direction(mean, noisy, moments)
            if observer is not None:
                observer(Step(index=index, before=flat, after=after))
            flat = after
        return flat

    def _sum(self, flat: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        """Return the sum of the lot's clipped gradients, canaries among them."""
        limit = self.settings.clip_norm
        after = self.settings.flaw is Flaw.CLIPPED_AFTER_AVERAGING
        unclipped = after or self.settings.flaw is Flaw.NO_CLIPPING
        kept = math.inf if unclipped else limit
        total = self._of_examples(flat, places, weights, kept)
        self._add_canaries(total, kept)
        if after:
            mean = total / self.settings.lot_size
            total *= clip_factors(norms(mean), limit)
        return total

    def _of_examples(self, flat: Tensor, places: Tensor, weights: Tensor, limit: float) -> Tensor:
        """Return the sum of the examples' clipped gradients, of a few replicas at a time."""
        clip, layers = self.settings.clipping, linear_layers(self.model.module)
        if layers is None:
            lot = (self._images(places), self.labels[places], weights)
            return clipped_sum(self.model, flat, lot, clip=clip, limit=limit)
        a_lot = max(1, places.shape[1]) * math.prod(self.inputs.shape[1:])
        split = (
            torch.split(each, max(1, _FLOATS_IN_CACHE // a_lot)) for each in (flat, places, weights)
        )
        sums = [
            linear_sum(
                layers, part, (self._images(at), self.labels[at], weight), clip=clip, limit=limit
            )
            for part, at, weight in zip(*split, strict=True)
        ]
        return torch.cat(sums)

    def _images(self, places: Tensor) -> Tensor:
        """Return the inputs at places (replicas, b), each mirrored or not."""
        inputs = self.inputs.index_select(0, places.flatten())  # faster than by an array of places
        inputs = inputs.view(*places.shape, *self.inputs.shape[1:])
        if self.settings.augmentation is Augmentation.NONE:
            return inputs
        coins = torch.rand(places.shape, generator=self.sampler) < 0.5
        return torch.where(coins[..., None, None, None], inputs.flip(-1), inputs)

    def _add_canaries(self, total: Tensor, limit: float) -> None:
        if self.canaries is None or self.canary_lots is None or self.coordinates is None:
            return
        norm = self.canaries.clipped_norm(
            clip=self.settings.clipping, limit=limit, n_layers=len(self.model.layers)
        )
        places, weights = self.canary_lots.draw()
        total.scatter_add_(1, self.coordinates[places], norm * weights)

    def _noise(self, flat: Tensor) -> Tensor:
        if self.settings.noise_scale == 0:
            return torch.zeros_like(flat)
        fixed = self.settings.flaw is Flaw.FIXED_NOISE_SEED
        shape = flat.shape[1:] if fixed else flat.shape
        drawn = torch.randn(shape, generator=self.noise)
        return (self.settings.noise_scale * drawn).expand(flat.shape)

    def _divisor(self) -> Tensor | float:
        """Return the divisor of the noisy sum: L, or with a planted bug q·N."""
        if self.settings.flaw is not Flaw.DIVIDES_BY_SIZE:
            return float(self.settings.lot_size)
        sizes = self.members.sum(dim=1, keepdim=True)
        if self.canary_members is not None:
            sizes = sizes + self.canary_members.sum(dim=1, keepdim=True)
        return self.settings.sampling.rate * sizes

    def _direction(self, mean: Tensor, noisy: Tensor, moments: AdamMoments | None) -> Tensor:
        """Return the step's direction; Adam's moments are updated in place."""
        if moments is None:
            return noisy
        if self.settings.flaw is not Flaw.UNNOISED_MOMENTS:
            return moments.direction(noisy)
        corrected, scale = moments.feed(mean)
        return (corrected + noisy - mean) / scale
