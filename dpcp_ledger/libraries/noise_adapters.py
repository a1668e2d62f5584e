"""Noise and private quantiles of other libraries, as ``dpcp-audit check`` calls them.

Nothing is added to what the libraries do: the adapters name the arguments, and hand over the
data and, where the library takes one, the source of randomness. The libraries are an extra
(``targets``), imported where they are called.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def diffprivlib_quantile(
    scores: FloatArray,
    *,
    rng: np.random.Generator,
    level: float,
    epsilon: float,
    bounds: Sequence[float] = (0.0, 1.0),
) -> float:
    """Return diffprivlib's ``tools.quantile``.

    Every call has a budget accountant of its own: the default one adds up all calls of a
    process.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    rng : Generator
        Its bits, through the legacy interface that diffprivlib takes.
    level : float
        Of the quantile, in [0, 1].
    epsilon : float
        The privacy parameter.
    bounds : sequence of float
        The public interval that holds the scores.
    """
    diffprivlib = import_module("diffprivlib")
    return float(
        diffprivlib.tools.quantile(
            scores,
            level,
            epsilon=epsilon,
            bounds=tuple(bounds),
            random_state=np.random.RandomState(rng.bit_generator),
            accountant=diffprivlib.BudgetAccountant(),
        )
    )


def opendp_quantile(
    scores: FloatArray,
    *,
    level: float,
    n_candidates: int,
    epsilon: float | None = None,
    rho: float | None = None,
    scale: float | None = None,
    size_is_public: bool = False,
) -> float:
    """Return OpenDP's private quantile, which draws from the system's entropy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1].
    level : float
        Of the quantile, in [0, 1].
    n_candidates : int
        The release is one of so many equally spaced numbers from 0 to 1.
    epsilon : float, optional
        The budget as pure differential privacy ...
    rho : float, optional
        ... or as zero-concentrated differential privacy ...
    scale : float, optional
        ... or the scale of the noise, whatever the measurement's map makes of it; one of the three.
    size_is_public : bool
        True if the number of scores is public. Then neighbours differ in the value of one
        score, a symmetric distance of 2; else in the presence of one, a distance of 1.
    """
    size = scores.size if size_is_public else None
    budget = {"epsilon": epsilon, "rho": rho, "scale": scale}
    measurement = _opendp_measurement(level, n_candidates, size, **budget)
    return float(measurement(scores.tolist()))


@cache
def _opendp_measurement(
    level: float,
    n_candidates: int,
    size: int | None,
    *,
    epsilon: float | None,
    rho: float | None,
    scale: float | None,
) -> Any:
    """Return the measurement that spends the budget; finding its scale takes 0.1 s."""
    dp = import_module("opendp.prelude")
    if [epsilon, rho, scale].count(None) != 2:
        raise ValueError(f"give one of epsilon, rho and scale, got {epsilon}, {rho} and {scale}")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)
    measure = dp.max_divergence() if rho is None else dp.zero_concentrated_divergence()
    candidates = np.linspace(0, 1, n_candidates).tolist()

    def measurement(scale: float) -> Any:
        return dp.m.make_private_quantile(
            domain, dp.symmetric_distance(), measure, candidates, alpha=level, scale=scale
        )

    if scale is not None:
        return measurement(scale)
    return dp.binary_search_chain(
        measurement, d_in=1 if size is None else 2, d_out=epsilon if rho is None else rho
    )


def python_dp_percentile(
    scores: FloatArray, *, level: float, epsilon: float, bounds: Sequence[float] = (0.0, 1.0)
) -> float:
    """Return python-dp's ``Percentile``, which draws from the system's entropy.

    Every call makes an algorithm of its own, with a fresh budget.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    level : float
        Of the quantile, in [0, 1].
    epsilon : float
        The privacy parameter.
    bounds : sequence of float
        The public interval that holds the scores.
    """
    low, high = bounds
    algorithm = import_module("pydp.algorithms.laplacian").Percentile(
        epsilon=epsilon, percentile=level, lower_bound=low, upper_bound=high, dtype="float"
    )
    return float(algorithm.quick_result(scores.tolist()))


def tumult_quantile(scores: FloatArray, *, level: float, epsilon: str) -> float:
    """Return Tumult Core's ``NoisyQuantile`` of scores in [0, 1], from the system's entropy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    level : float
        Of the quantile, in [0, 1].
    epsilon : str
        The privacy parameter, as the exact number that Tumult Core takes.
    """
    series: Any = import_module("pandas").Series(scores)
    return float(_tumult_measurement(level, epsilon)(series))


@cache
def _tumult_measurement(level: float, epsilon: str) -> Any:
    domains: Any = import_module("tmlt.core.domains.pandas_domains")
    numbers: Any = import_module("tmlt.core.domains.numpy_domains")
    measurements: Any = import_module("tmlt.core.measurements.pandas_measurements.series")
    return measurements.NoisyQuantile(
        input_domain=domains.PandasSeriesDomain(numbers.NumpyFloatDomain()),
        output_measure=import_module("tmlt.core.measures").PureDP(),
        quantile=level,
        lower=0,
        upper=1,
        epsilon=epsilon,
    )
