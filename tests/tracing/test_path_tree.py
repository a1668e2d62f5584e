"""Laws of randomizers by enumeration, against their closed forms."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from time import time_ns
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from support import user_mechanisms as mine
from support.followed_paths import enumerated

from dpcp_audit.tracing.draws import NotFiniteError, UnfollowableError
from dpcp_audit.tracing.outputs import atoms_of, pair_of, without_marks
from dpcp_audit.tracing.path_tree import release_law
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator


@pytest.mark.parametrize(
    ("function", "epsilon"),
    [
        (mine.randomised_response, 2.0),
        (mine.unary_encoding, 2.3),
        (mine.rappor, 2 * math.log(0.85 / 0.15)),
        (mine.hadamard_response, 1.0),
    ],
)
def test_the_loss_of_a_randomizer_is_exact(function, epsilon) -> None:
    values = range(4)
    options = {"k": 4} if function is mine.rappor else {}
    target = TracedTarget.of(function, options)
    laws = [release_law(target, value) for value in values]
    for law in laws:
        assert np.logaddexp.reduce(list(law.values())) == pytest.approx(0.0, abs=1e-12)
    losses = [
        law[output] - other.get(output, -math.inf)
        for law in laws
        for other in laws
        for output in law
    ]
    assert max(losses) == pytest.approx(epsilon, abs=1e-12)


def test_what_noise_settles_is_the_same_but_for_rounding() -> None:
    def share(count, *, rng) -> Any:
        return (count + rng.binomial(3, 0.5)) / 7

    pair = enumerated(share, 2, 3)
    assert pair.law.log_mass.size == 5
    both = np.isfinite(pair.law.log_mass) & np.isfinite(pair.neighbour_law.log_mass)
    assert both.sum() == 3


def test_rounding_between_two_laws_parts_no_output() -> None:
    pair = pair_of({(0.3,): 0.0}, {(0.3 * (1 + 1e-9),): 0.0})
    assert pair.max_divergence() == 0.0
    assert pair_of({(0.3,): 0.0}, {(0.31,): 0.0}).max_divergence() == math.inf
    assert pair_of({(10**9,): 0.0}, {(10**9 + 1,): 0.0}).max_divergence() == math.inf


def test_a_leaking_output_has_an_infinite_loss() -> None:
    def leaky(value, *, rng) -> Any:
        return (value, int(rng.random() < 0.5))

    assert enumerated(leaky, 0, 1).max_divergence() == math.inf


def test_continuous_values_are_not_finite() -> None:
    with pytest.raises(NotFiniteError, match="the value of a laplace draw is read"):
        enumerated(mine.noisy_mean, np.zeros(3), np.ones(3))


def test_a_large_tree_is_refused_early() -> None:
    with pytest.raises(NotFiniteError, match="more than 100 paths"):
        enumerated(mine.noisy_search, np.zeros(30), np.ones(30), rounds=30, most=100)


def test_a_deep_tree_of_few_paths_is_enumerated() -> None:
    def first_success(value, *, rng) -> Any:
        return next((trial for trial in range(25) if rng.random() < 0.5), None)

    law = release_law(TracedTarget.of(first_success, {}), 0, most=100)
    assert len(law) == 26
    masses = {without_marks(output): mass for output, mass in law.items()}
    assert math.exp(masses[(24,)]) == pytest.approx(2.0**-25, rel=1e-12)


def test_an_error_of_the_target_says_where() -> None:
    def broken(value, *, rng) -> Any:
        raise KeyError("gone")

    with pytest.raises(UnfollowableError, match="KeyError") as found:
        enumerated(broken, 0, 1)
    assert found.value.line[0] == __file__


def by_rejection(value, *, rng, epsilon, k=4) -> int:
    """Return k-ary randomised response; another value is drawn until it differs."""
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + k - 1):
        return int(value)
    while True:
        other = int(rng.integers(k))
        if other != value:
            return other


@pytest.mark.known_bad
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_loop_that_draws_until_something_is_accepted_has_its_law(epsilon) -> None:
    found = enumerated(by_rejection, 0, 1, epsilon=epsilon, most=1000)
    assert found.max_divergence() == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.known_bad
def test_what_is_left_out_of_a_loop_never_makes_an_infinite_loss() -> None:
    def tries(x, *, rng) -> int:
        count = 0
        while rng.random() < 0.5 + x:
            count += 1
        return count

    with pytest.raises(NotFiniteError, match="left out"):
        enumerated(tries, 0.0, 0.1, most=1000)


def largest_in_a_list(scores, *, rng, law) -> int:
    """Return the largest of noisy scores: 1-DP for scores of sensitivity 1."""
    noisy = [score + getattr(rng, law)(scale=2.0) for score in scores]
    return max(range(len(noisy)), key=noisy.__getitem__)


def largest_in_a_loop(scores, *, rng, law) -> int:
    """Return the same, by comparisons of two."""
    best, largest = -1, -math.inf
    for place, score in enumerate(scores):
        noisy = score + getattr(rng, law)(scale=2.0)
        if noisy > largest:
            best, largest = place, noisy
    return best


@pytest.mark.known_bad
@pytest.mark.parametrize("law", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("function", [largest_in_a_list, largest_in_a_loop])
def test_outputs_as_unlikely_as_rounding_never_make_an_infinite_loss(function, law) -> None:
    """The far score wins with a probability of about 1e-15: on one input only, as it seemed."""
    losses: list[float] = []
    for gap in np.arange(64.0, 74.0, 3.0):
        pair = [1.0, gap - 1, gap - 1], [0.0, gap, gap]
        try:
            losses.append(enumerated(function, *pair, law=law).max_divergence())
        except NotFiniteError:
            continue
    assert losses
    assert max(losses) <= 1 + 1e-6


@pytest.mark.known_bad
def test_a_bit_of_a_tail_never_makes_an_infinite_loss() -> None:
    def exceeds(x, *, rng) -> bool:
        return bool(x + rng.laplace() > 34.2)

    with pytest.raises(NotFiniteError, match="left out"):
        enumerated(exceeds, 0.0, 1.0)


@pytest.mark.known_bad
def test_a_branch_as_unlikely_as_rounding_is_said_to_be_left_out() -> None:
    def mostly_a_coin(value, *, rng) -> int:
        if rng.random() < 5e-16:
            return int(value)
        return int(rng.integers(2))

    law = release_law(TracedTarget.of(mostly_a_coin, {}), 2)
    assert law.missed == pytest.approx(5e-16, rel=1e-9, abs=0)


LATE = 9 * 10**18


def by_module(value, *, rng) -> int:
    """Return the value from the year 2255 on, else noise: no run of the tests sees it do so."""
    noise = int(rng.integers(3))
    return int(value) if time.time_ns() > LATE else noise


def by_name(value, *, rng) -> int:
    """Return the same, by a function that was imported by name."""
    noise = int(rng.integers(3))
    return int(value) if time_ns() > LATE else noise


@pytest.mark.known_bad
@pytest.mark.parametrize("function", [by_module, by_name])
def test_code_that_reads_a_clock_has_no_law(function) -> None:
    """What it does at other instants no enumeration of its draws would show."""
    with pytest.raises(NotFiniteError, match="a clock is read"):
        enumerated(function, 1, 2)
    assert time.time_ns is time_ns


def test_a_log_message_has_the_time_and_the_code_its_law(caplog) -> None:
    def respond(value, *, rng) -> int:
        logging.getLogger(__name__).warning("called")
        return value if rng.random() < 0.75 else 1 - value

    assert enumerated(respond, 0, 1).max_divergence() == pytest.approx(math.log(3))
    assert caplog.records


_DRAWS, _ALARM = 4000, 1e-8


def _shuffled(rng: Generator) -> list[int]:
    values = [1, 2, 3]
    rng.shuffle(values)
    return values


_LAWS: dict[str, Callable[[Generator], Any]] = {
    "integers": lambda rng: int(rng.integers(3)),
    "endpoint": lambda rng: int(rng.integers(2, 5, endpoint=True)),
    "several integers": lambda rng: rng.integers(0, 2, size=3).tolist(),
    "choice": lambda rng: int(rng.choice([3, 4, 5])),
    "weighted": lambda rng: int(rng.choice([3, 4, 5], p=[0.2, 0.3, 0.5])),
    "replaced": lambda rng: rng.choice(3, 2).tolist(),
    "not replaced": lambda rng: rng.choice(4, 2, replace=False).tolist(),
    "one, unshuffled": lambda rng: int(rng.choice(4, replace=False, shuffle=False)),
    "permutation": lambda rng: rng.permutation(3).tolist(),
    "shuffle": _shuffled,
    "binomial": lambda rng: int(rng.binomial(3, 0.3)),
    "bits": lambda rng: (rng.random(3) < 0.3).tolist(),
    "argmin": lambda rng: int(np.argmin(rng.random(3))),
    "searchsorted": lambda rng: int(np.searchsorted([0.2, 0.5, 1.0], rng.random())),
    "digitize": lambda rng: int(np.digitize(rng.random(), [0.2, 0.5, 1.0])),
    "poisson": lambda rng: int(rng.poisson(1.0) >= 2),
    "larger of two": lambda rng: int(rng.random() > rng.random()),
    "geometric": lambda rng: int(rng.geometric(0.5) > 2),
    "sign": lambda rng: bool(rng.laplace() > 0),
}


@pytest.mark.statistical(false_alarm=_ALARM * len(_LAWS))
@pytest.mark.parametrize("name", _LAWS)
def test_an_enumerated_law_is_the_one_that_is_drawn_from(name: str) -> None:
    def drawn(value: int, *, rng: Generator) -> Any:
        del value
        return _LAWS[name](rng)

    law = release_law(TracedTarget.of(drawn, {}), 0)
    masses = {without_marks(output): np.exp(mass) for output, mass in law.items()}
    rng = np.random.default_rng(20)
    counts = Counter(without_marks(atoms_of(drawn(0, rng=rng), ("", 0))) for _ in range(_DRAWS))
    assert set(counts) <= set(masses)
    expected = np.array(list(masses.values())) / sum(masses.values())
    found = np.array([counts[output] for output in masses])
    assert stats.chisquare(found, _DRAWS * expected).pvalue > _ALARM


@pytest.mark.known_bad
def test_numpys_unshuffled_choice_is_not_enumerated_as_if_it_were_shuffled() -> None:
    """Of two among two the order is always the same; the twin above is shuffled."""

    def drawn(value: int, *, rng: Generator) -> Any:
        return (rng.choice(2, 2, replace=False, shuffle=False) + value).tolist()

    with pytest.raises(NotFiniteError):
        release_law(TracedTarget.of(drawn, {}), 0)
