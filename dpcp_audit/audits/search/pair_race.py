"""The search for the pair with the largest excess: a race of candidates over few outputs each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.search.pair_space import input_key
from dpcp_audit.audits.search.pilot_hypotheses import choose_pair_test, total_promise
from dpcp_audit.targets.degenerate import DegenerateTargetError, Randomness, draw, probe
from dpcp_audit.targets.target_errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.audits.search.pair_space import Candidate, PairSpace
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import PrivacyGuarantee

_CHUNK = 2**18
_FEWEST, _MOST = 32, 4000
_SURVIVORS = 8
_PENALTY = 1.0
"""Standard errors taken off what a pair promises, as the luckiest of many looks best; half of
those that race are chosen with as much added, as others may have been unlucky."""
_EASED = 0.3
"""Pairs are ranked by the claim and by one of so many times its ε or ρ, which few outputs break."""
_TURNING = 500
"""Outputs that there must be room for before some are spent on where the output turns."""
_COINS = 2 * 10**6
"""The streams of the coins of games start there."""
_LOOKED_AT = 2**16
"""Outputs of an input that pilots look at; more of them would tell little and take long."""


@dataclass(slots=True, kw_only=True)
class Bank:
    """Draws from the target, counts what it draws, and keeps what pilots may look at again."""

    sample: Sampler
    context: Context
    spent: int = 0
    kept: dict[object, FloatArray] = field(default_factory=dict[object, "FloatArray"])
    failures: list[str] = field(default_factory=list[str])
    _streams: int = 0

    def fresh(self, value: object, size: int) -> FloatArray:
        """Return new outputs on one input, drawn in chunks."""
        rng = self.context.rng(self._streams)
        self._streams += 1
        self.spent += size
        parts = [
            draw(self.sample, value, min(_CHUNK, size - start), rng=rng)
            for start in range(0, size, _CHUNK)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def known(self, value: object) -> FloatArray:
        """Return the outputs kept of an input; none at first."""
        return self.kept.get(input_key(value), np.zeros(0))

    def keep(self, value: object, outputs: FloatArray) -> None:
        """Add outputs to those of an input, while pilots look at more."""
        key, known = input_key(value), self.known(value)
        if len(known) < _LOOKED_AT:
            self.kept[key] = np.concatenate([known, outputs]) if len(known) else outputs

    def fill(self, candidate: Candidate, size: int) -> None:
        """Keep at least ``size`` outputs of both inputs of a pair."""
        for value in candidate.inputs:
            missing = min(size, _LOOKED_AT) - len(self.known(value))
            if missing > 0:
                self.keep(value, self.fresh(value, missing))

    def pilot(self, candidate: Candidate) -> tuple[FloatArray, FloatArray]:
        """Return equally many of the outputs kept of the two inputs."""
        first, second = (self.known(value) for value in candidate.inputs)
        size = min(len(first), len(second), _LOOKED_AT)
        return first[:size], second[:size]

    def probed(self, value: object, randomness: Randomness) -> None:
        """Test the target's randomness on one input against what is declared."""

        def counted(x: Any, size: int, /, *, rng: np.random.Generator) -> Any:
            self.spent += size
            return self.sample(x, size, rng=rng)

        rng = self.context.rng(self._streams)
        self._streams += 1
        probe(counted, value, randomness=randomness, rng=rng)


@dataclass(slots=True, kw_only=True, eq=False)
class Arm:
    """A candidate in the race, and its excess as far as is known."""

    candidate: Candidate
    score: float = -math.inf
    error: float = 1.0


@dataclass(slots=True, kw_only=True)
class PairRace:
    """The candidates of a pair space, raced in rounds; what is learnt is kept from round to round.

    Parameters
    ----------
    bank : Bank
    guarantee : PrivacyGuarantee
    pairs : PairSpace
    randomness : Randomness
    """

    bank: Bank
    guarantee: PrivacyGuarantee
    pairs: PairSpace
    randomness: Randomness
    arms: list[Arm] = field(default_factory=list[Arm])
    _seen: set[object] = field(default_factory=set[object])
    _queue: list[Candidate] | None = None
    _balanced: bool = False
    _champion: Arm | None = None

    def round(self, budget: int, rng: np.random.Generator) -> Arm:
        """Spend about ``budget`` outputs on new and old candidates; return the best.

        That is the winner of the race, or the pair of an earlier round where its
        hypothesis promises more: many pairs may be as good, and one is known better.

        Raises
        ------
        DegenerateTargetError
            If the target raised on every candidate tried.
        """
        stop = self.bank.spent + budget
        explored = budget // 4 if self.arms else budget // 2
        self._explore(stop - budget + explored, rng)
        if self.constant_everywhere and self.bank.spent < stop:
            self._explore(stop, rng)
        if not self.arms:
            raise DegenerateTargetError(
                f"sample raised on all of {len(self.bank.failures)} pairs of inputs that were "
                f"tried, first: {self.bank.failures[0]}"
            )
        winner = self._survivor(max(0, stop - self.bank.spent))
        known = [arm for arm in (self._champion, winner) if arm is not None]
        self._champion = max(known, key=self._prospect)
        return self._champion

    def choose_pair_test(self, candidate: Candidate) -> PairTest:
        """Select the hypothesis to test on a pair, from all outputs kept of it."""
        samples = self.bank.pilot(candidate)
        seed = int(self.bank.context.rng(_COINS + self.bank.spent).integers(2**32))
        return choose_pair_test(self.guarantee, *samples, bounds=self.pairs.bounds, seed=seed)

    @property
    def constant_everywhere(self) -> bool:
        """Whether every pair tried has given one and the same value."""
        return all(self.constant(arm) for arm in self.arms)

    def random_input(self, arm: Arm) -> object:
        """Return the pair's input on which more distinct outputs came up."""
        outputs = self.bank.pilot(arm.candidate)
        spread = [len(np.unique(x, axis=0)) for x in outputs]
        return arm.candidate.inputs[int(np.argmax(spread))]

    def constant(self, arm: Arm) -> bool:
        """Tell whether all outputs kept of a pair are one and the same."""
        pooled = np.concatenate(self.bank.pilot(arm.candidate))
        return bool((pooled == pooled[:1]).all())

    def _prospect(self, arm: Arm) -> float:
        """Return what is held against a pair promises, less a standard error."""
        if self.constant(arm):
            return -math.inf
        size = len(self.bank.pilot(arm.candidate)[0])
        return self.choose_pair_test(arm.candidate).promise - 1 / math.sqrt(size)

    def _explore(self, stop: int, rng: np.random.Generator) -> None:
        if self._queue is None:
            self._queue = list(self.pairs.candidates())[::-1]
        room = stop - self.bank.spent
        size = min(_MOST, max(_FEWEST, room // (2 * (len(self._queue) or 24))))
        tried = 0
        while tried == 0 or self.bank.spent + 2 * size <= stop:
            tried += 1
            candidate = self._next(rng, stop)
            if candidate is None:
                break
            self._try(candidate, size)
            if tried >= 400:
                break

    def _next(self, rng: np.random.Generator, stop: int) -> Candidate | None:
        if not self._balanced and self._queue is not None and self.bank.spent + _TURNING <= stop:
            self._balanced = True
            self._queue += self._balance()[::-1]
        if self._queue:
            return self._queue.pop()
        best = sorted(self.arms, key=_pessimistic, reverse=True)[:4]
        return self.pairs.nearby(best[rng.integers(len(best))].candidate, rng) if best else None

    def _balance(self) -> list[Candidate]:
        found: list[Candidate] = []
        try:
            found.extend(self.pairs.balanced(self.bank.fresh))
        except DegenerateTargetError:
            raise
        except Exception as error:  # noqa: BLE001  (a target may raise anything)
            self.bank.failures.append(_line(error))
        return found

    def _try(self, candidate: Candidate, size: int) -> None:
        """Add a candidate with so many outputs on either input, unless the target refuses it."""
        key = tuple(input_key(value) for value in candidate.inputs)
        if key in self._seen or key[::-1] in self._seen:
            return
        self._seen.add(key)
        arm = Arm(candidate=candidate)
        if self._fill(arm, size):
            self.arms.append(arm)

    def _fill(self, arm: Arm, size: int) -> bool:
        try:
            self.bank.fill(arm.candidate, size)
        except DegenerateTargetError:
            raise
        except Exception as error:  # noqa: BLE001  (a target may raise anything)
            self.bank.failures.append(_line(error))
            return False
        samples = self.bank.pilot(arm.candidate)
        if samples[0].ndim != samples[1].ndim:
            return False
        arm.score, arm.error = self._score(arm, samples), 1 / math.sqrt(len(samples[0]))
        return True

    def _score(self, arm: Arm, samples: tuple[FloatArray, FloatArray]) -> float:
        if self.constant(arm):
            return -math.inf
        claims = self.guarantee, eased(self.guarantee, _EASED)
        return total_promise(claims, *samples, bounds=self.pairs.bounds)

    def _survivor(self, budget: int) -> Arm:
        """Halve the best candidates until one is left, with as many outputs in every heat.

        Half of the budget is the winner's alone: its test is selected on it. Among the best are
        pairs of several families and sizes, as those of one often promise as much.
        """
        safe = _varied(sorted(self.arms, key=_pessimistic, reverse=True))
        bold = sorted(safe[_SURVIVORS // 2 :], key=_optimistic, reverse=True)
        runners = safe[: _SURVIVORS // 2] + bold[: _SURVIVORS // 2]
        runners = [arm for arm in runners if arm.score > -math.inf]
        if not runners:
            return safe[0]
        heats = max(1, math.ceil(math.log2(len(runners))))
        while True:
            won = len(runners) == 1
            added = budget // 4 if won else budget // (heats * 4 * len(runners))
            for arm in list(runners):
                known = len(self.bank.pilot(arm.candidate)[0])
                if added and not self._fill(arm, known + added):
                    runners.remove(arm)
                    self.arms.remove(arm)
            if not runners:
                raise DegenerateTargetError(f"sample raised: {self.bank.failures[-1]}")
            runners = sorted(runners, key=_pessimistic, reverse=True)
            if won:
                return runners[0]
            runners = runners[: (len(runners) + 1) // 2]


def _varied(arms: list[Arm]) -> list[Arm]:
    """Return the first arm of each family and size of score pairs, and then the others."""
    seen: set[object] = set()
    first: list[Arm] = []
    others: list[Arm] = []
    for arm in arms:
        kind = _kind(arm.candidate)
        (others if kind in seen else first).append(arm)
        seen.add(kind)
    return first + others


def _kind(candidate: Candidate) -> object:
    if candidate.scores is None:
        return candidate
    return candidate.family.removeprefix("near: "), int(candidate.scores.counts.sum())


def _pessimistic(arm: Arm) -> float:
    return arm.score - _PENALTY * arm.error


def _optimistic(arm: Arm) -> float:
    return arm.score + _PENALTY * arm.error


def eased(guarantee: PrivacyGuarantee, factor: float) -> PrivacyGuarantee:
    """Return the guarantee with its ε or ρ times a factor; itself where it has neither."""
    scaled = {
        name: value * factor
        for name, value in guarantee.parameters.items()
        if name in {"epsilon", "rho"}
    }
    return type(guarantee)(**(guarantee.parameters | scaled))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, TargetError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def halves(total: int, stages: int) -> Iterator[int]:
    """Yield budgets that double from stage to stage and sum to at most ``total``."""
    first = total / (2**stages - 1)
    for stage in range(stages):
        yield int(first * 2**stage)
