"""The usual forms of a private quantile: the line that is blamed is the planted one, or none.

Never one that the correct twin gets too.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.followed_paths import trace_pair

import dpcp_audit as dp
from dpcp_audit.audits.path_evidence import leaking_line
from dpcp_audit.words.results import Verdict

pytestmark = pytest.mark.known_bad

GRID = np.linspace(0, 1, 9)
RATE = 1.0


def bisection(x, *, rng, leak=False) -> Any:
    low, high = 0.0, 1.0
    for _ in range(6):
        middle = (low + high) / 2
        below = np.sum(np.asarray(x) <= middle) + rng.laplace(scale=6 / RATE)
        if leak:
            below = np.sum(np.asarray(x) <= middle) + 0.0  # LEAK
        low, high = (middle, high) if below < 0.9 * len(x) else (low, middle)
    return high


def gaps(x, *, rng, leak=False) -> Any:
    edges = np.concatenate([[0.0], np.sort(x), [1.0]])
    n = len(x)
    utility = -np.abs(np.arange(n + 1) - 0.9 * n)
    weights = np.diff(edges) * np.exp(utility * RATE / 2)
    i = rng.choice(n + 1, p=weights / weights.sum())
    if leak:
        return float(edges[i + 1])  # LEAK
    return rng.uniform(edges[i], edges[i + 1])


def grid(x, *, rng, leak=False) -> Any:
    utility = -np.abs(np.searchsorted(np.sort(x), GRID) - 0.9 * len(x))
    p = np.exp(utility * RATE / 2)
    found = GRID[rng.choice(len(GRID), p=p / p.sum())]
    if leak:
        found = found + 1e-3 * max(x)  # LEAK
    return float(found)


def noisy_max(x, *, rng, leak=False) -> Any:
    utility = -np.abs(np.searchsorted(np.sort(x), GRID) - 0.9 * len(x))
    noisy = utility + rng.gumbel(scale=2 / RATE, size=len(GRID))
    if leak:
        return float(GRID[int(np.argmax(utility))])  # LEAK
    return float(GRID[int(np.argmax(noisy))])


def histogram(x, *, rng, leak=False) -> Any:
    counts = np.histogram(x, bins=GRID)[0]
    noisy = counts + rng.laplace(scale=2 / RATE, size=len(counts))
    if leak:
        noisy = counts + 0.0  # LEAK
    total = np.cumsum(noisy)
    for i, each in enumerate(total):
        if each >= 0.9 * len(x):
            return float(GRID[i + 1])
    return 1.0


def sparse_vector(x, *, rng, leak=False) -> Any:
    threshold = 0.9 * len(x) + rng.laplace(scale=2 / RATE)
    for edge in GRID:
        count = np.sum(np.asarray(x) <= edge)
        if leak and count >= 0.9 * len(x):  # LEAK
            return float(edge)
        if count + rng.laplace(scale=4 / RATE) >= threshold:
            return float(edge)
    return 1.0


def tree(x, *, rng, leak=False) -> Any:
    leaves = np.histogram(x, bins=GRID)[0]
    nodes = []
    for width in (4, 2, 1):
        sums = leaves.reshape(-1, width).sum(axis=1)
        scale = 6 / RATE
        if leak and width == 1:
            nodes.append(sums + 0.0)  # LEAK
            continue
        nodes.append(sums + rng.laplace(scale=scale, size=len(sums)))
    return [float(each) for level in nodes for each in level]


def order_statistic(x, *, rng, leak=False) -> Any:
    rank = round(0.9 * len(x) + rng.laplace(scale=1 / RATE))
    if leak:
        return float(np.sort(x)[min(max(rank, 0), len(x) - 1)])  # LEAK
    return rank


def smooth_sensitivity(x, *, rng, leak=False) -> Any:
    values = np.sort(x)
    k = math.ceil(0.9 * len(x)) - 1
    beta = RATE / 6
    smooth = max(
        math.exp(-beta * d)
        * (values[min(k + d, len(x) - 1)] - values[max(k - d, 0)] + (d >= len(x) - k))
        for d in range(len(x) + 1)
    )
    if leak:
        smooth = 0.0  # LEAK
        return float(values[k] + smooth)
    return float(values[k] + 6 / RATE * smooth * rng.standard_cauchy())


def descent(x, *, rng, leak=False) -> Any:
    at = 0.5
    for step in range(5):
        gradient = np.mean(np.asarray(x) <= at) - 0.9
        noisy = gradient + rng.normal(scale=5 / len(x))
        if leak and step == 4:
            noisy = gradient  # LEAK
        at = at - 0.3 * noisy
    return float(at)


def clients(x, *, rng, leak=False) -> Any:
    found = []
    for each in x:
        if leak:
            found.append(each)  # LEAK
            continue
        found.append(each + rng.laplace(scale=1 / RATE))
    return float(np.mean(found))


FORMS = [
    bisection,
    gaps,
    grid,
    noisy_max,
    histogram,
    sparse_vector,
    tree,
    order_statistic,
    smooth_sensitivity,
    descent,
    clients,
]
_X = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
_Y = [*_X[:-1], 0.15]


def _blamed(form: Any, *, leak: bool) -> int | None:
    trace = trace_pair(form, _X, _Y, draws=20, rng=0, options={"leak": leak})
    found = leaking_line(trace)
    return None if found is None else found.line


@pytest.mark.parametrize("form", FORMS)
def test_the_blamed_line_is_the_planted_one_or_none(form: Any) -> None:
    lines, first = inspect.getsourcelines(form)
    (planted,) = (first + place for place, line in enumerate(lines) if "# LEAK" in line)
    blamed = _blamed(form, leak=True)
    assert blamed in {planted, None}
    assert blamed is None or blamed != _blamed(form, leak=False)


def twelve_rounds(x, *, rng, bare=True) -> float:
    low, high = 0.0, 1.0
    for step in range(12):
        middle = (low + high) / 2
        noise = 0.0 if bare and step == 11 else rng.normal(scale=3.5)
        low, high = (middle, high) if np.sum(x <= middle) + noise < 18 else (low, middle)
    return high


@pytest.mark.parametrize(
    ("bare", "verdict"), [(True, Verdict.REFUTED), (False, Verdict.CONSISTENT)]
)
def test_a_last_round_without_noise_refutes_in_the_transcript(bare: bool, verdict: Verdict) -> None:
    x = np.repeat([0.0, 1.0], [17, 3])
    y = np.repeat([0.0, 1.0], [18, 2])
    found = dp.trace(
        twelve_rounds, x, y, dp.ZCDP(0.5), scope="transcript", draws=200, options={"bare": bare}
    )
    assert found.verdict is verdict


def test_noise_of_a_library_is_drawn_at_the_users_own_line() -> None:
    def mean(x, *, rng) -> float:
        noise = stats.laplace.rvs(scale=0.1, random_state=rng)
        return float(np.mean(x) + noise)

    trace = trace_pair(mean, _X, _Y, draws=5, rng=0)
    assert [each.location.line for each in trace.lines] == [mean.__code__.co_firstlineno + 1]
    assert trace.lines[0].location.file.endswith("test_blamed_lines.py")
