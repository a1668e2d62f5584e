"""Functions of one user's value that are not locally private as claimed, against finite laws."""

import math

import numpy as np

from dpcp_audit import LocalDP, PureDP

ATTACKS: list[tuple] = []
E1 = math.exp(1.0)


def attack(domain=4, claim=LocalDP(1.0)):  # noqa: ANN201
    """Keep a function of one value, or with domain None of scores in [0, 1]."""

    def keep(function):  # noqa: ANN202
        ATTACKS.append((function, domain, claim))
        return function

    return keep


@attack()
def keeps_too_often(x, *, rng):
    return x if rng.random() < (E1 + 0.05) / (E1 + 3) else int(rng.integers(4))


@attack()
def lies_among_all(x, *, rng):
    return x if rng.random() < E1 / (E1 + 3) else int(rng.integers(4))


@attack()
def lies_in_another_type(x, *, rng):
    return x if rng.random() < (E1 - 1) / (E1 + 3) else rng.integers(4)


@attack()
def another_chance_for_one(x, *, rng):
    keep = 0.8 if x == 0 else E1 / (E1 + 3)
    others = [v for v in range(4) if v != x]
    return x if rng.random() < keep else int(rng.choice(others))


@attack()
def never_the_truth(x, *, rng):
    return int(rng.choice([v for v in range(4) if v != x]))


@attack()
def unequal_others(x, *, rng):
    weights = [E1 if v == x else (0.9 if v == 0 else 1) for v in range(4)]
    total = E1 + 3 if x == 0 else E1 + 2.9
    return int(rng.choice(4, p=[w / total for w in weights]))


@attack()
def one_draw_for_all_bits(x, *, rng):
    u = rng.random()
    return [int(u < (0.5 if i == x else 1 / (E1 + 1))) for i in range(4)]


@attack()
def one_draw_of_an_array_twice(x, *, rng):
    u = rng.random(4)
    bits = np.arange(4) == x
    first = u < np.where(bits, 0.5, 1 / (E1 + 1))
    second = u < np.where(bits, 0.5, 1 / (E1 + 1))
    return first.astype(int), second.astype(int)


@attack()
def two_copies(x, *, rng):
    bits = np.arange(4) == x
    return [rng.random(4) < np.where(bits, 0.5, 1 / (E1 + 1)) for _ in range(2)]


@attack()
def symmetric_by_the_wrong_chance(x, *, rng):
    flip = rng.random(4) < 1 / (E1 + 1)  # ε/2 each is needed
    bits = np.arange(4) == x
    return np.logical_xor(bits, flip)


@attack()
def one_bit_is_kept(x, *, rng):
    bits = (np.arange(4) == x).astype(int)
    noisy = (rng.random(4) < np.where(bits == 1, 0.5, 1 / (E1 + 1))).astype(int)
    return np.where(np.arange(4) == 0, bits, noisy)


@attack()
def chances_that_raise(x, *, rng):
    weights = [0.5, 0.25, 0.25] if x < 2 else [0.55, 0.25, 0.25]
    return int(rng.choice(3, p=weights))


@attack()
def number_of_bits(x, *, rng):
    return (rng.random(4 + (x == 0)) < 0.5).astype(int)


@attack()
def type_of_bits(x, *, rng):
    below = rng.random(4) < 0.5
    return below if x == 0 else below.astype(int)


@attack()
def list_or_tuple(x, *, rng):
    bit = int(rng.random() < 0.5)
    return [bit] if x == 0 else (bit,)


@attack()
def order_of_keys(x, *, rng):
    bit = int(rng.random() < 0.5)
    return {"a": bit, "b": 1} if x == 0 else {"b": 1, "a": bit}


@attack()
def sign_of_zero(x, *, rng):
    return (0.0 if x == 0 else -0.0) * float(rng.random() < 0.5)


@attack()
def truth_or_number(x, *, rng):
    below = rng.random() < 0.5
    return below if x == 0 else int(below)


@attack()
def truth_of_numpy(x, *, rng):
    level = np.float64(0.5) if x == 0 else 0.5
    return rng.random() < level


@attack()
def says_it(x, *, rng):
    print(x)  # noqa: T201
    return int(rng.random() < 0.5)


@attack()
def raises_at_one(x, *, rng):
    if x == 3:
        raise ValueError("x is 3")
    return int(rng.random() < 0.5)


@attack()
def warns_at_one(x, *, rng):
    np.log(x)
    return int(rng.random() < 0.5)


@attack()
def unhashed(x, *, rng):
    a, b = int(rng.integers(1, 2**30)), int(rng.integers(2**30))
    return a, b, a * x + b


@attack()
def hashed_and_shown(x, *, rng):
    a = int(rng.integers(1, 2**30))
    return a, (a * x) % 4


@attack()
def seed_of_the_right_parity(x, *, rng):
    one, other = int(rng.integers(2**30)), int(rng.integers(2**30))
    return one if one % 2 == x % 2 else other


@attack()
def seed_from_another_range(x, *, rng):
    return int(rng.integers(2**30 if x == 0 else 2**20))


@attack()
def seed_and_the_same_or_another(x, *, rng):
    one, other = int(rng.integers(2**30)), int(rng.integers(2**30))
    return (one, one) if x == 0 else (one, other)


@attack()
def seed_plus_the_value(x, *, rng):
    return int(rng.integers(2**30)) + x


@attack()
def type_of_a_hash(x, *, rng):
    seed = rng.integers(2**30)
    h = (seed if x == 0 else int(seed)) % 4
    return h * 0


@attack()
def local_hash_kept_too_often(x, *, rng):
    a, b = int(rng.integers(1, 2**30)), int(rng.integers(2**30))
    h = (a * x + b) % 1048583 % 4
    y = h if rng.random() < E1 / (E1 + 2) else int(rng.integers(4))
    return a, b, y


@attack()
def hash_after_the_draw(x, *, rng):
    keep = rng.random() < 0.6
    if keep:
        a = int(rng.integers(2**30))
        return a, (a * x) % 2
    return 0, int(rng.integers(2))


@attack(2, LocalDP(20.0))
def so_rare_that_it_never_is(x, *, rng):
    return x if rng.random() < 1 - 1e-17 else 1 - x


@attack(2, LocalDP(40.0))
def keeps_all_but_never(x, *, rng):
    return x if rng.random() < math.exp(39) / (1 + math.exp(39)) else 1 - x


@attack()
def between_two_levels(x, *, rng):
    return x if 0.1 < rng.random() < 0.9 else int(rng.integers(4))


@attack()
def without_replacement(x, *, rng):
    first, second = rng.choice(4, size=2, replace=False)
    return int(x if second > first else first)


@attack()
def by_the_clock(x, *, rng):
    import time

    return x if time.time() % 1 < 0.5 else int(rng.integers(4))


@attack(None, PureDP(1.0))
def one_draw_for_all_records(scores, *, rng):
    keep = rng.random() < E1 / (1 + E1)
    return [int(s > 0.5) if keep else 1 - int(s > 0.5) for s in scores]


@attack(None, PureDP(1.0))
def in_order(scores, *, rng):
    return [int((s > 0.5) == (rng.random() < E1 / (1 + E1))) for s in np.sort(scores)]


@attack(None, PureDP(1.0))
def chosen_records(scores, *, rng):
    return [int(rng.random() < 0.5) for s in scores if s > 0.5]


@attack(None, PureDP(1.0))
def chosen_before(scores, *, rng):
    return [int(rng.random() < 0.5) for s in scores[scores > 0.5]]


@attack(None, PureDP(1.0))
def two_thresholds_at_full_price(scores, *, rng):
    keep = E1 / (1 + E1)
    return [[int(rng.random() < keep) == int(s > t) for t in (0.3, 0.6)] for s in scores]


@attack(None, PureDP(1.0))
def beside_the_largest(scores, *, rng):
    return [int(rng.random() < (0.6 if s < scores.max() else 0.4)) for s in scores]


@attack(None, PureDP(1.0))
def chance_is_the_record(scores, *, rng):
    return [int(rng.random() < s) for s in scores]


@attack(None, PureDP(1.0))
def bin_is_shown(scores, *, rng):
    return [min(int(4 * s), 3) if rng.random() < 0.5 else int(rng.integers(3)) for s in scores]


@attack(None, PureDP(1.0))
def remembers_the_last(scores, *, rng):
    out, last = [], 0
    for s in scores:
        out.append(int(s > 0.5) if rng.random() < E1 / (1 + E1) else last)
        last = int(s > 0.5)
    return out


@attack(None, PureDP(1.0))
def reads_what_it_appended(scores, *, rng):
    out = [0]
    for s in scores:
        bit = int(s > 0.5) if rng.random() < E1 / (1 + E1) else 1 - int(s > 0.5)
        out.append(max(bit, out[-1]))
    return out


@attack(None, PureDP(1.0))
def appends_for_some(scores, *, rng):
    out = []
    for s in scores:
        if s > 0.5:
            out.append(int(rng.random() < 0.5))
    return out


@attack(None, PureDP(1.0))
def appends_twice_for_some(scores, *, rng):
    out = []
    for s in scores:
        out.append(int(rng.random() < 0.5))
        if s > 0.5:
            out.append(int(rng.random() < 0.5))
    return out


@attack(None, PureDP(1.0))
def stops_at_a_record(scores, *, rng):
    out = []
    for s in scores:
        if s > 0.9:
            break
        out.append(int(rng.random() < 0.5))
    return out


@attack(None, PureDP(1.0))
def last_record_is_left(scores, *, rng):
    out = []
    for s in scores:
        out.append(int(rng.random() < 0.5))
    return out, s > 0.5


@attack(None, PureDP(1.0))
def counter_beside_reports(scores, *, rng):
    out, count = [], 0
    for s in scores:
        out.append(int(rng.random() < 0.5))
        count += int(s > 0.5)
    return out, count


@attack(None, PureDP(1.0))
def to_one_of_two_lists(scores, *, rng):
    high, low = [], []
    for s in scores:
        (high if s > 0.5 else low).append(int(rng.random() < 0.5))
    return high, low


@attack(None, PureDP(1.0))
def by_a_helper_with_a_state(scores, *, rng):
    seen = []

    def respond(s):  # noqa: ANN202
        seen.append(s)
        return int(rng.random() < 0.5) if len(seen) < 2 else int(seen[0] > 0.5)

    return [respond(s) for s in scores]


@attack(None, PureDP(1.0))
def warns_of_a_record_after_a_loop(scores, *, rng):
    def respond(s):  # noqa: ANN202
        copies = [z for z in scores]  # noqa: C416
        np.log(np.float64(int(s > 0.5)))
        return int(rng.random() < 0.5) + 0 * len(copies)

    return [respond(s) for s in scores]


@attack(None, PureDP(1.0))
def prints_a_record(scores, *, rng):
    def respond(s):  # noqa: ANN202
        if s > 0.5:
            print("high")  # noqa: T201
        return int(rng.random() < 0.5)

    return [respond(s) for s in scores]


@attack(None, PureDP(1.0))
def reports_twice(scores, *, rng):
    keep = E1 / (1 + E1)
    first = [int(s > 0.5) if rng.random() < keep else 1 - int(s > 0.5) for s in scores]
    second = [int(s > 0.5) if rng.random() < keep else 1 - int(s > 0.5) for s in scores]
    return first, second


@attack()
def array_of_no_dimension(x, *, rng):
    b = np.array(rng.random() < 0.5)
    c = b
    c &= x == 1
    return int(b)


class Bumped:
    """An object whose property counts."""

    def __init__(self) -> None:
        self.n = 0

    @property
    def bump(self) -> int:
        self.n += 1
        return 0


@attack()
def property_in_one_arm(x, *, rng):
    b = Bumped()
    heads = (rng.random() < 0.5) & (x == 1)
    b.last = b.bump if heads else 0  # type: ignore[attr-defined]
    return b.n


@attack()
def one_list_twice(x, *, rng):
    one = [0]
    return [one, one] if x == 0 else [one, [0]]


@attack()
def strides_of_an_array(x, *, rng):
    return np.arange(6)[::2] if x == 0 else np.array([0, 2, 4])


@attack()
def no_such_attribute(x, *, rng):
    y = (x.foo, 0)[1] if x == 1 else 0
    return y + int(rng.integers(4))


@attack()
def no_such_attribute_of_a_draw(x, *, rng):
    d = rng.integers(2)
    y = (d.foo, 0)[1] if x == 1 else 0
    return y + int(rng.integers(4))


@attack()
def sign_of_nan(x, *, rng):
    return float("nan") if x else -float("nan")


@attack()
def base_of_an_array(x, *, rng):
    a = np.arange(10)
    return a[:3] if x == 0 else np.arange(3)


@attack()
def at_most_zero(x, *, rng):
    return bool(rng.random() <= 0.0) if x == 0 else False


@attack()
def above_zero_in_an_array(x, *, rng):
    return (rng.random(2) > 0.0) if x == 0 else (rng.random(2) < 1.0)


@attack()
def at_one_level(x, *, rng):
    u = rng.random()
    return x if u >= 0.25 and not u > 0.25 else 0


@attack()
def between_levels_that_round_apart(x, *, rng):
    u = rng.random()
    return x if u >= 0.7 and u < 0.1 * 7 else 0


@attack()
def type_of_an_entry(x, *, rng):
    return (rng.random(1)[0] < 0.5) if x == 0 else (rng.random() < 0.5)


def of_each(respond):  # noqa: ANN001, ANN201
    """Return the reports of all records by a function of one."""

    def reports(scores, *, rng):  # noqa: ANN202
        return [2 if respond(s) else int(rng.random() < 0.5) for s in scores]

    reports.__name__ = respond.__name__
    return attack(None, PureDP(1.0))(reports)


@of_each
def absorbed_by_one(s):  # noqa: ANN001, ANN201
    return s > 0 and s + 1 <= 1


@of_each
def rounded_up_to_two(s):  # noqa: ANN001, ANN201
    return s < 1 and int(s + 1) == 2


@of_each
def third_by_two_ways(s):  # noqa: ANN001, ANN201
    return (s * 3 >= 1) != (s >= 1 / 3)


@of_each
def factors_in_two_orders(s):  # noqa: ANN001, ANN201
    return s * 0.1 * 3 > 0.15 and s * 3 * 0.1 <= 0.15


@of_each
def levels_that_round_apart(s):  # noqa: ANN001, ANN201
    return s > 0.3 and not s > 0.1 + 0.2


@of_each
def rounded_past_its_end(s):  # noqa: ANN001, ANN201
    return s * 0.1 * 3 > 0.3


@of_each
def whole_number_that_is_no_double(s):  # noqa: ANN001, ANN201
    y = float(s) * 1e17
    return y >= 10**17 and y < 10**17 + 1


@of_each
def infinite(s):  # noqa: ANN001, ANN201
    return float(s) * 1e200 * 1e200 / 1e200 / 1e200 > 0.5 and s < 0.5


@attack(None, PureDP(1.0))
def overflow_warns(scores, *, rng):
    return [int(s * 1e308 * 10 > -1 and rng.random() < 0.5) for s in scores]


@attack(None, PureDP(1.0))
def all_rounded_past_their_end(scores, *, rng):
    return [2 if s > 0.3 else int(rng.random() < 0.5) for s in scores * 0.1 * 3]


@attack()
def method_of_the_old_generator(x, *, rng):
    return int(rng.rand() < 0.5) if x == 0 else int(rng.random() < 0.5)


@attack()
def size_that_rand_does_not_take(x, *, rng):
    return int(np.random.rand(size=1)[0] < 0.5) if x == 0 else int(rng.random() < 0.5)


@attack()
def tuple_that_rand_does_not_take(x, *, rng):
    return int(np.random.rand((1,))[0] < 0.5) if x == 0 else int(rng.random() < 0.5)


@attack()
def draws_into_an_array(x, *, rng):
    a = np.zeros(1)
    if x == 0:
        rng.random(out=a)
    return int(a[0] > 0)


@attack()
def single_precision(x, *, rng):
    level = 1 - 2**-30
    return int(rng.random(dtype=np.float32) < level if x == 0 else rng.random() < level)


@attack()
def chance_above_one(x, *, rng):
    return int(rng.binomial(1, 1.5 if x == 0 else 1.0))


@attack()
def chance_that_rounds_above_one(x, *, rng):
    return int(rng.binomial(1, (0.1 + 0.2) / 0.3 if x == 0 else 1.0))


@attack()
def chances_below_zero(x, *, rng):
    return rng.binomial(1, np.array([-0.1, 0.5]) if x == 0 else np.array([0.0, 0.5]))


@attack()
def one_array_twice(x, *, rng):
    one = rng.random(2) < 0.5
    return [one * 0, one * 0] if x == 0 else [one * 0] * 2


P = E1 / (E1 + 1)
"""The chance of the truth that is 1-locally private."""


@attack(None, PureDP(1.0))
def coins_too_true(scores, *, rng):
    bits = scores > 0.5
    return np.where(rng.random(len(scores)) < P + 0.001, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_that_are_shown(scores, *, rng):
    bits, keep = scores > 0.5, rng.random(len(scores)) < P
    return keep, np.where(keep, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_that_are_shown_before(scores, *, rng):
    bits, u = scores > 0.5, rng.random(len(scores))
    first = float(u[0])
    return first, np.where(u < P, bits, ~bits)


@attack(None, PureDP(2.0))
def coins_for_two_bits(scores, *, rng):
    one, two, keep = scores > 0.3, scores > 0.6, rng.random(len(scores)) < P
    return np.where(keep, one, ~one), np.where(keep, two, ~two)


@attack(None, PureDP(1.5))
def coins_that_also_sample(scores, *, rng):
    bits, keep = scores > 0.5, rng.random(len(scores)) < P
    share = np.sum(scores[keep]) + rng.laplace(0, 100.0)
    return share, np.where(keep, bits, ~bits)


@attack(None, PureDP(1.5))
def coins_that_sample_later(scores, *, rng):
    bits, keep = scores > 0.5, rng.random(len(scores)) < P
    reports = np.where(keep, bits, ~bits)
    return reports, np.sum(scores[keep]) + rng.laplace(0, 100.0)


@attack(None, PureDP(1.0))
def coins_of_one_draw(scores, *, rng):
    bits, u = scores > 0.5, rng.random(len(scores))
    return np.where(u < P, bits, ~bits), np.where(u < 1 - P, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_over_sorted_bits(scores, *, rng):
    bits = np.sort(scores) > 0.5
    return np.where(rng.random(len(scores)) < P, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_beside_all_bits(scores, *, rng):
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < P, bits, 1 - bits.max())


@attack(None, PureDP(1.0))
def coins_beside_a_product_of_all(scores, *, rng):
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < P, bits, 1 - (bits @ bits))


@attack(None, PureDP(1.0))
def coins_beside_others_bits(scores, *, rng):
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < P, bits, 1 - bits[::-1])


@attack(None, PureDP(1.0))
def coins_beside_truth_of_all(scores, *, rng):
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < P, bits, 1 if bits is None else bits)


@attack(None, PureDP(1.0))
def coins_between_signs_of_zero(scores, *, rng):
    bits = (scores > 0.5).astype(float)
    return np.where(rng.random(len(scores)) < P, bits, bits * -1.0)


@attack(None, PureDP(1.0))
def coins_for_scores(scores, *, rng):
    return np.where(rng.random(len(scores)) < P, scores, 1 - scores)


@attack(None, PureDP(1.0))
def coins_for_two_scores(scores, *, rng):
    one, two = scores > 0.3, scores > 0.6
    return np.where(rng.random(len(scores)) < P, one, ~two)


@attack(None, PureDP(1.0))
def coins_for_clipped_bits(scores, *, rng):
    bits = np.clip((scores > 0.5).astype(int) * scores, 0, 1)
    return np.where(rng.random(len(scores)) < P, bits, 1 - bits)


@attack(None, PureDP(1.0))
def coins_for_some_bits(scores, *, rng):
    bits = scores[scores > 0.2] > 0.5
    return np.where(rng.random(len(scores)) < P, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_that_divide(scores, *, rng):
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < P, 1 - bits, bits / bits)


@attack(None, PureDP(1.0))
def coins_with_a_constant(scores, *, rng):
    bits = (scores > 0.5).astype(int)
    return np.where(rng.random(len(scores)) < P, bits, 1)


@attack(None, PureDP(1.0))
def coins_shown_by_their_number(scores, *, rng):
    bits, keep = scores > 0.5, rng.random(len(scores)) < P
    return keep.sum(), np.where(keep, bits, ~bits)


@attack(None, PureDP(1.0))
def one_coin_for_all(scores, *, rng):
    bits = scores > 0.5
    return np.where(rng.random() < P, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_that_never_lie(scores, *, rng):
    bits = scores > 0.5
    return np.where(rng.random(len(scores)) < 1 - 1e-15, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_read_twice(scores, *, rng):
    bits, keep = scores > 0.5, rng.random(len(scores)) < P

    def read(flip):  # noqa: ANN202
        return np.where(keep, bits, flip ^ bits)

    return read(True), read(False)


@attack(None, PureDP(1.0))
def coins_in_a_round_of_their_own(scores, *, rng):
    bits, seen = scores > 0.5, []
    for _ in range(3):
        seen.append(np.where(rng.random(len(scores)) < P, bits, ~bits))
    return seen


@attack(2)
def warns_of_an_outdated_name(x, *, rng):
    if x == 0:
        np.zeros(2, dtype="a5")
    return x if rng.random() < 0.6 else 1 - x


@attack(None, PureDP(1.0))
def warns_for_some_scores(scores, *, rng):
    def report(s):  # noqa: ANN202
        bit = int(s > 0.5)
        if bit:
            np.array([1.0], "a5")
        return bit if rng.random() < 0.6 else 1 - bit

    return [report(s) for s in scores]


@attack(None, PureDP(1.0))
def coins_beside_a_column(scores, *, rng):
    bits = (scores > 0.5).astype(int)[:, None]
    return np.where(rng.random(len(scores)) < P, bits, 1 - bits)


@attack(None, PureDP(1.0))
def coins_of_draws_changed_in_place(scores, *, rng):
    bits, u = scores > 0.5, rng.random(len(scores))
    u *= 0.1
    return np.where(u < P, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_of_sorted_draws(scores, *, rng):
    bits, u = scores > 0.5, np.sort(rng.random(len(scores)))
    return np.where(u < P, bits, ~bits)


@attack(None, PureDP(1.0))
def coins_for_twice_the_bits(scores, *, rng):
    twice = np.where(scores > 0.5, 1, 0) * 2
    return np.where(rng.random(len(scores)) < P, twice, 1 - twice)


@attack(None, PureDP(1.0))
def coins_for_bits_of_the_sum(scores, *, rng):
    bits = np.cumsum(scores) > 0.5
    return np.where(rng.random(len(scores)) < P, bits, ~bits)
