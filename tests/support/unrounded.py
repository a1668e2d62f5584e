"""Correct mechanisms as people write them: nothing rounds their outputs.

Each is a function of a file that ``dpcp-audit check FILE:NAME`` could name; ``CASES`` has its
claim, as a guarantee and as options, and the options of its kind.
"""

from __future__ import annotations

import inspect
import math
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, LocalDP, PureDP

if TYPE_CHECKING:
    from dpcp_audit.words.guarantees import PrivacyGuarantee


CASES: dict[str, tuple[FunctionType, PrivacyGuarantee, dict[str, Any]]] = {}
"""By name: the function, its claim, and the options of the audit."""


def _add(name: str, function: FunctionType, claim: PrivacyGuarantee, **options: Any) -> None:
    """Add a function under another name; its defaults are the parameters of the claim."""
    release = FunctionType(function.__code__, globals(), name)
    taken = inspect.signature(function).parameters
    release.__kwdefaults__ = {k: v for k, v in claim.parameters.items() if k in taken}
    globals()[name] = release
    CASES[name] = release, claim, options


def laplace_mean(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    return float(np.mean(scores) + rng.laplace(scale=1 / (epsilon * len(scores))))


def laplace_sum(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    return float(np.sum(scores) + rng.laplace(scale=1 / epsilon))


def clipped(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    margin = math.log(5) / epsilon
    q = float(np.quantile(scores, 0.9))
    return float(np.clip(q + rng.laplace(scale=1 / epsilon) + margin, 0, 1))


def inverse_laplace(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    u = rng.random() - 0.5
    noise = -np.sign(u) * np.log1p(-2 * abs(u)) / (epsilon * len(scores))
    return float(np.mean(scores) + noise)


def gaussian_rho(scores: Any, *, rng: np.random.Generator, rho: float) -> Any:
    return float(np.mean(scores) + rng.normal(scale=1 / len(scores) / math.sqrt(2 * rho)))


def gaussian_mu(scores: Any, *, rng: np.random.Generator, mu: float) -> Any:
    return float(np.mean(scores) + rng.normal(scale=1 / len(scores) / mu))


def gaussian_delta(scores: Any, *, rng: np.random.Generator, epsilon: float, delta: float) -> Any:
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return float(np.mean(scores) + rng.normal(scale=sigma / len(scores)))


def uniform(scores: Any, *, rng: np.random.Generator, delta: float) -> Any:
    return float(np.mean(scores) + (2 * rng.random() - 1) / (2 * delta * len(scores)))


def geometric(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    p = 1 - math.exp(-epsilon)
    count = int(np.sum(np.asarray(scores) > 0.5))
    return float(count + rng.geometric(p) - rng.geometric(p)) / len(scores)


def staircase(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    gamma = 1 / (1 + math.exp(epsilon / 2))
    steps = rng.geometric(1 - math.exp(-epsilon)) - 1
    inner = rng.random() < gamma / (gamma + (1 - gamma) * math.exp(-epsilon))
    u = rng.random()
    size = steps + gamma * u if inner else steps + gamma + (1 - gamma) * u
    return float(np.sum(scores) + rng.choice([-1, 1]) * size)


def exponential(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    grid = np.linspace(0, 1, 21)
    ranks = np.searchsorted(np.sort(scores), grid, side="right")
    utility = -np.abs(ranks - 0.9 * len(scores))
    return float(grid[np.argmax(epsilon / 2 * utility + rng.gumbel(size=21))])


def exponential_interval(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    lengths = np.maximum(np.diff(edges), 1e-300)
    utility = -np.abs(np.arange(len(lengths)) - 0.9 * len(scores))
    i = int(np.argmax(np.log(lengths) + epsilon / 2 * utility + rng.gumbel(size=len(lengths))))
    return float(edges[i] + (edges[i + 1] - edges[i]) * rng.random())


def histogram(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    return counts + rng.laplace(scale=2 / epsilon, size=4)


def frequencies(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    counts = np.histogram(scores, bins=4, range=(0, 1))[0] / len(scores)
    return counts + rng.laplace(scale=2 / epsilon / len(scores), size=4)


def gaussian_vector(scores: Any, *, rng: np.random.Generator, rho: float) -> Any:
    counts = np.histogram(scores, bins=5, range=(0, 1))[0]
    return counts + rng.normal(scale=math.sqrt(2 / (2 * rho)), size=5)


def bisection(scores: Any, *, rng: np.random.Generator, rho: float) -> Any:
    low, high, ordered = 0.0, 1.0, np.sort(scores)
    for _ in range(12):
        middle = (low + high) / 2
        count = np.searchsorted(ordered, middle, side="right")
        if count + rng.normal(scale=math.sqrt(12 / (2 * rho))) >= 0.9 * len(scores):
            high = middle
        else:
            low = middle
    return high


def smooth_median(scores: Any, *, rng: np.random.Generator, epsilon: float) -> Any:
    """Cauchy noise scaled by the smooth sensitivity of the median (Nissim et al., 2007)."""
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


def local_laplace(value: float, *, rng: np.random.Generator, epsilon: float) -> float:
    return float(value + rng.laplace(scale=1 / epsilon))


def local_piecewise(value: float, *, rng: np.random.Generator, epsilon: float) -> float:
    """Duchi's two values, as of a mean that lies in [0, 1]."""
    reach = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    up = 0.5 + (2 * value - 1) / (2 * reach)
    return reach if rng.random() < up else -reach


def shuffled_loss(epsilon: float, delta: float, users: int) -> float:
    """Return the ε of shuffled ε-LDP reports (Feldman, McMillan and Talwar, 2021, Theorem 3.1)."""
    e = math.exp(epsilon)
    spread = 8 * math.sqrt(e * math.log(4 / delta) / users) + 8 * e / users
    return math.log1p((e - 1) / (e + 1) * spread)


def shuffled_laplace(value: float, *, rng: np.random.Generator) -> float:
    return local_laplace(value, rng=rng, epsilon=1.0)


def shuffled_inverse_laplace(value: float, *, rng: np.random.Generator) -> float:
    u = rng.random() - 0.5
    return float(value - np.sign(u) * np.log1p(-2 * abs(u)) / 1.0)


def shuffled_piecewise(value: float, *, rng: np.random.Generator) -> float:
    return local_piecewise(value, rng=rng, epsilon=1.0)


def federated_mean(clients: Any, *, rng: np.random.Generator, epsilon: float) -> float:
    scores = np.concatenate([np.asarray(client, dtype=float) for client in clients])
    return float(scores.mean() + rng.laplace(scale=1 / (epsilon * len(scores))))


def _fill() -> None:
    for i, (epsilon, n) in enumerate(
        [(0.01, 20), (0.1, 100), (0.5, 3), (1, 1), (2, 1000), (4, 50)]
    ):
        _add(f"laplace_mean_{i}", laplace_mean, PureDP(epsilon), n=[n])
        _add(f"laplace_sum_{i}", laplace_sum, PureDP(epsilon), n=[n])
        _add(f"clipped_{i}", clipped, PureDP(epsilon), n=[n])
        _add(f"inverse_laplace_{i}", inverse_laplace, PureDP(epsilon), n=[n])
    for release in (shuffled_laplace, shuffled_inverse_laplace, shuffled_piecewise):
        for users, delta in ((200, 1e-5), (20, 1e-3)):
            epsilon = min(1.0, shuffled_loss(1.0, delta, users))
            claim = ApproxDP(epsilon, delta)
            _add(f"{release.__name__}_{users}", release, claim, kind="local", shuffle_n=users)
    _add("laplace_mean_large", laplace_mean, PureDP(1), n=[10**6], draws=20_000)
    _add("laplace_sum_large", laplace_sum, PureDP(8), n=[10**5], draws=50_000)
    for i, (rho, n) in enumerate([(0.005, 10), (0.05, 5), (0.5, 100), (2, 2)]):
        _add(f"gaussian_rho_{i}", gaussian_rho, ZCDP(rho), n=[n])
        _add(f"bisection_{i}", bisection, ZCDP(rho), n=[max(n, 20)])
        _add(f"gaussian_vector_{i}", gaussian_vector, ZCDP(rho), n=[n], kind="vector")
    for i, (mu, n) in enumerate([(0.1, 10), (0.3, 5), (1, 100), (3, 1)]):
        _add(f"gaussian_mu_{i}", gaussian_mu, GaussianDP(mu), n=[n])
    for i, (epsilon, delta) in enumerate([(0.5, 1e-5), (0.9, 1e-3)]):
        _add(f"gaussian_delta_{i}", gaussian_delta, ApproxDP(epsilon, delta), n=[50])
    _add("uniform_0", uniform, ApproxDP(0.0, 0.1), n=[100])
    _add("uniform_1", uniform, ApproxDP(0.0, 0.01), n=[5])
    for i, epsilon in enumerate((0.1, 1, 4)):
        _add(f"geometric_{i}", geometric, PureDP(epsilon), n=[100])
        _add(f"staircase_{i}", staircase, PureDP(epsilon), n=[20])
        _add(f"exponential_{i}", exponential, PureDP(epsilon), n=[100])
        _add(f"exponential_interval_{i}", exponential_interval, PureDP(epsilon), n=[30])
        _add(f"histogram_{i}", histogram, PureDP(epsilon), n=[50], kind="vector")
        _add(f"frequencies_{i}", frequencies, PureDP(epsilon), n=[50], kind="vector")
        _add(f"smooth_median_{i}", smooth_median, PureDP(epsilon), n=[9])
        _add(f"local_laplace_{i}", local_laplace, LocalDP(epsilon), kind="local")
        _add(f"local_piecewise_{i}", local_piecewise, LocalDP(epsilon), kind="local")
        _add(
            f"federated_mean_{i}",
            federated_mean,
            PureDP(epsilon),
            kind="federated",
            n=[20],
        )


_fill()
