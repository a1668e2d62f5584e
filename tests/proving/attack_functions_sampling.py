"""Samples of the records that show, that are no samples of all, or that are counted twice."""

import math

import numpy as np
from proving.specimen_tables import Table

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

SAMPLING = Table("sampling")
ATTACKS = SAMPLING
attack = SAMPLING.attack
Q = 0.25
OF_SAMPLE = math.log1p(Q * math.expm1(1.0))
AMPLIFIED = dp.PureDP(OF_SAMPLE + 1e-9)
"""What ε = 1 of a quarter of the records is for all of them."""


@attack("the batch size is shown", AMPLIFIED)
def size_shown(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[mask].sum() + rng.laplace(), mask.sum()


@attack("who is in the batch is shown", AMPLIFIED)
def mask_shown(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[mask].sum() + rng.laplace(), mask


@attack("the draws that chose the batch are shown", AMPLIFIED)
def draws_shown(scores, *, rng):
    u = rng.random(len(scores))
    return scores[u < Q].sum() + rng.laplace(), u


@attack("one of the draws is shown before", AMPLIFIED)
def one_draw_shown(scores, *, rng):
    u = rng.random(len(scores))
    first = float(u[0])
    return scores[u < Q].sum() + rng.laplace(), first


@attack("the draws choose a second batch", dp.PureDP(2 * OF_SAMPLE))
def second_batch_of_one_draw(scores, *, rng):
    u = rng.random(len(scores))
    return scores[u < Q].sum() + rng.laplace(), scores[u > 1 - Q].sum() + rng.laplace()


@attack("the rest is used without noise of its own", AMPLIFIED)
def the_rest(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[mask].sum() + rng.laplace(), scores[~mask].sum()


@attack("one sample, used twice, counts as two", dp.PureDP(2 * OF_SAMPLE))
def one_batch_twice(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[mask].sum() + rng.laplace(), np.sum(scores[mask] > 0.5) + rng.laplace()


@attack("one sample in each round counts as ten", dp.PureDP(10 * OF_SAMPLE))
def one_batch_in_a_loop(scores, *, rng):
    batch = scores[rng.random(len(scores)) < Q]
    return [batch.sum() + rng.laplace() for _ in range(10)]


@attack("places of sorted records are other people's", AMPLIFIED)
def of_sorted(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    ordered = np.sort(scores)
    return scores[mask].sum() + ordered[mask].sum() + rng.laplace(0, 2.0)


@attack("noise a tenth too small", AMPLIFIED)
def too_little(scores, *, rng):
    return scores[rng.random(len(scores)) < Q].sum() + rng.laplace(0, 0.9)


@attack("the chance is larger than is claimed", AMPLIFIED)
def too_many(scores, *, rng):
    return scores[rng.random(len(scores)) < 1.1 * Q].sum() + rng.laplace()


@attack("the chance of the other side", AMPLIFIED)
def other_side(scores, *, rng):
    return scores[rng.random(len(scores)) > Q].sum() + rng.laplace()


@attack("the chance depends on the data", AMPLIFIED)
def chance_of_data(scores, *, rng):
    return scores[rng.random(len(scores)) < scores.mean() / 4].sum() + rng.laplace()


@attack("each record's chance depends on it", AMPLIFIED)
def chance_of_record(scores, *, rng):
    return np.sum(rng.random(len(scores)) < scores) + rng.laplace()


@attack("one draw for all", AMPLIFIED)
def one_draw_for_all(scores, *, rng):
    batch = scores if rng.random() < Q else scores[:0]
    return batch.sum() + rng.laplace()


@attack("a mean over a batch of unknown size", AMPLIFIED)
def mean_of_batch(scores, *, rng):
    batch = scores[rng.random(len(scores)) < Q]
    return batch.mean() + rng.laplace(0, 1 / (Q * len(scores)))


@attack("the size of the batch without noise", AMPLIFIED)
def length_of_batch(scores, *, rng):
    batch = scores[rng.random(len(scores)) < Q]
    return batch.sum() + rng.laplace(), len(batch)


def attack_of_added(reason, claim=AMPLIFIED):
    return attack(reason, claim, neighbours=Relation.ADD_REMOVE)


@attack_of_added("the number of draws is shown")
def draws_of_added(scores, *, rng):
    u = rng.random(len(scores))
    return scores[u < Q].sum() + rng.laplace(), u


@attack_of_added("the length of the mask is shown")
def length_of_mask(scores, *, rng):
    mask = rng.random(scores.shape) < Q
    return scores[mask].sum() + rng.laplace(), len(mask)


@attack_of_added("the size of the batch is shown")
def size_of_added(scores, *, rng):
    batch = scores[rng.random(len(scores)) < Q]
    return batch.sum() + rng.laplace(), len(batch)


@attack_of_added("one batch, used twice, counts as two", dp.PureDP(2 * OF_SAMPLE))
def batch_of_added_twice(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[mask].sum() + rng.laplace(), scores[mask].sum() + rng.laplace()


@attack_of_added("the rest is used, too")
def rest_of_added(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[mask].sum() + rng.laplace(), scores[~mask].sum() + rng.laplace()


@attack_of_added("places of sorted records")
def sorted_added(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return np.sort(scores)[mask].sum() + scores[mask].sum() + rng.laplace()


@attack_of_added("reports of all records are shown", dp.PureDP(math.log(4)))
def reports_of_added(scores, *, rng):
    return np.where(rng.random(len(scores)) < 0.8, scores > 0.5, ~(scores > 0.5))


@attack_of_added("one draw more than there are records: an error, where the batch is taken")
def one_draw_more(scores, *, rng):
    mask = rng.random(len(scores) + 1) < Q
    return scores[mask].sum() + rng.laplace()


@attack_of_added("a record's chance is that of another side")
def other_side_of_added(scores, *, rng):
    return scores[rng.random(len(scores)) >= Q].sum() + rng.laplace()


@attack_of_added("the records of a batch are sampled again, and the first batch used as well")
def batch_of_batch(scores, *, rng):
    batch = scores[rng.random(len(scores)) < 2 * Q]
    smaller = batch[rng.random(len(batch)) < 0.5]
    return smaller.sum() + rng.laplace(), batch.sum() + rng.laplace()


@attack_of_added("a mean over a batch of unknown size")
def mean_of_added(scores, *, rng):
    return scores[rng.random(len(scores)) < Q].mean() + rng.laplace()


@attack_of_added("the moment of a sample is not ρ", dp.ZCDP(0.1))
def rho_of_added(scores, *, rng):
    return scores[rng.random(len(scores)) < Q].sum() + rng.normal()


@attack_of_added("Laplace noise has another moment than Gaussian noise", dp.RenyiDP(8, 0.3))
def laplace_moment_of_added(scores, *, rng):
    return scores[rng.random(len(scores)) < Q].sum() + rng.laplace()


@attack_of_added("a sample beside all records has no smaller moment", dp.RenyiDP(2, 1.1))
def beside_all_of_added(scores, *, rng):
    first = scores[rng.random(len(scores)) < Q].sum() + rng.normal()
    return first, scores.sum() + rng.normal()


@attack("amplification is not that of ρ", dp.ZCDP(0.5 * Q))
def of_rho(scores, *, rng):
    return scores[rng.random(len(scores)) < Q].sum() + rng.normal()


@attack("the places are shown", AMPLIFIED)
def places_shown(scores, *, rng):
    chosen = rng.choice(len(scores), size=len(scores) // 4, replace=False)
    return scores[chosen].sum() + rng.laplace(), chosen


@attack("the places choose of something public, too", AMPLIFIED)
def places_of_weights(scores, *, rng):
    chosen = rng.choice(len(scores), size=len(scores) // 4, replace=False)
    return scores[chosen].sum() + rng.laplace(), np.arange(len(scores))[chosen]


@attack("some are likelier to be chosen", AMPLIFIED)
def unequal_chances(scores, *, rng):
    p = np.arange(1, len(scores) + 1) / (len(scores) * (len(scores) + 1) / 2)
    chosen = rng.choice(len(scores), size=len(scores) // 4, replace=False, p=p)
    return scores[chosen].sum() + rng.laplace()


@attack("the places are of other records", AMPLIFIED)
def of_the_first(scores, *, rng):
    chosen = rng.choice(5, size=1, replace=False)
    return scores[chosen].sum() + rng.laplace()


@attack("the sample is half of the records", AMPLIFIED)
def half(scores, *, rng):
    chosen = rng.choice(len(scores), size=len(scores) // 2, replace=False)
    return scores[chosen].sum() + rng.laplace()


@attack("the sample's first record is taken out", AMPLIFIED)
def first_of_sample(scores, *, rng):
    chosen = rng.choice(len(scores), size=len(scores) // 4, replace=False)
    return scores[chosen][0] + rng.laplace(), scores[chosen[0]]


@attack("records are stored at the places", AMPLIFIED)
def stored_at_places(scores, *, rng):
    chosen = rng.choice(len(scores), size=5, replace=False)
    counts = np.zeros(len(scores))
    counts[chosen] = 1.0
    return scores[chosen].sum() + rng.laplace(), counts


@attack("the places decide what is done next", AMPLIFIED)
def decides(scores, *, rng):
    chosen = rng.choice(len(scores), size=5, replace=False)
    total = scores[chosen].sum() + rng.laplace()
    return total if 0 in chosen else -total


@attack("a sample of a slice is no sample of all", dp.PureDP(0.3))
def of_a_slice(scores, *, rng):
    mask = rng.random(len(scores)) < Q
    return scores[2:][mask[2:]].sum() + rng.laplace()


@attack("one batch in three rounds is no three batches, in (ε, δ) too", dp.ApproxDP(0.5, 0.047))
def one_batch_in_three_rounds(scores, *, rng):
    batch = scores[rng.random(len(scores)) < 0.2]
    return [batch.sum() + rng.normal() for _ in range(3)]


@attack(
    "a record beside one that is not in the batch moves by its whole size", dp.ApproxDP(0.5, 0.02)
)
def batch_far_from_zero(scores, *, rng):
    batch = 3 + scores[rng.random(len(scores)) < 0.2]
    return batch.sum() + rng.normal()
