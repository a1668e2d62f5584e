"""Targets on score arrays, right and wrong, for the black-box audits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.words.checks import Context

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import PairSpace, Sampler
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome


def laplace_mean(scale: float) -> Sampler:
    """The mean of scores in [0, 1], ε-DP under substitution with ε = 1/scale."""

    def sample(scores, size, *, rng) -> np.ndarray:
        return np.mean(scores) + rng.laplace(scale=scale / len(scores), size=size)

    return sample


def gaussian_mean(scale: float) -> Sampler:
    """The mean of scores in [0, 1], ρ-zCDP under substitution with ρ = 1/(2·scale²)."""

    def sample(scores, size, *, rng) -> np.ndarray:
        return np.mean(scores) + rng.normal(scale=scale / len(scores), size=size)

    return sample


def gaussian_sum(scale: float) -> Sampler:
    """The sum of scores in [0, 1], ρ-zCDP under add/remove with ρ = 1/(2·scale²)."""

    def sample(scores, size, *, rng) -> np.ndarray:
        return np.sum(scores) + rng.normal(scale=scale, size=size)

    return sample


def search(
    sample: Sampler,
    guarantee: PrivacyGuarantee,
    pairs: PairSpace,
    *,
    draws: int = 20_000,
    seed: int = 0,
    significance: float = 1e-4,
    **options: Any,
) -> Outcome:
    check = BlackBoxPrivacy(sample=sample, guarantee=guarantee, pairs=pairs, draws=draws, **options)
    return check(Context(seed=seed, name="blackbox", significance=significance))
