"""What an attacker who watches every step of a training makes of a canary's weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.mechanisms import DPSGD, Adam, Poisson

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray, IntArray
    from dpcp_audit.extensions.training import Step


_LEAST = 1e-30
_ITERATIONS = 6
_LARGEST = 600.0
"""Exponent beyond which the other summand is lost in the rounding."""


class CanaryStatistic(StrEnum):
    """The score: any function of the parameters that were seen is valid."""

    LIKELIHOOD = "per-step likelihood"
    """Of the noisy sums, as if the training were as claimed."""
    REPLAYED_NOISE = "per-step likelihood, less another training's noise"
    """For noise that is the same in every training."""
    WEIGHT_SCALE = "scale of the weight's moves"
    """Small where the canary's moments divide its moves; the last one counts."""
    UPDATE_SCALE = "scale of all moves"
    """Small where the divisor counts the canary."""


@dataclass(slots=True, kw_only=True, eq=False)
class Watcher:
    """Observes a training (``train``'s observer) and scores the canaries.

    Parameters
    ----------
    attack : CanaryStatistic
    settings : DPSGD
        With Poisson sampling.
    coordinates : ndarray of int, shape (m,)
        The canaries' weights.
    """

    attack: CanaryStatistic
    settings: DPSGD
    coordinates: IntArray
    _total: FloatArray = field(init=False, default_factory=lambda: np.zeros(()))
    _fed: _FedToAdam | None = field(init=False, default=None)
    _noise: list[FloatArray] = field(init=False, default_factory=list["FloatArray"])

    def __post_init__(self) -> None:
        if not isinstance(self.settings.sampling, Poisson):
            raise ValueError(  # noqa: TRY004  (bad input is a ValueError throughout)
                "sampling must be Poisson where there are canaries"
            )

    @property
    def scores(self) -> FloatArray:
        """The canaries' scores, shape (replicas, m), or (replicas, 1) where all share one."""
        if self.attack in {CanaryStatistic.WEIGHT_SCALE, CanaryStatistic.UPDATE_SCALE}:
            return -np.log(self._total)
        if self._fed is not None:
            return self._fed.scores(self._log_ratio, self.settings.noise_multiplier)
        return self._total

    def __call__(self, step: Step, /) -> None:
        """Take in one step."""
        if self.attack is CanaryStatistic.UPDATE_SCALE:
            moves = (step.before - step.after).square().sum(dim=1, keepdim=True)
            self._total = self._total + moves.cpu().double().numpy()
        elif self.attack is CanaryStatistic.WEIGHT_SCALE:
            self._total = np.square(self._moves(step)) + _LEAST
        elif isinstance(self.settings.optimiser, Adam):
            self._fed = self._fed or _FedToAdam(adam=self.settings.optimiser)
            self._fed.add(self._moves(step), step.index + 1)
        else:
            sums = self._sums(step)
            if self._noise:
                sums = sums - self._noise[step.index]
            self._total = self._total + self._log_ratio(sums)

    def learn(self, step: Step, /) -> None:
        """Keep a step of a training without canaries: its noise."""
        self._noise.append(self._sums(step))

    def _moves(self, step: Step) -> FloatArray:
        import torch  # noqa: PLC0415  (an extra)

        places = torch.as_tensor(self.coordinates, device=step.after.device)
        moved = (step.before - step.after).index_select(1, places)
        moves: FloatArray = moved.cpu().double().numpy()
        return moves / self.settings.learning_rate

    def _sums(self, step: Step) -> FloatArray:
        """Return the step's noisy sum at the canaries' weights, in units of C."""
        return self._moves(step) * (self.settings.lot_size / self.settings.clip_norm)

    def _log_ratio(self, sums: FloatArray) -> FloatArray:
        """Return log(((1−q)·φ(s) + q·φ(s−1))/φ(s)), φ the density of N(0, σ²)."""
        sampling, sigma = self.settings.sampling, self.settings.noise_multiplier
        q = sampling.rate if isinstance(sampling, Poisson) else 1.0
        exponent = (sums - 0.5) / sigma**2
        if q == 1:  # where log1p(expm1(x)) would be −∞ from x = −37 on
            return np.asarray(exponent)
        within = np.minimum(exponent, _LARGEST)
        return np.asarray(np.log1p(q * np.expm1(within)) + (exponent - within))


@dataclass(slots=True, kw_only=True, eq=False)
class _FedToAdam:
    """Adam's input at each weight, recovered from its moves, up to a scale for each weight.

    A move m̂/√v̂ is solved for the newest gradient g, of which m̂ and v̂ are known functions once
    all earlier ones are; the first that moves the weight is ±1 by convention, as its size is lost.
    The noise's known scale sets the sizes in the end.
    """

    adam: Adam
    _first: FloatArray = field(init=False, default_factory=lambda: np.zeros(()))
    _second: FloatArray = field(init=False, default_factory=lambda: np.zeros(()))
    _gradients: list[FloatArray] = field(init=False, default_factory=list["FloatArray"])

    def add(self, moves: FloatArray, time: int) -> None:
        """Take in the moves of a step, over the learning rate."""
        beta1, beta2 = self.adam.beta1, self.adam.beta2
        unbias1, unbias2 = 1 - beta1**time, 1 - beta2**time
        before = np.sqrt(self._second / unbias2)
        newest = np.where(before > 0, before, np.ones(moves.shape))
        known, share = self._second * (beta2 / unbias2), (1 - beta2) / unbias2
        scaled, drawn = moves * (unbias1 / (1 - beta1)), self._first * (beta1 / (1 - beta1))
        for _ in range(_ITERATIONS):  # in place: newest = moves·√v̂·… − what m̂ has of earlier ones
            newest *= newest
            newest *= share
            newest += known
            np.sqrt(newest, out=newest)
            newest *= scaled
            newest -= drawn
        self._first = beta1 * self._first + (1 - beta1) * newest
        self._second = beta2 * self._second + (1 - beta2) * np.square(newest)
        self._gradients.append(newest)

    def scores(self, log_ratio: Callable[[FloatArray], FloatArray], sigma: float) -> FloatArray:
        """Return the sum of the steps' log-ratios, where the noise has scale ``sigma``."""
        gradients = np.stack(self._gradients)
        size = np.sqrt(np.square(gradients).mean(axis=0))
        scale = sigma / np.where(size > 0, size, 1.0)
        return np.asarray(log_ratio(gradients * scale).sum(axis=0))
