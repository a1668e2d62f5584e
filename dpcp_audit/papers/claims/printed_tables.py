"""Rows for what P-COQS's published tables show, held against their own computation."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.computed import Computation, Computed
from dpcp_audit.mechanisms.conformal import SplitConformal, conformal_rank
from dpcp_audit.mechanisms.counting import FixedScores
from dpcp_audit.mechanisms.exponq.exponential_quantile import ExponQ, Normaliser, bin_index
from dpcp_audit.mechanisms.histlap import HistLap
from dpcp_audit.mechanisms.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs import published_variants
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.neighbours import Relation
from dpcp_audit.papers.claims.headings import Heading
from dpcp_audit.papers.reproduce import pcoqs_experiments
from dpcp_audit.papers.reproduce.simulation import Model, ModelKind, Scored, sample
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Standing, Verdict
from dpcp_audit.rows import Row, claims_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import FloatArray
    from dpcp_audit.results import PlainData

_claim = claims_of("P-COQS", subject=Heading.PRINTED_TABLES, standing=Standing.ERRATUM)
_N, _N_CAL, _ALPHA = 10_000, 2_400, 0.1
_TRIALS = 60
_PLAIN = Model(kind=ModelKind.NAIVE_BAYES)


def rows() -> list[Row]:
    """Return the rows on the tables; no model is private, so nothing beyond the install is used."""
    erratum, practice = Standing.ERRATUM, Standing.PRACTICE
    cases: tuple[tuple[str, str, str, Standing, PlainData, Callable[[], Computation]], ...] = (
        (
            "pcoqs.table-4[budget=stated]",
            "Table 4",
            (
                "Table 4 runs P-COQS at the budget of Tables 1 and 12, whose data and draws it "
                "shares: its P-COQS numbers are theirs at ε_CP = 1, as ExponQ's are."
            ),
            erratum,
            {"epsilon": 1.0, "budget": "stated"},
            _budget_of_table_4,
        ),
        (
            "pcoqs.table-10[model=naive-bayes]",
            "Table 10",
            "Table 10 gives the results of naive Bayes models, Table 4 those of random forests.",
            erratum,
            {"n": _N_CAL, "model": "naive-bayes"},
            _repeats_of_table_4,
        ),
        (
            "pcoqs.table-14[resolution=varied]",
            "Appendix D, Table 14",
            (
                "P-COQS's results are the same at Δ = 1e-20 and at Δ = 1e-5: no threshold, rounded "
                "to two decimals, changes."
            ),
            erratum,
            {"n": _N_CAL, "epsilon": 1.0, "resolution": [1e-20, 1e-5]},
            _resolution_changes,
        ),
        (
            "pcoqs.table-15[unit=ranks]",
            "Appendix E, Table 15",
            "Table 15 gives rank errors: P-COQS's is 0.0040 ranks.",
            erratum,
            {"n": _N_CAL, "epsilon": 1.0, "unit": "ranks"},
            _rank_error,
        ),
        (
            "pcoqs.table-15[floor=noise]",
            "Appendix E, Table 15",
            (
                "P-COQS's error of 0.0026 at ε_CP = 10 is that of its noise: without noise the "
                "threshold's error is 0."
            ),
            practice,
            {"n": _N_CAL, "floor": "noise"},
            _rounding_floor,
        ),
        (
            "pcoqs.tables[spread=variance]",
            "Captions of Tables 1 to 14",
            "The number behind a mean is the variance of the metric over the runs.",
            erratum,
            {"n": _N_CAL, "epsilon": 0.1, "spread": "variance"},
            _spread,
        ),
        (
            "pcoqs.tables[privacy=equal]",
            "Section 5",
            ("At the same ε_CP the compared releases have the same privacy."),
            Standing.READING,
            {"n": _N_CAL, "epsilon": 1.0, "relation": "substitution", "privacy": "equal"},
            _privacy_gap,
        ),
        (
            "histlap.tables[bias=none]",
            "Tables 1, 5, 7 and 12, HistLap",
            "Setting negative counts to 0 leaves HistLap's coverage where it was.",
            practice,
            {"n": _N_CAL, "epsilon": 0.1, "bias": "none"},
            _clipping_bias,
        ),
    )
    return [
        Row(
            claim=_claim(
                id_, section, Verdict.REFUTED, statement, standing=standing, parameters=fixed
            ),
            check=Computed(compute),
        )
        for id_, section, statement, standing, fixed, compute in cases
    ]


def private_rows() -> list[Row]:
    """Return the rows on private models; their checks need diffprivlib."""
    return [
        Row(
            claim=_claim(
                "pcoqs.table-1[under-coverage=privacy]",
                "Table 1",
                Verdict.REFUTED,
                "Table 1's coverage below 1−α is the price of private calibration: without noise, "
                "and with the same rounding, coverage is as it is without rounding.",
                standing=Standing.PRACTICE,
                parameters={
                    "n": _N_CAL,
                    "alpha": _ALPHA,
                    "model": str(ModelKind.PRIVATE_FOREST),
                    "under_coverage": "privacy",
                },
            ),
            check=Computed(partial(_rounding_loss, trials=12)),
        ),
        Row(
            claim=_claim(
                "pcoqs.table-7[model-noise=fresh]",
                "Table 7",
                Verdict.REFUTED,
                "Table 7's spreads are those over the randomness of the whole procedure, the "
                "private model's included.",
                standing=Standing.PRACTICE,
                parameters={
                    "n": _N_CAL,
                    "alpha": _ALPHA,
                    "model": str(ModelKind.PRIVATE_NAIVE_BAYES),
                    "model_noise": "fresh",
                },
            ),
            check=Computed(partial(_model_noise, trials=_TRIALS)),
        ),
    ]


def _printed(table: int, row: str) -> list[str]:
    return str(pcoqs_experiments.published()[str(table)]["rows"][row]).split()


def _budget_of_table_4() -> Computation:
    shared, gaps = 0, {}
    for which, other in (("plain", 12), ("private", 1)):
        nine = _printed(other, "1.0")
        shared += sum(
            a == b for a, b in zip(_printed(4, f"{which} exponq"), nine[0::3], strict=False)
        )
        gaps[which] = max(
            abs(_value(a) - _value(b))
            for a, b in zip(_printed(4, f"{which} p-coqs"), nine[2::3], strict=False)
        )
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="the largest, of P-COQS's numbers in Table 4 and in Tables 1 and 12",
        value=max(gaps.values()),
        claimed=0.0,
        witness={"tables": [4, 1, 12], "epsilon": 1.0},
        note=(
            f"{shared} of 6 of ExponQ's numbers agree with their spreads, so data and draws are "
            "the same and P-COQS alone ran with another budget: ρ = ε² in place of ε²/2 gives "
            "Table 4's numbers ('dpcp-audit reproduce pcoqs-table-4')."
        ),
    )


def _repeats_of_table_4() -> Computation:
    labels = list(pcoqs_experiments.published()["4"]["rows"])
    same = sum(
        a == b
        for label in labels
        for a, b in zip(_printed(4, label), _printed(10, label), strict=True)
    )
    accuracy = float(np.mean([scored.accuracy for scored, _ in _trials()]))
    return Computation(
        quantity=Quantity.COUNT,
        detail="numbers of Table 10 that are Table 4's, spreads included",
        value=float(same),
        claimed=0.0,
        witness={"tables": [4, 10], "numbers": 4 * len(labels)},
        note=(
            f"All numbers but the times are compared. Naive Bayes reaches an accuracy of "
            f"{accuracy:.4f} on the published draws; Table 10 prints {_printed(10, labels[0])[3]}."
        ),
    )


def _resolution_changes() -> Computation:
    changed = 0
    for trial, (scored, normals) in enumerate(_trials()):
        rng = np.random.default_rng(trial)
        noise = np.concatenate([normals, rng.standard_normal(40)])
        scores = published_variants.rounded(scored.calibration)
        fine, coarse = (_released(scores, resolution, noise) for resolution in (1e-20, 1e-5))
        changed += fine != coarse
    return Computation(
        quantity=Quantity.PROBABILITY,
        detail="share of runs in which the rounded threshold changes",
        value=changed / _TRIALS,
        claimed=0.0,
        witness={"trials": _TRIALS, "epsilon": 1.0, "resolutions": [1e-20, 1e-5]},
        note=(
            "N is 67 at Δ = 1e-20 and 17 at 1e-5, so the noise's standard deviation differs by a "
            "factor of 2. Table 14 prints one and the same row for both because its Δ went to the "
            "search's lower bound ('dpcp-audit reproduce pcoqs-table-14')."
        ),
    )


def _released(scores: FloatArray, resolution: float, noise: FloatArray) -> float:
    mechanism = PCOQS(alpha=_ALPHA, rho=0.5, resolution=resolution)
    counter = FixedScores(scores, mechanism.rank(scores.size))
    found = mechanism.search(counter, noise[: mechanism.rounds, None])
    return float(np.round(found[0], published_variants.THRESHOLD_DECIMALS))


def _rank_error() -> Computation:
    ranks, distances = [], []
    rank = conformal_rank(_N_CAL, alpha=_ALPHA)
    for scored, normals in _trials():
        scores = published_variants.rounded(scored.calibration)
        threshold = published_variants.pcoqs_threshold(scores, alpha=_ALPHA, rho=0.5, noise=normals)
        ranks.append(abs(int(np.searchsorted(scores, threshold, side="right")) - rank))
        distances.append(
            abs(threshold - published_variants.standard_threshold(scores, alpha=_ALPHA))
        )
    claimed = _value(_printed(15, "1.0 plain")[2])
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="mean |#{s ≤ q} − r| over the published draws, in ranks",
        value=float(np.mean(ranks)),
        claimed=claimed,
        witness={"trials": _TRIALS, "epsilon": 1.0, "n": _N_CAL},
        note=(
            f"The mean distance of q to the standard quantile, in units of the score, is "
            f"{np.mean(distances):.4f}; that is what the table prints ({claimed})."
        ),
    )


def _rounding_floor() -> Computation:
    errors = []
    for scored, _ in _trials():
        standard = published_variants.standard_threshold(
            published_variants.rounded(scored.calibration), alpha=_ALPHA
        )
        errors.append(abs(round(standard, published_variants.THRESHOLD_DECIMALS) - standard))
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="mean error of the noiseless threshold, rounded to two decimals, in score units",
        value=float(np.mean(errors)),
        claimed=0.0,
        witness={"trials": _TRIALS, "epsilon": "infinite"},
        note=f"Table 15 prints {_printed(15, '10.0 plain')[2]} at ε_CP = 10.",
    )


def _spread() -> Computation:
    coverages = []
    for scored, normals in _trials():
        scores = published_variants.rounded(scored.calibration)
        threshold = published_variants.pcoqs_threshold(
            scores, alpha=_ALPHA, rho=0.005, noise=normals
        )
        coverages.append(scored.measure(np.array([threshold]), empty_counts=True)[0, 0])
    printed = _printed(5, "0.1")[2].partition("±")[2]
    variance = float(np.var(coverages, ddof=1))
    return Computation(
        quantity=Quantity.RATIO,
        detail="printed spread of P-COQS's coverage at ε_CP = 0.1, over the measured variance",
        value=float(printed) / variance,
        claimed=1.0,
        witness={"trials": _TRIALS, "epsilon": 0.1, "table": 5},
        note=f"Measured: a standard deviation of {variance**0.5:.4f}; Table 5 prints {printed}.",
    )


def _privacy_gap() -> Computation:
    epsilon = 1.0
    search = PCOQS(alpha=_ALPHA, rho=epsilon**2 / 2)
    histogram = HistLap(alpha=_ALPHA, epsilon=epsilon, noise=Relation.ADD_REMOVE)
    exponential = ExponQ(
        alpha=_ALPHA,
        epsilon=epsilon,
        n_candidates=10_000,
        gamma=0.01,
        normaliser=Normaliser.PUBLISHED,
    )
    worst = exponential.worst_log_ratio(_N_CAL)
    pairs = {
        "P-COQS": FinitePair(*search.laws(*search.worst_pair(_N_CAL))),
        "HistLap": histogram.histogram_pair(Relation.SUBSTITUTION),
        "ExponQ": FinitePair(*exponential.laws(worst.scores, worst.neighbour_scores)),
    }
    losses = {
        name: max(pair.delta_at(epsilon), pair.reversed().delta_at(epsilon))
        for name, pair in pairs.items()
    }
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="range of the exact δ(ε = 1) over the three releases",
        value=max(losses.values()) - min(losses.values()),
        claimed=0.0,
        witness={"epsilon": epsilon, "n": _N_CAL, "delta": losses},
        note=(
            "δ(1) = "
            + ", ".join(f"{value:.3g} ({name})" for name, value in losses.items())
            + ": P-COQS at ρ = ε²/2 on its worst known pair at this ε, HistLap's histogram with "
            "noise of scale 1/ε, ExponQ with the published normaliser on its worst known pair."
        ),
    )


def _clipping_bias() -> Computation:
    epsilon, scale = 0.1, 10.0
    mechanism = HistLap(alpha=_ALPHA, epsilon=epsilon, noise=Relation.ADD_REMOVE)
    scores = np.concatenate([scored.calibration for scored, _ in _trials()])
    counts = np.bincount(bin_index(scores, mechanism.edges), minlength=mechanism.n_bins) / _TRIALS
    clipped = counts + scale / 2 * np.exp(-counts / scale)
    coverages = [
        float(np.mean(scores <= mechanism.threshold(histogram[None])[0]))
        for histogram in (counts, clipped)
    ]
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="coverage gained where every count is the mean of the clipped noisy count",
        value=coverages[1] - coverages[0],
        claimed=0.0,
        witness={"trials": _TRIALS, "epsilon": epsilon, "n_bins": mechanism.n_bins, "n": _N_CAL},
        note=(
            "E[max(c + L, 0)] = c + (b/2)·exp(−c/b) for Laplace noise L of scale b: bins with few "
            f"scores, which lie above the median, gain most. Coverage goes from {coverages[0]:.4f} "
            f"to {coverages[1]:.4f}; Table 5 prints {_value(_printed(5, '0.1')[1])}."
        ),
    )


def _rounding_loss(*, trials: int) -> Computation:
    rounded, unrounded = [], []
    model = Model(kind=ModelKind.PRIVATE_FOREST)
    for scored, _ in _trials(trials, model):
        exact = SplitConformal(alpha=_ALPHA).threshold(scored.calibration)
        standard = published_variants.standard_threshold(
            published_variants.rounded(scored.calibration), alpha=_ALPHA
        )
        ends = np.array([round(standard, published_variants.THRESHOLD_DECIMALS), exact])
        coverage = scored.measure(ends, empty_counts=True)[:, 0]
        rounded.append(coverage[0])
        unrounded.append(coverage[1])
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="coverage lost to rounding alone, without noise",
        value=float(np.mean(unrounded) - np.mean(rounded)),
        claimed=0.0,
        witness={"trials": trials, "model": str(model.kind), "alpha": _ALPHA},
        note=(
            f"Without noise, coverage is {np.mean(rounded):.4f} with scores rounded to 4 decimals "
            f"and the threshold to 2, and {np.mean(unrounded):.4f} without; Table 1 prints "
            f"{_printed(1, '10.0')[2]} for P-COQS at ε_CP = 10."
        ),
    )


def _model_noise(*, trials: int) -> Computation:
    fixed, fresh = (
        np.array(
            [
                scored.measure(
                    np.array([SplitConformal(alpha=_ALPHA).threshold(scored.calibration)]),
                    empty_counts=True,
                )[0, 1]
                for scored, _ in _trials(trials, Model(kind=ModelKind.PRIVATE_NAIVE_BAYES), seed)
            ]
        )
        for seed in (published_variants.MODEL_SEED, None)
    )
    printed = _printed(7, "10.0")[5].partition("±")[2]
    return Computation(
        quantity=Quantity.VALUE,
        detail="standard deviation of the mean set size with fresh model noise, without "
        "calibration noise",
        value=float(np.std(fresh, ddof=1)),
        claimed=float(printed),
        witness={"trials": trials, "model": "private naive Bayes", "epsilon": 2.0},
        note=(
            f"With the one draw of the model's noise that the table uses it is "
            f"{np.std(fixed, ddof=1):.4f}; Table 7 prints {printed} for P-COQS at ε_CP = 10."
        ),
    )


class _Trial(NamedTuple):
    """A published trial: a model's scores, and the draws that P-COQS takes."""

    scored: Scored
    normals: FloatArray


@cache
def _trials(
    count: int = _TRIALS, model: Model = _PLAIN, seed: int | None = published_variants.MODEL_SEED
) -> tuple[_Trial, ...]:
    """Return published trials; without a seed, each has model noise of its own."""
    trials = []
    for trial in range(count):
        data = sample(trial, _N)
        fitted = model.fit(*data.fit, random_state=trial if seed is None else seed)
        trials.append(_Trial(Scored.of(fitted, data), data.draws.normals))
    return tuple(trials)


def _value(text: str) -> float:
    return float(text.partition("±")[0])
