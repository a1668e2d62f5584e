"""The reference DP-SGD and DP-Adam, for many replicas at once (DP-SKIN, Algorithms 1 and 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch.func import vmap

from dpcp_audit import _validate
from dpcp_audit.mechanisms.dpsgd import linear, lots
from dpcp_audit.mechanisms.dpsgd.gradients import FlatModel, clip_factors, clipped_sum
from dpcp_audit.mechanisms.dpsgd.settings import DPSGD, Adam, Flaw, Poisson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.mechanisms.dpsgd.canaries import GradientCanaries
    from dpcp_audit.mechanisms.dpsgd.examples import Examples

_PREDICTED_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """What an attacker sees who watches the training: the parameters around each step."""

    index: int
    """The step, from 0."""
    before: Tensor
    """Parameters of shape (replicas, d)."""
    after: Tensor
    """Parameters of shape (replicas, d)."""


class Observer(Protocol):
    """Watches a training, step by step."""

    def __call__(self, step: Step, /) -> None:
        """Take notice of a step; the tensors are not to be changed."""
        ...


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
        self.model.module.eval()
        of_replicas: Any = vmap(self.model.logits, in_dims=(0, None))
        data = torch.from_numpy(inputs).to(self.parameters.device)
        parts = [of_replicas(self.parameters, part) for part in data.split(_PREDICTED_AT_ONCE)]
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
    device: str | None = None,
) -> Trained:
    """Train replicas of a network side by side.

    Parameters
    ----------
    module : torch.nn.Module
        The architecture, without layers that mix examples.
    data : Examples
        n examples.
    settings : DPSGD
        The training.
    rng : Generator, int or None
        Seeds initialisation, lots, dropout and noise.
    replicas : int
        How many models are trained, where ``members`` does not say so.
    members : ndarray of bool, shape (replicas, n), optional
        Which examples are in each replica's data; all of them by default.
    canaries : GradientCanaries, optional
        Examples of the attacker's choice beside the data; Poisson sampling alone.
    initial : ndarray, shape (d,) or (replicas, d), optional
        Where the descent begins; drawn anew for each replica by default.
    observer : Observer, optional
        Is shown every step.
    device : str, optional
        Such as ``"cuda"``; a GPU where there is one, by default the CPU.

    Returns
    -------
    Trained
    """
    generator = _validate.generator(rng)
    inside = _members(members, replicas, len(data))
    seeds = [int(s) for s in generator.integers(2**62, size=3)]
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seeds[0])
        model = FlatModel(module.to(place))
        start = _initial(model, initial, len(inside)).to(place)
        module.train()
        run = _Run(
            model=model,
            data=data,
            settings=settings,
            members=torch.from_numpy(inside).to(place),
            canaries=canaries,
            sampler=torch.Generator(place).manual_seed(seeds[1]),
            noise=torch.Generator(place).manual_seed(
                0 if settings.flaw is Flaw.FIXED_NOISE_SEED else seeds[2]
            ),
        )
        parameters = run.descend(start, observer, generator)
    return Trained(model=model, parameters=parameters)


def _members(members: BoolArray | None, replicas: int, n: int) -> BoolArray:
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


def _initial(model: FlatModel, initial: FloatArray | None, replicas: int) -> Tensor:
    if initial is None:
        return model.initial(replicas)
    given = np.asarray(initial, dtype=np.float32)
    if given.shape not in ((model.size,), (replicas, model.size)):
        raise ValueError(
            f"initial must have shape ({model.size},) or ({replicas}, {model.size}), "
            f"got shape {given.shape}"
        )
    return torch.from_numpy(np.broadcast_to(given, (replicas, model.size)).copy())


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
    coordinates: Tensor | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        place = self.members.device
        self.inputs = torch.from_numpy(self.data.inputs).to(place)
        self.labels = torch.from_numpy(self.data.labels).to(place)
        if self.canaries is None:
            return
        if not isinstance(self.settings.sampling, Poisson):
            raise ValueError(  # noqa: TRY004  (bad input is a ValueError throughout)
                "sampling must be Poisson where there are canaries"
            )
        if len(self.canaries.members) != len(self.members):
            raise ValueError(
                f"canaries.members must have {len(self.members)} rows, one for each replica, "
                f"got {len(self.canaries.members)}"
            )
        if self.canaries.coordinates.size and self.canaries.coordinates.max() >= self.model.size:
            raise ValueError(f"coordinates must be below {self.model.size}, the parameters' number")
        self.canary_members = torch.from_numpy(self.canaries.members).to(place)
        self.coordinates = torch.from_numpy(self.canaries.coordinates).to(place)

    def descend(self, flat: Tensor, observer: Observer | None, rng: np.random.Generator) -> Tensor:
        """Take all steps from ``flat``, shape (replicas, d), and return where they lead."""
        first, second = torch.zeros_like(flat), torch.zeros_like(flat)
        divisor = self._divisor()
        for index, (places, weights) in enumerate(self._lots(rng)):
            clean = self._sum(flat, places, weights)
            noise = self._noise(flat)
            mean, noisy = clean / divisor, (clean + noise) / divisor
            if self.settings.flaw is Flaw.NOISE_DIVIDED_TWICE:
                noisy = mean + noise / divisor**2
            after = flat - self.settings.learning_rate * self._direction(
                index + 1, mean, noisy, (first, second)
            )
            if observer is not None:
                observer(Step(index=index, before=flat, after=after))
            flat = after
        return flat

    def _lots(self, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield places and weights of every step's lot, each of shape (replicas, b)."""
        sampling, steps = self.settings.sampling, self.settings.steps
        if isinstance(sampling, Poisson):
            for _ in range(steps):
                yield lots.padded(lots.poisson(self.members, sampling.rate, self.sampler))
            return
        inside = self.members.cpu().numpy()
        for places in lots.batches(inside, self.settings.lot_size, steps, rng=rng):
            yield (
                torch.from_numpy(places).to(self.members.device),
                torch.ones(places.shape, device=self.members.device),
            )

    def _sum(self, flat: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        """Return the sum of the lot's clipped gradients, canaries among them."""
        limit = self.settings.clip_norm
        after = self.settings.flaw is Flaw.CLIPPED_AFTER_AVERAGING
        unclipped = after or self.settings.flaw is Flaw.NO_CLIPPING
        kept = math.inf if unclipped else limit
        lot = (self.inputs[places], self.labels[places], weights)
        clip, stack = self.settings.clipping, linear.stack_of(self.model.module)
        if stack is None:
            total = clipped_sum(self.model, flat, lot, clip=clip, limit=kept)
        else:
            total = linear.clipped_sum(stack, flat, lot, clip=clip, limit=kept)
        self._add_canaries(total, kept)
        if after:
            mean = total / self.settings.lot_size
            total *= clip_factors(mean.norm(dim=1, keepdim=True), limit)
        return total

    def _add_canaries(self, total: Tensor, limit: float) -> None:
        if self.canaries is None or self.canary_members is None:
            return
        norm = self.canaries.clipped_norm(
            clip=self.settings.clipping, limit=limit, n_layers=len(self.model.layers)
        )
        rate = self.settings.sampling.rate if isinstance(self.settings.sampling, Poisson) else 1.0
        chosen = lots.poisson(self.canary_members, rate, self.sampler)
        total[:, self.coordinates] += norm * chosen

    def _noise(self, flat: Tensor) -> Tensor:
        if self.settings.noise_scale == 0:
            return torch.zeros_like(flat)
        fixed = self.settings.flaw is Flaw.FIXED_NOISE_SEED
        shape = flat.shape[1:] if fixed else flat.shape
        drawn = torch.randn(shape, generator=self.noise, device=flat.device)
        return (self.settings.noise_scale * drawn).expand(flat.shape)

    def _divisor(self) -> Tensor | float:
        """Return what the noisy sum is divided by: L, or by a planted bug q·N."""
        sampling = self.settings.sampling
        if self.settings.flaw is not Flaw.DIVIDES_BY_SIZE or not isinstance(sampling, Poisson):
            return float(self.settings.lot_size)
        sizes = self.members.sum(dim=1, keepdim=True)
        if self.canary_members is not None:
            sizes = sizes + self.canary_members.sum(dim=1, keepdim=True)
        return sampling.rate * sizes

    def _direction(
        self, time: int, mean: Tensor, noisy: Tensor, moments: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Return the step's direction; Adam's moments are updated in place."""
        adam = self.settings.optimiser
        if not isinstance(adam, Adam):
            return noisy
        unnoised = self.settings.flaw is Flaw.UNNOISED_MOMENTS
        fed = mean if unnoised else noisy
        first, second = moments
        first.mul_(adam.beta1).add_(fed, alpha=1 - adam.beta1)
        second.mul_(adam.beta2).addcmul_(fed, fed, value=1 - adam.beta2)
        corrected = first / (1 - adam.beta1**time)
        if unnoised:
            corrected = corrected + noisy - mean
        return corrected / ((second / (1 - adam.beta2**time)).sqrt() + adam.smoothing)


def _log_softmax(logits: FloatArray) -> FloatArray:
    from scipy.special import log_softmax  # noqa: PLC0415  (slow to import)

    return np.asarray(log_softmax(logits, axis=-1), dtype=np.float64)
