"""Mechanisms of one number, as a user would write them, and pairs of inputs to try them on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.targets.answers import Randomness
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import Neighbours, Relation

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Sampler
    from dpcp_audit.words.guarantees import PrivacyGuarantee


def laplace(scale: float) -> Sampler:
    return lambda value, size, *, rng: value + rng.laplace(scale=scale, size=size)


def gaussian(scale: float) -> Sampler:
    return lambda value, size, *, rng: value + rng.normal(scale=scale, size=size)


def response(epsilon: float) -> Sampler:
    keep = 1 / (1 + math.exp(-epsilon))
    return lambda value, size, *, rng: np.where(rng.random(size) < keep, value, 1 - value)


def pair(value: object = 0.0, neighbour: object = 1.0) -> Neighbours[object]:
    return Neighbours(relation=Relation.SUBSTITUTION, value=value, neighbour=neighbour)


def on_pair(
    sample: Sampler,
    guarantee: PrivacyGuarantee,
    neighbours: Neighbours[object] | None = None,
    *,
    draws: int = 8000,
    randomness: Randomness = Randomness.GENERATOR,
) -> BlackBoxPrivacy:
    """Return the audit of one pair of inputs, with so many outputs in all."""
    return BlackBoxPrivacy(
        sample=sample,
        guarantee=guarantee,
        pairs=FixedPairs((neighbours or pair(),)),
        draws=draws,
        randomness=randomness,
    )


def context(seed: int, *, significance: float = 0.05, effort: float = 1.0) -> Context:
    return Context(seed=seed, name="test", significance=significance, effort=effort)
