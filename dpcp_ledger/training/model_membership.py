"""Membership inference on trained models, compared with what a guarantee of the training allows.

What is certified is a mean over the targets, which are ordinary records: another record may be
easier to find, so that an attack that stays below the bound proves nothing.

The guesses about one model are dependent, since all see the same model. So a model is one
observation, a mean over its targets; models are independent, and the mean of a bounded
variable needs no more than that (``bounded_mean``).

Of n targets let c_i be the fair coin that puts target i in, g_i the guess, K the number of ins,
and v(j) = 1/max(j+1, n−j). A model's shares of guesses "in" among the ins and the outs are

    v(K−1)·Σ g_i·c_i  and  v(K)·Σ g_i·(1−c_i),  both in [0, 1].

Where j of the other targets are in, either weighs target i by v(j). So their means are
N = n/2·E[v(J)], J ~ Bin(n−1, 1/2), times a TPR and an FPR: averages over the targets and the
same others. Means with fixed weights 2/n would range over [0, 2].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from dpcp_audit.extensions.audits import (
    SIGNIFICANCE,
    AttackResult,
    OperatingPoint,
    Rate,
    attack_loss,
    power_of_twice,
    roc_figure,
)
from dpcp_audit.extensions.claims import (
    Evidence,
    EvidenceKind,
    Outcome,
    Power,
    Quantity,
    Sampled,
    conclude,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import loss_of
from dpcp_audit.extensions.mechanisms import SubsampledGaussian
from dpcp_audit.extensions.statistics import MeanBets
from dpcp_ledger.training.model_attacks import View
from dpcp_ledger.training.training_pipeline import PrivatePipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import (
        BoolArray,
        Context,
        Estimate,
        FloatArray,
        PrivacyGuarantee,
        Relation,
    )
    from dpcp_ledger.training.model_attacks import Cohort, Models, ShadowAttack


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLine:
    """TPR − e^ε·FPR of an attack, which a guarantee holds at or below δ(ε).

    Given the other targets' coins, the two laws of a model, with the target and without, are
    those of neighbours: P("in" | in) − e^ε·P("in" | out) is at most δ(ε), of every target.

    Parameters
    ----------
    epsilon : float
        ε of the slope e^ε; at 0 the line is the membership advantage.
    allowed : float
        δ(ε).
    targets : int
        The number of targets of a model, n.
    """

    epsilon: float
    allowed: float
    targets: int

    @classmethod
    def of(cls, guarantee: PrivacyGuarantee, epsilon: float, *, targets: int) -> RateLine:
        """Return a guarantee's line."""
        return cls(epsilon=epsilon, allowed=guarantee.delta_at(epsilon), targets=targets)

    @property
    def quantity(self) -> Quantity:
        """The membership advantage, or a δ(ε) that the attack attains."""
        return Quantity.ADVANTAGE if self.epsilon == 0 else Quantity.DELTA

    @property
    def at(self) -> dict[str, float]:
        """The ε of the δ(ε)."""
        return {} if self.epsilon == 0 else {"epsilon": self.epsilon}

    @property
    def detail(self) -> str:
        """TPR − e^ε·FPR in words."""
        slope = "FPR" if self.epsilon == 0 else f"{self._slope:.4g}·FPR"
        return f"TPR − {slope} of the attack, mean over the targets"

    def gains(self, said: BoolArray, coins: BoolArray) -> FloatArray:
        """Return every model's unbiased TPR − e^ε·FPR, shape (models,).

        Parameters
        ----------
        said, coins : ndarray of bool, shape (models, targets)
            True where "in" was said, and where the target was in.
        """
        return shares(said, coins) - self._slope * shares(said, ~coins)

    def growth(self, gains: FloatArray) -> float:
        """Return the largest mean growth of a bet against the line, per model."""
        return MeanBets().growth(self._losses(gains), at_least=self._least_loss)

    def limits(
        self, gains: FloatArray, *, significance: float, pilot: FloatArray
    ) -> tuple[float, float]:
        """Return limits of the mean gain, each wrong with probability ``significance``/2.

        Parameters
        ----------
        gains, pilot : ndarray, shape (models,)
            The gains of fresh models, and of others that choose the bet against the line.
        """
        _validate.open_unit(significance=significance)
        losses = self._losses(gains)
        lower = self._bets(pilot).upper_limit(losses, significance=significance / 2)
        upper = MeanBets().lower_limit(losses, significance=significance / 2)
        return self._gain(lower), self._gain(upper)

    def smallest_violation(
        self, gains: FloatArray, *, significance: float, pilot: FloatArray
    ) -> Power:
        """Return a mean gain that would have been refuted with probability 0.95, at this spread.

        Infinity where there is none.
        """
        shortfall = self._bets(pilot).smallest_violation(
            self._losses(gains),
            at_least=self._least_loss,
            n_values=len(gains),
            significance=significance / 2,
        )
        return Power(
            quantity=self.quantity,
            smallest=self.allowed + shortfall * self._width,
            claimed=self.allowed,
            at=self.at,
            detail="at this spread of the gains",
        )

    def draws_needed(self, gains: FloatArray, *, significance: float, pilot: FloatArray) -> float:
        """Return the number of models with such gains that refutes with probability 0.95.

        Infinity where no number is enough.
        """
        return self._bets(pilot).draws_needed(
            self._losses(gains), at_least=self._least_loss, significance=significance / 2
        )

    def _bets(self, pilot: FloatArray) -> MeanBets:
        return MeanBets().tilted(self._losses(pilot), at_least=self._least_loss)

    @property
    def _slope(self) -> float:
        return math.exp(self.epsilon)

    @property
    def _width(self) -> float:
        return (1 + self._slope) * _largest_share(self.targets)

    @property
    def _least_loss(self) -> float:
        return (_largest_share(self.targets) - self.allowed) / self._width

    def _losses(self, gains: FloatArray) -> FloatArray:
        """Return gains as losses in [0, 1], whose mean the claim holds above a bound."""
        losses = (_largest_share(self.targets) - gains) / self._width
        return np.clip(losses, 0.0, 1.0)  # nothing but rounding lies beyond

    def _gain(self, loss: float) -> float:
        return _largest_share(self.targets) - loss * self._width


def shares(said: BoolArray, chosen: BoolArray) -> FloatArray:
    """Return every model's unbiased rate of "in" among the chosen targets, shape (models,).

    Parameters
    ----------
    said, chosen : ndarray of bool, shape (models, targets)
        True where "in" was said, and where the target was in; a fair coin decides the latter.

    Returns
    -------
    ndarray, shape (models,)
        Unbiased shares, from 0 to 1/N, which lies between 1 and 2.
    """
    n, counts = chosen.shape[1], chosen.sum(axis=1)
    weights = 1 / np.maximum(counts, n + 1 - counts)
    return np.asarray(weights * (said & chosen).sum(axis=1) * _largest_share(n), dtype=np.float64)


def rate(said: BoolArray, chosen: BoolArray, *, significance: float) -> Rate:
    """Return the mean of ``shares`` with limits that err with probability ``significance``."""
    values, largest = shares(said, chosen), _largest_share(chosen.shape[1])
    scaled = np.clip(values / largest, 0.0, 1.0)
    bets = MeanBets()
    lower, upper = (
        min(1.0, largest * limit(scaled, significance=significance / 2))
        for limit in (bets.lower_limit, bets.upper_limit)
    )
    return Rate(float(values.mean()), lower, upper)


@lru_cache(maxsize=16)
def _largest_share(n: int) -> float:
    """Return 1/N of n targets."""
    ways = 2 ** (n - 1)
    mean = sum(math.comb(n - 1, j) / (max(j + 1, n - j) * ways) for j in range(n))
    return float(2 / (n * mean))


_LEVELS = expit(np.linspace(-7.0, 7.0, 57))
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_LOW_RATES = (1e-2, 1e-3)
LARGEST = "At the largest advantage"
_ERRORS = 2.0
"""Standard errors that a threshold's rates have to part by, in the pilots."""


class _AttackScores(NamedTuple):
    """The attack's scores of the targets, and their coins; both of shape (models, targets)."""

    scores: FloatArray
    coins: BoolArray

    def gains(self, line: RateLine, threshold: float) -> FloatArray:
        """Return every model's gain, where "in" is said from the threshold on."""
        return line.gains(self.scores >= threshold, self.coins)


class _ChosenThreshold(NamedTuple):
    """A line, and the threshold from which on "in" is said."""

    line: RateLine
    threshold: float


class Held(NamedTuple):
    """A line and a threshold that pilots chose, and what fresh models certify of them."""

    line: RateLine
    threshold: float
    value: float
    lower: float
    upper: float
    smallest_violation: Power

    @property
    def excess(self) -> float:
        """Return the certified gain minus the allowed one; the claim is false if > 0."""
        return self.lower - self.line.allowed


def candidates(played: _AttackScores) -> FloatArray:
    """Return thresholds of many false-positive rates and of none, the largest first."""
    outside = played.scores[~played.coins]
    levels = np.unique(np.quantile(outside, 1 - _LEVELS, method="inverted_cdf"))
    return np.append(levels, np.nextafter(outside.max(), np.inf))[::-1]


def shares_from(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the share of scores at or above each threshold."""
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    return np.asarray(1 - below / scores.size, dtype=np.float64)


def thresholds(pilot: _AttackScores) -> dict[str, float]:
    """Return the thresholds of largest advantage and of low false-positive rates."""
    levels = candidates(pilot)
    fpr = shares_from(pilot.scores[~pilot.coins], levels)
    tpr = shares_from(pilot.scores[pilot.coins], levels)
    near = {
        f"At an FPR near {level:g}": float(levels[np.argmin(np.abs(fpr - level))])
        for level in _LOW_RATES
    }
    return {LARGEST: float(levels[np.argmax(tpr - fpr)])} | near


def shown_loss(guarantee: PrivacyGuarantee, pilot: _AttackScores, fresh: _AttackScores) -> Estimate:
    """Return the loss in a claim's unit that the attack shows, by its mean rates over the targets.

    A guarantee's power curve is concave: the mean rates lie below it, where those of every target
    do. The pilots choose the threshold, by what they certify themselves, roughly.
    """
    said = fresh.scores >= _largest_loss(guarantee, pilot)
    hits, alarms = (
        rate(said, chosen, significance=SIGNIFICANCE / 2) for chosen in (fresh.coins, ~fresh.coins)
    )
    return attack_loss(
        guarantee,
        hits,
        alarms,
        confidence=1 - SIGNIFICANCE,
        detail="of the attack at one threshold, mean over the targets",
    )


def _largest_loss(guarantee: PrivacyGuarantee, pilot: _AttackScores) -> float:
    """Return the threshold whose rates in the pilots show most; else that of the advantage."""
    loss = loss_of(guarantee)

    def least(threshold: float) -> float:
        said = pilot.scores >= threshold
        hits, alarms = shares(said, pilot.coins), shares(said, ~pilot.coins)
        room = _ERRORS / np.sqrt(len(hits))
        p_low, q_high = hits.mean() - room * hits.std(), alarms.mean() + room * alarms.std()
        return loss.lower_bound(float(np.clip(p_low, 0, 1)), float(np.clip(q_high, 0, 1)))

    levels: list[float] = [thresholds(pilot)[LARGEST], *candidates(pilot).tolist()]
    return max(levels, key=least)


def _most_telling(lines: list[RateLine], pilot: _AttackScores) -> _ChosenThreshold:
    """Return the line and the threshold against which a bet grows most on the pilots."""
    levels = candidates(pilot).tolist()
    growths = [
        [line.growth(pilot.gains(line, threshold)) for threshold in levels] for line in lines
    ]
    best, at = np.unravel_index(np.argmax(growths), np.shape(growths))
    return _ChosenThreshold(lines[int(best)], levels[int(at)])


def choices(
    guarantee: PrivacyGuarantee, pilot: _AttackScores
) -> tuple[_ChosenThreshold, _ChosenThreshold]:
    """Return the two lines to test: the advantage, and the pilots' most telling line."""
    targets = pilot.coins.shape[1]
    lines = [RateLine.of(guarantee, epsilon, targets=targets) for epsilon in _EPSILONS]
    return _ChosenThreshold(lines[0], thresholds(pilot)[LARGEST]), _most_telling(lines, pilot)


def hold(
    choice: _ChosenThreshold, pilot: _AttackScores, fresh: _AttackScores, *, significance: float
) -> Held:
    """Certify a line at its threshold on fresh models."""
    line, threshold = choice
    gains, earlier = (played.gains(line, threshold) for played in (fresh, pilot))
    lower, upper = line.limits(gains, significance=significance, pilot=earlier)
    return Held(
        line=line,
        threshold=threshold,
        value=float(gains.mean()),
        lower=lower,
        upper=upper,
        smallest_violation=line.smallest_violation(gains, significance=significance, pilot=earlier),
    )


def draws_needed(
    choice: _ChosenThreshold, pilot: _AttackScores, fresh: _AttackScores, *, significance: float
) -> float:
    """Return the number of models like the fresh ones that refutes with probability 0.95."""
    gains, earlier = (played.gains(*choice) for played in (fresh, pilot))
    return choice.line.draws_needed(gains, significance=significance, pilot=earlier)


_SHADOWS, _PILOTS = 3 / 8, 1 / 2
_BARE, _FEWEST_BARE = 1 / 4, 64
_RATES = np.linspace(0.0, 1.0, 201)
_DESCRIBED = 0.05
_FIGURE = (
    "How often the attack names a target that was in a fresh model's data, against how often one "
    "that was not, over all targets. The limits of a certified point hold at 95 %; the verdict "
    "rests on TPR − e^ε·FPR and on the whole error budget."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMembership(Sampled):
    """Test a guarantee against a membership attack on trained models.

    Three eighths of the models are shadows, on which the attack is fitted; an eighth are
    pilots, which choose thresholds; the rest are fresh. Beside the verdict stands the loss that
    the attack shows, in the claim's unit, with two sides.

    :Null hypothesis: Two lines of the guarantee, TPR − e^ε·FPR ≤ δ(ε), as means over the targets:
        the advantage (ε = 0), and the line that the pilots found most telling.
    :Statistic: The capital of bets against each line, one value a fresh model.
    :Level: At most the significance, half of it for each line, by Ville's inequality. The targets
        of one model may depend on each other.
    :Power: What the same attack reaches on as many fresh models that were trained without noise,
        where that would have been refuted with probability 0.95. A quarter as many models without
        noise measure it, at least 64: each half has the attack fitted on the other. Models that
        cannot be trained without noise have the smallest advantage that is refuted, which has to be
        that of twice the claimed loss.
    :Reference: Carlini et al. (2022), for attacks by shadow models; Yeom et al. (2018);
        Waudby-Smith and Ramdas (2024).

    Parameters
    ----------
    models : Models
        Trains the models. Checks of the same models share them.
    attack : ShadowAttack
    view : View
        The attacker's view.
    guarantee : PrivacyGuarantee
        The claim, under the relation by which the models' data differ.
    n_models : int
        Models at effort 1, shadows and pilots included, and those without noise not.

    Raises
    ------
    ValueError
        If the guarantee speaks of another relation than the models.
    """

    models: Models
    attack: ShadowAttack
    view: View
    guarantee: PrivacyGuarantee
    n_models: int = 1000

    def __post_init__(self) -> None:
        _validate.choice(View, view=self.view)
        _validate.integer(n_models=self.n_models, at_least=100)
        claimed, given = _relation(self.guarantee), self.models.relation
        if claimed is not None and claimed is not given:
            raise ValueError(
                f"guarantee must be under the models' relation, {given}, got one under {claimed}"
            )

    def __call__(self, context: Context) -> Outcome:
        """Train the models, fit the attack, and judge the guarantee by fresh ones."""
        pilot, fresh = self.play(context)
        share = context.significance / 2
        advantage, telling = (
            hold(choice, pilot, fresh, significance=share)
            for choice in choices(self.guarantee, pilot)
        )
        sharpest = max(advantage, telling, key=lambda one: one.excess)
        shown = _shown(sharpest, advantage)
        levels = thresholds(pilot)
        if shown is not advantage:
            levels["On the most telling line"] = shown.threshold
        result = self._result(levels, fresh)
        evidence = _evidence(shown, context, fresh)
        bare = self.models.without_noise()
        return conclude(
            evidence,
            lambda: (
                advantage.smallest_violation
                if bare is None
                else self._without_noise(bare, context, len(fresh.scores))
            ),
            detect=self._twice(advantage) if bare is None else math.inf,
            witness=self.models.parameters
            | {
                "guarantee": str(self.guarantee),
                "attack": self.attack.name,
                "view": str(self.view),
                "models": context.samples(self.n_models),
                "seed": context.seed,
            },
            note=self._note(result, advantage, fresh),
            figures=(replace(roc_figure(self.guarantee, result, None), description=_FIGURE),),
            estimates=(shown_loss(self.guarantee, pilot, fresh),),
        )

    def play(self, context: Context) -> tuple[_AttackScores, _AttackScores]:
        """Return the fitted attack's scores of pilots and of fresh models."""
        count = context.samples(self.n_models)
        cohort = _trained(self.models, count, context)
        cuts = [0, round(_SHADOWS * count), round(_PILOTS * count), count]
        shadows, pilot, fresh = (cohort.part(start, stop) for start, stop in pairwise(cuts))
        score = self.attack.fit(shadows, self.view)
        return _played(score, pilot), _played(score, fresh)

    def _twice(self, advantage: Held) -> float:
        """Return the advantage at twice the claimed loss, as a multiple of the allowed one."""
        twice = float((power_of_twice(self.guarantee, _RATES) - _RATES).max())
        power = advantage.smallest_violation
        return power.quantity.times_worse(twice, power.claimed, power.bound)

    def _without_noise(self, bare: Models, context: Context, n_models: int) -> Power:
        """Return the advantage without noise, where it would have been refuted."""
        pilot, fresh = self._play_halves(bare, context)
        held = choices(self.guarantee, pilot)
        reached = float(fresh.gains(*held[0]).mean())
        share = context.significance / 2
        needed = min(draws_needed(one, pilot, fresh, significance=share) for one in held)
        shown = needed <= n_models
        passed = f"the same training without noise included ({reached:.4g})"
        return Power(
            quantity=Quantity.ADVANTAGE,
            smallest=reached if shown else math.inf,
            claimed=held[0].line.allowed,
            detail="of the same training without noise" if shown else passed,
        )

    def _play_halves(self, bare: Models, context: Context) -> tuple[_AttackScores, _AttackScores]:
        """Return scores of each half of a smaller cohort, by the attack fitted on the other."""
        count = max(_FEWEST_BARE, round(_BARE * context.samples(self.n_models)))
        cohort = _trained(bare, count, context)
        first, second = cohort.part(0, count // 2), cohort.part(count // 2, count)
        by_first, by_second = (self.attack.fit(half, self.view) for half in (first, second))
        return _played(by_second, first), _played(by_first, second)

    def _result(self, levels: dict[str, float], fresh: _AttackScores) -> AttackResult:
        points: list[OperatingPoint] = []
        for purpose, threshold in levels.items():
            said = fresh.scores >= threshold
            tpr, fpr = (
                rate(said, world, significance=_DESCRIBED) for world in (fresh.coins, ~fresh.coins)
            )
            allowed = float(self.guarantee.power(fpr.upper))
            points.append(OperatingPoint(purpose=purpose, tpr=tpr, fpr=fpr, allowed=allowed))
        curve = candidates(fresh)
        return AttackResult(
            attack=self.attack.name,
            points=tuple(points),
            roc_fpr=shares_from(fresh.scores[~fresh.coins], curve),
            roc_tpr=shares_from(fresh.scores[fresh.coins], curve),
            games=int(min(fresh.coins.sum(), (~fresh.coins).sum())),
        )

    def _note(self, result: AttackResult, advantage: Held, fresh: _AttackScores) -> str:
        models, targets = fresh.scores.shape
        reached = (
            f"Attack: {result.attack}, on {models} fresh models and {targets} targets of each. "
            f"Its advantage is {advantage.value:.4g}; the claim allows "
            f"{advantage.line.allowed:.4g}"
        )
        least = advantage.smallest_violation.smallest
        if least <= 1:
            reached += f", and of such gains {least:.4g} would be refuted"
        points = [
            f"{point.purpose}: TPR {point.tpr} at FPR {point.fpr}, where "
            f"{float(self.guarantee.power(min(1.0, point.fpr.value))):.4g} is allowed."
            for point in result.points[1:]
        ]
        return " ".join([f"{reached}.", *points, "Limits of rates, in brackets, hold at 95 %."])


def _relation(guarantee: PrivacyGuarantee) -> Relation | None:
    """Return the relation that a guarantee names, if it does."""
    part = guarantee.training if isinstance(guarantee, PrivatePipeline) else guarantee
    return part.relation if isinstance(part, SubsampledGaussian) else None


def _trained(models: Models, count: int, context: Context) -> Cohort:
    """Return a cohort, whose random stream is that of its models alone."""
    streams = replace(context, name=models.name, effort=1.0, significance=0.5)
    return _cohort(models, count, streams)


@lru_cache(maxsize=8)
def _cohort(models: Models, count: int, streams: Context) -> Cohort:
    """Train a cohort, or return the one that an earlier check of the same run has trained."""
    return models(count, rng=streams.rng())


def _played(score: Callable[[Cohort], FloatArray], part: Cohort) -> _AttackScores:
    return _AttackScores(part.compared(score(part)), part.coins)


def _shown(sharpest: Held, advantage: Held) -> Held:
    """Return the advantage, or the line that refutes where the advantage does not."""
    return sharpest if sharpest.excess > 0 >= advantage.excess else advantage


def _evidence(shown: Held, context: Context, fresh: _AttackScores) -> Evidence:
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=shown.line.quantity,
        at=shown.line.at,
        detail=shown.line.detail,
        value=max(0.0, shown.value),
        lower=max(0.0, shown.lower),
        upper=max(0.0, shown.upper),
        claimed=shown.line.allowed,
        confidence=1 - context.significance,
        n_samples=len(fresh.scores),
    )
