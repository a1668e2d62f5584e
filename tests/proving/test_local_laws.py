"""Laws of one report: right functions are proved at their exact ε, broken ones never."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proving.attack_functions_local import ATTACKS
from proving.correct_functions_local import RIGHT
from proving.random_reports import K, ReportWriter, exact_loss

import dpcp_audit as dp
from dpcp_audit.proving import local_laws, local_values
from dpcp_audit.targets.loading import load

SLACK = 1e-9


def proof_of(function, domain, epsilon) -> object:
    """Return a proof of a function of one value, or of scores."""
    if domain is None:
        return dp.prove(function, dp.PureDP(epsilon), n=7)
    return dp.prove(function, dp.LocalDP(epsilon), domain=domain)


@pytest.mark.parametrize("row", RIGHT, ids=lambda row: row[0].__name__)
def test_a_right_function_is_proved_at_its_own_loss(row) -> None:
    function, domain, epsilon = row
    exact = epsilon if float(epsilon).is_integer() else epsilon + SLACK
    proof = proof_of(function, domain, exact)
    assert proof.proved, proof.reason
    assert proof.total == pytest.approx(epsilon, rel=SLACK)
    assert not proof_of(function, domain, epsilon - 1e-6).proved
    of_records = "every input of n = 7 records, and no other n"
    covered = of_records if domain is None else "every two values of a user"
    assert f", for {covered} (" in repr(proof)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row[0].__name__)
def test_an_attack_is_not_proved(row) -> None:
    function, domain, claim = row
    proof = dp.prove(function, claim, n=7, domain=domain)
    assert not proof.proved


def redraws(x, *, rng) -> int:
    for _ in range(8):
        y = int(rng.integers(3))
        if y == x or rng.random() < 0.5:
            return y
    return 0


def test_a_law_of_too_many_steps_is_refused(monkeypatch) -> None:
    """Each path is read from its start: rounds that may each end would take hours."""
    monkeypatch.setattr(local_laws, "_MOST_STEPS", 400)
    proof = dp.prove(redraws, dp.LocalDP(20.0), domain=3)
    assert "so many outcomes" in proof.reason


def test_reports_of_a_public_number_of_records_alone_are_private() -> None:
    function = next(f for f, _, _ in RIGHT if f.__name__ == "loop_over_scores")
    assert not dp.prove(function, dp.PureDP(1.0), neighbours="add-remove").proved


TRACED = [row for row in RIGHT if row[0].__name__ in {"others_by_shift", "two_coins"}]


@pytest.mark.parametrize("row", TRACED, ids=lambda row: row[0].__name__)
def test_the_loss_is_that_of_the_traced_laws(row) -> None:
    function, domain, epsilon = row
    found = dp.audit(function, dp.LocalDP(epsilon + SLACK), kind="randomizer", domain=domain)
    assert found[0].estimate.value == pytest.approx(epsilon, abs=1e-6)


def chances(numbers) -> list[float]:
    """Return chances that are whole percents."""
    return [each / sum(numbers) for each in numbers]


TABLES = st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=4)


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_a_table_of_chances_loses_what_is_proved(table) -> None:
    rows = tuple(map(tuple, table))

    def respond(x, *, rng, rows=rows) -> int:
        return int(rng.choice(3, p=[each / sum(rows[x]) for each in rows[x]]))

    laws = [[Fraction(each, sum(row)) for each in row] for row in rows]
    exact = max(
        math.log(p / q)
        for a, b in itertools.product(laws, repeat=2)
        for p, q in zip(a, b, strict=True)
    )
    proof = dp.prove(respond, dp.LocalDP(100.0), domain=len(rows))
    assert proof.proved
    assert proof.total == pytest.approx(exact, abs=1e-9)
    assert proof.total >= exact - 1e-12


LEVELS = st.integers(1, 19).map(lambda each: each / 20)


@settings(max_examples=40, deadline=None)
@given(LEVELS, LEVELS, LEVELS, st.booleans())
def test_two_uses_of_one_draw_lose_what_is_proved(low, high, flip, doubled) -> None:
    low, high = min(low, high), max(low, high)

    def respond(x, *, rng, low=low, high=high, flip=flip, doubled=doubled) -> tuple[int, int]:
        u = rng.random()
        first = x if u < low else (0 if u < high else 1 - x)
        second = (rng.random() < flip) if doubled else u < flip
        return first, int(second)

    def law(x) -> dict[tuple[int, int], float]:
        found: dict[tuple[int, int], float] = {}
        grid = [(i + 0.5) / 20 for i in range(20)]
        for u, v in itertools.product(grid, grid if doubled else [0.5]):
            first = x if u < low else (0 if u < high else 1 - x)
            key = first, int((v if doubled else u) < flip)
            found[key] = found.get(key, 0) + 1 / (400 if doubled else 20)
        return found

    laws = [law(0), law(1)]
    proof = dp.prove(respond, dp.LocalDP(100.0), domain=2)
    if laws[0].keys() != laws[1].keys():
        assert not proof.proved
        return
    exact = max(abs(math.log(laws[0][each] / laws[1][each])) for each in laws[0])
    assert proof.proved
    assert proof.total == pytest.approx(exact, abs=1e-9)


def test_a_ratio_that_is_a_tenth_too_small_is_noticed(monkeypatch) -> None:
    whole = local_values.loss
    monkeypatch.setattr(local_laws, "loss", lambda inputs: whole(inputs) * Fraction(9, 10))
    for function, domain, epsilon in RIGHT:
        assert proof_of(function, domain, 5.0).total < epsilon * 0.95


def test_numbers_are_of_the_types_that_draws_give() -> None:
    def of_each(x, *, rng) -> tuple[object, ...]:
        return (
            rng.integers(2), rng.choice(2), rng.choice([1, 2]), rng.choice([0.5, 1.0]),
            rng.binomial(1, 0.5), rng.random() < 0.5, rng.random() < np.float64(0.5),
            int(rng.integers(2)), float(rng.integers(2)), rng.integers(2) + 1,
        )  # fmt: skip

    seen: set[tuple[type, ...]] = set()
    whole = local_values.loss

    def loss(inputs) -> Fraction:
        for path in inputs[0]:
            for _, law in path.groups:
                seen.update((kinds[0],) for value in law for kinds in value)
        return whole(inputs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_laws, "loss", loss)
        assert dp.prove(of_each, dp.LocalDP(0.1), domain=2).proved
    real = {(type(each),) for each in of_each(0, rng=np.random.default_rng(1))}
    assert seen == real


def test_a_domain_goes_with_a_claim_of_local_privacy() -> None:
    with pytest.raises(ValueError, match="must all be LocalDP"):
        dp.prove(RIGHT[0][0], dp.PureDP(1.0), domain=4)
    with pytest.raises(ValueError, match="domain=K"):
        dp.prove(RIGHT[0][0], dp.LocalDP(1.0))


def compared(seed: int, folder) -> str:
    """Return what a random function shows: "refused", "infinite", or that the losses agree."""
    path = folder / f"report_{seed}.py"
    path.write_text(ReportWriter(seed).text)
    function = load(f"{path}:report")
    proof, exact = dp.prove(function, dp.LocalDP(1000.0), domain=K), exact_loss(function)
    if not proof.proved:
        return "infinite" if math.isinf(exact) else "refused"
    assert proof.total == pytest.approx(exact, abs=1e-9), path.read_text()
    return "agrees"


def test_random_functions_lose_what_is_proved(tmp_path) -> None:
    found = [compared(seed, tmp_path) for seed in range(80)]
    assert found.count("agrees") > 30
    assert found.count("refused") < 20


@pytest.mark.study
def test_many_random_functions_lose_what_is_proved(tmp_path) -> None:
    assert all(compared(seed, tmp_path) for seed in range(1_000, 6_000))


def test_a_record_reaches_the_end_of_its_bounds() -> None:
    def at_the_end(scores, *, rng) -> list[int]:
        return [2 if s >= 0.1 else int(rng.random() < 0.5) for s in scores]

    def beyond_the_end(scores, *, rng) -> list[int]:
        return [2 if s > 0.1 else int(rng.random() < 0.5) for s in scores]

    assert not dp.prove(at_the_end, dp.PureDP(1.0), n=7, bounds=(0.0, 0.1)).proved
    assert dp.prove(beyond_the_end, dp.PureDP(1.0), n=7, bounds=(0.0, 0.1)).proved


class Coins:
    """A generator whose uniform draws are below every chance, or above, as these coins say."""

    def __init__(self, coins) -> None:
        self.draws = np.where(coins, 0.0, 1.0)

    def random(self, size) -> np.ndarray:
        assert size == self.draws.size
        return self.draws


def of_coins(scores, *, rng, p=0.7, a=1, b=1, c=0, d=-1) -> np.ndarray:
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < p, a * bits + c, b + d * bits)


def law_of_coins(scores, p, numbers) -> dict[tuple[int, ...], float]:
    """Return the exact law of the reports, by each sequence of coins."""
    law: dict[tuple[int, ...], float] = {}
    for coins in itertools.product((True, False), repeat=len(scores)):
        output = tuple(of_coins(np.array(scores), rng=Coins(coins), p=p, **numbers).tolist())
        heads = sum(coins)
        law[output] = law.get(output, 0.0) + p**heads * (1 - p) ** (len(coins) - heads)
    return law


@settings(max_examples=40, deadline=None)
@given(
    p=st.floats(0.05, 0.95),
    numbers=st.fixed_dictionaries({name: st.integers(-1, 1) for name in "abcd"}),
    n=st.integers(1, 3),
)
def test_reports_by_coins_at_once_lose_what_is_proved(p, numbers, n) -> None:
    """The largest loss over all neighbours is the proved one, also where it is infinite."""
    proof = dp.prove(of_coins, dp.PureDP(50.0), n=n, options={"p": p, **numbers})
    inputs = list(itertools.product((0.2, 0.8), repeat=n))
    laws = {each: law_of_coins(each, p, numbers) for each in inputs}
    largest = 0.0
    for one, other in itertools.permutations(inputs, 2):
        if sum(x != y for x, y in zip(one, other, strict=True)) == 1:
            for output, chance in laws[one].items():
                against = laws[other].get(output, 0.0)
                loss = math.log(chance / against) if against else math.inf
                largest = max(largest, loss)
    assert proof.proved is math.isfinite(largest)
    assert not proof.proved or proof.total == pytest.approx(largest, rel=1e-9, abs=1e-9)


def test_types_of_one_printed_form_are_two() -> None:
    with np.printoptions(legacy="1.25"):
        assert local_values.typed(np.bool_(True)) != local_values.typed(True)


def _told_by_its_length(x, *, rng) -> list[int]:
    found = [x if rng.random() < 0.5 else int(rng.integers(3))]
    if x > 1:
        return [*found, 0]
    return found


def _told_by_its_type(x, *, rng) -> int:
    if rng.random() < 0.5:
        return rng.integers(3)
    return x


@pytest.mark.parametrize(("function", "line"), [(_told_by_its_length, 4), (_told_by_its_type, 3)])
def test_the_line_that_tells_by_type_or_length_is_named(function, line) -> None:
    proof = dp.prove(function, dp.LocalDP(5.0), domain=3)
    assert proof.line == function.__code__.co_firstlineno + line
    assert proof.reason.startswith("an output of one value that another value never has")
