"""Lists, frames and tensors; generators, keys and seeds by other names; data in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.targets import Kind, Target, TargetError
from dpcp_audit.targets.answers import DataForm, handed_over
from dpcp_audit.words.results import Verdict
from dpcp_audit.words.values import Pair

SCORES = np.array([0.25, 0.5])
PAIR = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0])


def drawn(
    function, value: Any = SCORES, kind: Kind = Kind.QUANTILE, **settings: Any
) -> list[float]:
    target = Target.from_callable(function, kind=kind, **settings)
    return target(value, 3, rng=np.random.default_rng(0)).tolist()


def test_lists_are_plain() -> None:
    assert handed_over(SCORES, DataForm.LIST) == [0.25, 0.5]
    assert handed_over((SCORES, SCORES), DataForm.LIST) == [[0.25, 0.5]] * 2
    assert type(handed_over(SCORES, DataForm.LIST)[0]) is float


def test_frames_and_tensors_are_what_libraries_take() -> None:
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    assert isinstance(handed_over(SCORES, DataForm.FRAME), pandas.Series)
    assert isinstance(handed_over(PAIR[0], DataForm.FRAME), pandas.DataFrame)
    assert handed_over(SCORES, DataForm.TENSOR).dtype is torch.float64
    assert drawn(lambda x: x.mean(), given_as=DataForm.FRAME) == [0.375] * 3
    assert drawn(lambda x: x.mean(), given_as=DataForm.TENSOR) == [0.375] * 3


def test_what_a_function_does_to_its_tensor_harms_nothing() -> None:
    pytest.importorskip("torch")
    kept = SCORES.copy()
    drawn(lambda x: x.mul_(2).sum(), given_as=DataForm.TENSOR)
    np.testing.assert_array_equal(kept, SCORES)


def test_generators_by_any_name() -> None:
    expected = np.random.default_rng(0).random(3).tolist()
    assert drawn(lambda x, *, generator: generator.random()) == expected
    assert drawn(lambda rng, x: rng.random()) == expected


def test_seeds_by_any_name() -> None:
    seeds = np.random.default_rng(0).integers(2**31, size=3).tolist()
    assert drawn(lambda x, *, random_state: random_state) == seeds
    assert drawn(lambda x, *, key: key) == seeds
    assert drawn(lambda x, *, key=7: key) == [7.0] * 3


def test_the_generator_of_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def noisy(x, *, generator) -> float:
        return torch.rand(1, generator=generator).item()

    first = drawn(noisy, given_as=DataForm.TENSOR)
    assert len(set(first)) == 3
    assert drawn(noisy, given_as=DataForm.TENSOR) == first


def test_data_are_told_by_their_names_whatever_the_order() -> None:
    def swapped(y, probs) -> float:
        return probs[0, y[0]]

    assert drawn(swapped, PAIR, Kind.CALIBRATOR) == [0.75] * 3
    assert drawn(lambda a, b: a[0, b[0]], PAIR, Kind.CALIBRATOR) == [0.75] * 3


@pytest.mark.known_bad
def test_a_quantile_of_lists_is_audited_and_traced() -> None:
    def middle(scores, *, generator, scale=1.0) -> float:
        assert isinstance(scores, list)
        return sum(scores) + generator.laplace(scale=scale)

    settings: dict[str, Any] = {"given_as": "list", "n": 5, "draws": 800}
    assert dp.audit(middle, dp.PureDP(1.0), **settings).verdict is not Verdict.REFUTED
    broken = dp.audit(middle, dp.PureDP(1.0), options={"scale": 0.3}, **settings)
    assert broken.verdict is Verdict.REFUTED


def test_a_command_is_sent_json() -> None:
    with pytest.raises(ValueError, match="given_as must be one of array, list, frame, tensor"):
        dp.audit(lambda x: 0.5, dp.PureDP(1.0), given_as="series")


def test_a_call_that_raises_says_in_what_form_its_data_were() -> None:
    pytest.importorskip("pandas")
    with pytest.raises(TargetError, match=r"of shape \(2,\), given as a Series, or as a DataFrame"):
        drawn(lambda x: x.iloc[:, 0].mean(), given_as=DataForm.FRAME)


def test_an_end_that_there_is_not_is_none() -> None:
    assert Pair().read((0, None), "bounds") == (0.0, np.inf)
    assert Pair().read(("none", 1), "bounds") == (-np.inf, 1.0)
