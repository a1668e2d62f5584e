"""A specimen of the zoo: a target with its claims, who must see it, and its true loss, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq
from scipy.special import ndtr

from dpcp_audit.extensions.audits import exact_outcome
from dpcp_audit.extensions.claims import (
    ZCDP,
    Computation,
    LocalDP,
    Proof,
    ProofMethod,
    Quantity,
    Relation,
)
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair
from dpcp_audit.extensions.mechanisms import conformal_rank, largest_bit_divergence
from dpcp_audit.extensions.statistics import at_most, decimal, exact, normal_cdf
from dpcp_audit.extensions.targets import CheckSpec, Kind, TargetSpec
from dpcp_ledger.mechanisms.histlap import HistLap
from dpcp_ledger.mechanisms.releases import exponq_proof, search_proof, worst_log_ratio
from dpcp_ledger.zoo import broken_mechanisms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.extensions.claims import Check, Coverage, FloatArray, PrivacyGuarantee
    from dpcp_audit.extensions.laws import LawPair


HERE = "dpcp_ledger.zoo"


class SpecimenCheck(StrEnum):
    """The checks that a specimen is put to."""

    BLACK_BOX = "black-box"
    """The search over neighbours, of code that can only be called."""
    TRACED = "traced"
    """The noise of the code, followed: all that it spends, by composition."""
    COVERAGE = "coverage"
    """The search over score laws, of code that can only be called."""
    EXACT = "exact"
    """The law of what is released, computed."""
    THEOREM = "theorem"
    """A theorem of a paper, simulated or computed for the form that is run."""
    PIPELINE = "pipeline"
    """Coverage of the whole pipeline, from fitting a classifier to fresh rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A target: a mutant with its correct twin, or a correct twin.

    Parameters
    ----------
    name : str
    words : str
        The error of a bug, or a description of a twin.
    twin : str
        The name of its correct twin; empty for a correct one.
    target : str
        The function, as ``dpcp-audit check`` takes it; empty where there is none to call.
    options : mapping
        Keyword arguments for it.
    privacy : PrivacyGuarantee or None
    coverage : Coverage or None
        The claim of coverage, if there is one.
    draws, calls : int
        Calls at effort 1, of the privacy audit and of the coverage audit.
    sizes : tuple of int
        Numbers of scores; empty for the default ones.
    strict : bool
        True if its sets are {score < threshold}.
    exact : callable or None
        Computes what it really does.
    theorem, pipeline : Check or None
    traced : bool
        True if its noise is followed.
    caught_by : frozenset of SpecimenCheck
        The checks whose claim is false, and that are meant to see it.
    hidden : frozenset of SpecimenCheck
        The checks whose claim is false too, and out of reach of any budget; ``unseen`` says why.
    unseen : mapping
        For each other check, the reason why it cannot see the bug, in words.
    """

    name: str
    words: str
    twin: str = ""
    target: str = ""
    kind: Kind = Kind.QUANTILE
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    privacy: PrivacyGuarantee | None = None
    coverage: Coverage | None = None
    alpha: float | None = None
    draws: int = 20_000
    calls: int = 20_000
    sizes: tuple[int, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    domain: int | None = None
    vectorised: bool = True
    strict: bool = False
    exact: Callable[[], Computation] | None = None
    theorem: Check | None = None
    pipeline: Check | None = None
    traced: bool = False
    caught_by: frozenset[SpecimenCheck] = frozenset()
    hidden: frozenset[SpecimenCheck] = frozenset()
    unseen: Mapping[SpecimenCheck, str] = field(default_factory=dict[SpecimenCheck, str])

    @property
    def spec(self) -> CheckSpec:
        """The specimen as a check of ``dpcp-audit check``."""
        return CheckSpec(
            target=TargetSpec(
                kind=self.kind,
                target=self.target,
                vectorised=self.vectorised,
                bounds=self.bounds,
                domain=self.domain,
                options=self.options,
            ),
            guarantees=tuple(each for each in (self.privacy, self.coverage) if each is not None),
            name=self.name,
            alpha=self.alpha,
            n=self.sizes,
            draws=self.draws,
        )


def mutant_of(
    twin: Specimen, name: str, words: str, function: str = "", **changes: Any
) -> Specimen:
    """Return a broken twin: the same claims, other code.

    Every check of what it claims is meant to see it, but those that are hidden or named in
    ``unseen``.
    """
    module = twin.target.partition(":")[0]
    target = f"{module}:{function}" if function else twin.target
    own: dict[str, Any] = {"name": name, "words": words, "twin": twin.name, "target": target}
    broken = replace(twin, **({"exact": None} | own | changes))
    tried = {
        SpecimenCheck.BLACK_BOX: broken.privacy,
        SpecimenCheck.COVERAGE: broken.coverage,
        SpecimenCheck.EXACT: broken.exact,
        SpecimenCheck.THEOREM: broken.theorem,
        SpecimenCheck.PIPELINE: broken.pipeline,
    }
    seen = {check for check, by in tried.items() if by is not None}
    return replace(broken, caught_by=frozenset(seen - {*broken.hidden, *broken.unseen}))


SIZES = (500, 1, 2, 3, 5, 10, 20)
"""The sizes that the black-box search tries by default."""
_ORDERS = 1 + np.geomspace(1e-4, 1e3, 60)


def search_loss(noise_scale: float) -> Computation:
    """Compute ρ of the bisection whose rounds add independent noise of this scale.

    The release is its comparison bits; each loses at most ``largest_bit_divergence``, and
    scores at the two ends attain that in every round.
    """
    if noise_scale == 0:
        return Computation(
            quantity=Quantity.RHO,
            detail="over all orders α > 1",
            value=math.inf,
            claimed=broken_mechanisms.RHO,
            note="There is no noise.",
        )
    proof = search_proof(
        broken_mechanisms.RHO,
        rounds=broken_mechanisms.ROUNDS,
        noise_scale=noise_scale,
        parameters={"noise_scale": noise_scale, "rounds": broken_mechanisms.ROUNDS},
    )
    value = max(
        broken_mechanisms.ROUNDS * largest_bit_divergence(noise_scale, a) / a for a in _ORDERS
    )
    return Computation(
        quantity=Quantity.RHO,
        detail="over all orders α > 1",
        value=value,
        claimed=broken_mechanisms.RHO,
        upper=max(value, proof.premises[0].left[1]),
        proof=proof,
        witness={"noise_scale": noise_scale, "rounds": broken_mechanisms.ROUNDS},
    )


def one_draw_loss(n: int = 500) -> Computation:
    """Compute ρ where one normal number serves all rounds.

    The threshold is then the score at which the count and that number reach the rank: score k
    is released with probability Φ((r−k+1)/σ) − Φ((r−k)/σ). Move it, and the value that was
    released is impossible.
    """
    rank, sigma = broken_mechanisms.safe_rank(n), broken_mechanisms.noise_scale()
    reached = ndtr((rank - np.arange(n + 1)) / sigma)
    beyond, moved = reached[-1], rank - 1
    chances = np.concatenate([reached[:-1] - reached[1:], [beyond]])
    chances[0] += 1 - reached[0]
    one, other = np.zeros((2, n + 2))
    one[: n + 1] = other[: n + 1] = chances
    one[n + 1] = 0.0
    other[n + 1], other[moved] = chances[moved], 0.0
    pair = FinitePair(FiniteLaw.from_mass(one), FiniteLaw.from_mass(other))
    return exact_outcome(
        ZCDP(broken_mechanisms.RHO),
        [pair],
        witness={"n": n, "moved": rank, "probability": float(chances[moved])},
        note=f"Score {rank} of {n} moves a little, and with it an atom of the release.",
    )


def disjoint_loss(guarantee: PrivacyGuarantee, why: str, **witness: Any) -> Computation:
    """Return the loss where no output of the one input can come of the other."""
    laws = (FiniteLaw.from_mass(mass) for mass in ([1.0, 0.0], [0.0, 1.0]))
    return exact_outcome(guarantee, [FinitePair(*laws)], witness=witness, note=why)


def deterministic_loss(
    function: Callable[..., Any],
    guarantee: PrivacyGuarantee,
    scores: FloatArray,
    neighbour_scores: FloatArray,
    **options: Any,
) -> Computation:
    """Run code on two neighbours, twice each: outputs that repeat and differ lose everything."""
    generators = np.random.default_rng(0).spawn(4)
    inputs = (scores, scores, neighbour_scores, neighbour_scores)
    outputs = [
        float(np.ravel(function(x, rng=rng, **options))[0])
        for x, rng in zip(inputs, generators, strict=True)
    ]
    if outputs[0] != outputs[1] or outputs[2] != outputs[3] or outputs[0] == outputs[2]:
        raise ValueError(f"function must return two different constants, got {outputs}")
    return disjoint_loss(
        guarantee,
        f"It returns {outputs[0]:.6g} on one input and {outputs[2]:.6g} on its neighbour, always.",
        scores=scores.tolist(),
        neighbour_scores=neighbour_scores.tolist(),
    )


def additive_loss(guarantee: PrivacyGuarantee, pair: LawPair) -> Computation:
    """Compute the loss of a quantile with additive noise, as it moves from one end to the other."""
    return exact_outcome(
        guarantee,
        [pair],
        argument="The noise depends on the shift alone, and no pair shifts the quantile by more.",
    )


def histogram_loss(noise: Relation) -> Computation:
    """Compute the loss of the noisy histogram behind the quantile."""
    mechanism = HistLap(alpha=0.5, epsilon=broken_mechanisms.EPSILON, n_bins=2, noise=noise)
    return exact_outcome(
        mechanism.guarantee,
        [mechanism.histogram_pair(Relation.SUBSTITUTION)],
        argument="A substitution shifts two counts by one; the quantile is computed from them.",
        note="Of the histogram; the quantile read off it shows a little less.",
    )


def exponq_loss(normaliser: str) -> Computation:
    """Compute the largest log-ratio of ExponQ over the sizes that a search tries."""
    mechanism = broken_mechanisms.exponq_mechanism(normaliser)
    sizes = [n for n in SIZES if mechanism.normalisation(n) > 0]
    found = {n: worst_log_ratio(mechanism, n) for n in sizes}
    worst = max(found, key=lambda n: found[n].log_ratio)
    bound = max(mechanism.log_ratio_bound(n) for n in sizes)
    proof = exponq_proof(mechanism, sizes)
    return Computation(
        quantity=Quantity.EPSILON,
        value=found[worst].log_ratio,
        claimed=broken_mechanisms.EPSILON,
        slack=max(0.0, bound - found[worst].log_ratio),
        upper=None if proof is None else proof.premises[0].left[1],
        proof=proof,
        witness={"n": worst, "normaliser": normaliser, "released": found[worst].released},
    )


def gaps_loss(sensitivity: float, sizes: tuple[int, ...] = (100, 500)) -> Computation:
    """Compute the largest log-ratio of a gap, where a score of the middle crowd falls to 0.

    Below the rank r, k scores are at 0 and the others at 1/2, and one moves from 1 to 0.
    """
    losses = {
        (n, low): _gap_ratio(n, low, sensitivity)
        for n in sizes
        for low in range(max(0, conformal_rank(n, alpha=broken_mechanisms.ALPHA) - 12), n - 1)
    }
    n, low = max(losses, key=lambda case: losses[case])
    spent = exact(broken_mechanisms.EPSILON) / exact(sensitivity)
    compared = at_most("ε/sensitivity ≤ the claimed ε", spent, broken_mechanisms.EPSILON)
    return Computation(
        quantity=Quantity.EPSILON,
        value=losses[n, low],
        claimed=broken_mechanisms.EPSILON,
        upper=compared.left[1],
        proof=Proof(
            method=ProofMethod.ARGUMENT,
            argument=(
                "A substitution moves the utility u of a gap by at most 1, and weights are "
                "exp(ε·u/(2·sensitivity)): each ratio is at most exp(ε/sensitivity)."
            ),
            premises=(compared,),
            parameters={"epsilon": broken_mechanisms.EPSILON, "sensitivity": sensitivity},
        ),
        witness={"n": n, "at_0": low, "at_1/2": n - 1 - low, "moves": [1.0, 0.0]},
    )


def _gap_ratio(n: int, low: int, sensitivity: float) -> float:
    """Return the largest |log-ratio| over gaps that are open on both inputs."""
    crowd = np.concatenate([np.zeros(low), np.full(n - 1 - low, 0.5)])
    densities: list[FloatArray] = []
    for moved in (1.0, 0.0):
        edges, chances = broken_mechanisms.gap_weights(
            np.append(crowd, moved), sensitivity=sensitivity
        )
        points = np.array([0.25, 0.75])
        at = np.searchsorted(edges, points, side="right") - 1
        densities.append(chances[at] / np.diff(edges)[at])
    return float(np.abs(np.log(densities[0] / densities[1])).max())


def channel_loss(channel: FloatArray) -> Computation:
    """Compute the largest log-ratio of a randomizer over all pairs of values."""
    pairs = [FinitePair(*laws) for laws in combinations(map(FiniteLaw.from_mass, channel), 2)]
    argument = "All pairs of inputs and all outputs are compared."
    return exact_outcome(LocalDP(broken_mechanisms.EPSILON), pairs, argument=argument)


def rank_miscoverage(rank: float, n: int) -> Computation:
    """Compute the mean miscoverage of the ``rank``-th smallest of n scores without ties."""
    beyond = 1 - exact(rank) / (n + 1)
    found = Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=float(beyond),
        claimed=broken_mechanisms.ALPHA,
        witness={"n": n, "rank": rank, "scores": "uniform"},
    )
    return found.between(
        at_most("1 − r/(n+1) ≤ α", beyond, decimal(broken_mechanisms.ALPHA)),
        method=ProofMethod.CLOSED_FORM,
        argument="F at the r-th smallest of n scores is Beta(r, n+1−r); with ties it is larger.",
        parameters={"n": n, "rank": rank},
    )


def search_miscoverage(n: int = 500) -> Computation:
    """Bound the mean miscoverage of the bisection that returns its upper end."""
    rank, failure = conformal_rank(n, alpha=broken_mechanisms.ALPHA), broken_mechanisms.FAILURE
    covered = (1 - decimal(failure)) * fmpq(rank, n + 1)
    margin = broken_mechanisms.safe_rank(n) - rank
    found = Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="bound of the mean",
        value=float(1 - covered),
        claimed=1 - SEARCH_COVERAGE,
        witness={"n": n, "rank": broken_mechanisms.safe_rank(n)},
    )
    return found.between(
        at_most("1 − (1−γ)·r/(n+1) ≤ the claim", 1 - covered, 1 - decimal(SEARCH_COVERAGE)),
        at_most("T·Φ(−margin/σ) ≤ γ", partial(_noise_beyond, margin), decimal(failure)),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Unless a noise exceeds the margin, with probability γ at most, as many scores as the "
            "conformal rank r asks for lie at the upper end of every bracket."
        ),
        parameters={"n": n, "alpha": broken_mechanisms.ALPHA, "failure": failure},
    )


def _noise_beyond(margin: int) -> arb:
    """Bound the probability that the noise of one of the rounds exceeds a number of ranks."""
    sigma = exact(broken_mechanisms.noise_scale())
    return broken_mechanisms.ROUNDS * normal_cdf(arb(-margin / sigma))


SEARCH_COVERAGE = 0.88
"""The coverage of the bisection, by ``search_miscoverage``."""


def atom_miscoverage(
    released: Callable[[FloatArray], float], at: float, *, claimed: float, n: int = 500
) -> Computation:
    """Compute the miscoverage where all scores are ``at``: nothing is covered below it.

    ``released`` returns the threshold where no noise takes effect: with probability at least
    1 − 20·Φ(−m/σ), m the distance of the rank from n.
    """
    threshold = released(np.full(n, at))
    margin = n - broken_mechanisms.safe_rank(n)
    sure = max(
        0.0, 1 - broken_mechanisms.ROUNDS * float(ndtr(-margin / broken_mechanisms.noise_scale()))
    )
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=sure if threshold < at else 1 - sure,
        claimed=claimed,
        witness={"n": n, "all_scores": at, "threshold": threshold},
        note=f"All scores are {at:g}; the threshold is {threshold:.8g}.",
    )


def without_noise(
    scores: FloatArray, *, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, float]:
    """Return both ends of the last bracket of a bisection without noise."""
    left, right = broken_mechanisms.bisect(
        scores, np.zeros((broken_mechanisms.ROUNDS, 1)), bounds=bounds
    )
    return float(left[0]), float(right[0])


def predicted_label_miscoverage(score: str, n: int = 500) -> Computation:
    """Compute the miscoverage where the classifier is sure, and wrong half of the time."""
    probabilities = np.tile([0.9, 0.1], (n, 1))
    labels = np.arange(n) % 2
    rng = np.random.default_rng(0)
    threshold = broken_mechanisms.split_conformal(probabilities, labels, rng=rng, score=score)
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        value=0.5 * (threshold < 0.1) + 0.5 * (threshold < 0.9),
        claimed=broken_mechanisms.ALPHA,
        witness={"n": n, "probabilities": [0.9, 0.1], "threshold": threshold},
    )


def memorised_miscoverage(*, held_out: bool) -> Computation:
    """Compute the miscoverage of a nearest-neighbour classifier on labels that are coins.

    On its own rows it is always right, so that the threshold is 1/4; on others in half.
    """
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=0.0 if held_out else 0.5,
        claimed=broken_mechanisms.ALPHA,
        witness={"threshold": 0.75 if held_out else 0.25},
    )
