"""Functions that misuse diffprivlib's mechanisms, or that draw from changed ones."""

import numpy as np
from diffprivlib.mechanisms import (
    Exponential,
    Gaussian,
    GaussianDiscrete,
    Geometric,
    Laplace,
    LaplaceBoundedDomain,
    LaplaceTruncated,
    Staircase,
    PermuteAndFlip,
    Snapping,
    Staircase,
    Uniform,
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


# ---------------------------------------------------------------------- whole numbers, and stairs

SEEDED_STAIRS = Staircase(epsilon=1.0, sensitivity=0.05, random_state=3)


@attack("μ of discrete Gaussian noise is not that of Gaussian noise", dp.GaussianDP(10.0))
def discrete_as_gaussian(scores):
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.01)
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("δ of discrete Gaussian noise on a count that moves by two", CURVE)
def discrete_for_two(scores):
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.01)
    return mechanism.randomise(2 * int(np.count_nonzero(scores > 0.5)))


@attack("discrete Gaussian noise has no pure ε", dp.PureDP(100.0))
def discrete_as_pure(scores):
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.01)
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("an error shows whether a sum is a whole number", dp.ZCDP(1.0))
def discrete_of_a_sum(scores):
    return GaussianDiscrete(epsilon=1.0, delta=0.01).randomise(scores.sum())


@attack("a sum is rounded before: neighbours may be a whole number apart", dp.ZCDP(0.01))
def discrete_of_a_rounded_sum(scores):
    return GaussianDiscrete(epsilon=1.0, delta=0.01).randomise(round(scores.sum() / 10))


@attack("no sensitivity, no discrete noise", dp.ZCDP(1.0))
def discrete_without_sensitivity(scores):
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.01, sensitivity=0)
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("infinite ε is no discrete noise", dp.ZCDP(1.0))
def discrete_of_infinite_epsilon(scores):
    mechanism = GaussianDiscrete(epsilon=float("inf"), delta=0.01)
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("a seed is given to discrete noise", dp.ZCDP(1.0))
def discrete_seeded(scores):
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.01, random_state=7)
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("the scale is assigned inside", dp.ZCDP(1.0))
def discrete_scale_changed(scores):
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.01)
    mechanism._scale = 0.1
    return mechanism.randomise(int(np.count_nonzero(scores > 0.5)))


@attack("discrete noise is taken away again", dp.ZCDP(1.0))
def discrete_taken_away(scores):
    count = int(np.count_nonzero(scores > 0.5))
    noisy = GaussianDiscrete(epsilon=1.0, delta=0.01).randomise(count)
    return noisy, noisy - count


@attack("a step of half the distance", dp.PureDP(1.0))
def half_a_step(scores):
    return Staircase(epsilon=1.0, sensitivity=0.025).randomise(scores.mean())


@attack("a step that is a little too short costs twice", dp.PureDP(1.9))
def short_step(scores):
    return Staircase(epsilon=1.0, sensitivity=0.0499).randomise(scores.mean())


@attack("two steps for one ε", dp.PureDP(1.0))
def stairs_twice(scores):
    mechanism = Staircase(epsilon=1.0, sensitivity=1.0)
    return mechanism.randomise(scores.sum()), mechanism.randomise(scores.sum())


@attack("several numbers are no number", dp.PureDP(1.0))
def stairs_on_an_array(scores):
    return Staircase(epsilon=1.0, sensitivity=1.0).randomise(np.cumsum(scores))


@attack("a seed is given to the stairs", dp.PureDP(1.0))
def seeded_stairs(scores):
    mechanism = Staircase(epsilon=1.0, sensitivity=0.05, random_state=2)
    return mechanism.randomise(scores.mean())


@attack("stairs that were made before, of a known seed", dp.PureDP(1.0))
def stairs_made_before(scores):
    return SEEDED_STAIRS.randomise(scores.mean())


@attack("γ is read from the data", dp.PureDP(1.0))
def gamma_from_data(scores):
    return Staircase(epsilon=1.0, sensitivity=0.05, gamma=scores.mean()).randomise(scores.mean())


@attack("the sensitivity of the stairs is read from the data", dp.PureDP(1.0))
def step_from_data(scores):
    return Staircase(epsilon=1.0, sensitivity=float(np.ptp(scores))).randomise(scores.mean())


@attack("an order statistic moves by the whole range", dp.PureDP(1.0))
def stairs_on_a_quantile(scores):
    return Staircase(epsilon=1.0, sensitivity=0.05).randomise(np.quantile(scores, 0.9))


@attack("a step of no width is no noise", dp.PureDP(1.0))
def no_step(scores):
    return Staircase(epsilon=1.0, sensitivity=0).randomise(scores.mean())


@attack("uniform noise has no pure ε", dp.PureDP(5.0))
def uniform_as_pure(scores):
    return Uniform(delta=0.01, sensitivity=0.05).randomise(scores.mean())


@attack("uniform noise twice, at the δ of one", dp.ApproxDP(1.0, 0.01))
def uniform_twice(scores):
    mechanism = Uniform(delta=0.01, sensitivity=0.05)
    return mechanism.randomise(scores.mean()), mechanism.randomise(scores.mean())


@attack("uniform noise narrower than the distance", dp.ApproxDP(1.0, 0.5))
def uniform_too_narrow(scores):
    return Uniform(delta=0.4, sensitivity=0.01).randomise(scores.mean())


@attack("a seeded staircase", dp.PureDP(1.0))
def seeded_staircase(scores):
    return Staircase(epsilon=1.0, sensitivity=0.05, random_state=1).randomise(scores.mean())


@attack("a distance just above a step of the staircase costs the next one", dp.PureDP(1.5))
def above_a_step(scores):
    return Staircase(epsilon=1.0, sensitivity=0.049).randomise(scores.mean())


@attack("a staircase without geometric tails, as 1 - exp(-ε) is 1", dp.PureDP(50.0))
def staircase_without_tails(scores):
    return Staircase(epsilon=40.0, sensitivity=0.05).randomise(scores.mean())


@attack("its bounds for floating-point numbers are not proved here", dp.PureDP(1.0))
def snapped(scores):
    mechanism = Snapping(epsilon=1.0, sensitivity=0.05, lower=0.0, upper=1.0)
    return mechanism.randomise(scores.mean())


@attack("discrete Gaussian noise has no pure ε", dp.PureDP(9.0))
def discrete_as_pure(scores):
    return GaussianDiscrete(epsilon=1.0, delta=0.01).randomise(int(np.sum(scores > 0.5)))


@attack("discrete Gaussian noise is no Gaussian noise", dp.GaussianDP(5.0))
def discrete_as_gaussian(scores):
    return GaussianDiscrete(epsilon=1.0, delta=0.01).randomise(int(np.sum(scores > 0.5)))


@attack("a utility moves by three", dp.PureDP(1.4))
def utility_of_three(scores):
    count = int(np.count_nonzero(scores > 0.5))
    return Exponential(epsilon=1.0, sensitivity=1, utility=[3 * count, 10]).randomise()


@attack("a utility that moves both ways is said to move one way", dp.PureDP(1.0))
def not_monotonic(scores):
    counts = np.histogram(scores, bins=4, range=(0, 1))[0].tolist()
    return Exponential(epsilon=1.0, sensitivity=1, utility=counts, monotonic=True).randomise()


@attack("two choices for one", dp.PureDP(1.0))
def chosen_twice(scores):
    count = int(np.count_nonzero(scores > 0.5))
    mechanism = PermuteAndFlip(epsilon=1.0, sensitivity=1, utility=[count, 20 - count])
    return mechanism.randomise(), mechanism.randomise()


@attack("candidates are made of the data", dp.PureDP(1.0))
def candidates_of_data(scores):
    utility = [int(np.count_nonzero(scores > 0.5)), 10]
    candidates = [float(scores.min()), float(scores.max())]
    return Exponential(
        epsilon=1.0, sensitivity=1, utility=utility, candidates=candidates
    ).randomise()


@attack("candidates are changed after the mechanism is made", dp.PureDP(1.0))
def candidates_changed(scores):
    utility, candidates = [int(np.count_nonzero(scores > 0.5)), 10], [0.0, 1.0]
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=utility, candidates=candidates)
    candidates[0] = float(scores.max())
    return mechanism.randomise()


@attack("a candidate is a list that is filled afterwards", dp.PureDP(1.0))
def candidate_filled(scores):
    kept = [0.0]
    utility, candidates = [int(np.count_nonzero(scores > 0.5)), 10], [kept, kept]
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=utility, candidates=candidates)
    kept.append(float(scores.max()))
    return mechanism.randomise()


@attack("the length of the utility is changed, which raises an error", dp.PureDP(1.0))
def utility_grows(scores):
    utility = [int(np.count_nonzero(scores > 0.5)), 10]
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=utility)
    utility.append(float("inf"))
    return mechanism.randomise()


@attack("a measure of the candidates", dp.PureDP(1.0))
def measured(scores):
    utility = [int(np.count_nonzero(scores > 0.5)), 10]
    weights = [float(scores.max()), 1.0]
    return Exponential(epsilon=1.0, sensitivity=1, utility=utility, measure=weights).randomise()


@attack("the probabilities are shown", dp.PureDP(1.0))
def probabilities(scores):
    utility = [int(np.count_nonzero(scores > 0.5)), 10]
    return Exponential(epsilon=1.0, sensitivity=1, utility=utility)._probabilities


@attack("the utility is shown", dp.PureDP(1.0))
def utility_shown(scores):
    utility = [int(np.count_nonzero(scores > 0.5)), 10]
    mechanism = Exponential(epsilon=1.0, sensitivity=1, utility=utility)
    return mechanism.randomise(), repr(mechanism)


@attack("the records are the utility", dp.PureDP(1.0))
def records_as_utility(scores):
    return Exponential(epsilon=1.0, sensitivity=1, utility=scores.tolist()).randomise()


@attack("a number of candidates by the data", dp.PureDP(1.0))
def utility_by_data(scores):
    utility = [1.0] * int(np.count_nonzero(scores > 0.5))
    return Exponential(epsilon=1.0, sensitivity=1, utility=utility).randomise()
