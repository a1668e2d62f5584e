"""Functions that misuse OpenDP's measurements, or that call others than the library's own."""

import functools

import numpy as np
import opendp.prelude as odp
from proving.specimen_tables import Table

import dpcp_audit as dp

odp.enable_features("contrib", "honest-but-curious")
OPENDP = Table("opendp")
attack = OPENDP.attack
SPACE = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
MADE_BEFORE = odp.m.make_laplace(*SPACE, scale=0.05)
POSING = odp.m.make_user_measurement(
    *SPACE, odp.max_divergence(), lambda x: x, lambda d: 20 * d, TO="f64"
)


USERS = odp.user_domain("numbers", lambda x: True)
MONOTONIC = odp.linf_distance(T=float, monotonic=True)
SCORES = odp.vector_domain(odp.atom_domain(T=float, nan=False))


class Quiet(type(MADE_BEFORE)):
    def __call__(self, value):
        return value


def make_laplace(domain, metric, scale):
    return odp.m.make_user_measurement(
        domain, metric, odp.max_divergence(), lambda x: x, lambda d: d / scale, TO="f64"
    )


@attack("a measurement of the user's own", dp.PureDP(1.0))
def users_own(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_user_measurement(
        *space, odp.max_divergence(), lambda x: x, lambda d: 20 * d, TO="f64"
    )
    return measurement(float(scores.mean()))


@attack("a measurement of the user's own, by a helper of the library's name", dp.PureDP(1.0))
def by_helper(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return make_laplace(*space, 0.05)(float(scores.mean()))


@attack("a measurement was made before, and is a handle", dp.PureDP(1.0))
def posing(scores):
    return POSING(float(scores.mean()))


@attack("a measurement is an argument", dp.PureDP(1.0))
def as_default(scores, *, measurement=POSING):
    return measurement(float(scores.mean()))


@attack("a measurement has another class", dp.PureDP(1.0))
def of_another_class(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_laplace(*space, scale=0.05)
    measurement.__class__ = Quiet
    return measurement(float(scores.mean()))


@attack("a class of measurements is called", dp.PureDP(1.0))
def of_a_subclass(scores):
    return Quiet()(float(scores.mean()))


@attack("the scale is read from the data", dp.PureDP(1.0))
def scale_from_data(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=float(scores.max()) / 20)(float(scores.mean()))


@attack("the scale is half of what is needed", dp.PureDP(1.0))
def half_the_scale(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=0.025)(float(scores.mean()))


@attack("two releases for the price of one", dp.PureDP(1.0))
def twice(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_laplace(*space, scale=0.05)
    return [measurement(float(scores.mean())) for _ in range(2)]


@attack("a histogram moves by 2 under l1", dp.PureDP(1.0))
def histogram_by_one(scores):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    return odp.m.make_laplace(domain, odp.l1_distance(T=float), scale=1.0)(counts.astype(float))


@attack("Gaussian noise by the l1 distance of one bin", dp.ZCDP(0.5))
def gaussian_of_one_bin(scores):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0]
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    return odp.m.make_gaussian(domain, odp.l2_distance(T=float), scale=1.0)(counts.astype(float))


@attack("Gaussian noise has no pure ε", dp.PureDP(5.0))
def gaussian_as_pure(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_gaussian(*space, scale=0.05)(float(scores.mean()))


@attack("a noise on whole numbers has no proved μ", dp.GaussianDP(1.0))
def gaussian_as_gdp(scores):
    space = odp.atom_domain(T=int), odp.absolute_distance(T=int)
    return odp.m.make_gaussian(*space, scale=1.0)(int(np.sum(scores > 0.5)))


@attack("whole numbers that are too large for the type raise an error", dp.PureDP(1.0))
def too_large(scores):
    space = odp.atom_domain(T=int), odp.absolute_distance(T=int)
    large = int(np.sum(scores > 0.5)) + 2**31 - 11
    return odp.m.make_laplace(*space, scale=1.0)(large)


@attack("whole numbers that are too large, and the error is caught", dp.PureDP(1.0))
def error_is_caught(scores):
    space = odp.atom_domain(T=int), odp.absolute_distance(T=int)
    try:
        return odp.m.make_laplace(*space, scale=20.0)(2**31 - 11 + int(np.sum(scores > 0.5)))
    except ValueError:
        return -1


@attack("numbers of single precision are rounded", dp.PureDP(1.0))
def single_precision(scores):
    space = odp.atom_domain(T="f32", nan=False), odp.absolute_distance(T="f32")
    return odp.m.make_laplace(*space, scale=0.05)(float(scores.mean()))


@attack("a narrow type of whole numbers", dp.PureDP(1.0))
def narrow(scores):
    space = odp.atom_domain(T="u8"), odp.absolute_distance(T="u8")
    return odp.m.make_laplace(*space, scale=1.0)(int(np.sum(scores > 0.5)))


@attack("a coarse grid of the noise costs more", dp.PureDP(1.0))
def coarse_grid(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=0.05, k=0)(float(scores.mean()))


@attack("a domain with bounds, which are not enforced", dp.PureDP(1.0))
def with_bounds(scores):
    domain = odp.atom_domain(bounds=(0.0, 0.01), T=float, nan=False)
    return odp.m.make_laplace(domain, odp.absolute_distance(T=float), scale=0.01)(scores.sum())


@attack("bounds are read from the data", dp.PureDP(1.0))
def bounds_from_data(scores):
    domain = odp.atom_domain(bounds=(0.0, float(scores.max())), T=float, nan=False)
    return odp.m.make_laplace(domain, odp.absolute_distance(T=float), scale=0.05)(scores.mean())


@attack("the records themselves are handed in", dp.PureDP(1.0))
def raw(scores):
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    return odp.m.make_laplace(domain, odp.l1_distance(T=float), scale=0.5)(scores)


@attack("the first record is handed in", dp.PureDP(1.0))
def first_record(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=0.05)(float(scores[0]))


@attack("a maximum moves by the whole range", dp.PureDP(1.0))
def of_a_maximum(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=0.05)(float(scores.max()))


@attack("noise in a branch on the data", dp.PureDP(1.0))
def in_a_branch(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    scale = 0.05 if scores.max() > 0.5 else 0.1
    return odp.m.make_laplace(*space, scale=scale)(float(scores.mean()))


@attack("the value is returned, and the noise thrown away", dp.PureDP(1.0))
def not_used(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    mean = float(scores.mean())
    odp.m.make_laplace(*space, scale=0.05)(mean)
    return mean


@attack("the noise is subtracted again", dp.PureDP(1.0))
def without_noise(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    mean = float(scores.mean())
    noise = odp.m.make_laplace(*space, scale=0.05)(mean) - mean
    return mean + noise - noise


@attack("a noisy maximum of scores that move by more", dp.PureDP(1.0))
def maximum_of_counts(scores):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0].astype(float)
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    measurement = odp.m.make_noisy_max(
        domain, odp.linf_distance(T=float), odp.max_divergence(), scale=1.0
    )
    return measurement(counts)


@attack("scores are said to move one way", dp.PureDP(1.0))
def monotonic(scores):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0].astype(float)
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    metric = odp.linf_distance(T=float, monotonic=True)
    return odp.m.make_noisy_max(domain, metric, odp.max_divergence(), scale=1.0)(counts)


@attack("a chain of a transformation", dp.PureDP(1.0))
def transformed(scores):
    space = odp.vector_domain(odp.atom_domain(T=float, nan=False)), odp.symmetric_distance()
    chain = space >> odp.t.then_clamp((0.0, 1.0)) >> odp.t.then_sum() >> odp.m.then_laplace(1.0)
    return chain(scores.tolist())


@attack("a function is applied to what is released", dp.PureDP(1.0))
def postprocessed(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_laplace(*space, scale=0.05) >> (lambda x: scores.mean())
    return measurement(float(scores.mean()))


@attack("the constructor is wrapped", dp.PureDP(1.0))
def wrapped(scores):
    make = functools.partial(odp.m.make_laplace, scale=0.05)
    return make(odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float))(scores.max())


@attack("the library is changed inside", dp.PureDP(1.0))
def changed_inside(scores):
    odp.m.make_laplace = make_laplace
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, 0.05)(float(scores.mean()))


@attack("the price is shown without noise", dp.PureDP(1.0))
def map_of_data(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=0.05).map(float(scores.max()))


@attack("an empty mean is NaN", dp.PureDP(1.0))
def of_nan(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    some = scores[scores > 0.5]
    return odp.m.make_laplace(*space, scale=0.05)(float(some.mean()))


@attack("features that allow measurements of the user's own", dp.PureDP(1.0))
def other_features(scores):
    odp.enable_features("honest-but-curious")
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(*space, scale=0.05)(float(scores.mean()))


@attack("a number of draws by the data", dp.PureDP(1.0))
def number_of_draws(scores):
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    measurement = odp.m.make_laplace(*space, scale=5.0)
    return [measurement(0.0) for _ in range(int(np.sum(scores > 0.5)))]


@attack("a domain of the user's own", dp.PureDP(1.0))
def users_domain(scores):
    return odp.m.make_laplace(USERS, SPACE[1], scale=0.05)(float(scores.mean()))


@attack("scores are said to move one way, by a distance from outside", dp.PureDP(1.0))
def monotonic_outside(scores):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0].astype(float)
    return odp.m.make_noisy_max(SCORES, MONOTONIC, odp.max_divergence(), scale=1.0)(counts)


@attack("a type error is caught, and the data shown", dp.PureDP(1.0))
def type_error_is_caught(scores):
    measurement = odp.m.make_laplace(*SPACE, scale=1.0)
    try:
        return measurement(np.count_nonzero(scores > 0.5) + np.int64(0))
    except TypeError:
        return float(scores.max())


@attack("a loop over noise on a public number of numbers", dp.PureDP(1.0))
def loop_over_public_noise(scores, *, rng):
    numbers = range(int(rng.poisson(3.0)) + 1)
    domain = odp.vector_domain(odp.atom_domain(T=int))
    noisy = odp.m.make_laplace(domain, odp.l1_distance(T=int), scale=1.0)(numbers)
    return [float(scores.max()) for _ in noisy]
