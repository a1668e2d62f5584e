"""Games on the reference trainings: canaries that are in by fair coins, and attackers of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.audits import GameResults
from dpcp_ledger.training.examples import DPSGD, Adam, Examples, GradientCanaries, digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from dpcp_audit.extensions.claims import BoolArray, FloatArray, IntArray
    from dpcp_ledger.training.dpsgd import Step


_LEAST = 1e-30
_ITERATIONS = 6
_LARGEST = 600.0
"""Exponent beyond which the other summand is lost in the rounding."""


class CanaryStatistic(StrEnum):
    """The score: any function of the parameters that were seen is valid."""

    LIKELIHOOD = "per-step likelihood"
    """The likelihood of the noisy sums, as if the training were as claimed."""
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
        The training's own.
    coordinates : ndarray of int, shape (m,)
        The canaries' weights.
    """

    attack: CanaryStatistic
    settings: DPSGD
    coordinates: IntArray
    _total: FloatArray = field(init=False, default_factory=lambda: np.zeros(()))
    _fed: _FedToAdam | None = field(init=False, default=None)
    _noise: list[FloatArray] = field(init=False, default_factory=list["FloatArray"])

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
            self._total = self._total + moves.double().numpy()
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

        places = torch.as_tensor(self.coordinates)
        moved = (step.before - step.after).index_select(1, places)
        moves: FloatArray = moved.double().numpy()
        return moves / self.settings.learning_rate

    def _sums(self, step: Step) -> FloatArray:
        """Return the step's noisy sum at the canaries' weights, in units of C."""
        return self._moves(step) * (self.settings.lot_size / self.settings.clip_norm)

    def _log_ratio(self, sums: FloatArray) -> FloatArray:
        """Return log(((1−q)·φ(s) + q·φ(s−1))/φ(s)), φ the density of N(0, σ²)."""
        q, sigma = self.settings.sampling.rate, self.settings.noise_multiplier
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


_DARK = 1e-3
"""A feature's mean square up to which its weights count as idle."""
_BRIGHTNESS = 4.0
_PART, _BLACK_BOX_PART = 8, 4
_FEWEST_REFERENCES = 8


@lru_cache(maxsize=4)
def first_digits(count: int) -> Examples:
    """Return the first ``count`` of scikit-learn's digits."""
    return digits().take(np.arange(count))


@lru_cache(maxsize=4)
def wiped_digits(count: int) -> Examples:
    """Return the first ``count`` digits, their frame of 28 pixels wiped clean."""
    found = first_digits(count)
    images = found.inputs.reshape(-1, 8, 8).copy()
    images[:, [0, -1]], images[:, :, [0, -1]] = 0, 0
    return replace(found, inputs=images.reshape(found.inputs.shape))


def mislabelled_digits(count: int, *, after: int) -> Examples:
    """Return the digits that follow the first ``after``, each with the label after its own."""
    found = digits().take(np.arange(after, after + count))
    return Examples(inputs=found.inputs, labels=(found.labels + 1) % 10, n_classes=10)


def lone_pixels(data: Examples) -> Examples:
    """Return images of one bright pixel each, of those that are dark in nearly all of the data.

    Out of the data's distribution: hardly anything else moves the weights of such a pixel.
    """
    dark = _dark(data)
    inputs = np.zeros((len(dark), data.inputs.shape[1]), dtype=np.float32)
    inputs[np.arange(len(dark)), dark] = _BRIGHTNESS
    return Examples(
        inputs=inputs, labels=np.arange(len(dark)) % data.n_classes, n_classes=data.n_classes
    )


def idle_weights(data: Examples, outputs: int) -> IntArray:
    """Return the weights of a first linear layer that the data hardly move: of dark pixels."""
    dark, features = _dark(data), data.inputs.shape[1]
    return np.asarray((np.arange(outputs)[:, None] * features + dark).ravel(), dtype=np.int64)


def _dark(data: Examples) -> IntArray:
    return np.flatnonzero(np.square(data.inputs).mean(axis=0) <= _DARK)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhiteBoxGame:
    """Gradient canaries on weights that no plain example moves, watched at every step.

    Of logistic regression, or of a head of ReLU units, on digits whose frame is wiped clean (Nasr
    et al. 2023); the weights are those of its pixels. Without noise, Adam would take the little
    that is left in such a pixel for steps of full size.

    Parameters
    ----------
    settings : DPSGD
        The training.
    canaries : int
        m, at most 28 weights a unit of the first layer.
    examples : int
        Plain examples beside them: the first so many digits.
    hidden : int
        Units of the head; 0 for logistic regression.
    norm : float
        Norm of a canary's gradient, before clipping.
    attack : CanaryStatistic
        The attacker's statistic of the steps.
    """

    settings: DPSGD
    canaries: int
    examples: int = 900
    hidden: int = 0
    norm: float = 1.0
    attack: CanaryStatistic = CanaryStatistic.LIKELIHOOD

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Train ``runs`` models side by side and score their canaries."""
        return _watched(self, runs, self.settings, rng)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play without noise: an eighth of the runs, or of a few runs' canaries and units."""
        bare = replace(self.settings, noise_multiplier=0.0)
        if runs >= _PART:
            return _watched(self, math.ceil(runs / _PART), bare, rng)
        canaries, hidden = (math.ceil(size / _PART) for size in (self.canaries, self.hidden))
        return _watched(replace(self, canaries=canaries, hidden=hidden), runs, bare, rng)


class OutsideCanaries(StrEnum):
    """Inputs that the attacker puts into the data, to query the model on them afterwards."""

    MISLABELLED = "mislabelled"
    """Digits with a wrong label."""
    LONE_PIXELS = "out-of-distribution"
    """Images of one bright pixel that is otherwise dark; twelve at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackBoxGame:
    """Input canaries, scored by the final model's loss on them.

    The attacker calibrates each canary's score on further trainings of his own, whose coins he
    knows: the likelihood ratio of two normal laws of one variance (Carlini et al. 2022).

    Parameters
    ----------
    settings : DPSGD
        The training.
    inputs : OutsideCanaries
    canaries : int
        m.
    examples : int
        Plain examples beside them: the first so many digits.
    references : int
        The attacker's own trainings, side by side with the others.
    """

    settings: DPSGD
    inputs: OutsideCanaries
    canaries: int = 12
    examples: int = 900
    references: int = 64

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Train ``runs`` models beside the references and score their canaries."""
        from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415  (an extra)

        data = first_digits(self.examples)
        canaries = self._canaries_of(data)
        members = rng.random((self.references + runs, self.canaries)) < 0.5
        plain = np.ones((len(members), len(data)), dtype=np.bool_)
        trained = train(
            network(data, 0),
            data.joined(canaries),
            self.settings,
            rng=rng,
            members=np.hstack([plain, members]),
        )
        confidence = -trained.losses(canaries)
        margins = confidence - np.log(-np.expm1(np.minimum(confidence, -1e-12)))
        known, new = np.split(margins, [self.references])
        scores = _calibrated(known, members[: self.references], new)
        return GameResults(scores, members[self.references :])

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play without noise: half of the trainings, one in two of them as references."""
        part = max(_FEWEST_REFERENCES, math.ceil((self.references + runs) / _BLACK_BOX_PART))
        bare = replace(self.settings, noise_multiplier=0.0)
        return replace(self, settings=bare, references=part).play(part, rng=rng)

    def _canaries_of(self, data: Examples) -> Examples:
        if self.inputs is OutsideCanaries.MISLABELLED:
            return mislabelled_digits(self.canaries, after=len(data))
        return lone_pixels(data).take(np.arange(self.canaries))


def _watched(
    game: WhiteBoxGame, runs: int, settings: DPSGD, rng: np.random.Generator
) -> GameResults:
    """Play the training of these settings against the attacker of the game's own."""
    from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415  (an extra)

    data = wiped_digits(game.examples)
    coordinates = idle_weights(data, game.hidden or data.n_classes)[: game.canaries]
    if len(coordinates) < game.canaries:
        raise ValueError(f"canaries must be at most {len(coordinates)} here, got {game.canaries}")
    members = rng.random((runs, game.canaries)) < 0.5
    watch = Watcher(attack=game.attack, settings=game.settings, coordinates=coordinates)
    if game.attack is CanaryStatistic.REPLAYED_NOISE:
        train(network(data, game.hidden), data, settings, rng=rng, observer=watch.learn)
    train(
        network(data, game.hidden),
        data,
        settings,
        rng=rng,
        members=np.ones((runs, len(data)), dtype=np.bool_),
        canaries=GradientCanaries(coordinates=coordinates, members=members, norm=game.norm),
        observer=watch,
    )
    return GameResults(np.broadcast_to(watch.scores, members.shape), members)


def _calibrated(known: FloatArray, coins: BoolArray, new: FloatArray) -> FloatArray:
    """Return log-likelihood ratios of ``new``, shape (runs, m), by laws fitted on ``known``."""
    counts = coins.sum(axis=0), (~coins).sum(axis=0)
    means: list[FloatArray] = [
        np.where(which, known, 0).sum(axis=0) / np.maximum(1, count)
        for which, count in zip((coins, ~coins), counts, strict=True)
    ]
    inside, outside = means
    spread = (known - np.where(coins, inside, outside)).var(axis=0)
    return np.asarray((new - (inside + outside) / 2) * (inside - outside) / spread)


def network(data: Examples, hidden: int) -> nn.Module:
    """Return a head of so many units on the data's features; logistic regression for 0."""
    from dpcp_ledger.training import networks  # noqa: PLC0415  (an extra)

    features = data.inputs.shape[1]
    if hidden == 0:
        return networks.logistic(features, data.n_classes)
    return networks.head(features, data.n_classes, hidden=hidden, dropout=0.0)
