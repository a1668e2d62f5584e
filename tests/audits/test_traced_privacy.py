"""Privacy claims against traces: verdicts in both scopes, the estimate's unit, what is said."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom
from support import user_mechanisms as mine

from dpcp_audit.audits.path_evidence import path_evidence
from dpcp_audit.audits.traced_privacy import Scope, TracedPrivacy
from dpcp_audit.tracing.pair_traces import LossSample, PairTrace
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    Neighbours,
    PureDP,
    Relation,
    RenyiDP,
)
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, Verdict

N = 20
SCORES = np.full(N, 0.5)
NEIGHBOUR = np.concatenate([[1.5], SCORES[1:]])


def outcome(
    function,
    guarantee,
    inputs=(SCORES, NEIGHBOUR),
    *,
    scope="release",
    draws=20,
    **options: Any,
) -> Any:
    audit = TracedPrivacy(
        target=TracedTarget.of(function, options),
        guarantee=guarantee,
        neighbours=Neighbours(relation=Relation.SUBSTITUTION, value=inputs[0], neighbour=inputs[1]),
        draws=draws,
        scope=Scope(scope),
    )
    return audit(Context(seed=0, name="traced", significance=1e-6))


def laplace(scores, *, rng, scale=1.0) -> Any:
    return float(scores.sum() + rng.laplace(scale=scale))


def gaussian(scores, *, rng, scale=1.0) -> Any:
    return scores.sum() + rng.normal(scale=scale)


def rounded(scores, *, rng, scale=1.0) -> Any:
    return round(scores.sum() + rng.laplace(scale=scale))


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "guarantee", "bad", "draws"),
    [
        (laplace, PureDP(1.0), 0.99, 100),
        (laplace, ApproxDP(1.0, 1e-3), 0.8, 400),
        (gaussian, ZCDP(0.5), 0.6, 100),
        (gaussian, GaussianDP(1.0), 0.6, 100),
        (gaussian, RenyiDP(2.0, 1.0), 0.6, 200),
        (gaussian, ApproxDP(1.0, 0.12693673750664397), 0.6, 100),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_too_little_noise_is_refuted_and_enough_is_not(function, guarantee, bad, draws) -> None:
    """Enough noise meets each claim with equality, and is refuted with 1e-6 at most."""
    fine = outcome(function, guarantee, draws=draws)
    assert fine.verdict is Verdict.CONSISTENT
    assert fine.power is not None
    assert fine.evidence.lower <= fine.evidence.claimed
    wrong = outcome(function, guarantee, scale=bad, draws=draws)
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.evidence.lower > wrong.evidence.claimed
    assert wrong.evidence.kind is EvidenceKind.CERTIFIED
    assert wrong.evidence.quantity is fine.evidence.quantity


def test_the_line_is_named() -> None:
    found = outcome(laplace, PureDP(1.0))
    assert found.traced is not None
    (line,) = found.traced.draws
    assert line.location == found.location
    assert line.location.file.endswith("test_traced_privacy.py")
    assert line.location.line == laplace.__code__.co_firstlineno + 1
    (profile,) = found.tables
    assert profile.title.startswith("Loss law")


@pytest.mark.known_bad
def test_what_is_rounded_is_refuted_in_the_transcript_alone() -> None:
    transcript = outcome(rounded, PureDP(1.0), scale=0.5, scope="transcript")
    release = outcome(rounded, PureDP(1.0), scale=0.5)
    assert transcript.verdict is Verdict.REFUTED
    assert release.verdict is Verdict.INCONCLUSIVE
    assert release.evidence.lower == 0.0
    assert "the noise is too small for the claim" in release.note
    assert outcome(rounded, PureDP(1.0)).verdict is Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "guarantee",
    [ZCDP(0.5), GaussianDP(1.0), RenyiDP(2.0, 1.0), ApproxDP(1.0, 0.12693673750664397)],
    ids=str,
)
def test_a_noisy_search_with_too_little_noise_is_refuted_in_the_transcript(guarantee) -> None:
    """Its release is ρ-zCDP all the same: a comparison shows at most 2/π of the noise's ρ."""
    ends = np.zeros(N), np.append(np.zeros(N - 1), 1.0)
    searched = partial(outcome, mine.noisy_search, guarantee, ends)
    wrong = searched(scope="transcript", draws=10, noise=0.9)
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.evidence.kind is EvidenceKind.EXACT
    assert "path" in wrong.witness
    if isinstance(guarantee, ZCDP):
        assert wrong.evidence.value == pytest.approx(0.5 / 0.9**2)
        assert searched(noise=0.9).verdict is not Verdict.REFUTED
    assert searched(scope="transcript", draws=10).verdict is Verdict.CONSISTENT


_RARE = 0.02275013194817921  # Φ(−2)


def gated(scores, *, rng, noise=1.0) -> Any:
    """Propose, test, release: behind a gate that opens in one of 44 runs, the noise is half."""
    scale = noise if rng.normal() < 2 else noise / 2
    return round(scores.sum() + rng.normal(scale=scale), 1)


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("guarantee", "noise"),
    [
        (RenyiDP(2.0, math.log((1 - _RARE) * math.exp(1) + _RARE * math.exp(4))), 1.0),
        (
            ApproxDP(
                2.0,
                (1 - _RARE) * GaussianDP(1.0).delta_at(2.0) + _RARE * GaussianDP(2.0).delta_at(2.0),
            ),
            1.0,
        ),
        (ZCDP(0.5 * (1 - _RARE) + 2 * _RARE), 1.0),
    ],
    ids=str,
)
def test_a_rare_path_that_costs_more_does_not_refute(guarantee, noise) -> None:
    """What they draw gives the first two claims with equality. False alarms: 3 checks at 1e-6."""
    right = outcome(gated, guarantee, scope="transcript", draws=400, noise=noise)
    assert right.verdict is not Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize("guarantee", [ZCDP(0.3), GaussianDP(0.7), RenyiDP(2.0, 0.3)], ids=str)
def test_paths_that_cost_too_much_on_average_refute(guarantee) -> None:
    wrong = outcome(gated, guarantee, scope="transcript", draws=400)
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.evidence.kind is EvidenceKind.CERTIFIED
    assert "on average" in wrong.note
    mean = 0.5 * (1 - _RARE) + 2 * _RARE
    true = math.sqrt(2 * mean) if isinstance(guarantee, GaussianDP) else mean
    assert wrong.evidence.claimed < wrong.evidence.lower < true


def test_laplace_noise_is_composed_too() -> None:
    def many(scores, *, rng, noise=1.0) -> Any:
        return [bool((scores > edge).sum() + rng.laplace(scale=noise * 4) > 3) for edge in range(4)]

    ends = np.full(N, -1.0), np.append(np.full(N - 1, -1.0), 9.0)
    for guarantee in (PureDP(1.0), ApproxDP(0.5, 0.06)):
        assert (
            outcome(many, guarantee, ends, scope="transcript", draws=5).verdict
            is Verdict.CONSISTENT
        )
        wrong = outcome(many, guarantee, ends, scope="transcript", draws=5, noise=0.8)
        assert wrong.verdict is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function",
    [
        mine.sparse_vector,
        mine.report_noisy_max,
        mine.exponential_mechanism,
        mine.noisy_histogram,
        mine.noisy_mean,
    ],
)
@pytest.mark.parametrize("scope", list(Scope))
def test_correct_code_is_refuted_in_no_scope(function, scope) -> None:
    ends = np.zeros(N), np.append(np.zeros(N - 1), 1.0)
    assert outcome(function, PureDP(1.0), ends, scope=scope).verdict is Verdict.CONSISTENT


def test_a_sample_of_the_rows_is_not_left_to_composition() -> None:
    def sampled(scores, *, rng) -> Any:
        chosen = rng.choice(len(scores), size=4, replace=False)
        return round(scores[chosen].sum() + rng.laplace(scale=0.7))

    ends = np.zeros(N), np.append(np.zeros(N - 1), 1.0)
    for scope in Scope:
        found = outcome(sampled, PureDP(1.5), ends, scope=scope, draws=20)
        assert found.verdict is not Verdict.REFUTED


def test_the_loss_of_a_sample_of_the_rows_is_said_to_be_without_amplification() -> None:
    def sampled(scores, *, rng) -> Any:
        kept = rng.random(len(scores)) < 0.3
        return scores[kept].sum() + rng.laplace(scale=1.0)

    found = outcome(sampled, PureDP(1.01))
    assert found.evidence.detail == "of the transcript"
    assert found.evidence.value == pytest.approx(1.0)
    assert "an upper bound, without amplification" in found.note
    assert "amplification" not in outcome(laplace, PureDP(1.01)).note


def test_a_sorted_release_is_not_taken_for_the_transcript() -> None:
    def ordered(scores, *, rng) -> Any:
        return sorted(float(v) for v in scores[:3] + rng.laplace(scale=0.5, size=3))

    assert outcome(ordered, PureDP(1.0)).verdict is Verdict.INCONCLUSIVE
    assert outcome(ordered, PureDP(1.0), scope="transcript").verdict is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "guarantee", "inputs", "options"),
    [
        (mine.randomised_response, LocalDP(2.0), (0, 1), {"epsilon": 2.1}),
        (mine.hadamard_response, LocalDP(1.0), (1, 2), {"epsilon": 1.1}),
        (mine.rappor, ZCDP(1.0), (0, 1), {"f": 0.2, "k": 3}),
        (mine.report_noisy_max, PureDP(0.5), (SCORES / 2, NEIGHBOUR / 2), {"epsilon": 1.0}),
    ],
)
def test_a_whole_law_is_exact(function, guarantee, inputs, options) -> None:
    wrong = outcome(function, guarantee, inputs, **options)
    assert wrong.evidence.kind is EvidenceKind.EXACT
    assert wrong.verdict is Verdict.REFUTED
    larger = type(guarantee)(wrong.evidence.value * (1 + 1e-6))
    within = outcome(function, larger, inputs, **options)
    assert within.verdict is Verdict.CONSISTENT
    assert "Every path was run" in wrong.note
    odds = wrong.evidence.odds
    assert odds is not None
    assert within.evidence.odds is None
    if not isinstance(guarantee, ZCDP):  # the loss of one output is that of the law
        ratio = abs(math.log(odds.value / odds.neighbour))
        assert ratio == pytest.approx(wrong.evidence.value)


def true_answer(value, *, rng, epsilon) -> int:
    return value if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + 1) else 1 - value


def other_coin(value, *, rng, epsilon) -> int:
    return int(rng.random() < 1 / (1 + math.exp(-25 - epsilon * value)))


@pytest.mark.known_bad
@pytest.mark.parametrize(("function", "epsilon"), [(true_answer, 32.0), (other_coin, 0.5)])
def test_the_rounding_of_a_probability_next_to_one_refutes_nothing(function, epsilon) -> None:
    right = outcome(function, LocalDP(epsilon), (0, 1), epsilon=epsilon)
    assert right.evidence.value > epsilon
    assert right.verdict is not Verdict.REFUTED
    wrong = outcome(function, LocalDP(epsilon), (0, 1), epsilon=epsilon * 1.4)
    assert wrong.verdict is Verdict.REFUTED


def text_answer(value, *, rng, answers=("no", "yes")) -> Any:
    return (
        answers[value] if rng.random() < math.e / (math.e + 1) else rng.choice([answers[not value]])
    )


@pytest.mark.parametrize(
    "answers", [("no", "yes"), (b"no", b"yes"), (0, 1), (False, True), (0.0, 1.0)]
)
def test_an_answer_that_numpy_draws_is_the_same_answer(answers) -> None:
    assert outcome(text_answer, LocalDP(1.0), (0, 1), answers=answers).verdict is Verdict.CONSISTENT
    refuted = outcome(text_answer, LocalDP(0.9), (0, 1), answers=answers)
    assert refuted.evidence.value == pytest.approx(1.0)
    assert refuted.verdict is Verdict.REFUTED


def test_no_noise_at_all_is_an_infinite_loss() -> None:
    found = outcome(lambda scores: float(scores.sum()), PureDP(1.0))
    assert found.verdict is Verdict.REFUTED
    assert found.evidence.lower == math.inf
    odds = found.evidence.odds
    assert odds is not None
    assert sorted([odds.value, odds.neighbour]) == [0.0, 1.0]
    assert odds.output in {float(SCORES.sum()), float(NEIGHBOUR.sum())}


def test_data_that_reaches_the_output_beside_noise_is_said_and_not_judged() -> None:
    def beside(scores, *, rng) -> Any:
        return scores.sum() + rng.laplace(scale=10.0), scores.max()

    found = outcome(beside, PureDP(1.0))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "data reaches the output without noise" in found.note


def test_what_cannot_be_followed_is_not_judged() -> None:
    def inverted(scores, *, rng) -> Any:
        return scores.sum() + math.tan(rng.random())

    found = outcome(inverted, ZCDP(0.5))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.evidence.kind is EvidenceKind.INDICATIVE
    assert found.evidence.quantity is Quantity.RHO
    assert "cannot be followed" in found.note
    assert f"test_traced_privacy.py:{inverted.__code__.co_firstlineno + 1}" in found.note


def two_sided(scores, *, rng) -> Any:
    return scores.sum() + rng.exponential(1.0) - rng.exponential(1.0)


@pytest.mark.known_bad
def test_noise_as_a_difference_of_draws_is_judged_by_its_density() -> None:
    inputs = np.array([1e-4]), np.array([1.0])
    good, bad = (outcome(two_sided, PureDP(claim), inputs, draws=40) for claim in (0.9999, 0.99))
    assert good.verdict is Verdict.CONSISTENT
    assert good.evidence.value == pytest.approx(0.9999, abs=1e-7)
    assert bad.verdict is Verdict.REFUTED


def running_max(scores, *, rng) -> Any:
    best, place = -math.inf, -1
    for index, each in enumerate(scores):
        noisy = each + rng.laplace(scale=2.0)
        if noisy > best:
            best, place = noisy, index
    return place


@pytest.mark.known_bad
@pytest.mark.parametrize("scope", ["release", "transcript"])
def test_an_order_that_is_seen_more_finely_than_its_extreme_does_not_refute(scope) -> None:
    """Which is the largest so far tells more than which is the largest."""
    inputs = np.zeros(11), np.tile([0.0, 1.0], 6)[:11]
    found = outcome(running_max, PureDP(0.01), inputs, scope=scope, draws=50)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.evidence.lower == 0.0


def paths_of(losses) -> PairTrace:
    """Return a trace of such losses in either direction; those of both halves are alike."""
    losses = np.concatenate([losses[::2], losses[1::2]])
    sample = LossSample(losses=losses, departed=np.zeros(losses.size, dtype=bool))
    return PairTrace(
        forward=sample,
        backward=sample,
        exact=None,
        lines=(),
        leaks=(),
        unfollowed=(),
        values=False,
        released=True,
    )


def bisection(mu, paths, rounds=34) -> PairTrace:
    """Return quantiles of the loss of noisy comparisons whose noise costs μ in all."""
    right = float(ndtr(mu / math.sqrt(rounds) / 2))
    ones = binom.ppf((np.arange(paths) + 0.5) / paths, rounds, right)
    return paths_of((2 * ones - rounds) * math.log(right / (1 - right)))


@pytest.mark.known_bad
@pytest.mark.parametrize("guarantee", [GaussianDP(1.0), ZCDP(0.5)], ids=str)
def test_paths_that_lose_more_than_is_claimed_support_no_claim(guarantee) -> None:
    """Bisections of half of the noise, and of enough; neither is refuted by 68 paths."""
    broken, power = path_evidence(guarantee, bisection(2.0, 68), significance=1e-3)
    assert power is None
    assert broken.lower <= broken.claimed < broken.value
    fine, power = path_evidence(guarantee, bisection(1.0, 68), significance=1e-3)
    assert power is not None
    assert fine.lower <= fine.claimed < power.smallest


def test_a_rare_infinite_loss_contradicts_no_promise_that_has_room_for_it() -> None:
    losses = np.concatenate([np.full(67, 0.5), [math.inf]])
    for guarantee, contradicted in ((ApproxDP(1.0, 0.2), False), (ZCDP(0.5), True)):
        _, power = path_evidence(guarantee, paths_of(losses), significance=1e-3)
        assert (power is None) is contradicted


def normal(scores, *, rng, scale=1.0) -> Any:
    return float(scores.sum() + rng.normal(scale=scale))


def two_sums(scores, *, rng) -> Any:
    return np.array([scores[1:].sum() + rng.laplace(), scores.sum() + rng.laplace(scale=0.5)])


def largest(scores, *, rng) -> Any:
    return max(scores[0] + rng.laplace(scale=0.1), scores[1] + rng.laplace(scale=0.1))


@pytest.mark.parametrize(
    ("function", "claim", "event", "rarer"),
    [
        (partial(laplace, scale=0.5), PureDP(1.0), [["-inf", 0.0]], math.exp(-2) / 2),
        (partial(laplace, scale=0.5), ApproxDP(1.0, 0.1), [["-inf", 0.0]], math.exp(-2) / 2),
        (partial(normal, scale=0.5), ZCDP(0.5), [["-inf", 0.0]], ndtr(-2.0)),
    ],
)
def test_noise_that_refutes_names_outputs_and_their_exact_probabilities(
    function, claim, event, rarer
) -> None:
    ends = np.zeros(N), np.repeat([0.0, 1.0], [N - 1, 1])
    found = outcome(function, claim, ends, draws=100)
    assert found.verdict is Verdict.REFUTED
    odds = found.evidence.odds
    assert odds.event == event
    assert (odds.value, odds.neighbour) == pytest.approx((0.5, rarer))


def test_of_several_numbers_the_one_that_the_record_moves_is_named() -> None:
    odds = outcome(two_sums, PureDP(1.0)).evidence.odds
    assert odds.event["feature"] == {"kind": "coordinate", "index": 1}
    assert max(odds.value, odds.neighbour) > math.e * min(odds.value, odds.neighbour)


def test_a_limit_is_sought_where_the_centres_do_not_show_the_loss() -> None:
    """Gaussian noise has no ε; at the centres the ratio is below e."""
    odds = outcome(partial(normal, scale=2.5), PureDP(1.0), draws=400).evidence.odds
    assert max(odds.value, odds.neighbour) > math.e * min(odds.value, odds.neighbour) > 0


def test_of_what_is_not_returned_as_it_is_no_event_is_named() -> None:
    found = outcome(largest, PureDP(1.0), scope="transcript")
    assert found.evidence.odds is None


def chosen_of_five(scores, *, rng) -> Any:
    utility = -np.abs(np.arange(5.0) - 4 * scores.mean())
    weights = np.exp(40 * (utility - utility.max()))
    return float(rng.choice(5, p=weights / weights.sum()))


def test_of_a_whole_law_an_output_is_named_that_happens() -> None:
    inputs = np.full(4, 0.5), np.array([1.0, 0.5, 0.5, 0.5])
    odds = outcome(chosen_of_five, PureDP(1.0), inputs).evidence.odds
    assert max(odds.value, odds.neighbour) > 0.4
    assert max(odds.value, odds.neighbour) > math.e * min(odds.value, odds.neighbour)
