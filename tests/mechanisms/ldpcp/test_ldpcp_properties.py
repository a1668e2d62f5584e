from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.levels import differing_cells, disagreeing_cells
from support.plain_ldpcp import plain_blocks, plain_labels, plain_scores, plain_search

from dpcp_audit.laws.pools import hps, true_label_scores
from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    LDPCPScores,
    OnMiss,
    Window,
    WindowSearch,
)
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
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


LEVEL = 1e-7


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize("k", [2, 5])
def test_k_rr_reports_have_the_exact_law(k: int) -> None:
    """False alarm: at most 1e-7."""
    mechanism, trials = KaryRandomizedResponse(1.0, k), 100_000
    for label, law in enumerate(mechanism.laws()):
        reports = mechanism.sample(np.full(trials, label), rng=label)
        counts = np.bincount(reports, minlength=k)
        alarms = disagreeing_cells(counts, np.exp(law.log_mass), trials=trials, level=LEVEL / k)
        assert alarms.size == 0


@pytest.mark.statistical(false_alarm=1e-07)
def test_binary_reports_and_their_counts_have_the_exact_law() -> None:
    """False alarm: at most 1e-7."""
    rr, trials = BinaryRandomizedResponse(1.0), 50_000
    expected = np.exp(ShuffledBinaryResponse(1.0).law(3, 8).log_mass)
    bits = np.tile(np.arange(8) < 3, (trials, 1))
    one_by_one = rr.sample(bits, rng=1).sum(axis=1)
    at_once = rr.sample_counts(np.full(trials, 3), 5, rng=2)
    for counts in (one_by_one, at_once):
        cells = np.bincount(counts, minlength=9)
        assert disagreeing_cells(cells, expected, trials=trials, level=LEVEL / 2).size == 0


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize(
    ("on_miss", "step"),
    list(zip(OnMiss, (1e-9, 0.125), strict=True)),
    ids=["spread", "on-midpoints"],
)
def test_label_trials_agree_with_runs_on_users_really_drawn(on_miss: OnMiss, step: float) -> None:
    """False alarm: at most 1e-7."""
    rng = np.random.default_rng(7)
    scores = np.round(hps(rng.dirichlet([0.6, 0.5, 0.4], size=40)) / step) * step
    labels = rng.integers(0, 3, size=40)
    mechanism = LDPCPLabels(
        alpha=0.3, epsilon=1.0, k=3, rounds=5, window_width=0.1, on_miss=on_miss
    )
    trials = 2000
    users = rng.integers(0, 40, size=(trials, 60))
    real = [mechanism.sample(scores[who], labels[who], 1, rng=rng)[0] for who in users]
    run = mechanism.trials(scores, labels, n=60, trials=20_000, rng=rng)
    assert differing_cells(real, run.threshold, cells=16, level=LEVEL).size == 0
    own = true_label_scores(scores, labels)
    covered = (own <= run.threshold[:50, None]).mean(axis=1)
    np.testing.assert_allclose(run.coverage[:50], covered, rtol=1e-12)
