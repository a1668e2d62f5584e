"""What is proved, at which total, and what stops a proof."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from support import proved_functions, refused_functions, seeded_module
from support.proof_marks import PROVED, REFUSED

import dpcp_audit as dp
from dpcp_audit.proving.distances import Hidden
from dpcp_audit.targets.loading import load

assert proved_functions, refused_functions


@pytest.mark.parametrize(
    ("function", "claim", "total"), PROVED, ids=lambda x: getattr(x, "__name__", "")
)
def test_proved_exactly_at_its_total(function, claim, total) -> None:
    proof = dp.prove(function, claim, n=100)
    assert proof.proved, (proof.line, proof.reason)
    assert proof.total == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("function", "reason"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("claim", [dp.PureDP(1), dp.ZCDP(1)], ids=str)
def test_refused_with_its_line_and_reason(function, reason, claim) -> None:
    proof = dp.prove(function, claim, n=100)
    assert not proof.proved
    assert proof.line is not None
    first = function.__code__.co_firstlineno
    assert first <= proof.line <= first + 8
    if proof.stop is not None:
        assert re.search(reason, proof.reason), proof.reason


def test_noise_of_a_generator_that_the_file_seeds_proves_nothing() -> None:
    proof = dp.prove(seeded_module.noisy_sum, dp.PureDP(1), n=100)
    assert not proof.proved
    assert "seeds" in proof.reason


SEEDING = (
    "from numpy.random import seed",
    "from numpy.random import *\nif False:\n    seed(0)",
    "if False:\n    np.random.set_bit_generator(np.random.MT19937(0))",
)


@pytest.mark.parametrize(("number", "seeding"), [*enumerate(("", *SEEDING))])
def test_a_file_may_seed_under_any_name(number, seeding, tmp_path) -> None:
    path = tmp_path / f"seeding_{number}.py"
    body = "def noisy(scores):\n    return np.sum(scores) + np.random.laplace(0, 1.0)\n"
    path.write_text(f"import numpy as np\n{seeding}\n\n\n{body}")
    assert dp.prove(load(f"{path}:noisy"), dp.PureDP(1)).proved is (not seeding)


def test_a_function_that_was_changed_after_loading_is_not_read(monkeypatch) -> None:
    made = eval(compile("lambda scores: scores", seeded_module.__file__, "eval"))  # noqa: S307
    monkeypatch.setattr(seeded_module.noisy_sum, "__code__", made.__code__)
    assert "was changed after loading" in dp.prove(seeded_module.noisy_sum, dp.PureDP(1)).reason


def test_a_patched_module_is_not_known(monkeypatch) -> None:
    assert dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5)).proved
    monkeypatch.setattr(np, "count_nonzero", lambda x: 1000 * x.sum())
    assert not dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5)).proved


@pytest.mark.parametrize("factor", [0.9, 0.5])
def test_less_noise_costs_its_square_and_the_remedy_is_named(factor) -> None:
    def quantile(scores, *, rng) -> float:
        lo, hi = 0.0, 1.0
        for _ in range(9):
            m = (lo + hi) / 2
            c = np.sum(scores <= m) + rng.normal(0, 3 * factor)
            lo, hi = (m, hi) if c < 45 else (lo, m)
        return hi

    proof = dp.prove(quantile, dp.ZCDP(0.5), n=50)
    assert not proof.proved
    assert proof.total == pytest.approx(0.5 / factor**2)
    assert proof.hint == "σ ≥ 3 would prove it"
    assert proof.line == quantile.__code__.co_firstlineno + 4


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (dp.ApproxDP(5.0, 1e-5), True),
        (dp.ApproxDP(1.0, 1e-5), False),
        (dp.RenyiDP(4.0, 2.0), True),
        (dp.RenyiDP(4.0, 1.9), False),
        (dp.GaussianDP(1.0), True),
        (dp.GaussianDP(0.99), False),
        (dp.PureDP(5.0), False),
    ],
    ids=str,
)
def test_each_claim_is_summed_in_its_own_currency(claim, holds) -> None:
    assert dp.prove(proved_functions.pcoqs, claim, n=100).proved is holds


def test_unlike_mechanisms_are_composed_by_their_loss_distributions() -> None:
    def both(scores, *, rng) -> tuple:
        return np.sum(scores) + rng.normal(0, 4), np.mean(scores) + rng.laplace(0, 0.02)

    tight = dp.prove(both, dp.ApproxDP(1.5, 1e-4), n=100)
    assert tight.proved
    assert 0 < tight.total < 1e-4
    assert not dp.prove(both, dp.ApproxDP(0.5, 1e-4), n=100).proved


def test_the_proof_is_printed_with_the_source() -> None:
    text = str(dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5), n=50))
    assert text.startswith(
        "PROVED: pcoqs is ZCDP(rho=0.5), for every input, of every n ≥ 1 (ρ ≤ 0.5)"
    )
    assert "costs ρ 0.5 (100%)" in text
    assert "1 to 4294967296 records, n public" in text


def test_the_annotated_source_is_typed() -> None:
    found = dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5), n=50).annotated
    (dear,) = (each for each in found if each.cost is not None)
    assert (dear.unit, dear.share, dear.sensitivity, dear.stops) == ("ρ", 1.0, 1.0, False)
    assert dear.cost == pytest.approx(0.5)
    assert "count_nonzero" in dear.text
    assert dear.private == ("count of records, sensitivity 1",)
    assert any("normal noise of scale 3" in each for each in dear.noise)
    less = dp.prove(_largest, dp.PureDP(1.0)).annotated
    assert [each.text.strip() for each in less if each.stops] == ["return float(top)"]


def _largest(scores, *, rng) -> float:
    top = scores.max()
    return float(top)


def _noisy_sum(total, rng) -> float:
    return total + rng.laplace(0, 2)


def _by_a_helper(scores, *, rng) -> float:
    return _noisy_sum(np.sum(scores), rng)


def _exponential(scores, *, rng) -> int:
    utility = -np.abs(np.searchsorted(np.sort(scores), np.linspace(0, 1, 9)) - 50.0)
    weights = np.exp(utility - utility.max())
    return rng.choice(9, p=weights / weights.sum())


def _of_factor_one(scores, *, rng, epsilon=1.0) -> int:
    utility = -np.abs(np.histogram(scores, bins=4, range=(0.0, 1.0))[0].cumsum() - 10)
    logits = epsilon * utility
    weights = np.exp(logits - logits.max())
    return rng.choice(4, p=weights / weights.sum())


def test_the_exponents_line_is_that_of_its_last_factor_even_if_this_is_one() -> None:
    proof = dp.prove(_of_factor_one, dp.PureDP(1.0))
    (charge,) = proof.paths[0]
    start = _of_factor_one.__code__.co_firstlineno
    assert charge.exponent == start + 2


def test_lines_of_helpers_and_of_exponents_are_known() -> None:
    found = dp.prove(_by_a_helper, dp.PureDP(0.5)).annotated
    assert [each.text.strip() for each in found if each.cost] == [
        "return total + rng.laplace(0, 2)"
    ]
    proof = dp.prove(_exponential, dp.PureDP(2.0))
    (charge,) = proof.paths[0]
    assert charge.exponent == charge.line - 1
    assert [each.line for each in proof.annotated if each.cost] == [charge.exponent]


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"n": 0}, "n must"), ({"bounds": (1, 0)}, "bounds"), ({"bounds": (np.nan, 1)}, "bounds"),
     ({"neighbours": "zero-out"}, "neigh"),
     ({"options": {"no": 1}}, "options")],
)  # fmt: skip
def test_bad_settings_are_named(settings, named) -> None:
    with pytest.raises(ValueError, match=named):
        dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5), **settings)


@pytest.mark.parametrize("claim", [3, dp.ZCDP])
def test_what_is_no_privacy_claim_is_refused(claim) -> None:
    with pytest.raises(ValueError, match="guarantee must be a privacy claim"):
        dp.prove(proved_functions.pcoqs, claim)


def again_while(scores, *, rng) -> Any:
    noisy = np.mean(scores) + rng.laplace(0, 1)
    while not 0 <= noisy <= 1:
        noisy = np.mean(scores) + rng.laplace(0, 1)
    return noisy


def again_until(scores, *, rng) -> Any:
    while True:
        noisy = np.mean(scores) + rng.laplace(0, 1)
        if noisy < 0:
            continue
        break
    return noisy


def first_above(scores, *, rng) -> Any:
    place = 0
    while True:
        if np.count_nonzero(scores <= place / 20) + rng.laplace(0, 4) >= 10:
            return place
        place += 1


def polar(scores, *, rng) -> Any:
    """Make normal noise of pairs of uniform numbers, whose rounds do not depend on the data."""
    while True:
        u, v = 2 * rng.random() - 1, 2 * rng.random() - 1
        s = u * u + v * v
        if 0 < s < 1:
            break
    return np.mean(scores) + u * np.sqrt(-2 * np.log(s) / s)


@pytest.mark.parametrize(
    ("function", "again"),
    [(again_while, True), (again_until, True), (first_above, False), (polar, False)],
)
def test_noise_on_data_that_is_drawn_again_is_told_from_other_loops(function, again) -> None:
    found = dp.prove(function, dp.PureDP(1.0), n=20)
    assert not found.proved
    assert found.stop is not None
    assert found.stop.unpaid is again


def test_errors_of_underflow_depend_on_the_data() -> None:
    before = np.seterr(under="raise")
    try:
        proof = dp.prove(_by_a_helper, dp.PureDP(0.5))
    finally:
        np.seterr(**before)
    assert "underflow" in proof.reason


def _chosen_in_a_list(scores, *, rng) -> float:
    x = [rng.integers(3) if rng.random() < 0.5 else 2, 1]
    return np.sum(scores) + rng.laplace(0, 1) + x[0]


def test_a_choice_within_a_list_is_read() -> None:
    assert dp.prove(_chosen_in_a_list, dp.PureDP(1.0)).proved


def test_a_cost_of_no_delta_is_no_cost_of_nothing() -> None:
    assert dp.prove(_by_a_helper, dp.ApproxDP(1.0, 1e-6)).remark == ""


BISECTION = """
import numpy as np


def bisection(scores, *, rng):
    low, high, asked = {low}, {high}, 0
    while {test}:
        {step}
        asked += 1
        if np.count_nonzero(scores <= middle) + rng.laplace(0.0, 1000.0) < 18:
            {rise}
        else:
            high = middle
    return asked
"""
STEPS = {
    "middle = (low + high) / 2": "low = middle",
    "middle = low + (high - low) / 2": "low = middle",
    "middle = 0.5 * high + low * 0.5": "low += (high - low) / 2",
    "middle = high - (high - low) / 3": "low = low + (high - low) / 3",
    "middle = (low + 2 * high) / 3": "low += (high - low) / 3",
}
TESTS = ("high - low > {tolerance}", "{tolerance} <= high - low", "not (high - low < {tolerance})")


@pytest.mark.parametrize("seed", range(40))
def test_a_loop_that_ends_at_a_width_is_paid_for_each_round(seed, tmp_path) -> None:
    """Where the rounds are proved, each run has as many, whatever the answers are."""
    chooser = random.Random(seed)  # noqa: S311
    low = chooser.choice([0.0, 0.1, -3.0, 1 / 3, 7e5])
    step, rise = chooser.choice([*STEPS.items()])
    given = {"low": low, "high": low + chooser.choice([1.0, 0.3, 2.0, 10.0])}
    tolerance = chooser.choice([0.25, 1 / 3, 0.1, 2**-6, 1e-3])
    test = chooser.choice(TESTS).format(tolerance=tolerance)
    path = tmp_path / "bisection.py"
    path.write_text(BISECTION.format(step=step, rise=rise, test=test, **given))
    function = load(f"{path}:bisection")
    proof = dp.prove(function, dp.PureDP(1e6), n=20)
    if proof.proved:
        scores = np.linspace(0.0, 1.0, 20)
        rounds = {function(scores, rng=np.random.default_rng(each)) for each in range(50)}
        assert len(rounds) == 1
        assert proof.total == pytest.approx(rounds.pop() / 1000.0, abs=1e-12)
    else:  # the last width is too near for doubles to tell
        assert proof.reason == "a loop whose length is not known beforehand"


def _kinds(kind: type = Hidden) -> Any:
    """Yield the kinds of values that one mechanism alone takes."""
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def test_each_kind_of_value_is_named_in_words() -> None:
    assert {each.__name__ for each in _kinds() if not each.called} == set()


def below_a_quantile(scores) -> Any:
    return np.quantile(scores, 0.9) - 1e-6


def rounded_quantile(scores) -> Any:
    return round(np.sort(scores)[89], 3)


@pytest.mark.parametrize(
    ("function", "reason"),
    [(below_a_quantile, "a difference of an order statistic of the scores"),
     (rounded_quantile, "round of an order statistic of the scores")],
)  # fmt: skip
def test_a_refusal_names_operators_and_values_in_words(function, reason) -> None:
    found = dp.prove(function, dp.Coverage(0.9), n=99).reason
    assert found == f"{reason} is not followed" or found.startswith(reason + " and ")


def test_a_delta_that_rounding_alone_makes_is_no_number_of_its_own() -> None:
    def far(scores, *, rng) -> Any:
        return np.sum(scores > 0.5) + rng.normal(0, 1)

    reason = dp.prove(far, dp.ApproxDP(200.0, 0.0)).reason
    assert reason == "the source proves only δ < 1e-300, but δ ≤ 0 is claimed"


def test_more_records_than_a_proof_for_every_number_takes_are_proved_alone() -> None:
    proof = dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5), n=2**32 + 1)
    assert proof.n == 2**32 + 1
    assert proof.assumptions[0].startswith("n = 4294967297 records")


def test_the_relations_that_an_error_offers_are_those_of_proofs() -> None:
    with pytest.raises(ValueError, match=r"one of substitution, add-remove, got 'replace'"):
        dp.prove(proved_functions.pcoqs, dp.ZCDP(0.5), neighbours="replace")
