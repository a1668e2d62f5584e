"""Functions that call OpenDP's measurements, their claims, totals, and how noise is made smaller."""

import numpy as np
import opendp.prelude as odp

import dpcp_audit as dp

odp.enable_features("contrib")
SPACE = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
COUNTS = odp.vector_domain(odp.atom_domain(T="i64"))


def mean(scores, *, less=1.0):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_laplace(*space, scale=less / len(scores))
    return measurement(float(scores.mean()))


def chained(scores, *, less=1.0):
    odp.enable_features("contrib")
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = space >> odp.m.then_laplace(scale=0.05 * less)
    return measurement(np.mean(scores))


def invoked(scores, *, less=1.0):
    laplace = odp.m.then_laplace(20 * less)
    measurement = laplace(odp.atom_domain(T="f64", nan=False), odp.absolute_distance(T="f64"))
    return 2 * measurement.invoke(scores.sum() * 20) + 1


def count(scores, *, less=1.0):
    measurement = odp.m.make_geometric(
        odp.atom_domain(T=int), odp.absolute_distance(T=int), scale=less
    )
    return measurement(int(np.count_nonzero(scores <= 0.5)))


def histogram(scores, *, less=1.0):
    counts = np.histogram(scores, bins=8, range=(0, 1))[0]
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    measurement = odp.m.make_laplace(domain, odp.l1_distance(T=float), scale=2 * less)
    return measurement(counts.astype(float))


def bins_one_by_one(scores, *, less=1.0):
    counts = np.histogram(scores, bins=8, range=(0, 1))[0]
    space = odp.atom_domain(T=int), odp.absolute_distance(T=int)
    measurement = space >> odp.m.then_laplace(scale=2 * less)
    noisy = [measurement(int(each)) for each in counts]
    return int(np.argmax(noisy))


def gaussian(scores, *, less=1.0):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_gaussian(*space, scale=0.05 * less)
    return measurement(np.mean(scores))


def gaussian_histogram(scores, *, less=1.0):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    space = odp.vector_domain(odp.atom_domain(T=int)), odp.l2_distance(T=float)
    measurement = odp.m.make_gaussian(*space, scale=np.sqrt(2) * less)
    return measurement([int(each) for each in counts])


def by_measure(scores, *, less=1.0):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measure = odp.zero_concentrated_divergence()
    return odp.m.make_noise(*space, measure, 0.05 * less)(scores.mean())


def pure_by_measure(scores, *, less=1.0):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return (space >> odp.m.then_noise(odp.max_divergence(), 0.05 * less))(scores.mean())


def quantile(scores, *, less=1.0):
    grid = np.linspace(0, 1, 11)
    counts = np.array([np.count_nonzero(scores <= each) for each in grid])
    utility = -np.abs(counts - 0.9 * len(scores)).astype(float)
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    measurement = odp.m.make_noisy_max(
        domain, odp.linf_distance(T=float), odp.max_divergence(), scale=2 * less
    )
    return grid[measurement(utility)]


def quantile_by_gumbel(scores, *, less=1.0):
    grid = np.linspace(0, 1, 11)
    counts = np.array([np.count_nonzero(scores <= each) for each in grid])
    utility = (-np.abs(counts - 18).astype(float)).tolist()
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    measure = odp.zero_concentrated_divergence()
    chosen = (domain, odp.linf_distance(T=float)) >> odp.m.then_noisy_max(measure, less)
    return grid[chosen(utility)]


def bisection(scores, *, less=1.0):
    space = odp.atom_domain(T=int), odp.absolute_distance(T=int)
    measurement = odp.m.make_laplace(*space, scale=5 * less)
    low, high = 0.0, 1.0
    for _ in range(5):
        middle = (low + high) / 2
        if measurement(int(np.sum(scores <= middle))) < 18:
            low = middle
        else:
            high = middle
    return high


def space_from_outside(scores, *, less=1.0):
    return (SPACE >> odp.m.then_laplace(0.05 * less))(float(scores.mean()))


def domain_from_outside(scores, *, less=1.0):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    measurement = odp.m.make_laplace(COUNTS, odp.l1_distance(T="i64"), scale=2 * less)
    return max(measurement(counts))


def imported_inside(scores, *, less=1.0):
    import opendp.prelude as library

    space = library.atom_domain(T=int), library.absolute_distance(T=int)
    return library.m.make_laplace(*space, scale=less)(int(np.count_nonzero(scores > 0.5)))


RIGHT = [
    (imported_inside, dp.PureDP(1.0), 1.0),
    (space_from_outside, dp.PureDP(1.0), 1.0),
    (domain_from_outside, dp.PureDP(1.0), 1.0),
    (mean, dp.PureDP(1.0), 1.0),
    (chained, dp.PureDP(1.0), 1.0),
    (invoked, dp.PureDP(1.0), 1.0),
    (count, dp.PureDP(1.0), 1.0),
    (histogram, dp.PureDP(1.0), 1.0),
    (bins_one_by_one, dp.PureDP(1.0), 1.0),
    (gaussian, dp.ZCDP(0.5), 0.5),
    (gaussian_histogram, dp.ZCDP(0.5), 0.5),
    (by_measure, dp.ZCDP(0.5), 0.5),
    (pure_by_measure, dp.PureDP(1.0), 1.0),
    (quantile, dp.PureDP(1.0), 1.0),
    (quantile_by_gumbel, dp.ZCDP(0.5), 0.5),
    (gaussian, dp.RenyiDP(4.0, 2.0), 2.0),
    (bisection, dp.PureDP(1.0), 1.0),
]
"""Functions, their claims, and the totals that are proved where the noise is as given."""
