"""Algorithm 1 line for line: it is the mechanism's search, and ends where that does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_ledger.pcoqs import algorithm

MECHANISM = PCOQS(alpha=0.1, rho=0.5)


@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_counted_search_is_the_mechanisms(n: int) -> None:
    """Without noise both end at the same threshold, to what doubles round."""
    scores = np.sort(np.random.default_rng(n).random(n))
    done = algorithm.printed_search(
        [Fraction(s) for s in scores], rank=MECHANISM.rank(n), resolution=Fraction(1e-10)
    )
    noise = np.zeros((MECHANISM.rounds, 1))
    (released,) = MECHANISM.search(scores, MECHANISM.rank(n), noise)
    assert float(done.result) == pytest.approx(float(released), abs=1e-12)
    assert (done.rounds, done.comparisons) == (34, 34 * n)


def test_the_mechanism_itself_passes_the_end_of_the_interval() -> None:
    noise = np.full((34, 1), -1e9)
    (released,) = MECHANISM.search(np.array([0.5]), 1, noise)
    expected = algorithm.beyond_the_end(1e-10).value
    assert (float(released) - 1) / 1e-10 == pytest.approx(expected, rel=1e-4)
