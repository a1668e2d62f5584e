"""Functions that misuse diffprivlib's mechanisms, or that draw from changed ones."""

import random
import secrets

import numpy as np
from diffprivlib.mechanisms import (
    Exponential,
    Gaussian,
    GaussianDiscrete,
    Geometric,
    Laplace,
    LaplaceBoundedDomain,
    LaplaceTruncated,
    PermuteAndFlip,
    Staircase,
)
from proving.specimen_tables import Table

import dpcp_audit as dp

ZCDP = dp.ZCDP(0.5)
CURVE = dp.ApproxDP(1.0, 0.01)
MADE_BEFORE = Laplace(epsilon=1.0, sensitivity=0.05)
SEEDED = Laplace(epsilon=1.0, sensitivity=0.05, random_state=3)
CHANGED = Gaussian(epsilon=1.0, delta=0.01, sensitivity=0.05)
CHANGED._scale = 0.001
OVERRIDDEN = Laplace(epsilon=1.0, sensitivity=0.05)
OVERRIDDEN.randomise = lambda value: value
WITH_ITS_OWN_DRAWS = Laplace(epsilon=1.0, sensitivity=0.05)
WITH_ITS_OWN_DRAWS._rng.random = lambda: 0.5
OF_ANOTHER_SOURCE = Laplace(epsilon=1.0, sensitivity=0.05)
OF_ANOTHER_SOURCE._rng = random.Random(4)
WEAKER = Laplace(epsilon=20.0, sensitivity=0.05)


class Quiet(Laplace):
    def randomise(self, value):
        return value


class QuieterSource(secrets.SystemRandom):
    def random(self):
        return 0.5


A_SUBCLASS = Quiet(epsilon=1.0, sensitivity=0.05)
OF_A_SUBCLASS = Laplace(epsilon=1.0, sensitivity=0.05)
OF_A_SUBCLASS._rng = QuieterSource()


def rank_utilities(scores, grid):
    return [-abs(float(np.count_nonzero(scores <= each)) - 18) for each in grid]


LIBRARIES = Table("libraries")
attack = LIBRARIES.attack


@attack("the sensitivity is half of the distance", dp.PureDP(1.0))
def sensitivity_of_half(scores):
    return Laplace(epsilon=1.0, sensitivity=0.025).randomise(scores.mean())


@attack("the sensitivity is read from the data", dp.PureDP(1.0))
def sensitivity_from_data(scores):
    return Laplace(epsilon=1.0, sensitivity=float(scores.max()) / 20).randomise(scores.mean())


@attack("ε is read from the data", dp.PureDP(1.0))
def epsilon_from_data(scores):
    return Laplace(epsilon=float(scores.mean()), sensitivity=0.05).randomise(scores.mean())


@attack("bounds of the output are read from the data", dp.PureDP(1.0))
def bounds_from_data(scores):
    mechanism = LaplaceTruncated(
        epsilon=1.0, sensitivity=0.05, lower=float(scores.min()), upper=float(scores.max())
    )
    return mechanism.randomise(scores.mean())


@attack("the mechanism is made in a branch on the data", dp.PureDP(1.0))
def made_in_a_branch(scores):
    if scores.max() > 0.5:
        mechanism = Laplace(epsilon=1.0, sensitivity=0.05)
    else:
        mechanism = Laplace(epsilon=0.5, sensitivity=0.05)
    return mechanism.randomise(scores.mean())


@attack("a seed is given", dp.PureDP(1.0))
def seeded_inside(scores):
    return Laplace(epsilon=1.0, sensitivity=0.05, random_state=1).randomise(scores.mean())


@attack("a seed was given before", dp.PureDP(1.0))
def seeded_before(scores):
    return SEEDED.randomise(scores.mean())


@attack("one generator of two mechanisms", dp.PureDP(2.0))
def one_generator(scores):
    source = np.random.RandomState(5)
    first = Laplace(epsilon=1.0, sensitivity=0.05, random_state=source)
    return first.randomise(scores.mean())


@attack("the scale was changed after it was made", CURVE)
def changed_after(scores):
    return CHANGED.randomise(scores.mean())


@attack("an attribute is assigned inside", dp.PureDP(1.0))
def changed_inside(scores):
    mechanism = Laplace(epsilon=1.0, sensitivity=0.05)
    mechanism.sensitivity = 0.001
    return mechanism.randomise(scores.mean())


@attack("randomise is an attribute of the object", dp.PureDP(1.0))
def overridden(scores):
    return OVERRIDDEN.randomise(scores.mean())


@attack("the generator's draws are an attribute of the object", dp.PureDP(1.0))
def own_draws(scores):
    return WITH_ITS_OWN_DRAWS.randomise(scores.mean())


@attack("the generator is another one", dp.PureDP(1.0))
def another_source(scores):
    return OF_ANOTHER_SOURCE.randomise(scores.mean())


@attack("the generator is of a class of the program's own", dp.PureDP(1.0))
def source_of_a_subclass(scores):
    return OF_A_SUBCLASS.randomise(scores.mean())


@attack("the mechanism is of a class of the program's own", dp.PureDP(1.0))
def subclass(scores):
    return A_SUBCLASS.randomise(scores.mean())


@attack("the mechanism is made of a class of the program's own", dp.PureDP(1.0))
def subclass_inside(scores):
    return Quiet(epsilon=1.0, sensitivity=0.05).randomise(scores.mean())


@attack("ε is that of the object", dp.PureDP(1.0))
def weaker(scores):
    return WEAKER.randomise(scores.mean())


@attack("a parameter of the mechanism is data", dp.PureDP(1.0))
def utilities_are_shown(scores):
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=[scores.sum(), 0.0])
    return mechanism.utility


@attack("the mechanism itself is returned", dp.PureDP(1.0))
def mechanism_is_returned(scores):
    utility = [float(scores.sum()), 0.0]
    return Exponential(epsilon=1.0, sensitivity=1, utility=utility)


@attack("the mechanism is printed", dp.PureDP(1.0))
def mechanism_is_printed(scores):
    utility = [float(scores.sum()), 0.0]
    print(Exponential(epsilon=1.0, sensitivity=1, utility=utility))
    return 0


@attack("utilities move by more than the sensitivity", dp.PureDP(1.0))
def utilities_of_another_sensitivity(scores):
    grid = [each / 10 for each in range(11)]
    utility = [-10 * abs(float(np.count_nonzero(scores <= each)) - 18) for each in grid]
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=utility, candidates=grid)
    return mechanism.randomise()


@attack("utilities are said to be monotonic", dp.PureDP(1.0))
def not_monotonic(scores):
    grid = [each / 10 for each in range(11)]
    utility = rank_utilities(scores, grid)
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=utility, monotonic=True)
    return mechanism.randomise()


@attack("monotonic is read from the data", dp.PureDP(1.0))
def monotonic_from_data(scores):
    utility = rank_utilities(scores, [0.5, 0.9])
    chosen = bool(scores.max() > 0.5)
    return PermuteAndFlip(epsilon=1.0, sensitivity=1, utility=utility, monotonic=chosen).randomise()


@attack("candidates are data", dp.PureDP(1.0))
def candidates_from_data(scores):
    ordered = np.sort(scores)
    mechanism = Exponential(
        epsilon=1.0,
        sensitivity=1,
        utility=[float(scores.sum()), 0.0],
        candidates=[float(ordered[0]), float(ordered[1])],
    )
    return mechanism.randomise()


@attack("candidates are changed by the data later", dp.PureDP(1.0))
def candidates_changed_later(scores):
    grid = [0.0, 1.0]
    mechanism = Exponential(
        epsilon=1.0, sensitivity=1, utility=[float(scores.sum()), 0.0], candidates=grid
    )
    grid[0] = float(scores.min())
    return mechanism.randomise()


@attack("weights of the candidates are data", dp.PureDP(1.0))
def measure_from_data(scores):
    mechanism = Exponential(
        epsilon=1.0,
        sensitivity=1,
        utility=[float(scores.sum()), 0.0],
        measure=[float(scores.min()), 1.0],
    )
    return mechanism.randomise()


@attack("a choice is made twice", dp.PureDP(1.0))
def chosen_twice(scores):
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=rank_utilities(scores, [0.5, 0.9]))
    return mechanism.randomise(), mechanism.randomise()


@attack("whether the value is a whole number raises an error", dp.PureDP(1.0))
def whole_or_not(scores):
    return Geometric(epsilon=1.0).randomise(scores.sum())


@attack("the type of the value depends on the data", dp.PureDP(1.0))
def type_from_data(scores):
    value = int(scores.max() > 0.5) if scores.max() > 0.9 else 0.5
    return Geometric(epsilon=1.0).randomise(value)


@attack("geometric noise for a count that moves by two", dp.PureDP(1.0))
def double_count(scores):
    return Geometric(epsilon=1.0).randomise(2 * int(np.count_nonzero(scores > 0.5)))


@attack("a staircase one step too narrow", dp.PureDP(1.0))
def narrow_staircase(scores):
    return Staircase(epsilon=0.6, sensitivity=0.049).randomise(scores.mean())


@attack("the same noisy value is taken away again", dp.PureDP(1.0))
def taken_away(scores):
    noisy = MADE_BEFORE.randomise(scores.mean())
    return noisy, noisy - float(scores.mean())


@attack("a mechanism for each record", dp.PureDP(1.0))
def for_each_record(scores):
    return [MADE_BEFORE.randomise(each) for each in scores]


@attack("a bounded domain that is not described", dp.PureDP(1.0))
def bounded_domain(scores):
    mechanism = LaplaceBoundedDomain(epsilon=1.0, sensitivity=0.01, lower=0.0, upper=1.0)
    return mechanism.randomise(scores.mean())


@attack("no sensitivity, no noise", dp.PureDP(1.0))
def without_sensitivity(scores):
    return Laplace(epsilon=1.0, sensitivity=0).randomise(scores.mean())


@attack("infinite ε", dp.PureDP(1.0))
def without_noise(scores):
    return Laplace(epsilon=float("inf"), sensitivity=1).randomise(scores.mean())


@attack("an error tells of the data", dp.PureDP(1.0))
def error_tells(scores):
    try:
        mechanism = Laplace(epsilon=1.0, sensitivity=float(scores.max()) - 0.5)
    except ValueError:
        return 1
    return mechanism.randomise(0.0)


@attack("discrete Gaussian noise for a count that moves by three", ZCDP)
def triple_discrete(scores):
    mechanism = GaussianDiscrete(epsilon=5.0, delta=0.5)
    return mechanism.randomise(3 * int(np.count_nonzero(scores > 0.5)))


@attack("Gaussian noise for the number, and the number", CURVE)
def bias_is_shown(scores):
    mechanism = Gaussian(epsilon=1.0, delta=0.01, sensitivity=0.05)
    return mechanism.bias(scores.mean()), mechanism.mse(scores.mean())


@attack("variance of a truncated value", dp.PureDP(1.0))
def variance_is_shown(scores):
    mechanism = LaplaceTruncated(epsilon=1.0, sensitivity=0.05, lower=0.0, upper=1.0)
    return mechanism.variance(float(scores.mean()))


@attack("randomise of the class, with another object", dp.PureDP(1.0))
def unbound(scores):
    return Laplace.randomise(A_SUBCLASS, scores.mean())


@attack("a copy of a mechanism", dp.PureDP(1.0))
def copied(scores):
    return SEEDED.copy().randomise(scores.mean())


LARGE = 2**63 - 1


class NeverMore(int):
    def __gt__(self, other):
        return False


OF_A_TYPE_OF_ITS_OWN = Geometric(epsilon=1.0, sensitivity=NeverMore(1))


@attack("a utility less a large one wraps around", dp.PureDP(1.0))
def wrapped_utility(scores):
    utility = [int(np.count_nonzero(scores > 0.5)) - 10, LARGE]
    return Exponential(epsilon=0.001, sensitivity=1, utility=utility).randomise()


@attack("a flip of utilities that wrap around", dp.PureDP(1.0))
def wrapped_flip(scores):
    utility = [int(np.count_nonzero(scores > 0.5)) - 10, LARGE]
    return PermuteAndFlip(epsilon=0.001, sensitivity=1, utility=utility).randomise()


@attack("a utility of unknown size beside counts", dp.PureDP(1.0))
def wrapped_by_a_draw(scores):
    drawn = int(np.random.default_rng().integers(LARGE - 2, LARGE))
    utility = [int(np.count_nonzero(scores > 0.5)) - 5, drawn]
    return Exponential(epsilon=1.0, sensitivity=1, utility=utility).randomise()


@attack("a sensitivity that is never more than 0, so that there is no noise", dp.PureDP(1.0))
def sensitivity_of_a_type_of_its_own(scores):
    return OF_A_TYPE_OF_ITS_OWN.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("1 - δ is rounded: half the noise", dp.PureDP(1.0))
def rounded_delta(scores):
    mechanism = Laplace(epsilon=0.0, delta=5.6e-17, sensitivity=2.9e-18)
    return mechanism.randomise(scores.mean())


@attack("utilities so large that a mean is rounded to whole numbers", dp.PureDP(1.0))
def rounded_utility(scores):
    utility = [2.0**52 + float(scores.mean()), 2.0**52 + 0.3]
    return Exponential(epsilon=1.0, sensitivity=0.05, utility=utility).randomise()


@attack("a scale that underflows to 0", dp.PureDP(1.0))
def underflowing_scale(scores):
    return Laplace(epsilon=3.0, sensitivity=5e-324).randomise(scores.mean() * 1e-323)


@attack("a factor that overflows: the largest is always chosen", dp.PureDP(1.0))
def overflowing_factor(scores):
    utility = [float(scores.sum()) * 1e-320, 1e-319]
    return PermuteAndFlip(epsilon=1e300, sensitivity=1e-20, utility=utility).randomise()
