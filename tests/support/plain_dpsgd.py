"""DP-SKIN's Algorithms 1 and 2 written down as plainly as can be, in float64, to compare with."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dpcp_ledger.training.dpsgd import _PoissonLots as PoissonLots
from dpcp_ledger.training.examples import DPSGD, Adam, Clipping, Flaw

if TYPE_CHECKING:
    from dpcp_ledger.training.examples import Examples


def plain_gradient(module, theta, example, label) -> list[torch.Tensor]:
    """Return one example's gradient at θ, a tensor for each parameter, by autograd."""
    network = copy.deepcopy(module).double()
    torch.nn.utils.vector_to_parameters(theta.double(), network.parameters())
    outputs = network(torch.as_tensor(example).double().unsqueeze(0))
    loss = cross_entropy(outputs, torch.as_tensor(label).unsqueeze(0))
    return list(torch.autograd.grad(loss, list(network.parameters())))


def plain_clipped(module, gradient, clipping, limit) -> torch.Tensor:
    """Clip a gradient: whole (line 10), or each layer to C/√K."""
    names = [name for name, _ in module.named_parameters()]
    owners = [name.rpartition(".")[0] if clipping is Clipping.PER_LAYER else "" for name in names]
    share = limit / math.sqrt(len(set(owners)))
    parts = []
    for owner, part in zip(owners, gradient, strict=True):
        layer = [g for o, g in zip(owners, gradient, strict=True) if o == owner]
        norm = math.sqrt(sum(float((g**2).sum()) for g in layer))
        parts.append(part.reshape(-1) / max(1.0, norm / share))
    return torch.cat(parts)


def plain_sum(module, theta, examples, clipping, limit) -> torch.Tensor:
    """Return the sum of clipped gradients of pairs of an example and its label."""
    total = torch.zeros(sum(p.numel() for p in module.parameters()), dtype=torch.float64)
    for example, label in examples:
        gradient = plain_gradient(module, theta, example, label)
        total += plain_clipped(module, gradient, clipping, limit)
    return total


def lots_and_noise(
    data: Examples, settings: DPSGD, seed: int, members: np.ndarray, d: int
) -> tuple[list, torch.Tensor]:
    """Return every step's lots, a list for each replica, and its noise N(0, I) of all replicas."""
    rng = np.random.default_rng(seed)
    _, sampler, noise = (int(s) for s in rng.integers(2**62, size=3))
    generator = torch.Generator().manual_seed(noise)
    shape = (len(members), d)
    drawn = torch.stack([torch.randn(shape, generator=generator) for _ in range(settings.steps)])
    coins = torch.Generator().manual_seed(sampler)
    poisson = PoissonLots(torch.as_tensor(members), settings.sampling.rate, coins)
    steps = (poisson.draw() for _ in range(settings.steps))
    lots = [[at[weight == 1].numpy() for at, weight in zip(*step, strict=True)] for step in steps]
    return lots, drawn.double()


def plain_train(module, data, settings: DPSGD, *, seed, initial, members) -> torch.Tensor:
    """Return the parameters of every replica, shape (replicas, d), flaws as they are described."""
    lots, noise = lots_and_noise(data, settings, seed, members, len(initial))
    if settings.flaw is Flaw.FIXED_NOISE_SEED:
        generator = torch.Generator().manual_seed(0)
        noise = torch.stack([torch.randn(len(initial), generator=generator) for _ in lots]).double()
        noise = noise.unsqueeze(1).expand(-1, len(members), -1)
    finals = []
    for r, inside in enumerate(members):
        size = int(inside.sum())
        theta = torch.as_tensor(initial).double()
        m = v = torch.zeros_like(theta)
        for t, step in enumerate(lots, start=1):
            pairs = [(data.inputs[i], data.labels[i]) for i in step[r]]
            clean, noisy = _means(module, theta, pairs, settings, normal=noise[t - 1, r], size=size)
            direction, m, v = _direction(settings, t, clean, noisy, (m, v))
            theta = theta - settings.learning_rate * direction
        finals.append(theta)
    return torch.stack(finals)


def _means(module, theta, pairs, settings, *, normal, size) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean without and with noise (lines 10 to 12)."""
    flaw, limit, divisor = settings.flaw, settings.clip_norm, settings.lot_size
    per_example = math.inf if flaw in {Flaw.NO_CLIPPING, Flaw.CLIPPED_AFTER_AVERAGING} else limit
    total = plain_sum(module, theta, pairs, settings.clipping, per_example)
    if flaw is Flaw.CLIPPED_AFTER_AVERAGING:
        mean = total / divisor
        total = divisor * mean / max(1.0, float(mean.norm()) / limit)
    noise = settings.noise_multiplier * (0.0 if math.isinf(limit) else limit) * normal
    if flaw is Flaw.HALF_NOISE:
        noise = noise / 2
    if flaw is Flaw.NOISE_DIVIDED_TWICE:
        noise = noise / divisor
    if flaw is Flaw.DIVIDES_BY_SIZE:
        divisor = settings.sampling.rate * size
    return total / divisor, (total + noise) / divisor


def _direction(settings, t, clean, noisy, moments) -> tuple:
    """Return the step's direction and Adam's moments (Algorithm 2, lines 13 to 20)."""
    adam, (m, v) = settings.optimiser, moments
    if not isinstance(adam, Adam):
        return noisy, m, v
    fed = clean if settings.flaw is Flaw.UNNOISED_MOMENTS else noisy
    m = adam.beta1 * m + (1 - adam.beta1) * fed
    v = adam.beta2 * v + (1 - adam.beta2) * fed**2
    m_hat, v_hat = m / (1 - adam.beta1**t), v / (1 - adam.beta2**t)
    if settings.flaw is Flaw.UNNOISED_MOMENTS:
        m_hat = m_hat + (noisy - clean)
    return m_hat / (v_hat.sqrt() + adam.smoothing), m, v
