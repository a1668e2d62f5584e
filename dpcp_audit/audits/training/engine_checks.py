"""The parts of a private training as checks: account, clipping, noise, sampling, and all of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from dpcp_audit.audits.training.accounted_steps import AccountedSteps
from dpcp_audit.audits.training.drawn_lots import DrawnLots
from dpcp_audit.words.evidence import decide, refutes
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Evidence, EvidenceKind, Outcome, Power

if TYPE_CHECKING:
    from dpcp_audit.audits.training.engine_parts import StepMeasurement
    from dpcp_audit.audits.training.engine_training import EngineTraining
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import PlainData


# pyright: reportUnknownMemberType=false


_INDICATIVE = EvidenceKind.INDICATIVE
_OF_MEASURED = "of the records, lots and step that were measured"
_LOTS = 400
_SINGLE = 1e-3
"""Relative error of sums in single precision, and of Opacus's clipping factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """The ε that is promised against that of the steps that the engine accounts."""

    steps: AccountedSteps
    epsilon: float
    delta: float

    @property
    def sampled(self) -> bool:
        """Nothing is drawn."""
        return False

    def __call__(self, context: Context) -> Outcome:
        """Compose the steps."""
        low, high = (self.steps.epsilon(self.delta, pessimistic=each) for each in (False, True))
        evidence = _loss(low, high, claimed=self.epsilon, delta=self.delta)
        groups = [f"{each.steps} × {each}" for each in self.steps.parts]
        return _outcome(
            evidence,
            {"delta": self.delta, "steps": groups, "seed": context.seed},
            f"Privacy loss distributions of {self.steps.total} steps, from below and from above.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clipped:
    """The largest record's part of a step's sum against the clipping norm."""

    step: StepMeasurement
    clip_norm: float

    @property
    def sampled(self) -> bool:
        """A step is measured, with and without each record, and nothing is left to chance."""
        return False

    def __call__(self, context: Context) -> Outcome:
        """Compare what was measured."""
        evidence = Evidence.exact(
            Quantity.RATIO,
            self.step.largest / self.clip_norm,
            claimed=1.0,
            error=_SINGLE,
            detail="of the largest record's part of the sum to the clipping norm",
        )
        note = f"{self.step.records} records were left out, one after the other; half are outliers."
        return _outcome(evidence, {"clip_norm": self.clip_norm, "seed": context.seed}, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyStep:
    """The μ of a step, shift over noise, against 1/σ of the accounted steps."""

    step: StepMeasurement
    noise_multiplier: float

    @property
    def sampled(self) -> bool:
        """The law of the noise is traced."""
        return False

    def __call__(self, context: Context) -> Outcome:
        """Compare what was traced."""
        mu, claimed = self.step.mu, 1 / self.noise_multiplier
        witness: PlainData = {"noise_multiplier": self.noise_multiplier, "seed": context.seed}
        if math.isnan(mu):
            unknown = _unknown(Quantity.MU, claimed, {})
            return _outcome(unknown, witness, f"{self.step.unknown}.")
        evidence = Evidence.exact(
            Quantity.MU, mu, claimed=claimed, error=_SINGLE, detail="of a step"
        )
        return _outcome(evidence, witness, _noise_note(self.step))


@dataclass(frozen=True, slots=True, kw_only=True)
class LotSampling:
    """The sampling of the loader's batches: its rate, or the independence of the records.

    Parameters
    ----------
    rate : float or None
        The sampling rate that is accounted, which is tested; None tests the independence.
    """

    training: EngineTraining
    rate: float | None = None

    @property
    def sampled(self) -> bool:
        """Lots are drawn."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Draw lots and judge them."""
        lots = drawn_lots(self.training, context)
        if self.rate is not None:
            found = [lots.rate_evidence(self.rate, significance=context.significance)]
        else:
            half = context.significance / 2
            tests = (lots.size_evidence, lots.overlap_evidence)
            found = [test(significance=half) for test in tests]
        evidence = next((each for each in found if refutes(each)), found[-1])
        note = f"{len(lots.members)} lots of {lots.members.shape[1]} records."
        return _outcome(evidence, {"rate": self.rate, "seed": context.seed}, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTraining:
    """The ε of all steps, by the noise and the sampling that were measured.

    Without Poisson sampling no amplification theorem applies: an upper bound.
    """

    training: EngineTraining
    step: StepMeasurement
    steps: AccountedSteps
    epsilon: float
    delta: float

    @property
    def sampled(self) -> bool:
        """Lots are drawn."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Account for what was measured."""
        lots = drawn_lots(self.training, context)
        part = context.significance / 3
        tests = (lots.size_evidence, lots.overlap_evidence)
        poisson = not any(refutes(test(significance=part)) for test in tests)
        at = {"delta": self.delta}
        witness: PlainData = {"delta": self.delta, "seed": context.seed}
        if math.isnan(self.step.mu) or not poisson:
            why = (
                self.step.unknown
                or "the batches are not Poisson-sampled, so no amplification theorem applies"
            )
            return _outcome(_unknown(Quantity.EPSILON, self.epsilon, at), witness, f"{why}.")
        least, most = lots.rate(significance=part)
        low = self._epsilon(least, pessimistic=False)
        high = self._epsilon(most, pessimistic=True)
        evidence = _loss(
            low,
            high,
            claimed=self.epsilon,
            delta=self.delta,
            confidence=1 - context.significance,
            n_samples=len(lots.members),
        )
        note = f"All {self.steps.total} steps are taken to be like the one that was traced."
        return _outcome(evidence, witness, note)

    def _epsilon(self, rate: float, *, pessimistic: bool) -> float:
        if self.step.mu == 0 or rate <= 0:
            return 0.0
        steps = AccountedSteps.of([(1 / self.step.mu, rate, self.steps.total)])
        return steps.epsilon(self.delta, pessimistic=pessimistic)


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


def _loss(
    low: float,
    high: float,
    *,
    claimed: float,
    delta: float,
    confidence: float = 1.0,
    n_samples: int | None = None,
) -> Evidence:
    kind = EvidenceKind.EXACT if n_samples is None else EvidenceKind.CERTIFIED
    return Evidence(
        kind=kind,
        quantity=Quantity.EPSILON,
        value=high,
        lower=low,
        upper=high,
        claimed=claimed,
        at={"delta": delta},
        confidence=confidence,
        n_samples=n_samples,
    )


def _unknown(quantity: Quantity, claimed: float, at: dict[str, float]) -> Evidence:
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
