"""Checks of an engine's private training: account, clipping, noise, sampling, and all of it.

The same seed gives a batch and its neighbour the same noise, so that their noisy gradients differ
by the record alone. The batch with the largest difference is then traced: the law and the scale of
the noise, and the shift μ between the two, are read off the draws themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from dpcp_audit.audits.accounting import AccountedSteps, DrawnLots
from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.evidence import decide, refutes
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Evidence, EvidenceKind, Outcome, Power

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.audits.training.engine_training import EngineTraining
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import PlainData, SourceLocation


# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


_BASE, _CANDIDATES = 8, 12
_OUTLYING = 1e3
"""The factor on the features of an outlier."""
_PATHS, _REPLAYS = 2, 2
_GAUSSIAN = frozenset({"normal", "torch.normal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepMeasurement:
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
        Standard deviation of the noise, in the summed gradient.
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


def measured_step(training: EngineTraining, *, seed: int) -> _StepMeasurement:
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
    return _StepMeasurement(
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
        release=False,
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


# pyright: reportUnknownMemberType=false


_INDICATIVE = EvidenceKind.INDICATIVE
_OF_MEASURED = "of the records, lots and step that were measured"
_LOTS = 400
_SINGLE = 1e-3
"""Relative error of sums in single precision, and of Opacus's clipping factor."""


@dataclass(frozen=True, slots=True)
class PartCheck:
    """Check one part of a training.

    :Null hypothesis: One of six, each a claim of its own: ε as accounted; a record's part of the
        gradient is at most the clipping norm; the noise of a step is as accounted; a record's
        sampling rate is as accounted; lots are Poisson samples; ε by the measured noise and
        sampling.
    :Statistic: What was measured of the step, or the counts of lots: how often a record is in a
        lot, how often lots have their commonest size, how often a record is in two successive lots.
    :Level: The parts without draws have no false alarms beyond their numerical error. Those with
        lots: at most the significance, by Clopper–Pearson limits with a share each.
    :Power: The claim moved by the width of the interval: refuted for certain where nothing was
        drawn, else with probability at least 0.95.
    :Reference: Clopper and Pearson (1934); Doroshenko et al. (2022), for accounting by privacy loss
        distributions.

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
    step : _StepMeasurement
        A step, with and without each record, and the traced law of its noise.
    steps : AccountedSteps
        The steps that the engine accounts for.
    epsilon, delta : float
        The promised guarantee.
    """

    training: EngineTraining
    step: _StepMeasurement
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
        """Compare the promised ε with that of the steps that the engine accounts for."""
        low, high = (self.steps.epsilon(self.delta, pessimistic=each) for each in (False, True))
        groups = [f"{each.steps} × {each}" for each in self.steps.parts]
        note = f"Privacy loss distributions of {self.steps.total} steps, from below and from above."
        return self._loss(low, high), {"delta": self.delta, "steps": groups}, note

    def _clipped(self, context: Context) -> tuple[Evidence, PlainData, str]:  # noqa: ARG002
        """Compare the largest record's part of a step's sum with the clipping norm."""
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
        """Compare the μ of a step, shift over noise, with 1/σ of the accounted steps."""
        mu, sigma = self.step.mu, self.steps.noise_multiplier
        witness: PlainData = {"noise_multiplier": sigma}
        if math.isnan(mu):
            return _unknown(Quantity.MU, 1 / sigma, {}), witness, f"{self.step.unknown}."
        evidence = Evidence.exact(
            Quantity.MU, mu, claimed=1 / sigma, error=_SINGLE, detail="of a step"
        )
        return evidence, witness, _noise_note(self.step)

    def _rate(self, context: Context) -> tuple[Evidence, PlainData, str]:
        """Compare the loader's sampling rate with the accounted one."""
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
        note = f"This assumes that all {self.steps.total} steps are like the traced one."
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


def _noise_note(step: _StepMeasurement) -> str:
    if math.isinf(step.mu):
        return "No noise reaches the gradient that the optimizer descends."
    return f"{step.law} of standard deviation {step.noise:.6g} in the summed gradient."
