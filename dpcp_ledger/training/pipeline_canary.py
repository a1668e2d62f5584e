"""A canary in a private training and in the calibration after it, and the attack on both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr

from dpcp_audit.extensions.audits import MembershipInference
from dpcp_audit.extensions.claims import Neighbours
from dpcp_ledger.mechanisms.releases import BisectionBits
from dpcp_ledger.training.canary_games import CanaryStatistic, Watcher
from dpcp_ledger.training.examples import digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.mechanisms import PCOQS
    from dpcp_ledger.training.examples import DPSGD
    from dpcp_ledger.training.training_pipeline import PrivatePipeline


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """The release is a score already."""

    name: str = "log-likelihood ratio of the steps and of the search's bits"

    def fit(self, member: FloatArray, other: FloatArray, /) -> Callable[[FloatArray], FloatArray]:  # noqa: ARG002
        """Return the identity."""
        return lambda releases: releases


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCanary:
    """Plays a pipeline with the target in or out, and returns the log-likelihood ratio of both.

    In, the target's gradient has the clipping norm, on a weight that no other example moves,
    and its score lies at the lower bound; out, it has no gradient, and its score lies at the
    upper bound. The other scores are those of ``worst_pair``. The attacker watches every step
    of the training and sees the threshold. Logistic regression on digits; each weight of a
    pixel that is always dark is a game of its own, independent of the others.

    Parameters
    ----------
    settings : DPSGD
        The training; SGD under Poisson sampling, as the attacker takes it to be.
    calibrator : PCOQS
    examples : int
        Digits beside the target.
    scores : int
        Calibration scores, the target's among them.
    """

    settings: DPSGD
    calibrator: PCOQS
    examples: int = 60
    scores: int = 60

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return the attacker's log-likelihood ratio of ``size`` games, shape (size,).

        ``value`` is 1 where the target is in, and 0 where it is out.
        """
        return self._of_training(bool(value), size, rng) + self._of_threshold(value, size, rng)

    def _of_training(self, inside: bool, size: int, rng: np.random.Generator) -> FloatArray:  # noqa: FBT001
        from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415
        from dpcp_ledger.training.examples import GradientCanaries  # noqa: PLC0415
        from dpcp_ledger.training.networks import logistic  # noqa: PLC0415

        data = digits().take(np.arange(self.examples))
        features, dark = data.inputs.shape[1], np.flatnonzero(~data.inputs.any(axis=0))
        weights = (np.arange(data.n_classes)[:, None] * features + dark).ravel()
        members = np.full((-(-size // weights.size), weights.size), inside)
        watch = Watcher(
            attack=CanaryStatistic.LIKELIHOOD, settings=self.settings, coordinates=weights
        )
        train(
            logistic(features, data.n_classes),
            data,
            self.settings,
            rng=rng,
            replicas=len(members),
            canaries=GradientCanaries(
                coordinates=weights, members=members, norm=self.settings.clip_norm
            ),
            observer=watch,
        )
        return watch.scores.ravel()[:size]

    def _of_threshold(self, value: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Score the search's bits: of probability 1/2 with the target, Φ(1/σ) without."""
        mechanism = self.calibrator
        inputs = mechanism.worst_pair(self.scores)
        thresholds = mechanism.sample(inputs[0 if value else 1], size, rng=rng)
        search = BisectionBits(
            bounds=mechanism.bounds, rounds=mechanism.rounds, resolution=mechanism.resolution
        )
        shift = 1 / mechanism.noise_scale
        ones = search.ones(thresholds)
        one, zero = (-math.log(2) - float(log_ndtr(sign * shift)) for sign in (1, -1))
        return ones * one + (mechanism.rounds - ones) * zero


def pipeline_canary(
    game: PipelineCanary, guarantee: PrivatePipeline, *, n_samples: int = 60_000
) -> MembershipInference:
    """Test a pipeline's guarantee against an attacker who sees its worst-case target's part."""
    return MembershipInference(
        sample=game,
        guarantee=guarantee,
        neighbours=Neighbours(relation=guarantee.training.relation, value=1, neighbour=0),
        attacks=(_AsItIs(),),
        n_samples=n_samples,
        witness={
            "settings": repr(game.settings),
            "calibrator": repr(game.calibrator),
            "examples": game.examples,
            "scores": game.scores,
        },
    )
