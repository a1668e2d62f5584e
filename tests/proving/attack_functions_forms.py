"""Attempts to get past the rules of objects, slices, shifted records, scipy's laws and try."""

import dataclasses
import math

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

import dpcp_audit as dp
from dpcp_audit.words.guarantees import Relation

ATTACKS = Table("forms")
add = ATTACKS.add


class Plain:
    scale = 1.0
    kept = []

    def __init__(self, scale=1.0):
        self.scale = scale

    def release(self, value, rng):
        return value + rng.laplace(0.0, self.scale)


def object_small_scale(scores, *, rng):
    return Plain(0.5).release(scores.sum(), rng)


add(object_small_scale, "scale 1/2", loss=2.0, event=lambda v: v >= 1)


def object_scale_changed(scores, *, rng):
    tool = Plain(1.0)
    tool.scale /= 4
    return tool.release(scores.sum(), rng)


add(object_scale_changed, "the scale is changed afterwards", loss=4.0, event=lambda v: v >= 1)


def object_scale_by_alias(scores, *, rng):
    tool = Plain(1.0)
    other = tool
    other.scale = 0.01
    return tool.release(scores.sum(), rng)


add(object_scale_by_alias, "changed under another name", loss=100.0, event=lambda v: v > 0.5)


def _narrow(tool):
    tool.scale = 0.01


def object_scale_by_helper(scores, *, rng):
    tool = Plain(1.0)
    _narrow(tool)
    return tool.release(scores.sum(), rng)


add(object_scale_by_helper, "changed by a helper", loss=100.0, event=lambda v: v > 0.5)


def object_deleted_scale(scores, *, rng):
    tool = Plain(100.0)
    del tool.scale
    return tool.release(2 * scores.sum(), rng)


add(object_deleted_scale, "the class's own scale is back", loss=2.0, event=lambda v: v > 1)


def object_in_list_with_data(scores, *, rng):
    tool = Plain(1.0)
    tool.inner = [Plain(2.0)]
    tool.inner[0].data = scores
    return [tool.release(scores.sum(), rng), {"tool": tool}]


add(object_in_list_with_data, "an attribute's attribute holds the scores")


def object_method_keeps_data(scores, *, rng):
    tool = Plain(1.0)
    tool.release = scores.sum
    return tool.release()


add(object_method_keeps_data, "a method is replaced", event=lambda v: v == 1)


def object_class_changed(scores, *, rng):
    Plain.scale = float(scores.max())
    return scores.sum() + rng.laplace(0.0, 1.0)


add(object_class_changed, "a class keeps data")


def object_class_list(scores, *, rng):
    Plain.kept.append(scores.max())
    return scores.sum() + rng.laplace(0.0, 1.0)


add(object_class_list, "a class's list keeps data")


class Once:
    def __init__(self, rng):
        self.noise = rng.laplace(0.0, 1.0)

    def release(self, value):
        return value + self.noise


def object_one_draw(scores, *, rng):
    tool = Once(rng)
    return tool.release(scores.sum()), tool.release(np.count_nonzero(scores > 0.5))


add(object_one_draw, "one draw for two values", loss=2.0)


def object_draw_readable(scores, *, rng):
    tool = Once(rng)
    return tool.release(scores.sum()), tool.noise


add(object_draw_readable, "the draw is returned, too", event=lambda v: v[0] - v[1] > 0.5)


def object_draw_kept(scores, *, rng):
    tool = Once(rng)
    tool.total = tool.release(scores.sum())
    return tool


add(
    object_draw_kept,
    "the draw is kept in what is returned",
    event=lambda v: v.total - v.noise > 0.5,
)


class Seeded:
    def __init__(self):
        self.rng = np.random.default_rng(0)


def object_own_seed(scores, *, rng):
    return scores.sum() + Seeded().rng.laplace(0.0, 1.0)


add(object_own_seed, "a seeded generator of its own", event=lambda v: v > 0.6)


def object_keeps_generator(scores, *, rng):
    tool = Plain(1.0)
    tool.rng = rng
    tool.total = tool.release(scores.sum(), rng)
    return tool


add(object_keeps_generator, "the generator is returned")


class Hooked:
    def __init__(self, scale):
        self.scale = scale

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value / 10)


def object_hooked(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Hooked(1.0).scale)


add(object_hooked, "assignments are divided by 10", loss=10.0, event=lambda v: v > 0.5)


class Getter:
    def __init__(self, scale):
        self.scale = scale

    def __getattribute__(self, name):
        return 0.1


def object_getter(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Getter(1.0).scale)


add(object_getter, "every attribute is 0.1", loss=10.0, event=lambda v: v > 0.5)


class Tenth:
    def __get__(self, owner, kind=None):
        return 0.1

    def __set__(self, owner, value):
        pass


class Described:
    scale = Tenth()

    def __init__(self, scale):
        self.scale = scale


def object_descriptor(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Described(1.0).scale)


add(object_descriptor, "a descriptor gives 0.1", loss=10.0, event=lambda v: v > 0.5)


class Slotted:
    __slots__ = ("scale",)

    def __new__(cls, scale):
        made = super().__new__(cls)
        made.scale = scale / 10
        return made


def object_new(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Slotted(1.0).scale)


add(object_new, "__new__ makes the scale small", loss=10.0, event=lambda v: v > 0.5)


class Meta(type):
    def __call__(cls, scale):
        return super().__call__(scale / 10)


class Metered(metaclass=Meta):
    def __init__(self, scale):
        self.scale = scale


def object_metaclass(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Metered(1.0).scale)


add(object_metaclass, "a metaclass makes the scale small", loss=10.0, event=lambda v: v > 0.5)


class Falsy:
    def __init__(self, data):
        self.data = data

    def __bool__(self):
        return bool(self.data.max() > 0.5)


def object_truth(scores, *, rng):
    return 1.0 if Falsy(scores) else 0.0


add(object_truth, "the truth of an object is the data's", event=lambda v: v == 1.0)


def object_equality(scores, *, rng):
    return Falsy(scores) == Falsy(scores)


add(object_equality, "objects are compared")


class Child(Plain):
    def release(self, value, rng):
        return value + 0.1 * rng.laplace(0.0, self.scale)


def object_child(scores, *, rng):
    return Child(1.0).release(scores.sum(), rng)


add(object_child, "a child overrides the release", loss=10.0, event=lambda v: v > 0.5)


class WithProperty:
    def __init__(self, data):
        self.data = data

    @property
    def noise(self):
        return self.data.max()


def object_property(scores, *, rng):
    return WithProperty(scores).noise


add(object_property, "a property returns data", event=lambda v: v == 1)


@dataclasses.dataclass
class Budget:
    epsilon: float = 1.0

    def scale(self):
        return 1 / self.epsilon


def dataclass_default(scores, *, rng):
    return 2 * scores.sum() + rng.laplace(0.0, Budget().scale())


add(dataclass_default, "twice the sum", loss=2.0, event=lambda v: v > 1)


@dataclasses.dataclass
class Doctored:
    scale: float = 1.0


Doctored.__init__.__defaults__ = (0.1,)


def dataclass_doctored(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Doctored().scale)


add(dataclass_doctored, "the default was changed", loss=10.0, event=lambda v: v > 0.5)


@dataclasses.dataclass
class Replaced:
    scale: float = 1.0


exec("def __init__(self, scale=1.0):\n    self.scale = scale / 10", space := {})
Replaced.__init__ = space["__init__"]


def dataclass_replaced(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Replaced(1.0).scale)


add(dataclass_replaced, "__init__ was replaced", loss=10.0, event=lambda v: v > 0.5)


@dataclasses.dataclass
class After:
    scale: float = 1.0

    def __post_init__(self):
        self.scale = self.scale / 10


def dataclass_after(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, After(1.0).scale)


add(dataclass_after, "__post_init__ makes it small", loss=10.0, event=lambda v: v > 0.5)


@dataclasses.dataclass
class Made:
    notes: list = dataclasses.field(default_factory=lambda: [0.1])


def dataclass_factory(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, ([1.0] + Made().notes)[-1])


add(dataclass_factory, "a factory of its own", loss=10.0, event=lambda v: v > 0.5)


def slices_overlap(scores, *, rng):
    return [scores[i : i + 10].sum() + rng.laplace(0.0, 1.0) for i in range(0, 15, 5)]


add(slices_overlap, "a record is in two windows", loss=2.0)


def slices_and_all(scores, *, rng):
    return scores[:10].sum() + rng.laplace(0.0, 1.0), scores.sum() + rng.laplace(0.0, 1.0)


add(slices_and_all, "a record is in a slice and in all", loss=2.0)


def slices_of_sorted(scores, *, rng):
    ordered = np.sort(scores)
    return [ordered[i : i + 5].sum() + rng.laplace(0.0, 1.0) for i in range(0, 20, 5)]


add(slices_of_sorted, "one record moves others to the next slice", loss=3.0)


def slices_of_negated_sort(scores, *, rng):
    ordered = -np.sort(-scores)
    return ordered[:10].sum() + rng.laplace(0.0, 0.5), ordered[10:].sum() + rng.laplace(0.0, 0.5)


add(slices_of_negated_sort, "sorted, then negated", loss=2.0)


def slices_of_chosen(scores, *, rng):
    low = scores[scores < 0.75]
    return low[:10].sum() + rng.laplace(0.0, 1.0), low[10:].sum() + rng.laplace(0.0, 1.0)


add(slices_of_chosen, "a record that is left out moves the others", loss=1.5)


def slices_of_permuted(scores, *, rng):
    mixed = rng.permutation(scores)
    return mixed[:10].sum() + rng.laplace(0.0, 1.0), scores[10:].sum() + rng.laplace(0.0, 1.0)


add(slices_of_permuted, "a record may be in both", loss=1.2)


def slice_added_twice(scores, *, rng):
    part, rest = scores[:10].sum(), scores[10:].sum()
    return part + rest + part + rng.laplace(0.0, 1.0)


add(slice_added_twice, "one part is added twice", loss=2.0)


def slice_mean_of_all(scores, *, rng):
    return scores[:5].mean() + rng.laplace(0.0, 1 / len(scores))


add(slice_mean_of_all, "the mean of a slice moves by 1/5", loss=4.0)


def slice_by_data_end(scores, *, rng):
    return scores[: np.count_nonzero(scores > 0.5)].sum() + rng.laplace(0.0, 1.0)


add(slice_by_data_end, "the end of the slice is a count", loss=5.0)


def slice_backwards(scores, *, rng):
    back = scores[::-1]
    return back[:10].sum() + rng.laplace(0.0, 1.0), scores[:10].sum() + rng.laplace(0.0, 1.0)


add(slice_backwards, "backwards and forwards, at another price", dp.PureDP(0.9))


def slice_vector_overlap(scores, *, rng):
    parts = np.array([scores[i : i + 8].sum() for i in range(0, 12, 4)])
    return parts + rng.laplace(0.0, 1.0, size=3)


add(slice_vector_overlap, "windows overlap in a vector", loss=2.0)


def slices_and_threshold(scores, *, rng):
    parts = [scores[:10].sum(), scores[10:].sum(), scores.sum()]
    return [part + rng.laplace(0.0, 1.0) for part in parts]


add(slices_and_threshold, "two parts and their total", loss=2.0)


def shifted_sum_scaled(scores, *, rng):
    w = rng.normal()
    return np.clip(3 * (w - scores), -9, 9).sum() + rng.laplace(0.0, 1.0)


add(shifted_sum_scaled, "three times as sensitive", loss=3.0)


def shifted_square(scores, *, rng):
    w = 10 * rng.random()
    return ((w - scores) ** 2).sum() + rng.laplace(0.0, 1.0)


add(shifted_square, "a square far from 0", loss=10.0)


def shifted_absolute_chosen(scores, *, rng):
    w = 10 * rng.random()
    moved = scores - w
    return moved[moved > -5].sum() + rng.laplace(0.0, 1.0)


add(shifted_absolute_chosen, "a sum of chosen, shifted records", loss=4.0)


def shifted_add_remove(scores, *, rng):
    w = 10 * rng.random()
    return (w - scores).sum() + rng.laplace(0.0, 1.0)


add(shifted_add_remove, "one more record adds w", loss=9.0, neighbours=Relation.ADD_REMOVE)


def shifted_product(scores, *, rng):
    w = 10 * rng.random()
    return (w * scores).sum() + rng.laplace(0.0, 1.0)


add(shifted_product, "a public factor", loss=10.0)


def shifted_returned(scores, *, rng):
    w = rng.random()
    return w - scores, w


add(shifted_returned, "records plus a number that is known", event=lambda v: v[1] - v[0][-1] > 0.5)


def shifted_maximum(scores, *, rng):
    return np.max(scores - rng.laplace(0.0, 1.0))


add(shifted_maximum, "one draw on all records: the largest is returned", dp.PureDP(0.9))


def local_draw_again(scores, *, rng):
    noise = rng.laplace(0.0, 1.0, size=20)
    return scores + noise, scores[3:4].sum() + noise[3]


add(local_draw_again, "an entry's draw hides another value", dp.PureDP(0.9))


def local_twice(scores, *, rng):
    noise = rng.laplace(0.0, 1.0, size=20)
    return scores + noise, scores**2 + noise


add(local_twice, "the same draws on other values", loss=1.2)


def local_scaled(scores, *, rng):
    return 2 * scores + rng.laplace(0.0, 1.0, size=len(scores))


add(local_scaled, "twice the records", loss=2.0)


def scipy_seeded(scores, *, rng):
    return scores.sum() + stats.laplace.rvs(scale=1.0, random_state=0)


add(scipy_seeded, "a seed", event=lambda v: v > 1.05)


def scipy_own_generator(scores, *, rng):
    return scores.sum() + stats.laplace.rvs(random_state=np.random.default_rng(0))


add(scipy_own_generator, "a seeded generator of its own")


def scipy_scale(scores, *, rng):
    return scores.sum() + stats.laplace.rvs(0.0, 0.5, random_state=rng)


add(scipy_scale, "scale 1/2", loss=2.0, event=lambda v: v >= 1)


def scipy_frozen_scale(scores, *, rng):
    law = stats.laplace(scale=0.5)
    return scores.sum() + law.rvs(random_state=rng)


add(scipy_frozen_scale, "scale 1/2", loss=2.0, event=lambda v: v >= 1)


def scipy_positional(scores, *, rng):
    return scores.sum() + stats.laplace(1.0).rvs(random_state=rng) / 4


add(scipy_positional, "a location in place of a scale", loss=4.0)


def scipy_uniform(scores, *, rng):
    return scores.sum() + stats.uniform.rvs(-1, 2, random_state=rng)


add(scipy_uniform, "uniform noise", event=lambda v: v > 1)


def scipy_location(scores, *, rng):
    return stats.laplace(loc=2 * scores.sum()).rvs(random_state=rng)


add(scipy_location, "twice the sum as a location", loss=2.0, event=lambda v: v > 1)


def scipy_cdf(scores, *, rng):
    return stats.norm.cdf(scores.sum())


add(scipy_cdf, "a function of the data", event=lambda v: v > 0.6)


def try_returns_data(scores, *, rng):
    noisy = scores.sum() + rng.laplace(0.0, 1.0)
    try:
        return 1 / round(noisy)
    except ZeroDivisionError:
        return 100 * scores.max()


add(try_returns_data, "data where the noisy sum rounds to 0", event=lambda v: v == 100)


def try_raises_by_data(scores, *, rng):
    try:
        if scores.max() > 0.5:
            raise ValueError
    except ValueError:
        return 1.0
    return 0.0


add(try_raises_by_data, "an exception by the data", event=lambda v: v == 1.0)


def try_divides(scores, *, rng):
    try:
        return 0 * (1 / float(scores.max())) + rng.laplace(0.0, 1.0)
    except ZeroDivisionError:
        return "none"


add(try_divides, "a division by data", event=lambda v: v == "none")


def try_list_half_done(scores, *, rng):
    shown, noisy = [0.0], scores.sum() + rng.laplace(0.0, 1.0)
    try:
        shown[0] = scores.sum()
        1 / round(noisy)
        shown[0] = 0.0
    except ZeroDivisionError:
        pass
    return shown[0]


add(try_list_half_done, "left between two assignments", event=lambda v: v == 1.0)


def try_loop_half_done(scores, *, rng):
    shown, noisy = 0.0, scores.sum() + rng.laplace(0.0, 1.0)
    try:
        for value in (scores.sum(), noisy):
            shown = value
            1 / round(noisy)
    except ZeroDivisionError:
        pass
    return shown


add(try_loop_half_done, "left in a loop", event=lambda v: v == 1.0)


def try_finally(scores, *, rng):
    shown = scores.sum() + rng.laplace(0.0, 1.0)
    try:
        shown = shown + 1
    finally:
        shown = scores.max()
    return shown


add(try_finally, "finally assigns data", event=lambda v: v == 1.0)


def try_exception_text(scores, *, rng):
    try:
        return int("score " + str(scores.max()))
    except ValueError as error:
        return str(error)


add(try_exception_text, "the text of an exception", event=lambda v: "1.0" in v)


def uniform_on_sum(scores, *, rng):
    return scores.sum() + rng.random()


add(uniform_on_sum, "uniform noise", event=lambda v: v > 1.0)


def uniform_below_share(scores, *, rng):
    return rng.random() < scores.mean() * 20


add(uniform_below_share, "a chance that is the data's", event=lambda v: v)


def with_open_file(scores, *, rng):
    with open("/dev/null", "w") as file:
        file.write(str(scores.max()))
    return scores.sum() + rng.laplace(0.0, 1.0)


add(with_open_file, "data are written to a file")


def dict_comprehension_keys(scores, *, rng):
    return {float(s): rng.laplace(0.0, 1.0) for s in scores}


add(dict_comprehension_keys, "keys are scores", event=lambda v: 1.0 in v)


def rounds_by_attribute(scores, *, rng):
    tool = Plain(1.0)
    tool.rounds = np.count_nonzero(scores > 0.5)
    return [rng.laplace() for _ in range(tool.rounds)]


add(rounds_by_attribute, "an attribute is a count", event=lambda v: len(v) == 1)


def noisy_again(scores, *, rng):
    value = scores.sum() + rng.laplace(0.0, 1.0)
    again = value + scores.sum()
    return again - value


add(noisy_again, "the noise is taken away again", event=lambda v: v > 0.5)


def power_of_shift(scores, *, rng):
    w = scores.sum() + rng.laplace(0.0, 2.0)
    return w, math.exp(1) * (np.clip(scores - w, -1, 1).sum() + rng.laplace(0.0, 2.0))


add(power_of_shift, "clipped records move by 1, each release costs 1/2", dp.PureDP(0.99))


def list_added(scores, *, rng):
    twice = np.array(list(scores) + list(scores))
    return np.count_nonzero(twice > 0.5) + rng.laplace(0.0, 1.0)


add(list_added, "lists are joined: each record counts twice", loss=2.0, event=lambda v: v > 1)


def list_multiplied(scores, *, rng):
    return np.count_nonzero(np.array(list(scores) * 3) > 0.5) + rng.laplace(0.0, 1.0)


add(list_multiplied, "a list is repeated: each record counts three times", loss=3.0)


def sorted_multiplied(scores, *, rng):
    return sum(1 for s in 2 * sorted(scores) if s > 0.5) + rng.laplace(0.0, 1.0)


add(sorted_multiplied, "a sorted list is repeated", loss=2.0, event=lambda v: v > 1)


def list_copied(scores, *, rng):
    values = list(scores).copy() * 2
    return np.count_nonzero(np.array(values) > 0.5) + rng.laplace(0.0, 1.0)


add(list_copied, "a list's copy is repeated", loss=2.0, event=lambda v: v > 1)


def list_in_helper(scores, *, rng):
    def more(values, times):
        return values * times

    return sum(1 for s in more([s for s in scores], 2) if s > 0.5) + rng.laplace(0.0, 1.0)


add(list_in_helper, "a helper repeats a list", loss=2.0, event=lambda v: v > 1)


def tuple_longer_than_it_looks(scores, *, rng):
    parts = (np.count_nonzero(scores > 0.5),) + (np.count_nonzero(scores > 0.25),)
    return np.sum(parts) + rng.laplace(0.0, 4 / len(parts) ** 2)


add(tuple_longer_than_it_looks, "two entries: scale 1 for sensitivity 2", loss=2.0)


def tuple_repeated(scores, *, rng):
    shown = (rng.random(), rng.random()) * 8
    return scores.sum() + rng.laplace(0.0, 2 / len(shown))


add(tuple_repeated, "sixteen entries: scale 1/8", loss=8.0, event=lambda v: v > 0.5)


def tuple_joined_to_public(scores, *, rng):
    shown = (rng.random(),) + (rng.random(),) + (1.0, 2.0)
    return scores.sum() + rng.laplace(0.0, 1 / len(shown))


add(tuple_joined_to_public, "four entries: scale 1/4", loss=4.0, event=lambda v: v > 0.5)


def tuple_grows(scores, *, rng):
    shown = (rng.random(),)
    for _ in range(9):
        shown += (rng.random(),)
    return scores.sum() + rng.laplace(0.0, 1 / len(shown))


add(tuple_grows, "ten entries: scale 1/10", loss=10.0, event=lambda v: v > 0.5)


def sums_of_a_table(scores, *, rng):
    shown = np.cumsum(rng.random((2, 50)))
    return scores.sum() + rng.laplace(0.0, 2 / len(shown))


add(sums_of_a_table, "100 entries: scale 1/50", loss=50.0, event=lambda v: v > 0.5)


def sorted_table(scores, *, rng):
    shown = np.sort(rng.random((2, 50)), axis=None)
    return scores.sum() + rng.laplace(0.0, 2 / len(shown))


add(sorted_table, "100 entries: scale 1/50", loss=50.0, event=lambda v: v > 0.5)


def named_noise_is_shown(scores, *, rng):
    return scores.sum() + (noise := rng.laplace(0.0, 1.0)), noise


add(named_noise_is_shown, "the noise is returned too")


def named_statistic_is_shown(scores, *, rng):
    return (total := scores.sum()) + rng.laplace(0.0, 1.0), total


add(named_statistic_is_shown, "the sum is returned too")


def named_before_a_closure_reads(scores, *, rng):
    scale = 5.0
    later = lambda: scale
    shown = (scale := 1e-6)
    return scores.sum() + rng.laplace(0.0, later()), shown


add(named_before_a_closure_reads, "the scale is another one by then")


def named_in_a_comprehension(scores, *, rng):
    scale = 1.0
    shown = [(scale := 1e-6) for _ in range(2)]
    return scores.sum() + rng.laplace(0.0, scale), len(shown)


add(named_in_a_comprehension, "the scale of the function is changed")


def named_array_is_changed(scores, *, rng):
    counts = (kept := np.histogram(scores, bins=2, range=(0.0, 1.0))[0] * 1.0)
    counts += rng.laplace(0.0, 2.0, 2)
    return kept[0] - counts[0], counts


add(named_array_is_changed, "an array has two names")


def named_from_record_to_record(scores, *, rng):
    turn = 0
    return [(turn := 1 - turn) if rng.random() < 0.6 else int(s > 0.5) for s in scores]


add(named_from_record_to_record, "a report depends on the one before")


def imported_for_some_records(scores, *, rng):
    shown = []
    for s in scores:
        if s > 0.5:
            from math import floor as rounded
        shown.append(int(rng.random() < 0.5))
    return shown


add(imported_for_some_records, "an import for some records")


def flipped_by_growing_utilities(scores, *, rng):
    q = np.searchsorted(np.sort(scores), np.linspace(0.0, 1.0, 5)) * -1.0
    q = 0.5 * (q - q.max())
    for i in rng.permutation(5):
        if rng.random() <= np.exp((q := q * 2.0)[i]):
            return i


add(flipped_by_growing_utilities, "utilities grow from coin to coin")


def deleted_in_a_branch(scores, *, rng):
    scale = 1.0
    if rng.random() < 0.5:
        del scale
    return scores.sum() + rng.laplace(0.0, scale)


add(deleted_in_a_branch, "half of the calls raise an error")


def starred_list_is_changed(scores, *, rng):
    _, *scales = [1.0, 2.0, 3.0]
    scales[0] = 1e-6
    return scores.sum() + rng.laplace(0.0, scales[0])


add(starred_list_is_changed, "scale 1e-6")


def seeded_generator_of_its_own(scores, *, rng):
    return scores.sum() + np.random.RandomState(rng.integers(5)).laplace(0.0, 1.0)


add(seeded_generator_of_its_own, "five seeds")


def fresh_generator_is_seeded(scores, *, rng):
    own = np.random.RandomState()
    own.seed(3)
    return scores.sum() + own.laplace(0.0, 1.0)


add(fresh_generator_is_seeded, "seeded afterwards")


def fresh_generator_is_shown(scores, *, rng):
    own = np.random.default_rng()
    return scores.sum() + own.laplace(0.0, 1.0), own


add(fresh_generator_is_shown, "the generator is returned")
