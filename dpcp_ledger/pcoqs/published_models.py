"""The results of P-COQS's tables on private models, recomputed from the published draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import Computation, Quantity, Standing, Verdict
from dpcp_audit.extensions.mechanisms import SplitConformal
from dpcp_ledger.mechanisms import published_variants
from dpcp_ledger.paper import Heading, Paper
from dpcp_ledger.pcoqs.published_tables import (
    ALPHA,
    N_CALIBRATION,
    TRIALS,
    cells_of,
    mean_of_runs,
    share_of_runs,
    trials_of,
)
from dpcp_ledger.reproduce.simulation import Model, ModelKind

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray

paper = Paper(title="P-COQS", subject=Heading.PRINTED_TABLES, standing=Standing.PRACTICE)
"""The claims on private models, whose checks need diffprivlib."""


@paper.claim(
    "pcoqs.table-1[under-coverage=privacy]",
    "Table 1",
    Verdict.REFUTED,
    "Table 1's coverage below 1−α is the price of private calibration: without noise, "
    "and with the same rounding, coverage is as it is without rounding.",
    parameters={
        "n": N_CALIBRATION,
        "alpha": ALPHA,
        "model": str(ModelKind.PRIVATE_FOREST),
        "under_coverage": "privacy",
    },
    simulated=True,
    trials=12,
)
def rounding_loss(*, trials: int, significance: float) -> Computation:
    """Compute how often rounding loses coverage, on private forests and without noise."""
    coverages: list[FloatArray] = []
    model = Model(kind=ModelKind.PRIVATE_FOREST)
    for scored, _ in trials_of(trials, model):
        exact = SplitConformal(alpha=ALPHA).threshold(scored.calibration)
        standard = published_variants.standard_threshold(
            published_variants.rounded(scored.calibration), alpha=ALPHA
        )
        ends = np.array([round(standard, published_variants.THRESHOLD_DECIMALS), exact])
        coverages.append(scored.measure(ends, empty_counts=True)[:, 0])
    rounded, unrounded = np.mean(coverages, axis=0)
    lower = sum(bool(a < b) for a, b in coverages)
    return Computation(
        quantity=Quantity.PROBABILITY,
        detail=f"share of {trials} runs in which rounding alone, without noise, loses coverage",
        **share_of_runs(lower, trials, significance=significance),
        claimed=0.0,
        witness={"trials": trials, "model": str(model.kind), "alpha": ALPHA},
        note=(
            f"Without noise, coverage is {rounded:.4f} with scores rounded to 4 decimals "
            f"and the threshold to 2, and {unrounded:.4f} without; Table 1 prints "
            f"{cells_of(1, '10.0')[2]} for P-COQS at ε_CP = 10."
        ),
    )


@paper.claim(
    "pcoqs.table-7[model-noise=fresh]",
    "Table 7",
    Verdict.REFUTED,
    "Table 7's spreads are those over the randomness of the whole procedure, the "
    "private model's included.",
    parameters={
        "n": N_CALIBRATION,
        "alpha": ALPHA,
        "model": str(ModelKind.PRIVATE_NAIVE_BAYES),
        "model_noise": "fresh",
    },
    simulated=True,
    trials=TRIALS,
)
def model_noise(*, trials: int, significance: float) -> Computation:
    """Compute the spread of the mean set size where every model has noise of its own.

    Its limit is the root of that of half the mean squared difference of two runs, the variance.
    """
    fixed, fresh = (
        np.array(
            [
                scored.measure(
                    np.array([SplitConformal(alpha=ALPHA).threshold(scored.calibration)]),
                    empty_counts=True,
                )[0, 1]
                for scored, _ in trials_of(trials, Model(kind=ModelKind.PRIVATE_NAIVE_BAYES), seed)
            ]
        )
        for seed in (published_variants.MODEL_SEED, None)
    )
    printed = cells_of(7, "10.0")[5].partition("±")[2]
    halves = np.square(fresh[::2] - fresh[1::2]) / 2
    variance = mean_of_runs(halves.tolist(), most=0.5, significance=significance)
    return Computation(
        quantity=Quantity.VALUE,
        detail="standard deviation of the mean set size with fresh model noise, without "
        f"calibration noise, over {trials} runs",
        **variance
        | {
            "value": float(np.std(fresh, ddof=1)),
            "lower": math.sqrt(variance["lower"]),
            "samples": trials,
        },
        claimed=float(printed),
        witness={"trials": trials, "model": "private naive Bayes", "epsilon": 2.0},
        note=(
            f"With the one draw of the model's noise that the table uses it is "
            f"{np.std(fixed, ddof=1):.4f}; Table 7 prints {printed} for P-COQS at ε_CP = 10."
        ),
    )
