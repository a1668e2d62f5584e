"""A proof that stops blames its line only where data without noise are used on it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp


def bins(scores, *, rng) -> Any:
    counts, edges = np.histogram(scores, bins=5)  # BLAMED
    return edges[int(np.argmax(counts + rng.laplace(0, 2, size=5)))]


def ends(scores, *, rng) -> Any:
    ordered = np.sort(scores)
    edges = np.concatenate([[ordered[0]], ordered, [1.0]])  # BLAMED
    weights = np.diff(edges)
    i = rng.choice(len(scores) + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def end_of_a_gap(scores, *, rng) -> Any:
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    weights = np.diff(edges)
    i = rng.choice(len(scores) + 1, p=weights / weights.sum())
    return edges[i + 1]  # BLAMED


def clipped(scores, *, rng) -> Any:
    noisy = np.mean(scores) + rng.laplace(0, 1)
    return np.clip(noisy, np.min(scores), np.max(scores))  # BLAMED


def stopped(scores, *, rng) -> Any:
    for _ in range(3):
        noisy = np.sum(scores) + rng.laplace(0, 9)
        if not np.any(scores > noisy):  # BLAMED
            break
    return noisy


def in_a_list(scores, *, rng) -> Any:
    if any(each > 0.5 for each in scores):  # BLAMED
        return 0.0
    return rng.laplace(0, 1)


def returned_at_once(scores, *, rng) -> Any:
    if rng.random() < 0.5:
        return float(np.max(scores))  # BLAMED
    return 0.0


def returned_later(scores, *, rng) -> Any:
    largest = np.max(scores)
    return float(largest)  # BLAMED


def an_entry(scores, *, rng) -> Any:
    grid = np.linspace(0, 1, 5)
    below = np.array([np.sum(scores <= edge) for edge in grid])
    best = np.argmax(-np.abs(below - 5) + rng.laplace(0, 2, size=5))
    return grid[best] + below[best] / 20  # BLAMED


def at_a_noisy_rank(scores, *, rng) -> Any:
    ordered = np.sort(scores)
    rank = math.ceil(18 + rng.laplace(0, 1))
    return ordered[min(max(rank, 1), len(ordered)) - 1]  # BLAMED


def without_its_noise(scores, *, rng) -> Any:
    at = 0.5
    for step in range(3):
        gradient = np.mean(scores <= at) - 0.9
        noisy = gradient + rng.laplace(0, 0.2)
        if step == 2:
            noisy = gradient  # BLAMED
        at = np.clip(at - 0.3 * noisy, 0, 1)
    return at


def grid_of_data(scores, *, rng) -> Any:
    grid = np.linspace(scores.min(), scores.max(), 5)  # BLAMED
    below = np.array([np.sum(scores <= edge) for edge in grid])
    return grid[np.argmax(below + rng.laplace(0, 2, size=5))]


def returned_from_a_list(scores, *, rng) -> Any:
    found = [rng.laplace(0, 1)]
    found.append(np.max(scores))
    return found


def checked(scores, *, rng) -> Any:
    if not np.all((scores >= 0) & (scores <= 1)):
        raise ValueError
    return np.sum(scores) + rng.laplace(0, 0.5)


def noised(scores, *, rng) -> Any:
    return np.any(scores > 0.5) + rng.laplace(0, 0.5)


def between_the_ends(scores, *, rng) -> Any:
    low, high = np.min(scores), np.max(scores)  # BLAMED
    for _ in range(3):
        middle = (low + high) / 2
        count = np.sum(scores <= middle) + rng.laplace(0, 3)
        if count < 18:
            low = middle
        else:
            high = middle
    return high


def of_a_data_bound(scores, *, rng) -> Any:
    middle = np.median(scores)  # BLAMED
    return np.sum(scores <= middle) + rng.laplace(0, 0.5)


def weights_of_gaps(scores, *, rng) -> Any:
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    utility = -4.0 * np.abs(np.arange(len(scores) + 1) - 18)  # BLAMED
    with np.errstate(divide="ignore"):
        logits = np.log(np.diff(edges)) + utility
    weights = np.exp(logits - logits.max())
    i = rng.choice(len(scores) + 1, p=weights / weights.sum())
    return rng.uniform(edges[i], edges[i + 1])


def weights_of_a_grid(scores, *, rng) -> Any:
    grid = np.linspace(0, 1, 5)
    utility = -np.abs(np.array([np.sum(scores <= edge) for edge in grid]) - 18.0)
    weights = np.exp(3 * (utility - utility.max()))  # BLAMED
    return rng.choice(grid, p=weights / weights.sum())


def scaled_before(scores, *, rng) -> Any:
    grid = np.linspace(0, 1, 5)
    utility = -np.abs(np.array([np.sum(scores <= edge) for edge in grid]) - 18.0)
    scaled = 2 * utility  # BLAMED
    weights = np.exp(scaled - scaled.max())
    return rng.choice(grid, p=weights / weights.sum())


def a_draw_for_all(scores, *, rng) -> Any:
    below = np.array([np.sum(scores <= edge) for edge in np.linspace(0, 1, 5)])
    return np.argmax(below + rng.laplace(0, 2))  # BLAMED


def with_spoilt_noise(scores, *, rng) -> Any:
    noise = np.clip(rng.laplace(0, 1), -0.1, 0.1)
    return np.max(scores) + noise


def beside_a_public_number(scores, *, rng) -> Any:
    found = np.linspace(0, 1, 5)[rng.choice(5)]
    found = found + 1e-3 * np.max(scores)
    return float(found)


def in_place_of_noise(scores, *, rng) -> Any:
    counts, edges = np.histogram(scores, bins=5, range=(0, 1))
    noisy = counts + rng.laplace(0, 2, size=5)
    noisy[4] = counts[4]  # BLAMED
    return edges[np.argmax(noisy)]


def at_a_chosen_place(scores, *, rng) -> Any:
    below = np.array([np.sum(scores <= edge) for edge in np.linspace(0, 1, 5)])
    weights = np.exp(-0.5 * np.abs(below - 18.0))
    if below[rng.choice(5, p=weights / weights.sum())] < 18:  # BLAMED
        return 0.0
    return 1.0


FUNCTIONS = [
    bins, ends, end_of_a_gap, clipped, stopped, in_a_list, returned_at_once, returned_later,
    returned_from_a_list,
    an_entry, at_a_noisy_rank, without_its_noise, grid_of_data, checked, noised,
    weights_of_gaps, weights_of_a_grid, scaled_before,
    a_draw_for_all, with_spoilt_noise, beside_a_public_number, in_place_of_noise, at_a_chosen_place,
    between_the_ends, of_a_data_bound,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_stop_is_blamed_where_data_without_noise_are_used(function: Any) -> None:
    proof = dp.prove(function, dp.PureDP(1.0), n=20)
    lines, first = inspect.getsourcelines(function)
    planted = [first + i for i, line in enumerate(lines) if "# BLAMED" in line]
    assert not proof.proved
    assert proof.leak == (planted[0] if planted else None), proof.reason
    assert first < proof.line < first + len(lines)


def test_remarks_stand_beside_the_line_that_returns() -> None:
    def returned(scores, *, rng) -> Any:
        total = np.sum(scores)
        return rng.laplace(total, 1.0)

    card = str(dp.prove(returned, dp.PureDP(1.0), n=20))
    (head,) = [line for line in card.splitlines() if "def returned" in line]
    assert "#" not in head
    assert "laplace noise of scale 1 on a sum" in card


def none(scores, *, rng) -> Any:
    np.sort(scores)


def constant(scores, *, rng) -> Any:
    return 0.5


def largest(scores, *, rng) -> Any:
    return np.max(scores) + rng.laplace(0, 1)


@pytest.mark.parametrize(
    ("function", "said"),
    [(none, "returns None"), (constant, "does not depend on the data"), (largest, "")],
)
def test_a_proof_of_what_ignores_the_data_says_so(function: Any, said: str) -> None:
    proof = dp.prove(function, dp.PureDP(1.0), n=20)
    assert proof.proved
    assert said in proof.remark
    assert bool(said) == bool(proof.remark) == ("remark:" in str(proof))
