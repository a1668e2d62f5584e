"""Randomised responses, unary encodings and local hashing as people write them, with their ε."""

import math

import numpy as np

RIGHT: list[tuple] = []
"""The function, the number of values (None: of scores), and ε."""


def right(domain, epsilon=1.0):  # noqa: ANN201
    """Keep a function with its exact ε."""

    def keep(function):  # noqa: ANN202
        RIGHT.append((function, domain, epsilon))
        return function

    return keep


@right(4, 2.0)
def others_by_shift(x, *, rng, eps=2.0, k=4):
    if rng.random() < math.exp(eps) / (math.exp(eps) + k - 1):
        return x
    y = int(rng.integers(k - 1))
    return y if y < x else y + 1


@right(2)
def warner(x, *, rng):
    return x if rng.random() < math.e / (1 + math.e) else 1 - x


@right(4)
def uniform_lie(x, *, rng, eps=1.0, k=4):
    if rng.random() < math.expm1(eps) / (math.exp(eps) + k - 1):
        return x
    return int(rng.integers(k))


@right(4)
def choice_over_others(x, *, rng, eps=1.0, k=4):
    p = np.exp(eps) / (np.exp(eps) + k - 1)
    return x if rng.random() < p else int(rng.choice([v for v in range(k) if v != x]))


@right(4)
def choice_by_weights(x, *, rng, eps=1.0, k=4):
    q = 1 / (np.exp(eps) + k - 1)
    return int(rng.choice(k, p=[np.exp(eps) * q if v == x else q for v in range(k)]))


@right(4)
def filled_weights(x, *, rng, eps=1.0, k=4):
    weights = np.full(k, 1 / (np.exp(eps) + k - 1))
    weights[x] = np.exp(eps) / (np.exp(eps) + k - 1)
    return int(rng.choice(k, p=weights))


@right(4)
def shifted_past_it(x, *, rng, eps=1.0, k=4):
    y = int(rng.integers(k - 1))
    y += y >= x
    return x if rng.random() < math.exp(eps) / (math.exp(eps) + k - 1) else y


@right(2, math.log(3))
def two_coins(x, *, rng):
    if rng.integers(2) == 1:
        return x
    return int(rng.integers(2))


@right(6)
def optimised_unary(x, *, rng, eps=1.0, k=6):
    bits = np.eye(k, dtype=int)[x]
    return (rng.random(k) < np.where(bits == 1, 0.5, 1 / (math.exp(eps) + 1))).astype(int)


@right(6)
def optimised_unary_in_a_loop(x, *, rng, eps=1.0, k=6):
    q = 1 / (math.exp(eps) + 1)
    return [int(rng.random() < (0.5 if i == x else q)) for i in range(k)]


@right(6)
def optimised_unary_by_choice(x, *, rng, eps=1.0, k=6):
    q = 1 / (math.exp(eps) + 1)
    return [1 if rng.random() < (0.5 if i == x else q) else 0 for i in range(k)]


@right(6)
def symmetric_unary(x, *, rng, eps=1.0, k=6):
    p = math.exp(eps / 2) / (math.exp(eps / 2) + 1)
    keep = rng.random(k) < np.where(np.eye(k)[x], p, 1 - p)
    return keep.tolist()


@right(6)
def symmetric_unary_by_flips(x, *, rng, eps=1.0, k=6):
    bits = np.zeros(k, dtype=int)
    bits[x] = 1
    flip = rng.random(k) < 1 / (math.exp(eps / 2) + 1)
    return np.where(flip, 1 - bits, bits)


@right(6)
def symmetric_unary_by_xor(x, *, rng, eps=1.0, k=6):
    return np.logical_xor(np.arange(k) == x, rng.random(k) < 1 / (math.exp(eps / 2) + 1))


@right(4, 2 * math.log(3))
def permanent_response(x, *, rng, f=0.5, k=4):
    bits = np.eye(k, dtype=int)[x]
    return np.where(rng.random(k) < f, rng.integers(0, 2, size=k), bits)


@right(6)
def binomial_bits(x, *, rng, eps=1.0, k=6):
    return rng.binomial(1, np.where(np.arange(k) == x, 0.5, 1 / (math.exp(eps) + 1)))


@right(10)
def local_hashing(x, *, rng, eps=1.0, g=4):
    a, b = int(rng.integers(1, 2**31 - 1)), int(rng.integers(2**31 - 1))
    h = (a * x + b) % (2**31 - 1) % g
    if rng.random() < math.exp(eps) / (math.exp(eps) + g - 1):
        return a, b, h
    y = int(rng.integers(g - 1))
    return a, b, y if y < h else y + 1


@right(None)
def loop_over_scores(scores, *, rng):
    out = []
    for s in scores:
        bit = int(s > 0.5)
        if rng.random() < math.e / (1 + math.e):
            out.append(bit)
        else:
            out.append(1 - bit)
    return out


@right(None)
def binned_scores(scores, *, rng, k=5):
    def respond(b):  # noqa: ANN202
        if rng.random() < math.e / (math.e + k - 1):
            return b
        other = int(rng.integers(k - 1))
        return other + int(other >= b)

    return [respond(min(int(k * s), k - 1)) for s in scores]


@right(None)
def debiased_share(scores, *, rng):
    keep = math.e / (1 + math.e)
    bits = [int((s > 0.5) == (rng.random() < keep)) for s in scores]
    return (np.mean(bits) - (1 - keep)) / (2 * keep - 1)


@right(None)
def coins_at_once(scores, *, rng, eps=1.0):
    bits = (scores > 0.5).astype(int)
    p = math.exp(eps) / (1 + math.exp(eps))
    reports = np.where(rng.random(len(scores)) < p, bits, 1 - bits)
    return (reports.mean() - (1 - p)) / (2 * p - 1)


@right(None)
def flips_at_once(scores, *, rng, eps=1.0):
    bits = scores > 0.5
    flip = rng.random(scores.shape) < 1 / (1 + math.exp(eps))
    return np.where(flip, ~bits, bits)


@right(None, 2.0)
def two_bits_at_once(scores, *, rng, eps=1.0):
    p = math.exp(eps) / (1 + math.exp(eps))
    first, second = np.where(scores > 0.3, 1, 0), np.where(scores > 0.6, 1, 0)
    one = np.where(rng.random(len(scores)) < p, first, 1 - first)
    return one, np.where(rng.random(len(scores)) < p, second, 1 ^ second)


@right(None, math.log(4))
def levels_at_once(scores, *, rng):
    bits = (scores > 0.5).astype(float)
    return np.where(rng.random(len(scores)) < 0.8, 3 * bits - 1, 2 - 3 * bits)
