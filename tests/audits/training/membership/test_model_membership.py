from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm
from support.cohorts import Gossip, Responses, cohort
from support.samplers import context

from dpcp_audit.audits.training.membership.attack_rates import RateLine, rate, shares
from dpcp_audit.audits.training.membership.cohorts import Cohort
from dpcp_audit.audits.training.membership.model_attacks import (
    AttackClassifier,
    LiRA,
    LossThreshold,
)
from dpcp_audit.audits.training.membership.model_membership import ModelMembership
from dpcp_audit.audits.training.membership.views import View
from dpcp_audit.guarantees import ApproxDP, PureDP
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.private_pipeline import PrivatePipeline
from dpcp_audit.neighbours import Relation
from dpcp_audit.results import EvidenceKind, Verdict


def three_labels() -> Cohort:
    """Return one model's answers for two records, of labels 0 and 2."""
    return Cohort(
        members=np.array([[True, False]]),
        labels=np.array([0, 2]),
        probabilities=np.array([[[0.5, 0.25, 0.25], [0.5, 0.375, 0.125]]]),
        thresholds=np.array([0.7]),
    )


def gaussian_shadows(models: int = 4000) -> Cohort:
    """Return shadows whose logits are N(2, 1) for members and N(0, 4) for others."""
    rng = np.random.default_rng(0)
    members = rng.random((models, 3)) < 0.5
    logits = np.where(
        members, rng.normal(2.0, 1.0, members.shape), rng.normal(0.0, 2.0, members.shape)
    )
    return cohort(members, 1 / (1 + np.exp(-logits)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"probabilities": np.ones((1, 2))},
            r"probabilities must have shape \(models, n, k\), got",
        ),
        ({"members": np.ones((2, 2), dtype=bool)}, r"members must have shape \(1, 2\), got shape"),
        ({"labels": np.array([0, 3])}, "labels must lie in 0..2"),
        ({"thresholds": np.zeros(3)}, r"thresholds must have shape \(1,\), got shape \(3,\)"),
        ({"relation": Relation.ONE_LABEL}, "relation must be one of add-remove, substitution"),
        (
            {"relation": Relation.SUBSTITUTION, "members": np.array([[True, True]])},
            r"members must hold exactly one of records i and i \+ n/2",
        ),
    ],
)
def test_what_a_cohort_refuses(change, message) -> None:
    good = three_labels()
    fields = {name: getattr(good, name) for name in Cohort.__slots__}
    with pytest.raises(ValueError, match=message):
        Cohort(**fields | change)


def test_rivals_are_compared() -> None:
    members = np.array([[True, False, False, True]])
    rivals = cohort(members, np.full((1, 4), 0.5), relation=Relation.SUBSTITUTION)
    assert rivals.targets == 2
    assert rivals.coins.tolist() == [[True, False]]
    assert rivals.compared(np.array([[5.0, 1.0, 2.0, 4.0]])).tolist() == [[3.0, -3.0]]
    alone = cohort(members, np.full((1, 4), 0.5))
    assert alone.targets == 4
    assert alone.compared(np.ones((1, 4))).shape == (1, 4)


def test_signals_by_hand() -> None:
    seen = three_labels()
    log_odds = [[0.0, math.log(0.125 / 0.875)]]
    assert View.PROBABILITIES.signal(seen) == pytest.approx(np.array(log_odds))
    assert View.SCORE.signal(seen) == pytest.approx(np.array(log_odds))
    # scores 1 − p: 0.5, 0.75, 0.75 and 0.5, 0.625, 0.875 against 0.7
    assert View.SIZE.signal(seen).tolist() == [[-1.0, -2.0]]
    assert View.SETS.signal(seen).tolist() == [[3.0, -2.0]]


def test_a_certain_model_has_a_finite_signal() -> None:
    sure = cohort(np.array([[True, False]]), np.array([[1.0, 0.0]]))
    for view in (View.PROBABILITIES, View.SCORE):
        assert view.signal(sure) == pytest.approx(np.log(1e16) * np.array([[1, -1]]))


@pytest.mark.parametrize(("view", "columns"), list(zip(View, [5, 2, 3, 2], strict=True)))
def test_features_hold_the_label_the_signal_and_no_more_than_is_seen(view, columns) -> None:
    seen = three_labels()
    features = view.features(seen)
    assert features.shape == (1, 2, columns)
    assert features[0, :, 0].tolist() == [0.0, 2.0]
    assert features[..., 1].tolist() == view.signal(seen).tolist()


def test_the_loss_threshold_is_the_signal() -> None:
    seen = three_labels()
    score = LossThreshold().fit(seen, View.PROBABILITIES)
    assert score(seen).tolist() == View.PROBABILITIES.signal(seen).tolist()


@pytest.mark.parametrize("pooled", [False, True])
def test_lira_is_the_ratio_of_the_fitted_gaussians(pooled) -> None:
    shadows = gaussian_shadows()
    signal, inside = View.PROBABILITIES.signal(shadows), shadows.members
    score = LiRA(global_variance=pooled).fit(shadows, View.PROBABILITIES)
    seen = shadows.part(0, 7)
    for record in range(3):
        laws = []
        for chosen in (inside, ~inside):
            own = signal[chosen[:, record], record]
            residuals = [signal[chosen[:, r], r] - signal[chosen[:, r], r].mean() for r in range(3)]
            spread = (
                math.sqrt(sum((r**2).sum() for r in residuals) / (chosen.sum() - 3))
                if pooled
                else own.std(ddof=1)
            )
            laws.append(norm(own.mean(), spread))
        expected = laws[0].logpdf(signal[:7, record]) - laws[1].logpdf(signal[:7, record])
        assert score(seen)[:, record] == pytest.approx(expected)


def test_offline_lira_looks_at_shadows_without_the_record_alone() -> None:
    shadows = gaussian_shadows()
    moved = cohort(shadows.members, np.where(shadows.members, 0.5, shadows.probabilities[..., 0]))
    attack = LiRA(online=False)
    scores = [attack.fit(one, View.PROBABILITIES)(shadows.part(0, 5)) for one in (shadows, moved)]
    assert scores[0] == pytest.approx(scores[1])
    signal = View.PROBABILITIES.signal(shadows)
    outside = signal[~shadows.members[:, 1], 1]
    assert scores[0][:, 1] == pytest.approx((signal[:5, 1] - outside.mean()) / outside.std(ddof=1))


def test_lira_on_sets_weighs_answers_by_their_frequency() -> None:
    members = np.array([[True], [True], [True], [False], [False], [False]])
    # two labels: {0} of signal 2 where p > 1/2, else {1} of signal −1
    shadows = cohort(members, np.array([[0.9], [0.9], [0.1], [0.9], [0.1], [0.1]]))
    score = LiRA().fit(shadows, View.SETS)
    common = {"in": (2 + 0.5) / 4, "out": (1 + 0.5) / 4}  # of {0}
    expected = [
        math.log((2 + 2 * common["in"]) / (1 + 2 * common["out"])),
        math.log((1 + 2 * (1 - common["in"])) / (2 + 2 * (1 - common["out"]))),
    ]
    seen = cohort(members[:2], np.array([[0.9], [0.1]]))
    assert score(seen)[:, 0] == pytest.approx(expected)
    assert score(cohort(members[:1], np.array([[0.5]]))).tolist() == [[0.0]]  # {0, 1}: not seen


def test_lira_refuses_too_few_shadows() -> None:
    members = np.array([[True], [True], [False]])
    with pytest.raises(ValueError, match="shadows must be at least two with and without every"):
        LiRA().fit(cohort(members, np.full((3, 1), 0.5)), View.PROBABILITIES)


def test_the_classifier_learns_what_no_threshold_tells() -> None:
    """Members are answered with middling confidence: neither high nor low."""
    rng = np.random.default_rng(0)
    members = rng.random((200, 10)) < 0.5
    extreme = np.where(rng.random(members.shape) < 0.5, 0.05, 0.95)
    shadows = cohort(members, np.where(members, 0.5, extreme) + rng.uniform(0, 0.05, members.shape))
    score = AttackClassifier().fit(shadows, View.SCORE)(shadows)
    assert np.mean((score > 0) == members) > 0.99
    loss = LossThreshold().fit(shadows, View.SCORE)(shadows)
    assert abs(np.mean((loss > 0) == members) - 0.5) < 0.3


def every_coin(n: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n)))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_shares_are_unbiased_over_all_coins(n) -> None:
    """Of guesses that do not look at the coins: TPR = FPR = their share of "in"."""
    coins = every_coin(n)
    for said in every_coin(n):
        guesses = np.broadcast_to(said, coins.shape)
        for chosen in (coins, ~coins):
            values = shares(guesses, chosen)
            assert values.mean() == pytest.approx(said.mean())
            assert values.min() >= 0
    largest = max(shares(every_coin(n), every_coin(n)))
    assert 1 <= largest <= 2


def test_a_line_never_exceeds_what_a_mechanism_attains() -> None:
    """Randomised response of every coin, guessed as it answers, over all coins and answers."""
    epsilon, n = 0.7, 4
    keep = 1 / (1 + math.exp(-epsilon))
    coins, answers = (np.repeat(every_coin(n), 16, axis=0), np.tile(every_coin(n), (16, 1)))
    weights = np.where(coins == answers, keep, 1 - keep).prod(axis=1) / 16
    for slope in (0.0, 0.3, 0.7, 1.5):
        line = RateLine.of(PureDP(epsilon), slope, targets=n)
        gains = line.gains(answers, coins)
        assert weights @ gains == pytest.approx(keep - math.exp(slope) * (1 - keep))
        assert weights @ gains <= line.allowed + 1e-12
    assert weights @ line.gains(answers, coins) < 0


def test_the_line_of_the_advantage() -> None:
    line = RateLine.of(PureDP(1.0), 0.0, targets=50)
    assert line.allowed == pytest.approx(math.tanh(0.5))
    assert line.quantity == "TPR − FPR of the attack, mean over the targets"
    assert RateLine.of(PureDP(1.0), 1.0, targets=50).quantity.startswith("TPR − 2.718·FPR")


def test_limits_of_a_perfect_attack_shrink_with_the_models() -> None:
    rng = np.random.default_rng(0)
    line = RateLine.of(PureDP(1.0), 0.0, targets=50)
    widths = []
    for models in (100, 1000):
        coins = rng.random((models, 50)) < 0.5
        gains = line.gains(coins, coins)
        lower, upper = line.limits(gains, significance=1e-3, pilot=gains)
        assert lower <= gains.mean() <= upper
        widths.append(upper - lower)
    assert widths[1] < widths[0] / 5
    assert lower > 0.95


def test_rates_have_limits_around_them() -> None:
    rng = np.random.default_rng(0)
    coins = rng.random((400, 30)) < 0.5
    said = rng.random(coins.shape) < 0.25
    tpr = rate(said, coins, significance=0.05)
    assert tpr.lower < tpr.value < tpr.upper
    assert tpr.upper - tpr.lower < 0.06
    assert rate(coins, coins, significance=0.05).upper == 1
    assert rate(~coins, coins, significance=0.05).lower == 0


def test_a_detectable_gain_is_detected() -> None:
    """The note's promise, at the gain that it names; more models make it smaller."""
    rng = np.random.default_rng(0)
    line = RateLine.of(PureDP(1.0), 0.0, targets=40)

    def gains(advantage: float, models: int) -> np.ndarray:
        coins = rng.random((models, 40)) < 0.5
        kept = rng.random(coins.shape) < (1 + advantage) / 2
        return line.gains(coins == kept, coins)

    pilot = gains(0.55, 100)
    named = [
        line.detectable(gains(0.5, models), significance=1e-3, pilot=pilot)
        for models in (200, 2000)
    ]
    assert line.allowed < named[1] < named[0] < 0.7
    reached = [
        line.limits(gains(named[0], 200), significance=1e-3, pilot=pilot)[0] for _ in range(20)
    ]
    assert sum(lower > line.allowed for lower in reached) >= 17


def test_the_check_says_what_it_found() -> None:
    check = ModelMembership(
        models=Responses(2.0),
        attack=LiRA(),
        view=View.PROBABILITIES,
        guarantee=PureDP(1.0),
        n_models=800,
    )
    outcome = check(context(0, significance=1e-4))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.kind is EvidenceKind.CERTIFIED
    assert outcome.evidence.n_samples == 400
    assert outcome.evidence.lower > outcome.evidence.claimed
    assert outcome.witness["models"] == 800
    assert outcome.witness["epsilon"] == 2.0
    assert "At an FPR near 0.001: TPR" in outcome.note
    (figure,) = outcome.figures
    assert figure.log_x
    assert figure.log_y
    assert check(context(0, significance=1e-4)).evidence == outcome.evidence


def test_too_few_models_for_any_attack_are_inconclusive() -> None:
    check = ModelMembership(
        models=Responses(2.0),
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=ApproxDP(6.0, 0.01),
        n_models=100,
    )
    assert check(context(0, significance=1e-4)).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("models", "claim", "verdict", "said"),
    [
        (Responses(0.5), PureDP(1.0), "CONSISTENT", "The same training without noise would have"),
        (Responses(0.5), ApproxDP(6.0, 0.01), "INCONCLUSIVE", "would not have refuted a training"),
        (Gossip(0.05), ApproxDP(0.0, 0.2), "CONSISTENT", "brackets, hold at 95 %."),
        (Gossip(0.05), ApproxDP(3.0, 0.2), "INCONCLUSIVE", "Twice the claimed loss would not"),
    ],
    ids=["told", "never told", "twice told", "twice never told"],
)
def test_consistent_is_said_only_where_the_attack_had_power(models, claim, verdict, said) -> None:
    check = ModelMembership(
        models=models,
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=claim,
        n_models=800,
    )
    outcome = check(context(0, significance=1e-4))
    assert outcome.verdict == verdict
    assert said in outcome.note


def test_models_that_tell_every_coin_are_refuted() -> None:
    """No score of an outsider parts the two: the threshold lies above all of them."""
    check = ModelMembership(
        models=Responses(math.inf),
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=PureDP(1.0),
        n_models=400,
    )
    outcome = check(context(0, significance=1e-4))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.value == pytest.approx(1.0, abs=0.03)


def test_a_view_that_hides_what_the_noise_hides_too_is_inconclusive() -> None:
    """Sets of one size whatever the answer: even told outright, the coins are not seen."""
    check = ModelMembership(
        models=Responses(0.5),
        attack=LossThreshold(),
        view=View.SIZE,
        guarantee=PureDP(1.0),
        n_models=800,
    )
    assert check(context(0, significance=1e-4)).verdict is Verdict.INCONCLUSIVE


def test_the_number_of_models_needed_is_enough_and_not_too_many() -> None:
    """Of 20 cohorts of that size 19 are refuted on average, and of a quarter of it not all."""
    rng = np.random.default_rng(0)
    line = RateLine.of(PureDP(1.0), 0.0, targets=40)

    def gains(models: int) -> np.ndarray:
        coins = rng.random((models, 40)) < 0.5
        kept = rng.random(coins.shape) < 1.55 / 2
        return line.gains(coins == kept, coins)

    pilot = gains(130)
    needed = line.models_needed(gains(130), significance=1e-3, pilot=pilot)

    def refuted(models: int) -> int:
        limits = (line.limits(gains(models), significance=1e-3, pilot=pilot)[0] for _ in range(20))
        return sum(lower > line.allowed for lower in limits)

    assert refuted(int(needed)) >= 14
    assert refuted(int(needed / 4)) <= 10
    assert math.isinf(line.models_needed(0 * pilot, significance=1e-3, pilot=pilot))


@pytest.mark.parametrize(
    "guarantee",
    [
        SubsampledGaussian(
            sampling_rate=0.1, steps=5, noise_multiplier=2.0, relation=Relation.SUBSTITUTION
        ),
        PrivatePipeline(
            training=SubsampledGaussian(
                sampling_rate=0.1, steps=5, noise_multiplier=2.0, relation=Relation.SUBSTITUTION
            ),
            calibration=PCOQS(alpha=0.1, rho=0.5),
        ),
    ],
    ids=["training", "pipeline"],
)
def test_a_guarantee_under_another_relation_is_refused(guarantee) -> None:
    said = "under the models' relation, add-remove, got one under substitution"
    with pytest.raises(ValueError, match=said):
        ModelMembership(models=Responses(1.0), attack=LiRA(), view=View.SCORE, guarantee=guarantee)


def test_a_cohort_under_another_relation_is_refused() -> None:
    check = ModelMembership(
        models=Responses(1.0, name="mistaken", relation=Relation.SUBSTITUTION),
        attack=LiRA(),
        view=View.SCORE,
        guarantee=PureDP(1.0),
    )
    said = "cohorts of their relation, substitution, got add-remove"
    with pytest.raises(ValueError, match=said):
        check(context(0, significance=1e-4))


def test_what_the_check_refuses() -> None:
    good = {"models": Responses(1.0), "attack": LiRA(), "guarantee": PureDP(1.0)}
    with pytest.raises(ValueError, match="n_models must be an integer >= 100, got 99"):
        ModelMembership(view=View.SETS, n_models=99, **good)
    with pytest.raises(ValueError, match="view must be a View"):
        ModelMembership(view="sets", **good)
