"""Private quantiles of other libraries, as ``dpcp-audit check`` calls a quantile.

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
        Whether the number of scores is public. Then neighbours differ in the value of one
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
