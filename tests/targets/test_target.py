"""A target of each kind, what it is handed, and the bounds of its scores."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np
import pytest
from support.made_targets import SCORES, drawn, plain, quantile, randomizer, refusal

import dpcp_audit as dp
from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    Target,
    TargetError,
)
from dpcp_audit.targets import target as target_module
from dpcp_audit.targets.answers import Randomness, probe
from dpcp_audit.targets.kinds import tried
from dpcp_audit.theorems.calibration_sources import ScoreSource
from dpcp_audit.words.results import Verdict

PAIR = (np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([1, 0]))


def calibrator(function, **settings: Any) -> Target:
    return Target.from_callable(function, kind=Kind.CALIBRATOR, **settings)


def test_each_kind_is_handed_its_data() -> None:
    assert drawn(quantile(lambda scores, *, rng: scores.sum() + 0 * rng.random())) == [1.5] * 4
    assert drawn(randomizer(lambda value, *, rng: (value + 1) % 5), 4) == [0.0] * 4
    assert drawn(calibrator(lambda p, labels, *, rng: p[0, labels[0]]), PAIR) == [0.25] * 4


def test_each_vectorised_kind_is_handed_its_data() -> None:
    many = quantile(lambda scores, *, rng, size: scores.max() + np.arange(size), vectorised=True)
    assert drawn(many) == [0.75, 1.75, 2.75, 3.75]
    shift = randomizer(lambda values, *, rng: (values + 1) % 5, vectorised=True)
    assert drawn(shift, 4) == [0.0] * 4
    both = calibrator(lambda p, labels, *, size, rng: [p[0, labels[0]]] * size, vectorised=True)
    assert drawn(both, PAIR) == [0.25] * 4


def test_one_output_on_each_of_many_inputs_is_that_of_as_many_calls() -> None:
    def noisy(scores, *, rng) -> float:
        scores.sort()
        return scores[0] + rng.normal()

    def many(scores, *, rng, size) -> np.ndarray:
        return scores.max() + rng.normal(size=(size,))

    def seeded(scores, *, seed) -> float:
        return scores[0] + np.random.default_rng(seed).normal()

    def old(scores) -> float:
        return scores[0] + np.random.normal()  # noqa: NPY002  (what such code does)

    sets = np.random.default_rng(1).random((7, 5))
    for target in (quantile(noisy), quantile(many, vectorised=True), quantile(seeded)):
        called, alike = np.random.default_rng(0), np.random.default_rng(0)
        calls = [target(scores, 1, rng=called)[0] for scores in sets]
        assert target.each(list(sets), rng=alike).tolist() == calls
        assert called.random() == alike.random()
    runs = [quantile(old).each(list(sets), rng=np.random.default_rng(0)) for _ in range(2)]
    assert runs[0].tolist() == runs[1].tolist()
    alike = quantile(old).each([np.zeros(1)] * 50, rng=np.random.default_rng(0))
    assert np.unique(alike).size == 50  # each call goes on where the one before ended
    users = Target.from_callable(lambda value, *, rng: value + rng.random(), kind=Kind.LOCAL)
    assert users.each([0.25, 0.5], rng=np.random.default_rng(0)).shape == (2,)


def test_one_output_on_each_is_one_number_or_as_many_on_each() -> None:
    rng, sets = np.random.default_rng(0), [np.zeros(2), np.ones(2)]
    pair = calibrator(lambda p, labels, *, rng: [0.25, 0.5], domain=2)
    assert pair.each([PAIR, PAIR, PAIR], rng=rng).shape == (3, 2)
    with pytest.raises(TargetError, match="returned NaN in draw 2 of 2"):
        quantile(lambda scores, *, rng: np.nan if scores[0] else 0.0).each(sets, rng=rng)
    with pytest.raises(TargetError, match=r"raised ValueError: no \(line .*on scores of shape"):
        quantile(_raises).each(sets, rng=rng)


def _raises(scores, *, rng) -> float:
    raise ValueError("no")


def test_scores_are_writable_float64_and_changing_them_in_place_does_no_harm() -> None:
    def spoil(scores, *, rng) -> float:
        assert scores.dtype == np.float64
        first = scores[0]
        scores.sort()
        scores[:] = 0
        return first

    def spoil_both(p, labels, *, rng) -> float:
        total = p.sum() + labels.sum()
        p[:], labels[:] = 0, 0
        return total

    mine = SCORES.copy()
    assert drawn(quantile(spoil), mine) == [0.75] * 4
    assert np.array_equal(mine, SCORES)
    assert drawn(calibrator(spoil_both), PAIR) == [3.0] * 4
    assert PAIR[0].sum() == 2


@pytest.mark.parametrize("vectorised", [False, True])
def test_values_changed_in_place_do_no_harm(vectorised) -> None:
    def spoil(value, *, rng) -> Any:
        found = value + 0
        value *= 0
        return found

    assert drawn(randomizer(spoil, vectorised=vectorised), 3) == [3.0] * 4


def test_seeds_fit_every_language() -> None:
    seeds = drawn(quantile(lambda scores, *, seed: seed), size=2000)
    assert min(seeds) >= 0
    assert 2**30 < max(seeds) < 2**31


def test_deterministic_code_can_be_declared() -> None:
    target = quantile(np.max, rng=RandomStyle.NONE)
    assert target.randomness is Randomness.NONE
    probe(target, SCORES, randomness=target.randomness, rng=0)


def helper(scores) -> float:
    raise ValueError("at least ten\nscores are needed")


def calls_a_helper(scores) -> float:
    return helper(scores)


def calls_numpy(scores) -> float:
    return float(np.quantile(scores, 2.0))


def test_an_exception_is_told_with_its_line_and_the_input() -> None:
    line = helper.__code__.co_firstlineno + 1
    message = refusal(quantile(calls_a_helper))
    assert message == (
        "calls_a_helper raised ValueError: at least ten scores are needed "
        f"(line {line}), on scores of shape (3,)"
    )
    line = calls_numpy.__code__.co_firstlineno + 1
    assert f"Quantiles must be in the range [0, 1] (line {line})" in refusal(quantile(calls_numpy))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SystemExit(3), "raised SystemExit: 3 (line"),
        (RuntimeError(), "raised RuntimeError (line"),
        (RuntimeError("x" * 1000), "x ... x"),
    ],
)
def test_every_exception_is_one_line(error, words) -> None:
    def fails(scores) -> NoReturn:
        raise error

    message = refusal(quantile(fails))
    assert words in message
    assert len(message) < 400


def test_the_interrupt_is_not_caught() -> None:
    def interrupted(scores) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drawn(quantile(interrupted))


def test_the_input_is_named_for_each_kind() -> None:
    def fails(*data: Any) -> NoReturn:
        raise ValueError("no")

    assert "on the value 3" in refusal(randomizer(fails), 3)
    assert "on 3 values" in refusal(randomizer(fails, vectorised=True), 3)
    expected = "on probabilities of shape (2, 2) and labels of shape (2,)"
    assert expected in refusal(calibrator(fails), PAIR)


def test_a_quantile_is_no_calibrator() -> None:
    with pytest.raises(TargetError, match="as a calibrator, with .probabilities, labels, rng=…."):
        calibrator(lambda scores, *, rng: 1.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"kind": "quantile"},
            r"kind must be a Kind \(quantile, randomizer, calibrator, .*\), got",
        ),
        ({"kind": Kind.RANDOMIZER}, "domain must be given for a randomizer"),
        ({"kind": Kind.RANDOMIZER, "domain": 1}, "domain must be an integer >= 2, got 1"),
        (
            {"kind": Kind.QUANTILE, "domain": 3},
            "domain only applies to a randomizer or local or calibrator or predictor, got 3",
        ),
        ({"kind": Kind.QUANTILE, "bounds": (1, 0)}, "bounds must be a pair with a < b"),
        ({"kind": Kind.QUANTILE, "rng": "seed"}, "rng must be a RandomStyle"),
    ],
)
def test_settings_that_do_not_fit(settings, words) -> None:
    with pytest.raises(ValueError, match=words):
        Target.from_callable(plain, **settings)


def test_inputs_that_do_not_fit() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="scores must have 1 dimension"):
        quantile(plain)(np.zeros((2, 2)), 1, rng=rng)
    with pytest.raises(ValueError, match="size must be an integer >= 1, got 0"):
        quantile(plain)(SCORES, 0, rng=rng)
    with pytest.raises(ValueError, match="value must be a pair .probabilities, labels., got a int"):
        calibrator(lambda p, labels: 1.0)(3, 1, rng=rng)
    with pytest.raises(ValueError, match="labels must lie in 0..1"):
        calibrator(lambda p, labels: 1.0)((PAIR[0], [0, 2]), 1, rng=rng)
    with pytest.raises(ValueError, match="values must lie in 0..4"):
        randomizer(lambda value: 1)(5, 1, rng=rng)


class Clock:
    """A clock that goes on with the calls of a target."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def slow(self, scores) -> float:
        self.now += 0.004
        return 1.0

    def vectorised(self, scores, *, rng, size) -> np.ndarray:
        self.now += 0.004
        return rng.random(size)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which targets are timed."""
    found = Clock()
    monkeypatch.setattr(target_module, "time", found)
    return found


def test_the_time_of_a_draw_is_measured_in_time(clock: Clock) -> None:
    """At 4 ms each, batches of 1, 2, 4 and 8 draws after the first take half of 0.12 seconds."""
    rng = np.random.default_rng(0)
    seconds = quantile(clock.slow).seconds_per_draw(SCORES, rng, at_most_seconds=0.12)
    assert seconds == pytest.approx(0.004)
    assert clock.now == pytest.approx(16 * 0.004)


def test_the_time_of_a_vectorised_draw_is_shared(clock: Clock) -> None:
    target = quantile(clock.vectorised, vectorised=True)
    rng = np.random.default_rng(0)
    seconds = target.seconds_per_draw(SCORES, rng, at_most_seconds=1.0)
    assert seconds == pytest.approx(0.004 / 2**16)
    with pytest.raises(ValueError, match="at_most_seconds must be finite and > 0"):
        target.seconds_per_draw(SCORES, rng, at_most_seconds=0)


@pytest.mark.parametrize("way", ["outputs", "each", "size"])
def test_the_floating_point_errors_that_a_target_raises_are_its_own(way: str) -> None:
    def strict(scores, *, rng, size=None) -> Any:
        np.seterr(all="raise")
        return scores.max() + rng.normal(size=size)

    target = quantile(strict, vectorised=way == "size")
    rng = np.random.default_rng(0)
    with np.errstate(all="warn"):
        if way == "each":
            target.each([SCORES, SCORES], rng=rng)
        else:
            target(SCORES, 4, rng=rng)
        assert set(np.geterr().values()) == {"warn"}


UNIFORM = PiecewiseConstant(cells=(1,))


def conformal(scores, *, most=math.inf) -> float:
    rank = math.ceil(0.9 * (len(scores) + 1))
    return math.inf if rank > len(scores) else min(most, float(np.sort(scores)[rank - 1]))


def sum_of_clipped(scores, *, rng, most=1.0) -> float:
    return float(np.clip(scores, 0, most).sum() + rng.laplace(scale=1.0))


@pytest.mark.known_bad
@pytest.mark.parametrize("bounds", [(0, math.inf), (-math.inf, math.inf), ("none", 3)])
def test_a_clipped_threshold_covers_too_little_of_scores_without_bounds(bounds) -> None:
    settings = {"bounds": bounds, "n": 20, "draws": 800, "randomness": "none"}
    found = dp.audit(conformal, dp.Coverage(0.9), **settings)
    assert found[0].error == ""
    assert found.verdict is not Verdict.REFUTED
    clipped = dp.audit(conformal, dp.Coverage(0.9), options={"most": 0.5}, **settings)
    assert clipped.verdict is Verdict.REFUTED
    assert clipped[0].replay()


@pytest.mark.known_bad
def test_a_sum_is_private_where_it_clips_what_has_no_bounds() -> None:
    settings = {"kind": "vector", "bounds": (0, math.inf), "n": 5, "draws": 800, "trace": False}
    kept = dp.audit(sum_of_clipped, dp.PureDP(1.0), **settings)
    assert kept[0].error == ""
    assert kept.verdict is not Verdict.REFUTED
    wide = dp.audit(sum_of_clipped, dp.PureDP(1.0), options={"most": 100.0}, **settings)
    assert wide.verdict is Verdict.REFUTED


@pytest.mark.parametrize("bounds", [(0.0, math.inf), (-math.inf, math.inf), (-math.inf, 2.0)])
def test_coverage_is_the_share_of_the_scores_that_are_drawn(bounds) -> None:
    source = ScoreSource(law=UNIFORM, bounds=bounds)
    (scores,) = source.draw(20_000, 1, rng=np.random.default_rng(0))
    low, high = tried(bounds)
    assert scores.min() >= bounds[0]
    assert scores.max() <= bounds[1]
    thresholds = np.array([-np.inf, -1.5, 0.25, 1.5, np.inf])
    found = source.coverage(thresholds)
    drawn = (scores[:, None] <= thresholds).mean(axis=0)
    np.testing.assert_allclose(found, drawn, atol=0.02)  # 5.6 standard errors: 2e-8 for each
    assert math.isfinite(low)
    assert math.isfinite(high)


def test_bounds_that_are_none_are_told() -> None:
    with pytest.raises(ValueError, match="bounds must be a pair with a < b"):
        dp.audit(conformal, dp.Coverage(0.9), bounds=(1, 0))
    with pytest.raises(ValueError, match="bounds must be a number, got 'no'"):
        dp.audit(conformal, dp.Coverage(0.9), bounds=(0, "no"))
