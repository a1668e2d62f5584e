"""Local-DP audits of any randomiser over a finite domain, over all pairs of inputs.

Exact where the channel matrix is known (``local_channel``). Otherwise by a guessing game: a pilot
chooses which inputs are in play, a pair or all of them, and what each report is taken for; fresh
reports of inputs drawn uniformly among these are guessed (``local_guesses``). One exact test of the
number of right guesses has the whole significance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dpcp_audit.audits.estimates.loss_bracket import SIGNIFICANCE
from dpcp_audit.audits.local_guesses import ABSTAINS, GuessRule, channel_loss, choose_rule
from dpcp_audit.laws.losses import log_ratio
from dpcp_audit.stats.guessing import LARGEST_EPSILON, GuessingTest, epsilon_bound
from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.targets.answers import (
    OR_NONE,
    ConstantOutputsError,
    Randomness,
    probe,
    require_independent,
    unprobed,
)
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import DETECT, conclude, of_loss
from dpcp_audit.words.formatting import counted
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Count, Measure, Power, Sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PureDP
    from dpcp_audit.words.results import Evidence, Outcome, PlainData
    from dpcp_audit.words.validate import IntArray

_DETECTION = 0.95
_CHUNK = 2**20
_LARGEST_EXCESS = 50.0
_LOST = 0.25
"""Guesses, all right, must be able to refute at a quarter of the significance."""
_PROBE_STREAM = 1000
_AGAIN = 5
"""Times the outputs of a witness, on which the same loss is refuted almost surely."""


class Randomizer(Protocol):
    """Reports one output for each input, every input on its own."""

    def __call__(self, values: IntArray, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return integers of the shape of ``values``."""
        ...


class _Played(NamedTuple):
    """A game's test, and the guesses that were right, wrong, and filled and right."""

    test: GuessingTest
    right: int
    wrong: int
    filled: int


def guess_bound(epsilon: float, k: int) -> float:
    """Return e^ε/(e^ε+k−1), the largest chance of a guess that ε-LDP allows.

    The input is uniform over k values; the posterior of one is at most e^ε times that of any
    other, whatever the report.
    """
    _validate.positive(epsilon=epsilon)
    _validate.integer(k=k, at_least=2)
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrivacy:
    """Test ε-LDP against samples of a randomiser on every one of its inputs.

    Half of the outputs are a pilot, equally many of each input, which chooses a contest and a rule
    (``choose_rule``); the other half is played by it. A true claim is refuted with probability at
    most the check's significance, of which a millionth probes the pilot of every input for serial
    dependence. The pilot is a sample of fixed size on every input, and bounds the loss of the whole
    randomiser from both sides (``channel_loss``), beside the verdict.

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

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

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
            As an outcome of this check has it, of the same inputs and outputs.

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
        """Tell whether n outputs refute randomised response, by the contest that shows it best."""
        own = guess_bound(epsilon, self.n_outputs)
        other = own * math.exp(-epsilon)
        powers: list[tuple[float, float]] = []
        for inputs in {2, self.n_inputs} if self.n_inputs <= self.n_outputs else {2}:
            share, right = own + (inputs - 1) * other, guess_bound(epsilon, inputs)
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

    def _play(self, rule: GuessRule, test: GuessingTest, rng: np.random.Generator) -> _Played:
        """Guess until the guesses are made; those that are missing are coins of the bound."""
        right = made = 0
        inputs = np.asarray(rule.inputs)
        for start in range(0, test.rounds, _CHUNK):
            drawn = inputs[rng.integers(inputs.size, size=min(_CHUNK, test.rounds - start))]
            guessed = rule.guesses[self._report(drawn, rng)]
            counted = np.flatnonzero(guessed != ABSTAINS)[: test.guesses - made]
            right += int((guessed[counted] == drawn[counted]).sum())
            made += counted.size
        filled = int(rng.binomial(test.guesses - made, test.share))
        return _Played(test, right, made - right, filled)

    def _evidence(self, played: _Played, context: Context, level: float) -> Evidence:
        test, counted = played.test, played.right + played.filled
        made = played.right + played.wrong
        odds = log_ratio(played.right, max(played.wrong, 0.5))
        guesses = Count(of="right guesses of the input", hits=played.right, trials=made)
        return of_loss(
            Quantity.EPSILON,
            odds + math.log(test.inputs - 1),
            epsilon_bound(test, counted, significance=level),
            refuted=test.p_value(counted) <= level,
            detail="from guesses of the input",
            claimed=self.guarantee.epsilon,
            confidence=1 - context.significance,
            n_samples=test.rounds + 2 * (context.samples(self.n_samples) // 4) * self.n_inputs,
            sample=Sample(measure=Measure.RATES, counts=(guesses,)) if made else None,
        )

    def _note(self, rule: GuessRule, played: _Played, level: float) -> str:
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
        """Hold a few outputs against the declared randomness, on the input that varies most.

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
        probe(self._sample, varied, randomness=self.randomness, rng=rng)

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


def _case(rule: GuessRule, counts: IntArray) -> PlainData:
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


def _rule_of(witness: PlainData, n_inputs: int, n_outputs: int) -> GuessRule:
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
    return GuessRule(inputs=inputs, guesses=guesses, share=float(witness["share"]))
