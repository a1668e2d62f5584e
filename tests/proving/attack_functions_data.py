"""Data that reach the control flow, bounds, shapes, text, errors or special values without noise."""

import json
import logging
import math
import sys
import time
import warnings

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

ATTACKS = Table("data")
add = ATTACKS.add
logger = logging.getLogger(__name__)


def returned(scores, *, rng):
    return scores


add(returned, "the scores themselves", event=lambda v: v[-1] == 1)


def largest_returned(scores, *, rng):
    return np.sort(scores)[-1]


add(largest_returned, "the largest score", event=lambda v: v == 1)


def order_returned(scores, *, rng):
    return np.argsort(scores, kind="stable")[0]


add(
    order_returned,
    "the order of the records",
    pair=(np.full(20, 1.0), np.r_[np.ones(19), 0]),
    event=lambda v: v == 19,
)


def argmax_returned(scores, *, rng):
    return int(np.argmax([np.count_nonzero(scores <= t) for t in (0.3, 0.6, 1.0)]))


add(
    argmax_returned,
    "argmax without noise",
    pair=(np.zeros(20), np.r_[np.zeros(19), 1]),
    event=lambda v: v == 2,
)


def noisy_but_argmax_clean(scores, *, rng):
    counts, _ = np.histogram(scores, bins=2, range=(0, 1))
    noisy = counts + rng.laplace(0.0, 2.0, size=2)
    return noisy, int(np.argmax(counts))


majority = (np.r_[np.zeros(10), np.ones(10)], np.r_[np.zeros(9), np.ones(11)])
add(
    noisy_but_argmax_clean,
    "argmax of the counts, not of the noisy counts",
    pair=majority,
    event=lambda v: v[1] == 1,
)


def branch_on_data(scores, *, rng):
    if scores.max() > 0.5:
        return rng.laplace(100.0, 1.0)
    return rng.laplace(0.0, 1.0)


add(branch_on_data, "a branch on the data", event=lambda v: v > 50)


def ternary_on_data(scores, *, rng):
    return rng.laplace(100.0 if scores[-1] > 0.5 else 0.0, 1.0)


add(ternary_on_data, "a conditional expression on a score", event=lambda v: v > 50)


def where_on_data(scores, *, rng):
    return np.where(scores.max() > 0.5, 100.0, 0.0) + rng.laplace(0.0, 1.0)


add(where_on_data, "np.where on the data", loss=100.0, event=lambda v: v > 50)


def boolean_arithmetic(scores, *, rng):
    return 100 * bool(scores.max() > 0.5) + rng.laplace(0.0, 1.0)


add(boolean_arithmetic, "a condition times 100", loss=100.0, event=lambda v: v > 50)


def sign_of_sum(scores, *, rng):
    return 5 * np.sign(scores.sum()) + rng.laplace(0.0, 1.0)


add(sign_of_sum, "the sign jumps by 1, times 5", loss=5.0, event=lambda v: v > 2.5)


def rounded_sum(scores, *, rng):
    return np.ceil(scores.sum() / 10) * 10 + rng.laplace(0.0, 1.0)


add(rounded_sum, "rounding up to tens moves by 10", loss=10.0, event=lambda v: v > 5)


def modulo_sum(scores, *, rng):
    return (10 * scores.sum()) % 7 + rng.laplace(0.0, 1.0)


add(modulo_sum, "a remainder moves by up to 7", loss=7.0)


def power_of_count(scores, *, rng):
    return 2.0 ** np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(
    power_of_count,
    "2**count moves by 2**19",
    loss=2.0**19,
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: v > 2**18 * 3,
)


def reciprocal_of_sum(scores, *, rng):
    return 1 / (0.01 + scores.sum()) + rng.laplace(0.0, 1.0)


add(reciprocal_of_sum, "the reciprocal moves by 99", loss=99.0, event=lambda v: v > 50)


def log_of_sum(scores, *, rng):
    return np.log(1e-9 + scores.sum()) + rng.laplace(0.0, 1.0)


add(log_of_sum, "the logarithm is steep at 0", loss=20.7, event=lambda v: v < -10)


def ratio_of_counts(scores, *, rng):
    return np.count_nonzero(scores > 0.9) / max(1, np.count_nonzero(scores > 0.5)) + rng.laplace(
        0.0, 1 / len(scores)
    )


add(ratio_of_counts, "a ratio of two counts moves by 1", loss=20.0, event=lambda v: v > 0.5)


def mean_of_selected(scores, *, rng):
    chosen = scores[scores > 0.5]
    return chosen.sum() / (len(chosen) + 1e-12) + rng.laplace(0.0, 1 / len(scores))


add(
    mean_of_selected,
    "a mean over a number of records that depends on them",
    loss=20.0,
    event=lambda v: v > 0.5,
)


def chosen_size_noise(scores, *, rng):
    chosen = scores[scores > 0.5]
    return chosen.sum() + rng.laplace(0.0, 1.0, size=len(chosen) + 1)


add(chosen_size_noise, "the output's length depends on the data", event=lambda v: len(v) == 2)


def comprehension_filter(scores, *, rng):
    return [s + rng.laplace(0.0, 1.0) for s in scores if s > 0.5]


add(comprehension_filter, "the output's length depends on the data", event=lambda v: len(v) == 1)


def unique_counts(scores, *, rng):
    _, counts = np.unique(scores, return_counts=True)
    return counts + rng.laplace(0.0, 2.0, size=counts.size)


add(unique_counts, "bins exist only where scores are", event=lambda v: len(v) == 2)


def histogram_edges_returned(scores, *, rng):
    counts, edges = np.histogram(scores, bins=5)
    return edges


add(histogram_edges_returned, "the edges are data", event=lambda v: v[-1] == 1 and v[0] == 0)


def histogram_density(scores, *, rng):
    density, _ = np.histogram(scores, bins=2, range=(0, 1), density=True)
    return density + rng.laplace(0.0, 1 / len(scores), size=2)


add(histogram_density, "densities move by 2/n each", loss=4.0)


def histogram_weights(scores, *, rng):
    counts, _ = np.histogram(scores, bins=2, range=(0, 1), weights=10 * scores)
    return counts + rng.laplace(0.0, 2.0, size=2)


add(histogram_weights, "weights of up to 10", loss=5.0, event=lambda v: v[1] > 5)


def dictionary_keys(scores, *, rng):
    counts = {}
    for s in scores:
        counts[round(float(s), 1)] = counts.get(round(float(s), 1), 0) + 1
    return {k: c + rng.laplace(0.0, 2.0) for k, c in counts.items()}


add(dictionary_keys, "the keys are data", event=lambda v: 1.0 in v)


def threshold_without_delta(scores, *, rng):
    counts = {}
    for s in scores:
        counts[round(float(s), 1)] = counts.get(round(float(s), 1), 0) + 1
    noisy = {k: c + rng.laplace(0.0, 1.0) for k, c in counts.items()}
    return {k: c for k, c in noisy.items() if c > 10}


add(
    threshold_without_delta,
    "a key is there only if a record is: δ > 0",
    neighbours=Relation.ADD_REMOVE,
    pair=(np.zeros(20), np.r_[np.zeros(20), 1.0]),
)


def set_of_scores(scores, *, rng):
    return len({float(s) for s in scores}) + rng.laplace(0.0, 0.5)


add(set_of_scores, "distinct scores, scale 1/2", loss=2.0, event=lambda v: v >= 2)


def bounds_from_data(scores, *, rng):
    low, high = scores.min(), scores.max()
    return np.clip((low + high) / 2 + rng.laplace(0.0, 1.0), low, high)


add(bounds_from_data, "clipped to the data's own range", event=lambda v: v == 0)


def bisection_between_scores(scores, *, rng):
    low, high = 0.0, scores.max()
    for _ in range(4):
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.laplace(0.0, 4.0) < 18:
            low = middle
        else:
            high = middle
    return high


add(bisection_between_scores, "the upper bound is the largest score", event=lambda v: v == 0)


def rounds_from_data(scores, *, rng):
    out = []
    for _ in range(np.count_nonzero(scores > 0.5)):
        out.append(rng.laplace(0.0, 1.0))
    return out


add(rounds_from_data, "the number of rounds is a count", event=lambda v: len(v) == 1)


def while_on_data(scores, *, rng):
    k = 0
    while np.count_nonzero(scores > k / 10) > 0:
        k += 1
    return k + rng.laplace(0.0, 1.0)


add(while_on_data, "the number of rounds is that of the maximum", loss=10.0, event=lambda v: v > 5)


def early_exit(scores, *, rng):
    total = 0.0
    for s in scores:
        if s > 0.9:
            break
        total += 1.0
    return total + rng.laplace(0.0, 1.0)


add(
    early_exit,
    "a break moves the total by n",
    loss=20.0,
    pair=(np.zeros(20), np.r_[1.0, np.zeros(19)]),
    event=lambda v: v > 10,
)


def continue_skips(scores, *, rng):
    total, weight = 0.0, 1.0
    for s in scores:
        if s < 0.5:
            continue
        weight *= 2
        total += weight
    return total + rng.laplace(0.0, 1.0)


add(
    continue_skips,
    "weights that grow with the records",
    loss=2.0**20,
    pair=(np.ones(20), np.r_[0, np.ones(19)]),
    event=lambda v: v > 1.5 * 2**20,
)


def for_else(scores, *, rng):
    for s in scores:
        if s > 0.5:
            break
    else:
        return -100 + rng.laplace(0.0, 1.0)
    return rng.laplace(0.0, 1.0)


add(for_else, "for/else tells whether a score is large", event=lambda v: v < -50)


def fallback(scores, *, rng):
    noisy = np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
    return noisy if noisy > 0 else scores.max()


add(fallback, "falls back to the maximum", event=lambda v: v == 0)


def or_fallback(scores, *, rng):
    answer = rng.integers(2) and rng.laplace(0.0, 1.0)
    return answer or float(scores.max())


add(or_fallback, "`or` falls back to the maximum", event=lambda v: v == 0)


def and_chain(scores, *, rng):
    return rng.random() < 0.5 and scores[-1]


add(and_chain, "`and` returns a score", event=lambda v: v is not False and v == 1)


def minimum_of_both(scores, *, rng):
    return min(rng.laplace(0.0, 1.0), scores.max())


add(minimum_of_both, "min of noise and data", event=lambda v: v == 0)


def maximum_of_both(scores, *, rng):
    return np.maximum(scores.sum(), rng.laplace(0.0, 1.0))


add(maximum_of_both, "maximum of noise and data", event=lambda v: v < 1)


def chained_comparison(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return z < scores.sum() < 0.5


add(chained_comparison, "a chained comparison of data without noise", event=lambda v: bool(v))


def mixed_index(scores, *, rng):
    counts = np.array([0.0, 100.0])
    return counts[int(scores[-1] > 0.5)] + rng.laplace(0.0, 1.0)


add(mixed_index, "data as an index", loss=100.0, event=lambda v: v > 50)


def slice_by_data(scores, *, rng):
    k = np.count_nonzero(scores > 0.5)
    return np.zeros(30)[: 10 + k] + rng.laplace(0.0, 1.0, size=10 + k)


add(slice_by_data, "data as the end of a slice", event=lambda v: len(v) == 11)


def shape_by_data(scores, *, rng):
    return rng.laplace(0.0, 1.0, size=(1, 1 + np.count_nonzero(scores > 0.5)))


add(shape_by_data, "data as a shape", event=lambda v: v.shape == (1, 2))


def dtype_by_data(scores, *, rng):
    return rng.laplace(0.0, 1.0, size=2).astype("f4" if scores.max() > 0.5 else "f8")


add(dtype_by_data, "data as a dtype", event=lambda v: v.dtype == np.float32)


def order_by_data(scores, *, rng):
    noisy = rng.laplace(0.0, 1.0, size=2)
    return np.sort(noisy)[:: -1 if scores.max() > 0.5 else 1]


add(order_by_data, "data as the order of the output", event=lambda v: v[0] > v[1])


def digits_by_data(scores, *, rng):
    return np.round(rng.laplace(0.0, 1.0), int(scores.max() > 0.5))


add(digits_by_data, "data as the number of digits", event=lambda v: v != round(v))


def type_by_data(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return np.float64(z) if scores.max() > 0.5 else float(z)


add(type_by_data, "data as a type", event=lambda v: type(v) is float)


def formatted(scores, *, rng):
    noisy = np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
    return f"{noisy:.3f} of {scores.sum():.0f}"


add(formatted, "a score in an f-string", event=lambda v: v.endswith("of 1"))


def formatted_width(scores, *, rng):
    return f"{rng.laplace(0.0, 1.0):.{int(scores.sum())}f}"


add(formatted_width, "a sum as the precision", event=lambda v: "." in v)


def percent_format(scores, *, rng):
    return "%d %f" % (scores.sum(), rng.laplace(0.0, 1.0))


add(percent_format, "a sum in a % format", event=lambda v: v.startswith("1 "))


def joined(scores, *, rng):
    return ",".join(str(s > 0.5) for s in scores)


add(joined, "scores as text", event=lambda v: "True" in v)


def dumped(scores, *, rng):
    return json.dumps({"noisy": rng.laplace(), "all": scores.tolist()})


add(dumped, "scores as JSON", event=lambda v: "1.0]" in v)


def hashed(scores, *, rng):
    return hash(scores.tobytes()) % 2, hash(float(scores[-1]))


add(hashed, "the hash of a score", event=lambda v: v[1] == 1)


def length_of_text(scores, *, rng):
    return len(str(scores.sum() * 1234567)) + rng.laplace(0.0, 1.0)


add(length_of_text, "the length of a number's text", loss=6.0)


def size_of(scores, *, rng):
    return sys.getsizeof(scores.tolist()[: int(scores.sum()) * 10])


add(size_of, "memory that depends on the data", event=lambda v: v > 100)


def identity(scores, *, rng):
    a, b = 0.0, 1.0
    return (a if scores.sum() > 0.5 else b) is a


add(identity, "identity of an object chosen by data", event=lambda v: v)


def printed(scores, *, rng):
    print(scores.max())
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(printed, "the maximum is printed")


def printed_to_stderr(scores, *, rng):
    sys.stderr.write(f"{scores.max()}\n")
    return rng.laplace(0.0, 1.0)


add(printed_to_stderr, "the maximum goes to stderr")


def logged(scores, *, rng):
    logger.debug("scores %s", scores)
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(logged, "the scores are logged")


def warned(scores, *, rng):
    if scores.max() > 0.5:
        warnings.warn("large score", stacklevel=2)
    return rng.laplace(0.0, 1.0)


add(warned, "a warning that depends on the data")


def written(scores, *, rng):
    with open("/dev/null", "w") as file:
        file.write(str(scores[0]))
    return rng.laplace(0.0, 1.0)


add(written, "a score is written to a file")


def saved(scores, *, rng):
    np.save("/dev/null", scores)
    return rng.laplace(0.0, 1.0)


add(saved, "np.save writes the scores")


def asserted(scores, *, rng):
    assert scores.max() < 0.9, "large score"
    return rng.laplace(0.0, 1.0)


add(asserted, "an assertion that fails by data")


def raised(scores, *, rng):
    if scores.sum() > 0.5:
        raise ValueError("large")
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)


add(raised, "an exception that depends on the data")


def division_error(scores, *, rng):
    return 1 / int(scores.sum()) * 0 + rng.laplace(0.0, 1.0)


add(division_error, "ZeroDivisionError where the sum is 0")


def index_error(scores, *, rng):
    [0, 1][int(2 * scores.max())]
    return rng.laplace(0.0, 1.0)


add(index_error, "IndexError where a score is 1")


def key_error(scores, *, rng):
    {0: 1}[int(scores.max())]
    return rng.laplace(0.0, 1.0)


add(key_error, "KeyError where a score is 1")


def domain_error(scores, *, rng):
    math.log(float(scores.sum()))
    return rng.laplace(0.0, 1.0)


add(domain_error, "math.log(0) raises")


def overflow_error(scores, *, rng):
    math.exp(1000 * float(scores.max()))
    return rng.laplace(0.0, 1.0)


add(overflow_error, "math.exp overflows where a score is 1")


def caught_division(scores, *, rng):
    try:
        1 / int(scores.sum())
    except ZeroDivisionError:
        return -1000 + rng.laplace(0.0, 1.0)
    return rng.laplace(0.0, 1.0)


add(caught_division, "except runs where the sum is 0", event=lambda v: v < -500)


def finally_return(scores, *, rng):
    try:
        return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
    finally:
        return scores.max()


add(finally_return, "finally returns the maximum", event=lambda v: v == 1)


def else_of_try(scores, *, rng):
    try:
        [][int(scores.sum() < 0.5) - 1]
    except IndexError:
        pass
    try:
        {1: 0}[int(scores.max())]
    except KeyError:
        z = 0.0
    else:
        z = 100.0
    return z + rng.laplace(0.0, 1.0)


add(else_of_try, "else runs where no key is missing", loss=100.0, event=lambda v: v > 50)


def empty_mean(scores, *, rng):
    chosen = [s for s in scores if s > 0.5]
    return sum(chosen) / len(chosen) * 0 + rng.laplace(0.0, 1.0)


add(empty_mean, "an error where no score is chosen")


def not_a_number(scores, *, rng):
    with np.errstate(all="ignore"):
        return np.clip((scores / scores).sum(), 0, 1) + rng.laplace(0.0, 1.0)


add(
    not_a_number,
    "0 / 0 is NaN, which clip keeps",
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: math.isnan(v),
)


def infinite_log(scores, *, rng):
    with np.errstate(all="ignore"):
        return np.log(scores).sum() * 1e-9 + rng.laplace(0.0, 1.0)


add(
    infinite_log,
    "log(0) is -inf",
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: math.isinf(v),
)


def root_of_negative(scores, *, rng):
    with np.errstate(all="ignore"):
        return np.clip(np.sqrt(0.5 - scores).sum(), 0, 1) + rng.laplace(0.0, 1.0)


add(root_of_negative, "sqrt of a negative number is NaN", event=lambda v: math.isnan(v))


def overflow_sum(scores, *, rng):
    with np.errstate(all="ignore"):
        big = scores * 1e308 * 10
        return np.clip(big - big, 0, 1).sum() + rng.laplace(0.0, 1.0)


add(overflow_sum, "inf - inf is NaN", event=lambda v: math.isnan(v))


def power_nan(scores, *, rng):
    with np.errstate(all="ignore"):
        return np.clip(((scores - 0.5) ** 0.5).sum(), 0, 1) + rng.laplace(0.0, 1.0)


add(
    power_nan,
    "a fractional power of a negative number",
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: math.isnan(v),
)


def arcsine_nan(scores, *, rng):
    with np.errstate(all="ignore"):
        return np.clip(np.arcsin(2 * scores).sum(), 0, 1) + rng.laplace(0.0, 1.0)


add(arcsine_nan, "arcsin(2) is NaN", event=lambda v: math.isnan(v))


def int8_wraps(scores, *, rng):
    counts = (scores > 0.5).astype(np.int8)
    return (100 * counts).sum(dtype=np.int8) + 0.0 + rng.laplace(0.0, 100.0)


add(
    int8_wraps,
    "an 8-bit sum wraps from 100 to -56",
    loss=1.56,
    pair=(np.r_[1.0, np.zeros(19)], np.r_[1.0, np.zeros(18), 1.0]),
    event=lambda v: v < -50,
)


def uint8_wraps(scores, *, rng):
    value = np.full(1, np.count_nonzero(scores > 0.5)).astype(np.uint8) - np.uint8(1)
    return float(value[0]) + rng.laplace(0.0, 1.0)


add(uint8_wraps, "0 - 1 is 255 in 8 bits", loss=255.0, event=lambda v: v > 100)


def cast_wraps(scores, *, rng):
    value = np.array([100 * np.count_nonzero(scores > 0.5)]).astype(np.int8)[0]
    return float(value) + rng.laplace(0.0, 100.0)


add(
    cast_wraps,
    "astype(int8) wraps from 100 to -56",
    loss=1.56,
    pair=(np.r_[1.0, np.zeros(19)], np.r_[1.0, np.zeros(18), 1.0]),
    event=lambda v: v < -50,
)


def unsigned_view(scores, *, rng):
    return float(scores.view(np.uint64)[-1] > 0) * 9 + rng.laplace(0.0, 1.0)


add(unsigned_view, "the bits of a score", loss=9.0, event=lambda v: v > 4.5)


def half_precision(scores, *, rng):
    value = np.float16(2048.0) + np.float16(2 * np.count_nonzero(scores > 0.5))
    return float(np.float16(value * np.float16(20))) / 20 + rng.laplace(0.0, 1.0)


add(half_precision, "2 a record, and half-precision rounding", loss=1.6)


def round_half_up(scores, *, rng):
    return 10 * np.round(scores).sum() + rng.laplace(0.0, 1.0)


add(round_half_up, "rounded scores times 10", loss=10.0, event=lambda v: v > 5)


def waits(scores, *, rng):
    time.sleep(0.0001 * float(scores.sum()))
    return rng.laplace(0.0, 1.0)


add(waits, "running time depends on the data")


def match_on_data(scores, *, rng):
    match int(scores.max()):
        case 1:
            return 100 + rng.laplace(0.0, 1.0)
        case _:
            return rng.laplace(0.0, 1.0)


add(match_on_data, "match on the data", loss=100.0, event=lambda v: v > 50)


def match_capture(scores, *, rng):
    match [rng.laplace(0.0, 1.0), scores[-1]]:
        case [_, value]:
            return value


add(match_capture, "match captures a score", event=lambda v: v == 1)


def walrus(scores, *, rng):
    return (noisy := scores[-1]) * 1.0 + 0 * (z := rng.laplace(0.0, 1.0)), noisy


add(walrus, "a score by :=", event=lambda v: v[1] == 1)


def starred(scores, *, rng):
    first, *rest, last = scores
    return last + rng.laplace(0.0, 0.1)


add(starred, "a score by unpacking, scale 0.1", loss=10.0, event=lambda v: v > 0.5)


def indicator_dot(scores, *, rng):
    return np.arange(20) @ (scores > 0.5) + rng.laplace(0.0, 1.0)


add(indicator_dot, "a record weighs up to 19", loss=19.0, event=lambda v: v > 10)


def einsum_pairs(scores, *, rng):
    return np.einsum("i,j->", scores, scores) + rng.laplace(0.0, 1.0)


add(
    einsum_pairs,
    "all pairs: the square of the sum",
    loss=39.0,
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: v > 380,
)


def outer_pairs(scores, *, rng):
    return np.outer(scores, np.ones(20)).sum() / 20 * 5 + rng.laplace(0.0, 1.0)


add(outer_pairs, "each score five times", loss=5.0, event=lambda v: v > 2.5)


def pairwise_closer(scores, *, rng):
    return np.count_nonzero(np.abs(scores[:, None] - scores[None, :]) < 0.1) + rng.laplace(0.0, 1.0)


add(pairwise_closer, "pairs move by 2(n - 1)", loss=38.0, event=lambda v: v < 380)


def differences(scores, *, rng):
    return np.abs(np.diff(scores)).sum() + rng.laplace(0.0, 1.0)


add(
    differences,
    "a score is in two differences",
    loss=2.0,
    pair=(np.zeros(20), np.r_[0, 1, np.zeros(18)]),
    event=lambda v: v >= 2,
)


def convolved(scores, *, rng):
    return np.convolve(scores, np.ones(3), "same").max() + rng.laplace(0.0, 0.5)


add(convolved, "the maximum of windows moves by 1, scale 1/2", loss=2.0, event=lambda v: v >= 1)


def sorted_weights(scores, *, rng):
    return np.dot(np.sort(scores), np.linspace(-1, 1, 20)) + rng.laplace(0.0, 1.0)


add(
    sorted_weights,
    "the largest score has weight 1",
    dp.PureDP(0.5),
    loss=1.0,
    event=lambda v: v >= 1,
)


def sorted_halves(scores, *, rng):
    return (10 * np.sort(scores)[:10]).sum() + rng.laplace(0.0, 1.0)


add(
    sorted_halves,
    "the lower half moves by up to 10",
    loss=10.0,
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: v > 95,
)


def add_at(scores, *, rng):
    counts = np.zeros(5)
    np.add.at(counts, (4 * scores).astype(int), 3)
    return counts + rng.laplace(0.0, 2.0, size=5)


add(add_at, "each record adds 3", loss=3.0, event=lambda v: v[0] < 58.5 and v[4] > 1.5)


def put_scores(scores, *, rng):
    out = rng.laplace(0.0, 1.0, size=20)
    np.put(out, [0], scores[-1])
    return out


add(put_scores, "np.put overwrites a draw with a score", event=lambda v: v[0] == 1)


def copy_to(scores, *, rng):
    out = rng.laplace(0.0, 1.0, size=20)
    np.copyto(out, scores)
    return out


add(copy_to, "np.copyto overwrites the noise", event=lambda v: v[-1] == 1)


def bincount_length(scores, *, rng):
    counts = np.bincount((4 * scores).astype(int))
    return counts + rng.laplace(0.0, 2.0, size=len(counts))


add(bincount_length, "bincount's length is the maximum", event=lambda v: len(v) == 5)


def searchsorted_by_value(scores, *, rng):
    return np.searchsorted([0.1, 0.2, 0.3, 0.4], scores.max()) + rng.laplace(0.0, 1.0)


add(searchsorted_by_value, "the maximum's place moves by 4", loss=4.0, event=lambda v: v > 2)


def searchsorted_unsorted(scores, *, rng):
    return np.searchsorted(scores, 0.5) + rng.laplace(0.0, 1.0)


add(
    searchsorted_unsorted,
    "searchsorted of unsorted scores",
    loss=20.0,
    pair=(np.r_[np.zeros(10), 0, np.ones(9)], np.r_[np.zeros(10), 1, np.zeros(9)]),
)


def percentile_clip(scores, *, rng):
    high = np.percentile(scores, 90)
    return np.clip(scores, 0, high).sum() + rng.laplace(0.0, 1.0)


add(percentile_clip, "a bound from the data moves all clipped scores", loss=2.8)


def normalised(scores, *, rng):
    return scores / (scores.sum() + 1e-9) + rng.laplace(0.0, 2.0, size=20) / 20


add(normalised, "normalised by the data's own sum", loss=10.0, event=lambda v: v[-1] > 0.5)


def centred(scores, *, rng):
    return np.abs(scores - scores.mean()).sum() + rng.laplace(0.0, 1.0)


add(centred, "each deviation moves: up to 2(n - 1)/n in all", loss=1.9, event=lambda v: v >= 1.9)


def standardised(scores, *, rng):
    z = (scores - scores.mean()) / (scores.std() + 1e-9)
    return np.clip(z, 0, 1).sum() + rng.laplace(0.0, 1.0)


add(standardised, "the scale of all records is the data's own", loss=5.0)


def argument_maximum(scores, *, rng):
    return max(scores, key=lambda s: s) + rng.laplace(0.0, 0.1)


add(argument_maximum, "the maximum with scale 0.1", loss=10.0, event=lambda v: v > 0.5)


def next_generator(scores, *, rng):
    return next((i for i, s in enumerate(scores) if s > 0.5), -1) + rng.laplace(0.0, 1.0)


add(next_generator, "the first large score's place", loss=20.0, event=lambda v: v > 10)


def any_all(scores, *, rng):
    return 3 * any(s > 0.5 for s in scores) + rng.laplace(0.0, 1.0)


add(any_all, "any() moves by 1, times 3", loss=3.0, event=lambda v: v > 1.5)


def sum_start(scores, *, rng):
    return sum((s for s in scores), start=scores[-1]) + rng.laplace(0.0, 1.0)


add(sum_start, "the last score is counted twice", loss=2.0, event=lambda v: v >= 2)


def sum_step(scores, *, rng):
    return sum(2 for s in scores if s > 0.5) + rng.laplace(0.0, 1.0)


add(sum_step, "each record counts 2", loss=2.0, event=lambda v: v >= 2)


def nested_count(scores, *, rng):
    return sum(1 for s in scores for _ in range(3) if s > 0.5) + rng.laplace(0.0, 1.0)


add(nested_count, "each record counts 3", loss=3.0, event=lambda v: v >= 2)


def counted_against_others(scores, *, rng):
    return sum(1 for s in scores if s >= scores[-1]) + rng.laplace(0.0, 1.0)


add(counted_against_others, "compared with another score", loss=19.0, event=lambda v: v < 10)


def neighbours_count(scores, *, rng):
    return sum(1 for a, b in zip(scores, scores[1:]) if a != b) + rng.laplace(0.0, 1.0)


add(
    neighbours_count,
    "a score stands in two pairs",
    loss=2.0,
    pair=(np.zeros(20), np.r_[0, 1, np.zeros(18)]),
    event=lambda v: v >= 2,
)
