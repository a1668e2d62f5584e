"""No attack is proved, and each attack with a witness really breaks its claim."""

import math

import numpy as np
import pytest
from proving import (
    attack_functions_arrays,
    attack_functions_beside,
    attack_functions_cells,
    attack_functions_clipping,
    attack_functions_data,
    attack_functions_filled,
    attack_functions_flow,
    attack_functions_forms,
    attack_functions_gaps,
    attack_functions_memory,
    attack_functions_noise,
    attack_functions_order,
    attack_functions_python,
    attack_functions_records,
    attack_functions_rejection,
    attack_functions_rounding,
    attack_functions_rules,
    attack_functions_sampling,
    attack_functions_selection,
    attack_functions_shapes,
    attack_functions_shown,
    attack_functions_sizes,
    attack_functions_spellings,
    attack_functions_thresholds,
    attack_functions_types,
    attack_functions_values,
)
from scipy import stats

import dpcp_audit as dp

ATTACKS = [
    *attack_functions_noise.ATTACKS,
    *attack_functions_data.ATTACKS,
    *attack_functions_python.ATTACKS,
    *attack_functions_forms.ATTACKS,
    *attack_functions_gaps.ATTACKS,
    *attack_functions_thresholds.ATTACKS,
    *attack_functions_rules.ATTACKS,
    *attack_functions_rounding.ATTACKS,
    *attack_functions_sampling.ATTACKS,
    *attack_functions_selection.ATTACKS,
    *attack_functions_filled.ATTACKS,
    *attack_functions_flow.ATTACKS,
    *attack_functions_arrays.ATTACKS,
    *attack_functions_clipping.ATTACKS,
    *attack_functions_memory.ATTACKS,
    *attack_functions_shapes.ATTACKS,
    *attack_functions_shown.ATTACKS,
    *attack_functions_sizes.ATTACKS,
    *attack_functions_values.ATTACKS,
    *attack_functions_order.ATTACKS,
    *attack_functions_types.ATTACKS,
    *attack_functions_records.ATTACKS,
    *attack_functions_rejection.ATTACKS,
    *attack_functions_beside.ATTACKS,
    *attack_functions_cells.ATTACKS,
    *attack_functions_spellings.ATTACKS,
]
WITNESSED = [row for row in ATTACKS if row.event is not None]


def test_the_set_is_large_and_its_names_differ() -> None:
    assert len(ATTACKS) >= 150
    assert len({row.name for row in ATTACKS}) == len(ATTACKS)


@pytest.mark.skipif("prove" not in dir(dp), reason="dp.prove is not there yet")
@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row.name)
def test_an_attack_is_not_proved(row) -> None:
    result = dp.prove(
        row.function, row.claim, n=row.n, bounds=row.bounds, neighbours=row.neighbours
    )
    assert not result.proved, f"{row.reason}: total {result.total}"


def of_a_law_of_scipy(scores):  # noqa: ANN201
    return np.sum(scores) + stats.laplace.rvs(0, 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_random_state", np.random.RandomState(3)),
        ("_rvs", lambda size=None, random_state=None: 0.0),
    ],
)
def test_a_law_of_scipy_that_was_changed_is_not_proved(monkeypatch, name, value) -> None:
    assert dp.prove(of_a_law_of_scipy, dp.PureDP(1.0)).proved
    monkeypatch.setattr(stats.laplace, name, value, raising=False)
    assert not dp.prove(of_a_law_of_scipy, dp.PureDP(1.0)).proved


@pytest.mark.parametrize("row", WITNESSED, ids=lambda row: row.name)
def test_a_witness_shows_more_than_the_claim(row) -> None:
    """The event, or its complement, breaks e^ε of a pure claim by five standard errors.

    For other claims and rare events, one input shows what the other never does.
    """
    counts, done = np.zeros(2, dtype=int), 0
    for calls in (75, 300, 3_000):
        counts += [
            sum(
                bool(
                    row.event(row.function(scores.copy(), rng=np.random.default_rng([seed, salt])))
                )
                for seed in range(done, calls)
            )
            for salt, scores in enumerate(row.pair)
        ]
        if breaks(counts.tolist(), calls, row.claim):
            return
        done = calls
    raise AssertionError(counts)


def breaks(counts, calls, claim) -> bool:
    """Tell whether these counts of an event on two inputs are more than a claim allows."""
    first, second = counts
    factor = math.exp(claim.epsilon) if isinstance(claim, dp.PureDP) else math.inf
    pairs = [(first, second), (calls - first, calls - second)]
    pairs += [(few, many) for many, few in pairs]
    return any(
        (many > 20 and few == 0) or many > factor * few + 5 * math.sqrt(many + factor**2 * few)
        for many, few in pairs
        if few == 0 or factor < math.inf
    )
