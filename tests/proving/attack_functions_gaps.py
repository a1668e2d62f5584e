"""Attempts to get past the rule of the exponential mechanism over the gaps between records."""

import math

import numpy as np
from proving.specimen_tables import Table
from scipy import special

import dpcp_audit as dp

ATTACKS = Table("gaps")
ties = (np.r_[np.full(18, 0.5), 0.75, 0.75], np.r_[np.full(18, 0.5), 0.75, 0.9])
middle = (np.full(20, 0.5), np.r_[np.full(19, 0.5), 0.75])


def add(function, reason, claim=dp.PureDP(1.0), **rest):
    if "event" in rest:
        rest.setdefault("pair", middle)
    ATTACKS.add(function, reason, claim, **rest)


def law(scores, epsilon=1.0, rank=18):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) * np.exp(-epsilon / 2 * np.abs(np.arange(len(scores) + 1) - rank))
    return edges, w / w.sum()


def gap_without_half(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) * np.exp(-np.abs(np.arange(21) - 18))
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_without_half, "exp(ε·u) in place of exp(ε·u/2)", loss=1.5)


def gap_upper_end(scores, *, rng):
    edges, p = law(scores)
    return edges[rng.choice(21, p=p) + 1]


add(gap_upper_end, "the end of a gap is a record", event=lambda v: v == 0.75)


def gap_middle(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return (edges[i] + edges[i + 1]) / 2


add(gap_middle, "the middle of a gap shows its ends", event=lambda v: v == 0.625)


def gap_place(scores, *, rng):
    edges, p = law(scores)
    return int(rng.choice(21, p=p))


add(gap_place, "gaps of length 0 are never chosen", event=lambda v: v == 19)


def gap_length(scores, *, rng):
    edges, p = law(scores)
    return np.diff(edges)[rng.choice(21, p=p)]


add(gap_length, "the length of a gap", event=lambda v: v == 0.25)


def gap_and_place(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return rng.uniform(edges[i], edges[i + 1]), i > 19


add(gap_and_place, "the place beside the draw", event=lambda v: v[1] and v[0] < 0.75)


def gap_branch(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return 1.0 if i == 19 else rng.uniform(edges[i], edges[i + 1])


add(gap_branch, "a branch on the place", event=lambda v: v == 1.0)


def gap_many_draws(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return rng.uniform(edges[i], edges[i + 1], size=50)


add(gap_many_draws, "50 draws inside one gap show its ends", loss=50.0)


def gap_draw_returned(scores, *, rng):
    edges, p = law(scores)
    i, u = rng.choice(21, p=p), rng.random()
    return u, edges[i] + u * (edges[i + 1] - edges[i])


add(gap_draw_returned, "the uniform draw is returned, too: the gap can be solved for")


def gap_draw_shared(scores, *, rng):
    edges, p = law(scores)
    i, j, u = rng.choice(21, p=p), rng.choice(21, p=p), rng.random()
    first = edges[i] + u * (edges[i + 1] - edges[i])
    return first, edges[j] + u * (edges[j + 1] - edges[j])


add(gap_draw_shared, "one uniform draw in two gaps", dp.PureDP(2.0))


def gap_draw_shifted(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    u = rng.random() + 0.5
    return edges[i] + u * (edges[i + 1] - edges[i])


add(gap_draw_shifted, "the draw may lie outside of the gap")


def gap_draw_scaled(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return edges[i] + 0.5 * rng.random() * (edges[i + 1] - edges[i])


add(gap_draw_scaled, "half of the gap is never reached", event=lambda v: 0.625 < v < 0.74)


def gap_draw_zero(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return edges[i] + rng.random() * 0 * (edges[i + 1] - edges[i])


add(gap_draw_zero, "the draw is multiplied away", event=lambda v: v == 0.75)


def gap_draw_normal(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    return edges[i] + rng.normal() * (edges[i + 1] - edges[i])


add(gap_draw_normal, "a normal draw on the scale of the gap", loss=100.0)


def gap_next(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(20, p=p[:20] / p[:20].sum())
    return rng.uniform(edges[i + 1], edges[i + 2])


add(gap_next, "the gap after the chosen one")


def gap_two_wide(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(np.arange(21) // 2, p=p)
    return rng.uniform(edges[i], edges[i + 2])


add(gap_two_wide, "the interval spans two gaps")


def gap_other_place(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(np.arange(21)[::-1], p=p)
    return rng.uniform(edges[i], edges[i + 1])


add(gap_other_place, "gaps are chosen by another gap's weight")


def gap_no_length(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_no_length, "gaps of length 0 are chosen", pair=ties, event=lambda v: v == 0.75)


def gap_floor(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.maximum(np.diff(edges), 0.05) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_floor, "gaps of length 0 have a weight", pair=ties, event=lambda v: v == 0.75)


def gap_smoothed(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = (np.diff(edges) + 0.05) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_smoothed, "gaps of length 0 have a weight", pair=ties, event=lambda v: v == 0.75)


def gap_squared(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) ** 2 * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_squared, "the density grows with the gap's length", loss=20.0)


def gap_steep(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) * np.exp(-((np.arange(21) - 18) ** 2) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_steep, "a quadratic utility is not of sensitivity 1", loss=2.0)


def gap_rank_of_data(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    rank = np.count_nonzero(scores > 0.6)
    w = np.diff(edges) * np.exp(-np.abs(np.arange(21) - rank) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_rank_of_data, "the rank is a count of the data", loss=2.0)


def gap_unsorted(scores, *, rng):
    edges = np.concatenate([[0.0], scores, [1.0]])
    w = np.abs(np.diff(edges)) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_unsorted, "the records are not sorted")


def gap_open_ends(scores, *, rng):
    edges = np.concatenate([[0.25], np.sort(scores), [0.6]])
    w = np.abs(np.diff(edges)) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_open_ends, "a record beyond the ends")


def gap_clipped_late(scores, *, rng):
    edges = np.clip(np.concatenate([[0.0], np.sort(scores), [1.0]]), 0.4, 0.7)
    w = np.diff(edges) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return scores[0] if i == 0 else rng.uniform(edges[i], edges[i + 1])


add(gap_clipped_late, "a record if the first gap is chosen")


def gap_ends_of_data(scores, *, rng):
    edges = np.concatenate([[scores.min()], np.sort(scores), [scores.max()]])
    w = np.diff(edges) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_ends_of_data, "the ends are records")


def gap_selected(scores, *, rng):
    chosen = np.sort(scores[scores > 0.4])
    edges = np.concatenate([[0.4], chosen, [1.0]])
    n = len(chosen)
    w = np.diff(edges) * np.exp(-np.abs(np.arange(n + 1) - n / 2) / 2)
    i = rng.choice(n + 1, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_selected, "the rank depends on how many records are chosen", loss=1.5)


def gap_other_edges(scores, *, rng):
    _, p = law(scores)
    edges = np.concatenate([[0.0], np.sort(np.minimum(scores, 0.6)), [1.0]])
    i = rng.choice(21, p=p)
    return rng.uniform(edges[i], edges[i + 1])


add(gap_other_edges, "weights of other edges")


def gap_other_weights(scores, *, rng):
    edges, _ = law(scores)
    _, p = law(scores / 2)
    i = rng.choice(21, p=p)
    return rng.uniform(edges[i], edges[i + 1])


add(gap_other_weights, "weights of other edges")


def gap_other_sum(scores, *, rng):
    edges, p = law(scores)
    w = np.diff(edges)
    v = w * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(22, p=np.append(v / w.sum(), 1 - (v / w.sum()).sum()))
    return -1.0 if i == 21 else rng.uniform(edges[i], edges[i + 1])


add(gap_other_sum, "the rest of the weights is an outcome of its own", loss=1.5)


def gap_changed(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    edges[5] = 0.0
    w = np.diff(edges) * np.exp(-np.abs(np.arange(21) - 18) / 2)
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_changed, "an edge is changed")


def gap_changed_later(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    edges[1:20] = 0.5
    return rng.uniform(edges[i], edges[i + 1])


add(gap_changed_later, "the edges are changed after the choice")


def gap_warns(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    logs = np.log(np.diff(edges)) - np.abs(np.arange(21) - 18) / 2
    i = rng.choice(21, p=special.softmax(logs))
    return rng.uniform(edges[i], edges[i + 1])


add(gap_warns, "a length 0 warns")


def gap_raises(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="raise"):
        logs = np.log(np.diff(edges)) - np.abs(np.arange(21) - 18) / 2
    i = rng.choice(21, p=special.softmax(logs))
    return rng.uniform(edges[i], edges[i + 1])


add(gap_raises, "a length 0 raises")


def gap_gumbel_flat(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - np.abs(np.arange(21) - 18) / 2
    i = np.argmax(logs + rng.gumbel(scale=0.5, size=21))
    return rng.uniform(edges[i], edges[i + 1])


add(gap_gumbel_flat, "Gumbel noise of scale 1/2: squared weights", loss=20.0)


def gap_gumbel_one(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - np.abs(np.arange(21) - 18) / 2
    i = np.argmax(logs + rng.gumbel())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_gumbel_one, "one draw for all gaps")


def gap_laplace_noise(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) - np.abs(np.arange(21) - 18) / 2
    i = np.argmax(logs + rng.laplace(size=21))
    return rng.uniform(edges[i], edges[i + 1])


add(gap_laplace_noise, "Laplace noise on logarithms of lengths")


def gap_no_noise(scores, *, rng):
    edges, p = law(scores)
    i = np.argmax(p)
    return rng.uniform(edges[i], edges[i + 1])


add(gap_no_noise, "the heaviest gap")


def gap_underflow(scores, *, rng):
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    w = np.diff(edges) * np.exp(-400 * np.abs(np.arange(21) - 0))
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_underflow, "weights that doubles round to 0", dp.PureDP(800.0))


def gap_reused(scores, *, rng):
    edges, p = law(scores)
    i = rng.choice(21, p=p)
    out = []
    for _ in range(2):
        out.append(rng.uniform(edges[i], edges[i + 1]))
    return out


add(gap_reused, "two draws inside one gap", dp.PureDP(1.0), loss=2.0)


def gap_loop_skips(scores, *, rng):
    points = [0.0, *sorted(scores), 1.0]
    w = [(points[i + 1] - points[i]) * math.exp(-0.5 * abs(i - 18)) for i in range(20)]
    total = sum(w)
    i = rng.choice(20, p=[each / total for each in w])
    return rng.uniform(points[i], points[i + 1])


add(gap_loop_skips, "the last gap is never chosen", event=lambda v: v > 0.51)


def gap_loop_order(scores, *, rng):
    points = [0.0, *sorted(scores), 1.0]
    w = [(points[i + 1] - points[i]) * math.exp(-0.5 * abs(i - 18)) for i in reversed(range(21))]
    total = sum(w)
    i = rng.choice(21, p=[each / total for each in w])
    return rng.uniform(points[i], points[i + 1])


add(gap_loop_order, "weights in another order")


def gap_loop_total(scores, *, rng):
    points = [0.0, *sorted(scores), 1.0]
    flat = [points[i + 1] - points[i] for i in range(21)]
    w = [(points[i + 1] - points[i]) * math.exp(-0.5 * abs(i - 18)) for i in range(21)]
    i = rng.choice(21, p=[each / sum(flat) for each in w])
    return rng.uniform(points[i], points[i + 1])


add(gap_loop_total, "divided by the sum of other weights")
