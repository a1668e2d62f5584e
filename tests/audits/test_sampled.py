"""The sampled privacy audit: events, directions, odd outputs, and what it refuses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.samplers import context, gaussian, laplace, pair, response

from dpcp_audit.audits import event_power
from dpcp_audit.audits.sampled import Event, SampledPrivacy, Sampler, choose_event
from dpcp_audit.targets.degenerate import DegenerateTargetError, Randomness, unprobed
from dpcp_audit.words.checks import Check
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP
from dpcp_audit.words.results import EvidenceKind, Outcome, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.guarantees import Neighbours, PrivacyGuarantee


def audit(
    sample: Sampler,
    guarantee: PrivacyGuarantee,
    neighbours: Neighbours[object] | None = None,
    *,
    n_samples: int = 4000,
    seed: int = 0,
) -> Outcome:
    check = SampledPrivacy(
        sample=sample,
        guarantee=guarantee,
        neighbours=neighbours or pair(),
        n_samples=n_samples,
    )
    return check(context(seed, significance=1e-6))


def inside(event: list[list[float]], outputs: np.ndarray) -> np.ndarray:
    return np.any([(outputs > low) & (outputs <= high) for low, high in event], axis=0)


def test_event_and_its_intervals_agree() -> None:
    event = Event(np.array([0.0, 1.0, 2.0]), np.array([True, False, True, True]))
    outputs = np.array([-5.0, 0.0, 0.5, 1.0, 1.5, 2.0, 7.0])
    assert event.contains(outputs).tolist() == [True, True, False, False, True, True, True]
    assert event.as_intervals() == [[-math.inf, 0.0], [1.0, math.inf]]
    assert inside(event.as_intervals(), outputs).tolist() == event.contains(outputs).tolist()


def test_it_is_a_check() -> None:
    check = SampledPrivacy(sample=laplace(1), guarantee=PureDP(1), neighbours=pair())
    assert isinstance(check, Check)
    assert check.sampled


@pytest.mark.parametrize(
    ("sample", "guarantee"),
    [
        (laplace(0.5), PureDP(1.0)),
        (laplace(0.5), LocalDP(1.0)),
        (gaussian(0.5), ZCDP(0.5)),
        (gaussian(0.5), ApproxDP(1.0, 0.1269)),
        (response(2.0), PureDP(1.0)),
    ],
)
@pytest.mark.parametrize("neighbours", [pair(0, 1), pair(1, 0)])
def test_half_the_noise_is_refuted(
    sample: Sampler, guarantee: PrivacyGuarantee, neighbours: Neighbours[object]
) -> None:
    outcome = audit(sample, guarantee, neighbours)
    assert outcome.verdict is Verdict.REFUTED
    evidence = outcome.evidence
    assert evidence.claimed is not None
    assert evidence.claimed < evidence.lower <= evidence.value <= evidence.upper
    assert (evidence.kind, evidence.confidence) == (EvidenceKind.CERTIFIED, 1 - 1e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [0.5, 0.8, 1.0])
def test_evidence_of_a_pure_claim_exceeds_it_exactly_where_refuted(seed: int, scale: float) -> None:
    """Also where the event is likely and its complement is what breaks the claim."""
    evidence = (outcome := audit(laplace(scale), PureDP(1.0), seed=seed)).evidence
    assert (outcome.verdict is Verdict.REFUTED) == (evidence.lower > 1.0)


def test_the_witness_reproduces_its_probabilities() -> None:
    """Fresh outputs of each input hit the witness event as often as the evidence says.

    False alarm at most 1e-8: 0.016 is six standard deviations of the difference of two rates of
    0.92, of 13,400 outputs and of 100,000.
    """
    outcome = audit(gaussian(0.5), ZCDP(0.5), n_samples=20_000)
    witness = outcome.witness
    values = [witness["value"], witness["neighbour"]]
    values = values[::-1] if witness["swapped"] else values
    rng = np.random.default_rng(1)
    rate = inside(witness["event"], gaussian(0.5)(values[0], 100_000, rng=rng)).mean()
    first, _ = outcome.evidence.sample.counts
    assert rate == pytest.approx(first.hits / first.trials, abs=0.016)
    assert witness["guarantee"] == "ZCDP(rho=0.5)"
    assert witness["relation"] == "substitution"


@pytest.mark.parametrize("swapped", [False, True])
def test_a_leak_in_one_direction_is_found_from_either_side(swapped: bool) -> None:
    """Only the input 1 ever gives the output 7, with probability 0.2."""

    def leaky(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.where(value * rng.random(size) > 0.8, 7.0, 0.0)

    outcome = audit(leaky, PureDP(2.0), pair(0, 1) if swapped else pair(1, 0))
    assert outcome.verdict is Verdict.REFUTED
    seven, zero = inside(outcome.witness["event"], np.array([7.0, 0.0])).tolist()
    assert seven is not zero  # the leak, or that there is none, which is likelier on the other side
    assert outcome.witness["swapped"] is (swapped if seven else not swapped)


def test_constant_output_says_nothing() -> None:
    def constant(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.full(size, 3.0)

    with pytest.raises(DegenerateTargetError, match=r"the same value, 3.0, in all \d+ draws"):
        audit(constant, PureDP(0.1))
    declared = SampledPrivacy(
        sample=constant, guarantee=PureDP(0.1), neighbours=pair(), randomness=Randomness.NONE
    )
    assert declared(context(0)).verdict is Verdict.CONSISTENT


def test_the_input_itself_as_output_is_refuted() -> None:
    def tell(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.full(size, value)

    assert audit(tell, PureDP(3.0)).verdict is Verdict.REFUTED


def test_infinite_outputs_are_outputs() -> None:
    """A conformal threshold may be +∞: here with probability 0.5 against 0.1."""

    def maybe(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(size) < 0.1 + 0.4 * value, np.inf, rng.normal(size=size))

    outcome = audit(maybe, PureDP(0.5))
    assert outcome.verdict is Verdict.REFUTED
    assert math.isfinite(outcome.evidence.lower)


def test_integers_and_booleans_are_numbers() -> None:
    def bits(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return rng.random(size) < 0.1 + 0.8 * value

    assert audit(bits, PureDP(1.0)).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            lambda size: np.zeros((size, 2, 2)),
            r"must return shape \(64,\) or \(64, d\), got shape \(64, 2",
        ),
        (lambda size: np.zeros(size - 1), r"got shape \(63,\)"),
        (lambda size: 0.5, r"got shape \(\)"),
        (lambda size: np.full(size, np.nan), "sample must return numbers, got NaN"),
        (lambda size: ["a"] * size, "sample must return an array of numbers, got list"),
        (lambda size: {"q": 1.0}, "sample must return an array of numbers, got dict"),
        (lambda size: [[1.0]] + [[1.0, 2.0]] * (size - 1), "must return an array of numbers"),
    ],
)
def test_what_is_no_output_is_refused(output: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(lambda value, size, *, rng: output(size), PureDP(1.0))  # type: ignore[operator]


def test_a_tiny_budget_is_inconclusive() -> None:
    check = SampledPrivacy(
        sample=laplace(1), guarantee=PureDP(8.0), neighbours=pair(), n_samples=200
    )
    assert check(context(0, significance=1e-9)).verdict is Verdict.INCONCLUSIVE
    with pytest.raises(ValueError, match="n_samples must be an integer >= 200, got 199"):
        SampledPrivacy(sample=laplace(1), guarantee=PureDP(1.0), neighbours=pair(), n_samples=199)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_the_pilot_comes_on_top_of_the_outputs_that_refute(share) -> None:
    check = SampledPrivacy(
        sample=laplace(1), guarantee=PureDP(1), neighbours=pair(), n_samples=400, pilot_share=share
    )
    fresh = event_power.draws_needed(PureDP(1.0), 1.5, significance=unprobed(1e-3))
    assert check.draws_needed(1.5, significance=1e-3) == math.ceil(fresh / (1 - share))
    assert check.draws_needed(30.0, significance=0.1) == 200


def test_effort_scales_the_samples() -> None:
    check = SampledPrivacy(sample=laplace(1), guarantee=PureDP(1), neighbours=pair(), n_samples=400)
    fresh = 1200 - round(check.pilot_share * 1200)
    assert check(context(0, effort=3.0)).evidence.n_samples == 2 * fresh


def test_choice_of_event_is_the_likelihood_ratio_where_that_is_best() -> None:
    """The chosen event of two far Gaussians separates them in the middle."""
    rng = np.random.default_rng(0)
    event, swapped = choose_event(PureDP(1.0), rng.normal(8, 1, 5000), rng.normal(0, 1, 5000))
    probes = event.contains(np.array([0.0, 8.0]))
    assert probes.tolist() == ([True, False] if swapped else [False, True])
