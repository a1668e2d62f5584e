"""Histograms, sums and counts with other libraries' noise, as ``dpcp-audit check`` calls them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray


_LARGE = 10.0
"""Times the clipping norm, which gradients may have before they are clipped."""


def diffprivlib_histogram(
    scores: FloatArray, *, rng: np.random.Generator, epsilon: float, bins: int
) -> FloatArray:
    """Return the counts of diffprivlib's ``tools.histogram`` on [0, 1].

    Every call has a budget accountant of its own.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    rng : Generator
        Its bits, through the legacy interface that diffprivlib takes.
    epsilon : float
        The privacy parameter.
    bins : int
        The number of bins.
    """
    diffprivlib = import_module("diffprivlib")
    counts, _ = diffprivlib.tools.histogram(
        scores,
        epsilon=epsilon,
        bins=bins,
        range=(0.0, 1.0),
        random_state=np.random.RandomState(rng.bit_generator),
        accountant=diffprivlib.BudgetAccountant(),
    )
    return np.asarray(counts, dtype=np.float64)


def opacus_step(
    scores: FloatArray, *, rng: np.random.Generator, noise_multiplier: float
) -> FloatArray:
    """Return the gradient that Opacus' ``DPOptimizer`` makes of a batch: clipped, summed, noisy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1]; a record's gradient is a number from −10 to 10, and clipped to [−1, 1].
    rng : Generator
        Seeds the optimizer's generator.
    noise_multiplier : float
        The standard deviation of the noise over the clipping norm.
    """
    torch, optimizers = import_module("torch"), import_module("opacus.optimizers")
    weight = torch.nn.Parameter(torch.zeros(1))
    gradients = _LARGE * (2 * np.asarray(scores, dtype=np.float64) - 1)
    weight.grad_sample = torch.as_tensor(gradients[:, np.newaxis], dtype=torch.float32)
    optimizer = optimizers.DPOptimizer(
        torch.optim.SGD([weight], lr=1.0),
        noise_multiplier=noise_multiplier,
        max_grad_norm=1.0,
        expected_batch_size=None,
        loss_reduction="sum",
        generator=torch.Generator().manual_seed(int(rng.integers(2**62))),
    )
    optimizer.clip_and_accumulate()
    optimizer.add_noise()
    return np.asarray(weight.grad.numpy(), dtype=np.float64)


def dp_accounting_count(
    scores: FloatArray, *, rng: np.random.Generator, epsilon: float, delta: float
) -> float:
    """Return a count with Gaussian noise, as much of it as dp-accounting says that it takes.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    rng : Generator
    epsilon, delta : float
        The guarantee that the standard deviation is asked for.
    """
    noise: float = rng.normal(scale=_dp_accounting_deviation(epsilon, delta))
    return scores.size + noise


@cache
def _dp_accounting_deviation(epsilon: float, delta: float) -> float:
    wanted: Any = import_module("dp_accounting.pld.common")
    mechanisms: Any = import_module("dp_accounting.pld.privacy_loss_mechanism")
    guarantee = wanted.DifferentialPrivacyParameters(epsilon, delta)
    found = mechanisms.GaussianPrivacyLoss.from_privacy_guarantee(guarantee)
    return float(found.standard_deviation)


def smartnoise_sum(scores: FloatArray, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the sum of scores with smartnoise-sql's Laplace noise, or Gaussian noise for a δ.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1].
    epsilon, delta : float
        The privacy parameters.
    """
    return float(_smartnoise(epsilon, delta).release([float(np.sum(scores))])[0])


def smartnoise_bounds(scores: FloatArray, *, epsilon: float, scale: float) -> FloatArray:
    """Return the bounds that smartnoise-sql's ``approx_bounds`` finds; 0 and 0 where it finds none.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    epsilon : float
        The privacy budget.
    scale : float
        What scores are multiplied by: bounds are powers of 2.
    """
    module = import_module("snsql.sql._mechanisms.approx_bounds")
    low, high = module.approx_bounds(scale * np.asarray(scores), epsilon)
    return np.array([low or 0.0, high or 0.0])


@cache
def _smartnoise(epsilon: float, delta: float) -> Any:
    mechanisms = import_module("snsql.sql._mechanisms")
    bounds = {"lower": 0.0, "upper": 1.0}
    if delta == 0:
        return mechanisms.Laplace(epsilon, **bounds)
    return mechanisms.Gaussian(epsilon, delta=delta, **bounds)


def jax_privacy_step(scores: FloatArray, *, seed: int, noise_multiplier: float) -> FloatArray:
    """Return the gradient that jax-privacy makes of a batch: clipped, summed, noisy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1]; a record's gradient is a number from −10 to 10, and clipped to [−1, 1].
    seed : int
        Of the privatizer's key.
    noise_multiplier : float
        The standard deviation of the noise over the clipping norm.
    """
    gradients = _LARGE * (2 * np.asarray(scores, dtype=np.float32) - 1)
    key = import_module("jax").random.key(seed)
    noisy = _jax_privacy_release(noise_multiplier)(key, gradients)
    return np.asarray(noisy, dtype=np.float64).reshape(1)


@cache
def _jax_privacy_release(noise_multiplier: float) -> Any:
    """Return the compiled release, of a key and gradients: a privatizer for each key."""
    clipping: Any = import_module("jax_privacy.clipping")
    noise: Any = import_module("jax_privacy.noise_addition")

    def loss(weight: Any, rows: Any) -> Any:
        return (weight * rows).sum()

    clipped = clipping.clipped_grad(loss, l2_clip_norm=1.0)

    def release(key: Any, gradients: Any) -> Any:
        summed = clipped(0.0, gradients)
        privatizer = noise.gaussian_privatizer(stddev=noise_multiplier, prng_key=key)
        return privatizer.update(summed, privatizer.init(summed))[0]

    return import_module("jax").jit(release)
