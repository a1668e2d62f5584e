"""Attacks on steps of DP-SGD in PyTorch, each with words of the reason that stops it."""

import numpy as np
import torch
from proving.specimen_tables import Table
from torch.func import grad, vmap
from torch.nn import functional as F  # noqa: N812

from dpcp_audit import ZCDP
from dpcp_audit.words.guarantees import Relation

ATTACKS = Table("torch")
DOUBLE = torch.float64


def attack(says, claim=ZCDP(0.5), **rest):  # noqa: ANN201, B008
    return ATTACKS.attack(says, claim, **rest)


def source(rng):  # noqa: ANN201
    return torch.Generator().manual_seed(int(rng.integers(2**63)))


def noise(rng, sigma=2.0, size=2):  # noqa: ANN201
    return torch.normal(0.0, sigma, size=(size,), generator=source(rng), dtype=DOUBLE)


def loss(w, x):
    return (w[0] + w[1] * x - 0.3) ** 2


def gradients(scores):
    return vmap(grad(loss), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))


def clipped(g, clip=1.0):
    return g * torch.clamp(clip / (g.norm(dim=1, keepdim=True) + 1e-6), max=1.0)


# ---------------------------------------------------------------------- the clip


@attack("the gradient of what is not one record's loss")
def gradient_of_the_batch(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    x = torch.tensor(scores)
    (g,) = torch.autograd.grad((w[0] + w[1] * x - 0.3) ** 2, w)
    return (g / torch.clamp(g.norm(), min=1.0) + noise(rng)).numpy()


@attack("a loss of all records")
def clipped_after_the_sum(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    x = torch.tensor(scores)
    value = ((w[0] + w[1] * x - 0.3) ** 2).mean(dim=0)
    (g,) = torch.autograd.grad(value, w)
    return (g * min(1.0, 1.0 / (g.norm() + 1e-6)) + noise(rng)).numpy()


@attack("backward of a tensor")
def backward_of_the_batch(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    x = torch.tensor(scores)
    value = (w[0] + w[1] * x - 0.3) ** 2
    value.backward()
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    return (w.grad + noise(rng)).numpy()


@attack("clip_grad_norm_ clips the gradient of all records")
def clipped_by_the_library(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    return noise(rng).numpy()


@attack("backward of a tensor")
def gradients_are_added(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        value = loss(w, x)
        value.backward()
        g = w.grad
        total = total + g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy()


@attack("gradients whose norms are not bounded")
def unclipped(scores, *, rng):
    return (gradients(scores).sum(dim=0) + noise(rng)).numpy()


@attack("the norm of all records")
def norm_of_all_records(scores, *, rng):
    g = gradients(scores)
    g = g * torch.clamp(1.0 / (g.norm() + 1e-6), max=1.0)
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("the norm of all records")
def norm_of_columns(scores, *, rng):
    g = gradients(scores)
    g = g * torch.clamp(1.0 / (g.norm(dim=0) + 1e-6), max=1.0)
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("another norm than the Euclidean one")
def largest_entry(scores, *, rng):
    g = gradients(scores)
    g = g * torch.clamp(1.0 / (g.norm(float("inf"), dim=1, keepdim=True) + 1e-6), max=1.0)
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("another norm than the Euclidean one")
def half_norm(scores, *, rng):
    g = gradients(scores)
    g = g / torch.clamp(torch.linalg.norm(g, 3, dim=1, keepdim=True), min=1.0)
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("of gradients and of their norms")
def norms_along_the_other_axis(scores, *, rng):
    g = gradients(scores)
    return ((g / torch.clamp(g.norm(dim=1), min=1.0)).sum(dim=0) + noise(rng)).numpy()


@attack("a difference of the norms of gradients is not followed")
def negative_epsilon(scores, *, rng):
    g = gradients(scores)
    factors = torch.clamp(1.0 / (g.norm(dim=1, keepdim=True) - 1e-6), max=1.0)
    return ((g * factors).sum(dim=0) + noise(rng)).numpy()


@attack("a sum of vectors for each record is not followed")
def epsilon_below_zero(scores, *, rng):
    g = gradients(scores)
    factors = torch.clamp(1.0 / (g.norm(dim=1, keepdim=True) + -0.5), max=1.0)
    return ((g * factors).sum(dim=0) + noise(rng)).numpy()


@attack("single precision may round to 0")
def epsilon_underflows(scores, *, rng):
    g = gradients(scores).float()
    g = g * (1.0 / (g.norm(dim=1, keepdim=True) + 1e-60))
    return (g.sum(dim=0).double() + noise(rng)).numpy()


@attack("0/0 is NaN")
def divided_by_the_norm(scores, *, rng):
    g = gradients(scores)
    return ((g / g.norm(dim=1, keepdim=True)).sum(dim=0) + noise(rng)).numpy()


@attack("0/0 is NaN")
def times_an_infinite_factor(scores, *, rng):
    g = gradients(scores)
    return ((g * (1.0 / g.norm(dim=1, keepdim=True))).sum(dim=0) + noise(rng)).numpy()


@attack("a norm may be 0, and is divided by")
def python_divides_by_zero(scores, *, rng):
    w, total = torch.zeros(2, dtype=DOUBLE), torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(w, x)
        total = total + g * min(1.0, 1.0 / g.norm().item())
    return (total + noise(rng)).numpy()


@attack("norms are bounded by a value")
def clamped_from_the_wrong_side(scores, *, rng):
    g = gradients(scores)
    factors = torch.clamp(1.0 / (g.norm(dim=1, keepdim=True) + 1e-6), min=1.0)
    return ((g * factors).sum(dim=0) + noise(rng)).numpy()


@attack("of gradients and of their norms")
def times_the_norm(scores, *, rng):
    g = gradients(scores)
    return ((g * torch.clamp(g.norm(dim=1, keepdim=True), min=1.0)).sum(0) + noise(rng)).numpy()


@attack("a quotient of vectors for each record")
def norms_of_other_gradients(scores, *, rng):
    g, h = gradients(scores), gradients(scores)
    g = g / torch.clamp(h.norm(dim=1, keepdim=True), min=1.0)
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("gradients whose norms are not bounded")
def changed_after_the_clip(scores, *, rng):
    g = clipped(gradients(scores)) + 5.0
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("", loss=4.5)
def scaled_after_the_clip(scores, *, rng):
    g = clipped(gradients(scores)) * 3.0
    return (g.sum(dim=0) + noise(rng)).numpy()


@attack("gradients whose norms are not bounded")
def joined_after_each_clip(scores, *, rng):
    g = torch.cat([clipped(gradients(scores)), clipped(gradients(scores))], dim=1)
    return (g.sum(dim=0) + noise(rng, 2.0, 4)).numpy()


@attack("", loss=1.0)
def clipped_for_each_parameter(scores, *, rng):
    first, second = clipped(gradients(scores)), clipped(gradients(scores))
    return (first.sum(0) + noise(rng)).numpy(), (second.sum(0) + noise(rng)).numpy()


@attack("", loss=0.55125)
def clipped_a_little_late(scores, *, rng):
    return (clipped(gradients(scores), 1.05).sum(0) + noise(rng)).numpy()


# ---------------------------------------------------------------------- the noise


@attack("", loss=2.0)
def noise_for_half_the_clip(scores, *, rng):
    return (clipped(gradients(scores)).sum(0) + noise(rng, 1.0)).numpy()


@attack("", loss=0.5102)
def a_hundredth_too_little_noise(scores, *, rng):
    return (clipped(gradients(scores)).sum(0) + noise(rng, 0.99 * 2.0)).numpy()


@attack("", loss=0.5102, neighbours=Relation.ADD_REMOVE)
def too_little_noise_for_an_added_record(scores, *, rng):
    return (clipped(gradients(scores)).sum(0) + noise(rng, 0.99)).numpy()


@attack("one draw would be on several numbers")
def one_draw_for_all_entries(scores, *, rng):
    shared = torch.normal(0.0, 2.0, size=(1,), generator=source(rng), dtype=DOUBLE)
    return (clipped(gradients(scores)).sum(0) + shared).numpy()


@attack("without noise", loss=0.0)
def no_noise(scores, *, rng):
    return clipped(gradients(scores)).sum(0).numpy()


@attack("used before")
def noise_is_used_twice(scores, *, rng):
    drawn, total = noise(rng), clipped(gradients(scores)).sum(0)
    return (total + drawn).numpy(), (2.0 * total + drawn).numpy()


@attack("used before")
def noise_is_shown(scores, *, rng):
    drawn = noise(rng)
    return (clipped(gradients(scores)).sum(0) + drawn).numpy(), drawn.numpy()


@attack("whoever knows its seed")
def a_known_seed(scores, *, rng):
    own = torch.Generator().manual_seed(7)
    drawn = torch.normal(0.0, 2.0, size=(2,), generator=own, dtype=DOUBLE)
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("not seeded")
def the_library_s_own_seed(scores, *, rng):
    drawn = torch.normal(0.0, 2.0, size=(2,), generator=torch.Generator(), dtype=DOUBLE)
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("whoever knows its seed")
def few_seeds(scores, *, rng):
    own = torch.Generator().manual_seed(int(rng.integers(1000)))
    drawn = torch.normal(0.0, 2.0, size=(2,), generator=own, dtype=DOUBLE)
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("used before")
def the_seed_is_shown(scores, *, rng):
    seed = int(rng.integers(2**63))
    drawn = torch.randn(2, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy(), seed


@attack("used before")
def one_seed_for_two_generators(scores, *, rng):
    seed = int(rng.integers(2**63))
    one, two = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    total = clipped(gradients(scores)).sum(0)
    first = total + torch.randn(2, generator=one, dtype=DOUBLE) * 2.9
    return first.numpy(), (3.0 * total + torch.randn(2, generator=two, dtype=DOUBLE)).numpy()


@attack("whoever knows its seed")
def part_of_a_seed(scores, *, rng):
    own = torch.Generator().manual_seed(int(rng.integers(2**63)) % 3)
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("initial_seed")
def the_generator_tells_its_seed(scores, *, rng):
    own = source(rng)
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy(), own.initial_seed()


@attack("get_state")
def the_generator_tells_its_state(scores, *, rng):
    own = source(rng)
    state = own.get_state()
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy(), state


@attack("a source without noise")
def the_generator_is_returned(scores, *, rng):
    own = source(rng)
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy(), own


@attack("noise of single precision on doubles")
def single_noise_on_doubles(scores, *, rng):
    drawn = torch.randn(2, generator=source(rng)) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("noise of single precision on doubles")
def single_noise_as_doubles(scores, *, rng):
    drawn = torch.randn(2, generator=source(rng), dtype=torch.float32).double() * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("rounded off")
def single_sums_are_rounded(scores, *, rng):
    total = clipped(gradients(scores)).sum(0).float() + 2.0**26
    return (total + torch.randn(2, generator=source(rng)) * 2.0).numpy()


@attack("without noise")
def single_noise_is_rounded_away(scores, *, rng):
    drawn = (torch.randn(2, generator=source(rng)) * 2.0 + 2.0**40) - 2.0**40
    return (clipped(gradients(scores)).sum(0).float() + drawn).numpy()


@attack("arguments that are not followed")
def noise_around_the_sum(scores, *, rng):
    total = clipped(gradients(scores)).sum(0)
    return torch.normal(total, 1.0, generator=source(rng)).numpy()


@attack("noise of its own for each record")
def noise_for_each_record(scores, *, rng):
    own, total = source(rng), torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        g = g / torch.clamp(g.norm(), min=1.0)
        g = g + torch.randn(2, generator=own, dtype=DOUBLE)
        total = total + g
    return total.numpy()


# ---------------------------------------------------------------------- the gradients


@attack("division by what may be 0")
def gradient_divides(scores, *, rng):
    def steep(w, x):
        return (w[0] / x + w[1]) ** 2

    g = vmap(grad(steep), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("log of PyTorch is not followed")
def logarithm_of_zero(scores, *, rng):
    def steep(w, x):
        return w[0] * torch.log(x) + w[1]

    g = vmap(grad(steep), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("sqrt of PyTorch is not followed")
def root_at_zero(scores, *, rng):
    def steep(w, x):
        return torch.sqrt(w[0] * x) + w[1]

    g = vmap(grad(steep), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("so large that they are infinite")
def squares_of_squares(scores, *, rng):
    def steep(w, x):
        z = (w[0] + x * 1000.0) ** 8
        z = z**8
        return (z**8) ** 8 + w[1]

    g = vmap(grad(steep), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("so large that they are infinite")
def overflow_in_single_precision(scores, *, rng):
    def steep(w, x):
        return (w[0] + x * 1e20) ** 2 + w[1]

    x = torch.tensor(scores, dtype=torch.float32)
    g = vmap(grad(steep), in_dims=(None, 0))(torch.zeros(2), x)
    return (clipped(g).sum(0) + torch.randn(2, generator=source(rng)) * 2.0).numpy()


@attack("unknown size")
def public_weights_may_be_infinite(scores, *, rng):
    w = torch.tensor(1.0 / rng.normal(0.0, 1.0, size=2))
    g = vmap(grad(loss), in_dims=(None, 0))(w, torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("a power of a tensor")
def a_power_below_one(scores, *, rng):
    def steep(w, x):
        return (w[0] * x) ** 0.5 + w[1]

    g = vmap(grad(steep), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("a comparison depends on")
def branch_on_the_record(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x) if x > 0.5 else total
        total = total + g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy()


@attack("an earlier record left")
def a_momentum_of_raw_gradients(scores, *, rng):
    total, momentum = torch.zeros(2, dtype=DOUBLE), torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        momentum = 0.9 * momentum + g
        total = total + momentum / torch.clamp(momentum.norm(), min=1.0)
    return (total + noise(rng)).numpy()


@attack("not a tensor of its own")
def the_sum_is_read_in_the_loop(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(total, x)
        total = total + g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy()


@attack("the last record left")
def the_last_gradient(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        g = g / torch.clamp(g.norm(), min=1.0)
        total = total + g
    return (total + noise(rng)).numpy(), (g + noise(rng)).numpy()


@attack("does more than add up")
def added_twice_by_condition(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        if x > 0.5:
            total = total + g
    return (total + noise(rng)).numpy()


@attack("", loss=2.0)
def added_twice(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        g = g / torch.clamp(g.norm(), min=1.0)
        total += g
        total += g
    return (total + noise(rng)).numpy()


@attack("in place")
def the_sum_has_another_name(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = total
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        g = g / torch.clamp(g.norm(), min=1.0)
        total += g
    return (total + noise(rng)).numpy(), shown.numpy()


@attack("in place")
def the_sum_is_an_array_too(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = total.numpy()
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total += g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy(), shown


@attack("in place")
def the_sum_was_detached(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = total.detach()
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total += g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy(), shown.numpy()


@attack("holds the records in its graph")
def the_graph_is_handed_out(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE, requires_grad=True)
    x = torch.tensor(scores)
    features = torch.stack([torch.ones_like(x), x], dim=1)
    g = (features @ w - 0.3)[:, None] * features
    return clipped(g).sum(0) + noise(rng)


@attack("raises an error")
def vmap_of_an_empty_lot(scores, *, rng):
    lot = torch.tensor(scores[rng.random(len(scores)) < 0.5])
    g = vmap(grad(loss), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), lot)
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("one record's tensor is taken out")
def one_gradient(scores, *, rng):
    return (clipped(gradients(scores))[0] + noise(rng)).numpy()


@attack("a mean over a number of records", neighbours=Relation.ADD_REMOVE)
def private_mean(scores, *, rng):
    return (clipped(gradients(scores)).mean(dim=0) + noise(rng)).numpy()


@attack("summed along another dimension")
def sum_of_everything(scores, *, rng):
    return float(clipped(gradients(scores)).sum()) + rng.normal(0.0, 2.0)


@attack("another library depends on")
def given_to_numpy(scores, *, rng):
    return np.sum(clipped(gradients(scores))) + rng.normal(0.0, 2.0)


@attack("along another dimension")
def labels_of_another_shape(scores, *, rng):
    x = torch.tensor(scores)
    features = torch.stack([torch.ones_like(x), x], dim=1)
    g = (features @ torch.zeros(2, dtype=DOUBLE) - torch.zeros(20, dtype=DOUBLE))[:, None]
    return (clipped(g * features).sum(0) + noise(rng)).numpy()


@attack("", loss=2.0)
def steps_at_full_price(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE)
    for _ in range(4):
        g = vmap(grad(loss), in_dims=(None, 0))(w, torch.tensor(scores))
        w = w - 0.1 * (clipped(g).sum(0) + noise(rng)) / len(scores)
    return w


@attack("without noise")
def the_next_step_is_at_raw_weights(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE)
    for _ in range(2):
        g = vmap(grad(loss), in_dims=(None, 0))(w, torch.tensor(scores))
        raw = clipped(g).sum(0)
        w = w - 0.1 * raw
    return (w + noise(rng)).numpy()


@attack("a function is called for each record")
def loss_is_printed(scores, *, rng):
    def told(w, x):
        print(x)  # noqa: T201
        return loss(w, x)

    g = vmap(grad(told), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("BatchNorm1d of PyTorch is not followed")
def batch_norm_mixes_records(scores, *, rng):
    x = torch.nn.BatchNorm1d(1)(torch.tensor(scores)[:, None])
    return (clipped(x).sum(0) + noise(rng, size=1)).numpy()


@attack("gradients whose norms are not bounded")
def all_records_in_each_loss(scores, *, rng):
    x = torch.tensor(scores)

    def mixed(w, one):
        return (w[0] * one - x.mean(dim=0)) ** 2 + w[1]

    g = vmap(grad(mixed), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), x)
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("along another dimension")
def another_batch_in_each_loss(scores, *, rng):
    x = torch.tensor(scores)

    def mixed(w, one):
        return ((w[0] * one - x) ** 2).sum() + w[1]

    g = vmap(grad(mixed), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), x)
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("not a tensor of its own")
def gradient_of_a_gradient(scores, *, rng):
    def inner(w, x):
        return grad(loss)(w, x).sum()

    g = vmap(grad(inner), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("of other shapes, or of all records")
def a_loss_that_broadcasts(scores, *, rng):
    def wide(w, x):
        return F.mse_loss(w, x)

    g = vmap(grad(wide), in_dims=(None, 0))(torch.zeros(2, dtype=DOUBLE), torch.tensor(scores))
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("a quotient of vectors for each record")
def norms_of_all_in_a_loop(scores, *, rng):
    g = gradients(scores)
    norms, total = g.norm(dim=1, keepdim=True), torch.zeros(2, dtype=DOUBLE)
    for each in g:
        total = total + each / torch.clamp(norms, min=1.0)
    return (total + noise(rng)).numpy()


@attack("a product of vectors for each record")
def norms_of_all_in_vmap(scores, *, rng):
    g = gradients(scores)
    factors = torch.clamp(1.0 / (g.norm(dim=1, keepdim=True) + 1e-6), max=1.0)
    return (vmap(lambda each: each * factors)(g).sum(0) + noise(rng)).numpy()


@attack("what the last record left is read")
def the_sum_begins_anew(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total = g
        total = total + g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy()


@attack("beside a value that is not followed")
def mean_of_all_in_each_loss(scores, *, rng):
    centre = scores.mean()
    g = vmap(grad(lambda w, x: (w[0] * x - centre) ** 2 + w[1]), in_dims=(None, 0))(
        torch.zeros(2, dtype=DOUBLE), torch.tensor(scores)
    )
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("an array that is filled gets another name")
def an_array_is_changed_under_a_tensor(scores, *, rng):
    kept = np.zeros(2)
    shown = torch.as_tensor(kept)
    kept[0] = scores.sum()
    return shown.numpy()


@attack("changed in place")
def the_tensor_is_changed_under_an_array(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = total.numpy()
    total += clipped(gradients(scores)).sum(0)
    return (total + noise(rng)).numpy(), shown


@attack("seed noise")
def a_seed_as_noise(scores, *, rng):
    return np.count_nonzero(scores > 0.5) + rng.integers(2**63)


@attack("whoever knows its seed")
def seeded_in_one_branch(scores, *, rng):
    own = torch.Generator()
    if rng.random() < 0.5:
        own.manual_seed(int(rng.integers(2**63)))
    else:
        own.manual_seed(5)
    return (clipped(gradients(scores)).sum(0) + torch.randn(2, generator=own, dtype=DOUBLE)).numpy()


@attack("not seeded")
def seeded_in_some_branch(scores, *, rng):
    own = torch.Generator()
    if rng.random() < 0.5:
        own.manual_seed(int(rng.integers(2**63)))
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("different records")
def gradients_of_other_records(scores, *, rng):
    x, y = torch.tensor(scores), torch.tensor(np.sort(scores))
    g = vmap(grad(lambda w, a, b: (w[0] * a - b) ** 2 + w[1]), in_dims=(None, 0, 0))(
        torch.zeros(2, dtype=DOUBLE), x, y
    )
    return (clipped(g).sum(0) + noise(rng)).numpy()


@attack("in place")
def the_sum_was_cast_to_its_own_type(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = total.double()
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total += g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy(), shown.numpy()


@attack("in place")
def an_entry_of_the_sum_is_a_view(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = total[0]
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total += g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy(), shown.item()


@attack("in place")
def the_sum_is_numpy_s_too(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)
    shown = np.asarray(total)
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total += g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy(), shown


@attack("arguments that are not known")
def a_default_keeps_the_sum(scores, *, rng):
    total = torch.zeros(2, dtype=DOUBLE)

    def kept(x, held=total):
        return held * 1.0 + 0.0 * x

    per_record = vmap(kept)
    del kept
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        total += g / torch.clamp(g.norm(), min=1.0)
    leaked = torch.clamp(per_record(torch.tensor(scores)), -1e9, 1e9)
    return (total + noise(rng)).numpy(), (leaked.sum(0) + noise(rng, 1e12)).numpy()


@attack("rounded off")
def sums_on_noise_of_single_precision(scores, *, rng):
    total = torch.randn(2, generator=source(rng)) * 2.0**-12
    for x in torch.tensor(scores, dtype=torch.float32):
        g = grad(loss)(torch.zeros(2), x)
        total = total + g * min(2.0**-14, 2.0**-14 / (g.norm() + 1e-6)) * 2.0**16
    return (total * 1.0).numpy()


@attack("of unknown size")
def weights_that_may_be_nan(scores, *, rng):
    w = torch.clamp(torch.tensor(np.log(rng.normal(0.0, 1.0, size=2))), -1.0, 1.0)
    total = torch.zeros(2, dtype=DOUBLE)
    for x in torch.tensor(scores[rng.random(len(scores)) < 0.1]):
        g = grad(loss)(w, x)
        total = total + g / torch.clamp(g.norm(), min=1.0)
    return (total + noise(rng)).numpy()


@attack("with a graph")
def records_in_a_graph(scores, *, rng):
    x = torch.tensor(scores, requires_grad=True)
    return torch.clamp(x, -1.0, 1.0).sum(dim=0) + noise(rng, size=1)[0]


@attack("whoever knows its seed")
def seeded_again(scores, *, rng):
    own = source(rng)
    own.manual_seed(3)
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("used before")
def noise_is_shown_in_single_precision(scores, *, rng):
    drawn = noise(rng)
    return (clipped(gradients(scores)).sum(0) + drawn).numpy(), drawn.float().numpy()


@attack("used before")
def a_branch_on_the_seed(scores, *, rng):
    seed = rng.integers(2**63)
    own = torch.Generator().manual_seed(int(seed))
    if seed % 2 == 0:
        return 0.0
    drawn = torch.randn(2, generator=own, dtype=DOUBLE) * 2.0
    return (clipped(gradients(scores)).sum(0) + drawn).numpy()


@attack("without noise")
def scaled_by_the_sum(scores, *, rng):
    g = clipped(gradients(scores))
    return ((g * g.sum(0)).sum(0) + noise(rng)).numpy()


@attack("changed in place")
def an_entry_is_assigned(scores, *, rng):
    w = torch.zeros(2, dtype=DOUBLE)
    w[0] = scores.sum()
    return w


@attack("changes it otherwise")
def the_list_begins_anew(scores, *, rng):
    kept = []
    for x in torch.tensor(scores):
        kept = []
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        kept.append(g / torch.clamp(g.norm(), min=1.0))
    return (torch.stack(kept).mean(0) + noise(rng, 0.1)).numpy()


@attack("an earlier record left")
def the_length_of_the_list_is_read(scores, *, rng):
    kept, total = [], torch.zeros(2, dtype=DOUBLE)
    other = kept
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        g = g / torch.clamp(g.norm(), min=1.0)
        kept.append(g)
        total = total + g * float(len(other))
    return (total + noise(rng)).numpy()


@attack("not an empty list")
def the_list_has_a_part_already(scores, *, rng):
    kept = [torch.zeros(2, dtype=DOUBLE)]
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        kept.append(g / torch.clamp(g.norm(), min=1.0))
    return (torch.stack(kept).sum(0) + noise(rng)).numpy()


@attack("changes it otherwise")
def each_gradient_is_kept_twice(scores, *, rng):
    kept = []
    for x in torch.tensor(scores):
        g = grad(loss)(torch.zeros(2, dtype=DOUBLE), x)
        g = g / torch.clamp(g.norm(), min=1.0)
        kept.append(g)
        kept.append(g)
    return (torch.stack(kept).sum(0) + noise(rng)).numpy()


@attack("gradients whose norms are not bounded")
def a_list_of_raw_gradients(scores, *, rng):
    kept = []
    for x in torch.tensor(scores):
        kept.append(grad(loss)(torch.zeros(2, dtype=DOUBLE), x))  # noqa: PERF401
    return (torch.stack(kept).sum(0) + noise(rng)).numpy()


@attack("of gradients and of their norms|0/0")
def a_product_of_raw_factors(scores, *, rng):
    g = gradients(scores)
    return ((1.0 / g.norm(dim=1)) @ g + noise(rng)).numpy()


@attack("of gradients and of their norms|vectors for each record")
def a_product_of_norms(scores, *, rng):
    g = gradients(scores)
    return (torch.clamp(g.norm(dim=1), min=1.0) @ g + noise(rng)).numpy()
