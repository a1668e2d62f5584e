"""Every law of finitely many values that the tree enumerates is the law that NumPy draws from."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from dpcp_audit.tracing.draws import NotFiniteError
from dpcp_audit.tracing.outputs import atoms_of, without_marks
from dpcp_audit.tracing.path_tree import release_law
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

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
