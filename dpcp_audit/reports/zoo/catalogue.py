"""The specimens of the zoo: every mutant beside its correct twin."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.computed import Computation
from dpcp_audit.audits.targets import Kind
from dpcp_audit.mechanisms.guarantees import ZCDP, Coverage, LocalDP, PureDP
from dpcp_audit.mechanisms.laws import GaussianPair, LaplacePair
from dpcp_audit.mechanisms.neighbours import Relation
from dpcp_audit.reports.zoo import calibrators, quantiles, randomizers, truths
from dpcp_audit.reports.zoo.pipelines import Pipeline
from dpcp_audit.reports.zoo.specimen import Column, Specimen
from dpcp_audit.theorems.ldpcp_exact import exact_failure
from dpcp_audit.theorems.theorem import MeanBound

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.mechanisms.guarantees import PrivacyGuarantee

_HERE = "dpcp_audit.reports.zoo"
_PURE, _ZCDP, _LOCAL = PureDP(1.0), ZCDP(quantiles.RHO), LocalDP(randomizers.EPSILON)
_SEARCHED = Coverage(at_least=truths.SEARCH_COVERAGE)
_CONFORMAL = Coverage(at_least=1 - quantiles.ALPHA)
_PRIVACY = frozenset({Column.BLACK_BOX, Column.EXACT})
_COVERAGE = frozenset({Column.COVERAGE, Column.EXACT})
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
_POST_PROCESSING = "what is done to a private threshold loses no privacy: the claim is true"


def specimens() -> tuple[Specimen, ...]:
    """Return all specimens, each mutant after its twin."""
    return (
        *_searches(),
        *_released_ends(),
        *_additive(),
        *_exponential(),
        *_randomizers(),
        *_conformal(),
        *_theorems(),
        *_pipelines(),
    )


def mutants() -> tuple[Specimen, ...]:
    """Return the broken ones."""
    return tuple(specimen for specimen in specimens() if specimen.twin)


def twins() -> tuple[Specimen, ...]:
    """Return the correct ones."""
    return tuple(specimen for specimen in specimens() if not specimen.twin)


def _mutant(twin: Specimen, name: str, words: str, function: str = "", **changes: Any) -> Specimen:
    """Return a broken twin: the same claims, other code."""
    module = twin.target.partition(":")[0]
    target = f"{module}:{function}" if function else twin.target
    bare: dict[str, Any] = {"exact": None, "probe": False}
    return replace(
        twin,
        **(bare | {"name": name, "words": words, "twin": twin.name, "target": target} | changes),
    )


def _search() -> Specimen:
    return Specimen(
        name="search",
        words="noisy bisection with ρ = 0.5 over 20 rounds, at a rank with a margin for the noise",
        target=f"{_HERE}.quantiles:search",
        privacy=_ZCDP,
        coverage=_SEARCHED,
        alpha=quantiles.ALPHA,
        calls=3000,
        exact=partial(truths.search_loss, quantiles.noise_scale()),
        probe=True,
    )


def _searches() -> list[Specimen]:
    twin = _search()
    private = {"coverage": None, "caught_by": _PRIVACY}
    deterministic = partial(truths.deterministic_loss, guarantee=_ZCDP)
    return [
        twin,
        *(_weak_search(twin, factor, draws) for factor, draws in _WEAK_SEARCHES),
        _mutant(
            twin,
            "sigma-of-range",
            "σ from ⌈log2 L⌉ rounds in place of ⌈log2(L/Δ)⌉: 0 on [0, 1]",
            "sigma_of_range",
            exact=partial(truths.search_loss, 0.0),
            **private,
        ),
        _mutant(
            twin,
            "undivided-budget",
            "all of ρ spent in each of 20 rounds",
            "undivided_budget",
            exact=partial(truths.search_loss, quantiles.noise_scale(rounds=1)),
            **private,
        ),
        _mutant(
            twin,
            "one-draw",
            "one noise draw reused for all rounds",
            "one_draw",
            draws=100_000,
            exact=truths.one_draw_loss,
            **private,
        ),
        _mutant(
            twin,
            "own-bounds",
            "bounds of the search taken from the data",
            "own_bounds",
            exact=partial(
                truths.disjoint_loss,
                _ZCDP,
                "Where all scores are 0.4, so is the threshold; move one to 1, and it is above.",
                scores=[0.4, 0.4],
                neighbour_scores=[0.4, 1.0],
            ),
            **private,
        ),
        _mutant(
            twin,
            "small-n-fallback",
            f"the plain quantile where n < {quantiles.FEWEST}",
            "falls_back",
            exact=partial(deterministic, quantiles.falls_back, size=1, **_FEW),
            **private,
        ),
        _mutant(
            twin,
            "seed-of-data",
            "noise seeded with a hash of the scores",
            "seed_of_data",
            vectorised=False,
            draws=5000,
            exact=partial(deterministic, quantiles.seed_of_data, **_MANY),
            **private,
        ),
        _mutant(
            twin,
            "fixed-seed",
            "noise from a generator with a fixed seed",
            "fixed_seed",
            vectorised=False,
            privacy=None,
            probe=True,
            exact=partial(deterministic, quantiles.fixed_seed, **_MANY),
            **(private | {"caught_by": frozenset({Column.PROBE, Column.EXACT})}),
        ),
    ]


def _weak_search(twin: Specimen, factor: float, draws: int) -> Specimen:
    seen = factor < _FACTOR_SEEN
    return _mutant(
        twin,
        f"search-noise-{factor:g}",
        f"noise scale of a bisection × {factor:g}",
        options={"noise": factor},
        exact=partial(truths.search_loss, factor * quantiles.noise_scale()),
        draws=draws,
        coverage=None,
        caught_by=_PRIVACY if seen else frozenset({Column.EXACT}),
        hidden=frozenset() if seen else frozenset({Column.BLACK_BOX}),
        unseen={} if seen else {Column.BLACK_BOX: _COMPARISONS},
    )


def _weak_noise(twin: Specimen, factor: float, draws: int) -> Specimen:
    kind = str(twin.options.get("noise", "laplace"))
    pair = GaussianPair(1 / factor) if kind == "gaussian" else LaplacePair((1 / factor,))
    return _mutant(
        twin,
        f"{kind}-noise-{factor:g}",
        f"{kind.capitalize()} noise × {factor:g}",
        options={**twin.options, "factor": factor},
        exact=partial(truths.additive_loss, _guarantee(twin), pair),
        draws=draws,
        caught_by=_PRIVACY,
    )


def _guarantee(specimen: Specimen) -> PrivacyGuarantee:
    assert specimen.privacy is not None  # noqa: S101  (for the type checker)
    return specimen.privacy


def _released_ends() -> list[Specimen]:
    up = Specimen(
        name="search-rounded-up",
        words="the noisy bisection, rounded up to two decimals",
        target=f"{_HERE}.quantiles:rounded_up",
        privacy=_ZCDP,
        coverage=_SEARCHED,
        alpha=quantiles.ALPHA,
        calls=3000,
        exact=truths.search_miscoverage,
    )
    long = Specimen(
        name="search-to-2",
        words="the noisy bisection of scores in [0, 2]",
        target=f"{_HERE}.quantiles:searched_to",
        coverage=_SEARCHED,
        bounds=(0.0, 2.0),
        calls=3000,
        exact=truths.search_miscoverage,
    )
    missed = 1 - truths.SEARCH_COVERAGE
    unseen = {Column.BLACK_BOX: _POST_PROCESSING}
    return [
        up,
        _mutant(
            up,
            "rounded",
            "threshold rounded to two decimals",
            "rounded",
            exact=partial(truths.atom_miscoverage, _rounded, 0.124, claimed=missed),
            caught_by=_COVERAGE,
            unseen=unseen,
        ),
        _mutant(
            up,
            "lower-end",
            "the bisection's lower end, where there are too few scores, is returned",
            "lower_end",
            exact=partial(truths.atom_miscoverage, _lower_end, 0.5, claimed=missed),
            caught_by=_COVERAGE,
            unseen=unseen,
        ),
        long,
        _mutant(
            long,
            "aps-on-unit-interval",
            "APS as printed, whose scores reach 2, searched on [0, 1]",
            options={"upper": 1.0},
            exact=partial(truths.atom_miscoverage, _up_to_1, 1.5, claimed=missed),
            caught_by=_COVERAGE,
        ),
    ]


def _rounded(scores: FloatArray) -> float:
    return round(truths.without_noise(scores)[1], 2)


def _lower_end(scores: FloatArray) -> float:
    return truths.without_noise(scores)[0]


def _up_to_1(scores: FloatArray) -> float:
    return truths.without_noise(scores, bounds=(0.0, 1.0))[1]


def _additive() -> list[Specimen]:
    laplace = Specimen(
        name="laplace-quantile",
        words="the quantile of scores in [0, 1] with Laplace noise of scale 1/ε",
        target=f"{_HERE}.quantiles:noisy_quantile",
        privacy=_PURE,
        alpha=quantiles.ALPHA,
        exact=partial(truths.additive_loss, _PURE, LaplacePair((1.0,))),
    )
    gaussian = replace(
        laplace,
        name="gaussian-quantile",
        words="the quantile of scores in [0, 1] with Gaussian noise of σ = 1",
        privacy=_ZCDP,
        options={"noise": "gaussian"},
        exact=partial(truths.additive_loss, _ZCDP, GaussianPair(1.0)),
    )
    histogram = replace(
        laplace,
        name="histogram",
        words="the median of a two-bin histogram with Laplace noise of scale 2/ε",
        target=f"{_HERE}.quantiles:histogram",
        alpha=0.5,
        exact=partial(truths.histogram_loss, Relation.SUBSTITUTION),
    )
    deviation = LaplacePair((math.sqrt(2),))
    return [
        laplace,
        *(_weak_noise(laplace, factor, draws) for factor, draws in _WEAK_LAPLACE),
        _mutant(
            laplace,
            "sensitivity-over-n",
            "noise for a sensitivity of clip/n, as of a mean (at n = 500)",
            options={"over_n": True},
            exact=partial(truths.additive_loss, _PURE, LaplacePair((500.0,))),
            caught_by=_PRIVACY,
        ),
        _mutant(
            laplace,
            "gaussian-for-laplace",
            "Gaussian noise of σ = 1/ε where ε-DP needs Laplace noise",
            options={"noise": "gaussian"},
            exact=partial(truths.additive_loss, _PURE, GaussianPair(1.0)),
            caught_by=_PRIVACY,
            draws=50_000,
        ),
        gaussian,
        *(_weak_noise(gaussian, factor, draws) for factor, draws in _WEAK_GAUSSIAN),
        _mutant(
            gaussian,
            "laplace-for-gaussian",
            "Laplace noise of the standard deviation that ρ-zCDP asks of Gaussian noise",
            options={"noise": "laplace-as-gaussian"},
            exact=partial(truths.additive_loss, _ZCDP, deviation),
            caught_by=_PRIVACY,
            draws=400_000,
        ),
        histogram,
        _mutant(
            histogram,
            "histogram-scale",
            "histogram noise of scale 1/ε under substitution, which moves two counts",
            options={"neighbours": "add-remove"},
            exact=partial(truths.histogram_loss, Relation.ADD_REMOVE),
            caught_by=_PRIVACY,
            draws=100_000,
        ),
    ]


def _exponential() -> list[Specimen]:
    exponq = Specimen(
        name="exponq",
        words="ExponQ with the corrected normaliser",
        target=f"{_HERE}.quantiles:exponq",
        privacy=_PURE,
        alpha=quantiles.ALPHA,
        exact=partial(truths.exponq_loss, "corrected"),
    )
    gaps = replace(
        exponq,
        name="exponential-gaps",
        words="a gap between scores by the exponential mechanism, exp(ε·u/2)",
        target=f"{_HERE}.quantiles:gaps",
        exact=partial(truths.gaps_loss, 1.0),
    )
    return [
        exponq,
        _mutant(
            exponq,
            "exponq-normaliser",
            "ExponQ's published normaliser, at small n·ε",
            options={"normaliser": "published"},
            exact=partial(truths.exponq_loss, "published"),
            caught_by=_PRIVACY,
        ),
        gaps,
        _mutant(
            gaps,
            "exponential-without-half",
            "exp(ε·u) in place of exp(ε·u/2)",
            options={"sensitivity": 0.5},
            exact=partial(truths.gaps_loss, 0.5),
            caught_by=_PRIVACY,
            draws=100_000,
        ),
    ]


def _randomizers() -> list[Specimen]:
    others = randomizers.LABELS - 1
    even = np.full(others, 1 / others)
    kept = randomizers.keep_probability()
    response = Specimen(
        name="randomized-response",
        words="k-RR over ten labels",
        target=f"{_HERE}.randomizers:randomized_response",
        kind=Kind.RANDOMIZER,
        privacy=_LOCAL,
        domain=randomizers.LABELS,
        exact=partial(truths.channel_loss, randomizers.channel(kept, even)),
    )
    bits = replace(
        response,
        name="two-bit-response",
        words="both bits of a label below 4 flipped by randomised response at ε/2 each",
        target=f"{_HERE}.randomizers:two_bits",
        domain=4,
        exact=partial(truths.channel_loss, randomizers.two_bit_channel(0.5)),
    )
    wrong_k = randomizers.channel(randomizers.keep_probability(k=2), even)
    near = randomizers.channel(kept, randomizers.nearby_chances())
    return [
        response,
        _mutant(
            response,
            "wrong-k",
            "k-RR over ten labels with the keep probability of two",
            options={"k": 2},
            exact=partial(truths.channel_loss, wrong_k),
            caught_by=_PRIVACY,
        ),
        _mutant(
            response,
            "uneven-alternatives",
            "k-RR whose other labels are drawn near the true one more often",
            "nearby_labels",
            exact=partial(truths.channel_loss, near),
            caught_by=_PRIVACY,
        ),
        bits,
        _mutant(
            bits,
            "flip-of-wrong-epsilon",
            "two bits, each flipped with the probability for all of ε",
            options={"share": 1.0},
            exact=partial(truths.channel_loss, randomizers.two_bit_channel(1.0)),
            caught_by=_PRIVACY,
        ),
    ]


def _conformal() -> list[Specimen]:
    n = 500
    rank = math.ceil((1 - quantiles.ALPHA) * (n + 1))
    conformal = Specimen(
        name="split-conformal",
        words="the ⌈(1−α)(n+1)⌉-th smallest score",
        target=f"{_HERE}.quantiles:conformal",
        coverage=_CONFORMAL,
        alpha=quantiles.ALPHA,
        sizes=(n,),
        vectorised=False,
        exact=partial(truths.rank_miscoverage, rank, n),
    )
    labelled = replace(
        conformal,
        name="split-conformal-labels",
        words="split conformal classification on 1 − p of the true label",
        target=f"{_HERE}.calibrators:split_conformal",
        kind=Kind.CALIBRATOR,
        exact=partial(truths.predicted_label_miscoverage, "true-label"),
    )
    released = np.full(n, 0.124)
    return [
        conformal,
        _mutant(
            conformal,
            "rank-off-by-one",
            "the score one rank below the conformal one",
            options={"offset": -1},
            exact=partial(truths.rank_miscoverage, rank - 1, n),
            caught_by=_COVERAGE,
        ),
        _mutant(
            conformal,
            "no-correction",
            "numpy.quantile at 1−α: no finite-sample correction (at n = 50)",
            "numpy_quantile",
            sizes=(50,),
            exact=partial(truths.rank_miscoverage, 0.9 * 49 + 1, 50),
            caught_by=_COVERAGE,
        ),
        _mutant(
            conformal,
            "strict-sets",
            "sets of the labels with a score strictly below the threshold, with tied scores",
            strict=True,
            exact=partial(_strict_miscoverage, 0.5),
            caught_by=_COVERAGE,
        ),
        labelled,
        _mutant(
            labelled,
            "score-of-prediction",
            "calibrated on the score of the likeliest label, not of the true one",
            options={"score": "predicted-label"},
            exact=partial(truths.predicted_label_miscoverage, "predicted-label"),
            caught_by=_COVERAGE,
        ),
        _mutant(
            labelled,
            "rounded-calibrator",
            "the conformal threshold rounded to two decimals",
            "rounded_down",
            exact=partial(_rounded_miscoverage, released),
            caught_by=_COVERAGE,
        ),
    ]


def _strict_miscoverage(at: float) -> Computation:
    return Computation(
        quantity="mean miscoverage", value=1.0, claimed=quantiles.ALPHA, witness={"all_scores": at}
    )


def _rounded_miscoverage(scores: FloatArray) -> Computation:
    rng = np.random.default_rng(0)
    probabilities = np.stack([1 - scores, scores], axis=1)
    labels = np.zeros(scores.size, dtype=np.int64)
    threshold = calibrators.rounded_down(probabilities, labels, rng=rng)
    return Computation(
        quantity="mean miscoverage",
        value=float((scores > threshold).mean()),
        claimed=calibrators.ALPHA,
        witness={"all_scores": float(scores[0]), "threshold": threshold},
    )


def _theorems() -> list[Specimen]:
    sound, printed = (quantiles.ldpcp_theorem(form) for form in ("corrected", "printed"))
    limit = 1 - quantiles.ALPHA - sound.mechanism.window_width
    twin = Specimen(
        name="ldpcp-scores",
        words="LDP-CP-S, a block's sum divided by the users of the block",
        target=f"{_HERE}.quantiles:ldpcp_scores",
        coverage=Coverage(at_least=limit, confidence=1 - quantiles.LDP_FAILURE),
        sizes=(quantiles.LDP_USERS,),
        calls=500,
        theorem=sound.check(),
        exact=partial(exact_failure, sound),
    )
    return [
        twin,
        _mutant(
            twin,
            "printed-debiasing",
            "LDP-CP-S, a block's sum divided by n as printed",
            options={"debiasing": "printed"},
            theorem=printed.check(),
            exact=partial(exact_failure, printed),
            caught_by=frozenset({Column.THEOREM, Column.EXACT}),
            unseen={
                Column.COVERAGE: "every set is the whole label set, so it covers too much: the "
                "lower bound that is claimed holds, the upper one of the theorem does not"
            },
        ),
    ]


def _pipelines() -> list[Specimen]:
    twin = Specimen(
        name="held-out-calibration",
        words="a nearest-neighbour classifier, calibrated on rows that it has not seen",
        target=f"{_HERE}.calibrators:split_conformal",
        kind=Kind.CALIBRATOR,
        vectorised=False,
        coverage=_CONFORMAL,
        calls=5000,
        pipeline=_pipeline(held_out=True),
        exact=partial(truths.memorised_miscoverage, held_out=True),
    )
    return [
        twin,
        _mutant(
            twin,
            "calibrated-on-training-rows",
            "the classifier is calibrated on the rows that it was fitted to",
            pipeline=_pipeline(held_out=False),
            exact=partial(truths.memorised_miscoverage, held_out=False),
            caught_by=frozenset({Column.PIPELINE, Column.EXACT}),
            unseen={
                Column.COVERAGE: "the calibrator is right: its scores are not those of fresh rows, "
                "and an audit that hands it scores cannot know"
            },
        ),
    ]


def _pipeline(*, held_out: bool) -> MeanBound:
    theorem = Pipeline(held_out=held_out)
    return MeanBound(theorem=theorem, at_least=1 - calibrators.ALPHA, n_trials=500)
