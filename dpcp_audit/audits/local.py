"""Local-DP audits of any randomiser over a finite domain, over all pairs of inputs.

Exact where the channel matrix is known (``local_channel``). Otherwise by a guessing game: a pilot
chooses which inputs are in play, a pair or all of them, and what each report is taken for; fresh
reports of inputs drawn uniformly among these are guessed (``local_guesses``). One exact test of the
number of right guesses has the whole significance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.estimates.channel_loss import channel_loss
from dpcp_audit.audits.estimates.loss_bracket import SIGNIFICANCE
from dpcp_audit.audits.local_channel import guess_bound
from dpcp_audit.audits.local_guesses import ABSTAINS, GuessRule, choose_rule
from dpcp_audit.audits.loss_bounds import log_ratio
from dpcp_audit.decisions import conclude
from dpcp_audit.evidence import of_loss
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Count, Measure, Power, Sample
from dpcp_audit.stats.bisection import fewest, turn
from dpcp_audit.stats.guessing_test import LARGEST_EPSILON, GuessingTest, epsilon_bound
from dpcp_audit.targets.serial_probe import require_independent, unprobed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit._types import IntArray
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import LocalDP
    from dpcp_audit.results import Evidence, Outcome, PlainData

_DETECTION = 0.95
_CHUNK = 2**20
_LARGEST_EXCESS = 50.0
_LOST = 0.25
"""Guesses, all right, must be able to refute at a quarter of the significance."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrivacy:
    """Test ε-LDP against samples of a randomiser on every one of its inputs.

    Half of the outputs are a pilot, equally many of each input, which chooses a contest and a rule
    (``choose_rule``); the other half is played by it. A true claim is refuted with probability at
    most the check's significance, of which a thousandth probes the pilot of every input for serial
    dependence. The pilot is a sample of fixed size on every input, and bounds the loss of the whole
    randomiser from both sides (``channel_loss``), beside the verdict.

    Parameters
    ----------
    randomizer : Randomizer
        The mechanism of one user.
    guarantee : LocalDP
        The claim; ε at most 50.
    n_inputs, n_outputs : int
        Inputs are 0, ..., n_inputs−1, and outputs 0, ..., n_outputs−1; at least two of each.
    n_samples : int
        Outputs drawn at effort 1 for each input, pilot included. Those that are played are of the
        inputs in play, however few.
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    randomizer: Randomizer
    guarantee: LocalDP
    n_inputs: int
    n_outputs: int
    n_samples: int = 20_000
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.integer(n_inputs=self.n_inputs, n_outputs=self.n_outputs, at_least=2)
        _validate.integer(n_samples=self.n_samples, at_least=200)
        if self.guarantee.epsilon > LARGEST_EPSILON:
            raise ValueError(
                f"guarantee must have an ε of at most {LARGEST_EPSILON:g}, got {self.guarantee}"
            )

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
        rule = choose_rule(pilot, epsilon=self.guarantee.epsilon)
        test = self._test(rule.share, len(rule.inputs), n, level)
        played = self._play(rule, test, context.rng(2))
        return conclude(
            self._evidence(played, context, level),
            lambda: self.smallest_violation(context),
            witness=self.witness
            | {"epsilon": self.guarantee.epsilon, "seed": context.seed}
            | _case(rule),
            note=self._note(rule, played, level),
            estimates=(channel_loss(pilot, significance=SIGNIFICANCE),),
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest true ε of randomised response that is refuted.

        With probability at least 0.95, where the pilot has found the rule: an input's own output
        has probability e^ε/(e^ε + m − 1) and, on every other input, 1/(e^ε + m − 1), with
        m = ``n_outputs``. Infinity where no ε is refuted so often.
        """
        n, claimed = context.samples(self.n_samples), self.guarantee.epsilon

        def refuted(epsilon: float) -> bool:
            return self._detects(epsilon, n, context.significance)

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

    def _counts(
        self, size: int, rng: np.random.Generator, *, probed: float | None = None
    ) -> IntArray:
        """Draw ``size`` outputs on each input and count them, shape (k, m).

        With ``probed``, the check's significance, each input's are probed for dependence.
        """
        rows: list[IntArray] = []
        for value in range(self.n_inputs):  # an input at a time bounds the memory
            outputs = self._report(np.full(size, value), rng)
            if probed is not None:
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


def _case(rule: GuessRule) -> PlainData:
    """Return the rule; of a pair, the outputs by which each of the two is guessed."""
    if len(rule.inputs) > 2:
        return {"guesses": rule.guesses.tolist()}
    events = {x: np.flatnonzero(rule.guesses == x).tolist() for x in rule.inputs}
    value, neighbour = sorted(rule.inputs, key=lambda x: not events[x])
    return {
        "value": value,
        "neighbour": neighbour,
        "event": events[value],
        "event_of_neighbour": events[neighbour],
    }
