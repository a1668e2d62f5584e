"""Functions that leak, or that cannot be followed: none may be proved."""

import warnings

import numpy as np
from support.proof_marks import refused

STATE = []
SHARED = np.zeros(3)
MY_RNG = np.random.default_rng(1)


@refused("without noise")
def last_round(scores, *, rng):
    c = np.sum(scores <= 0.5)
    for _ in range(3):
        c = np.sum(scores <= 0.5) + rng.normal(0, 100)
    if np.sum(scores) > 3:
        return 1.0
    return c


@refused("used again")
def one_draw(scores, *, rng):
    z = rng.laplace(0, 100)
    return np.sum(scores <= 0.5) + z, np.sum(scores <= 0.7) + z


@refused("used again")
def draw_told(scores, *, rng):
    z = rng.laplace(0, 100)
    y = np.sum(scores) + z
    return z, y


@refused("such noise hides only which entry")
def argmax_then_value(scores, *, rng):
    y = np.histogram(scores, 5, (0, 1))[0] + rng.gumbel(0, 100, size=5)
    k = np.argmax(y)
    return k, y[k]


@refused("one draw would be on several")
def broadcast(scores, *, rng):
    return np.histogram(scores, 5, (0, 1))[0] + rng.laplace(0, 100)


@refused("generator of the program's own")
def seeded(scores):
    return np.sum(scores) + np.random.default_rng(7).laplace(0, 100)


@refused("generator of the program's own")
def outside_generator(scores):
    return np.sum(scores) + MY_RNG.laplace(0, 100)


@refused("seed")
def seeds(scores):
    np.random.seed(1)
    return np.sum(scores) + np.random.laplace(0, 100)


@refused("printed depends on")
def prints(scores, *, rng):
    print(scores)
    return np.sum(scores) + rng.laplace(0, 100)


@refused("warn is not|not followed|no Python")
def warns(scores, *, rng):
    warnings.warn(str(scores))
    return np.sum(scores) + rng.laplace(0, 100)


@refused("outside|not followed")
def keeps(scores, *, rng):
    STATE.append(scores)
    return np.sum(scores) + rng.laplace(0, 100)


@refused("changed in place|IndexError|an entry of")
def keeps_in_array(scores, *, rng):
    SHARED[0] = np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 100)


@refused("in place")
def sorts_in_place(scores, *, rng):
    scores.sort()
    return np.sum(scores) + rng.laplace(0, 100)


@refused("a quotient of a public value and a count of records")
def tries(scores, *, rng):
    try:
        x = 1 / np.count_nonzero(scores > 0.5)
    except ZeroDivisionError:
        return -1
    return np.sum(scores) + rng.laplace(0, 100)


@refused("bins of a histogram come from the data")
def bins_of_data(scores, *, rng):
    return np.histogram(scores, 10)[1]


@refused("drawn again until the result is accepted")
def until(scores, *, rng):
    x = 0.0
    while x < 10:
        x = np.sum(scores) + rng.laplace(0, 1e9)
    return x


@refused("scale of noise depends")
def scale_of_data(scores, *, rng):
    return rng.laplace(0, np.sum(scores))


@refused("location of laplace noise of scale 0")
def no_noise(scores, *, rng):
    return rng.laplace(np.sum(scores), 0 * 3.0)


@refused("what is returned depends")
def cancelled_scale(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, 100) * ((1e16 + 1) - 1e16)


@refused("an index depends")
def indexed(scores, *, rng):
    return [1, 2][np.count_nonzero(scores > 0.5)]


@refused("GeneratorExp is not followed")
def lazily(scores, *, rng):
    g = (scores[i] for i in range(3))
    return len(list(g))


@refused("one record is taken out")
def first(scores, *, rng):
    return scores[0] + rng.laplace(0, 1e9)


@refused("more than 1|0.0001")
def exceeds(scores, *, rng):
    return np.quantile(scores, 0.9) + rng.laplace(0, 1e-4)


@refused("what is returned is")
def hands_out(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, 100), rng


@refused("each record")
def draw_for_each(scores, *, rng):
    return sum(z + rng.laplace(0, 100) for z in scores)


@refused("compared with")
def thresholds_of_unknown_shape(scores, *, rng):
    grid = np.append(np.linspace(0, 1, 5), rng.uniform())
    return np.count_nonzero(scores <= grid) + rng.laplace(0, 100)


@refused("closer|whole number")
def geometric_on_mean(scores, *, rng):
    return np.mean(scores) + (rng.geometric(0.001) - rng.geometric(0.001))


@refused("divided by their own sum")
def unnormalised(scores, *, rng):
    w = np.exp(0.001 * np.histogram(scores, 5, (0, 1))[0])
    return rng.choice(5, p=w)


@refused("changed in place")
def noise_row(scores, *, rng):
    noise = rng.normal(0, 1000, size=(2, 5))
    row = noise[0]
    row += np.histogram(scores, 5, (0, 1))[0]
    return noise


@refused("while a loop goes through it")
def changed_while_iterated(scores, *, rng):
    a = [0.0, 0.0]
    last = 0.0
    for v in a:
        a[1] = np.sum(scores)
        last = v
    return last


@refused("while a loop goes through it")
def changed_while_enumerated(scores, *, rng):
    a = [0.0, 0.0]
    last = 0.0
    for i, v in enumerate(a):
        if i == 0:
            a[1] = np.sum(scores)
        last = v
    return last


@refused("another name")
def alias_of_a_filled_array(scores, *, rng):
    out = np.zeros(3)
    b = np.asarray(out)
    out[0] = np.sum(scores)
    return b


@refused("another name")
def view_of_a_filled_array(scores, *, rng):
    out = np.zeros(3)
    b = out.ravel()
    out[0] = np.sum(scores)
    return b


@refused("writes into")
def out_argument(scores, *, rng):
    out = np.zeros(1)
    np.add(rng.random(), 5, out=out)
    return np.sum(scores) + rng.laplace(0, 100 - out[0])


@refused("more than 1")
def one_coordinate_twice(scores, *, rng):
    h = np.histogram(scores, 5, (0, 1))[0]
    return h[1] + rng.normal(0, 0.5), h[1:][0] + rng.normal(0, 0.5), h[0] + rng.normal(0, 0.5)


@refused("in place")
def changed_while_gone_through(scores, *, rng):
    h = np.histogram(scores, 5, (0, 1))[0]
    out = []
    for c in h:
        h += np.histogram(scores, 5, (0, 1))[0]
        out.append(c + rng.laplace(0, 2))
    return out


@refused("whatever was in memory")
def what_memory_holds(scores, *, rng):
    return np.empty(5)


@refused("while a loop goes through it")
def changed_in_a_zip(scores, *, rng):
    a = [0.0, 0.0]
    last = 0.0
    for i, (v, _) in enumerate(zip(a, a, strict=True)):
        if i == 0:
            a[1] = np.sum(scores)
        last = v
    return last


@refused("a loop is not seen to end")
def a_round_that_may_be_the_last(scores, *, rng):
    rounds = 0
    while True:
        value = np.mean(scores) + rng.laplace(scale=100.0)
        rounds += 1
        if rounds > 3 and value > 1e9:
            return float(value)
