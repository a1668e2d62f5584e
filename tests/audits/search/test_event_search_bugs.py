"""Leaks that only the right event shows, and searches and probes with planted bugs."""

from __future__ import annotations

import numpy as np
import pytest
from support.refusals import most_refusals, refusals
from support.samplers import context, on_pair

from dpcp_audit.audits.search.event_search import Quadratic
from dpcp_audit.targets import answers as degenerate
from dpcp_audit.targets.answers import DegenerateTargetError, probe
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Verdict

pytestmark = pytest.mark.known_bad


def rate_gap(seed: int, *, held_out: bool) -> float:
    """Return how much likelier one of two equal laws seems at the classifier's better half."""
    first, second = np.random.default_rng(seed).normal(size=(2, 400, 12))
    seen = np.concatenate([first[::2], second[::2]])
    score = Quadratic.of(seen, np.arange(400) < 200)
    part = slice(1, None, 2) if held_out else slice(0, None, 2)
    scores = score(first[part]), score(second[part])
    middle = np.median(np.concatenate(scores))
    return float((scores[0] > middle).mean() - (scores[1] > middle).mean())


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_classifier_promises_too_much_on_what_it_was_fitted_to() -> None:
    """False alarm below 1e-6: a held-out gap has mean 0, a spread below 0.06, and 40 are averaged.

    On the samples that it saw, the classifier tells two equal laws apart.
    """
    seen, fresh = (
        np.mean([rate_gap(seed, held_out=held_out) for seed in range(40)])
        for held_out in (False, True)
    )
    assert abs(fresh) < 0.05
    assert seen > 0.2


def vector(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise on one of three coordinates that are then rotated: ε = 1."""
    hidden = np.stack([value + rng.laplace(size=size), *rng.normal(size=(2, size))], axis=1)
    turn = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return hidden @ turn


@pytest.mark.study
@pytest.mark.statistical(false_alarm=1e-7)
def test_searches_over_vectors_keep_the_level() -> None:
    """False alarm at most 1e-7: the refusals are at most Binomial(150, 0.05)."""
    check = on_pair(vector, PureDP(1.0), draws=1200)
    count = refusals(check, repetitions=150, significance=0.05)
    assert count <= most_refusals(150, level=0.05, false_alarm=1e-7)


def test_a_tight_claim_on_vectors_is_told_from_a_broken_one() -> None:
    outcome = {
        epsilon: on_pair(vector, PureDP(epsilon), draws=40_000)(
            context(0, significance=1e-6)
        ).verdict
        for epsilon in (0.6, 1.0)
    }
    assert outcome == {0.6: Verdict.REFUTED, 1.0: Verdict.CONSISTENT}


def test_a_probe_without_confirmation_refutes_sound_targets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rare outputs agree by chance in two short draws; four longer ones settle it."""

    def rare(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(size) < 0.03).astype(float)

    def refuted(seed: int) -> bool:
        try:
            probe(rare, 0.0, rng=seed)
        except DegenerateTargetError:
            return True
        return False

    assert not any(refuted(seed) for seed in range(500))

    def hasty(*_: object) -> None:
        raise DegenerateTargetError("sample seeds itself")

    monkeypatch.setattr(degenerate, "_require_fresh", hasty)
    assert any(refuted(seed) for seed in range(1500))
