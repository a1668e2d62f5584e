"""Attempts by what Python really does: names, lists, iterators, shapes; and sparse vectors."""
# ruff: noqa: B018, F811, F841, S101, C416, SIM103, PLR1730, TRY003, EM101, TRY301, RUF005

import types
from dataclasses import dataclass

import numpy as np
from proving.specimen_tables import Table
from scipy import stats

ATTACKS = Table("rules")
add = ATTACKS.add
FROZEN = float(np.max(stats.laplace().rvs(5, 7)))


class Plain:
    def __init__(self, scale):
        self.scale = scale
        self.turn = 0

    def spoil(self):
        self.scale = 0.001
        return self

    def wrong(self):
        self.scale = 0.001
        return ZeroDivisionError

    def set(self, i):
        self.scale = (0.001, 1.0)[i]
        return True

    @property
    def fix(self):
        self.scale = 1.0
        return 5.0

    def __str__(self):
        self.scale = 0.001
        return "x"

    def __format__(self, spec):
        self.scale = 0.001
        return "x"

    def __eq__(self, o):
        self.scale = 0.001
        return True


__width = 1.0

_Private__width = 0.001


class Private:
    def draw(self, rng):
        return rng.laplace(0.0, __width)


def mangled(scores, *, rng):
    return scores.sum() + Private().draw(rng)


add(mangled, "a name that starts with __ means another one in a class", event=lambda v: v > 0.5)


class Setup:
    def __get__(self, owner, cls=None):
        def go():
            owner.scale = 0.001

        return go


class Started:
    scale = 1.0
    __init__ = Setup()


def init_descriptor(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Started().scale)


add(init_descriptor, "__init__ is a descriptor", event=lambda v: v > 0.5)


@dataclass
class After:
    scale: float = 1.0
    __post_init__ = Setup()


def post_descriptor(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, After().scale)


add(post_descriptor, "__post_init__ is a descriptor", event=lambda v: v > 0.5)


class Small:
    def __get__(self, owner, cls=None):
        return 0.001

    def __set__(self, owner, v):
        pass


@dataclass
class Held:
    scale: float = Small()


def field_descriptor(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Held(1.0).scale)


add(field_descriptor, "a field is a descriptor", event=lambda v: v > 0.5)


@dataclass
class Setter:
    _scale = 1.0
    scale: float

    @property
    def scale(self):
        return self._scale

    @scale.setter
    def scale(self, v):
        self._scale = 0.001


def field_setter(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, Setter(1.0).scale)


add(field_setter, "a field is a property with a setter", event=lambda v: v > 0.5)


class Inner:
    def __init__(self):
        self.v = 1.0


class Outer:
    def __init__(self):
        self.a = Inner()
        self.b = Inner()
        self.turn = 0

    @property
    def which(self):
        self.turn += 1
        return self.a if self.turn % 2 else self.b


def aug_property(scores, *, rng):
    o = Outer()
    o.which.v *= 0.001
    return scores.sum() + rng.laplace(0.0, o.a.v)


add(aug_property, "an owner is computed once only", event=lambda v: v > 0.5)


def chain_property(scores, *, rng):
    tool = Plain(0.001)
    v = rng.normal()
    found = v < -1e9 < tool.fix
    return found, scores.sum() + rng.laplace(0.0, tool.scale)


add(chain_property, "a property that is not reached", event=lambda v: v[1] > 0.5)


def annotated_target(scores, *, rng):
    tool = Plain(1.0)
    tool.spoil().x: float
    return scores.sum() + rng.laplace(0.0, tool.scale)


add(annotated_target, "what is annotated is computed", event=lambda v: v > 0.5)


def annotation_acts(scores, *, rng):
    tool = Plain(1.0)

    def inner(x: tool.spoil()):
        return x

    return scores.sum() + rng.laplace(0.0, tool.scale)


add(annotation_acts, "an annotation is computed", event=lambda v: v > 0.5)


def handler_acts(scores, *, rng):
    tool = Plain(1.0)
    try:
        1 / (round(rng.normal()) * 0)
    except tool.wrong():
        pass
    return scores.sum() + rng.laplace(0.0, tool.scale)


add(handler_acts, "what is caught is computed", event=lambda v: v > 0.5)


def restored(scores, *, rng):
    s = 1.0
    try:
        s = 0.001
        1 / (round(rng.normal()) * 0)
        s = 1.0
    except ZeroDivisionError:
        pass
    return scores.sum() + rng.laplace(0.0, s)


add(restored, "left between two assignments of the same name", event=lambda v: v > 0.5)


def raise_closure(scores, *, rng):
    def makeError():
        return ValueError(scores.max())

    if rng.normal() > 0:
        raise makeError()
    return scores.sum() + rng.laplace(0.0, 1.0)


add(raise_closure, "an exception with a score in its text")


def star_scores(*scores, rng):
    for s in scores:
        return s.max()
    return 0.0


add(star_scores, "the records are in a tuple", event=lambda v: v == 1.0)


def zerod(scores, *, rng):
    a = np.array(1.0)
    b = a
    a *= 0.001
    return scores.sum() + rng.laplace(0.0, b)


add(zerod, "an array of no dimension changes in place", event=lambda v: v > 0.5)


def zerod_stat(scores, *, rng):
    a = np.array(scores.sum())
    b = a
    a *= 1000
    return b + rng.laplace(0.0, 1.0)


add(zerod_stat, "an array of no dimension changes in place", event=lambda v: v > 500)


def zerod_noise(scores, *, rng):
    a = rng.laplace(0.0, 1.0, size=())
    b = a
    a *= 0.001
    return scores.sum() + b


add(zerod_noise, "an array of no dimension changes in place", event=lambda v: v > 0.5)


def list_times(scores, *, rng):
    return np.clip(list(scores) * 1000, 0, 1).sum() + rng.laplace(0.0, 1.0)


add(list_times, "a list is repeated", event=lambda v: v > 500)


def list_count(scores, *, rng):
    return np.count_nonzero([s > 0.5 for s in scores] * 1000) + rng.laplace(0.0, 1.0)


add(list_count, "a list is repeated", event=lambda v: v > 500)


def list_plus(scores, *, rng):
    xs = [s for s in scores]
    return np.count_nonzero(xs + xs) + rng.laplace(0.0, 1.0)


add(list_plus, "lists are joined, and a count moves by 2", loss=2.0)


def list_less(scores, *, rng):
    xs = [s for s in scores]
    ys = [s * s for s in scores]
    return np.mean(ys < xs) + rng.laplace(0.0, 1 / 20)


add(
    list_less,
    "lists are compared by their first difference",
    pair=(np.r_[0.5, np.ones(19)], np.r_[1.0, np.ones(19)]),
    event=lambda v: v > 0.5,
)


def list_is_number(scores, *, rng):
    s = 1.0 if [1.0] == 1.0 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(list_is_number, "a list equals no number", event=lambda v: v > 0.5)


def tuple_plus(scores, *, rng):
    return (scores.sum(),) + (np.count_nonzero(scores > 0.5),) + rng.laplace(0.0, 2.0, size=1)


add(
    tuple_plus,
    "tuples are joined: one draw is on two numbers",
    pair=(np.zeros(20), np.r_[np.zeros(19), 0.4]),
    event=lambda v: abs(v[0] - v[1]) > 0.2,
)


def tuple_times(scores, *, rng):
    v = rng.normal()
    t = (v, v) * 3
    s = 1.0 if len(t) == 2 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(tuple_times, "a tuple is repeated", event=lambda v: v > 0.5)


def cumsum_flat(scores, *, rng):
    s = 1.0 if len(np.cumsum(rng.random((2, 3)))) == 2 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(cumsum_flat, "partial sums of a matrix are flat", event=lambda v: v > 0.5)


def sort_flat(scores, *, rng):
    s = 1.0 if len(np.sort(rng.random((2, 3)), axis=None)) == 2 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(sort_flat, "a matrix sorted without an axis is flat", event=lambda v: v > 0.5)


def np_size(scores, *, rng):
    s = 1.0 if np.size(rng.random((2, 3))) == 2 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(np_size, "the size of a matrix", event=lambda v: v > 0.5)


def np_size_list(scores, *, rng):
    s = 1.0 if np.size([[1, 2, 3], [1, 2, 3]]) == 2 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(np_size_list, "the size of a list of lists", event=lambda v: v > 0.5)


def empty_memory(scores, *, rng):
    noisy = (scores * 2.0).sum() + rng.laplace(0.0, 2.0)
    return noisy, np.empty((1, 20))


add(empty_memory, "np.empty shows the memory of the scores")


def sum_lists(scores, *, rng):
    s = 1.0 if len(sum([[1.0], [2.0]], [])) == 0 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(sum_lists, "a sum of lists joins them", event=lambda v: v > 0.5)


def str_list(scores, *, rng):
    s = 1.0 if len(str([1.0, 2.0])) == 7 else 0.001
    return scores.sum() + rng.laplace(0.0, s)


add(str_list, "a list as text", event=lambda v: v > 0.5)


def bool_list(scores, *, rng):
    s = 0.001 if bool([0.0]) else 1.0
    return scores.sum() + rng.laplace(0.0, s)


add(bool_list, "the truth of a list", event=lambda v: v > 0.5)


def frozen_seed(scores, *, rng):
    return np.max(scores.sum() + stats.laplace().rvs(5, 7))


add(frozen_seed, "a seed by position", event=lambda v: v > FROZEN + 0.5)


def lambda_reads(scores, *, rng):
    total = 1.0
    grow = lambda: total
    for s in scores:
        if s > 0.5:
            total += grow()
    return total + rng.laplace(0.0, 1.0)


add(
    lambda_reads,
    "what is added up is read by a lambda",
    pair=(np.ones(20), np.r_[np.ones(19), 0.0]),
    event=lambda v: v > 1e6 * 0.75,
)


def twice(pairs):
    for _ in pairs:
        pass
    s = 0.001
    for _ in pairs:
        s = 1.0
    return s


def iterator_argument(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, twice(zip((1, 2), (3, 4))))


add(iterator_argument, "an iterator is gone through twice", event=lambda v: v > 0.5)


def iterator_annotated(scores, *, rng):
    z: object = zip((1, 2), (3, 4))
    for _ in z:
        pass
    s = 0.001
    for _ in z:
        s = 1.0
    return scores.sum() + rng.laplace(0.0, s)


add(iterator_annotated, "an iterator is gone through twice", event=lambda v: v > 0.5)


def iterator_tuple(scores, *, rng):
    z = (zip((1, 2), (3, 4)),)
    for _ in z[0]:
        pass
    s = 0.001
    for _ in z[0]:
        s = 1.0
    return scores.sum() + rng.laplace(0.0, s)


add(iterator_tuple, "an iterator is gone through twice", event=lambda v: v > 0.5)


def change(xs):
    xs[0] = 0.001
    return (1,)


def iterator_late(scores, *, rng):
    xs = [1.0]
    s = 1.0
    for (_, x), _ in zip(enumerate(xs), change(xs)):
        s = x
    return scores.sum() + rng.laplace(0.0, s)


add(iterator_late, "an iterator shows later changes", event=lambda v: v > 0.5)


def view_late(d, view):
    d["s"] = 0.001
    for _, v in view:
        s = v
    return s


def dict_view(scores, *, rng):
    d = {"s": 1.0}
    s = 1.0
    for s in d.values():
        pass
    return scores.sum() + rng.laplace(0.0, view_late(d, d.items()))


add(dict_view, "a view shows later changes", event=lambda v: v > 0.5)


def any_stops(scores, *, rng):
    tool = Plain(1.0)
    done = any(tool.set(i) for i in range(2))
    return done, scores.sum() + rng.laplace(0.0, tool.scale)


add(any_stops, "any stops early", event=lambda v: v[1] > 0.5)


class Weird:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        pass

    def __float__(self):
        self.calls += 1
        return 1.0 if self.calls <= 1 else 0.001

    def __mul__(self, o):
        return float(self)

    def __bool__(self):
        self.calls += 1
        return self.calls <= 1


W1, W2, W3 = Weird(), Weird(), Weird()


def callable_float(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, float(W1))


add(callable_float, "an object that can be called, as a number", event=lambda v: v > 0.5)


def callable_times(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, W2 * 1.0)


add(callable_times, "an object that can be called, as a number", event=lambda v: v > 0.5)


def callable_bool(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, 1.0 if W3 else 0.001)


add(callable_bool, "an object that can be called, as a condition", event=lambda v: v > 0.5)

CALLS = []


def impure(x):
    CALLS.append(x)
    return x if len(CALLS) <= 2 else -x


def key_function(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, max([1.0, 0.001], key=impure))


add(key_function, "a key function that changes", event=lambda v: v > 0.5)

lazy = types.ModuleType("lazy")

ASKED = []


def _lazy(name):
    ASKED.append(name)
    return 1.0 if len(ASKED) <= 4 else 0.001


lazy.__getattr__ = _lazy


def module_getattr(scores, *, rng):
    return scores.sum() + rng.laplace(0.0, lazy.scale)


add(module_getattr, "a module computes its attribute", event=lambda v: v > 0.5)


def _plainer(scores, *, rng):
    return sum(scores) + rng.laplace(0.0, 1.0)


own_builtins = types.FunctionType(
    _plainer.__code__,
    {"__builtins__": {"sum": lambda x: 1000 * x.sum()}, "__name__": __name__},
    "_plainer",
)

own_builtins.__kwdefaults__ = None


add(own_builtins, "builtins of its own", event=lambda v: v > 500)


def print_object(scores, *, rng):
    tool = Plain(1.0)
    print(tool)
    return scores.sum() + rng.laplace(0.0, tool.scale)


add(print_object, "printing acts", event=lambda v: v > 0.5)


def format_object(scores, *, rng):
    tool = Plain(1.0)
    text = f"{tool}"
    return scores.sum() + rng.laplace(0.0, tool.scale)


add(format_object, "formatting acts", event=lambda v: v > 0.5)


def in_object(scores, *, rng):
    tool = Plain(1.0)
    found = 1.0 in [tool]
    return found, scores.sum() + rng.laplace(0.0, tool.scale)


add(in_object, "looking for acts", event=lambda v: v[1] > 0.5)


def generator_start(scores, *, rng):
    xs = [1.0]
    s = sum((x for x in xs), start=change(xs)[0] - 1)
    return scores.sum() + rng.laplace(0.0, s)


add(generator_start, "a generator is read after the start", event=lambda v: v > 0.5)
up = (np.zeros(20), np.r_[np.zeros(19), 1.0])
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)


def counts(scores):
    return [np.count_nonzero(scores > level) for level in LEVELS]


def svt_same_noise_released(scores, *, rng):
    t = 1 + rng.laplace(scale=2.0)
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            return noisy
    return None


add(svt_same_noise_released, "the value that crossed, with the same noise", loss=1.1)


def svt_no_c(scores, *, rng):
    t, found, out = 1 + rng.laplace(scale=2.0), 0, []
    for q in counts(scores):
        above = q + rng.laplace(scale=4.0) >= t
        out.append(above)
        found += 1 if above else 0
        if found >= 3:
            return out
    return out


add(svt_no_c, "c = 3 answers with the queries' noise of one", loss=2.0)


def svt_data_break(scores, *, rng):
    t, out = 1 + rng.laplace(scale=2.0), []
    for q in counts(scores):
        if q > 0:
            break
        out.append(bool(q + rng.laplace(scale=4.0) >= t))
    return out


add(svt_data_break, "it stops by the data", event=lambda v: len(v) == 0)


def svt_data_queries(scores, *, rng):
    t, out = 1 + rng.laplace(scale=2.0), []
    for _ in [s for s in scores if s > 0.5]:
        out.append(bool(rng.laplace(scale=4.0) >= t))
    return out


add(svt_data_queries, "as many queries as scores", event=lambda v: len(v) == 1)


def svt_wide_queries(scores, *, rng):
    t = 1 + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if 2 * q + rng.laplace(scale=4.0) >= t:
            return i
    return None


add(svt_wide_queries, "queries of sensitivity 2", loss=1.5)


def svt_two_thresholds(scores, *, rng):
    a, b = 1 + rng.laplace(scale=2.0), 2 + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= a and noisy < b:
            return i
    return None


add(svt_two_thresholds, "one value between two noisy thresholds", loss=1.2)


def svt_threshold_of_query(scores, *, rng):
    t = np.mean(scores) + rng.laplace(scale=2.0)
    for i, q in enumerate(counts(scores)):
        if q + rng.laplace(scale=4.0) >= t:
            return i
    return None


add(svt_threshold_of_query, "the threshold moves too", loss=1.01)


def svt_while(scores, *, rng):
    t, i, q = 1 + rng.laplace(scale=2.0), 0, counts(scores)
    while i < 5 and q[i] + rng.laplace(scale=4.0) < t:
        i += 1
    shown = q[min(i, 4)] + rng.laplace(scale=4.0)
    return i, shown


add(svt_while, "a further value is not paid for", loss=1.2)


def svt_elif(scores, *, rng):
    t, out = 1 + rng.laplace(scale=2.0), []
    for q in counts(scores):
        noisy = q + rng.laplace(scale=4.0)
        if noisy >= t:
            out.append(1)
            return out
        elif noisy <= t - 3:
            out.append(-1)
            return out
    return out


add(svt_elif, "above and far below at the price of one", loss=1.2)


def svt_in_try(scores, *, rng):
    t, out = 1 + rng.laplace(scale=2.0), []
    for q in counts(scores):
        try:
            above = q + rng.laplace(scale=4.0) >= t
            1 / (round(rng.normal()) * 0)
        except ZeroDivisionError:
            out.append(0)
        out.append(bool(above))
    return out


add(svt_in_try, "answers above go on", loss=2.0)


class Threshold:
    def __init__(self, rng):
        self.value = 1 + rng.laplace(scale=2.0)
        self.rng = rng

    def above(self, q):
        return q + self.rng.laplace(scale=4.0) >= self.value


def svt_object(scores, *, rng):
    threshold = Threshold(rng)
    return [bool(threshold.above(q)) for q in counts(scores)]


add(svt_object, "an object answers all queries", loss=2.0)


def svt_object_shown(scores, *, rng):
    threshold = Threshold(rng)
    for i, q in enumerate(counts(scores)):
        if threshold.above(q):
            return i, threshold.value
    return None


add(svt_object_shown, "the object's threshold is returned", loss=1.2)


def gap_rank_is_count(scores, *, rng):
    edges = np.r_[0.0, np.sort(scores), 1.0]
    rank = np.count_nonzero(scores > 0.5)
    w = np.diff(edges) * np.exp(-0.5 * np.abs(np.arange(21) - rank))
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_rank_is_count, "the rank is the data's", loss=1.5)


def gap_of_list(scores, *, rng):
    edges = np.array([0.0, *sorted(scores), 1.0])
    w = np.diff(edges) * np.exp(-0.5 * np.abs(np.arange(21) - 18))
    i = rng.choice(21, p=w / w.sum())
    return rng.uniform(edges[i - 1], edges[i + 1])


add(gap_of_list, "a draw from two gaps", loss=1.2)


def gap_unique(scores, *, rng):
    edges = np.unique(np.r_[0.0, np.sort(scores), 1.0])
    w = np.diff(edges) * np.exp(-0.5 * np.abs(np.arange(len(edges) - 1) - 18))
    i = rng.choice(len(w), p=w / w.sum())
    return rng.uniform(edges[i], edges[i + 1])


add(gap_unique, "ranks of different scores only", loss=2.0)


def slices_share_a_record(scores, *, rng):
    a, b = scores[:11], scores[10:]
    return a.sum() + rng.laplace(0.0, 1.0), b.sum() + rng.laplace(0.0, 1.0)


add(slices_share_a_record, "slices that overlap in one record", loss=2.0)


def slices_with_step(scores, *, rng):
    a, b = scores[::2], scores[:10]
    return a.sum() + rng.laplace(0.0, 1.0), b.sum() + rng.laplace(0.0, 1.0)


add(slices_with_step, "every second record, and the first half", loss=2.0)


def noise_of_matrix(scores, *, rng):
    return scores + rng.laplace(0.0, 1.0, size=(20, 1))


add(noise_of_matrix, "one draw for all records", event=lambda v: v[0][-1] - v[0][0] > 0.5)
