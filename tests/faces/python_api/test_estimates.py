"""``dp.estimate``: functions, pairs and samples; what it returns, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp


def noisy_mean(scores: Any, *, rng: Any) -> Any:
    return scores.mean() + rng.laplace(scale=1 / len(scores))


def samples(size: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.laplace(size=size), 1 + rng.laplace(size=size)


def test_samples_answer_any_question_at_one_confidence() -> None:
    found = dp.estimate(samples=samples(), false_alarm=0.1)
    assert found.confidence == 0.9
    for estimate, truth in (
        (found.advantage, 0.3935),
        (found.epsilon(0.1), 0.782),
        (found.delta(0.5), 0.2212),
        (found.renyi(2.0), 0.6037),
    ):
        assert estimate.lower < truth < estimate.upper
        assert estimate.lower <= estimate.value <= estimate.upper
    assert found.rho.value > 0.25
    assert 0.8 < found.mu.value < 1.3
    assert found.tpr(0.1).lower > 0.2


def test_a_result_fits_a_screen_and_has_a_frame_figures_and_reports(tmp_path) -> None:
    found = dp.estimate(None, dp.PureDP(0.5), samples=samples())
    lines = repr(found).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "<pre>" in found._repr_html_()
    frame = found.to_frame()
    named = ["measure", "value", "lower", "upper", "partition_upper", "of", "claimed"]
    assert list(frame.columns) == named
    assert frame["lower"].le(frame["upper"]).all()
    assert found.plot(figure=1).get_xlabel() == "output"
    for name in ("a.html", "a.json", "a.md"):
        assert "membership advantage" in found.report(tmp_path / name).read_text("utf-8")
    with pytest.raises(TypeError, match="truth value"):
        bool(found)


def test_a_given_pair_is_traced_for_its_upper_ends() -> None:
    pair = np.array([0.2, 0.8]), np.array([0.2, 0.3])
    found = dp.estimate(noisy_mean, pair=pair, draws=6000, paths=400)
    truth = 1 - np.exp(-0.25)
    assert found.advantage.lower < truth < found.advantage.upper < truth + 0.15
    assert found.advantage.detail == "of the release"
    assert found.witness["neighbour"] == [0.2, 0.3]
    without = dp.estimate(noisy_mean, pair=pair, draws=6000, paths=0)
    assert "partition" in without.advantage.detail


def test_a_randomizer_is_enumerated() -> None:
    def flip(x: Any, *, rng: Any) -> Any:
        return x ^ int(rng.random() < 0.25)

    found = dp.estimate(flip, dp.LocalDP(1.0), domain=2, draws=2000)
    assert found.confidence == 1
    assert found.epsilon().value == pytest.approx(np.log(3))
    assert found.result.verdict is dp.Verdict.REFUTED


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "function must be given"),
        ({"samples": (np.zeros(100),)}, "tuple of two arrays"),
        ({"samples": (np.zeros(10), np.zeros(10))}, "60 outputs or more"),
        ({"samples": (np.full(100, np.nan), np.zeros(100))}, "nan"),
        ({"samples": (np.zeros(100), np.zeros((100, 2)))}, "alike"),
        ({"samples": samples(), "n": 5}, "samples must be given alone"),
        ({"function": noisy_mean, "pair": [1, 2]}, "pair must be a tuple of two inputs, or a file"),
        ({"function": noisy_mean, "paths": -1}, "paths"),
        ({"function": noisy_mean, "nn": 5}, "nn"),
    ],
)
def test_mistakes_are_said(given, says) -> None:
    with pytest.raises(ValueError, match=says):
        dp.estimate(**given)


def test_two_claims_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="one at most"):
        dp.estimate(noisy_mean, dp.PureDP(1.0), dp.ZCDP(0.5))


@pytest.mark.known_bad
def test_a_pair_of_lists_is_traced_as_it_is_called() -> None:
    """The second number of a list is no second argument."""

    def response(scores: Any, p: float = 0.731, *, rng: Any) -> Any:
        return scores[0] if rng.random() < p else 1 - scores[0]

    def noisy(scores: Any, scale: float = 1.0, *, rng: Any) -> Any:
        return scores[0] + rng.laplace(scale=scale)

    found = dp.estimate(response, pair=([1, 0.9999], [0, 0.9999]), draws=2000)
    assert found.epsilon().value == pytest.approx(np.log(0.731 / 0.269))
    found = dp.estimate(noisy, pair=([1.0, 0.5], [0.0, 0.5]), draws=2000, paths=200)
    assert found.advantage.detail == "of the release"
    assert found.advantage.lower < 1 - np.exp(-0.5) < found.advantage.upper


def test_what_cannot_be_followed_is_said() -> None:
    def hidden(scores: Any, *, rng: Any) -> Any:
        return scores[0] + np.random.Generator(rng.bit_generator).laplace()

    found = dp.estimate(hidden, pair=([1.0], [0.0]), draws=2000, paths=50)
    assert "partition" in found.advantage.detail
    assert "The noise cannot be followed: " in repr(found)


def test_the_loss_of_inputs_that_are_no_neighbours_is_refused() -> None:
    def mean(scores, *, rng) -> float:
        return float(np.mean(scores) + rng.laplace(0, 0.5))

    with pytest.raises(ValueError, match="must hold neighbours"):
        dp.estimate(mean, pair=([0.0, 0.0], [1.0, 1.0]), draws=2000)
