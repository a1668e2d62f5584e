"""What P-COQS's published tables computed, where it is not the algorithm as written.

Every departure stands here, named and with its source, apart from the reference mechanisms.
"The notebooks" are the authors' public code, SMAC-Group/pcoqs on GitHub,
``paper_codes/Simulated_experiment``; those of Tables 1, 2, 5 to 8, 12, 13, 15 and 16 are stored
incomplete there, and what is said of these tables was found by matching their numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import Relation
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    EmptyHistogram,
    FixedScores,
    HistLap,
    Normaliser,
    conformal_rank,
)
from dpcp_ledger.mechanisms.exponq_search import ExponQSearch

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray


SCORE_DECIMALS = 4
THRESHOLD_DECIMALS = 2
HISTOGRAM_BINS = 50
FIRST_SEED = 3
MODEL_SEED = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedVariant:
    """A choice of the published computation that the paper's algorithms do not make."""

    name: str
    published: str
    written: str
    source: str


CHOICES = (
    PublishedVariant(
        name="seeds",
        published="trial i draws everything from NumPy's legacy generator, seeded with i + 3: the "
        "data, a permutation, ExponQ's n uniform scores and 101 choices, P-COQS's normals",
        written="independent draws",
        source="notebooks, simulate_normal_classification and run_simulation",
    ),
    PublishedVariant(
        name="model noise",
        published="private models have random_state=42: one draw of the noise for a whole table",
        written="fresh noise in every run",
        source="notebooks, get_private_model",
    ),
    PublishedVariant(
        name="score rounding",
        published="calibration scores are rounded to 4 decimals, test scores are not",
        written="no rounding",
        source="notebooks, scores_cal",
    ),
    PublishedVariant(
        name="threshold rounding",
        published="P-COQS's threshold is rounded to 2 decimals",
        written="Algorithm 1, line 13: (left + right)/2",
        source="notebooks, PrivQuant; R/functions.R, priv_quant",
    ),
    PublishedVariant(
        name="count rounding",
        published="the noisy count is floored and clipped at 0; neither changes a comparison "
        "with a whole rank of at least 1",
        written="Equation 2",
        source="notebooks, NoisyRC",
    ),
    PublishedVariant(
        name="budget of Tables 4 and 10",
        published="ρ = ε²",
        written="Section 5: ρ = ε²/2",
        source="Computational_time.ipynb, run_simulation",
    ),
    PublishedVariant(
        name="Δ of Table 14",
        published="the value goes to the parameter lower_bound; Δ stays 1e-10",
        written="Appendix D: Δ from 1e-20 to 1e-1",
        source="Varying_delta_PCOQS.ipynb, the call of PCOQS",
    ),
    PublishedVariant(
        name="HistLap's noise",
        published="50 bins, Laplace(1/ε) made for adding or removing a score, negatives set to 0",
        written="2/ε under substitution, the relation of the other mechanisms",
        source="notebooks, dp_quantile_noisy_hist",
    ),
    PublishedVariant(
        name="HistLap's fallback",
        published="where no noisy count is positive, the median of the scores, without noise",
        written="the upper bound b; the median is not private",
        source="notebooks, dp_quantile_noisy_hist",
    ),
    PublishedVariant(
        name="HistLap's seed",
        published="Tables 3 and 9 seed the noise with 12 in every run: one draw for the whole "
        "table; Table 11 with 12 + i(i+1)/2, Tables 4 and 10 not at all",
        written="fresh noise in every run",
        source="Effect_of_alpha.ipynb, Model_privacy_budget_effect.ipynb, Computational_time.ipynb",
    ),
    PublishedVariant(
        name="ExponQ's normaliser",
        published="c = min(α, 1−α), and q̃ clipped to 1 − 1e-12",
        written="c = min(q̃, 1−q̃), without which it is not ε-DP",
        source="notebooks, get_private_quantile; aangelopoulos/private_prediction_sets, core",
    ),
    PublishedVariant(
        name="ExponQ's search",
        published="m among 50 values from 10⁴ to 10⁶ and γ, by noisy draws on uniform scores",
        written="the same, with the normaliser above",
        source="notebooks, get_optimal_gamma_m; aangelopoulos/private_prediction_sets, core",
    ),
    PublishedVariant(
        name="standard quantile",
        published="the linearly interpolated quantile at level ⌈(1−α)(n+1)⌉/n",
        written="the ⌈(1−α)(n+1)⌉-th smallest score",
        source="Computational_time.ipynb, run_simulation",
    ),
    PublishedVariant(
        name="empty sets",
        published="an empty set counts as informative and of size 1",
        written="size 0, not informative",
        source="notebooks, run_simulation",
    ),
    PublishedVariant(
        name="spread",
        published="the numbers behind ± and in parentheses, called variances, are standard "
        "deviations over the runs, with divisor 999",
        written="captions: variance",
        source="notebooks, run_simulation (np.std, ddof=1)",
    ),
)


def rounded(scores: FloatArray) -> FloatArray:
    """Return calibration scores as the tables round them."""
    return np.round(scores, SCORE_DECIMALS)


def pcoqs_threshold(
    sorted_scores: FloatArray, *, alpha: float, rho: float, noise: FloatArray, lowest: float = 0.0
) -> float:
    """Return P-COQS's threshold, rounded to 2 decimals.

    Parameters
    ----------
    sorted_scores : ndarray, shape (n,)
        Rounded calibration scores.
    noise : ndarray, shape (N,)
        Standard normal draws, one a round.
    lowest : float
        Where the search and its counts begin; Table 14 varies it.
    """
    mechanism = PCOQS(alpha=alpha, rho=rho, bounds=(lowest, 1.0))
    counted = sorted_scores[np.searchsorted(sorted_scores, lowest, side="left") :]
    counter = FixedScores(counted, mechanism.rank(sorted_scores.size))
    found = mechanism.search(counter, noise[: mechanism.rounds, None])
    return float(np.round(float(found[0]), THRESHOLD_DECIMALS))


def histlap_threshold(
    scores: FloatArray, *, alpha: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Return HistLap's threshold from rounded scores (n,), by its fallback without counts."""
    mechanism = HistLap(
        alpha=alpha,
        epsilon=epsilon,
        n_bins=HISTOGRAM_BINS,
        noise=Relation.ADD_REMOVE,
        empty=EmptyHistogram.MEDIAN,
    )
    return float(mechanism.sample(scores, 1, rng=rng)[0])


def exponq_search(*, alpha: float, epsilon: float) -> ExponQSearch:
    """Return the published search for (m, γ)."""
    return ExponQSearch(alpha=alpha, epsilon=epsilon, normaliser=Normaliser.PUBLISHED)


def standard_threshold(sorted_scores: FloatArray, *, alpha: float) -> float:
    """Return the interpolated quantile that the tables call Standard, of rounded scores (n,)."""
    n = sorted_scores.size
    place = (n - 1) * min(1.0, conformal_rank(n, alpha=alpha) / n)
    below = min(math.floor(place), n - 2)
    share = place - below
    low, high = sorted_scores[below : below + 2]
    return float(low + (high - low) * share)
