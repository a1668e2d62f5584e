"""Correct mechanisms as people write them: nothing rounds their outputs.

Each is a function of a file that ``dpcp-audit check FILE:NAME`` could name; ``CASES`` has its
claim, as a guarantee and as options, and the options of its kind.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, LocalDP, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.guarantees import PrivacyGuarantee

    Function = Callable[..., Any]

CASES: dict[str, tuple[Function, PrivacyGuarantee, dict[str, Any]]] = {}
"""By name: the function, its claim, and the options of the audit."""


def _add(name: str, function: Function, claim: PrivacyGuarantee, **options: Any) -> None:
    function.__name__ = function.__qualname__ = name
    globals()[name] = function
    CASES[name] = function, claim, options


def laplace_mean(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        return float(np.mean(scores) + rng.laplace(scale=1 / (epsilon * len(scores))))

    return release


def laplace_sum(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        return float(np.sum(scores) + rng.laplace(scale=1 / epsilon))

    return release


def clipped(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        margin = math.log(5) / epsilon
        q = float(np.quantile(scores, 0.9))
        return float(np.clip(q + rng.laplace(scale=1 / epsilon) + margin, 0, 1))

    return release


def inverse_laplace(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        u = rng.random() - 0.5
        noise = -np.sign(u) * np.log1p(-2 * abs(u)) / (epsilon * len(scores))
        return float(np.mean(scores) + noise)

    return release


def gaussian_rho(rho: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        return float(np.mean(scores) + rng.normal(scale=1 / len(scores) / math.sqrt(2 * rho)))

    return release


def gaussian_mu(mu: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        return float(np.mean(scores) + rng.normal(scale=1 / len(scores) / mu))

    return release


def gaussian_delta(epsilon: float, delta: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        return float(np.mean(scores) + rng.normal(scale=sigma / len(scores)))

    return release


def uniform(delta: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        return float(np.mean(scores) + (2 * rng.random() - 1) / (2 * delta * len(scores)))

    return release


def geometric(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        p = 1 - math.exp(-epsilon)
        count = int(np.sum(np.asarray(scores) > 0.5))
        return float(count + rng.geometric(p) - rng.geometric(p)) / len(scores)

    return release


def staircase(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        gamma = 1 / (1 + math.exp(epsilon / 2))
        steps = rng.geometric(1 - math.exp(-epsilon)) - 1
        inner = rng.random() < gamma / (gamma + (1 - gamma) * math.exp(-epsilon))
        u = rng.random()
        size = steps + gamma * u if inner else steps + gamma + (1 - gamma) * u
        return float(np.sum(scores) + rng.choice([-1, 1]) * size)

    return release


def exponential(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        grid = np.linspace(0, 1, 21)
        ranks = np.searchsorted(np.sort(scores), grid, side="right")
        utility = -np.abs(ranks - 0.9 * len(scores))
        return float(grid[np.argmax(epsilon / 2 * utility + rng.gumbel(size=21))])

    return release


def exponential_interval(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
        lengths = np.maximum(np.diff(edges), 1e-300)
        utility = -np.abs(np.arange(len(lengths)) - 0.9 * len(scores))
        i = int(np.argmax(np.log(lengths) + epsilon / 2 * utility + rng.gumbel(size=len(lengths))))
        return float(edges[i] + (edges[i + 1] - edges[i]) * rng.random())

    return release


def histogram(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        counts = np.histogram(scores, bins=4, range=(0, 1))[0]
        return counts + rng.laplace(scale=2 / epsilon, size=4)

    return release


def frequencies(epsilon: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        counts = np.histogram(scores, bins=4, range=(0, 1))[0] / len(scores)
        return counts + rng.laplace(scale=2 / epsilon / len(scores), size=4)

    return release


def gaussian_vector(rho: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        counts = np.histogram(scores, bins=5, range=(0, 1))[0]
        return counts + rng.normal(scale=math.sqrt(2 / (2 * rho)), size=5)

    return release


def bisection(rho: float) -> Function:
    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        low, high, ordered = 0.0, 1.0, np.sort(scores)
        for _ in range(12):
            middle = (low + high) / 2
            count = np.searchsorted(ordered, middle, side="right")
            if count + rng.normal(scale=math.sqrt(12 / (2 * rho))) >= 0.9 * len(scores):
                high = middle
            else:
                low = middle
        return high

    return release


def smooth_median(epsilon: float) -> Function:
    """Cauchy noise scaled by the smooth sensitivity of the median (Nissim et al., 2007)."""

    def release(scores: Any, *, rng: np.random.Generator) -> Any:
        n, beta = len(scores), epsilon / 6
        padded = np.concatenate([np.zeros(n + 1), np.sort(scores), np.ones(n + 1)])
        at = n + 1 + n // 2
        smooth = max(
            math.exp(-beta * k) * max(padded[at + t] - padded[at + t - k - 1] for t in range(k + 2))
            for k in range(n)
        )
        return float(
            padded[at] + 6 / epsilon * max(smooth, math.exp(-beta * n)) * rng.standard_cauchy()
        )

    return release


def local_laplace(epsilon: float) -> Function:
    def release(value: float, *, rng: np.random.Generator) -> float:
        return float(value + rng.laplace(scale=1 / epsilon))

    return release


def local_piecewise(epsilon: float) -> Function:
    """Duchi's two values, as of a mean that lies in [0, 1]."""

    def release(value: float, *, rng: np.random.Generator) -> float:
        reach = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        up = 0.5 + (2 * value - 1) / (2 * reach)
        return reach if rng.random() < up else -reach

    return release


def federated_mean(epsilon: float) -> Function:
    def release(clients: Any, *, rng: np.random.Generator) -> float:
        scores = np.concatenate([np.asarray(client, dtype=float) for client in clients])
        return float(scores.mean() + rng.laplace(scale=1 / (epsilon * len(scores))))

    return release


def _fill() -> None:
    for i, (epsilon, n) in enumerate(
        [(0.01, 20), (0.1, 100), (0.5, 3), (1, 1), (2, 1000), (4, 50)]
    ):
        _add(f"laplace_mean_{i}", laplace_mean(epsilon), PureDP(epsilon), n=[n])
        _add(f"laplace_sum_{i}", laplace_sum(epsilon), PureDP(epsilon), n=[n])
        _add(f"clipped_{i}", clipped(epsilon), PureDP(epsilon), n=[n])
        _add(f"inverse_laplace_{i}", inverse_laplace(epsilon), PureDP(epsilon), n=[n])
    _add("laplace_mean_large", laplace_mean(1), PureDP(1), n=[10**6], draws=20_000)
    _add("laplace_sum_large", laplace_sum(8), PureDP(8), n=[10**5], draws=50_000)
    for i, (rho, n) in enumerate([(0.005, 10), (0.05, 5), (0.5, 100), (2, 2)]):
        _add(f"gaussian_rho_{i}", gaussian_rho(rho), ZCDP(rho), n=[n])
        _add(f"bisection_{i}", bisection(rho), ZCDP(rho), n=[max(n, 20)])
        _add(f"gaussian_vector_{i}", gaussian_vector(rho), ZCDP(rho), n=[n], kind="vector")
    for i, (mu, n) in enumerate([(0.1, 10), (0.3, 5), (1, 100), (3, 1)]):
        _add(f"gaussian_mu_{i}", gaussian_mu(mu), GaussianDP(mu), n=[n])
    for i, (epsilon, delta) in enumerate([(0.5, 1e-5), (0.9, 1e-3)]):
        _add(
            f"gaussian_delta_{i}", gaussian_delta(epsilon, delta), ApproxDP(epsilon, delta), n=[50]
        )
    _add("uniform_0", uniform(0.1), ApproxDP(0.0, 0.1), n=[100])
    _add("uniform_1", uniform(0.01), ApproxDP(0.0, 0.01), n=[5])
    for i, epsilon in enumerate((0.1, 1, 4)):
        _add(f"geometric_{i}", geometric(epsilon), PureDP(epsilon), n=[100])
        _add(f"staircase_{i}", staircase(epsilon), PureDP(epsilon), n=[20])
        _add(f"exponential_{i}", exponential(epsilon), PureDP(epsilon), n=[100])
        _add(f"exponential_interval_{i}", exponential_interval(epsilon), PureDP(epsilon), n=[30])
        _add(f"histogram_{i}", histogram(epsilon), PureDP(epsilon), n=[50], kind="vector")
        _add(f"frequencies_{i}", frequencies(epsilon), PureDP(epsilon), n=[50], kind="vector")
        _add(f"smooth_median_{i}", smooth_median(epsilon), PureDP(epsilon), n=[9])
        _add(f"local_laplace_{i}", local_laplace(epsilon), LocalDP(epsilon), kind="local")
        _add(f"local_piecewise_{i}", local_piecewise(epsilon), LocalDP(epsilon), kind="local")
        _add(
            f"federated_mean_{i}",
            federated_mean(epsilon),
            PureDP(epsilon),
            kind="federated",
            n=[20],
        )


_fill()
