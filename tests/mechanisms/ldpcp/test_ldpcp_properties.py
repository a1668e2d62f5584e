from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from support.plain_ldpcp import plain_blocks, plain_labels, plain_scores, plain_search

from dpcp_audit.laws.pools import aps, aps_as_printed
from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    LDPCPScores,
    OnMiss,
    Window,
    WindowSearch,
)
from dpcp_ledger.mechanisms.shuffled_response import ShuffledBinaryResponse

search_fields = {
    "alpha": st.sampled_from([0.05, 0.1, 0.3, 0.7]),
    "rounds": st.integers(1, 6),
    "window_width": st.sampled_from([0.05, 0.1, 0.2]),
    "window": st.sampled_from(Window),
    "on_miss": st.sampled_from(OnMiss),
    "starred": st.booleans(),
}
dyadic = st.integers(0, 16).map(lambda i: i / 16)  # midpoints meet the scores
fortieths = st.integers(-20, 60)  # the windows' ends are fortieths


@given(
    search=st.builds(WindowSearch, **search_fields),
    table=st.lists(st.lists(fortieths, min_size=6, max_size=6), min_size=1, max_size=5),
)
def test_side_by_side_runs_are_the_plain_search(
    search: WindowSearch, table: list[list[int]]
) -> None:
    z = np.array(table) / 40

    def estimate(j: int, q: np.ndarray, which: np.ndarray) -> np.ndarray:
        assert q.shape == which.shape
        return z[which, j]

    found = search.search(estimate, runs=len(table))
    for run, row in enumerate(table):
        threshold, missed = plain_search(search, lambda j, _, row=row: Fraction(row[j - 1], 40))
        assert (found.threshold[run], found.missed[run]) == (threshold, missed)


@given(
    mechanism=st.builds(
        LDPCPScores,
        epsilon=st.just(60.0),  # a report is flipped with probability 1e-26
        debiasing=st.sampled_from(Debiasing),
        blocks=st.sampled_from(Blocks),
        **search_fields,
    ),
    scores=st.lists(dyadic, min_size=6, max_size=40).map(np.array),
)
def test_noiseless_ldp_cp_s_is_algorithm_3(mechanism: LDPCPScores, scores: np.ndarray) -> None:
    expected = plain_scores(mechanism, scores, None)
    np.testing.assert_array_equal(mechanism.sample(scores, 3, rng=0), np.full(3, expected))


@given(
    mechanism=st.builds(
        LDPCPScores, epsilon=st.just(1.0), blocks=st.sampled_from(Blocks), **search_fields
    ),
    n=st.integers(6, 50),
)
def test_blocks_are_the_papers_or_a_partition(mechanism: LDPCPScores, n: int) -> None:
    blocks = mechanism.blocks_of(n)
    assert [[int(i) + 1 for i in block] for block in blocks] == plain_blocks(mechanism, n)
    assert [block.size for block in blocks] == mechanism.block_sizes(n)
    if mechanism.blocks is Blocks.CORRECTED:
        np.testing.assert_array_equal(np.concatenate(blocks), np.arange(n))


@given(
    mechanism=st.builds(
        LDPCPLabels, epsilon=st.sampled_from([0.5, 2.0, 20.0]), k=st.just(3), **search_fields
    ),
    users=st.lists(
        st.tuples(st.tuples(dyadic, dyadic, dyadic), st.integers(0, 2)), min_size=1, max_size=12
    ),
)
def test_the_aggregator_of_ldp_cp_l_is_algorithm_2(
    mechanism: LDPCPLabels, users: list[tuple[tuple[float, float, float], int]]
) -> None:
    scores = np.array([row for row, _ in users])
    noisy = np.array([label for _, label in users])
    threshold, distance = plain_labels(mechanism, scores, noisy)
    assume(distance > 1e-9)  # rounding decides a tie
    np.testing.assert_array_equal(mechanism.from_noisy(scores, noisy), [threshold])
    runs = np.stack([noisy, noisy])
    np.testing.assert_array_equal(mechanism.from_noisy(scores, runs), [threshold, threshold])


@given(
    weights=st.lists(
        st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any), min_size=1, max_size=6
    ),
    u=st.floats(0, 1),
)
def test_scores_of_more_likely_labels_are_never_higher(weights: list[list[int]], u: float) -> None:
    p = np.array(weights) / np.sum(weights, axis=1, keepdims=True)
    us = np.full(p.shape[0], u)
    order = np.argsort(-p, axis=1, kind="stable")
    for scores, most in ((aps(p), 1), (aps(p, u=us), 1), (aps_as_printed(p, u=us), 2)):
        assert scores.min() >= 0
        assert scores.max() <= most
        if most == 1:
            assert (np.diff(np.take_along_axis(scores, order, axis=1), axis=1) >= -1e-15).all()


@given(epsilon=st.floats(0.01, 50), n=st.integers(1, 60), data=st.data())
def test_the_shuffled_count_is_a_law_with_the_right_mean_and_loss(
    epsilon: float, n: int, data: st.DataObject
) -> None:
    mechanism = ShuffledBinaryResponse(epsilon)
    ones = data.draw(st.integers(0, n - 1))
    pair = mechanism.pair(n, ones)
    mass = np.exp(pair.neighbour_law.log_mass)
    rr = mechanism.local
    mean = ones * rr.keep_probability + (n - ones) * rr.flip_probability
    assert abs(mass.sum() - 1) < 1e-12
    assert abs(mass @ np.arange(n + 1) - mean) < 1e-11 * n
    loss = pair.loss
    assert np.abs(loss).max() <= epsilon * (1 + 1e-12) + 1e-12
