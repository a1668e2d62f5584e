"""Specimens with a planted bug of coverage, each beside its correct twin.

The rows carry no signal: features are normal and labels are fair coins, so that a classifier
which has seen a row knows its label, and of any other row it knows nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import ZCDP, Computation, Coverage, Quantity
from dpcp_audit.extensions.targets import Kind
from dpcp_audit.extensions.theorems import MeanBound, TheoremTrials
from dpcp_ledger.zoo import broken_mechanisms, specimen
from dpcp_ledger.zoo.broken_mechanisms import ALPHA, split_conformal
from dpcp_ledger.zoo.specimen import HERE, Specimen, SpecimenCheck, mutant_of

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray, PlainData


ROWS, FEATURES, FRESH = 100, 5, 100


def nearest_neighbour(features: FloatArray, labels: IntArray, queries: FloatArray) -> FloatArray:
    """Return class probabilities of queries, shape (m, 2): 3/4 for the label of the nearest row."""
    apart = (features**2).sum(axis=1) - 2 * queries @ features.T
    ones = 0.25 + 0.5 * labels[apart.argmin(axis=1)]
    return np.stack([1 - ones, ones], axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Coverage of split conformal prediction, from fitting to fresh rows: a trial each.

    Parameters
    ----------
    held_out : bool
        True if the calibration rows are others than those that the classifier was fitted to.
    """

    held_out: bool
    statistic: str = field(default="coverage", init=False)
    allowed_failure: float = field(default=0.0, init=False)
    failure: Quantity = field(default=Quantity.COVERAGE_FAILURE, init=False)

    @property
    def bounds(self) -> dict[str, float]:
        """1−α."""
        return {"1−α": 1 - ALPHA}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {"rows": ROWS, "features": FEATURES, "held_out": self.held_out, "alpha": ALPHA}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Fit, calibrate and try on fresh rows, ``count`` times."""
        coverage = np.array([self._trial(rng) for _ in range(count)])
        return TheoremTrials(coverage, np.zeros(count, dtype=bool))

    def _trial(self, rng: np.random.Generator) -> float:
        features = rng.normal(size=(2 * ROWS + FRESH, FEATURES))
        labels = rng.integers(0, 2, size=len(features))
        fitted, other, fresh = np.split(np.arange(len(features)), [ROWS, 2 * ROWS])
        calibration = other if self.held_out else fitted

        def classify(rows: IntArray) -> FloatArray:
            return nearest_neighbour(features[fitted], labels[fitted], features[rows])

        threshold = split_conformal(classify(calibration), labels[calibration], rng=rng)
        own = classify(fresh)[np.arange(len(fresh)), labels[fresh]]
        return float((1 - own <= threshold).mean())


_SEARCHED = Coverage(at_least=specimen.SEARCH_COVERAGE)
_CONFORMAL = Coverage(at_least=1 - broken_mechanisms.ALPHA)
_POST_PROCESSING = "what is done to a private threshold loses no privacy: the claim is true"


def coverage_specimens() -> list[Specimen]:
    """Return them, each mutant after its twin."""
    return [*_released_ends(), *_conformal(), *_theorems(), *_pipelines()]


def _released_ends() -> list[Specimen]:
    up = Specimen(
        name="search-rounded-up",
        words="the noisy bisection, rounded up to two decimals",
        target=f"{HERE}.broken_mechanisms:rounded_up",
        privacy=ZCDP(broken_mechanisms.RHO),
        coverage=_SEARCHED,
        alpha=broken_mechanisms.ALPHA,
        calls=3000,
        exact=specimen.search_miscoverage,
    )
    long = Specimen(
        name="search-to-2",
        words="the noisy bisection of scores in [0, 2]",
        target=f"{HERE}.broken_mechanisms:searched_to",
        coverage=_SEARCHED,
        bounds=(0.0, 2.0),
        calls=3000,
        exact=specimen.search_miscoverage,
    )
    missed = 1 - specimen.SEARCH_COVERAGE
    unseen = {SpecimenCheck.BLACK_BOX: _POST_PROCESSING}
    return [
        up,
        mutant_of(
            up,
            "rounded",
            "threshold rounded to two decimals",
            "rounded",
            exact=partial(specimen.atom_miscoverage, _rounded, 0.124, claimed=missed),
            unseen=unseen,
        ),
        mutant_of(
            up,
            "lower-end",
            "the bisection's lower end, where there are too few scores, is returned",
            "lower_end",
            exact=partial(specimen.atom_miscoverage, _lower_end, 0.5, claimed=missed),
            unseen=unseen,
        ),
        long,
        mutant_of(
            long,
            "aps-on-unit-interval",
            "APS as printed, whose scores reach 2, searched on [0, 1]",
            options={"upper": 1.0},
            exact=partial(specimen.atom_miscoverage, _up_to_1, 1.5, claimed=missed),
        ),
    ]


def _rounded(scores: FloatArray) -> float:
    return round(specimen.without_noise(scores)[1], 2)


def _lower_end(scores: FloatArray) -> float:
    return specimen.without_noise(scores)[0]


def _up_to_1(scores: FloatArray) -> float:
    return specimen.without_noise(scores, bounds=(0.0, 1.0))[1]


def _conformal() -> list[Specimen]:
    n = 500
    rank = math.ceil((1 - broken_mechanisms.ALPHA) * (n + 1))
    conformal = Specimen(
        name="split-conformal",
        words="the ⌈(1−α)(n+1)⌉-th smallest score",
        target=f"{HERE}.broken_mechanisms:conformal",
        coverage=_CONFORMAL,
        alpha=broken_mechanisms.ALPHA,
        sizes=(n,),
        vectorised=False,
        exact=partial(specimen.rank_miscoverage, rank, n),
    )
    return [
        conformal,
        mutant_of(
            conformal,
            "rank-off-by-one",
            "the score one rank below the conformal one",
            options={"offset": -1},
            exact=partial(specimen.rank_miscoverage, rank - 1, n),
        ),
        mutant_of(
            conformal,
            "no-correction",
            "numpy.quantile at 1−α: no finite-sample correction (at n = 50)",
            "numpy_quantile",
            sizes=(50,),
            exact=partial(specimen.rank_miscoverage, 0.9 * 49 + 1, 50),
        ),
        mutant_of(
            conformal,
            "strict-sets",
            "sets of the labels with a score strictly below the threshold, with tied scores",
            strict=True,
            exact=partial(_strict_miscoverage, 0.5),
        ),
        *_labelled(conformal),
    ]


def _labelled(conformal: Specimen) -> list[Specimen]:
    labelled = replace(
        conformal,
        name="split-conformal-labels",
        words="split conformal classification on 1 − p of the true label",
        target=f"{HERE}.broken_mechanisms:split_conformal",
        kind=Kind.CALIBRATOR,
        exact=partial(specimen.predicted_label_miscoverage, "true-label"),
    )
    return [
        labelled,
        mutant_of(
            labelled,
            "score-of-prediction",
            "calibrated on the score of the likeliest label, not of the true one",
            options={"score": "predicted-label"},
            exact=partial(specimen.predicted_label_miscoverage, "predicted-label"),
        ),
        mutant_of(
            labelled,
            "rounded-calibrator",
            "the conformal threshold rounded to two decimals",
            "rounded_down",
            exact=partial(_rounded_miscoverage, np.full(conformal.sizes[0], 0.124)),
        ),
    ]


def _strict_miscoverage(at: float) -> Computation:
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=1.0,
        claimed=broken_mechanisms.ALPHA,
        witness={"all_scores": at},
    )


def _rounded_miscoverage(scores: FloatArray) -> Computation:
    rng = np.random.default_rng(0)
    probabilities = np.stack([1 - scores, scores], axis=1)
    labels = np.zeros(scores.size, dtype=np.int64)
    threshold = broken_mechanisms.rounded_down(probabilities, labels, rng=rng)
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=float((scores > threshold).mean()),
        claimed=broken_mechanisms.ALPHA,
        witness={"all_scores": float(scores[0]), "threshold": threshold},
    )


def _theorems() -> list[Specimen]:
    sound, printed = (broken_mechanisms.ldpcp_theorem(form) for form in ("corrected", "printed"))
    limit = 1 - broken_mechanisms.ALPHA - sound.mechanism.window_width
    twin = Specimen(
        name="ldpcp-scores",
        words="LDP-CP-S, a block's sum divided by the users of the block",
        target=f"{HERE}.broken_mechanisms:ldpcp_scores",
        coverage=Coverage(at_least=limit, confidence=1 - broken_mechanisms.LDP_FAILURE),
        sizes=(broken_mechanisms.LDP_USERS,),
        calls=1000,
        theorem=sound.check(),
        exact=sound.exact,
    )
    return [
        twin,
        mutant_of(
            twin,
            "printed-debiasing",
            "LDP-CP-S, a block's sum divided by n as printed",
            options={"debiasing": "printed"},
            theorem=printed.check(),
            exact=printed.exact,
            unseen={
                SpecimenCheck.COVERAGE: "every set is the whole label set, so it covers too much: "
                "the lower bound that is claimed holds, the upper one of the theorem does not"
            },
        ),
    ]


def _pipelines() -> list[Specimen]:
    twin = Specimen(
        name="held-out-calibration",
        words="a nearest-neighbour classifier, calibrated on rows that it has not seen",
        target=f"{HERE}.broken_mechanisms:split_conformal",
        kind=Kind.CALIBRATOR,
        vectorised=False,
        coverage=_CONFORMAL,
        calls=5000,
        pipeline=_pipeline(held_out=True),
        exact=partial(specimen.memorised_miscoverage, held_out=True),
    )
    return [
        twin,
        mutant_of(
            twin,
            "calibrated-on-training-rows",
            "the classifier is calibrated on the rows that it was fitted to",
            pipeline=_pipeline(held_out=False),
            exact=partial(specimen.memorised_miscoverage, held_out=False),
            unseen={
                SpecimenCheck.COVERAGE: "the calibrator is right: its scores are not those of "
                "fresh rows, and an audit that hands it scores cannot know"
            },
        ),
    ]


def _pipeline(*, held_out: bool) -> MeanBound:
    theorem = Pipeline(held_out=held_out)
    return MeanBound(theorem=theorem, at_least=1 - broken_mechanisms.ALPHA, n_trials=16_000)
