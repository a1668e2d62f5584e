"""Steps of DP-SGD as they are written in PyTorch; each is 0.5-zCDP at its default sigma."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch.func import grad, vmap


def squared(w, x):
    z = w[0] + w[1] * x
    return (z - 0.3) ** 2


def logistic(w, b, x):
    return F.binary_cross_entropy_with_logits(w[0] * x + b, x)


def by_vmap(scores, *, rng, clip=1.0, sigma=2.0, lr=0.1):
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    x = torch.as_tensor(scores)
    weights = torch.zeros(2, dtype=torch.float64)
    gradients = vmap(grad(squared), in_dims=(None, 0))(weights, x)
    norms = gradients.norm(dim=1, keepdim=True)
    gradients = gradients * torch.clamp(clip / (norms + 1e-6), max=1.0)
    total = gradients.sum(dim=0)
    noise = sigma * clip * torch.randn(2, generator=generator, dtype=torch.float64)
    return (weights - lr * (total + noise) / len(scores)).numpy()


def in_steps(scores, *, rng, clip=0.5, sigma=2.0, lr=0.1, steps=4):
    x = torch.tensor(scores, dtype=torch.float32)
    weights = torch.zeros(2)
    per_record = torch.func.vmap(torch.func.grad(squared), in_dims=(None, 0))
    for _ in range(steps):
        gradients = per_record(weights, x)
        factors = (clip / (torch.linalg.norm(gradients, dim=1) + 1e-6)).clamp(max=1.0)
        total = (gradients * factors[:, None]).sum(0)
        noisy = total + torch.normal(0.0, sigma * clip * math.sqrt(steps), size=(2,))
        weights = weights - lr * noisy / len(x)
    return weights


def in_a_loop(scores, *, rng, clip=1.0, sigma=2.0):
    weights = torch.zeros(2, requires_grad=True)
    total = torch.zeros(2)
    for x in torch.tensor(scores, dtype=torch.float32):
        loss = squared(weights, x)
        (g,) = torch.autograd.grad(loss, weights)
        g = g * min(1.0, clip / (g.norm() + 1e-6))
        total += g
    noisy = total + torch.randn_like(total) * sigma * clip
    return (weights.detach() - 0.1 * noisy / len(scores)).tolist()


def of_two_parameters(scores, *, rng, clip=1.0, sigma=2.0):
    w = torch.zeros(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    total = torch.zeros(2)
    for x in scores:
        loss = F.binary_cross_entropy_with_logits(w[0] * x + b[0], torch.tensor(x).float())
        g = torch.cat(torch.autograd.grad(loss, [w, b]))
        g = g / max(1.0, g.norm().item() / clip)
        total = total + g
    return (total + torch.randn(2) * (sigma * clip)).numpy()


def of_parameters_at_once(scores, *, rng, clip=1.0, sigma=2.0):
    x = torch.tensor(scores, dtype=torch.float32)
    of_each = vmap(grad(logistic, argnums=(0, 1)), in_dims=(None, None, 0))
    gw, gb = of_each(torch.zeros(1), torch.zeros(()), x)
    g = torch.cat([gw, gb[:, None]], dim=1)
    g = g * (clip / g.norm(dim=1, keepdim=True)).clamp(max=1.0)
    return g.mean(dim=0) + torch.randn(2) * (sigma * clip / len(scores))


def stacked(scores, *, rng, clip=1.0, sigma=2.0):
    weights = torch.zeros(2)
    records = torch.tensor(scores, dtype=torch.float32)
    g = torch.stack([grad(squared)(weights, x) for x in records])
    g = g / torch.clamp(g.norm(2, dim=-1, keepdim=True) / clip, min=1.0)
    noise = torch.tensor(rng.normal(0.0, sigma * clip, size=2), dtype=torch.float32)
    return (torch.sum(g, dim=0) + noise) / len(scores)


def by_formula(scores, *, rng, clip=1.0, sigma=2.0):
    x = torch.from_numpy(scores)
    features = torch.stack([torch.ones_like(x), x], dim=1)
    weights = torch.tensor([0.5, -0.5], dtype=torch.float64)
    g = (features @ weights - 0.3)[:, None] * features
    g = g / torch.clamp(torch.linalg.vector_norm(g, dim=1, keepdim=True) / clip, min=1.0)
    return g.sum(0) + torch.normal(0.0, sigma * clip, size=(2,), dtype=torch.float64)


def of_clipped_numbers(scores, *, rng, clip=1.0, sigma=2.0):
    g = torch.clamp(3.0 * (torch.tensor(scores) - 0.5), -clip, clip)
    return float(g.sum(dim=0) + torch.randn((), dtype=torch.float64) * sigma * clip)


def of_a_lot(scores, *, rng, clip=1.0, sigma=2.0):
    x = torch.as_tensor(scores[rng.random(len(scores)) < 0.1])
    weights, total = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for each in x:
        g = grad(squared)(weights, each)
        total = total + g / torch.clamp(g.norm() / clip, min=1.0)
    return (total + torch.randn(2, dtype=torch.float64) * sigma * clip).numpy()


def appended(scores, *, rng, clip=1.0, sigma=2.0):
    weights, gradients = torch.zeros(2), []
    for x in torch.tensor(scores).float():
        g = grad(squared)(weights, x)
        gradients.append(g / max(1.0, g.norm() / clip))
    return torch.stack(gradients).mean(0) + torch.randn(2) * sigma * clip / len(scores)


def summed_by_python(scores, *, rng, clip=1.0, sigma=2.0):
    weights = torch.zeros(2)

    def clipped(x):
        g = grad(squared)(weights, x)
        return g / torch.clamp(g.norm() / clip, min=1.0)

    total = sum(clipped(x) for x in torch.tensor(scores).float())
    return total + torch.normal(mean=0.0, std=sigma * clip, size=total.shape)


def by_a_product(scores, *, rng, clip=1.0, sigma=2.0):
    g = vmap(grad(squared), in_dims=(None, 0))(torch.zeros(2), torch.tensor(scores).float())
    factors = torch.clamp(clip / (g.norm(dim=1) + 1e-6), max=1.0)
    return factors @ g + torch.randn(2) * sigma * clip


def from_random_weights(scores, *, rng, clip=1.0, sigma=2.0, steps=4):
    weights = (torch.randn(2) * 0.1).requires_grad_()
    x = torch.tensor(scores).float()
    for _ in range(steps):
        total = torch.zeros(2)
        for record in x:
            g = torch.autograd.grad(squared(weights, record), weights)[0]
            total += g / max(1.0, g.norm() / clip)
        noisy = total + sigma * clip * math.sqrt(steps) * torch.randn(2)
        weights = (weights - 0.1 * noisy / len(x)).detach().requires_grad_()
    return weights.detach()


RIGHT = [by_vmap, in_steps, in_a_loop, of_two_parameters, of_parameters_at_once, stacked,
         by_formula, of_clipped_numbers, of_a_lot, appended, summed_by_python, by_a_product,
         from_random_weights]  # fmt: skip
