"""The event that certifies the largest loss: chosen on a pilot, worth more than the likeliest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.audits.certificates import Hits, bounding_event, certify
from dpcp_audit.audits.search.feature_cells import best_event
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.search.event_search import Event
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee

SIZE, PILOT, LEVEL = 5000, 1650, 0.05


def laplace(value: float, size: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(value + rng.laplace(scale=0.2, size=size))


def tree(value: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Three nodes, each with noise for the whole budget: three times the loss."""
    return 3 * value + rng.laplace(size=(3, size)).sum(axis=0)


def gaussian(value: float, size: int, rng: np.random.Generator) -> FloatArray:
    return 2 * value + rng.normal(size=size)


def certified(
    guarantee: PrivacyGuarantee, event: Event, fresh: list[FloatArray], *, swapped: bool
) -> float:
    x, y = (int(event.contains(z).sum()) for z in (fresh[::-1] if swapped else fresh))
    return certify(guarantee, Hits(x, y, len(fresh[0])), significance=LEVEL).evidence.lower


@pytest.mark.parametrize(
    ("draw", "guarantee", "gain"),
    [
        (laplace, PureDP(1.0), 1.08),
        (tree, PureDP(1.0), 1.05),
        (gaussian, ApproxDP(1.0, 1e-5), 1.15),
        (gaussian, ZCDP(0.5), 0.97),
    ],
)
def test_it_certifies_more_than_the_event_of_largest_excess(
    draw: Callable[[float, int, np.random.Generator], FloatArray],
    guarantee: PrivacyGuarantee,
    gain: float,
) -> None:
    """On average over three repetitions, of the same outputs."""
    bounds: list[tuple[float, float]] = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        samples = [draw(value, SIZE, rng) for value in (1.0, 0.0)]
        pilot, fresh = samples[0][:PILOT], [sample[PILOT:] for sample in samples]
        pilots = pilot, samples[1][:PILOT]
        likeliest, swapped, _ = best_event(guarantee, pilots)
        best = bounding_event(guarantee, likeliest, pilots, trials=SIZE - PILOT, significance=LEVEL)
        assert best is not None
        assert best.refutes
        bounds.append(
            (
                certified(guarantee, best.event, fresh, swapped=best.swapped),
                certified(guarantee, likeliest, fresh, swapped=swapped),
            )
        )
    ours, theirs = np.mean(bounds, axis=0)
    assert ours >= gain * theirs


def test_where_nothing_is_lost_nothing_is_promised() -> None:
    rng = np.random.default_rng(0)
    pilots = rng.normal(size=1000), rng.normal(size=1000)
    event = best_event(PureDP(1.0), pilots).event
    best = bounding_event(PureDP(1.0), event, pilots, trials=2000, significance=LEVEL)
    assert best is None or not best.refutes


def test_an_event_that_only_one_input_gives_is_kept() -> None:
    """No half-line beats an infinite loss, whose event is not one."""
    rng = np.random.default_rng(1)
    first = rng.choice([0.0, 2.0], size=1000)
    second = np.where(rng.random(1000) < 0.5, 1.0, rng.choice([0.0, 2.0], size=1000))
    claim = PureDP(0.5)
    event = best_event(claim, (second, first)).event
    best = bounding_event(claim, event, (second, first), trials=2000, significance=LEVEL)
    assert best is not None
    assert best.event.contains(np.array([0.0, 1.0, 2.0])).tolist() == [False, True, False]
