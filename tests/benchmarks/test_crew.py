"""The simulated scheduler of the page of costs."""

from __future__ import annotations

import numpy as np
import pytest
from crew import makespan


@pytest.mark.parametrize("workers", [1, 2, 7, 100])
def test_no_crew_beats_the_longest_check_or_an_even_share(workers: int) -> None:
    chunks = np.random.default_rng(0).exponential(size=50).tolist()
    ends = makespan(chunks, workers, dispatch=0.0)
    least = max(sum(chunks) / workers, *chunks)
    assert least - 1e-9 <= ends <= sum(chunks) / workers + max(chunks)


def test_the_longest_first_ends_within_four_thirds() -> None:
    chunks = sorted(np.random.default_rng(1).exponential(size=50).tolist(), reverse=True)
    assert makespan(chunks, 4, dispatch=0.0) <= 4 / 3 * max(sum(chunks) / 4, chunks[0])


def test_a_scheduler_bounds_a_crew() -> None:
    assert makespan([1e-3] * 1000, 1000, dispatch=5e-3) == pytest.approx(5 + 1e-3)


def test_one_worker_waits_for_nothing_but_its_chunks() -> None:
    assert makespan([1.0, 2.0, 3.0], 1, dispatch=0.1) == pytest.approx(6.1)
