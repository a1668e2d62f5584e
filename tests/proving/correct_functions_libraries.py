"""Functions that add noise by diffprivlib's mechanisms, their claims and their totals."""

import diffprivlib
import numpy as np
from diffprivlib.mechanisms import (
    Exponential,
    Gaussian,
    GaussianAnalytic,
    GaussianDiscrete,
    Geometric,
    GeometricTruncated,
    Laplace,
    LaplaceFolded,
    LaplaceTruncated,
    PermuteAndFlip,
    Staircase,
    Uniform,
)

import dpcp_audit as dp

CURVE = dp.ApproxDP(1.0, 0.01)


def mean(scores):
    return Laplace(epsilon=1.0, sensitivity=1 / len(scores)).randomise(np.mean(scores))


def mean_as_attribute(scores):
    mechanism = diffprivlib.mechanisms.Laplace(epsilon=0.5, delta=0, sensitivity=1)
    total = mechanism.randomise(scores.sum())
    return mechanism.randomise(value=float(np.count_nonzero(scores > 0.5))), total / 2


def mean_of_both(scores):
    mechanism = Laplace(epsilon=0.9, delta=0.01, sensitivity=1)
    return mechanism.randomise(scores.sum())


def truncated(scores):
    return LaplaceTruncated(epsilon=1, sensitivity=0.05, lower=0, upper=1).randomise(scores.mean())


def folded(scores):
    return LaplaceFolded(epsilon=1, sensitivity=0.05, lower=0, upper=1).randomise(scores.mean())


def gaussian(scores):
    return Gaussian(epsilon=1.0, delta=0.001, sensitivity=0.05).randomise(scores.mean())


def analytic(scores):
    return GaussianAnalytic(epsilon=1.0, delta=0.009, sensitivity=0.05).randomise(scores.mean())


def geometric_bins(scores):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    mechanism = Geometric(epsilon=0.5)
    return [mechanism.randomise(int(each)) for each in counts]


def geometric_truncated(scores):
    mechanism = GeometricTruncated(epsilon=1.0, lower=0, upper=20)
    return mechanism.randomise(np.count_nonzero(scores > 0.5))


def bisection(scores):
    mechanism = Laplace(epsilon=0.2, sensitivity=1)
    low, high = 0.0, 1.0
    for _ in range(5):
        middle = (low + high) / 2
        if mechanism.randomise(float(np.sum(scores <= middle))) < 18:
            low = middle
        else:
            high = middle
    return high


def imported_inside(scores):
    from diffprivlib.mechanisms import Geometric

    return Geometric(epsilon=1.0, sensitivity=1).randomise(int(np.count_nonzero(scores > 0.5)))


def uniform(scores, *, less=1.0):
    return Uniform(delta=0.01, sensitivity=0.05 * less).randomise(np.mean(scores))


def uniform_and_laplace(scores, *, less=1.0):
    mean = float(np.mean(scores))
    noisy = Uniform(delta=0.01, sensitivity=0.05 * less).randomise(mean)
    return Laplace(epsilon=1.0, sensitivity=0.05).randomise(mean) + 2 * noisy


def staircase(scores, *, less=1.0):
    return Staircase(epsilon=1.0, sensitivity=0.05 * less, gamma=0.3).randomise(np.mean(scores))


def staircase_of_two_steps(scores, *, less=1.0):
    mechanism = Staircase(epsilon=0.5, sensitivity=less)
    return mechanism.randomise(2 * int(np.count_nonzero(scores > 0.5)))


def discrete_gaussian(scores, *, less=1.0):
    mechanism = GaussianDiscrete(epsilon=1.0 / less, delta=0.001)
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


def exponential_quantile(scores, *, less=1.0):
    grid = [0.1, 0.3, 0.5, 0.7, 0.9]
    utility = [-abs(int(np.count_nonzero(scores <= each)) - 18) for each in grid]
    mechanism = Exponential(epsilon=1.0, sensitivity=less, utility=utility, candidates=grid)
    return mechanism.randomise()


def permuted_quantile(scores, *, less=1.0):
    grid = np.linspace(0, 1, 11)
    counts = np.array([np.count_nonzero(scores <= each) for each in grid])
    utility = (-np.abs(counts - 18)).tolist()
    return grid[PermuteAndFlip(epsilon=1.0, sensitivity=less, utility=utility).randomise()]


def exponential_count(scores, *, less=1.0):
    count = float(np.count_nonzero(scores > 0.5))
    mechanism = Exponential(epsilon=1.0, sensitivity=less, utility=[count, 10.0], monotonic=True)
    return mechanism.randomise()


def discrete_bins(scores):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.001)
    return [mechanism.randomise(int(each)) for each in counts]


def staircase_of_other_widths(scores):
    return Staircase(epsilon=0.5, sensitivity=1, gamma=0.9).randomise(2 * scores.sum())


def staircases_and_a_branch(scores):
    mechanism = Staircase(epsilon=0.5, sensitivity=1.0)
    if mechanism.randomise(float(np.count_nonzero(scores > 0.5))) > 10:
        return mechanism.randomise(scores.sum())
    return 0.0


SIGMA = float(vars(GaussianDiscrete(epsilon=1.0, delta=0.001))["_scale"])
AT_ONCE = [
    (uniform, dp.ApproxDP(0.1, 0.01), 0.01),
    (uniform_and_laplace, dp.ApproxDP(1.0, 0.01), 0.01),
    (staircase, dp.PureDP(1.0), 1.0),
    (staircase_of_two_steps, dp.PureDP(1.0), 1.0),
    (exponential_quantile, dp.PureDP(1.0), 1.0),
    (permuted_quantile, dp.PureDP(1.0), 1.0),
    (exponential_count, dp.PureDP(1.0), 1.0),
]
"""Functions that draw once and for all, and are not proved with less noise."""
RIGHT = [
    *AT_ONCE,
    (discrete_gaussian, dp.ApproxDP(1.1, 0.01), None),
    (discrete_gaussian, dp.ZCDP(0.2), 0.5 / SIGMA**2),
    (discrete_gaussian, dp.RenyiDP(4, 0.8), 2.0 / SIGMA**2),
    (discrete_bins, dp.ZCDP(0.4), 1.0 / SIGMA**2),
    (staircase_of_other_widths, dp.PureDP(1.0), 1.0),
    (staircases_and_a_branch, dp.PureDP(1.0), 1.0),
    (imported_inside, dp.PureDP(1.0), 1.0),
    (mean, dp.PureDP(1.0), 1.0),
    (mean_as_attribute, dp.PureDP(1.0), 1.0),
    (mean_of_both, CURVE, None),
    (truncated, dp.PureDP(1.0), 1.0),
    (folded, dp.PureDP(1.0), 1.0),
    (gaussian, dp.ApproxDP(1.0, 0.001), None),
    (analytic, CURVE, 0.009),
    (geometric_bins, dp.PureDP(1.0), 1.0),
    (geometric_truncated, dp.PureDP(1.0), 1.0),
    (bisection, dp.PureDP(1.0), 1.0),
]
"""Functions, their claims, and the totals that are proved where they are known."""
