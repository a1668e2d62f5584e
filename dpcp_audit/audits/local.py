"""Local-DP audits of any randomiser over a finite domain, over all pairs of inputs.

Exact where the channel matrix is known (``local_channel``). Otherwise by a guessing game: a pilot
chooses which inputs are in play, a pair or all of them, and what each report is taken for; fresh
reports of inputs drawn uniformly among these are guessed. One exact test of the number of right
guesses has the whole significance.

In each round one of s inputs is drawn uniformly, and an observer guesses it from its report or
abstains. Under ε-LDP the posterior of any of them is at most e^ε times that of any other, so that a
guess is right with probability at most e^ε/(e^ε + s − 1). Two kinds of contest: one pair of inputs,
for a loss that few inputs suffer, and all inputs, for a loss that all share.

A pilot's reports come in two halves. Each half orders the outputs of every contest, the likeliest
to betray its input first, and the other half says how many of them are worth a guess: out of
sample, so that what only looks like a loss is not taken for one.

A set of outputs shows no larger ratio than the best of its members, so that ε of the whole
randomiser is the largest log-ratio of a single output's probabilities on two inputs. Limits of all
probabilities at once bound it from both sides, whatever pair and output it is attained at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dpcp_audit.audits.loss_bracket import SIGNIFICANCE
from dpcp_audit.laws.losses import log_ratio
from dpcp_audit.stats.rates import (
    LARGEST_EPSILON,
    GuessingTest,
    clopper_pearson,
    epsilon_bound,
    guess_share,
)
from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.targets.answers import (
    OR_NONE,
    ConstantOutputsError,
    Randomness,
    name_of,
    probe,
    require_independent,
    unprobed,
)
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import DETECT, conclude, of_loss
from dpcp_audit.words.formatting import counted
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Count, Estimate, Measure, Power, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PureDP
    from dpcp_audit.words.results import Evidence, Outcome, PlainData
    from dpcp_audit.words.validate import FloatArray, IntArray


EASED = 0.75
"""Outputs are guessed as against this share of the claimed ε: most violations are small beside
the pilot's noise, and a rule that reaches for the largest excess seen guesses too little."""
_PRIOR = 1.0
_STEADY = 10.0
"""Guesses that stand beside those that were made, so that few lucky ones do not look best."""
ABSTAINS = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GuessRule:
    """A contest, and how to guess in it.

    Parameters
    ----------
    inputs : tuple of int
        Inputs in play, at least two.
    guesses : ndarray of int, shape (m,)
        The input that is guessed from each output; −1 where none is.
    share : float
        Guesses a round, as the pilot has it.
    """

    inputs: tuple[int, ...]
    guesses: IntArray
    share: float


class _Shown(NamedTuple):
    """One half of the pilot's results for guesses that the other half suggests, shape (..., m).

    Parameters
    ----------
    size : ndarray of float
        Log-odds of the guess, by the other half.
    right, made : ndarray of int
        Guesses of each output.
    """

    size: FloatArray
    right: IntArray
    made: IntArray


class _Prefix(NamedTuple):
    """The best number of outputs to guess: standard errors beyond ε, and guesses, a round."""

    merit: FloatArray
    share: FloatArray


def choose_rule(halves: tuple[IntArray, IntArray], *, epsilon: float) -> _GuessRule:
    """Choose the contest that exceeds ε by most standard errors, and its guesses.

    Parameters
    ----------
    halves : tuple of ndarray, shape (k, m)
        Counts of the pilot's outputs by input, of either half; equally many a row.

    Notes
    -----
    The best of many pairs looks better than it is: √(2 log k) standard errors are taken off, about
    what the largest of k normal variables reaches. A loop over the first inputs keeps the work in
    memory, O(km) at a time.
    """
    k, size = len(halves[0]), 2 * int(halves[0][0].sum())
    crowd = _both(halves, _crowd, epsilon=epsilon, inputs=k)
    best, inputs, share = float(crowd.merit), tuple(range(k)), float(crowd.share)
    penalty = math.sqrt(2 * math.log(k) / (2 * size))
    for first in range(k - 1):
        pairs = _both(halves, partial(_duels, first=first), epsilon=epsilon, inputs=2)
        second = int(np.argmax(pairs.merit))
        merit = float(pairs.merit[second]) - penalty
        if merit > best:
            best, inputs = merit, (first, first + 1 + second)
            share = float(pairs.share[second])
    return _rule(inputs, halves[0] + halves[1], share)


def _both(
    halves: tuple[IntArray, IntArray],
    contest: Callable[[IntArray, IntArray], _Shown],
    *,
    epsilon: float,
    inputs: int,
) -> _Prefix:
    """Judge each half's guesses by the other half, and return the mean."""
    rounds = inputs * int(halves[0][0].sum())
    one, other = (
        _prefix(contest(*pair), epsilon=epsilon, inputs=inputs, rounds=rounds)
        for pair in (halves, halves[::-1])
    )
    return _Prefix((one.merit + other.merit) / 2, (one.share + other.share) / 2)


def _crowd(learned: IntArray, judged: IntArray) -> _Shown:
    """Guess the likeliest of all inputs."""
    rates = learned + _PRIOR
    guess = rates.argmax(axis=0)
    outputs = np.arange(len(guess))
    size = np.log(rates[guess, outputs] / rates.mean(axis=0))
    return _Shown(size, judged[guess, outputs], judged.sum(axis=0))


def _duels(learned: IntArray, judged: IntArray, *, first: int) -> _Shown:
    """Guess which of two inputs it was: the first one, or each of those after it."""
    odds = np.log((learned[first] + _PRIOR) / (learned[first + 1 :] + _PRIOR))
    mine, theirs = judged[first], judged[first + 1 :]
    right = np.where(odds > 0, mine, theirs)
    return _Shown(np.abs(odds), np.where(odds, right, 0), np.where(odds, mine + theirs, 0))


def _prefix(shown: _Shown, *, epsilon: float, inputs: int, rounds: int) -> _Prefix:
    order = np.argsort(-shown.size, axis=-1, kind="stable")
    right, made = (np.cumsum(np.take_along_axis(x, order, -1), axis=-1) for x in shown[1:])

    def z(loss: float) -> FloatArray:
        share = guess_share(loss, inputs)
        spread = np.sqrt(share * (1 - share) * (made + _STEADY))
        return np.asarray((right - share * made) / spread)

    best = np.expand_dims(z(EASED * epsilon).argmax(axis=-1), -1)
    merit = np.take_along_axis(z(epsilon), best, -1)[..., 0]
    taken = np.take_along_axis(made, best, -1)[..., 0]
    return _Prefix(merit / math.sqrt(rounds), taken / rounds)


def _rule(inputs: tuple[int, ...], counts: IntArray, share: float) -> _GuessRule:
    """Guess the outputs of largest log-odds, as many as come nearest to a share of the rounds."""
    chosen = counts[list(inputs)]
    shown = _crowd(chosen, chosen) if len(inputs) > 2 else _duels(chosen, chosen, first=0)
    size, made = np.atleast_2d(shown.size)[0], np.atleast_2d(shown.made)[0]
    order = np.argsort(-size, kind="stable")
    shares = np.cumsum(made[order]) / chosen.sum()
    taken = order[: 1 + int(np.argmin(np.abs(shares - share)))]
    guesses = np.full(counts.shape[1], ABSTAINS)
    guesses[taken] = np.asarray(inputs)[chosen[:, taken].argmax(axis=0)]
    return _GuessRule(inputs=inputs, guesses=guesses, share=float(shares[taken.size - 1]))


_UNSEEN = 0.5
"""Counts that stand beside those of every output in a point estimate, which stays finite."""
_DETAIL = "of the randomizer, over all pairs of inputs and all outputs"


def channel_loss(halves: tuple[IntArray, IntArray], *, significance: float) -> Estimate:
    """Return ε of a randomiser from counts of its outputs on every input.

    The limits are Clopper–Pearson's, and each probability has the same share of the error. The
    estimate is the mean of the log-ratios that each half of the counts has where the other half
    has its largest, since the largest of many is too large; it is held between the limits.

    Parameters
    ----------
    halves : tuple of ndarray of int, shape (k, m)
        Independent counts of the outputs, an input a row; the outputs of each row are as many in
        every row of a half, and that number was fixed beforehand.
    significance : float
        The probability that ε lies outside of the interval is at most this.

    Examples
    --------
    >>> counts = np.array([[360, 40, 100], [100, 300, 100]])
    >>> found = channel_loss((counts, counts), significance=0.05)
    >>> round(found.value, 2), round(found.lower, 2), round(found.upper, 2)
    (2.0, 1.67, 2.39)
    """
    _validate.open_unit(significance=significance)
    counts = halves[0] + halves[1]
    low, high = clopper_pearson(
        counts, int(counts[0].sum()), significance=significance / counts.size
    )
    with np.errstate(divide="ignore"):
        lower = max(0.0, float((np.log(low.max(axis=0)) - np.log(high.min(axis=0))).max()))
        upper = float((np.log(high.max(axis=0)) - np.log(low.min(axis=0))).max())
    found = (_elsewhere(*halves) + _elsewhere(*halves[::-1])) / 2
    return Estimate(
        quantity=Quantity.EPSILON,
        value=min(max(found, lower), upper),
        lower=lower,
        upper=upper,
        confidence=1 - significance,
        detail=_DETAIL,
    )


def _elsewhere(chooses: IntArray, judges: IntArray) -> float:
    """Return the log-ratio that one half has where the other half's is the largest."""
    rates = chooses + _UNSEEN
    first, second = rates.argmax(axis=0), rates.argmin(axis=0)
    outputs = np.arange(int(rates.shape[1]))
    spread = np.sqrt(1 / rates[first, outputs] + 1 / rates[second, outputs])
    ratios = np.log(rates[first, outputs] / rates[second, outputs])
    output = int(np.argmax(ratios - spread))
    seen = (judges[[first[output], second[output]], output] + _UNSEEN).tolist()
    return math.log(seen[0] / seen[1])


_DETECTION = 0.95
_CHUNK = 2**20
_LARGEST_EXCESS = 50.0
_LOST = 0.25
"""Guesses, all right, must be able to refute at a quarter of the significance."""
_PROBE_STREAM = 1000
_AGAIN = 5
"""Times the outputs of a witness, on which the same loss is refuted almost surely."""


Randomizer: TypeAlias = "Callable[..., ArrayLike]"
"""``randomizer(values, rng=…)`` reports one integer for each input, every input on its own."""


class _Played(NamedTuple):
    """A game's test, the guesses that were right and wrong, and coins for the missing ones."""

    test: GuessingTest
    right: int
    wrong: int
    coins: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrivacy(Sampled):
    """Test ε-LDP against samples of a randomiser on every one of its inputs.

    Half of the outputs, equally many of each input, are a pilot: it chooses a contest and a rule
    (``choose_rule``). The other half is guessed by that rule. The pilot also bounds the loss of the
    whole randomiser from both sides (``channel_loss``), beside the verdict.

    :Null hypothesis: ε-LDP: each output is at most e^ε times as likely on one input as on any
        other.
    :Statistic: The number of right guesses of the input, among a number of guesses that is fixed
        beforehand, in the contest that a pilot chose: one pair of inputs, or all s of them.
    :Level: At most the significance, and exact: under the claim a guess is right with probability
        at most e^ε/(e^ε + s − 1), so that the number is Binomial. A millionth probes for serial
        dependence.
    :Power: ``smallest_violation``: the ε of randomised response that is refuted with probability
        0.95, if the pilot finds the rule.
    :Reference: Kairouz, Oh and Viswanath (2015), Theorem 3.4; Warner (1965), for randomised
        response.

    Parameters
    ----------
    randomizer : Randomizer
        The mechanism of one user.
    guarantee : PureDP
        The claim, such as ``LocalDP``; ε at most 50.
    n_inputs, n_outputs : int
        Inputs are 0, ..., n_inputs−1, and outputs 0, ..., n_outputs−1; at least two of each.
    n_samples : int
        Outputs drawn at effort 1 for each input, pilot included. Those that are played are of the
        inputs in play, however few.
    randomness : Randomness
        The source of the mechanism's random numbers, checked on a few outputs. A
        mechanism that does otherwise, or that seeds itself or returns one constant, is a
        ``DegenerateTargetError``.
    detect : float
        The factor of the noise that is to be refuted, > 1; it decides what is CONSISTENT.
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    randomizer: Randomizer
    guarantee: PureDP
    n_inputs: int
    n_outputs: int
    n_samples: int = 20_000
    randomness: Randomness = Randomness.GENERATOR
    detect: float = DETECT
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.integer(n_inputs=self.n_inputs, n_outputs=self.n_outputs, at_least=2)
        _validate.integer(n_samples=self.n_samples, at_least=200)
        if self.guarantee.epsilon > LARGEST_EPSILON:
            raise ValueError(
                f"guarantee must have an ε of at most {LARGEST_EPSILON:g}, got {self.guarantee}"
            )
        _validate.choice(Randomness, randomness=self.randomness)

    def __call__(self, context: Context) -> Outcome:
        """Choose a rule on pilot samples, and play by it on fresh ones."""
        n, level = context.samples(self.n_samples), unprobed(context.significance)
        quarter = n // 4
        pilot = (
            self._counts(quarter, context.rng(0), probed=context.significance),
            self._counts(quarter, context.rng(1), probed=context.significance),
        )
        self._require_random(pilot[0] + pilot[1], context.rng(_PROBE_STREAM))
        rule = choose_rule(pilot, epsilon=self.guarantee.epsilon)
        test = self._test(rule.share, len(rule.inputs), n, level)
        played = self._play(rule, test, context.rng(2))
        return conclude(
            self._evidence(played, context, level),
            lambda: self.smallest_violation(context),
            detect=self.detect,
            witness=self._witness(context) | _case(rule, pilot[0] + pilot[1]),
            note=self._note(rule, played, level),
            estimates=(channel_loss(pilot, significance=SIGNIFICANCE),),
        )

    def confirm(self, witness: PlainData, context: Context) -> Outcome:
        """Guess by the rule of a witness again, on fresh reports and without a pilot.

        Parameters
        ----------
        witness : dict
            Witness of an outcome of this check, for the same inputs and outputs.

        Raises
        ------
        ValueError
            If it holds no rule.
        """
        n, level = _AGAIN * int(witness["n_samples"]) + 100, context.significance
        rule = _rule_of(witness, self.n_inputs, self.n_outputs)
        test = self._test(rule.share, len(rule.inputs), n, level)
        played = self._play(rule, test, context.rng(2))
        return conclude(
            replace(self._evidence(played, context, level), n_samples=test.rounds),
            lambda: self._power(n, context.significance),
            detect=self.detect,
            witness=witness | {"seed": context.seed},
            note=self._note(rule, played, level),
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest true ε of randomised response that is refuted.

        With probability at least 0.95, where the pilot has found the rule: an input's own output
        has probability e^ε/(e^ε + m − 1) and, on every other input, 1/(e^ε + m − 1), with
        m = ``n_outputs``. Infinity where no ε is refuted so often.
        """
        return self._power(context.samples(self.n_samples), context.significance)

    def _power(self, n: int, significance: float) -> Power:
        claimed = self.guarantee.epsilon

        def refuted(epsilon: float) -> bool:
            return self._detects(epsilon, n, significance)

        largest = claimed + _LARGEST_EXCESS
        able = refuted(largest)
        return Power(
            quantity=Quantity.EPSILON,
            smallest=turn(refuted, claimed, largest, relative=1e-9).holds if able else math.inf,
            claimed=claimed,
            detail="of randomised response",
        )

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return the ``n_samples``, pilot included, that refute such a randomised response.

        At least 200, as the check asks; up to the ripple of a few samples that whole counts
        leave in the power.
        """
        _validate.finite(violation=violation)
        _validate.open_unit(significance=significance)
        claimed = self.guarantee.epsilon
        if not violation > claimed:
            raise ValueError(f"violation must exceed {claimed!r}, got {violation!r}")
        needed = fewest(
            lambda n: self._detects(violation, n, significance),
            at_least=200,
            most=2**29,
            share=500,
        )
        if needed is None:
            raise ValueError(f"violation is too close to the claim, got {violation!r}")
        return needed

    def _detects(self, epsilon: float, n: int, significance: float) -> bool:
        """Return True if n outputs refute randomised response, by the better contest."""
        own = guess_share(epsilon, self.n_outputs)
        other = own * math.exp(-epsilon)
        powers: list[tuple[float, float]] = []
        for inputs in {2, self.n_inputs} if self.n_inputs <= self.n_outputs else {2}:
            share, right = own + (inputs - 1) * other, guess_share(epsilon, inputs)
            test = self._test(share, inputs, n, unprobed(significance))
            spread = math.sqrt(test.share * (1 - test.share))
            merit = (right - test.share) * math.sqrt(share) / spread
            powers.append((merit, test.power(right, significance=unprobed(significance))))
        return max(powers)[1] >= _DETECTION

    def _test(self, share: float, inputs: int, n: int, significance: float) -> GuessingTest:
        """Return the test of the rounds that n outputs an input leave, with its fixed guesses.

        At least as many guesses as can refute, if all are right.
        """
        rounds, epsilon = self.n_inputs * (n - 2 * (n // 4)), self.guarantee.epsilon
        per_guess = math.log1p((inputs - 1) * math.exp(-epsilon))
        able = math.ceil(-math.log(_LOST * significance) / per_guess)
        guesses = min(rounds, max(able, round(share * rounds)))
        return GuessingTest(rounds=rounds, guesses=guesses, epsilon=epsilon, inputs=inputs)

    def _play(self, rule: _GuessRule, test: GuessingTest, rng: np.random.Generator) -> _Played:
        """Guess until the guesses are made; those that are missing are coins of the bound."""
        right = made = 0
        inputs = np.asarray(rule.inputs)
        for start in range(0, test.rounds, _CHUNK):
            drawn = inputs[rng.integers(inputs.size, size=min(_CHUNK, test.rounds - start))]
            guessed = rule.guesses[self._report(drawn, rng)]
            counted = np.flatnonzero(guessed != ABSTAINS)[: test.guesses - made]
            right += int((guessed[counted] == drawn[counted]).sum())
            made += counted.size
        return _Played(test, right, made - right, rng.random(test.guesses - made))

    def _evidence(self, played: _Played, context: Context, level: float) -> Evidence:
        test, made = played.test, played.right + played.wrong
        odds = log_ratio(played.right, max(played.wrong, 0.5))
        lower = epsilon_bound(test, played.right, significance=level, coins=played.coins)
        most = test.critical(level) - 1 if made == test.guesses else None
        guesses = Count(
            of="right guesses of the input", hits=played.right, trials=made, allowed=most
        )
        return of_loss(
            Quantity.EPSILON,
            odds + math.log(test.inputs - 1),
            lower,
            refuted=lower >= test.epsilon,
            detail="from guesses of the input",
            claimed=self.guarantee.epsilon,
            confidence=1 - context.significance,
            n_samples=test.rounds + 2 * (context.samples(self.n_samples) // 4) * self.n_inputs,
            sample=Sample(measure=Measure.RATES, counts=(guesses,)) if made else None,
        )

    def _note(self, rule: _GuessRule, played: _Played, level: float) -> str:
        test, crowd = played.test, len(rule.inputs) > 2
        which = f"all {len(rule.inputs)} inputs" if crowd else "inputs {} and {}"
        made = played.right + played.wrong
        return (
            f"Of {which.format(*rule.inputs)}, {played.right} of {made} guesses were right, in "
            f"{test.rounds} rounds; the claim allows {test.critical(level) - 1} of {test.guesses} "
            "at this confidence."
        )

    def _witness(self, context: Context) -> PlainData:
        return self.witness | {
            "guarantee": str(self.guarantee),
            "relation": str(Relation.SUBSTITUTION),
            "epsilon": self.guarantee.epsilon,
            "n_samples": context.samples(self.n_samples),
            "seed": context.seed,
        }

    def _require_random(self, counts: IntArray, rng: np.random.Generator) -> None:
        """Compare a few outputs with the declared randomness, on the input that varies most.

        Raises
        ------
        DegenerateTargetError
            If they are not drawn so, or the same output came up on all inputs.
        """
        if self.randomness is not Randomness.NONE and np.count_nonzero(counts.any(axis=0)) == 1:
            raise ConstantOutputsError(
                f"one and the same output on all of {counted(self.n_inputs, 'input')}, in "
                f"{counted(int(counts.sum()), 'output')}",
                f"hand over code that is random, or {OR_NONE}",
            )
        varied = int(np.count_nonzero(counts, axis=1).argmax())
        name = name_of(self.randomizer)
        probe(self._sample, varied, randomness=self.randomness, rng=rng, name=name)

    def _sample(self, value: int, size: int, /, *, rng: np.random.Generator) -> IntArray:
        return self._report(np.full(size, value), rng)

    def _counts(
        self, size: int, rng: np.random.Generator, *, probed: float | None = None
    ) -> IntArray:
        """Draw ``size`` outputs on each input and count them, shape (k, m).

        With ``probed``, the check's significance, each input's are probed for dependence.
        """
        rows: list[IntArray] = []
        for value in range(self.n_inputs):  # an input at a time bounds the memory
            outputs = self._report(np.full(size, value), rng)
            if probed is not None and self.randomness is not Randomness.NONE:
                require_independent(outputs, significance=probed / self.n_inputs)
            rows.append(np.bincount(outputs, minlength=self.n_outputs))
        return np.stack(rows)

    def _report(self, values: IntArray, rng: np.random.Generator) -> IntArray:
        outputs = np.asarray(self.randomizer(values, rng=rng))
        if outputs.shape != values.shape:
            raise ValueError(
                f"randomizer must return shape {values.shape}, got shape {outputs.shape}"
            )
        if outputs.dtype == np.bool_:
            outputs = outputs.astype(np.int64)
        return _validate.labels(outputs, n_classes=self.n_outputs, name="randomizer's outputs")


def _case(rule: _GuessRule, counts: IntArray) -> PlainData:
    """Return the rule, and two inputs; of a pair, the outputs by which each is guessed.

    Of more inputs, the two that a single output tells apart best, by the pilot's counts.
    """
    if len(rule.inputs) > 2:
        value, neighbour = _farthest(counts)
        return {
            "value": value,
            "neighbour": neighbour,
            "guesses": rule.guesses.tolist(),
            "share": rule.share,
        }
    events = {x: np.flatnonzero(rule.guesses == x).tolist() for x in rule.inputs}
    value, neighbour = sorted(rule.inputs, key=lambda x: not events[x])
    return {
        "value": value,
        "neighbour": neighbour,
        "event": events[value],
        "event_of_neighbour": events[neighbour],
        "share": rule.share,
    }


def _farthest(counts: IntArray) -> tuple[int, int]:
    """Return the inputs of the largest and the smallest count of the output that parts most."""
    spread = (counts.max(axis=0) + 1) / (counts.min(axis=0) + 1)
    output = int(spread.argmax())
    return int(counts[:, output].argmax()), int(counts[:, output].argmin())


def _rule_of(witness: PlainData, n_inputs: int, n_outputs: int) -> _GuessRule:
    """Return the rule that ``_case`` has written."""
    missing = sorted({"value", "neighbour", "n_samples", "share"} - set(witness))
    if missing or not {"guesses", "event"} & set(witness):
        raise ValueError(f"witness must hold a rule of guesses, lacks {missing}")
    if "guesses" in witness:
        guesses = np.asarray(witness["guesses"], dtype=np.int64)
        inputs = tuple(range(n_inputs))
    else:
        inputs = (int(witness["value"]), int(witness["neighbour"]))
        guesses = np.full(n_outputs, ABSTAINS)
        for x, outputs in zip(inputs, ("event", "event_of_neighbour"), strict=True):
            guesses[np.asarray(witness[outputs], dtype=np.int64)] = x
    return _GuessRule(inputs=inputs, guesses=guesses, share=float(witness["share"]))
