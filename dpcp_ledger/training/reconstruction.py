"""Reconstruction robustness: how often a training example can be picked out of a prior.

An attacker who knows everything but one example, a prior that it was drawn from, and the whole
training guesses it. The guess succeeds where it is within a radius of the truth; κ is the
largest probability of that without seeing the training. Whatever the attack, it then succeeds
with probability at most power(κ), the largest probability that the guarantee allows an event
that has probability κ without the example (Balle, Cherubin and Hayes 2022; Hayes, Mahloujifar
and Balle 2023; since power is concave, it holds on the average over unequal targets, too).

The likelihood's attack is on a training's trace. Of each step it sees the noised sum, takes away
what the known examples are expected to have put in, and compares what is left with each
candidate's clipped gradient.

A claim that is not refuted says nothing of other priors; the worst known (``simplex_prior``)
comes close to the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.audits import SIGNIFICANCE, Rate, attack_loss, power_of_twice
from dpcp_audit.extensions.claims import (
    Count,
    Estimate,
    Evidence,
    Outcome,
    PlainData,
    Power,
    Quantity,
    Sampled,
    conclude,
    limits,
    of_rate,
    rounded_up,
)
from dpcp_audit.extensions.statistics import clopper_pearson, rates
from dpcp_ledger.training.examples import DPSGD, Examples

if TYPE_CHECKING:
    from torch import Tensor

    from dpcp_audit.extensions.claims import (
        BoolArray,
        Context,
        IntArray,
        PrivacyGuarantee,
    )
    from dpcp_ledger.training.dpsgd import Step


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prior:
    """The attacker's prior on the target: one of these candidates, all equally likely.

    Parameters
    ----------
    name : str
        Words for the candidates.
    candidates : Examples
        k >= 2 examples with features (k, f).
    radius : float
        A guess counts where its distance to the target is at most this (Euclidean, of the
        features); 0 asks for the target itself.
    """

    name: str
    candidates: Examples
    radius: float = 0.0

    @property
    def hits(self) -> BoolArray:
        """The guesses (second index) that count for each target, shape (k, k)."""
        features = self.candidates.inputs.astype(np.float64)
        distances = np.linalg.norm(features[:, None] - features[None], axis=2)
        near: BoolArray = distances <= self.radius
        return near

    @property
    def baseline(self) -> float:
        """κ, the largest probability that a guess of a candidate made beforehand counts."""
        return float(self.hits.mean(axis=0).max())


_NORM = 100.0


def simplex_prior(size: int, *, n_features: int) -> Prior:
    """Return candidates whose gradients point as far apart as those of so many examples can.

    The corners of a regular simplex, all of one label; of two, x and −x. Their norm is so large
    that every gradient of a logistic regression that has hardly moved is clipped.

    Parameters
    ----------
    size : int
        k, from 2 to ``n_features``.
    """
    inputs = np.zeros((size, n_features), dtype=np.float32)
    corners = np.eye(size) - 1 / size
    inputs[:, :size] = _NORM * corners / np.linalg.norm(corners, axis=1, keepdims=True)
    labels = np.zeros(size, dtype=np.int64)
    return Prior(
        name=f"corners of a simplex, k = {size}",
        candidates=Examples(inputs=inputs, labels=labels, n_classes=10),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TraceAttack:
    """Guesses which candidate a training saw, from the parameters around every step.

    The model is a logistic regression that starts at 0.

    Parameters
    ----------
    training : DPSGD
        Plain descent under Poisson sampling, at rate 1 or below.
    assumed_noise : float
        The σ > 0 that the attacker reckons with, which need not be the true one.
    known : Examples
        The rest of the data.
    """

    training: DPSGD
    assumed_noise: float
    known: Examples

    @property
    def rate(self) -> float:
        """The probability with which an example enters a step."""
        return self.training.sampling.rate

    def hits(self, prior: Prior, *, trainings: int, rng: np.random.Generator) -> BoolArray:
        """Return True for each of several independent trainings that gave its target away.

        Every training has a target of its own, drawn from the prior; shape (trainings,).
        """
        from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415
        from dpcp_ledger.training.networks import logistic  # noqa: PLC0415

        n, candidates = len(self.known), prior.candidates
        targets = rng.integers(len(candidates), size=trainings)
        members = np.zeros((trainings, n + len(candidates)), dtype=np.bool_)
        members[:, :n] = True
        members[np.arange(trainings), n + targets] = True
        network = logistic(self.known.inputs.shape[1], self.known.n_classes)
        trace = _Trace(network, self, candidates, trainings)
        train(
            network,
            self.known.joined(candidates),
            self.training,
            rng=rng,
            members=members,
            initial=np.zeros(trace.n_parameters),
            observer=trace,
        )
        near: BoolArray = prior.hits[targets, trace.guesses(prior.hits)]
        return near


class _Trace:
    """Watches a training and adds up each candidate's log-likelihood ratio, step by step."""

    def __init__(self, network: Any, attack: TraceAttack, candidates: Examples, count: int) -> None:
        import torch  # noqa: PLC0415  (an extra)
        from torch.nn.functional import one_hot  # noqa: PLC0415

        known = attack.known
        self._network, self._training = network, attack.training
        self._variance = (attack.assumed_noise * attack.training.clip_norm) ** 2
        self._rate = attack.rate
        self._lot = (
            torch.tensor(known.inputs).expand(count, -1, -1),
            torch.tensor(known.labels).expand(count, -1),
            torch.full((count, len(known)), self._rate),
        )
        self._inputs = torch.tensor(candidates.inputs)
        self._truth = one_hot(torch.tensor(candidates.labels), known.n_classes).float()
        self._evidence = torch.zeros(count, len(candidates), dtype=torch.float64)

    @property
    def n_parameters(self) -> int:
        """The number of parameters of the network."""
        return sum(part.numel() for part in self._network.parameters())

    def __call__(self, step: Step, /) -> None:
        """Weigh one step: log(1 − q + q·exp((⟨g, r⟩ − ‖g‖²/2)/s²)), r being what is left."""
        import torch  # noqa: PLC0415  (an extra)

        ratios = self._log_ratios(step.before, self._left_over(step)).double()
        absent = math.log1p(-self._rate) if self._rate < 1 else -math.inf
        self._evidence += torch.logaddexp(torch.tensor(absent), math.log(self._rate) + ratios)

    def guesses(self, hits: BoolArray) -> IntArray:
        """Return the guess of largest posterior probability of counting, shape (replicas,)."""
        posterior = self._evidence.softmax(dim=1).numpy()
        return np.asarray((posterior @ hits).argmax(axis=1), dtype=np.int64)

    def _left_over(self, step: Step) -> Tensor:
        """Return the noised sum less what the known examples are expected to have put in."""
        from dpcp_ledger.training.gradients import FlatModel, clipped_sum  # noqa: PLC0415

        training = self._training
        total = (step.before - step.after) * (training.lot_size / training.learning_rate)
        return total - clipped_sum(
            FlatModel(self._network),
            step.before,
            self._lot,
            clip=training.clipping,
            limit=training.clip_norm,
        )

    def _log_ratios(self, flat: Tensor, left: Tensor) -> Tensor:
        """Return (⟨g, left⟩ − ‖g‖²/2)/s² of every candidate's clipped gradient g."""
        from dpcp_ledger.training.gradients import (  # noqa: PLC0415
            clip_factors,
            norms,
        )

        weight, bias = self._split(flat)
        errors = (self._inputs @ weight.mT + bias).softmax(dim=-1) - self._truth
        lengths = norms(errors).squeeze(-1) * (self._inputs.square().sum(dim=1) + 1).sqrt()
        factors = clip_factors(lengths, self._training.clip_norm)
        weight, bias = self._split(left)
        inner = (errors * (self._inputs @ weight.mT + bias)).sum(dim=-1)
        ratios: Tensor = (factors * inner - (factors * lengths) ** 2 / 2) / self._variance
        return ratios

    def _split(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Return weights (replicas, k, f) and biases (replicas, 1, k)."""
        classes, features = self._truth.shape[1], self._inputs.shape[1]
        weight = flat[:, : classes * features].reshape(-1, classes, features)
        return weight, flat[:, None, classes * features :]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Success:
    """The success rate of the attack, out of one prior.

    Parameters
    ----------
    prior : str
    baseline : float
        κ, what guessing without the training reaches.
    hits, trainings : int
    lower, upper : float
        Clopper–Pearson limits of the success probability.
    allowed : float
        The largest success probability that the guarantee allows, power(κ).
    """

    prior: str
    baseline: float
    hits: int
    trainings: int
    lower: float
    upper: float
    allowed: float

    @property
    def rate(self) -> float:
        """The measured share of successes."""
        return self.hits / self.trainings

    def __str__(self) -> str:
        return (
            f"{self.prior} (κ = {self.baseline:.4g}): {self.rate:.4g} "
            f"{limits(self.lower, self.upper)} of at most {rounded_up(self.allowed)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reconstruction(Sampled):
    """Test the success of a prior-aware attack on DP-SGD's trace against what DP allows.

    Every prior has trainings of its own, with independent targets and noise.

    :Null hypothesis: The attack reconstructs the target with probability at most the guarantee's
        power curve at κ, for every prior; κ is the success without the trace.
    :Statistic: The number of reconstructions among independent trainings, for each prior.
    :Level: At most the significance, by Clopper–Pearson limits with an equal share for each prior.
    :Power: The success probability that is refuted with probability 0.95, at the prior nearest to
        showing twice the claimed loss; a check that is to be CONSISTENT has to refute that.
    :Reference: Balle, Cherubin and Hayes (2022); Clopper and Pearson (1934).

    Parameters
    ----------
    attack : TraceAttack
        The training and what the attacker knows.
    guarantee : PrivacyGuarantee
        The claim, of neighbours with and without the target.
    priors : tuple of Prior
        The attacker's priors, at least one.
    trainings : int
        Number of trainings for each prior, at effort 1.
    """

    attack: TraceAttack
    guarantee: PrivacyGuarantee
    priors: tuple[Prior, ...]
    trainings: int = 300

    def __call__(self, context: Context) -> Outcome:
        """Train, attack, and test the successes against the guarantee."""
        successes = self.successes(context)
        closest, twice = self._closest(context)
        return conclude(
            _evidence(successes, context),
            lambda: closest,
            detect=twice,
            witness=self._witness() | {"seed": context.seed},
            note=_note(successes),
            estimates=(shown_loss(self.guarantee, successes),),
        )

    def successes(self, context: Context) -> tuple[_Success, ...]:
        """Attack as many trainings of every prior as the effort says."""
        count = context.samples(self.trainings)
        share = context.significance / len(self.priors)
        results: list[_Success] = []
        for index, prior in enumerate(self.priors):
            hits = int(self.attack.hits(prior, trainings=count, rng=context.rng(index)).sum())
            lower, upper = clopper_pearson(hits, count, significance=share)
            results.append(
                _Success(
                    prior=prior.name,
                    baseline=prior.baseline,
                    hits=hits,
                    trainings=count,
                    lower=lower,
                    upper=upper,
                    allowed=float(self.guarantee.power(prior.baseline)),
                )
            )
        return tuple(results)

    def _closest(self, context: Context) -> tuple[Power, float]:
        """Return the power at the prior nearest to showing twice the loss, and what that takes."""
        share, count = context.significance / len(self.priors), context.samples(self.trainings)
        found: list[tuple[float, Power, float]] = []
        for prior in self.priors:
            claimed = float(self.guarantee.power(prior.baseline))
            smallest = rates.smallest_violation(claimed, count, significance=share)
            power = Power(
                quantity=Quantity.ATTACK_SUCCESS,
                smallest=smallest,
                claimed=claimed,
                detail=f"reconstruction out of {prior.name}",
            )
            twice = float(power_of_twice(self.guarantee, prior.baseline))
            found.append((smallest / twice, power, twice / claimed))
        _, power, detect = min(found, key=lambda each: each[0])
        return power, detect

    def _witness(self) -> PlainData:
        return {
            "settings": repr(self.attack.training),
            "assumed_noise": self.attack.assumed_noise,
            "guarantee": str(self.guarantee),
            "known": len(self.attack.known),
            "priors": [
                {"name": p.name, "size": len(p.candidates), "radius": p.radius} for p in self.priors
            ],
        }


def _note(successes: tuple[_Success, ...]) -> str:
    closest = max(successes, key=lambda one: one.rate / one.allowed)
    return (
        f"Success by prior: {'; '.join(map(str, successes))}. The closest is at "
        f"{closest.rate / closest.allowed:.3g} of the bound."
    )


def shown_loss(guarantee: PrivacyGuarantee, successes: tuple[_Success, ...]) -> Estimate:
    """Return the loss in a claim's unit: the largest lower end, of the priors' at 95 % together."""
    error = SIGNIFICANCE / len(successes)
    found = [
        attack_loss(
            guarantee,
            Rate(one.rate, *clopper_pearson(one.hits, one.trainings, significance=error)),
            Rate(one.baseline, one.baseline, one.baseline),
            confidence=1 - SIGNIFICANCE,
            detail=f"of the reconstruction out of {one.prior}, against a guess",
        )
        for one in successes
    ]
    return max(found, key=lambda each: each.lower)


def _evidence(successes: tuple[_Success, ...], context: Context) -> Evidence:
    sharpest = max(successes, key=lambda one: one.lower / one.allowed)
    count = Count(
        of=f"reconstructions out of {sharpest.prior}", hits=sharpest.hits, trials=sharpest.trainings
    )
    return of_rate(
        Quantity.ATTACK_SUCCESS,
        (sharpest.lower, sharpest.upper),
        count,
        claimed=sharpest.allowed,
        confidence=1 - context.significance,
        detail=f"reconstruction out of {sharpest.prior}",
    )
