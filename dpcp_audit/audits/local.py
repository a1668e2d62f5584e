"""Local-DP audits of any randomiser over a finite domain, over all pairs of inputs.

Exact where the channel matrix is known. Otherwise by three sampled tests, each at a third of
the significance: the event that a pilot selected, on fresh samples; a box that
holds every entry of the channel at once; and the best guess of the input from the report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.law_enclosures import channel_ratio, rows_add_up
from dpcp_audit.audits.loss_bounds import log_ratio
from dpcp_audit.computed import Computation
from dpcp_audit.decisions import conclude
from dpcp_audit.evidence import of_loss
from dpcp_audit.proofs import Proof, ProofMethod
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Outcome, PlainData, Power, Sample
from dpcp_audit.stats.bisection import fewest, turn
from dpcp_audit.stats.enclosures import at_most
from dpcp_audit.stats.interval_power import box_power
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.targets.serial_probe import require_independent, unprobed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import LocalDP

_SHARES = 3
_DETECTION = 0.95
_CHUNK = 2**20
_LARGEST_EXCESS = 50.0


class Randomizer(Protocol):
    """Reports one output for each input, every input on its own."""

    def __call__(self, values: IntArray, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return integers of the shape of ``values``."""
        ...


class LogRatio(NamedTuple):
    """The largest log-ratio of a channel, and where it is attained."""

    value: float
    inputs: tuple[int, int]
    output: int


class ChosenEvent(NamedTuple):
    """A set of outputs, and the ordered pair of inputs on which its probabilities differ."""

    inputs: tuple[int, int]
    outputs: IntArray


def channel_log_ratio(channel: ArrayLike) -> LogRatio:
    """Return the largest log P(y|x)/P(y|x′) over all pairs of inputs and all outputs.

    Over sets of outputs it is no larger: a ratio of sums lies below the largest ratio.

    Parameters
    ----------
    channel : array_like, shape (k, m)
        P(y|x), an input a row; at least two rows, each summing to 1 within 1e-6.

    Examples
    --------
    >>> channel_log_ratio([[0.75, 0.25], [0.5, 0.5]])
    LogRatio(value=0.6931471805599453, inputs=(1, 0), output=1)
    """
    mass = _channel(channel)
    high, low = mass.argmax(axis=0), mass.argmin(axis=0)
    outputs = np.arange(int(mass.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(mass[high, outputs]) - np.log(mass[low, outputs])
    worst = int(np.nanargmax(ratios))
    return LogRatio(float(ratios[worst]), (int(high[worst]), int(low[worst])), worst)


def guess_success(channel: ArrayLike) -> float:
    """Return the chance of the best guess of a uniform input, Σ_y max_x P(y|x)/k.

    Parameters
    ----------
    channel : array_like, shape (k, m)
        P(y|x), an input a row.
    """
    mass = _channel(channel)
    return float(mass.max(axis=0).sum() / mass.shape[0])


def guess_bound(epsilon: float, k: int) -> float:
    """Return e^ε/(e^ε+k−1), the largest chance of a guess that ε-LDP allows.

    The input is uniform over k values; the posterior of one is at most e^ε times that of any
    other, whatever the report.
    """
    _validate.positive(epsilon=epsilon)
    _validate.integer(k=k, at_least=2)
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


def guess_loss(success: float, k: int) -> float:
    """Return the least ε at which a guess of one of k values may succeed so often.

    Examples
    --------
    >>> round(guess_loss(guess_bound(2.0, 10), 10), 12)
    2.0
    """
    _validate.closed_unit(success=success)
    _validate.integer(k=k, at_least=2)
    return max(0.0, log_ratio(success * (k - 1), 1 - success))


def channel_outcome(
    guarantee: LocalDP, channel: ArrayLike, *, witness: PlainData | None = None
) -> Computation:
    """Test ε-LDP against a known channel matrix, shape (k, m), over all pairs of inputs.

    The matrix is a table of doubles, each known up to a few units in its last place: a claim that
    only their rounding decides is neither proved nor refuted.
    """
    mass = _channel(channel)
    worst = channel_log_ratio(mass)
    ratio = channel_ratio(mass)
    compared = at_most("the largest log-ratio ≤ ε", ratio, guarantee.epsilon)
    low, high = compared.left
    return Computation(
        quantity=Quantity.EPSILON,
        detail="largest log-ratio",
        value=worst.value,
        claimed=guarantee.epsilon,
        lower=low if math.isfinite(low) else None,
        upper=high,
        proof=Proof(
            method=ProofMethod.ENUMERATION,
            argument="All pairs of inputs and all outputs are compared.",
            premises=(rows_add_up(mass), compared),
            parameters={"epsilon": guarantee.epsilon},
        ),
        witness=(witness or {})
        | {
            "epsilon": guarantee.epsilon,
            "value": worst.inputs[0],
            "neighbour": worst.inputs[1],
            "event": [worst.output],
        },
        note=(
            f"Output {worst.output} has probability {mass[worst.inputs[0], worst.output]:.4g} on "
            f"input {worst.inputs[0]} and {mass[worst.inputs[1], worst.output]:.4g} on input "
            f"{worst.inputs[1]}. The best guess of a uniform input succeeds with probability "
            f"{guess_success(mass):.4g}; ε-LDP allows "
            f"{guess_bound(guarantee.epsilon, mass.shape[0]):.4g}."
        ),
    )


def _channel(channel: ArrayLike) -> FloatArray:
    mass = _validate.probabilities(channel, name="channel")
    if mass.shape[0] < 2:
        raise ValueError(f"channel must have at least two rows, got shape {mass.shape}")
    return mass


def choose_pair(counts: IntArray, *, epsilon: float) -> ChosenEvent:
    """Choose the pair and the event whose log-ratio exceeds ε by most standard errors.

    Parameters
    ----------
    counts : ndarray, shape (k, m)
        Pilot outputs by input; equally many a row.

    Notes
    -----
    Candidates are, for every ordered pair, the outputs of largest likelihood ratio, as many of
    them as one likes. A loop over the first inputs keeps the work in memory, O(km) at a time.
    """
    n = counts.sum(axis=1)[0]
    rates = (counts + 0.5) / (n + 0.5 * counts.shape[1])
    best = (-math.inf, ChosenEvent((0, 1), np.array([0])))
    for first, p in enumerate(rates):
        order = np.argsort(rates / p, axis=1, kind="stable")
        likely = np.cumsum(p[order], axis=1, dtype=np.float64)[:, :-1]
        unlikely = np.cumsum(np.take_along_axis(rates, order, axis=1), axis=1)[:, :-1]
        error = np.sqrt((1 / likely + 1 / unlikely - 2) / n)
        excess = (np.log(likely / unlikely) - epsilon) / error
        excess[first] = -math.inf
        second, taken = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[second, taken] > best[0]:
            chosen = ChosenEvent((first, int(second)), np.sort(order[second, : taken + 1]))
            best = (float(excess[second, taken]), chosen)
    return best[1]


class Certified(NamedTuple):
    """A loss ε with a certified lower limit, and where it is attained."""

    detail: str
    value: float
    lower: float
    witness: PlainData
    sample: Sample | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPrivacy:
    """Test ε-LDP against samples of a randomiser on every one of its inputs.

    A true claim is refuted with probability at most the check's significance, of which a third
    each goes to the pilot's event, to the box around the channel, and to the guess, but for the
    thousandth that probes the pilot of every input for serial dependence.

    Parameters
    ----------
    randomizer : Randomizer
        The mechanism of one user.
    guarantee : LocalDP
        The claim.
    n_inputs, n_outputs : int
        Inputs are 0, ..., n_inputs−1, and outputs 0, ..., n_outputs−1; at least two of each.
    n_samples : int
        Outputs drawn on each input at effort 1, pilot included.
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

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Choose on pilot samples, certify on fresh ones."""
        half = context.samples(self.n_samples) // 2
        share = unprobed(context.significance) / _SHARES
        pilot = self._counts(half, context.rng(0), probed=context.significance)
        event = choose_pair(pilot, epsilon=self.guarantee.epsilon)
        counts = self._counts(half, context.rng(1))
        results = [
            self._event(event, counts, half, share),
            self._box(counts, half, share),
            self._guess(pilot.argmax(axis=0), half * self.n_inputs, share, context.rng(2)),
        ]
        claimed = self.guarantee.epsilon
        shown = next((r for r in results if r.lower > claimed), results[0])
        evidence = of_loss(
            Quantity.EPSILON,
            shown.value,
            shown.lower,
            refuted=shown.lower > claimed,
            detail=shown.detail,
            claimed=claimed,
            confidence=1 - context.significance,
            n_samples=3 * half * self.n_inputs,
            sample=shown.sample,
        )
        return conclude(
            evidence,
            lambda: self.smallest_violation(context),
            witness=self.witness
            | {"epsilon": self.guarantee.epsilon, "seed": context.seed}
            | shown.witness,
            note=" ".join(
                f"{r.detail[0].upper()}{r.detail[1:]}: ε = {r.value:.4g}, certified from "
                f"{max(0.0, r.lower):.4g} on."
                for r in results
            ),
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest true ε of randomised response that is refuted.

        With probability at least 0.95 and by the event alone, where the pilot has found the
        event: an input's own output, of probability e^ε/(e^ε + m − 1) and, on every other
        input, 1/(e^ε + m − 1), with m = ``n_outputs``. Infinity where no ε is refuted so often.
        """
        half, claimed = context.samples(self.n_samples) // 2, self.guarantee.epsilon

        def refuted(epsilon: float) -> bool:
            return self._detects(epsilon, half, context.significance)

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
            lambda trials: self._detects(violation, trials, significance),
            at_least=100,
            most=2**28,
            share=500,
        )
        if needed is None:
            raise ValueError(f"violation is too close to the claim, got {violation!r}")
        return 2 * needed

    def _detects(self, epsilon: float, trials: int, significance: float) -> bool:
        own = guess_bound(epsilon, self.n_outputs)
        claimed, share = self.guarantee.epsilon, unprobed(significance) / _SHARES
        other = own * math.exp(-epsilon)
        return box_power(own, other, trials, epsilon=claimed, significance=share) >= _DETECTION

    def _event(self, event: ChosenEvent, counts: IntArray, n: int, share: float) -> Certified:
        p, q = (int(counts[x, event.outputs].sum()) for x in event.inputs)
        p_low = clopper_pearson(p, n, significance=share)[0]
        q_high = clopper_pearson(q, n, significance=share)[1]
        detail = "of the event"
        case = _case(*event.inputs, event.outputs.tolist())
        sample = Hits(p, q, n).as_sample()
        return Certified(
            detail, log_ratio(*Hits(p, q, n).rates), log_ratio(p_low, q_high), case, sample
        )

    def _box(self, counts: IntArray, n: int, share: float) -> Certified:
        """Bound every log-ratio at once: two limits for each of the k·m entries."""
        low, high = clopper_pearson(counts, n, significance=share / counts.size)
        with np.errstate(divide="ignore"):
            lower = np.log(low.max(axis=0)) - np.log(high.min(axis=0))
        worst = int(np.argmax(lower))
        first, second = int(low[:, worst].argmax()), int(high[:, worst].argmin())
        value = log_ratio(*Hits(int(counts[first, worst]), int(counts[second, worst]), n).rates)
        detail = "over all pairs and outputs"
        case = _case(first, second, [worst])
        return Certified(detail, value, float(lower[worst]), case)

    def _guess(
        self, guesses: IntArray, n: int, share: float, rng: np.random.Generator
    ) -> Certified:
        """Guess uniform inputs from their reports by a rule of shape (m,)."""
        right = 0
        for start in range(0, n, _CHUNK):
            inputs = rng.integers(self.n_inputs, size=min(_CHUNK, n - start))
            right += int((guesses[self._report(inputs, rng)] == inputs).sum())
        low, _ = clopper_pearson(right, n, significance=share)
        value, lower = (guess_loss(rate, self.n_inputs) for rate in (right / n, low))
        rule: PlainData = {"guesses": guesses.tolist()}
        return Certified("from the success of the best guess", value, lower, rule)

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


def _case(value: int, neighbour: int, event: list[int]) -> PlainData:
    return {"value": value, "neighbour": neighbour, "event": event}
