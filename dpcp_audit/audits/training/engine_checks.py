"""Accounts of an engine, step by step, and the lots that its loader draws.

Each record must enter each lot on its own: the theorem of amplification speaks of that alone.

Checks of an engine's private training: account, clipping, noise, sampling, and all of it.

The same seed gives a batch and its neighbour the same noise, so that their noisy gradients differ
by the record alone. The batch with the largest difference is then traced: the law and the scale of
the noise, and the shift μ between the two, are read off the draws themselves.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.stats import binom

from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import (
    SubsampledGaussian,
    composed_loss,
    loss_interval,
)
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.evidence import decide, of_mean, of_rate, refutes
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Count, Evidence, EvidenceKind, Outcome, Power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpcp_audit.audits.training.engine_training import EngineTraining
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import PlainData, SourceLocation
    from dpcp_audit.words.validate import BoolArray


_LEAST_NOISE = 1e-3
"""A noise multiplier below it is none: ε is larger than a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountedSteps:
    """Steps of the Poisson-subsampled Gaussian mechanism, one group after the other.

    Examples
    --------
    >>> found = AccountedSteps.of([(1.0, 0.1, 60), (1.0, 0.1, 40)])
    >>> found.total, round(found.epsilon(1e-5, pessimistic=True), 2)
    (100, 7.05)
    """

    parts: tuple[SubsampledGaussian, ...]

    @classmethod
    def of(cls, history: Iterable[tuple[float, float, int]]) -> AccountedSteps:
        """Return the steps of an Opacus accountant: (noise multiplier, sampling rate, steps)."""
        counts: dict[tuple[float, float], int] = {}
        for noise, rate, steps in history:
            key = float(noise), float(rate)
            counts[key] = counts.get(key, 0) + int(steps)
        return cls(
            parts=tuple(
                SubsampledGaussian(
                    sampling_rate=min(rate, 1.0),
                    steps=steps,
                    noise_multiplier=max(noise, _LEAST_NOISE),
                )
                for (noise, rate), steps in counts.items()
            )
        )

    @property
    def total(self) -> int:
        """T, the number of steps."""
        return sum(each.steps for each in self.parts)

    @property
    def rate(self) -> float:
        """The smallest sampling rate."""
        return min(each.sampling_rate for each in self.parts)

    @property
    def noise_multiplier(self) -> float:
        """The largest noise multiplier."""
        return max(each.noise_multiplier for each in self.parts)

    def times(self, steps: int) -> AccountedSteps:
        """Return the same, each group ``steps`` times as long."""
        return AccountedSteps(
            parts=tuple(replace(each, steps=each.steps * steps) for each in self.parts)
        )

    def epsilon(self, delta: float, *, pessimistic: bool) -> float:
        """Return ε at δ from above or from below, by privacy loss distributions."""
        if not self.parts:
            return 0.0
        if min(each.noise_multiplier for each in self.parts) <= _LEAST_NOISE:
            return math.inf
        if len(self.parts) == 1:
            (only,) = self.parts
            return only.epsilon_at(delta) if pessimistic else only.epsilon_below(delta)
        width = min(loss_interval(each, pessimistic=pessimistic) for each in self.parts)
        losses = [
            composed_loss(each, pessimistic=pessimistic, interval=width) for each in self.parts
        ]
        rounding = sum(each.rounding for each in self.parts) * (-1 if pessimistic else 1)
        whole = reduce(lambda one, other: one.compose(other), losses)
        return float(whole.get_epsilon_for_delta(delta + rounding))


_RATES = 9
"""Sampling rates within their interval for which the law of a lot's size is tried."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnLots:
    """The lots of whole passes over a sampler.

    Parameters
    ----------
    members : ndarray of bool, shape (lots, N)
        True where a lot has a member.
    first : ndarray of bool, shape (lots,)
        True where it and the next one are a pair of one pass; pairs do not overlap.
    """

    members: BoolArray
    first: BoolArray

    @classmethod
    def of(cls, sampler: Any, *, size: int, at_least: int) -> DrawnLots:
        """Draw so many lots or more, of records 0 … ``size`` − 1, in whole passes."""
        rows: list[BoolArray] = []
        first: list[bool] = []
        while len(rows) < at_least:
            start = len(rows)
            for lot in sampler:
                row = np.zeros(size, dtype=np.bool_)
                row[np.asarray(lot, dtype=np.int64)] = True
                rows.append(row)
            count = len(rows) - start
            if count == 0:
                raise ValueError("loader must draw a lot in a pass, got none")
            first += [i % 2 == 0 and i + 1 < count for i in range(count)]
        return cls(members=np.array(rows), first=np.array(first))

    @property
    def entries(self) -> Count:
        """The share of lots that hold a record."""
        hits, trials = int(self.members.sum()), int(self.members.size)
        return Count(of="a record is in a lot", hits=hits, trials=trials)

    def rate(self, *, significance: float) -> tuple[float, float]:
        """Return limits of the probability that a record is in a lot."""
        return clopper_pearson(self.entries.hits, self.entries.trials, significance=significance)

    def rate_evidence(self, claimed: float, *, significance: float) -> Evidence:
        """Return evidence of the sampling rate, which the claim bounds from above."""
        return of_rate(
            Quantity.PROBABILITY,
            self.rate(significance=significance),
            self.entries,
            claimed=claimed,
            confidence=1 - significance,
            detail="that a record is in a lot",
        )

    def size_evidence(self, *, significance: float) -> Evidence:
        """Return evidence of how often lots have one size: at most the mode of a binomial law.

        Half of the significance is for the rate, half for the sizes, any of which may be chosen.
        """
        sizes, counts = np.unique(self.members.sum(axis=1), return_counts=True)
        n, lots = self.members.shape[1], len(self.members)
        rates = np.linspace(*self.rate(significance=significance / 2), _RATES)
        modes = np.floor((n + 1) * rates)
        claimed = float(np.max(binom.pmf(modes, n, rates)))
        commonest = int(counts.max())
        each = significance / 2 / (n + 1)
        return of_rate(
            Quantity.PROBABILITY,
            clopper_pearson(commonest, lots, significance=each),
            Count(of=f"a lot has {sizes[counts.argmax()]} records", hits=commonest, trials=lots),
            claimed=min(claimed, 1.0),
            confidence=1 - significance,
            detail="that a lot has its commonest size",
        )

    def overlap_evidence(self, *, significance: float) -> Evidence:
        """Return evidence of how often a record is in two lots that follow: at least q².

        Half of the significance is for the rate q.
        """
        at = np.flatnonzero(self.first)
        both = self.members[at] & self.members[at + 1]
        trials, hits = max(1, both.size), int(both.sum())
        share = hits / trials
        return of_mean(
            Quantity.PROBABILITY,
            share,
            clopper_pearson(hits, trials, significance=significance / 2),
            claimed=self.rate(significance=significance / 2)[0] ** 2,
            confidence=1 - significance,
            trials=trials,
            variance=share * (1 - share),
            bound=Bound.AT_LEAST,
            detail="that a record is in a lot and in the next one",
        )


_BASE, _CANDIDATES = 8, 12
_OUTLYING = 1e3
"""The factor on the features of an outlier."""
_PATHS, _REPLAYS = 2, 2
_GAUSSIAN = frozenset({"normal", "torch.normal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMeasurement:
    """The measured properties of a training step.

    Parameters
    ----------
    largest : float
        The norm of the largest record's part of the summed gradient.
    records : int
        The number of records that were left out, one after the other.
    mu : float
        The shift between a batch and its neighbour over the standard deviation of the noise;
        infinite without noise, NaN where the noise cannot be followed or is not Gaussian.
    law : str
        The law of the noise, named by its generator's method; empty for none.
    noise : float
        Its standard deviation, in the summed gradient.
    location : SourceLocation or None
        The line that draws it.
    unknown : str
        Why it cannot be told, where it cannot.
    """

    largest: float
    records: int
    mu: float
    law: str
    noise: float
    location: SourceLocation | None
    unknown: str = ""


def measured_step(training: EngineTraining, *, seed: int) -> StepMeasurement:
    """Measure the step that the training takes on a batch with a record and without it."""
    data = training.loader.dataset
    items = [data[i] for i in range(min(len(data), _BASE + _CANDIDATES))]
    few = min(_BASE, len(items) - 1)
    base, others = items[:few], items[few:]
    candidates = [*others, *(each for one in others if (each := _outlier(one)) is not None)]
    with training.untouched():
        plain = _summed(training, base, seed)
        norms = [
            float((_summed(training, [*base, one], seed) - plain).norm()) for one in candidates
        ]
        if math.isnan(sum(norms)):
            raise ValueError("loader must hold records of finite gradients, got one of NaN")
        worst = max(range(len(norms)), key=norms.__getitem__)
        trace = _trace(training, [*base, candidates[worst]], base, seed)
    mu, unknown = _shift(trace, norms[worst])
    line = trace.lines[0] if trace.lines else None
    return StepMeasurement(
        largest=norms[worst],
        records=len(norms),
        mu=mu,
        law="" if line is None else line.law,
        noise=0.0 if line is None else line.scale * training.optimizer.expected_batch_size,
        location=None if line is None else line.location,
        unknown=unknown,
    )


def _summed(training: EngineTraining, items: Sequence[Any], seed: int) -> Any:
    """Return the noisy sum of gradients, flat, with the noise of a seed."""
    torch.manual_seed(seed)
    if training.optimizer.generator is not None:
        training.optimizer.generator.manual_seed(seed)
    parts = [each.detach().reshape(-1).double() for each in training.gradients(items)]
    return torch.cat(parts) * training.optimizer.expected_batch_size


def _outlier(item: Any) -> Any:
    """Return a record far from the data; None where its features are no real numbers."""
    features = item[0]
    if not isinstance(features, torch.Tensor) or not features.is_floating_point():
        return None
    return (features * _OUTLYING, *item[1:])


def _trace(
    training: EngineTraining, batch: Sequence[Any], neighbour: Sequence[Any], seed: int
) -> PairTrace:
    training.optimizer.generator = None  # its law is that of the global one, which is followed

    def step(items: Any) -> Any:
        return training.gradients(items)

    function: Callable[..., Any] = step
    return trace_target(
        TracedTarget.of(function, {}),
        list(batch),
        list(neighbour),
        draws=_PATHS,
        rng=seed,
        replays=_REPLAYS,
        tree=1,
    )


def _shift(trace: PairTrace, moved: float) -> tuple[float, str]:
    """Return μ, or NaN and why there is none."""
    if not trace.followed:
        return math.nan, f"the noise cannot be followed: {trace.unfollowed[0]}"
    if moved == 0:
        return 0.0, ""
    if not trace.drawn or trace.leaks or trace.exact is not None:
        return math.inf, ""
    laws = {line.law for line in trace.lines}
    if laws - _GAUSSIAN:
        return math.nan, f"the noise is not Gaussian: {', '.join(sorted(laws))}"
    return max(each.gaussian for each in trace.composed), ""


_INDICATIVE = EvidenceKind.INDICATIVE
_OF_MEASURED = "of the records, lots and step that were measured"
_LOTS = 400
_SINGLE = 1e-3
"""Relative error of sums in single precision, and of Opacus's clipping factor."""


@dataclass(frozen=True, slots=True)
class PartCheck:
    """A check of one part of a training.

    Parameters
    ----------
    measure : callable
        Returns the evidence, what describes it as plain data, and a note.
    sampled : bool
        True if lots are drawn; else nothing is left to chance.
    """

    measure: Callable[[Context], tuple[Evidence, PlainData, str]]
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        """Measure the part and judge it."""
        evidence, witness, note = self.measure(context)
        return _outcome(evidence, witness | {"seed": context.seed}, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChecks:
    """The checks of a training's parts, as a table.

    Parameters
    ----------
    training : EngineTraining
    step : StepMeasurement
        A step, with and without each record, and the traced law of its noise.
    steps : AccountedSteps
        The steps that the engine accounts for.
    epsilon, delta : float
        The promised guarantee.
    """

    training: EngineTraining
    step: StepMeasurement
    steps: AccountedSteps
    epsilon: float
    delta: float

    def table(self) -> list[tuple[str, str, PartCheck]]:
        """Return the parts: a key, what is claimed of it, and its check."""
        promised = f"the training is ({self.epsilon:.4g}, {self.delta:g})-differentially private"
        clip_norm, noise = self.training.clip_norm, self.steps.noise_multiplier
        return [
            (
                "accounting",
                f"By the steps that the engine accounts for, {promised}.",
                PartCheck(self._accounted),
            ),
            (
                "clipping",
                f"A record's part of the summed gradient has a norm of at most {clip_norm:g}.",
                PartCheck(self._clipped),
            ),
            (
                "noise",
                f"The noise of a step is at least {noise:g} times a record's part.",
                PartCheck(self._noise),
            ),
            (
                "rate",
                f"A record is in a lot with probability at most {self.steps.rate:.4g}.",
                PartCheck(self._rate, sampled=True),
            ),
            (
                "poisson",
                "Each record enters each lot independently of all others.",
                PartCheck(self._poisson, sampled=True),
            ),
            (
                "epsilon",
                f"By its noise and sampling as measured, {promised}.",
                PartCheck(self._measured, sampled=True),
            ),
        ]

    def _accounted(self, context: Context) -> tuple[Evidence, PlainData, str]:  # noqa: ARG002
        """Hold ε as promised against that of the steps that the engine accounts."""
        low, high = (self.steps.epsilon(self.delta, pessimistic=each) for each in (False, True))
        groups = [f"{each.steps} × {each}" for each in self.steps.parts]
        note = f"Privacy loss distributions of {self.steps.total} steps, from below and from above."
        return self._loss(low, high), {"delta": self.delta, "steps": groups}, note

    def _clipped(self, context: Context) -> tuple[Evidence, PlainData, str]:  # noqa: ARG002
        """Hold the largest record's part of a step's sum against the clipping norm."""
        clip_norm = self.training.clip_norm
        evidence = Evidence.exact(
            Quantity.RATIO,
            self.step.largest / clip_norm,
            claimed=1.0,
            error=_SINGLE,
            detail="of the largest record's part of the sum to the clipping norm",
        )
        note = f"{self.step.records} records were left out, one after the other; half are outliers."
        return evidence, {"clip_norm": clip_norm}, note

    def _noise(self, context: Context) -> tuple[Evidence, PlainData, str]:  # noqa: ARG002
        """Hold the μ of a step, shift over noise, against 1/σ of the accounted steps."""
        mu, sigma = self.step.mu, self.steps.noise_multiplier
        witness: PlainData = {"noise_multiplier": sigma}
        if math.isnan(mu):
            return _unknown(Quantity.MU, 1 / sigma, {}), witness, f"{self.step.unknown}."
        evidence = Evidence.exact(
            Quantity.MU, mu, claimed=1 / sigma, error=_SINGLE, detail="of a step"
        )
        return evidence, witness, _noise_note(self.step)

    def _rate(self, context: Context) -> tuple[Evidence, PlainData, str]:
        """Hold the loader's sampling rate against the one that is accounted."""
        lots, rate = drawn_lots(self.training, context), self.steps.rate
        evidence = lots.rate_evidence(rate, significance=context.significance)
        return evidence, {"rate": rate}, _lots_note(lots)

    def _poisson(self, context: Context) -> tuple[Evidence, PlainData, str]:
        """Test by the sizes and the overlaps of lots that records enter independently."""
        lots = drawn_lots(self.training, context)
        found = _dependence(lots, significance=context.significance / 2)
        evidence = next((each for each in found if refutes(each)), found[-1])
        return evidence, {"rate": None}, _lots_note(lots)

    def _measured(self, context: Context) -> tuple[Evidence, PlainData, str]:
        """Account for all steps by the noise and the sampling that were measured.

        Without Poisson sampling no amplification theorem applies: an upper bound.
        """
        lots = drawn_lots(self.training, context)
        part = context.significance / 3
        poisson = not any(map(refutes, _dependence(lots, significance=part)))
        witness: PlainData = {"delta": self.delta}
        if math.isnan(self.step.mu) or not poisson:
            why = (
                self.step.unknown
                or "the batches are not Poisson-sampled, so no amplification theorem applies"
            )
            return _unknown(Quantity.EPSILON, self.epsilon, witness), witness, f"{why}."
        least, most = lots.rate(significance=part)
        evidence = self._loss(
            self._epsilon(least, pessimistic=False),
            self._epsilon(most, pessimistic=True),
            confidence=1 - context.significance,
            n_samples=len(lots.members),
        )
        note = f"All {self.steps.total} steps are taken to be like the one that was traced."
        return evidence, witness, note

    def _epsilon(self, rate: float, *, pessimistic: bool) -> float:
        if self.step.mu == 0 or rate <= 0:
            return 0.0
        steps = AccountedSteps.of([(1 / self.step.mu, rate, self.steps.total)])
        return steps.epsilon(self.delta, pessimistic=pessimistic)

    def _loss(
        self, low: float, high: float, *, confidence: float = 1.0, n_samples: int | None = None
    ) -> Evidence:
        return Evidence(
            kind=EvidenceKind.EXACT if n_samples is None else EvidenceKind.CERTIFIED,
            quantity=Quantity.EPSILON,
            value=high,
            lower=low,
            upper=high,
            claimed=self.epsilon,
            at={"delta": self.delta},
            confidence=confidence,
            n_samples=n_samples,
        )


def drawn_lots(training: EngineTraining, context: Context) -> DrawnLots:
    """Draw lots by the seed of a check; the sampler's own generator is put back."""
    sampler: Any = training.loader.batch_sampler
    generator = getattr(sampler, "generator", None)
    kept = None if generator is None else generator.get_state()
    seed = int(context.rng().integers(2**62))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if generator is not None:
            generator.manual_seed(seed)
        try:
            return DrawnLots.of(sampler, size=training.size, at_least=context.samples(_LOTS))
        finally:
            if generator is not None:
                generator.set_state(kept)


def _dependence(lots: DrawnLots, *, significance: float) -> list[Evidence]:
    return [test(significance=significance) for test in (lots.size_evidence, lots.overlap_evidence)]


def _lots_note(lots: DrawnLots) -> str:
    return f"{len(lots.members)} lots of {lots.members.shape[1]} records."


def _unknown(quantity: Quantity, claimed: float, at: PlainData) -> Evidence:
    return Evidence(
        kind=EvidenceKind.INDICATIVE,
        quantity=quantity,
        value=0.0,
        lower=0.0,
        upper=math.inf,
        claimed=claimed,
        at=at,
    )


def _outcome(evidence: Evidence, witness: PlainData, note: str) -> Outcome:
    """Return the verdict.

    An interval that lies beyond the claim by its own width is refuted: for sure where nothing
    was drawn, else with probability 0.95 at least.
    """
    power = None
    if not (refutes(evidence) or evidence.claimed is None or evidence.kind is _INDICATIVE):
        width = evidence.upper - evidence.lower
        below = evidence.bound is Bound.AT_LEAST
        power = Power(
            quantity=evidence.quantity,
            smallest=max(0.0, evidence.claimed - width) if below else evidence.claimed + width,
            claimed=evidence.claimed,
            bound=evidence.bound,
            detection=1.0 if evidence.kind is EvidenceKind.EXACT else 0.95,
            at=evidence.at,
            detail=_OF_MEASURED,
        )
    return Outcome(
        verdict=decide(evidence, power=power),
        evidence=evidence,
        power=power,
        witness=witness,
        note=note,
    )


def _noise_note(step: StepMeasurement) -> str:
    if math.isinf(step.mu):
        return "No noise reaches the gradient that the optimizer descends."
    return f"{step.law} of standard deviation {step.noise:.6g} in the summed gradient."
