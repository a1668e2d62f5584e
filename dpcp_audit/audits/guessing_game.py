"""The guessing game on a pair of inputs: its rounds, its test, the loss that it shows, its power.

In a round a fair coin picks an input; an observer that a pilot has taught guesses which, or not.

The lines that a guarantee implies for the rates of right and wrong guesses: with the concave power
curve F of a guarantee, r ≤ F(w) ≤ κ·w + δ, where κ = e^ε is a slope of F and δ = sup F(q) − κq. The
supremum is bounded from above: a concave function rises between two points of an even grid by at
most what it rose, or falls, on the way to the next one.

The power of a search is that on a planted twin: a reference mechanism of the claim's own notion
whose noise is 1/f of what the claim asks for: Laplace noise for ε, randomised response for reports
of a small domain, Gaussian noise for ρ, μ and Rényi divergences, and there a noisy bisection where
scores are searched, since a comparison shows only 2/π of its noise's ρ; of one user's number the
twin is a release of it. Below the factor at which a bisection shows too little the twin is the
release, and the bisection of that factor besides: who asks for more never gets fewer outputs. Its
best event is tested against the lines that the claim implies; a search does not know pair and
event, and takes so many times the outputs, as measured (``benchmarks/detection.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from dpcp_audit.audits.certificates import Judgement
from dpcp_audit.audits.guesser import (
    Guesser,
    LogOdds,
    Plan,
    Tangent,
    settled,
    smoothed_experts,
    threshold,
)
from dpcp_audit.laws.losses import linear_claim, log_ratio, loss_of
from dpcp_audit.stats.rates import delta_bound, epsilon_bound, filled
from dpcp_audit.stats.roots import find_least, turn_by_factor
from dpcp_audit.words.evidence import LEAST_LOSS, noise_factor, of_loss, violation_by
from dpcp_audit.words.formatting import number
from dpcp_audit.words.guarantees import GaussianDP
from dpcp_audit.words.results import Count, Measure, Power, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.stats.rates import GuessingTest
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray

    Deal = Callable[[int], tuple[BoolArray, FloatArray]]


_FIRST_BATCH = 100
_GROWTH, _TAUGHT = 1.3, 2.0
"""The growth factors of batches: in rounds that count, and in rounds that only teach."""
_LARGEST_BATCH = 2**18
_FAIR = 0.5
_LAST = 8
"""A pool that has fewer outputs left ends the game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The result of a game.

    Parameters
    ----------
    test : GuessingTest
    right, wrong : int
        Numbers of right and wrong guesses among those made.
    coins : ndarray, shape (missing,)
        Uniform draws that fill in the missing guesses: right where they lie below the test's θ.
    rule : LogOdds
        The rule by which the observer would go on guessing.
    """

    test: GuessingTest
    right: int
    wrong: int
    coins: FloatArray
    rule: LogOdds

    @property
    def counted(self) -> int:
        """The right guesses, filled ones of the claim among them."""
        return self.right + filled(self.coins, self.test.share)


class Pools:
    """Deals rounds from outputs that were drawn beforehand, equally many of either input.

    No more rounds at a time than either pool has left, so that any coins can be served: the size
    of a batch says nothing of its coins.

    Parameters
    ----------
    first, second : ndarray, shape (n,) or (n, d)
        A true coin takes the next of the first.
    """

    def __init__(self, first: FloatArray, second: FloatArray, *, rng: np.random.Generator) -> None:
        self._pools, self._rng = [second, first], rng

    def __call__(self, size: int) -> tuple[BoolArray, FloatArray]:
        """Return the coins and outputs of at most ``size`` rounds; none where few are left."""
        left = min(map(len, self._pools))
        coins = self._rng.random(min(size, left) if left >= _LAST else 0) < _FAIR
        outputs = np.empty((coins.size, *self._pools[0].shape[1:]))
        for side, chosen in enumerate((~coins, coins)):
            used = int(chosen.sum())
            outputs[chosen], self._pools[side] = np.split(self._pools[side], [used])
        return coins, outputs

    @staticmethod
    def rounds(size: int) -> int:
        """Return the number of rounds to plan with ``size`` outputs of either input."""
        return max(1, 2 * size - math.isqrt(size))


def play(
    deal: Deal,
    observer: Guesser,
    plan: Plan,
    *,
    rounds: int,
    significance: float,
    rng: np.random.Generator,
) -> Played:
    """Play so many rounds, all of which count.

    Parameters
    ----------
    deal : callable
        Returns the coins and outputs of at most so many rounds, none where the game must end.
        How many may depend on earlier coins, not on those of the batch.
    observer : Guesser
        An observer that has seen other rounds, and learns from these.
    plan : Plan
        Chosen before.
    """
    test = plan.test(rounds, significance)
    right = wrong = 0
    for start, coins, outputs in _dealt(deal, rounds, growth=_GROWTH):
        left = test.guesses - right - wrong
        scores = observer.rule(plan.tangent)(outputs)
        sizes = np.abs(scores)
        least = max(
            threshold(sizes, left / (rounds - start))[0], plan.tangent.eased(observer.rounds)
        )
        guessed = np.flatnonzero(sizes >= least)[:left]
        hits = int(((scores[guessed] > 0) == coins[guessed]).sum())
        right, wrong = right + hits, wrong + guessed.size - hits
        observer.see(outputs, coins)
    return Played(
        test=test,
        right=right,
        wrong=wrong,
        coins=rng.random(test.guesses - right - wrong),
        rule=observer.rule(plan.tangent).above(plan.tangent.eased(observer.rounds)),
    )


def learn(
    deal: Deal,
    observer: Guesser,
    tangents: Sequence[Tangent],
    *,
    rounds: int,
) -> Plan:
    """Play rounds that do not count, at least two batches, and return the plan they suggest."""
    for _, coins, outputs in _dealt(deal, rounds, growth=_TAUGHT):
        observer.see(outputs, coins)
        observer.screen(tangents)
    choice = observer.choose(tangents)
    return Plan(tangent=choice.tangent, share=choice.share)


def _dealt(
    deal: Deal, rounds: int, *, growth: float
) -> Iterator[tuple[int, BoolArray, FloatArray]]:
    """Yield batches that grow, each with the number of rounds before it."""
    start, size = 0, min(_FIRST_BATCH, math.ceil(rounds / 2))
    while start < rounds:
        coins, outputs = deal(min(rounds - start, size))
        if not coins.size:
            return
        yield start, coins, outputs
        start, size = start + coins.size, min(_LARGEST_BATCH, math.ceil(growth * size))


_CONTACTS = (0.01, 0.05, 0.12, 0.25)
"""Rates of wrong guesses at which the tangents touch the curve, about."""
_NEAR = 0.05
_REACH, _POINTS = 0.2, 17
"""The supremum is searched this far from the tangent point (relative), at so many points."""


@lru_cache(maxsize=256)
def tangents_of(guarantee: PrivacyGuarantee) -> tuple[Tangent, ...]:
    """Return tangents (ε, δ(ε)) of the guarantee's power curve: its own where it is (ε, δ)-DP.

    None where nothing could refute them.
    """
    linear = linear_claim(guarantee)
    if linear is not None:
        return (Tangent(linear.epsilon, linear.delta),)
    if loss_of(guarantee).linear is not None:
        return ()
    contacts = np.array(_CONTACTS)
    ends = guarantee.power(np.concatenate([contacts * (1 - _NEAR), contacts * (1 + _NEAR)]))
    low, high = np.split(ends, 2)
    slopes = np.maximum(1.0, (high - low) / (2 * _NEAR * contacts))
    grid = contacts[:, None] * np.linspace(1 - _REACH, 1 + _REACH, _POINTS)
    power = guarantee.power(grid)
    found = [
        Tangent(math.log(slope), _supremum(row - slope * rates))
        for slope, rates, row in zip(slopes.tolist(), grid, power, strict=True)
        if slope > 1
    ]
    found.append(Tangent(0.0, guarantee.advantage()))
    return tuple(tangent for tangent in found if tangent.delta < 1)


def _supremum(values: FloatArray) -> float:
    """Bound a concave function from its values on an even grid around its maximum; 1 if not."""
    top = int(np.argmax(values))
    if not 0 < top < values.size - 1:
        return 1.0
    rise = values[top] - min(values[top - 1], values[top + 1])
    return min(1.0, float(values[top] + rise))


_DETAIL = "of the release, from guesses of its input"
_LEAST_LOG, _GRID, _STEP = -30.0, 60, 0.5


def judge_game(guarantee: PrivacyGuarantee, played: Played, *, significance: float) -> Judgement:
    """Judge a claim by a game that was played against one of its tangents.

    A true claim is refuted with probability at most ``significance``.
    """
    test, rounds = played.test, played.test.rounds
    right, wrong = played.right / rounds, max(played.wrong, 0.5) / rounds
    linear, loss = linear_claim(guarantee), loss_of(guarantee)
    if linear is not None:
        value = log_ratio(right - linear.delta, wrong)
        lower = epsilon_bound(test, played.right, significance=significance, coins=played.coins)
        refuted = lower >= test.epsilon
    else:
        value = loss.of_event(right, wrong) if right > wrong else 0.0
        refuted = test.p_value(played.counted) <= significance
        bound = delta_bound(test, played.counted, significance=significance)
        lower = least_loss(loss, math.exp(test.epsilon), bound)
    most = test.critical(significance) - 1
    guesses = Count(
        of="right guesses of the input",
        hits=played.counted,
        trials=test.guesses,
        allowed=most,
    )
    return Judgement(
        evidence=of_loss(
            loss.quantity,
            value,
            lower,
            refuted=refuted,
            at=loss.at,
            detail=_DETAIL,
            claimed=loss.claimed_at(wrong),
            confidence=1 - significance,
            n_samples=rounds,
            sample=Sample(measure=Measure.RATES, counts=(guesses,)),
        ),
        note=(
            f"{played.right} of {played.right + played.wrong} guesses of the input were right, "
            f"in {rounds} rounds; the claim allows {most} of {test.guesses} at this confidence."
        ),
    )


def least_loss(loss: Loss, ratio: float, delta: float) -> float:
    """Return the least loss of two rates with r − κ·w = δ, which those of the game exceed.

    Along the line a loss falls and then rises. It is 0 where that is not seen: where δ is so tiny
    that it still rises at the smallest w tried.
    """
    if not delta > 0:
        return 0.0

    def at(log: float) -> float:
        wrong = math.exp(log) * (1 - delta) / ratio
        return loss.of_event(min(1.0, delta + ratio * wrong), wrong)

    best = min((_LEAST_LOG + _STEP * place for place in range(_GRID)), key=at)
    return 0.0 if best == _LEAST_LOG else find_least(at, best - _STEP, best + _STEP)


_FEWEST = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GameTest:
    """A guessing game whose observer has learned from a pilot, and goes on learning.

    :Null hypothesis: (ε, δ)-DP on one pair of inputs, so that each guess of the input is right with
        probability at most θ = e^ε/(1 + e^ε), unless δ shows the input. For any other claim: the
        (ε, δ) that one tangent of its power curve implies, chosen beforehand.
    :Statistic: The number of right guesses among M, which is fixed beforehand (``GuessingTest``).
        Missing guesses are filled in by coins that are right with probability θ.
    :Level: At most the significance, and exact for ε-DP, where the number is Binomial(M, θ). The
        observer may learn from all earlier rounds: no rule guesses better than θ.
    :Power: It finds many outcomes in no order, each a little likelier on one input.
        ``smallest_violation`` states the loss that a well-chosen event refutes with probability
        0.95.
    :Reference: Kairouz, Oh and Viswanath (2015), Theorem 3.4, for the law under the claim.

    Parameters
    ----------
    observer : Guesser
    plan : Plan
    seed : int
        The seed of the coins, which are independent of the outputs.
    promise : float
        Standard errors beyond the claim, per square root of a pair of outputs.
    """

    observer: Guesser
    plan: Plan
    seed: int
    promise: float

    def judge(
        self,
        guarantee: PrivacyGuarantee,
        outputs: FloatArray,
        neighbour_outputs: FloatArray,
        *,
        significance: float,
    ) -> Judgement:
        """Play a game of fresh outputs; its final rule is the witness."""
        rng = np.random.default_rng([self.seed, 1])
        played = play(
            Pools(outputs, neighbour_outputs, rng=rng),
            replace(self.observer),
            self.plan,
            rounds=Pools.rounds(len(outputs)),
            significance=significance,
            rng=rng,
        )
        judgement = judge_game(guarantee, played, significance=significance)
        return replace(judgement, held=self._described(played.rule))

    def as_data(self) -> PlainData:
        """Return the rule that the pilot has taught, and the plan."""
        rule = self.observer.rule(self.plan.tangent)
        return self._described(rule.above(self.plan.tangent.eased(self.observer.rounds)))

    @classmethod
    def from_data(cls, data: dict[str, Any], *, seed: int) -> GameTest:
        """Build a test whose observer keeps to the rule that was written."""
        rule = LogOdds.from_data(data["rule"])
        return cls(
            observer=Guesser(experts=(settled(rule),), rules=[rule]),
            plan=Plan(tangent=Tangent(data["epsilon"], data["delta"]), share=data["share"]),
            seed=seed,
            promise=np.nan,
        )

    def _described(self, rule: LogOdds) -> PlainData:
        epsilon, delta = self.plan.tangent
        game = {"rule": rule.as_data(), "share": self.plan.share}
        return {"game": game | {"epsilon": epsilon, "delta": delta}}


def choose_game(
    guarantee: PrivacyGuarantee,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
    seed: int,
) -> GameTest | None:
    """Teach an observer on pilot outputs; None where it knows nothing to guess by."""
    tangents = tangents_of(guarantee)
    if not tangents or len(outputs) < _FEWEST:
        return None
    observer = Guesser(experts=smoothed_experts(outputs, bounds=bounds))
    pools = Pools(outputs, neighbour_outputs, rng=np.random.default_rng([seed, 0]))
    plan = learn(pools, observer, tangents, rounds=Pools.rounds(len(outputs)))
    promise = observer.promise(plan) * np.sqrt(2)
    if not plan.share > 0:
        return None
    return GameTest(observer=observer, plan=plan, seed=seed, promise=promise)


_DETECTION = 0.95
_SEARCHED_RESPONSE, _SEARCHED_LAPLACE = 4.0, 12.0
_SEARCHED_GAUSSIAN, _SEARCHED_BISECTION = 6.0, 10.0
_SEARCHED_NUMBERS, _GIVEN = 6.0, 2.5
"""Outputs that a search takes for each one that the best event of the worst pair would; the last
of a pair that is given."""
_FEWEST_CALLS = 1_500
"""Outputs below which no search was seen to find every twin."""
_LAST_STAGE = 0.45
"""The share of the significance that the last stage of a search has, at least."""
_COMPARED = math.sqrt(2 / math.pi)
"""The part of a Gaussian shift that the bits of comparisons with it show."""
_LEAST_BISECTED = 1.1 / _COMPARED
"""The least factor asked of a bisection, of which it then shows 1.1."""
_LARGEST_FACTOR = 64.0
_ROUNDING = 1e-12
_LARGEST_EPSILON = 500.0
_CUTS = np.linspace(-6.0, 14.0, 401)
"""The half-lines among which a shift's best event is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A reference mechanism of a claim's notion, of which a search is to refute a weaker one.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claim.
    inputs : int or None
        The number of values of a randomizer's domain; None for scores, and for numbers.
    of_numbers : bool
        True if one user's number between two bounds is searched.
    given : bool
        True if its worst pair is given, so that only the event is searched.
    detect : float
        The factor f > 1 of interest, by which the twin is chosen.

    Examples
    --------
    >>> from dpcp_audit.words.guarantees import PureDP
    >>> twin = Twin(guarantee=PureDP(1.0))
    >>> round(twin.calls(2.0, significance=1e-6)) < round(twin.calls(1.2, significance=1e-6))
    True
    >>> twin.power(40_000, significance=1e-4).factor < 1.5
    True
    """

    guarantee: PrivacyGuarantee
    inputs: int | None = None
    of_numbers: bool = False
    given: bool = False
    detect: float = 2.0

    def calls(self, factor: float, *, significance: float) -> float:
        """Return the outputs with which noise of 1/factor is refuted with probability 0.95.

        Infinity where no number of them suffices.
        """
        needed = _calls(self, factor, significance, bisecting=self.bisects)
        if self.of_scores and not self.bisects:
            bisected = max(factor, _LEAST_BISECTED)
            needed = max(needed, _calls(self, bisected, significance, bisecting=True))
        return needed

    def power(self, calls: int, *, significance: float) -> Power:
        """Return the smallest loss of a twin that a search with so many outputs refutes."""
        smallest = self._smallest_factor(calls, significance)
        loss = loss_of(self.guarantee)
        claimed = loss.claimed
        able = math.isfinite(smallest)
        return Power(
            quantity=loss.quantity,
            smallest=violation_by(smallest, loss.quantity, claimed) if able else math.inf,
            claimed=claimed,
            at=loss.at,
            detail=self._words(smallest),
        )

    def calls_for(self, violation: float, *, significance: float) -> float:
        """Return the outputs that refute a twin with a loss of ``violation``, likewise."""
        loss = loss_of(self.guarantee)
        factor = noise_factor(violation, loss.quantity, loss.claimed)
        return self.calls(factor, significance=significance)

    @property
    def of_scores(self) -> bool:
        """True if scores are searched for Gaussian noise, which a bisection shows the least of."""
        return self.inputs is None and not self.of_numbers and not self._linear

    @property
    def bisects(self) -> bool:
        """True if the twin is a bisection alone, which compares scores with its noise."""
        return self.of_scores and self.detect >= _LEAST_BISECTED

    def searched(self, *, bisecting: bool) -> float:
        """Return the factor of outputs that a search takes, as measured."""
        if self.given:
            return _GIVEN
        if self.of_numbers:
            return _SEARCHED_NUMBERS
        if self._linear:
            return _SEARCHED_LAPLACE if self.inputs is None else _SEARCHED_RESPONSE
        return _SEARCHED_BISECTION if bisecting else _SEARCHED_GAUSSIAN

    def rates(self, factor: float, *, bisecting: bool) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of its likeliest events on one input and on its neighbour."""
        loss = loss_of(self.guarantee)
        if self._linear:
            epsilon = factor * (loss.claimed or LEAST_LOSS)
            if self.inputs is None:
                return _laplace_rates(epsilon)
            return _response_rates(epsilon, self.inputs)
        seen = _COMPARED if bisecting else 1.0
        shift = factor * (loss.to_shift(loss.claimed) or LEAST_LOSS) * seen
        return ndtr(shift - _CUTS), ndtr(-_CUTS)

    @property
    def _linear(self) -> bool:
        return loss_of(self.guarantee).linear is not None

    def _smallest_factor(self, calls: int, significance: float) -> float:
        def able(factor: float) -> bool:
            return self.calls(factor, significance=significance) <= calls

        if not able(_LARGEST_FACTOR):
            return math.inf
        return turn_by_factor(able, 1.0, _LARGEST_FACTOR, ratio=1.0001).holds

    def _words(self, factor: float) -> str:
        part = f" with {number(1 / factor, digits=2)} of its noise" if math.isfinite(factor) else ""
        if not self._linear:
            bisected = self.bisects or (self.of_scores and factor >= _LEAST_BISECTED)
            return f"of a {'noisy bisection' if bisected else 'Gaussian release'}{part}"
        if self.inputs is None:
            return f"of a Laplace mechanism{part}"
        return f"of randomised response over {self.inputs} values"


@lru_cache(maxsize=4096)
def _calls(twin: Twin, factor: float, significance: float, *, bisecting: bool) -> float:
    levels = float(-ndtri(_LAST_STAGE * significance)), float(ndtri(_DETECTION))
    rates = twin.rates(factor, bisecting=bisecting)
    by_event = _by_event(twin.guarantee, rates, levels)
    by_moment = _by_moment(twin, rates, levels)
    return max(_FEWEST_CALLS, twin.searched(bisecting=bisecting) * min(by_event, by_moment))


def _by_event(
    guarantee: PrivacyGuarantee, rates: tuple[FloatArray, FloatArray], levels: tuple[float, float]
) -> float:
    needed = [_for_tangent(tangent, rates, levels) for tangent in tangents_of(guarantee)]
    return min(needed, default=math.inf)


def _by_moment(
    twin: Twin, rates: tuple[FloatArray, FloatArray], levels: tuple[float, float]
) -> float:
    """Return the outputs with which moments show a Gaussian release beyond its divergences.

    They show about what events show against the Gaussian claim of the same noise, but for what
    the tails take: more, as was measured, the larger the divergence D that is allowed, by
    e^(D/2), and the farther an order α looks out, by e^((α−1)²μ²/2).
    """
    loss = loss_of(twin.guarantee)
    if not loss.renyi:
        return math.inf
    shift = loss.to_shift(loss.claimed)
    tilt = (loss.at.get("alpha", 1.0) - 1) * shift
    tails = math.exp(min(tilt**2 / 2 + loss.claimed / 2, _LARGEST_EPSILON))
    by_event = _by_event(GaussianDP(shift or LEAST_LOSS), rates, levels)
    return by_event * tails


def _for_tangent(
    tangent: Tangent, rates: tuple[FloatArray, FloatArray], levels: tuple[float, float]
) -> float:
    """Return the outputs of both inputs that show an event above a line, p > e^ε·q + δ.

    In the normal approximation, with the variance of a claim that just holds in front.
    """
    slope, delta = math.exp(tangent.epsilon), max(0.0, tangent.delta)
    p, q = rates
    excess = p - slope * q - delta
    least = (p + q - delta) / (1 + slope)
    shown = (excess > _ROUNDING) & (least >= 0)
    p, q, excess, least = p[shown], q[shown], excess[shown], least[shown]
    if not excess.size:
        return math.inf
    held = np.sqrt(p + q - least + slope**2 * least)
    true = np.sqrt(p + slope**2 * q)
    spread = levels[0] * held + levels[1] * true
    return float((2 * (spread / excess) ** 2).min())


def _laplace_rates(epsilon: float) -> tuple[FloatArray, FloatArray]:
    return _laplace_tail(_CUTS - epsilon), _laplace_tail(_CUTS)


def _laplace_tail(cuts: FloatArray) -> FloatArray:
    tail = np.exp(-np.abs(cuts)) / 2
    return np.where(cuts > 0, tail, 1 - tail)


def _response_rates(epsilon: float, inputs: int) -> tuple[FloatArray, FloatArray]:
    """Return the rates of an input's own report, and of all but the other's."""
    other = 1 / (math.exp(min(epsilon, _LARGEST_EPSILON)) + inputs - 1)
    own = 1 - (inputs - 1) * other
    return np.array([own, 1 - other]), np.array([other, 1 - own])
