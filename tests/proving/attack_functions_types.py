"""Attempts by what is done for some records only, by types of numbers, and by joined draws."""
# ruff: noqa

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

ATTACKS = Table("types")
attack = ATTACKS.attack
ZERO = np.float64(0.0)


@attack("a part of a draw beside the whole, each from a branch", n=20)
def join_parts2(scores, *, rng):
    z = rng.laplace(0, 8, size=2)
    if rng.random() < 0.5:
        v, w = z, z[0]
    else:
        v, w = rng.laplace(0, 8, size=2), rng.laplace(0, 8)
    h = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    a = np.count_nonzero(scores < 0.3) + w
    b = h + v
    return float(a), b[0], b[1]


@attack("a uniform draw that was used is public after a branch", n=10)
def uniform_given_up_used(scores, *, rng):
    n = len(scores)
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) * np.exp(-0.5 * np.abs(np.arange(n + 1) - 5))
    i = rng.choice(n + 1, p=w / w.sum())
    u = rng.random()
    out = edges[i] + (edges[i + 1] - edges[i]) * u
    if rng.random() < 0.5:
        v = u
    else:
        v = 0.3
    return out, v


@attack("a uniform draw that was used is public after a branch", n=10)
def uniform_given_up_two(scores, *, rng):
    n = len(scores)
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) * np.exp(-0.5 * np.abs(np.arange(n + 1) - 5))
    i = rng.choice(n + 1, p=w / w.sum())
    u = rng.random()
    if rng.random() < 0.5:
        a, b = u, u
    else:
        a, b = rng.random(), 0.3
    return edges[i] + (edges[i + 1] - edges[i]) * a, b


@attack("what is printed tells how many records there are", neighbours="add-remove", n=20)
def prints_n(scores, *, rng):
    return sum((print("x"), s)[1] for s in scores) + rng.laplace(0, 1.0)


@attack("what is printed tells how many records there are", n=20)
def prints_and(scores, *, rng):
    return sum(1 for s in scores if s > 0.5 and print("x") is None) + rng.laplace(0, 1.0)


@attack("what is printed tells how many records there are", n=20)
def prints_if2(scores, *, rng):
    return sum((print("x"), 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("what is printed tells how many records there are", n=20)
def prints_loop(scores, *, rng):
    c = 0
    for s in scores:
        if s > 0.5:
            c += (print("x"), 1)[1]
    return c + rng.laplace(0, 1.0)


@attack("what is printed tells how many records there are", n=20)
def lambda_prints(scores, *, rng):
    f = lambda s: (print("x"), 1)[1]
    return sum(f(s) if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def raise_if(scores, *, rng):
    u = rng.normal()
    return sum((math.sqrt(u), 1.0)[1] if s > 0.5 else 0.0 for s in scores) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def raise_chain(scores, *, rng):
    u = int(rng.integers(2))
    return sum(1 for s in scores if 0.5 < s < 1 / u) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def raise_index(scores, *, rng):
    u = int(rng.integers(2))
    return sum((([1.0][u]), 1)[1] for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def raise_loop(scores, *, rng):
    u = int(rng.integers(2))
    c = 0
    for s in scores:
        if s > 0.5:
            c += (1 % u, 1)[1]
    return c + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def raise_caught(scores, *, rng):
    try:
        return sum(((s > 0.2) - (s > 0.1), 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(
            0, 1.0
        )
    except TypeError:
        return 1e9


@attack("an error is raised for some records only", n=20)
def method_of_float(scores, *, rng):
    return sum((float(s).astype(float), 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(
        0, 1.0
    )


@attack("an error is raised for some records only", n=20)
def method_of_chosen(scores, *, rng):
    k = int(rng.integers(2))
    return sum((1 % k, 1)[1] for s in scores[scores > 0.5]) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def loop_of_chosen(scores, *, rng):
    k = int(rng.integers(2))
    c = 0
    for s in scores[scores > 0.5]:
        c += (1 % k, 1)[1]
    return c + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def lambda_raises(scores, *, rng):
    k = int(rng.integers(2))
    f = lambda s: (1 % k, 1)[1]
    return sum(f(s) if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def negated_raise(scores, *, rng):
    k = rng.normal()
    return sum(1 for s in scores if s > 0.5 if not (s < math.sqrt(k))) + rng.laplace(0, 1.0)


@attack("an error is raised for some records only", n=20)
def ternary_in_ternary(scores, *, rng):
    k = rng.normal()
    return sum(
        (0 if s > 0.7 else (math.log(k), 1)[1]) if s > 0.5 else 0 for s in scores
    ) + rng.laplace(0, 1.0)


@attack("a text is no threshold: an error for some records only", n=20)
def str_threshold(scores, *, rng):
    u = rng.choice(np.array(["a", "b"]))
    return sum(1 for s in scores if s > 0.5 and s < u) + rng.laplace(0, 1.0)


@attack("a text is no threshold: an error for some records only", n=20)
def none_threshold(scores, *, rng):
    u = np.array([None, 0.7])[int(rng.integers(2))]
    return sum(1 for s in scores if s > 0.5 and s < u) + rng.laplace(0, 1.0)


@attack("conditions as floats are of half precision", n=50000)
def fabs_half(scores, *, rng):
    return float(np.sum(np.fabs(scores > 0.5)) + rng.laplace(0, 1.0))


@attack("conditions as floats are of half precision", n=20)
def fabs_half_max(scores, *, rng):
    return float(np.fabs(np.max(scores > 0.5)) * 100000 + rng.laplace(0, 100000.0))


@attack("conditions as floats are of half precision", n=20)
def fabs_half_scalar(scores, *, rng):
    m = np.fabs(np.max(np.where(scores > 0.5, True, False)))
    return float(m * 100000 + rng.laplace(0, 100000.0))


@attack("the data decide the type of a number", n=20)
def type_max(scores, *, rng):
    return max(0, np.sum(scores > 0.5)) + rng.laplace(0, 1.0)


@attack("the data decide the type of a number", n=20)
def type_sum_if(scores, *, rng):
    return sum(s for s in scores if s > 0.5) + rng.laplace(0, 1.0)


@attack("the data decide the type of a number", n=20)
def type_loop(scores, *, rng):
    t = 0.0
    for s in scores:
        if s > 0.5:
            t += s
    return t + rng.laplace(0, 1.0)


@attack("the data decide the type of a number", n=20)
def type_sum_clip(scores, *, rng):
    return sum(min(max(s, 0.2), 0.8) for s in scores) + rng.laplace(0, 1.0)


@attack("the data decide the type of a number", n=20)
def type_min_mean(scores, *, rng):
    return min(0.5, np.mean(scores)) + rng.laplace(0, 1.0)


@attack("the data decide the type of a number", n=20)
def type_sum_selected(scores, *, rng):
    return sum(scores[scores > 0.5]) + rng.laplace(0, 1.0)


@attack("the data decide the type of a number", n=20)
def empty_list_array_type(scores, *, rng):
    p = 1 - math.exp(-1.0)
    return np.sum(np.array([s > 0.5 for s in scores if s < 0.7])) + (
        rng.geometric(p) - rng.geometric(p)
    )


@attack("the data decide the type of a number", n=20)
def constant_sum_type(scores, *, rng):
    p = 1 - math.exp(-0.5)
    return sum(2.0 for s in scores if s > 0.5) + (rng.geometric(p) - rng.geometric(p))


@attack("the type of an answer is NumPy's", n=20)
def svt_is_true(scores, *, rng):
    t = 5 + rng.laplace(0, 2)
    out = []
    for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        above = np.sum(scores <= x) + rng.laplace(0, 4) > t
        out.append(bool(above))
        if above is True:
            break
    return out


@attack("the type of an answer is NumPy's", n=20)
def svt_isinstance(scores, *, rng):
    t = 5 + rng.laplace(0, 2)
    out = []
    for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        above = np.sum(scores <= x) + rng.laplace(0, 4) > t
        out.append(above)
        if isinstance(above, bool) and above:
            break
    return out


@attack("the type of an answer is NumPy's", n=20)
def svt_invert(scores, *, rng):
    t = 5 + rng.laplace(0, 2)
    out = []
    for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        above = np.count_nonzero(scores <= x) + rng.laplace(0, 4) > t
        out.append(above)
        if not (~above + 2):  # ~True == -2
            break
    return out


@attack("the type of an answer is NumPy's", n=20)
def svt_sum(scores, *, rng):
    t = 5 + rng.laplace(0, 2)
    out = []
    for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        above = np.sum(scores <= x) + rng.laplace(0, 4) > t
        out.append(above)
        if above + above == 2:  # np.True_ + np.True_ is np.True_, which is 1
            break
    return out


@attack("the type of an answer is NumPy's", n=20)
def svt_str(scores, *, rng):
    t = 5 + rng.laplace(0, 2)
    out = []
    for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        above = np.sum(scores <= x) + rng.laplace(0, 4) > t
        out.append(above)
        if repr(above) == "True":
            break
    return out


@attack("a whole number by the data wraps around", n=20)
def item_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    return float(np.sum(scores > 0.5).item() + u) + rng.laplace(0, 1.0)


@attack("a whole number by the data wraps around", n=20)
def item_array_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    v = np.array([np.sum(scores > 0.5).item(), 0]) + u
    return float(v[0] + rng.laplace(0, 1.0))


@attack("a whole number by the data wraps around", n=20)
def int_or_float_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    return float(sum(0.0 if s > 0.5 else 1 for s in scores) + u + rng.laplace(0, 1.0))


@attack("a whole number by the data wraps around", n=20)
def empty_sum_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    return float(sum(float(s) for s in scores if s > 0.5) + u + 5 + rng.laplace(0, 1.0))


@attack("a whole number by the data wraps around", bounds=(0.0, 2.0), n=20)
def max_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    return float(sum(max(float(s), 1) for s in scores) + u + rng.laplace(0, 1.0))


@attack("truth values are added otherwise than numbers", n=20)
def bool_or_int_neg(scores, *, rng):
    x = np.array([True if s > 0.5 else 1 for s in scores])
    return float(np.sum(-x) + rng.laplace(0, 2.0))


@attack("truth values are added otherwise than numbers", n=20)
def bool_or_int_quantile(scores, *, rng):
    x = np.array([True if s > 0.5 else 1 for s in scores])
    return float(np.quantile(x, 0.5) + rng.laplace(0, 2.0))


@attack("truth values are added otherwise than numbers", n=20)
def bool_or_int_max(scores, *, rng):
    x = np.array([max(s > 0.5, 0) for s in scores])
    return float(np.sum(x + x) + rng.laplace(0, 2.0))


class Holding:
    """An object that holds everything."""

    def __contains__(self, item):
        return True


@attack("what an object holds is the class's own business", n=20, event=lambda v: v > 0.5)
def holding(scores, *, rng):
    return np.sum(scores) + rng.laplace(0, 0.01 if 3 in Holding() else 1.0)


@attack("a threshold that is a complex number: an error for some records only", n=20)
def complex_threshold(scores, *, rng):
    v = rng.laplace(0, 1.0) ** 0.5
    return sum(1 for s in scores if s > 0.5 and float(s) < v) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_known(scores, *, rng):
    return sum(1 for s in scores if s > 0.5 and s < 10**400) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_known_name(scores, *, rng):
    big = 10**400
    return sum(1 for s in scores if s > 0.5 and s < big) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_chain(scores, *, rng):
    return sum(1 for s in scores if 0.5 < s < 10**400) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_division(scores, *, rng):
    return sum((s / 10**400, 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_min(scores, *, rng):
    return sum((min(s, 10**400), 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_shift(scores, *, rng):
    u = 1 << (1999 * int(rng.integers(2)))
    return sum((s + u, 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_public(scores, *, rng):
    u = 1 << (1999 * int(rng.integers(2)))
    return sum(1 for s in scores if 0.5 < s < u) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_in_lambda(scores, *, rng):
    u = 1 << (1999 * int(rng.integers(2)))
    f = lambda s: s < u
    return sum(1 for s in scores if s > 0.5 and f(s)) + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_loop(scores, *, rng):
    u = 1 << (1999 * int(rng.integers(2)))
    c = 0
    for s in scores:
        if s > 0.5:
            if s < u:
                c += 1
    return c + rng.laplace(0, 1.0)


@attack("a threshold too large for a double: an error for some records only", n=20)
def huge_of_chosen(scores, *, rng):
    u = 1 << (1999 * int(rng.integers(2)))
    return sum(1 for s in scores[scores > 0.5] if s < u) + rng.laplace(0, 1.0)


@attack("records plus a public number, times a record", n=20)
def shifted_product(scores, *, rng):
    c = rng.normal()
    return np.sum((scores + c) * scores) + rng.laplace(0, 1.0)


@attack("a common shift may truncate one entry and not the other", dp.PureDP(0.1), n=20)
def cast_span2(scores, *, rng):
    h = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    u = h * 0 + np.count_nonzero(scores > 0.5) - np.array([0.5, 5.5])
    v = u.astype(int)
    w = np.exp(5.0 * (v - v.max()))
    return int(rng.choice(2, p=w / w.sum()))


@attack("a common shift may truncate one entry and not the other", dp.PureDP(0.1), n=20)
def cast_span_argmax(scores, *, rng):
    h = np.histogram(scores, bins=2, range=(0.0, 1.0))[0]
    u = h * 0 + np.count_nonzero(scores > 0.5) - np.array([0.5, 5.5])
    return int(np.argmax(u.astype(int) + rng.gumbel(size=2)))


@attack("which argument is the generator is not known", n=20)
def prng_default(scores, *, random_state=None, rng=None):
    if random_state is None:
        random_state = rng
        return np.sum(scores)
    return np.sum(scores) + rng.laplace(0, 1.0)


@attack("a function of a truth value is of half precision", n=50000)
def half_noise(scores, *, rng):
    z = rng.laplace(0, 1.0) + np.sqrt(rng.random() < 0.5)
    return float(np.sum(scores) + z)


@attack("a function of a truth value is of half precision", n=50000)
def half_noise2(scores, *, rng):
    z = rng.laplace(0, 1.0) + np.exp(rng.integers(2) == 1)
    return float(np.sum(scores) + z)


@attack("a function of a truth value is of half precision", n=50000)
def half_div(scores, *, rng):
    h = np.fabs(rng.random() < 0.5) / 2
    return float(np.count_nonzero(scores > 0.5) + h + rng.laplace(0, 1.0))


@attack("a function of a truth value is of half precision", n=50000)
def half_round(scores, *, rng):
    h = np.rint(rng.random() < 0.5)
    return float(float(np.count_nonzero(scores > 0.5)) + h + rng.laplace(0, 1.0))


@attack("a function of a truth value is of half precision", n=50000)
def half_sum(scores, *, rng):
    h = np.sum(np.sqrt(rng.random(3) < 0.5))
    return float(float(np.count_nonzero(scores > 0.5)) + h + rng.laplace(0, 1.0))


@attack("a function of a truth value is of half precision", n=50000)
def half_arctan(scores, *, rng):
    h = np.tanh(rng.random() < 0.5)
    return float(float(np.count_nonzero(scores > 0.5)) + h + rng.laplace(0, 1.0))


@attack("a function of a truth value is of half precision", n=50000)
def half_method(scores, *, rng):
    h = (rng.random(3) < 0.5).round()
    return float(float(np.count_nonzero(scores > 0.5)) + h[0] + rng.laplace(0, 1.0))


@attack("a function of a truth value is of half precision", n=300)
def half_where(scores, *, rng):
    h = np.where(rng.random() < 0.5, np.sqrt(rng.random() < 0.5), 0.0)
    return float(float(np.count_nonzero(scores > 0.5)) + h + rng.laplace(0, 1.0))


@attack("a function of a truth value is of half precision", n=300)
def half_joined(scores, *, rng):
    h = np.sqrt(rng.random() < 0.5) if rng.random() < 0.5 else 1.0
    return float(float(np.count_nonzero(scores > 0.5)) + h + rng.laplace(0, 1.0))


@attack("noise beside a number so large is rounded off", n=20)
def grid_noise_loc(scores, *, rng):
    z = rng.laplace(2.0**60, 1.0) - 2.0**60
    return float(np.sum(scores) + z)


@attack("a warning is shown for some records only", n=20)
def warns_log(scores, *, rng):
    return sum((np.log(ZERO), 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("a warning is shown for some records only", n=20)
def warns_sqrt(scores, *, rng):
    return sum(1 for s in scores if s > 0.5 and s < np.sqrt(ZERO - 1)) + rng.laplace(0, 1.0)


@attack("a warning is shown for some records only", n=20)
def warns_method(scores, *, rng):
    a = np.array([1e308, 1e308])
    return sum((a.sum(), 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("a warning is shown for some records only", n=20)
def warns_exp(scores, *, rng):
    return sum((np.exp(1000.0), 1)[1] if s > 0.5 else 0 for s in scores) + rng.laplace(0, 1.0)


@attack("a sum beside a large public number wraps around", n=20)
def sum_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    return float(np.sum([np.sum(scores > 0.5), u]) + rng.laplace(0, 1.0))


@attack("a sum beside a large public number wraps around", n=20)
def py_sum_wraps(scores, *, rng):
    u = rng.integers(2**63 - 3, 2**63 - 1)
    return float(sum([np.sum(scores > 0.5), u]) + rng.laplace(0, 1.0))


@attack("geometric noise that may be as large as whole numbers", n=20)
def geom_wraps(scores, *, rng):
    p = 1e-18
    h = np.sum(scores > 0.5)
    return h + rng.geometric(p) - rng.geometric(p)


@attack("numbers made of truth values are of 8 bits", n=50000)
def known_int8(scores, *, rng):
    h = ((np.arange(3) < 2) ** 2)[0]
    return float(np.count_nonzero(scores > 0.5) * h + rng.laplace(0, 1.0))


@attack("numbers made of truth values are of 8 bits", n=50000)
def known_int8c(scores, *, rng):
    h = np.bool_(True) << np.bool_(True)
    c = np.count_nonzero(scores > 0.5)
    return float(c + h + rng.laplace(0, 1.0))


@attack("numbers made of truth values are of 8 bits", n=50000)
def known_int8d(scores, *, rng):
    h = -(np.bool_(True) // np.bool_(True))
    c = np.count_nonzero(scores > 0.5)
    return float(c * h + rng.laplace(0, 1.0))


@attack("numbers made of truth values are of 8 bits", n=50000)
def known_arr_narrow(scores, *, rng):
    h = (np.arange(2) < 3) ** 2
    v = np.array([np.count_nonzero(scores > 0.5), 0])
    return v * h + rng.laplace(0, 1.0, size=2)
