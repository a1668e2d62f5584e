"""Python's own ways past a reader of source: aliases, hidden state, rebound names, seeds, objects."""

import contextlib
import copy
import functools
import random

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

ATTACKS = Table("python")
add = ATTACKS.add
MEMORY: list = []
COUNTER = {"calls": 0}
SCALE = [1.0]


def sorted_in_place(scores, *, rng):
    first = scores[0] * 0
    scores.sort()
    return scores[-1] + first


add(sorted_in_place, "sorts, and returns the largest", event=lambda v: v == 1)


def alias_grows(scores, *, rng):
    x = scores
    x *= 10
    return scores.sum() + rng.laplace(0.0, 1.0)


add(alias_grows, "x *= 10 changes scores", loss=10.0, event=lambda v: v > 5)


def view_grows(scores, *, rng):
    half = scores[10:]
    half[:] = half * 10
    return scores.sum() + rng.laplace(0.0, 1.0)


add(view_grows, "a slice is a view", loss=10.0, event=lambda v: v > 5)


def out_grows(scores, *, rng):
    np.multiply(scores, 10, out=scores)
    return scores.sum() + rng.laplace(0.0, 1.0)


add(out_grows, "out= changes scores", loss=10.0, event=lambda v: v > 5)


def list_alias(scores, *, rng):
    a = b = []
    a.append(scores.max())
    b.append(rng.laplace(0.0, 1.0))
    return b


add(list_alias, "two names of one list", event=lambda v: v[0] == 1)


def default_list(scores, *, rng, seen=[]):
    seen.append(scores.max())
    return seen[-2:] + [rng.laplace(0.0, 1.0)]


add(default_list, "a default list keeps the data", event=lambda v: v[-2] == 1)


def global_list(scores, *, rng):
    MEMORY.append(float(scores.max()))
    return MEMORY[-1] * 9 + rng.laplace(0.0, 1.0)


add(global_list, "a global list carries the data", loss=9.0, event=lambda v: v > 4)


def scale_shrinks(scores, *, rng):
    SCALE[0] *= 0.5
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, SCALE[0])


add(scale_shrinks, "the scale is halved at each call", event=lambda v: v >= 1)


def attribute_store(scores, *, rng):
    attribute_store.value = scores.max()
    return attribute_store.value * 9 + rng.laplace(0.0, 1.0)


add(
    attribute_store,
    "an attribute of the function carries the data",
    loss=9.0,
    event=lambda v: v > 4,
)


def _helper_mutates(values):
    values *= 10
    return values


def mutated_by_helper(scores, *, rng):
    _helper_mutates(scores)
    return scores.sum() + rng.laplace(0.0, 1.0)


add(mutated_by_helper, "a helper changes its argument", loss=10.0, event=lambda v: v > 5)


def nonlocal_total(scores, *, rng):
    total = 0.0

    def step(s):
        nonlocal total
        total += 9 * s

    for s in scores:
        step(s)
    return total + rng.laplace(0.0, 1.0)


add(nonlocal_total, "nonlocal total", loss=9.0, event=lambda v: v > 4)


def late_binding(scores, *, rng):
    noises = [lambda: z for z in (rng.laplace(0.0, 2.0), 0.0)]
    return np.count_nonzero(scores > 0.5) + noises[0]()


add(late_binding, "the lambda sees the last z, 0", event=lambda v: v == 1)


def laplace_shadowed(scores, *, rng):
    class Fake:
        def laplace(self, loc, scale):
            return 0.0

    rng = Fake()
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(laplace_shadowed, "rng is rebound to an object without noise", event=lambda v: v == 1)


def numpy_shadowed(scores, *, rng):
    class np:
        @staticmethod
        def clip(x, low, high):
            return 10 * x

    return np.clip(scores, 0, 1).sum() + rng.laplace(0.0, 1.0)


add(numpy_shadowed, "np is a class of its own", loss=10.0, event=lambda v: v > 5)


def len_shadowed(scores, *, rng):
    len = lambda x: 1000
    return scores.mean() + rng.laplace(0.0, 1 / len(scores))


add(len_shadowed, "len is 1000", loss=50.0, event=lambda v: v > 0.025)


def _sum(x):
    return 10 * x.sum()


def sum_aliased(scores, *, rng, sum=_sum):
    return sum(scores) + rng.laplace(0.0, 1.0)


add(sum_aliased, "a default argument shadows sum", loss=10.0, event=lambda v: v > 5)


def _ignores_noise(function):
    @functools.wraps(function)
    def wrapped(scores, *, rng):
        function(scores, rng=rng)
        return np.count_nonzero(scores > 0.5)

    return wrapped


@_ignores_noise
def decorated(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(decorated, "a decorator with wraps drops the noise", event=lambda v: v == 1)


def _count(scores, *, rng, scale):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, scale)


add(
    functools.wraps(_count)(functools.partial(_count, scale=0.1)),
    "partial with scale 0.1",
    loss=10.0,
    event=lambda v: v > 0.5,
)


@functools.lru_cache
def _cached_noise():
    return np.random.default_rng(1).laplace(0.0, 1.0)


def cached_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + _cached_noise()


add(cached_noise, "one cached draw for all calls")


def seed_returned(scores, *, rng):
    seed = int(rng.integers(2**32))
    return seed, np.count_nonzero(scores > 0.5) + np.random.default_rng(seed).laplace(0.0, 1.0)


add(
    seed_returned,
    "the seed is returned",
    event=lambda v: round(v[1] - np.random.default_rng(v[0]).laplace(0.0, 1.0)) == 1,
)


def seed_twice(scores, *, rng):
    seed = int(rng.integers(2**32))
    z, w = (np.random.default_rng(seed).laplace(0.0, 2.0) for _ in range(2))
    return np.count_nonzero(scores > 0.5) + z - w


add(seed_twice, "one seed for two generators", event=lambda v: v == 1)


def seed_from_data(scores, *, rng):
    return np.random.default_rng(int(scores.sum())).laplace(0.0, 1.0)


add(seed_from_data, "seeded by the data")


def generator_copied(scores, *, rng):
    twin = copy.deepcopy(rng)
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0) - twin.laplace(0.0, 1.0)


add(generator_copied, "a copy draws the same", event=lambda v: v == 1)


def state_set(scores, *, rng):
    state = rng.bit_generator.state
    z = rng.laplace(0.0, 1.0)
    rng.bit_generator.state = state
    return np.count_nonzero(scores > 0.5) + z, rng.laplace(0.0, 1.0)


add(state_set, "the state is set back", event=lambda v: round(v[0] - v[1]) == 1)


def state_returned(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0), rng.bit_generator.state


add(state_returned, "the generator's state is returned")


def global_seed(scores, *, rng):
    np.random.seed(3)
    return np.count_nonzero(scores > 0.5) + np.random.laplace(0.0, 1.0)


add(global_seed, "np.random is seeded")


def random_seeded(scores, *, rng):
    random.seed(3)
    return np.count_nonzero(scores > 0.5) + random.gauss(0.0, 1.0)


add(random_seeded, "random is seeded", dp.ZCDP(0.5))


def shuffled_noise_kept(scores, *, rng):
    z = rng.laplace(0.0, 1.0, size=20)
    rng.shuffle(scores)
    return scores[0] + 0 * z[0]


add(shuffled_noise_kept, "a random score is returned", event=lambda v: v == 1)


def consumed_by_data(scores, *, rng):
    for _ in range(int(scores.sum())):
        rng.random()
    return (
        np.random.default_rng(0).random() + rng.integers(2)
        if scores.sum() < 0
        else [s for s in scores if rng.random() < 2]
    )


add(consumed_by_data, "all scores are returned", event=lambda v: v[-1] == 1)


def swallowed(scores, *, rng):
    out = 0.0
    with contextlib.suppress(ZeroDivisionError):
        out = 1 / int(scores.sum())
        out = 100.0
    return out + rng.laplace(0.0, 1.0)


add(swallowed, "with suppress: an error of the data", loss=100.0, event=lambda v: v > 50)


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True


def swallowed_by_class(scores, *, rng):
    out = np.count_nonzero(scores > 0.5)
    with Swallow():
        1 / 0
        out = out + rng.laplace(0.0, 1.0)
    return out


add(swallowed_by_class, "__exit__ swallows the error before the noise", event=lambda v: v == 1)


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return self.value

    def __getattr__(self, name):
        return self.value


def operator_overloaded(scores, *, rng):
    return Number(np.count_nonzero(scores > 0.5)) + rng.laplace(0.0, 1.0)


add(operator_overloaded, "__add__ drops the noise", event=lambda v: v == 1)


def attribute_hook(scores, *, rng):
    return Number(scores.max()).noisy


add(attribute_hook, "__getattr__ returns the data", event=lambda v: v == 1)


class Mechanism:
    scale = 1.0

    def __init__(self):
        self.noise = 0.0

    @property
    def laplace(self):
        return self.noise

    def __call__(self, scores, *, rng):
        self.noise = rng.laplace(0.0, self.scale)
        self.noise -= self.laplace
        return np.count_nonzero(scores > 0.5) + self.noise


def property_cancels(scores, *, rng):
    return Mechanism()(scores, rng=rng)


add(property_cancels, "a property gives the noise back", event=lambda v: v == 1)


class Narrow(Mechanism):
    scale = 0.1

    def __call__(self, scores, *, rng):
        return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, self.scale)


def subclass_scale(scores, *, rng):
    return Narrow()(scores, rng=rng)


add(subclass_scale, "the subclass sets scale 0.1", loss=10.0, event=lambda v: v > 0.5)


def generator_yields(scores, *, rng):
    yield np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
    yield scores.max()


add(generator_yields, "yields the maximum", event=lambda v: list(v)[1] == 1)


def closure_returned(scores, *, rng):
    return lambda: scores


add(closure_returned, "returns a closure over the scores", event=lambda v: v()[-1] == 1)


def recursive(scores, *, rng):
    if len(scores) == 1:
        return 2 * scores[0] + rng.laplace(0.0, 1.0)
    return max(recursive(scores[:1], rng=rng), recursive(scores[1:], rng=rng))


add(recursive, "recursion; scale 1 for 2", loss=2.0)


def evaluated(scores, *, rng):
    return eval("scores.max()") + 0 * rng.laplace(0.0, 1.0)


add(evaluated, "eval", event=lambda v: v == 1)


def local_names(scores, *, rng):
    return locals()["scores"]


add(local_names, "locals()", event=lambda v: v[-1] == 1)


def noisy_max_value(scores, *, rng):
    counts, _ = np.histogram(scores, bins=4, range=(0, 1))
    noisy = counts + rng.laplace(0.0, 1.0, size=4)
    return int(np.argmax(noisy)), noisy.max()


add(noisy_max_value, "noisy maximum of a histogram at scale 1, with its value", loss=2.0)


def exponential_without_two(scores, *, rng):
    u = np.array([-abs(np.count_nonzero(scores <= t) - 10) for t in (0.2, 0.5, 0.8)])
    w = np.exp(2 * (u - u.max()))
    return rng.choice(3, p=w / w.sum())


add(exponential_without_two, "weights exp(2u)", dp.PureDP(0.5), loss=1.66)


def svt_no_query_noise(scores, *, rng):
    t = 10 + rng.laplace(0.0, 2.0)
    return [bool(np.count_nonzero(scores <= x) >= t) for x in (0.2, 0.4, 0.6, 0.8)] + [
        bool(np.count_nonzero(scores > 0.5) >= t)
    ]


add(
    svt_no_query_noise,
    "sparse vector without query noise (Lyu, Su, Li 2017, algorithm 5)",
    pair=(np.r_[np.zeros(10), np.ones(10)], np.r_[np.zeros(11), np.ones(9)]),
    event=lambda v: v[0] and not v[4],
)


def svt_no_limit(scores, *, rng):
    t = 10 + rng.laplace(0.0, 2.0)
    high, low = np.count_nonzero(scores > 0.5), np.count_nonzero(scores <= 0.5)
    return [bool(q + rng.laplace(0.0, 2.0) >= t) for _ in range(20) for q in (high, low)]


add(
    svt_no_limit,
    "sparse vector without a limit of answers , with two queries that move apart",
    loss=10.0,
)


def svt_value(scores, *, rng):
    t = 10 + rng.laplace(0.0, 2.0)
    for x in (0.2, 0.4, 0.6):
        noisy = np.count_nonzero(scores <= x) + rng.laplace(0.0, 4.0)
        if noisy >= t:
            return noisy
    return None


add(
    svt_value,
    "sparse vector that returns the compared value (algorithm 3)",
    loss=0.75,
    claim=dp.PureDP(0.7),
)


def subsample_fixed(scores, *, rng):
    return np.count_nonzero(scores[:2] > 0.5) + rng.laplace(0.0, 1.0)


add(subsample_fixed, "a fixed subset is not amplified", dp.PureDP(0.16), loss=1.0)


def subsample_replacement(scores, *, rng):
    return scores[rng.integers(20, size=10)].sum() + rng.laplace(0.0, 1.0)


add(
    subsample_replacement,
    "drawn with replacement: a record counts up to 10 times",
    dp.PureDP(0.3),
    loss=0.82,
)


def clips_the_mean(scores, *, rng):
    gradient = np.array([1.0, 5.0]) * scores.sum()
    gradient = gradient * min(1.0, 1 / (np.linalg.norm(gradient) + 1e-12)) * len(scores)
    return gradient + rng.normal(0.0, 1.0, size=2)


add(
    clips_the_mean,
    "the batch is clipped, not the examples",
    dp.ZCDP(0.5),
    loss=200.0,
    event=lambda v: v[1] > 10,
)
