"""The sparse vector technique is proved for many queries, and its bound is that of the theorem."""

import numpy as np
import pytest

import dpcp_audit as dp


def flags(scores, *, rng, queries, most, scale) -> list[int]:
    t, found, out = 20 + rng.laplace(scale=2.0), 0, []
    for k in range(queries):
        if np.sum(scores > 1 - k / queries) + rng.laplace(scale=scale) >= t:
            out.append(1)
            found += 1
            if found == most:
                break
        else:
            out.append(0)
    return out


def never_stops(scores, *, rng) -> list[bool]:
    t = 20 + rng.laplace(scale=2.0)
    return [bool(np.sum(scores > k / 40) + rng.laplace(scale=4.0) >= t) for k in range(40)]


@pytest.mark.parametrize(("queries", "most"), [(20, 1), (20, 3), (50, 3), (30, 5)])
def test_the_bound_is_that_of_the_theorem(queries, most) -> None:
    options = {"queries": queries, "most": most}
    right = dp.prove(flags, dp.PureDP(1.0), n=20, options=options | {"scale": 4.0 * most})
    assert right.proved
    assert right.total == pytest.approx(1.0, rel=1e-12)
    less = dp.prove(flags, dp.PureDP(1.0), n=20, options=options | {"scale": 2.0 * most})
    assert less.total == pytest.approx(1.5, rel=1e-12)
    assert less.hint == f"a scale ≥ {4 * most} at this line would prove it"


def test_too_many_paths_are_refused_without_a_wrong_hint() -> None:
    found = dp.prove(never_stops, dp.PureDP(1.0), n=20)
    assert not found.proved
    assert found.reason == "the answers of noisy thresholds take more paths than are read"
    assert "scale" not in found.hint
