"""Functions that misuse diffprivlib's mechanisms, or that draw from changed ones."""

import numpy as np
from diffprivlib.mechanisms import (
    Gaussian,
    Geometric,
    Laplace,
    LaplaceBoundedDomain,
    LaplaceTruncated,
)
from proving.specimen_tables import Table

import dpcp_audit as dp

CURVE = dp.ApproxDP(1.0, 0.01)
MADE_BEFORE = Laplace(epsilon=1.0, sensitivity=0.05)
SEEDED = Laplace(epsilon=1.0, sensitivity=0.05, random_state=3)


class Quiet(Laplace):
    def randomise(self, value):
        return value


A_SUBCLASS = Quiet(epsilon=1.0, sensitivity=0.05)
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


@attack("a mechanism was made before, and can change", dp.PureDP(1.0))
def made_before(scores):
    return SEEDED.randomise(scores.mean())


@attack("one generator of two mechanisms", dp.PureDP(2.0))
def one_generator(scores):
    source = np.random.RandomState(5)
    first = Laplace(epsilon=1.0, sensitivity=0.05, random_state=source)
    return first.randomise(scores.mean())


@attack("an attribute is assigned inside", dp.PureDP(1.0))
def changed_inside(scores):
    mechanism = Laplace(epsilon=1.0, sensitivity=0.05)
    mechanism.sensitivity = 0.001
    return mechanism.randomise(scores.mean())


@attack("the mechanism is of a class of the program's own", dp.PureDP(1.0))
def subclass(scores):
    return A_SUBCLASS.randomise(scores.mean())


@attack("the mechanism is made of a class of the program's own", dp.PureDP(1.0))
def subclass_inside(scores):
    return Quiet(epsilon=1.0, sensitivity=0.05).randomise(scores.mean())


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


@attack("the same noisy value is taken away again", dp.PureDP(1.0))
def taken_away(scores):
    noisy = Laplace(epsilon=1.0, sensitivity=0.05).randomise(scores.mean())
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


@attack("1 - δ is rounded: half the noise", dp.PureDP(1.0))
def rounded_delta(scores):
    mechanism = Laplace(epsilon=0.0, delta=5.6e-17, sensitivity=2.9e-18)
    return mechanism.randomise(scores.mean())


@attack("a scale that underflows to 0", dp.PureDP(1.0))
def underflowing_scale(scores):
    return Laplace(epsilon=3.0, sensitivity=5e-324).randomise(scores.mean() * 1e-323)
