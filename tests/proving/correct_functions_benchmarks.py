"""CheckDP's and LightDP's benchmark programs as plain Python, with counting queries of the scores.

``ZOO`` names the plain functions of the zoo's right mechanisms, some of which are below.

References
----------
Wang, Ding, Kifer and Zhang 2020, "CheckDP"; Zhang and Kifer 2017, "LightDP". Only their right
programs are here; the wrong ones are among the attacks.
"""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

BENCHMARKS = Table("benchmarks")
LEVELS = (0.2, 0.4, 0.6, 0.8)


def add(function):
    BENCHMARKS.add(function, "right")


def queries(scores):
    return [np.count_nonzero(scores <= level) for level in LEVELS]


def noisy_max_running(scores, *, rng):
    best, where = 0.0, 0
    for i, answer in enumerate(queries(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if i == 0 or noisy > best:
            best, where = noisy, i
    return where


add(noisy_max_running)


def noisy_max_at_once(scores, *, rng):
    return int(np.argmax(np.asarray(queries(scores)) + rng.laplace(scale=2.0, size=4)))


add(noisy_max_at_once)


def sparse_vector_technique(scores, *, rng):
    threshold = 10 + rng.laplace(scale=2.0)
    answers, above, i = [], 0, 0
    q = queries(scores)
    while above < 1 and i < len(q):
        if q[i] + rng.laplace(scale=4.0) >= threshold:
            answers.append(True)
            above += 1
        else:
            answers.append(False)
        i += 1
    return answers


add(sparse_vector_technique)


def sparse_vector_of_two(scores, *, rng):
    threshold = 10 + rng.laplace(scale=2.0)
    answers, above = [], 0
    for answer in queries(scores):
        if answer + rng.laplace(scale=8.0) >= threshold:
            answers.append(True)
            above += 1
            if above >= 2:
                break
        else:
            answers.append(False)
    return answers


add(sparse_vector_of_two)


def sparse_vector_new_threshold(scores, *, rng):
    threshold = 10 + rng.laplace(scale=4.0)
    answers, above = [], 0
    for answer in queries(scores):
        if above == 2:
            break
        noisy = answer + rng.laplace(scale=8.0)
        if noisy >= threshold:
            answers.append(True)
            above += 1
            threshold = 10 + rng.laplace(scale=4.0)
        else:
            answers.append(False)
    return answers


add(sparse_vector_new_threshold)


def sparse_vector_with_numbers(scores, *, rng):
    threshold = 10 + rng.laplace(scale=3.0)
    answers = []
    for answer in queries(scores):
        if answer + rng.laplace(scale=6.0) >= threshold:
            answers.append(float(answer + rng.laplace(scale=3.0)))
            break
        answers.append(0.0)
    return answers


add(sparse_vector_with_numbers)


def sparse_vector_with_gap(scores, *, rng):
    threshold = 10 + rng.laplace(scale=2.0)
    answers = []
    for answer in queries(scores):
        gap = answer + rng.laplace(scale=4.0) - threshold
        if gap >= 0:
            answers.append(float(gap))
            break
        answers.append(0.0)
    return answers


add(sparse_vector_with_gap)


def sparse_vector_adaptive(scores, *, rng):
    threshold = 10 + rng.laplace(scale=2.0)
    answers, left = [], 1.0 - 0.5
    for answer in queries(scores):
        if left < 0.5:
            break
        far = answer + rng.laplace(scale=8.0)
        if far - threshold >= 16:
            answers.append(float(far - threshold))
            left = left - 0.25
            continue
        near = answer + rng.laplace(scale=4.0)
        if near - threshold >= 0:
            answers.append(float(near - threshold))
            left = left - 0.5
        else:
            answers.append(0.0)
    return answers


add(sparse_vector_adaptive)


def parts_of(scores):
    return [scores[5 * i : 5 * i + 5].sum() for i in range(4)]


def partial_sum(scores, *, rng):
    total = 0.0
    for part in parts_of(scores):
        total = total + part
    return float(total + rng.laplace(scale=1.0))


add(partial_sum)


def prefix_sum(scores, *, rng):
    sums, running = [], 0.0
    for part in parts_of(scores):
        running = running + part + rng.laplace(scale=1.0)
        sums.append(running)
    return sums


add(prefix_sum)


def smart_sum(scores, *, rng):
    sums, block, after = [], 0.0, 0.0
    for i, part in enumerate(parts_of(scores)):
        if (i + 1) % 2 == 0:
            after = after + block + part + rng.laplace(scale=2.0)
            sums.append(after)
            block = 0.0
        else:
            sums.append(after + part + rng.laplace(scale=2.0))
            block = block + part
    return sums


add(smart_sum)


def laplace_quantile(scores, *, rng):
    return float(np.clip(np.quantile(scores, 0.9) + rng.laplace(0.0, 1.0), 0.0, 1.0))


BENCHMARKS.add(laplace_quantile, "right", family="zoo")


def gaussian_quantile(scores, *, rng):
    return np.quantile(scores, 0.9) + rng.normal(0.0, 1.0)


BENCHMARKS.add(gaussian_quantile, "right", dp.ZCDP(0.5), family="zoo")


def search_rounded_up(scores, *, rng):
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        if np.count_nonzero(scores <= middle) + rng.normal(0.0, math.sqrt(8)) < 19:
            low = middle
        else:
            high = middle
    return math.ceil(100 * high) / 100


BENCHMARKS.add(search_rounded_up, "right", dp.ZCDP(0.5), family="zoo")


def two_bit_response(scores, *, rng):
    keep = math.exp(0.5) / (1 + math.exp(0.5))
    return [[int(rng.random() < keep) == int(s > t) for t in (0.3, 0.6)] for s in scores]


BENCHMARKS.add(two_bit_response, "right", family="zoo")

ZOO = {
    "search": "pcoqs_for",
    "search-rounded-up": "search_rounded_up",
    "laplace-quantile": "laplace_quantile",
    "gaussian-quantile": "gaussian_quantile",
    "histogram": "histogram_quantile",
    "exponq": "exponential_grid",
    "exponential-gaps": "gap_quantile",
    "randomized-response": "randomised_response",
    "two-bit-response": "two_bit_response",
}
