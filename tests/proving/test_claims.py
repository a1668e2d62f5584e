"""Claims of clients, of groups and of shuffled reports, against real neighbours and exact laws."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcp_audit as dp
from dpcp_audit.mechanisms.randomized_response import hidden_laws
from dpcp_audit.proving import loss_distributions
from dpcp_audit.proving.charges import Charge


def pooled(clients) -> float:
    return np.sum(np.concatenate(clients))


def of_each(clients) -> float:
    return sum(np.count_nonzero(c <= 0.5) for c in clients)


def means(clients) -> float:
    return np.mean([float(np.mean(c)) for c in clients])


def first_and_rest(clients) -> float:
    return np.sum(clients[0]) + 2 * np.sum(np.concatenate(clients[1:]))


def largest(clients) -> float:
    return max(float(np.max(c)) for c in clients)


def of_pairs(clients) -> float:
    return sum((i + 1) * np.mean(c) for i, c in enumerate(clients))


def clipped_means(clients) -> float:
    return sum(np.clip(3 * np.mean(c) - 0.5, -0.25, 0.25) for c in clients)


def of_two_ends(clients) -> float:
    """Records of one client that differ move both numbers, though each is of another one."""
    total = 0.0
    for c in clients:
        last = np.minimum(np.maximum(3 * np.sum(c[-1:]), 0.25), 0.75)
        total = total + np.clip(3 * np.sum(c[:1]), 0, 0.5) + 0.5 * last
    return total


def of_clipped_vectors(clients) -> float:
    total = 0.0
    for c in clients:
        update = np.array([np.sum(c <= 0.3), np.mean(c), 1 - np.mean(c)])
        total = total + update / max(1.0, np.linalg.norm(update) / 0.4)
    return np.sum(total)


def pooled_noisy(clients, *, rng) -> float:
    return pooled(clients) + rng.laplace(0, 1)


def of_each_noisy(clients, *, rng) -> float:
    return of_each(clients) + rng.laplace(0, 1)


def means_noisy(clients, *, rng) -> float:
    return means(clients) + rng.laplace(0, 1)


def first_and_rest_noisy(clients, *, rng) -> float:
    return first_and_rest(clients) + rng.laplace(0, 1)


def of_pairs_noisy(clients, *, rng) -> float:
    return of_pairs(clients) + rng.laplace(0, 1)


def clipped_means_noisy(clients, *, rng) -> float:
    return clipped_means(clients) + rng.laplace(0, 1)


def of_two_ends_noisy(clients, *, rng) -> float:
    return of_two_ends(clients) + rng.laplace(0, 1)


def of_clipped_vectors_noisy(clients, *, rng) -> float:
    return of_clipped_vectors(clients) + rng.laplace(0, 1)


OF_CLIENTS = [
    (clipped_means, clipped_means_noisy),
    (of_two_ends, of_two_ends_noisy),
    (of_clipped_vectors, of_clipped_vectors_noisy),
    (pooled, pooled_noisy),
    (of_each, of_each_noisy),
    (means, means_noisy),
    (first_and_rest, first_and_rest_noisy),
    (of_pairs, of_pairs_noisy),
]
SCORES = st.floats(0, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(OF_CLIENTS),
    st.lists(SCORES, min_size=3, max_size=11),
    st.data(),
    st.sampled_from(["record", "client"]),
)
def test_no_client_moves_a_statistic_further_than_is_proved(functions, scores, data, unit) -> None:
    statistic, noisy = functions
    n, clients = len(scores), data.draw(st.integers(2, 3))
    parts = np.array_split(np.array(scores), clients)
    if unit == "client":
        start = data.draw(st.integers(0, clients - 1))
        changed = range(sum(map(len, parts[:start])), sum(map(len, parts[: start + 1])))
    else:
        changed = [data.draw(st.integers(0, n - 1))]
    other = np.array(scores)
    for place in changed:
        other[place] = data.draw(SCORES)
    proof = dp.prove(noisy, dp.PureDP(1.0), n=n, clients=clients, unit=unit)
    moved = abs(statistic(parts) - statistic(np.array_split(other, clients)))
    assert proof.total is not None
    assert moved <= proof.total + 1e-9


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([each for each in OF_CLIENTS if each[0] in {pooled, of_each}]),
    st.lists(SCORES, min_size=4, max_size=11),
    st.data(),
)
def test_no_added_record_moves_a_statistic_further(functions, scores, data) -> None:
    statistic, noisy = functions
    parts = np.array_split(np.array(scores), 3)
    place = data.draw(st.integers(0, 2))
    more = [*parts]
    more[place] = np.append(more[place], data.draw(SCORES))
    proof = dp.prove(noisy, dp.PureDP(1.0), clients=3, neighbours="add-remove")
    assert abs(statistic(parts) - statistic(more)) <= proof.total + 1e-9


def histograms_added(clients, *, rng, scale=2.0) -> object:
    total = np.zeros(10)
    for client in clients:
        total += np.histogram(client, bins=10, range=(0, 1))[0] + rng.laplace(0, scale, 10)
    return float(np.argmax(np.cumsum(total) >= 0.9 * total.sum())) / 10


def votes(clients, *, rng, scale=2.0) -> object:
    grid, total = np.linspace(0, 1, 16), np.zeros(16)
    for client in clients:
        utility = -np.abs((client[:, None] <= grid).sum(axis=0) - 0.9 * len(client))
        weights = np.exp(utility / scale)
        total[rng.choice(16, p=weights / weights.sum())] += 1
    return grid[np.argmax(np.cumsum(total) >= len(clients) / 2)]


def histograms_added_first(clients, *, rng) -> object:
    total = np.zeros(10)
    for client in clients:
        total += np.histogram(client, bins=10, range=(0, 1))[0]
    total += rng.laplace(0, 1.0, 10)
    return total


def histograms_under_one_draw(clients, *, rng) -> object:
    total, noise = np.zeros(10), rng.laplace(0, 2.0, 10)
    for client in clients:
        total += np.histogram(client, bins=10, range=(0, 1))[0] + noise
    return total


def a_vote_for_the_largest(clients, *, rng) -> object:
    total = np.zeros(4)
    for client in clients:
        total[int(np.argmax(np.histogram(client, bins=4, range=(0, 1))[0]))] += 1
    return total


def an_array_of_two_names(clients, *, rng) -> object:
    total = np.zeros(4)
    other = total
    for client in clients:
        counts = np.histogram(client, bins=4, range=(0, 1))[0]
        total += counts + rng.laplace(0, 2.0, 4)
        other += counts.astype(float)
    return total


def another_clients_records(clients, *, rng) -> object:
    total = np.zeros(4)
    for _ in clients:
        total += np.histogram(clients[0], bins=4, range=(0, 1))[0] + rng.laplace(0, 2.0, 4)
    return total


def clipped_updates(clients, *, rng, scale=1.0) -> object:
    updates = np.array([np.clip(np.mean(c) - 0.5, -0.1, 0.1) for c in clients])
    return 0.5 + np.mean(updates) + rng.normal(0.0, scale * 0.2 / len(clients))


def updates_clipped_by_norm(clients, *, rng, scale=1.0) -> object:
    total = np.zeros(3)
    for c in clients:
        update = np.array([np.mean(c <= t) for t in (0.2, 0.5, 0.9)]) - 0.5
        total = total + update * min(1.0, 0.1 / max(np.linalg.norm(update), 1e-9))
    return total + rng.normal(0.0, scale * 0.2, size=3)


def halves_clipped(clients, *, rng) -> object:
    total = 0.0
    for c in clients:
        total = total + np.clip(np.sum(c[:5]), 0.0, 0.1) + np.clip(np.sum(c[5:]), 0.0, 0.1)
    return total + rng.normal(0.0, 0.1)


def clipped_in_a_sample(clients, *, rng) -> object:
    part = rng.choice(clients[0], size=2, replace=False)
    return np.clip(np.sum(part), 0.0, 0.1) + rng.laplace(0.0, 0.1)


@pytest.mark.parametrize("function", [clipped_updates, updates_clipped_by_norm])
@pytest.mark.parametrize("claim", [dp.ZCDP(0.5), dp.GaussianDP(1.0)])
def test_what_a_client_sends_moves_by_no_more_than_it_is_clipped_to(function, claim) -> None:
    """The noise is just enough for a client of any number of records, and 0.99 of it is not."""
    for clients in (3, 4):
        given = {"n": 40, "clients": clients, "unit": "client"}
        assert dp.prove(function, claim, **given).proved
        assert not dp.prove(function, claim, options={"scale": 0.99}, **given).proved


@pytest.mark.parametrize("function", [halves_clipped, clipped_in_a_sample])
def test_a_client_moves_all_that_is_clipped_of_its_records(function) -> None:
    claim = dp.PureDP(1.0) if function is clipped_in_a_sample else dp.ZCDP(0.5)
    assert not dp.prove(function, claim, n=40, clients=4, unit="client").proved


@pytest.mark.parametrize("function", [histograms_added, votes])
def test_each_client_costs_for_its_own_records(function) -> None:
    """One record is with one client; the noise is just enough, and 0.99 of it is too little."""
    assert dp.prove(function, dp.PureDP(1.0), n=40, clients=4).proved
    less = dp.prove(function, dp.PureDP(1.0), n=40, clients=4, options={"scale": 1.98})
    assert not less.proved


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function",
    [
        histograms_added_first,
        histograms_under_one_draw,
        a_vote_for_the_largest,
        an_array_of_two_names,
        another_clients_records,
    ],
)
def test_an_array_that_gathers_clients_hides_no_leak(function) -> None:
    assert not dp.prove(function, dp.PureDP(1.0), n=40, clients=4).proved


def of_one_client_twice(clients, *, rng) -> tuple:
    return np.sum(clients[0]) + rng.laplace(0, 1), np.sum(clients[0]) + rng.laplace(0, 1)


def of_two_clients(clients, *, rng) -> tuple:
    return np.sum(clients[0]) + rng.laplace(0, 1), np.sum(clients[1]) + rng.laplace(0, 1)


def all_and_one(clients, *, rng) -> tuple:
    return np.sum(np.concatenate(clients)) + rng.laplace(0, 1), np.sum(clients[1]) + rng.laplace(
        0, 1
    )


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_other_clients_records_cost_once(neighbours) -> None:
    given = {"clients": 2, "neighbours": neighbours}
    assert dp.prove(of_two_clients, dp.PureDP(1.0), **given).proved
    for function in (of_one_client_twice, all_and_one):
        assert not dp.prove(function, dp.PureDP(1.9), **given).proved
        assert dp.prove(function, dp.PureDP(2.0), **given).proved


def twice_the_same(clients, *, rng) -> float:
    return np.sum(np.concatenate([clients[0], clients[0]])) + rng.laplace(0, 1)


def joined_of_sorted(clients, *, rng) -> float:
    return np.sum(np.concatenate([np.sort(clients[0]), clients[0][:1]])) + rng.laplace(0, 1)


def chooses_by_data(clients, *, rng) -> float:
    return np.sum(clients[int(np.sum(clients[0]))]) + rng.laplace(0, 1)


def changes_the_list(clients, *, rng) -> float:
    clients[0] = np.zeros(3)
    return np.sum(clients[0]) + rng.laplace(0, 1)


def without_noise(clients, *, rng) -> float:
    return rng.laplace(0, 1) + float(len(clients)), np.mean(clients[1])


def selected_clients(clients, *, rng) -> float:
    return len([c for c in clients if np.mean(c) > 0.5]) + rng.laplace(0, 1)


def largest_of_clients(clients, *, rng) -> float:
    return largest(clients) + rng.laplace(0, 0.9)


@pytest.mark.parametrize(
    "function",
    [twice_the_same, joined_of_sorted, chooses_by_data, changes_the_list, without_noise,
     selected_clients, largest_of_clients],
)  # fmt: skip
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_an_attack_on_clients_is_not_proved(function, neighbours) -> None:
    assert not dp.prove(function, dp.PureDP(1.0), clients=3, neighbours=neighbours).proved


def laplace_sum(scores, *, rng) -> float:
    return np.sum(scores) + rng.laplace(0, 1)


def gaussian_sum(scores, *, rng) -> float:
    return np.sum(scores) + rng.normal(0, 3)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.floats(0.05, 4.0))
def test_a_group_costs_at_least_what_it_does(k, epsilon) -> None:
    """The exact laws of one noisy sum that k records move by k."""
    pure = dp.prove(laplace_sum, dp.PureDP(1.0), group=k)
    assert pure.total == k
    exact = max(0.0, -math.expm1((epsilon - k) / 2))  # δ of Laplace noise on a distance of k
    found = dp.prove(laplace_sum, dp.ApproxDP(epsilon, 0.5), group=k).total
    assert found >= exact - 1e-12
    mu = k / 3
    assert dp.prove(gaussian_sum, dp.GaussianDP(1.0), group=k).total == pytest.approx(mu**2)
    assert dp.prove(gaussian_sum, dp.ZCDP(1.0), group=k).total == pytest.approx(mu**2 / 2)
    assert dp.prove(gaussian_sum, dp.RenyiDP(2.5, 1.0), group=k).total == pytest.approx(
        1.25 * mu**2
    )
    gaussian = dp.prove(gaussian_sum, dp.ApproxDP(epsilon, 0.5), group=k).total
    assert gaussian == pytest.approx(dp.GaussianDP(mu).delta_at(epsilon), rel=1e-6, abs=1e-13)


def of_a_sample(scores, *, rng, scale) -> float:
    batch = rng.choice(scores, 2, replace=False)
    return np.sum(batch) + rng.laplace(0, scale)


def of_a_gaussian_sample(scores, *, rng, scale) -> float:
    batch = rng.choice(scores, 2, replace=False)
    return np.sum(batch) + rng.normal(0, scale)


def many_sums(scores, *, rng, scale) -> list[float]:
    return [np.sum(scores) + rng.laplace(0, scale) for _ in range(100)]


def of_two_laws(scores, *, rng, scale) -> tuple[float, float]:
    return np.sum(scores) + rng.normal(0, scale), np.sum(scores) + rng.laplace(0, 1)


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("function", [of_a_sample, of_a_gaussian_sample, many_sums, of_two_laws])
def test_noise_far_too_small_has_delta_1_and_is_not_composed(monkeypatch, function, group) -> None:
    """A grid of its losses has 10⁷ points and more; ordinary noise is composed as before."""
    composed: list[object] = []
    made = loss_distributions._delta_of_blocks
    spied = lambda blocks, epsilon: composed.append(blocks) or made(blocks, epsilon)  # noqa: E731
    monkeypatch.setattr(loss_distributions, "_delta_of_blocks", spied)
    claim = dp.ApproxDP(0.3, 1e-5)
    found = dp.prove(function, claim, n=7, group=group, options={"scale": 1e-3})
    assert found.stop is None
    assert found.total == 1.0
    assert not composed
    ordinary = dp.prove(function, claim, n=7, group=group, options={"scale": 1.0})
    assert composed
    assert 0 < ordinary.total <= 1


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 10.0])
def test_one_less_the_delta_of_noise_that_is_not_composed_is_next_to_nothing(epsilon) -> None:
    """The exact δ of one use of the least such noise, by law, and its bound e^(ε/4 - 12.5)."""
    rho = epsilon + loss_distributions._DEAR
    gaussian = dp.GaussianDP(math.sqrt(2 * rho)).delta_at(epsilon)
    laplace = -math.expm1((epsilon - rho - 1) / 2)  # of an ε of ρ + 1
    pure = (math.exp(rho) - math.exp(epsilon)) / (math.exp(rho) + 1)
    assert min(gaussian, laplace, pure) >= 1 - math.exp(epsilon / 4 - 12.5)
    barely = Counter([Charge("laplace", Fraction(rho + 1.01), 1)])
    assert loss_distributions.delta_of(barely, epsilon) == 1


def coin(x, *, rng) -> int:
    return x if rng.random() < math.exp(1) / (math.exp(1) + 1) else 1 - x


@pytest.mark.parametrize("users", [100, 400, 2000])
@pytest.mark.parametrize("epsilon", [0.2, 0.4, 0.8])
def test_shuffled_reports_lose_no_more_than_is_proved(users, epsilon) -> None:
    """The exact laws of the counts, where all others hold one value, or the other."""
    proved = dp.prove(coin, dp.ApproxDP(epsilon, 1e-6), domain=2, shuffle_n=users)
    q = 1 / (math.exp(1) + 1)
    laws = [np.array([1 - q, q]), np.array([q, 1 - q])]
    for others in laws:
        pair = [np.exp(law.log_mass) for law in hidden_laws(users, others, laws)]
        for p, r in itertools.permutations(pair):
            assert np.maximum(0, p - math.exp(epsilon) * r).sum() <= proved.total + 1e-12
    assert dp.prove(coin, dp.PureDP(1.0), domain=2, shuffle_n=users).proved
    assert not dp.prove(coin, dp.PureDP(0.99), domain=2, shuffle_n=users).proved


@pytest.mark.parametrize(
    ("given", "named"),
    [({"unit": "client"}, "unit"), ({"clients": 200}, "n must"), ({"unit": "house"}, "unit"),
     ({"group": 0}, "group"), ({"shuffle_n": 5}, "shuffle_n"),
     ({"unit": "client", "clients": 2, "neighbours": "add-remove"}, "unit")],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(given, named) -> None:
    with pytest.raises(ValueError, match=named):
        dp.prove(of_each_noisy, dp.PureDP(1.0), **given)


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        (coin, {"domain": 2, "shuffle_n": 50}, " of a user, in the shuffled reports of 50 users"),
        (
            laplace_sum,
            {"n": 7, "every_n": False},
            ", for every input of n = 7 records, and no other n",
        ),
        (
            laplace_sum,
            {"group": 3},
            ", for every input, of every n ≥ 1, where up to 3 records are replaced",
        ),
        (
            laplace_sum,
            {"group": 2, "neighbours": "add-remove"},
            ", for every input, of every n ≥ 1, where up to 2 records are added or removed",
        ),
        (
            pooled_noisy,
            {"n": 7, "clients": 3, "unit": "client"},
            " and no other n, where all records of one client are replaced",
        ),
    ],
)
def test_the_head_line_names_what_is_proved(function, given, said) -> None:
    proof = dp.prove(function, dp.PureDP(3.0), **given)
    assert f"{said} (ε ≤ " in repr(proof).splitlines()[0]
    assert not dp.prove(coin, dp.LocalDP(1.0), domain=2).differing


def test_a_group_of_one_report_is_refused() -> None:
    with pytest.raises(ValueError, match="group"):
        dp.prove(coin, dp.LocalDP(1.0), domain=2, group=2)


@pytest.mark.parametrize(
    ("function", "claim", "options"),
    [
        (of_each_noisy, dp.PureDP(1.0), {"kind": "federated"}),
        (means_noisy, dp.PureDP(1.0), {"kind": "federated", "unit": "client"}),
        (laplace_sum, dp.PureDP(3.0), {"group": 3, "n": 20}),
        (coin, dp.LocalDP(1.0), {"kind": "randomizer", "domain": 2}),
        (coin, dp.ApproxDP(0.5, 1e-6), {"kind": "randomizer", "domain": 2, "shuffle_n": 10_000}),
    ],
)
def test_a_check_proves_it(function, claim, options, dp_audit) -> None:
    found = dp_audit.proved(function, claim, **options)
    assert str(found.verdict) == "PROVED"
    assert found.proof.source


def test_a_group_claim_that_is_not_proved_is_left_open() -> None:
    found = dp.audit(laplace_sum, dp.PureDP(2.0), group=3, n=20)
    assert str(found.verdict) == "INCONCLUSIVE"
    assert "up to 3 times" in found[0].claim


def test_a_proof_gives_a_trade_off_curve_from_below() -> None:
    """Of Laplace noise on a sum, and Gaussian noise, whose curves are known."""
    proof = dp.prove(gaussian_sum, dp.GaussianDP(1.0))
    pure = dp.prove(laplace_sum, dp.PureDP(1.0))
    for fpr in np.linspace(0, 1, 21):
        exact = float(dp.GaussianDP(1 / 3).tradeoff(fpr))
        assert exact - 0.02 <= proof.tradeoff(fpr) <= exact
        laplace = min(  # of the likelihood-ratio tests, by symmetry
            max(0.0, 1 - math.e * fpr) if fpr < 0.5 / math.e else 1.0,
            0.25 / (math.e * fpr) if 0.5 / math.e <= fpr <= 0.5 else 1.0,
            (1 - fpr) / math.e if fpr > 0.5 else 1.0,
        )
        assert pure.tradeoff(fpr) <= laplace + 1e-12
        assert pure.tradeoff(fpr) >= dp.PureDP(1.0).tradeoff(fpr) - 1e-9
    assert pure.delta_at(1.0) == 0
    assert dp.prove(without_noise, dp.PureDP(1.0), clients=2).tradeoff(0.0) == 0.0


def test_the_line_of_a_large_epsilon_is_as_exact_as_any() -> None:
    proof = dp.prove(laplace_sum, dp.PureDP(1.0))
    assert proof.tradeoff(0.5, [1e4]) == 0.0
    assert proof.tradeoff(0.0, [1e4]) == pytest.approx(1.0)
