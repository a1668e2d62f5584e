"""The search for the pair with the largest excess: a race of candidates over few outputs each.

Floating-point numbers are denser near zero, so the last bits of ``mean + noise`` depend on the mean
although the noise is right. Outputs are therefore rounded to a public grid before the promise of
ideal numbers is tested. The grid is the same for both inputs; rounding is post-processing, so it
adds no loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.search.pair_space import input_key
from dpcp_audit.audits.search.pilot_hypotheses import (
    choose_pair_test,
    promise_of_atoms,
    shows_atoms,
    total_promise,
)
from dpcp_audit.laws.losses import claims_delta
from dpcp_audit.targets.answers import (
    OR_NONE,
    ConstantOutputsError,
    DegenerateTargetError,
    Randomness,
    TargetError,
    draw,
    probe,
)
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.formatting import counted

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Candidate, PairSpace, Sampler
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray

_CHUNK = 2**18
_FEWEST = 16
"""Outputs of either input that a pair is first tried on, at least."""
_FEW_PAIRS, _CONSTANT = 8, 2
"""After so many pairs on each of which all outputs were one and the same, further ones are tried on
so few outputs of either input: they say where such a target's output changes as well."""
_ARMS = 128
"""Pairs that a round's budget should suffice to try, where they are tried on more outputs."""
_MOST_TRIED = 400
_WINNERS = 0.4
"""The share of a round's outputs that goes to the winner."""
_WATCHED, _MOST_WATCHED = 0.4, 3
"""The share of a round's outputs that goes, where δ is claimed, to pairs that show rare atoms, and
how many of them."""
_LUCK, _GREAT_LUCK = 2.0, 3.0
"""Standard errors that a pair promises where there is nothing to see, and the luckiest of many."""
_EXPLORED = 0.25
"""The share of the race's outputs that tries new pairs."""
_SETTLING = 4
"""Steps in which the winner's outputs are drawn."""
_TURNING, _TURNING_SHARE = 400, 100
"""Outputs that there must be room for before some are spent on where the output turns, and how many
times those of a trial must fit."""
_FEW, _MANY = 7, 200
"""Outputs of a trial of where the output turns."""
_COINS = 2 * 10**6
"""The streams of the coins of games start there."""
_LOOKED_AT = 2**16
"""Outputs of an input that pilots look at; more of them would tell little and take long."""
_FINE = -33
"""Power of two of a step, relative to the spread of the outputs."""
_FINEST = -43
"""The same relative to their magnitude: a thousand times the spacing of floating-point numbers."""
_SINGLE_FINEST = -14
"""The same for numbers of single precision."""
_SLACK = 2.0**-8
"""Share of a step by which a number may lie below a multiple and still belong to it."""


@dataclass(frozen=True, slots=True, eq=False)
class PublicGrid:
    """Rounds each coordinate down to multiples of a power of two.

    Parameters
    ----------
    steps : ndarray, shape () or (d,)
        The power of two of each coordinate; 0 leaves it as it is.
    """

    steps: FloatArray

    @classmethod
    def of(cls, outputs: FloatArray) -> PublicGrid | None:
        """Return the grid that some outputs suggest; None if all are zero or infinite.

        Parameters
        ----------
        outputs : ndarray, shape (size,) or (size, d)

        Examples
        --------
        >>> grid = PublicGrid.of(np.array([0.1, 0.2, 0.7]))
        >>> float(grid(np.array([0.1 + 0.2]))[0] - grid(np.array([0.3]))[0])
        0.0
        """
        columns = outputs.reshape(len(outputs), -1).T
        steps = np.array([_step(column) for column in columns])
        if not steps.any():
            return None
        steps[steps == 0] = steps.max()
        return cls(steps.reshape(outputs.shape[1:]))

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the outputs on the grid; infinite ones, and other shapes, as they are."""
        if outputs.shape[1:] != self.steps.shape or not self.steps.all():
            return outputs
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.floor(outputs / self.steps + _SLACK) * self.steps
        return np.where(np.isfinite(rounded), rounded, outputs)

    def as_data(self) -> PlainData | list[float] | float:
        """Return the steps as plain data."""
        steps: list[float] | float = self.steps.tolist()
        return steps


def _step(values: FloatArray) -> float:
    """Return the step for a coordinate's values; 0 where they say nothing."""
    distinct = np.unique(values[np.isfinite(values)])
    if not distinct.any():
        return 0.0
    low, high = np.quantile(distinct, [0.25, 0.75])
    magnitude = float(np.quantile(np.abs(distinct[distinct != 0]), 0.75))
    finest = _SINGLE_FINEST if _is_single(distinct) else _FINEST
    spread = float(high - low)
    if not np.isfinite(spread) or spread <= 0:
        spread = magnitude
    step = max(math.ldexp(spread, _FINE), math.ldexp(magnitude, finest))
    if bool((distinct == np.rint(distinct)).all()):
        step = min(step, 1.0)
    return 2.0 ** max(-1000, math.floor(math.log2(step))) if step > 0 else 0.0


def _is_single(distinct: FloatArray) -> bool:
    """Return True if numbers are of single precision, and not those of a fixed binary grid."""
    with np.errstate(over="ignore"):
        single = bool((distinct == distinct.astype(np.float32)).all())
    spacing = float(np.spacing(np.float32(np.abs(distinct).max()))) if single else 1.0
    return single and not bool((distinct / spacing == np.rint(distinct / spacing)).all())


@dataclass(slots=True, kw_only=True)
class Bank:
    """Draws from the target, counts what it draws, and keeps what pilots may look at again.

    The first outputs that are neither all zero nor infinite set the grid on which all are seen.
    ``written`` holds the last outputs of each input as the target wrote them, and ``told_apart``
    the pairs on one input of which alone it raises, with its error.
    """

    sample: Sampler
    context: Context
    spent: int = 0
    kept: dict[object, FloatArray] = field(default_factory=dict[object, "FloatArray"])
    failures: list[str] = field(default_factory=list[str])
    told_apart: list[tuple[Candidate, str]] = field(default_factory=list["tuple[Candidate, str]"])
    grid: PublicGrid | None = None
    written: dict[object, FloatArray] = field(default_factory=dict[object, "FloatArray"])
    _streams: int = 0

    def fresh(self, value: object, size: int) -> FloatArray:
        """Return new outputs on one input, on the grid; a call that raises draws none."""
        rng = self.context.rng(self._streams)
        self._streams += 1
        parts = [
            draw(self.sample, value, min(_CHUNK, size - start), rng=rng)
            for start in range(0, size, _CHUNK)
        ]
        self.spent += size
        written = parts[0] if len(parts) == 1 else np.concatenate(parts)
        self.written[input_key(value)] = written
        return self.on_grid(written)

    def on_grid(self, outputs: FloatArray) -> FloatArray:
        """Return outputs on the grid; as they are while nothing is known to choose one by."""
        if self.grid is None:
            self.grid = PublicGrid.of(outputs)
        return outputs if self.grid is None else self.grid(outputs)

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

    def note_failure(self, candidate: Candidate, error: Exception) -> None:
        """Keep an error, and the pair if a few calls raise on one of its inputs alone."""
        self.failures.append(_line(error))
        if sorted(map(self._raised, candidate.inputs)) == [0, _ASKED_AGAIN]:
            self.told_apart.append((candidate, _line(error)))

    def _raised(self, value: object) -> int:
        """Return the number of errors in a few calls."""
        errors = 0
        for _ in range(_ASKED_AGAIN):
            self._streams += 1
            try:
                draw(self.sample, value, 1, rng=self.context.rng(self._streams - 1))
                self.spent += 1
            except Exception:  # noqa: BLE001  (a target may raise anything)
                errors += 1
        return errors

    def probed(self, value: object, randomness: Randomness) -> None:
        """Test the target's randomness on one input against what is declared."""

        def counted(x: Any, size: int, /, *, rng: np.random.Generator) -> Any:
            self.spent += size
            return self.sample(x, size, rng=rng)

        rng = self.context.rng(self._streams)
        self._streams += 1
        probe(counted, value, randomness=randomness, rng=rng)


_ASKED_AGAIN = 4
"""Calls on either input of a pair on which a call has raised."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Arm:
    """A candidate in the race, and its excess as far as is known."""

    candidate: Candidate
    score: float = -math.inf
    size: int = 1
    """Outputs of either input that the score is of."""


@dataclass(slots=True, kw_only=True)
class PairRace:
    """The candidates of a pair space, raced in rounds; what is learnt is kept from round to round.

    New pairs are tried on few outputs. Then all get equally many, the better half of them more,
    and so on to the last: a pair that looks bad on a handful of outputs is tried again in each
    round, on more (sequential halving; Karnin, Koren and Somekh, 2013). Outputs are kept by
    input, so pairs share those of an input that they have in common, and what is known costs
    nothing. The rest is the leader's.

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
    arms: list[_Arm] = field(default_factory=list[_Arm])
    _seen: dict[object, _Arm] = field(default_factory=dict[object, _Arm])
    _listed: set[object] = field(default_factory=set[object])
    _queue: list[Candidate] | None = None
    _balanced: bool = False
    _leader: _Arm | None = None

    def round(self, budget: int, rng: np.random.Generator) -> _Arm:
        """Spend about ``budget`` outputs on new and old candidates; return the best.

        Raises
        ------
        DegenerateTargetError
            If the target raised on every candidate tried.
        """
        stop = self.bank.spent + budget
        watched = _WATCHED if claims_delta(self.guarantee) else 0.0
        self._race(stop - round((_WINNERS + watched) * budget), rng)
        if claims_delta(self.guarantee):
            self._watch(round(_WATCHED * budget))
        if self.constant_everywhere and self.bank.spent < stop:
            self._race(stop, rng)
        if not self.arms:
            raise DegenerateTargetError(
                f"the target raised on all of {counted(len(self.bank.failures), 'input pair')} "
                f"tried; first error: {self.bank.failures[0]}"
            )
        return self._settle(stop)

    def choose_pair_test(self, candidate: Candidate) -> PairTest:
        """Select the hypothesis to test on a pair, from all outputs kept of it."""
        samples = self.bank.pilot(candidate)
        seed = int(self.bank.context.rng(_COINS + self.bank.spent).integers(2**32))
        return choose_pair_test(
            self.guarantee,
            *samples,
            bounds=self.pairs.bounds,
            seed=seed,
            marks=self._marks(candidate),
        )

    @property
    def constant_everywhere(self) -> bool:
        """True if the target returned the same value on every pair tried."""
        return all(self.constant(arm) for arm in self.arms)

    def require_varied(self) -> None:
        """Refuse a target that should be random and was the same on every pair tried.

        Raises
        ------
        ConstantOutputsError
            If every pair has given one and the same value.
        """
        if self.randomness is not Randomness.NONE and self.constant_everywhere:
            raise ConstantOutputsError(
                f"the target returned the same value in all of {counted(self.bank.spent, 'call')} "
                f"on both inputs of each pair ({counted(len(self.arms), 'pair')} tried)",
                f"name inputs on which it is random, or {OR_NONE}",
            )

    def random_input(self, arm: _Arm) -> object:
        """Return the pair's input on which more distinct outputs came up."""
        outputs = self.bank.pilot(arm.candidate)
        spread = [len(np.unique(x, axis=0)) for x in outputs]
        return arm.candidate.inputs[int(np.argmax(spread))]

    def constant(self, arm: _Arm) -> bool:
        """Return True if all outputs kept of a pair are one and the same."""
        pooled = np.concatenate(self.bank.pilot(arm.candidate))
        return bool((pooled == pooled[:1]).all())

    def _race(self, stop: int, rng: np.random.Generator) -> None:
        """Try new pairs on few outputs, then halve all."""
        if self._queue is None:
            self._queue = list(self.pairs.candidates())[::-1]
        room = stop - self.bank.spent
        size = max(_FEWEST, room // (2 * _ARMS))
        explored = self.bank.spent + round(_EXPLORED * room)
        constant, seen = self.constant_everywhere, len(self.arms)
        for tried in range(_MOST_TRIED):
            hurried = constant and seen >= _FEW_PAIRS
            each, end = (_CONSTANT, stop) if hurried else (size, explored)
            if tried and self.bank.spent + 2 * each > end:
                break
            candidate = self._next(rng, explored)
            if candidate is None:
                break
            self._try(candidate, each)
            constant = constant and all(map(self.constant, self.arms[seen:]))
            seen = len(self.arms)
        self._halve(stop)

    def _halve(self, stop: int) -> None:
        """Bring all pairs to the same number of outputs, then the better half, and so on."""
        kept: list[_Arm] = [arm for arm in self.arms if arm.score > -math.inf]
        while len(kept) > 1:
            room = (stop - self.bank.spent) // math.ceil(math.log2(len(kept)))
            size = self._level(kept, room)
            for arm in kept:
                if arm.size < size:
                    self._promote(arm, size)
            ranked: list[_Arm] = sorted(kept, key=_likely, reverse=True)
            kept = [arm for arm in ranked[: (len(kept) + 1) // 2] if arm in self.arms]

    def _level(self, arms: list[_Arm], room: int) -> int:
        """Return the number of outputs of each input to which ``room`` more bring some pairs."""
        known = sorted(len(self.bank.known(x)) for arm in arms for x in arm.candidate.inputs)
        filled = 0
        for rank, size in enumerate(known[1:], start=1):
            more = rank * (size - known[rank - 1])
            if filled + more > room:
                return known[rank - 1] + (room - filled) // rank
            filled += more
        return min(_LOOKED_AT, known[-1] + (room - filled) // len(known))

    def _watch(self, budget: int) -> None:
        """Draw more on a few pairs that show rare atoms."""
        watched = [arm for arm in self.arms if shows_atoms(arm.candidate)][:_MOST_WATCHED]
        for arm in watched:
            self._promote(arm, self._known(arm) + budget // (2 * len(watched)))

    def _settle(self, stop: int) -> _Arm:
        """Return the leader, after some outputs more for each that leads meanwhile.

        Of those that have got some: the luckiest of many that are hardly known look better.
        """
        least = math.inf
        for step in range(_SETTLING, 0, -1):
            leader = self._lead(self.arms)
            added = max(0, stop - self.bank.spent) // (2 * step)
            if not self._fill(leader, self._known(leader) + added):
                raise DegenerateTargetError(f"sample raised: {self.bank.failures[-1]}")
            least = min(least, leader.size)
        return self._lead([arm for arm in self.arms if arm.size >= least])

    def _lead(self, arms: list[_Arm]) -> _Arm:
        """Return the leader so far, unless another pair of some surely promises more.

        Many pairs may be as good, and one is known better.
        """
        best = max(arms, key=_prospect)
        if self._leader is None or self._leader not in arms or _prospect(best) > self._leader.score:
            self._leader = best
        return self._leader

    def _promote(self, arm: _Arm, size: int) -> None:
        if not self._fill(arm, size) and arm in self.arms:
            self.arms.remove(arm)

    def _known(self, arm: _Arm) -> int:
        first, second = (len(self.bank.known(value)) for value in arm.candidate.inputs)
        return min(first, second)

    def _next(self, rng: np.random.Generator, stop: int) -> Candidate | None:
        if not self._balanced and self._queue is not None and self.bank.spent + _TURNING <= stop:
            self._balanced = True
            found = self._balance(
                outputs=_odd(max(_FEW, (stop - self.bank.spent) // _TURNING_SHARE))
            )
            self._queue = _by_turns(found, self._queue[::-1])[::-1]
        while self._queue:
            candidate = self._queue.pop()
            if (records := _records(candidate)) not in self._listed:
                self._listed.add(records)
                return candidate
        best = max(self.arms, key=_prospect, default=None)
        return None if best is None else self.pairs.at_random(best.candidate, rng)

    def _balance(self, *, outputs: int) -> list[Candidate]:
        found: list[Candidate] = []
        try:
            found.extend(self.pairs.balanced(self.bank.fresh, outputs=outputs))
        except DegenerateTargetError:
            raise
        except Exception as error:  # noqa: BLE001  (a target may raise anything)
            self.bank.failures.append(_line(error))
        return found

    def _try(self, candidate: Candidate, size: int) -> None:
        """Add a candidate with so many outputs on either input, unless it is known already.

        Where the target refuses it, it is tried without ties.
        """
        key = _key(candidate)
        if key in self._seen:
            return
        arm = self._seen[key] = _Arm(candidate=candidate)
        if self._fill(arm, size):
            self.arms.append(arm)
        elif (untied := self.pairs.untied(candidate)) is not None:
            self._try(untied, size)

    def _fill(self, arm: _Arm, size: int) -> bool:
        try:
            self.bank.fill(arm.candidate, size)
        except DegenerateTargetError:
            raise
        except Exception as error:  # noqa: BLE001  (a target may raise anything)
            self.bank.note_failure(arm.candidate, error)
            return False
        samples = self.bank.pilot(arm.candidate)
        if samples[0].shape[1:] != samples[1].shape[1:]:
            few, many = (each[0].size for each in samples)
            raise DegenerateTargetError(
                f"the outputs on two neighbours have {few} and {many} numbers, which tells them "
                f"apart (a text of a number counts as two){HINT}fill up, or return a summary"
            )
        arm.score, arm.size = self._score(arm, samples), len(samples[0])
        return True

    def _score(self, arm: _Arm, samples: tuple[FloatArray, FloatArray]) -> float:
        if self.constant(arm):
            return -math.inf
        marks = self._marks(arm.candidate)
        total = total_promise(self.guarantee, *samples, bounds=self.pairs.bounds, marks=marks)
        return max(total, promise_of_atoms(self.guarantee, *samples))

    def _marks(self, candidate: Candidate) -> tuple[float, ...]:
        """Return the scores that differ, on the grid: a target may hand one out."""
        pair, grid = candidate.scores, self.bank.grid
        if pair is None:
            return ()
        scores = np.array([pair.source, pair.target])
        return tuple((scores if grid is None else grid(scores)).tolist())


def _prospect(arm: _Arm) -> float:
    """Return the excess of a pair, less what luck may have added."""
    return arm.score - _GREAT_LUCK / math.sqrt(arm.size)


def _likely(arm: _Arm) -> float:
    """Return the excess of a pair, less what luck adds."""
    return arm.score - _LUCK / math.sqrt(arm.size)


def _key(candidate: Candidate) -> object:
    return frozenset(input_key(value) for value in candidate.inputs)


def _records(candidate: Candidate) -> object:
    """Return a key that is the same for all orders of the records."""
    if candidate.scores is None:
        return _key(candidate)
    relation = candidate.neighbours.relation
    return relation, frozenset(input_key(np.sort(x)) for x in candidate.scores.scores)


def _by_turns(first: list[Candidate], second: list[Candidate]) -> list[Candidate]:
    """Return the candidates of two lists by turns."""
    turns = zip_longest(first, second)
    return [candidate for pair in turns for candidate in pair if candidate is not None]


def _odd(count: int) -> int:
    """Return an odd number, so that the median is one of the outputs."""
    return min(_MANY, count) | 1


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, TargetError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
