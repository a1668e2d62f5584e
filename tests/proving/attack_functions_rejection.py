"""Loops of rejection whose accepted draws have another law, or that tell of the data."""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

REJECTION = Table("rejection")
ATTACKS = REJECTION
CLAIM = dp.ZCDP(0.23)


def attack(reason, claim=CLAIM, **rest):
    return REJECTION.attack(reason, claim, **rest)


def accepts(y, rng, sigma=1.5):
    return rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2))


@attack("σ is a tenth less")
def less_noise(scores, *, rng, sigma=1.35):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("the centre is not σ²/t")
def other_centre(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 3) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("another rate of the geometric draws")
def other_rate(scores, *, rng, sigma=1.5):
    p = 1 - math.exp(-1 / 3)
    while True:
        y = rng.geometric(p) - rng.geometric(p)
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("the square of y is not that of its size less a number")
def shifted_square(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((y - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("chances above 1: the law is cut")
def above_one(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(abs(y) / 2 - y**2 / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("a chance that grows")
def growing(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp((abs(y) - sigma**2 / 2) ** 2 / (2 * sigma**2) - 9.0):
            return y + np.count_nonzero(scores > 0.5)


@attack("accepted where it should be refused")
def the_other_way(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() > math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("σ is read from the data")
def sigma_from_data(scores, *, rng):
    sigma = 1.5 + float(scores.mean())
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("one of the draws is of before the loop")
def one_draw_kept(scores, *, rng, sigma=1.5):
    first = rng.geometric(1 - math.exp(-1 / 2))
    while True:
        y = first - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("the draw is of before the loop")
def draw_kept(scores, *, rng, sigma=1.5):
    before = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
    while True:
        y = before
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("the uniform draw is of before the loop")
def coin_kept(scores, *, rng, sigma=1.5):
    u = rng.random()
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if u < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("the coin's draw is in the chance, too")
def coin_in_the_chance(scores, *, rng, sigma=1.5):
    u = 0.5
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        u = rng.random()
        scale = 4 * u
        if u < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (scale * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("σ changes from round to round")
def carried(scores, *, rng):
    sigma = 1.5
    while True:
        sigma = sigma / 2
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("a list grows with the rounds, and the noise with it")
def listed(scores, *, rng, sigma=1.5):
    seen = []
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        size = seen.append(1)
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5), len(seen), size


@attack("a rejected draw is used")
def other_candidate(scores, *, rng, sigma=1.5):
    while True:
        a = rng.geometric(1 - math.exp(-1 / 2))
        y = a - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5), a


@attack("the noise is used twice", claim=dp.ZCDP(0.5))
def twice(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            break
    return np.count_nonzero(scores > 0.5) + y, np.count_nonzero(scores > 0.3) + y


@attack("the noise is on a sum that is no whole number")
def on_a_sum(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + scores.sum()


@attack("acceptance depends on the noisy count")
def until_positive(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        noisy = np.count_nonzero(scores > 0.5) + y
        if rng.random() < math.exp(-((abs(noisy) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return noisy


@attack("half of the draw is returned")
def halved(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return np.count_nonzero(scores > 0.5) + y / 2


@attack("two draws are accepted together")
def of_two(scores, *, rng, sigma=1.5):
    while True:
        x = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return x + np.count_nonzero(scores > 0.5)


@attack("the sum of the draws is no difference")
def summed(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) + rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("a uniform draw on [0, 2)")
def wide_coin(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.uniform(0, 2) < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("discrete Gaussian noise has no pure ε", claim=dp.PureDP(50.0))
def as_pure(scores, *, rng, sigma=1.5):
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < math.exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)


@attack("a shadowed exp")
def own_exp(scores, *, rng, sigma=1.5):
    exp = abs
    while True:
        y = rng.geometric(1 - math.exp(-1 / 2)) - rng.geometric(1 - math.exp(-1 / 2))
        if rng.random() < exp(-((abs(y) - sigma**2 / 2) ** 2) / (2 * sigma**2)):
            return y + np.count_nonzero(scores > 0.5)
