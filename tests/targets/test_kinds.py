"""Every kind: what it returns, a correct and a broken twin, and wrong uses in one line."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.samplers import context, on_pair

import dpcp_audit as dp
from dpcp_audit.targets import Kind, RandomStyle, Target, TargetError, TargetSpec
from dpcp_audit.targets.answers import Randomness
from dpcp_audit.words.guarantees import Neighbours, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.results import Outcome
    from dpcp_audit.words.validate import FloatArray


EPSILON = 1.0


def histogram(scores, *, rng, scale=2.0) -> np.ndarray:
    """Five counts: one replaced score changes two of them by one."""
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.laplace(scale=scale, size=5)


def bits(value, *, rng, keep=0.5) -> np.ndarray:
    """Optimised unary encoding over four values, its bits as they are."""
    chances = np.full(4, 1 / (np.exp(EPSILON) + 1))
    chances[value] = keep
    return rng.random(4) < chances


def noisy_value(value, *, rng, scale=1.0) -> float:
    return value + rng.laplace(scale=scale)


TWINS: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    (histogram, {"scale": 0.4}, dp.PureDP(EPSILON), {"kind": "vector", "n": 10}),
    (bits, {"keep": 0.8}, dp.LocalDP(EPSILON), {"kind": "local", "domain": 4}),
    (noisy_value, {"scale": 0.5}, dp.LocalDP(EPSILON), {"kind": "local"}),
]


def verdict(function, guarantee, **settings: Any) -> Verdict:
    result = dp.audit(function, guarantee, draws=3000, **settings)
    assert result[0].error == ""
    return result.verdict


@pytest.mark.known_bad
@pytest.mark.parametrize(("function", "broken", "guarantee", "settings"), TWINS)
def test_the_broken_twin_is_refuted_and_the_correct_one_not(
    function, broken, guarantee, settings
) -> None:
    assert verdict(function, guarantee, trace=False, **settings) is not Verdict.REFUTED
    for trace in (False, True):
        given = settings | {"options": broken, "trace": trace}
        assert verdict(function, guarantee, **given) is Verdict.REFUTED


def test_arrays_are_flattened_and_one_number_stays_one() -> None:
    rng = np.random.default_rng(0)
    square = Target.from_callable(lambda scores: np.eye(2), kind=Kind.VECTOR)
    assert square(np.zeros(3), 2, rng=rng).tolist() == [[1, 0, 0, 1]] * 2
    alone = Target.from_callable(lambda scores: [0.5], kind=Kind.VECTOR)
    assert alone(np.zeros(3), 2, rng=rng).tolist() == [0.5, 0.5]
    many = Target.from_callable(
        lambda scores, size: np.zeros((size, 2, 3)), kind=Kind.VECTOR, vectorised=True
    )
    assert many(np.zeros(3), 4, rng=rng).shape == (4, 6)


def test_a_vectorised_local_randomizer_takes_an_array_of_values() -> None:
    rng = np.random.default_rng(0)
    target = Target.from_callable(lambda values: 2 * values, kind=Kind.LOCAL, vectorised=True)
    assert target(0.25, 3, rng=rng).tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([[1.0, 2.0], [1.0]], "returned 1 numbers in one call and 2 in another"),
        (
            [np.zeros(0)],
            "returned an array of shape (0,) and type float64, not an array of numbers",
        ),
        ([[0.0, np.nan]], "returned NaN"),
    ],
)
def test_what_is_no_array_of_one_length_is_refused(answers, words) -> None:
    rng = np.random.default_rng(0)
    given = iter(answers)
    target = Target.from_callable(lambda scores: next(given), kind=Kind.VECTOR)
    with pytest.raises(TargetError) as caught:
        target(np.zeros(3), len(answers), rng=rng)
    assert words in str(caught.value)


def test_wrong_uses_are_told_in_one_line() -> None:
    with pytest.raises(
        ValueError, match="Coverage applies to .*, not to a vector\nhint: return the threshold"
    ):
        dp.audit(histogram, dp.Coverage(0.9), kind="vector")
    with pytest.raises(
        ValueError, match="LocalDP applies to a randomizer or local, not to a vector"
    ):
        dp.audit(histogram, dp.LocalDP(1.0), kind="vector")
    with pytest.raises(ValueError, match="domain applies to a randomizer or local"):
        dp.audit(histogram, dp.PureDP(1.0), kind="vector", domain=3)


PERL = Path(__file__).parents[2] / "examples" / "command_quantile.pl"
LOW, HIGH = np.zeros(20), np.eye(20)[0]


def audit(target: Target, inputs: tuple[FloatArray, FloatArray] = (LOW, HIGH)) -> Outcome:
    pair = Neighbours(relation=Relation.SUBSTITUTION, value=inputs[0], neighbour=inputs[1])
    check = on_pair(target, PureDP(1.0), pair, randomness=target.randomness)
    return check(context(0, significance=1e-6))


def mean(scores, *, rng, scale=1.0) -> float:
    """A 1-DP mean of scores in [0, 1] at scale 1."""
    return float(scores.mean() + scale * rng.laplace() / len(scores))


def mean_of_its_own(scores) -> float:
    return float(scores.mean() + np.random.default_rng().laplace() / len(scores))


def mean_of_a_global(scores) -> float:
    return float(scores.mean() + np.random.laplace() / len(scores))  # noqa: NPY002


def mean_of_a_seed(scores, seed) -> float:
    return mean(scores, rng=np.random.default_rng(seed))


def sorts_in_place(scores, *, rng) -> float:
    """Were it handed the caller's array, all but the first call would see other scores."""
    result = mean(scores, rng=rng)
    scores[:] = 1.0
    return result


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function", [mean, mean_of_its_own, mean_of_a_global, mean_of_a_seed, sorts_in_place]
)
def test_correct_code_of_every_style_is_not_refuted(function: Callable[..., float]) -> None:
    """Refuted with probability at most 1e-6."""
    assert audit(Target.from_callable(function, kind=Kind.QUANTILE)).verdict is not Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
@pytest.mark.parametrize(("epsilon", "refuted"), [(1.0, False), (4.0, True)])
def test_a_program_is_audited_as_a_function_is(epsilon: float, refuted: bool) -> None:
    """Wrongly refuted with probability at most 1e-6.

    The median is sought of scores at 1/2, one of which moves to 0: that multiplies the odds of
    an output below 1/2, from e^(−ε/2), by e^(ε/2).
    """
    spec = TargetSpec(
        kind=Kind.QUANTILE,
        command=("perl", str(PERL)),
        randomness=RandomStyle.SEED,
        options={"epsilon": epsilon, "alpha": 0.5},
    )
    tied = np.full(19, 0.5)
    with spec.open() as target:
        assert target.randomness is Randomness.GENERATOR
        found = audit(target, (tied, np.append(tied[1:], 0.0)))
        assert (found.verdict is Verdict.REFUTED) is refuted


@pytest.mark.known_bad
@pytest.mark.filterwarnings("ignore:.*fork")  # Python 3.12 warns of threads
def test_a_child_that_a_target_forks_does_not_go_on_with_the_audit() -> None:
    """Else every call would double the number of processes that audit."""
    here, children = os.getpid(), list[int]()

    def forks(scores: FloatArray, *, rng: np.random.Generator) -> float:
        if child := os.fork():
            children.append(child)
        return float(rng.random())

    with Target.from_callable(forks, kind=Kind.QUANTILE) as target:
        outputs = target(np.zeros(3), 8, rng=np.random.default_rng(0))
    assert os.getpid() == here
    assert outputs.shape == (8,)
    assert len(children) == 8
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
