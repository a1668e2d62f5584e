"""Arrays of noisy numbers as one object do what arrays of objects do, and what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcp_audit.tracing.draws import UnfollowableError
from dpcp_audit.tracing.noisy_arrays import NoisyArray
from dpcp_audit.tracing.path_losses import path_loss, require_replay
from dpcp_audit.tracing.path_runs import PathRun, SampledRun
from dpcp_audit.tracing.path_tree import ForcedRun
from dpcp_audit.tracing.target_calls import TracedTarget

_COUNTS = np.array([3.0, 0.0, 1.0, 7.0, 2.0, 2.0])
_NEIGHBOUR = np.array([3.0, 1.0, 1.0, 7.0, 1.0, 2.0])


def _bounded(counts: Any, *, rng: Any) -> Any:
    return np.maximum(counts + rng.laplace(scale=2.0, size=6), 0)


def _bound_first(counts: Any, *, rng: Any) -> Any:
    return np.minimum(4.0, counts - rng.normal(scale=2.0, size=6))


def _clipped(counts: Any, *, rng: Any) -> Any:
    return (2 * (counts + rng.laplace(size=6)) / 3).clip(0.5, 3)


def _from_ten(counts: Any, *, rng: Any) -> Any:
    noisy = 10 - (counts + rng.gumbel(size=6))
    return [noisy > 5, noisy <= 8, np.maximum(noisy, 6)]


def _all_kinds(counts: Any, *, rng: Any) -> Any:
    noisy = counts.reshape(2, 3) + rng.normal(rng.exponential(size=(2, 3)), 1.0)
    return noisy.T.ravel()[::-1]


def _changed_in_place(counts: Any, *, rng: Any) -> Any:
    noisy = rng.laplace(size=6)
    part = noisy[2:]
    part += counts[2:]
    np.maximum(noisy, 0, out=noisy)
    noisy[0] = 5
    return noisy


def _prefix_sums(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    for place in range(1, 6):
        noisy[place] += noisy[place - 1]
    return noisy * 2


def _sum_and_parts(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    return [noisy.sum(), noisy[:5]]


def _seen_twice(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    return [noisy > 0, noisy[noisy > 1], noisy]


def _repeated(counts: Any, *, rng: Any) -> Any:
    noisy = np.repeat(counts + rng.laplace(size=6), 2)
    return [noisy > 0, noisy]


def _one_seen_first(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    return [noisy[0] > 2, np.maximum(noisy, 0)]


def _of_two_calls(counts: Any, *, rng: Any) -> Any:
    noisy = np.concatenate([counts[:3] + rng.laplace(size=3), counts[3:] + rng.normal(size=3)])
    return np.clip(noisy, 0, None)


def _chosen(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    return [np.where(noisy > 1, noisy, 0), np.where(counts > 100, 5, -noisy)]


def _total(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.normal(size=6)
    return [np.sum(noisy), noisy.mean()]


def _sorted_in_place(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    noisy.sort()
    return noisy


def _rows_in_place(counts: Any, *, rng: Any) -> Any:
    noisy = rng.laplace(size=(2, 3))
    for row, own in zip(noisy, counts.reshape(2, 3), strict=True):
        row += own  # noqa: PLW2901  (the row is a view)
    first, other = noisy
    other[0] = first[1]
    return noisy


def _prefix_sums_by_iteration(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    for place, number in enumerate(noisy[:5]):
        noisy[place + 1] += number
    return noisy


def _parts_in_place(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    first, other = np.hsplit(noisy, 2)
    first += 1
    np.clip(other, 0, 1, out=other)
    return noisy


def _the_same_array(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    noisy.astype(float, copy=False)[1] = 0
    np.array(noisy, copy=None)[2] = 1  # pyright: ignore[reportArgumentType]  (NumPy takes it)
    np.asarray(noisy)[3] = 2
    np.asanyarray(noisy)[4] = 3
    noisy.view()[5] += 4
    noisy.real[0] -= 1
    return noisy


def _clipped_below(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    noisy.shape = (2, 3)
    return noisy.clip(min=1)


_FUNCTIONS = (
    _rows_in_place,
    _prefix_sums_by_iteration,
    _parts_in_place,
    _the_same_array,
    _clipped_below,
    _bounded,
    _bound_first,
    _clipped,
    _from_ten,
    _all_kinds,
    _changed_in_place,
    _prefix_sums,
    _sum_and_parts,
    _seen_twice,
    _repeated,
    _one_seen_first,
    _of_two_calls,
    _chosen,
    _total,
    _sorted_in_place,
)


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_a_path_is_what_it_is_number_by_number(function: Any, monkeypatch: Any) -> None:
    target = TracedTarget.of(function, {})

    def losses() -> Any:
        return [
            path_loss(target, _COUNTS, _NEIGHBOUR, np.random.default_rng(seed), values=False)
            for seed in range(5)
        ]

    at_once = losses()
    for run in (SampledRun, ForcedRun):
        monkeypatch.setattr(run, "by_arrays", False)
    for first, second in zip(at_once, losses(), strict=True):
        assert first.loss == pytest.approx(second.loss, rel=1e-12, abs=1e-12)
        assert first.error == pytest.approx(second.error, rel=1e-9)
        assert (first.output, first.divergence) == (second.output, second.divergence)
        assert (first.shown, first.answers, first.noisy, first.forked) == (
            second.shown,
            second.answers,
            second.noisy,
            second.forked,
        )


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_an_untraced_call_returns_the_same(function: Any) -> None:
    target = TracedTarget.of(function, {})
    traced = target.outputs(_COUNTS, SampledRun(), np.random.default_rng(3))
    plain = target.plainly(_COUNTS, 3)
    assert [e for e in traced if isinstance(e, float)] == [e for e in plain if isinstance(e, float)]


def test_a_comparison_is_one_observation() -> None:
    path = SampledRun()
    TracedTarget.of(_bounded, {}).outputs(_COUNTS, path, np.random.default_rng(0))
    assert [each.is_whole for each in path.events] == [True, True]
    assert len(path.seen) == 6 + np.count_nonzero(np.array([e.result for e in path.seen[:6]]))


def _leaking(counts: Any, *, rng: Any) -> Any:
    noisy = counts + rng.laplace(size=6)
    return noisy[:5] if counts[1] else noisy[1:]


def test_other_entries_on_the_neighbour_are_found() -> None:
    target = TracedTarget.of(_leaking, {})
    found = path_loss(target, _COUNTS, _NEIGHBOUR, np.random.default_rng(0), values=False)
    assert found.divergence is not None
    assert not found.certain


def test_it_passes_for_an_array_of_numpy() -> None:
    path: PathRun = SampledRun()
    seen: list[Any] = []

    def kept(counts: Any, *, rng: Any) -> int:
        seen.append(counts + rng.laplace(size=6))
        return 0

    TracedTarget.of(kept, {}).outputs(_COUNTS, path, np.random.default_rng(0))
    (noisy,) = seen
    assert type(noisy) is NoisyArray
    assert isinstance(noisy, np.ndarray)
    assert (noisy.shape, noisy.ndim, noisy.size, len(noisy)) == ((6,), 1, 6, 6)
    assert noisy.dtype == np.float64
    assert not hasattr(noisy, "detach")


def _flat(noisy: Any) -> None:
    noisy.flat[0] = 1


def _in_a_row(noisy: Any) -> None:
    np.ascontiguousarray(noisy)[0] = 1


def _turned(noisy: Any) -> None:
    np.rot90(noisy.reshape(2, 3))[0, 0] = 1


def _copied_to(noisy: Any) -> None:
    np.copyto(noisy, np.zeros(6))


def _put(noisy: Any) -> None:
    np.put(noisy, [0], 1)


def _cumulated(noisy: Any) -> None:
    np.cumsum(noisy, out=noisy)


def _not_a_number(noisy: Any) -> None:
    np.nan_to_num(noisy, copy=False)


_CHANGES = (
    _flat,
    _in_a_row,
    _turned,
    _copied_to,
    _put,
    _cumulated,
    _not_a_number,
)


@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("by_arrays", [True, False])
def test_a_change_in_place_is_kept_or_refused(
    change: Any, by_arrays: bool, monkeypatch: Any
) -> None:
    def changed(counts: Any, *, rng: Any) -> Any:
        noisy = counts + rng.laplace(size=6)
        change(noisy)
        return noisy

    monkeypatch.setattr(SampledRun, "by_arrays", by_arrays)
    target = TracedTarget.of(changed, {})
    try:
        traced = target.outputs(_COUNTS, SampledRun(), np.random.default_rng(3))
    except UnfollowableError:
        return
    plain = target.plainly(_COUNTS, 3)
    assert [e for e in traced if isinstance(e, float)] == [e for e in plain if isinstance(e, float)]


def test_a_sum_that_is_not_a_number_reads_nothing() -> None:
    def undefined(counts: Any, *, rng: Any) -> Any:
        noisy = counts + rng.laplace(size=6)
        noisy[0] = np.nan
        return noisy.sum()

    require_replay(TracedTarget.of(undefined, {}), _COUNTS, 0)
