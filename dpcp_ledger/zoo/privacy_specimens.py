"""Specimens with a planted bug of privacy, each beside its correct twin."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from dpcp_audit.extensions.claims import ZCDP, Coverage, LocalDP, PrivacyGuarantee, PureDP, Relation
from dpcp_audit.extensions.laws import GaussianPair, LaplacePair
from dpcp_audit.extensions.targets import Kind
from dpcp_ledger.zoo import broken_mechanisms, specimen
from dpcp_ledger.zoo.specimen import HERE, Specimen, SpecimenCheck, mutant_of

_PURE, _ZCDP, _LOCAL = PureDP(1.0), ZCDP(broken_mechanisms.RHO), LocalDP(broken_mechanisms.EPSILON)
_SEARCHED = Coverage(at_least=specimen.SEARCH_COVERAGE)
_FEW = {"scores": np.zeros(5), "neighbour_scores": np.array([0.0, 0.0, 0.0, 0.0, 1.0])}
_EVEN = (np.arange(500) + 0.5) / 500
_MANY = {"scores": _EVEN, "neighbour_scores": np.append(_EVEN[1:], 1.0)}
_WEAK_SEARCHES = ((0.5, 50_000), (0.8, 50_000), (0.9, 50_000))
_FACTOR_SEEN = math.sqrt(2 / math.pi)
"""A comparison with noise of a factor f shows ρ/f²·2/π where its two outcomes are as likely."""
_COMPARISONS = (
    "a comparison shows at most 2/π of the noise's ρ/f², which is less than ρ, but at orders "
    "whose events have probabilities below 1e-9; with the law computed it shows"
)
_WEAK_LAPLACE = ((0.5, 20_000), (0.8, 200_000), (0.9, 800_000))
_WEAK_GAUSSIAN = ((0.5, 20_000), (0.8, 200_000), (0.9, 1_600_000))


_UNTRACED = frozenset(
    {
        *("sigma-of-range", "one-draw", "own-bounds", "small-n-fallback", "seed-of-data"),
        *("fixed-seed", "exponq-normaliser", "exponential-gaps", "exponential-without-half"),
    }
)
"""Bugs that are no matter of the noise's scale, and code whose noise is not followed."""


def privacy_specimens() -> list[Specimen]:
    """Return them, each mutant after its twin."""
    return list(map(_traced, [*_searches(), *_additive(), *_exponential(), *_randomizers()]))


def _traced(specimen: Specimen) -> Specimen:
    """Return a specimen with its noise followed, where what it does wrong is its noise."""
    if specimen.name in _UNTRACED or specimen.privacy is None:
        return specimen
    private = {SpecimenCheck.BLACK_BOX} & (specimen.caught_by | specimen.hidden)
    caught = frozenset({SpecimenCheck.TRACED} if private else ())
    return replace(specimen, traced=True, caught_by=specimen.caught_by | caught)


def _search() -> Specimen:
    return Specimen(
        name="search",
        words="noisy bisection with ρ = 0.5 over 20 rounds, at a rank with a margin for the noise",
        target=f"{HERE}.broken_mechanisms:search",
        privacy=_ZCDP,
        coverage=_SEARCHED,
        alpha=broken_mechanisms.ALPHA,
        calls=3000,
        exact=partial(specimen.search_loss, broken_mechanisms.noise_scale()),
    )


def _searches() -> list[Specimen]:
    twin = replace(_search(), coverage=None)
    return [
        _search(),
        *(_weak_search(twin, factor, draws) for factor, draws in _WEAK_SEARCHES),
        *_underpaid_searches(twin),
        *_unprotected_searches(twin),
    ]


def _underpaid_searches(twin: Specimen) -> list[Specimen]:
    """Return searches whose noise pays for less than they release."""
    return [
        mutant_of(
            twin,
            "sigma-of-range",
            "σ from ⌈log2 L⌉ rounds in place of ⌈log2(L/Δ)⌉: 0 on [0, 1]",
            "sigma_of_range",
            exact=partial(specimen.search_loss, 0.0),
        ),
        mutant_of(
            twin,
            "undivided-budget",
            "all of ρ spent in each of 20 rounds",
            "undivided_budget",
            exact=partial(specimen.search_loss, broken_mechanisms.noise_scale(rounds=1)),
        ),
        mutant_of(
            twin,
            "one-draw",
            "one noise draw reused for all rounds",
            "one_draw",
            draws=100_000,
            exact=specimen.one_draw_loss,
        ),
    ]


def _unprotected_searches(twin: Specimen) -> list[Specimen]:
    """Return searches that release what no noise hides, or noise that is known."""
    deterministic = partial(specimen.deterministic_loss, guarantee=_ZCDP)
    return [
        mutant_of(
            twin,
            "own-bounds",
            "bounds of the search taken from the data",
            "own_bounds",
            exact=partial(
                specimen.disjoint_loss,
                _ZCDP,
                "Where all scores are 0.4, so is the threshold; move one to 1, and it is above.",
                scores=[0.4, 0.4],
                neighbour_scores=[0.4, 1.0],
            ),
        ),
        mutant_of(
            twin,
            "small-n-fallback",
            f"the plain quantile where n < {broken_mechanisms.FEWEST}",
            "falls_back",
            exact=partial(deterministic, broken_mechanisms.falls_back, size=1, **_FEW),
        ),
        mutant_of(
            twin,
            "seed-of-data",
            "noise seeded with a hash of the scores",
            "seed_of_data",
            vectorised=False,
            draws=5000,
            exact=partial(deterministic, broken_mechanisms.seed_of_data, **_MANY),
        ),
        mutant_of(
            twin,
            "fixed-seed",
            "noise from a generator with a fixed seed",
            "fixed_seed",
            vectorised=False,
            draws=5000,
            exact=partial(deterministic, broken_mechanisms.fixed_seed, **_MANY),
        ),
    ]


def _weak_search(twin: Specimen, factor: float, draws: int) -> Specimen:
    seen = factor < _FACTOR_SEEN
    return mutant_of(
        twin,
        f"search-noise-{factor:g}",
        f"noise scale of a bisection × {factor:g}",
        options={"noise": factor},
        exact=partial(specimen.search_loss, factor * broken_mechanisms.noise_scale()),
        draws=draws,
        hidden=frozenset() if seen else frozenset({SpecimenCheck.BLACK_BOX}),
        unseen={} if seen else {SpecimenCheck.BLACK_BOX: _COMPARISONS},
    )


def _weak_noise(twin: Specimen, factor: float, draws: int) -> Specimen:
    kind = str(twin.options.get("noise", "laplace"))
    pair = GaussianPair(1 / factor) if kind == "gaussian" else LaplacePair((1 / factor,))
    return mutant_of(
        twin,
        f"{kind}-noise-{factor:g}",
        f"{kind.capitalize()} noise × {factor:g}",
        options={**twin.options, "factor": factor},
        exact=partial(specimen.additive_loss, _guarantee(twin), pair),
        draws=draws,
    )


def _guarantee(specimen: Specimen) -> PrivacyGuarantee:
    assert specimen.privacy is not None  # noqa: S101  (for the type checker)
    return specimen.privacy


def _additive() -> list[Specimen]:
    laplace = Specimen(
        name="laplace-quantile",
        words="the quantile of scores in [0, 1] with Laplace noise of scale 1/ε",
        target=f"{HERE}.broken_mechanisms:noisy_quantile",
        privacy=_PURE,
        alpha=broken_mechanisms.ALPHA,
        exact=partial(specimen.additive_loss, _PURE, LaplacePair((1.0,))),
    )
    return [
        laplace,
        *(_weak_noise(laplace, factor, draws) for factor, draws in _WEAK_LAPLACE),
        mutant_of(
            laplace,
            "sensitivity-over-n",
            "noise for a sensitivity of clip/n, as of a mean (at n = 500)",
            options={"over_n": True},
            exact=partial(specimen.additive_loss, _PURE, LaplacePair((500.0,))),
        ),
        mutant_of(
            laplace,
            "gaussian-for-laplace",
            "Gaussian noise of σ = 1/ε where ε-DP needs Laplace noise",
            options={"noise": "gaussian"},
            exact=partial(specimen.additive_loss, _PURE, GaussianPair(1.0)),
            draws=50_000,
        ),
        *_gaussian_noise(laplace),
        *_histograms(laplace),
    ]


def _gaussian_noise(laplace: Specimen) -> list[Specimen]:
    gaussian = replace(
        laplace,
        name="gaussian-quantile",
        words="the quantile of scores in [0, 1] with Gaussian noise of σ = 1",
        privacy=_ZCDP,
        options={"noise": "gaussian"},
        exact=partial(specimen.additive_loss, _ZCDP, GaussianPair(1.0)),
    )
    return [
        gaussian,
        *(_weak_noise(gaussian, factor, draws) for factor, draws in _WEAK_GAUSSIAN),
        mutant_of(
            gaussian,
            "laplace-for-gaussian",
            "Laplace noise of the standard deviation that ρ-zCDP asks of Gaussian noise",
            options={"noise": "laplace-as-gaussian"},
            exact=partial(specimen.additive_loss, _ZCDP, LaplacePair((math.sqrt(2),))),
            draws=400_000,
        ),
    ]


def _histograms(laplace: Specimen) -> list[Specimen]:
    histogram = replace(
        laplace,
        name="histogram",
        words="the median of a two-bin histogram with Laplace noise of scale 2/ε",
        target=f"{HERE}.broken_mechanisms:histogram",
        alpha=0.5,
        exact=partial(specimen.histogram_loss, Relation.SUBSTITUTION),
    )
    return [
        histogram,
        mutant_of(
            histogram,
            "histogram-scale",
            "histogram noise of scale 1/ε under substitution, which moves two counts",
            options={"neighbours": "add-remove"},
            exact=partial(specimen.histogram_loss, Relation.ADD_REMOVE),
            draws=100_000,
        ),
    ]


def _exponential() -> list[Specimen]:
    exponq = Specimen(
        name="exponq",
        words="ExponQ with the corrected normaliser",
        target=f"{HERE}.broken_mechanisms:exponq",
        privacy=_PURE,
        alpha=broken_mechanisms.ALPHA,
        exact=partial(specimen.exponq_loss, "corrected"),
    )
    gaps = replace(
        exponq,
        name="exponential-gaps",
        words="a gap between scores by the exponential mechanism, exp(ε·u/2)",
        target=f"{HERE}.broken_mechanisms:gaps",
        exact=partial(specimen.gaps_loss, 1.0),
    )
    return [
        exponq,
        mutant_of(
            exponq,
            "exponq-normaliser",
            "ExponQ's published normaliser, at small n·ε",
            options={"normaliser": "published"},
            exact=partial(specimen.exponq_loss, "published"),
        ),
        gaps,
        mutant_of(
            gaps,
            "exponential-without-half",
            "exp(ε·u) in place of exp(ε·u/2)",
            options={"sensitivity": 0.5},
            exact=partial(specimen.gaps_loss, 0.5),
            draws=100_000,
        ),
    ]


def _randomizers() -> list[Specimen]:
    others = broken_mechanisms.LABELS - 1
    even = np.full(others, 1 / others)
    kept = broken_mechanisms.keep_probability()
    response = Specimen(
        name="randomized-response",
        words="k-RR over ten labels",
        target=f"{HERE}.broken_mechanisms:randomized_response",
        kind=Kind.RANDOMIZER,
        privacy=_LOCAL,
        domain=broken_mechanisms.LABELS,
        exact=partial(specimen.channel_loss, broken_mechanisms.channel(kept, even)),
    )
    bits = replace(
        response,
        name="two-bit-response",
        words="both bits of a label below 4 flipped by randomised response at ε/2 each",
        target=f"{HERE}.broken_mechanisms:two_bits",
        domain=4,
        exact=partial(specimen.channel_loss, broken_mechanisms.two_bit_channel(0.5)),
    )
    wrong_k = broken_mechanisms.channel(broken_mechanisms.keep_probability(k=2), even)
    near = broken_mechanisms.channel(kept, broken_mechanisms.nearby_chances())
    return [
        response,
        mutant_of(
            response,
            "wrong-k",
            "k-RR over ten labels with the keep probability of two",
            options={"k": 2},
            exact=partial(specimen.channel_loss, wrong_k),
        ),
        mutant_of(
            response,
            "uneven-alternatives",
            "k-RR whose other labels are drawn near the true one more often",
            "nearby_labels",
            exact=partial(specimen.channel_loss, near),
        ),
        bits,
        mutant_of(
            bits,
            "flip-of-wrong-epsilon",
            "two bits, each flipped with the probability for all of ε",
            options={"share": 1.0},
            exact=partial(specimen.channel_loss, broken_mechanisms.two_bit_channel(1.0)),
        ),
    ]
