"""Wrong scales and sensitivities; noise that is forgotten, shared, reused, undone or of a wrong law."""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp

ATTACKS = Table("noise")
add = ATTACKS.add
attack = ATTACKS.attack


def half_scale(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 0.5)


add(half_scale, "scale 1/2 for sensitivity 1", loss=2.0, event=lambda v: v >= 1)


def scale_nine_tenths(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 0.9)


add(scale_nine_tenths, "scale 0.9 for sensitivity 1", loss=1 / 0.9)


def epsilon_for_scale(scores, *, rng):
    epsilon = 0.1
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, epsilon)


add(epsilon_for_scale, "ε in place of 1/ε", loss=10.0, event=lambda v: v > 0.5)


def sum_as_mean(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, 1 / len(scores))


add(sum_as_mean, "the mean's sensitivity for a sum", loss=20.0, event=lambda v: v > 0.5)


def quantile_as_mean(scores, *, rng):
    return np.quantile(scores, 0.9) + rng.laplace(0.0, 1 / len(scores))


add(quantile_as_mean, "a quantile moves by up to 0.9", loss=18.0)


def median_as_mean(scores, *, rng):
    return np.median(scores) + rng.laplace(0.0, 1 / len(scores))


halves = np.r_[np.zeros(10), np.ones(10)]
add(
    median_as_mean,
    "the median moves by 1/2",
    loss=10.0,
    pair=(halves, np.r_[np.zeros(9), np.ones(11)]),
    event=lambda v: v > 0.75,
)


def maximum_as_mean(scores, *, rng):
    return scores.max() + rng.laplace(0.0, 1 / len(scores))


add(maximum_as_mean, "the maximum moves by up to 1", loss=20.0, event=lambda v: v > 0.5)


def order_statistic_as_mean(scores, *, rng):
    return np.sort(scores)[18] + rng.laplace(0.0, 1 / len(scores))


add(order_statistic_as_mean, "an order statistic moves by up to 1", loss=20.0)


def range_as_mean(scores, *, rng):
    return np.ptp(scores) + rng.laplace(0.0, 1 / scores.size)


add(range_as_mean, "the range moves by up to 1", loss=20.0, event=lambda v: v > 0.5)


def deviation_as_mean(scores, *, rng):
    return scores.std() + rng.laplace(0.0, 1 / scores.size)


add(deviation_as_mean, "the standard deviation moves by 0.218", loss=4.359, event=lambda v: v > 0.2)


def variance_square(scores, *, rng):
    return scores.var() + rng.laplace(0.0, 1 / scores.size**2)


add(variance_square, "the variance moves by (n - 1)/n²", loss=19.0, event=lambda v: v > 0.03)


def weighted_by_data(scores, *, rng):
    return np.average(scores, weights=scores + 1e-6) + rng.laplace(0.0, 1 / len(scores))


add(weighted_by_data, "weights from the data", loss=20.0, event=lambda v: v > 0.5)


def sum_of_squares_wide(scores, *, rng):
    return float(np.sum((3 * scores) ** 2)) + rng.laplace(0.0, 3.0)


add(sum_of_squares_wide, "the square of 3x moves by 9", loss=3.0, event=lambda v: v > 8)


def product_of_scores(scores, *, rng):
    return np.prod(2 * scores) + rng.laplace(0.0, 2.0)


add(
    product_of_scores,
    "the product moves by 2**20",
    loss=2.0**19,
    pair=(np.ones(20), np.r_[np.ones(19), 0]),
    event=lambda v: v > 2**18,
)


def wider_bounds(scores, *, rng):
    return np.clip(scores, 0, 2).sum() + rng.laplace(0.0, 1.0)


add(
    wider_bounds,
    "the scores reach 2",
    loss=2.0,
    bounds=(0.0, 2.0),
    pair=(np.zeros(20), np.r_[np.zeros(19), 2]),
    event=lambda v: v > 2,
)


def bounds_below_zero(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, 1.0)


add(
    bounds_below_zero,
    "the scores span [-1, 1]",
    loss=2.0,
    bounds=(-1.0, 1.0),
    pair=(np.r_[np.zeros(19), -1], np.r_[np.zeros(19), 1]),
    event=lambda v: v > 1,
)


def histogram_of_add_remove(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.laplace(0.0, 1.0, size=5)


add(
    histogram_of_add_remove,
    "substitution moves two bins",
    loss=2.0,
    event=lambda v: v[0] <= 19 and v[4] >= 1,
)


def prefix_counts_maximum(scores, *, rng):
    counts = np.array([np.count_nonzero(scores <= t) for t in (0.2, 0.4, 0.6, 0.8)])
    return counts + rng.laplace(0.0, 1.0, size=4)


add(prefix_counts_maximum, "four counts move by 1 each", loss=4.0, event=lambda v: all(v >= 20))


def l2_for_l1(scores, *, rng):
    counts = np.array([np.count_nonzero(scores <= t) for t in (0.2, 0.4, 0.6, 0.8)])
    return counts + rng.laplace(0.0, 2.0, size=4)


add(l2_for_l1, "Laplace noise of the l2 sensitivity 2; l1 is 4", loss=2.0)


def gaussian_for_pure(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.normal(0.0, 100.0)


add(gaussian_for_pure, "Gaussian noise has no pure ε")


def gaussian_tight(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.normal(0.0, 0.99)


add(gaussian_tight, "σ is 0.99", dp.ZCDP(0.5), loss=0.5 / 0.99**2)


def variance_for_sigma(scores, *, rng):
    rho = 8.0
    return np.count_nonzero(scores > 0.5) + rng.normal(0.0, 1 / (2 * rho))


add(variance_for_sigma, "σ² in place of σ", dp.ZCDP(8.0), loss=128.0)


def histogram_gaussian_l1(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.normal(0.0, 1.0, size=5)


add(histogram_gaussian_l1, "l2 sensitivity is √2", dp.ZCDP(0.5), loss=1.0)


def budget_not_split(scores, *, rng):
    out = []
    for t in (0.2, 0.4, 0.6):
        out.append(np.count_nonzero(scores <= t) + rng.normal(0.0, 1.0))
    return out


add(budget_not_split, "three rounds at ρ = 1/2", dp.ZCDP(0.5), loss=1.5)


def one_round_more(scores, *, rng):
    out = []
    for i in range(11):
        out.append(np.count_nonzero(scores <= i / 10 - 0.05) + rng.laplace(0.0, 10.0))
    return out


add(
    one_round_more,
    "ten of the eleven rounds count something, at ε/10 each",
    dp.PureDP(0.9),
    loss=1.0,
)


def inclusive_range(scores, *, rng):
    out = []
    for i in range(0, 5 + 1):
        out.append(np.count_nonzero(scores <= i / 6) + rng.normal(0.0, 5**0.5))
    return out


add(inclusive_range, "six rounds, noise for five", dp.GaussianDP(1.0), loss=1.095)


def last_round_bare(scores, *, rng):
    out = []
    for i in range(3):
        noise = rng.laplace(0.0, 2.0) if i < 2 else 0.0
        out.append(np.count_nonzero(scores > 0.5) + noise)
    return out


add(last_round_bare, "no noise in the last round", event=lambda v: v[2] == 1)


def first_round_bare(scores, *, rng):
    value = np.count_nonzero(scores > 0.5)
    out = [value]
    while len(out) < 3:
        out.append(value + rng.laplace(0.0, 2.0))
    return out


add(first_round_bare, "no noise in the first round", event=lambda v: v[0] == 1)


def one_coordinate_bare(scores, *, rng):
    noise = np.zeros(3)
    noise[:2] = rng.laplace(0.0, 3.0, size=2)
    return np.full(3, np.count_nonzero(scores > 0.5)) + noise


add(one_coordinate_bare, "the last coordinate has no noise", event=lambda v: v[2] == 1)


def one_branch_bare(scores, *, rng):
    value = np.count_nonzero(scores > 0.5)
    if rng.random() < 0.5:
        value = value + rng.laplace(0.0, 1.0)
    return value


add(one_branch_bare, "half of the calls have no noise", event=lambda v: v == 1)


def rare_branch_bare(scores, *, rng):
    value = np.count_nonzero(scores > 0.5)
    return value if rng.random() < 1e-9 else value + rng.laplace(0.0, 1.0)


add(rare_branch_bare, "one call in 10⁹ has no noise")


def noise_after_large(scores, *, rng):
    noisy = np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0)
    if noisy > 2:
        noisy = np.count_nonzero(scores > 0.5)
    return noisy


add(
    noise_after_large,
    "the truth is returned where the noisy value is large",
    event=lambda v: v == 1,
)


def one_draw_for_many(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.laplace(0.0, 2.0)


add(one_draw_for_many, "one draw is broadcast", event=lambda v: round(v[0] - v[4]) == 18)


def one_draw_size_none(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.laplace(0.0, 2.0, size=None)


add(one_draw_size_none, "size=None is one draw", event=lambda v: round(v[0] - v[4]) == 18)


def one_draw_size_one(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.normal(0.0, 2**0.5, size=1)


add(
    one_draw_size_one, "size=1 is broadcast", dp.ZCDP(0.5), event=lambda v: round(v[0] - v[4]) == 18
)


def draws_by_row(scores, *, rng):
    counts, _ = np.histogram(scores, bins=6, range=(0, 1))
    return counts.reshape(2, 3) + rng.laplace(0.0, 2.0, size=(2, 1))


add(draws_by_row, "a draw for each row", event=lambda v: abs(v[1, 1] - v[1, 2]) > 0.5)


def draws_by_column(scores, *, rng):
    counts, _ = np.histogram(scores, bins=6, range=(0, 1))
    return counts.reshape(2, 3) + rng.laplace(0.0, 2.0, size=3)


add(
    draws_by_column,
    "a draw for each column",
    event=lambda v: abs(v[0, 1] - v[1, 1]) < 0.5 and abs(v[0, 2] - v[1, 2]) > 0.5,
)


def full_of_one_draw(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + np.full(5, rng.laplace(0.0, 2.0))


add(full_of_one_draw, "np.full repeats one draw", event=lambda v: round(v[0] - v[4]) == 18)


def list_times_draw(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + np.array([rng.laplace(0.0, 2.0)] * 5)


add(list_times_draw, "a list repeats one draw", event=lambda v: round(v[0] - v[4]) == 18)


def tiled_draw(scores, *, rng):
    counts, _ = np.histogram(scores, bins=6, range=(0, 1))
    return counts + np.tile(rng.laplace(0.0, 2.0, size=3), 2)


add(tiled_draw, "np.tile repeats three draws", event=lambda v: round(v[0] - v[3]) == 19)


def broadcast_to_draw(scores, *, rng):
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + np.broadcast_to(rng.laplace(0.0, 2.0, size=1), (5,))


add(broadcast_to_draw, "broadcast_to repeats one draw", event=lambda v: round(v[0] - v[4]) == 18)


def indexed_draw(scores, *, rng):
    noise = rng.laplace(0.0, 2.0, size=5)
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + noise[[0, 1, 2, 3, 3]]


add(indexed_draw, "an index repeats a draw", event=lambda v: abs(v[3] - v[4]) > 0.5)


def draw_before_loop(scores, *, rng):
    z = rng.laplace(0.0, 3.0)
    out = []
    for t in (0.25, 0.5, 1.0):
        out.append(np.count_nonzero(scores <= t) + z)
    return out


add(draw_before_loop, "one draw in all rounds", event=lambda v: round(v[2] - v[0]) == 1)


def draw_returned(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + z, z


add(draw_returned, "the noise is returned too", event=lambda v: round(v[0] - v[1]) == 1)


def draw_sign_returned(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + z, z > 0


add(draw_sign_returned, "the noise's sign is returned too", event=lambda v: v[1] and v[0] < 1)


def draw_negated(scores, *, rng):
    z = rng.laplace(0.0, 2.0)
    value = np.count_nonzero(scores > 0.5)
    return value + z, value - z


add(draw_negated, "the sum has no noise", event=lambda v: round(v[0] + v[1]) == 2)


def draw_scaled_twice(scores, *, rng):
    z = rng.laplace(0.0, 2.0)
    value = np.count_nonzero(scores > 0.5)
    return value + z, value + 2 * z


add(
    draw_scaled_twice,
    "two equations in one unknown draw",
    event=lambda v: round(2 * v[0] - v[1]) == 1,
)


def noise_subtracted(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    noisy = np.count_nonzero(scores > 0.5) + z
    return noisy - z


add(noise_subtracted, "the noise is taken away again", event=lambda v: round(v) == 1)


def noise_self_difference(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + (z - z)


add(noise_self_difference, "z - z is 0", event=lambda v: v == 1)


def noise_divided(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + z / z


add(noise_divided, "z / z is 1", event=lambda v: v == 2)


def noise_centred(scores, *, rng):
    z = rng.laplace(0.0, 2.0, size=5)
    counts, _ = np.histogram(np.append(scores, scores), bins=5, range=(0, 1))
    return counts + (z - z.mean()), counts.sum() + 0 * z[0], scores.sum() + z[0] - z[0]


add(noise_centred, "noise that cancels", event=lambda v: round(v[2]) == 1)


def noise_times_data(scores, *, rng):
    return np.count_nonzero(scores > 0.5) * (1 + rng.laplace(0.0, 1.0))


add(noise_times_data, "the noise is 0 where the count is", event=lambda v: v == 0)


def scale_from_data(scores, *, rng):
    value = np.count_nonzero(scores > 0.5)
    return value + rng.laplace(0.0, 1.0 + value)


add(scale_from_data, "the scale depends on the data", loss=math.inf)


def scale_from_spread(scores, *, rng):
    return scores.mean() + rng.laplace(0.0, 1e-9 + np.ptp(scores) / len(scores))


add(scale_from_spread, "the scale is the range of the data", event=lambda v: abs(v) < 1e-6)


def location_is_data_scale_tiny(scores, *, rng):
    return rng.laplace(np.count_nonzero(scores > 0.5), 0.5)


add(location_is_data_scale_tiny, "location and scale in one call", loss=2.0, event=lambda v: v >= 1)


def keywords_swapped(scores, *, rng):
    return rng.laplace(scale=np.count_nonzero(scores > 0.5) + 1.0, loc=1.0)


add(keywords_swapped, "the data are the scale")


def positional_scale_swapped(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(10.0)


add(
    positional_scale_swapped,
    "10 is the location, the scale is 1",
    dp.PureDP(0.1),
    loss=1.0,
    event=lambda v: v > 11,
)


def absolute_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + abs(rng.laplace(0.0, 1.0))


add(absolute_noise, "one-sided noise", event=lambda v: v < 1)


def exponential_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.exponential(1.0)


add(exponential_noise, "one-sided noise", event=lambda v: v < 1)


def clipped_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + np.clip(rng.laplace(0.0, 1.0), -1, 1)


add(clipped_noise, "bounded noise", event=lambda v: v < -0.1 or v == -1)


def rejected_noise(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    while abs(z) > 1:
        z = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + z


add(rejected_noise, "truncated noise", event=lambda v: v < 0)


def rejected_output(scores, *, rng):
    value = np.count_nonzero(scores > 0.5)
    while not -1 <= (noisy := value + rng.laplace(0.0, 1.0)) <= 1:
        pass
    return noisy


add(rejected_output, "rejection to [-1, 1] renormalises by the data", loss=1.38)


def uniform_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.uniform(-50, 50)


add(uniform_noise, "bounded support")


def triangular_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.triangular(-50, 0, 50)


add(triangular_noise, "bounded support")


def rounded_noise_on_fraction(scores, *, rng):
    return scores.sum() + round(rng.laplace(0.0, 1.0))


add(
    rounded_noise_on_fraction,
    "the fraction of the sum is released",
    pair=(np.zeros(20), np.r_[np.zeros(19), 0.5]),
    event=lambda v: v % 1 == 0.5,
)


def whole_noise_on_fraction(scores, *, rng):
    return scores.sum() + rng.geometric(0.6) - rng.geometric(0.6)


add(
    whole_noise_on_fraction,
    "the fraction of the sum is released",
    pair=(np.zeros(20), np.r_[np.zeros(19), 0.5]),
    event=lambda v: v % 1 == 0.5,
)


def floored_noise(scores, *, rng):
    return scores.sum() + np.floor(rng.laplace(0.0, 1.0))


add(
    floored_noise,
    "the fraction of the sum is released",
    pair=(np.zeros(20), np.r_[np.zeros(19), 0.5]),
    event=lambda v: v % 1 == 0.5,
)


def integer_noise_cast(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, 1.0, size=1).astype(int)[0]


add(
    integer_noise_cast,
    "the fraction of the sum is released",
    pair=(np.zeros(20), np.r_[np.zeros(19), 0.5]),
    event=lambda v: v % 1 == 0.5,
)


def zero_scale(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 0.0)


add(zero_scale, "scale 0", event=lambda v: v == 1)


def scale_whole_division(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, 1 // len(scores))


add(scale_whole_division, "1 // n is 0", event=lambda v: v == 1)


def scale_underflow(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, math.exp(-800))


add(scale_underflow, "the scale underflows to 0", event=lambda v: v == 1)


def noise_halved(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0) * 0.5


add(noise_halved, "the noise is halved", loss=2.0, event=lambda v: v >= 1)


def noise_squared_away(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0) ** 2


add(noise_squared_away, "the square is not below 0", event=lambda v: v < 1)


def noise_to_the_zero(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0) ** 0


add(noise_to_the_zero, "z ** 0 is 1", event=lambda v: v == 2)


def averaged_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0, size=100).mean()


add(averaged_noise, "the mean of 100 draws is narrow", event=lambda v: v > 0.5)


def averaged_answers(scores, *, rng):
    answers = [np.count_nonzero(scores > 0.5) + rng.laplace(0.0, 1.0) for _ in range(50)]
    return float(np.mean(answers))


add(averaged_answers, "50 answers at ε = 1, averaged", event=lambda v: v > 0.5)


def sorted_noise(scores, *, rng):
    counts, _ = np.histogram(scores, bins=[-1, 0.5, 2])
    return counts + np.sort(rng.laplace(0.0, 2.0, size=2))


add(sorted_noise, "sorted draws: z₀ ≤ z₁ is known", event=lambda v: v[1] - v[0] < -18.0 - 1e-9)


def cancelled_first(scores, *, rng):
    z = rng.laplace(0.0, 1.0, size=3)
    z[1] = 0.0
    return np.array([0, np.count_nonzero(scores > 0.5), 0]) + z


add(cancelled_first, "the draw is overwritten", event=lambda v: v[1] == 1)


def erased_through_alias(scores, *, rng):
    z = rng.laplace(0.0, 1.0, size=1)
    view = z[:]
    view *= 0
    return np.count_nonzero(scores > 0.5) + z


add(erased_through_alias, "a view of the noise is set to 0", event=lambda v: v[0] == 1)


def erased_buffer(scores, *, rng):
    buffer = np.empty(1)
    z = rng.standard_normal(out=buffer)
    buffer.fill(0.0)
    return np.count_nonzero(scores > 0.5) + z


add(erased_buffer, "out= shares memory with the noise", dp.ZCDP(0.5), event=lambda v: v[0] == 1)


def noise_maximum(scores, *, rng):
    value = np.count_nonzero(scores > 0.5)
    return value + max(rng.laplace(0.0, 1.0), 0.0)


add(noise_maximum, "noise below 0 is lost", event=lambda v: v < 1)


def noise_where(scores, *, rng):
    z = rng.laplace(0.0, 1.0)
    return np.count_nonzero(scores > 0.5) + np.where(z > 3, z, 0.0)


add(noise_where, "noise is mostly 0", event=lambda v: v == 1)


def geometric_one_sided(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.geometric(1 - math.exp(-1))


add(geometric_one_sided, "one-sided", event=lambda v: v == 1)


def geometric_wrong_rate(scores, *, rng):
    p = 1 - math.exp(-2)
    return np.count_nonzero(scores > 0.5) + rng.geometric(p) - rng.geometric(p)


add(geometric_wrong_rate, "rate of ε = 2", loss=2.0, event=lambda v: v >= 1)


def geometric_two_rates(scores, *, rng):
    z = rng.geometric(1 - math.exp(-1)) - rng.geometric(1 - math.exp(-3))
    return np.count_nonzero(scores > 0.5) + z


add(geometric_two_rates, "the lower side has the rate of ε = 3", loss=3.0)


def geometric_same_draw(scores, *, rng):
    g = rng.geometric(0.5)
    return np.count_nonzero(scores > 0.5) + g - g


add(geometric_same_draw, "the difference of a draw and itself", event=lambda v: v == 1)


def integer_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.integers(-100, 101)


add(integer_noise, "bounded support")


def poisson_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.poisson(100)


add(poisson_noise, "bounded below")


def binomial_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.binomial(1000, 0.5) - 500


add(binomial_noise, "bounded support")


def gumbel_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.gumbel(0.0, 1.0)


add(gumbel_noise, "the lower tail is doubly exponential")


def logistic_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.logistic(0.0, 0.5)


add(logistic_noise, "scale 1/2", loss=2.0, event=lambda v: v >= 1)


def cauchy_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + 0.5 * rng.standard_cauchy()


add(cauchy_noise, "scale 1/2: 2 asinh(1)", loss=1.7627)


def student_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + 0.1 * rng.standard_t(3)


add(student_noise, "narrow", loss=7.0, event=lambda v: v > 0.5)


def local_count_scale(scores, *, rng):
    return scores + rng.laplace(0.0, 0.5, size=len(scores))


add(local_count_scale, "each score alone with scale 1/2", loss=2.0, event=lambda v: v[-1] >= 1)


def scores_one_draw(scores, *, rng):
    return scores + rng.laplace(0.0, 1.0)


add(scores_one_draw, "all scores with one draw", event=lambda v: v[-1] - v[0] > 0.5)


def gaussian_correlated(scores, *, rng):
    cov = np.ones((2, 2))
    value = np.array([np.count_nonzero(scores > 0.5), 0.0])
    return value + rng.multivariate_normal(np.zeros(2), cov)


add(
    gaussian_correlated,
    "the two coordinates share their noise",
    dp.ZCDP(0.5),
    event=lambda v: v[0] - v[1] > 0.5,
)


def group_of_two_claim(scores, *, rng):
    doubled = np.concatenate([scores, scores])
    return np.count_nonzero(doubled > 0.5) + rng.laplace(0.0, 1.0)


add(group_of_two_claim, "each record stands twice", loss=2.0, event=lambda v: v >= 2)


def repeated_records(scores, *, rng):
    return np.repeat(scores, 3).sum() + rng.laplace(0.0, 1.0)


add(repeated_records, "each record stands three times", loss=3.0, event=lambda v: v >= 2)


@attack("the winning value of counts that one record all moves costs more than its place")
def largest_of_cumulated_and_its_value(scores, *, rng):
    counts = np.array([np.sum(scores <= t) for t in np.linspace(0, 1, 9)])
    noisy = counts + rng.laplace(0, 2.0, 9)
    place = int(np.argmax(noisy))
    return place, noisy[place]


@attack("the noise of a maximum hides other counts, too")
def noise_of_a_maximum_on_other_counts(scores, *, rng):
    noise = rng.laplace(0, 2.0, 4)
    place = int(np.argmax(np.histogram(scores, 4, (0.0, 1.0))[0] + noise))
    return place, np.histogram(scores, 4, (0.0, 0.5))[0] + noise


@attack("the maximum's noise is returned beside its place")
def noise_of_a_maximum(scores, *, rng):
    noise = rng.laplace(0, 2.0, 4)
    return int(np.argmax(np.histogram(scores, 4, (0.0, 1.0))[0] + noise)), noise


@attack("two maxima, and the values of one of them")
def two_maxima_and_values(scores, *, rng):
    first, second = (
        np.histogram(scores, 10, (0.0, 1.0))[0] + rng.laplace(0, 2.0, 10) for _ in range(2)
    )
    return int(np.argmax(first)), int(np.argmax(second)), first
