"""The known functions: those with a rule, and those of Python that make or go through sequences.

A function is known by identity: a name that is bound to another one, or a patched module, is not.
Of plain values its result is computed by calling it.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import builtins
import itertools
import math
import random
import sys
import types
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import (
    class_rows,
    dp_sgd,
    gathering,
    inverse_laws,
    list_weights,
    noise_rules,
    order,
    rules,
)
from dpcp_audit.proving.distances import (
    SCALAR,
    UNKNOWN,
    Distribution,
    Generator,
    Once,
    Private,
    Public,
    Records,
    Together,
    Value,
    is_known,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import (
    Surd,
    apply_to_array,
    exact_of,
    exponential,
    frozen,
    is_scalar,
    plain,
    rational_of,
    remember,
    with_logarithm,
)
from dpcp_audit.proving.paths import Contents
from dpcp_audit.proving.sources import DIMENSIONLESS, NARROW, is_dimensionless, is_law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.proving.reading import Interpreter


_ENTRYWISE = "entry by entry"
_SENSITIVITY = "Dwork, McSherry, Nissim and Smith 2006, global sensitivity"
_WHOLE = "rounding noise beside a whole number is post-processing; a number moves by whole steps"
_INVERSE = "inverse of a distribution function: Devroye 1986, section II.2"
_LIPSCHITZ = "1-Lipschitz: the distance does not grow"


@dataclass(frozen=True, slots=True)
class Rule:
    """A known function.

    Parameters
    ----------
    name : str
        The attribute of NumPy's, math's or Python's own that it is, such as "np.sum".
    apply : callable or None
        A function for values that are no plain Python objects.
    source : str
        Why that is so.
    gives : str
        The shape for public values: "scalar", "same" shape as the first, or "any".
    """

    name: str
    apply: Callable[..., Any] | None = None
    source: str = "post-processing"
    gives: str = "any"


def _public(names: str, gives: str) -> list[Rule]:
    return [Rule(name, gives=gives) for name in names.split()]


TABLE: tuple[Rule, ...] = (
    Rule("np.asarray", rules.kept, "the same numbers"),
    Rule("np.array", rules.kept, "the same numbers"),
    Rule("np.copy", rules.kept, "the same numbers"),
    Rule("np.ravel", rules.flat, "the same numbers", "any"),
    Rule("np.atleast_1d", rules.flat, "the same numbers", "any"),
    Rule("float", rules.as_float, "the same number", "scalar"),
    Rule("np.float64", rules.as_float, "the same number", "scalar"),
    Rule("int", rules.as_int, "truncation of whole distances", "scalar"),
    Rule("bool", rules.as_bool, "post-processing", "scalar"),
    Rule("sum", rules.added, _SENSITIVITY, "scalar"),
    Rule("np.sum", rules.total, _SENSITIVITY, "scalar"),
    Rule("math.fsum", rules.total, _SENSITIVITY, "scalar"),
    Rule("np.count_nonzero", rules.counted, _SENSITIVITY, "scalar"),
    *(
        Rule(name, rules.some_or_all, "post-processing", "scalar")
        for name in ("any", "all", "np.any", "np.all")
    ),
    Rule("np.mean", rules.mean, _SENSITIVITY, "scalar"),
    Rule("np.average", rules.mean, _SENSITIVITY),
    Rule("len", rules.length, "sizes of neighbours differ by at most one", "scalar"),
    Rule("np.size", rules.size, "sizes of neighbours differ by at most one", "scalar"),
    Rule("np.sort", order.sort, "the same multiset", "same"),
    Rule("sorted", order.in_order, "the same multiset"),
    Rule("np.quantile", order.order_statistic, "it lies within the range", "scalar"),
    Rule("np.percentile", order.order_statistic, "it lies within the range", "scalar"),
    Rule("np.median", order.order_statistic, "it lies within the range", "scalar"),
    Rule("np.min", order.of_all(min), _LIPSCHITZ, "scalar"),
    Rule("np.max", order.of_all(max), _LIPSCHITZ, "scalar"),
    Rule("np.amin", order.of_all(min), _LIPSCHITZ, "scalar"),
    Rule("np.amax", order.of_all(max), _LIPSCHITZ, "scalar"),
    Rule("min", order.of_python(min), _LIPSCHITZ, "scalar"),
    Rule("max", order.of_python(max), _LIPSCHITZ, "scalar"),
    Rule("np.maximum", order.of_each(max), _LIPSCHITZ, _ENTRYWISE),
    Rule("np.minimum", order.of_each(min), _LIPSCHITZ, _ENTRYWISE),
    Rule("np.clip", order.clip, _LIPSCHITZ, _ENTRYWISE),
    Rule("np.nan_to_num", rules.finite, "the same numbers"),
    Rule("np.square", rules.squared, "the operator", _ENTRYWISE),
    *(
        Rule(f"np.{of.__name__}", rules.by_operator(name), "the operator", _ENTRYWISE)
        for name, of in (
            ("Add", np.add),
            ("Sub", np.subtract),
            ("Mult", np.multiply),
            ("Div", np.divide),
            ("Pow", np.power),
        )
    ),
    *(
        Rule(f"np.{of.__name__}", order.by_comparison(name), "the operator", _ENTRYWISE)
        for name, of in (
            ("Gt", np.greater),
            ("GtE", np.greater_equal),
            ("Lt", np.less),
            ("LtE", np.less_equal),
        )
    ),
    Rule("np.abs", order.absolute, _LIPSCHITZ, _ENTRYWISE),
    Rule("abs", order.absolute, _LIPSCHITZ, _ENTRYWISE),
    Rule("math.fabs", order.absolute, _LIPSCHITZ, "scalar"),
    Rule("np.where", rules.where, "one of two for each record", _ENTRYWISE),
    Rule("np.flatnonzero", rules.places, "the records that meet a condition"),
    Rule("np.nonzero", rules.all_places, "the records that meet a condition"),
    Rule("np.searchsorted", rules.searchsorted, _SENSITIVITY),
    Rule("np.histogram", rules.histogram, "disjoint bins: Dwork and Roth 2014, Example 3.2"),
    Rule("np.exp", rules.exponential, "McSherry and Talwar 2007", _ENTRYWISE),
    Rule("math.exp", list_weights.exponential, "McSherry and Talwar 2007", "scalar"),
    Rule("scipy.special.softmax", rules.softmax, "McSherry and Talwar 2007"),
    Rule("scipy.special.logsumexp", list_weights.logarithm_of_sum, "the law's logarithm", "scalar"),
    Rule("np.log", rules.logarithm, "Smith 2011, Algorithm 2", _ENTRYWISE),
    Rule("math.log", rules.logarithm, _INVERSE, "scalar"),
    Rule("np.log1p", inverse_laws.logarithm_of_more, _INVERSE, _ENTRYWISE),
    Rule("math.log1p", inverse_laws.logarithm_of_more, _INVERSE, "scalar"),
    Rule("np.sign", inverse_laws.sign, _INVERSE, _ENTRYWISE),
    Rule("math.copysign", inverse_laws.copysign, _INVERSE, "scalar"),
    Rule("np.diff", rules.differences, "Smith 2011, Algorithm 2"),
    Rule("np.concatenate", rules.concatenated, "Smith 2011, Algorithm 2"),
    Rule("np.hstack", rules.concatenated, "Smith 2011, Algorithm 2"),
    Rule("np.reshape", rules.reshaped, "the same numbers"),
    Rule("round", rules.rounding(round), _WHOLE, "scalar"),
    Rule("math.floor", rules.rounding(math.floor), _WHOLE, "scalar"),
    Rule("math.ceil", rules.rounding(math.ceil), _WHOLE, "scalar"),
    *(
        Rule(f"np.{of.__name__}", rules.rounding(of), _WHOLE, _ENTRYWISE)
        for of in (np.rint, np.round, np.floor, np.ceil)
    ),
    Rule("np.arange", class_rows.places, "one place of each record"),
    Rule("np.outer", dp_sgd.outer, "Abadi and others 2016, Algorithm 1"),
    Rule("np.linalg.norm", dp_sgd.norm, "Abadi and others 2016, Algorithm 1"),
    Rule("np.digitize", rules.bin_numbers, "disjoint bins: Dwork and Roth 2014, Example 3.2"),
    Rule("np.bincount", rules.bin_counts, "disjoint bins: Dwork and Roth 2014, Example 3.2"),
    Rule("np.cumsum", rules.cumulated, _SENSITIVITY, "same"),
    Rule("np.argmax", rules.argmax, "Dwork and Roth 2014, Claim 3.9", "scalar"),
    Rule("np.argmin", rules.argmin, "Dwork and Roth 2014, Claim 3.9, of the negated", "scalar"),
    Rule("print", rules.printed, "printing is release"),
    *_public("np.maximum.accumulate np.minimum.accumulate", "same"),
    *_public(
        "np.sqrt np.fabs np.log2 np.log10 np.expm1 np.tanh "
        "np.isnan np.isfinite "
        "np.negative np.logical_and np.logical_or np.logical_not",
        _ENTRYWISE,
    ),
    *_public(
        "math.sqrt math.log2 math.log10 math.expm1 "
        "math.pow math.tanh math.isnan math.isfinite math.isinf math.prod math.comb "
        "math.isqrt np.prod np.std np.var divmod "
        "np.ndim np.bool_ np.int64 np.dot",
        "scalar",
    ),
    *_public(
        "np.linspace np.cumprod np.argsort np.flip "
        "np.unique np.repeat np.append np.full_like np.zeros_like np.ones_like np.stack "
        "str repr format np.shape np.interp np.isclose np.allclose pow np.logspace "
        "np.geomspace np.eye np.tile np.array_split np.split bin hex "
        "np.cos np.sin np.arctan np.arctan2 np.exp2 np.hypot np.floor_divide np.mod np.bitwise_and "
        "np.bitwise_or np.bitwise_xor np.tril np.triu np.roll np.vstack "
        "np.column_stack np.block np.kron np.isin np.identity np.trunc "
        "np.equal np.not_equal np.delete np.insert "
        "np.logical_xor np.logaddexp np.partition",
        "any",
    ),
)


OPTIONAL = ("scipy.special",)
"""Modules whose functions are known as soon as they are loaded."""
_MODULES: dict[str, tuple[Any, str]] = {
    "np": (np, "numpy"),
    "np.linalg": (np.linalg, "numpy"),
    "math": (math, "math"),
    "": (builtins, "builtins"),
}
"""The modules of functions, and the names of their homes."""


def _found() -> Iterator[tuple[Any, Rule]]:
    loaded = [name for name in OPTIONAL if name in sys.modules]
    modules = _MODULES | {each: (sys.modules[each], each.partition(".")[0]) for each in loaded}
    for rule in TABLE:
        place, _, name = rule.name.removesuffix(".accumulate").rpartition(".")
        if place not in modules:
            continue  # not loaded: no function uses it
        module, home = modules[place]
        function = getattr(module, name)
        if _is_genuine(function, home):  # else patched before this module was loaded
            yield function.accumulate if rule.name.endswith(".accumulate") else function, rule


def _is_genuine(function: Any, home: str) -> bool:
    """Return True if a function is of its module, in name and in kind, and no program's own."""
    if isinstance(function, types.FunctionType):
        file = sys.modules[home].__file__ or ""
        return function.__code__.co_filename.startswith(str(Path(file).parent))
    where = getattr(function, "__module__", None) or home
    return all(
        str(each).startswith((home, "builtins")) for each in (where, type(function).__module__)
    )


def known_functions() -> dict[Any, Rule]:
    """Return the rule of each known function."""
    return dict(_found())


def _owner(method: Any) -> Any:
    """Return the generator of which this is a method; None where it is none, patched perhaps."""
    return getattr(method, "__self__", None)


_SEEDS = {"seed", "set_state"}
_GLOBAL: Any = getattr(np.random.mtrand, "_rand")  # noqa: B009  (NumPy's global generator)
_GLOBAL_OF_PYTHON: Any = getattr(random, "_inst")  # noqa: B009
GLOBAL_DRAWS: dict[Any, tuple[Generator, str]] = {
    getattr(np.random, name): (Generator("np.random"), name)
    for name in (
        "normal", "laplace", "gumbel", "exponential", "standard_normal", "standard_exponential",
        "geometric", "choice", "random", "random_sample", "uniform", "randint", "rand", "randn",
        "binomial", "poisson", "logistic", "permutation", "seed", "shuffle", "set_state",
    )
    if name in _SEEDS or _owner(getattr(np.random, name)) is _GLOBAL
} | {
    getattr(random, name): (Generator("random"), name)
    for name in (
        "gauss", "normalvariate", "random", "uniform", "expovariate", "choices", "seed", "shuffle",
    )
    if name == "seed" or _owner(getattr(random, name)) is _GLOBAL_OF_PYTHON
}  # fmt: skip
"""The draws of NumPy's and Python's global generators."""

_LAWS = {
    "norm": "normal", "laplace": "laplace", "gumbel_r": "gumbel", "expon": "exponential",
    "dlaplace": "two-sided geometric",
}  # fmt: skip
_DRAWING = ("rvs", "_rvs", "_argcheck")
"""Methods of a law that draw."""


def scipy_law(value: Any) -> Distribution | None:
    """Return a law of scipy.stats; None where the value is none, or was changed."""
    stats = sys.modules.get("scipy.stats")
    for name, law in _LAWS.items():
        if stats is not None and getattr(stats, name, None) is value and value is not None:
            return Distribution(law) if is_law(value) and _is_unchanged(value) else None
    return None


def _is_unchanged(law: object) -> bool:
    """Return True if the methods of a law that draw are SciPy's, and its generator is NumPy's."""
    held = vars(law)
    own = held.get("_random_state") is _GLOBAL and held.keys().isdisjoint(_DRAWING)
    return own and all(_is_genuine(getattr(type(law), name), "scipy") for name in _DRAWING)


METHODS: dict[str, str] = {
    "sum": "np.sum",
    "mean": "np.mean",
    "min": "np.min",
    "max": "np.max",
    "clip": "np.clip",
    "copy": "np.copy",
    "ravel": "np.ravel",
    "reshape": "np.reshape",
    "flatten": "np.ravel",
    "argmax": "np.argmax",
    "searchsorted": "np.searchsorted",
    "cumsum": "np.cumsum",
    "round": "np.round",
    "std": "np.std",
    "var": "np.var",
    "astype": "np.asarray",
    "item": "float",
    "argmin": "np.argmin",
    "argsort": "np.argsort",
    "prod": "np.prod",
    "any": "np.any",
    "all": "np.all",
}
"""The function that a method of an array is."""


def all_known(args: list[Value], kw: dict[str, Value]) -> bool:
    """Return True if all arguments are plain values."""
    return all(map(is_known, args)) and all(map(is_known, kw.values()))


_HALF = Surd.of(Fraction(1, 2))
_EXACTLY: dict[Any, Callable[[Surd], Surd | None]] = {
    math.sqrt: lambda x: x.power(_HALF),
    np.sqrt: lambda x: x.power(_HALF),
    float: lambda x: x,
    np.float64: lambda x: x,
}


_OF_ARRAYS: dict[Any, str] = {np.abs: "abs", abs: "abs", np.negative: "neg", np.exp: "exp"}


HELD_BEFORE = "entries that where= leaves out hold whatever was in memory before"


def _check_result(reader: Interpreter, value: Any) -> None:
    """Refuse what does not behave as real numbers do."""
    each = value if isinstance(value, tuple | list) else (value,)
    if any(map(is_dimensionless, each)):
        raise reader.refuse(DIMENSIONLESS, "make it a number: float(...)")
    for one in each:
        reader.require_wide(one)


def called(reader: Interpreter, target: Any, args: list[Value], kw: dict[str, Value]) -> Value:
    """Call a known function on plain values."""
    if "where" in kw:
        raise reader.refuse(HELD_BEFORE)
    if any(isinstance(each, tuple) and not is_known(each) for each in args):
        raise AssertionError("only plain values are handed on")
    with reader.computing():
        value = target(*map(plain, args), **{name: plain(each) for name, each in kw.items()})
    _check_result(reader, frozen(value))
    entrywise = all(isinstance(each, np.ndarray) for each in (value, *args[:1]))
    entrywise = entrywise and len(args) == 1 and not kw
    if entrywise and target in _OF_ARRAYS:
        return apply_to_array(_OF_ARRAYS[target], value, args[0])
    if isinstance(value, list):
        return reader.listed(value)
    if len(args) == 1 and target in {math.exp, np.exp} and is_scalar(args[0]):
        return exponential(value, args[0])
    rational = rational_of(args[0]) if len(args) == 1 and is_scalar(args[0]) else None
    if target in {math.log, np.log} and rational is not None and rational > 0 and not kw:
        return with_logarithm(value, (Fraction(0), Fraction(1), rational))
    if len(args) == 1 and target in {math.expm1, np.expm1} and is_scalar(args[0]):
        return exponential(value, args[0], less=1)
    if len(args) == 1 and not kw and target in _EXACTLY and is_scalar(args[0]):
        exact = exact_of(args[0])
        return value if exact is None else remember(value, _EXACTLY[target](exact))
    return value


# ---------------------------------------------------------------------- what is no rule


def _range(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    values = [reader.public(each, "a range") for each in args]
    if kw or not all(is_known(each) for each in values):
        return Public((-1,))
    return called(reader, range, values, {})


def _zip(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    first = next((each for each in args if isinstance(each, Records | Together)), None)
    if first is not None and all(type(each) is bool for each in kw.values()):
        records = first.records if isinstance(first, Together) else first
        items = [gathering.beside(reader, records, each) for each in args]
        if kw.keys() <= {"strict"}:
            return Together(records, tuple(items), tuple(args))
    rows = [reader.entries(each, "a zipped value") for each in args]
    strict = kw.get("strict", False)
    if set(kw) - {"strict"} or not isinstance(strict, bool):
        raise reader.refuse("zip with arguments that are not known")
    if strict and len(set(map(len, rows))) > 1:
        raise reader.refuse("raises ValueError: zip of different lengths")
    return Once(tuple(zip(*rows, strict=False)), tuple(args))


def _enumerate(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    start = kw.get("start", args[1] if len(args) > 1 else 0)
    if args and isinstance(args[0], Records | Together):
        if len(args) > 2 or kw.keys() - {"start"} or type(start) is not int:
            raise reader.refuse("enumerate with arguments that are not known")
        records = args[0].records if isinstance(args[0], Together) else args[0]
        items = (gathering.places(reader, records, start), args[0])
        return Together(records, items, (args[0],))
    if not args or not isinstance(start, int):
        raise reader.refuse("enumerate with arguments that are not known")
    return Once(
        tuple(enumerate(reader.entries(args[0], "an enumerated value"), start)), tuple(args)
    )


def _accumulate(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    """``itertools.accumulate``: the sums of the first one, two, ... entries."""
    if len(args) != 1 or kw:
        raise reader.refuse("accumulate with arguments that are not known")
    found: list[Value] = []
    for each in reader.entries(args[0], "an accumulated value"):
        found.append(reader.operate("Add", found[-1], each) if found else each)
    return Once(tuple(found), tuple(args))


def _pairwise(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    items = reader.entries(args[0], "what is taken in pairs")
    return Once(tuple(itertools.pairwise(items)), tuple(args))


def _add_at(reader: Any, args: list[Value], kw: dict[str, Value]) -> None:
    if len(args) != 3 or kw:
        raise reader.refuse("np.add.at with arguments that are not known")
    reader.add_at(*args)


def _reversed(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    return Once(tuple(reversed(reader.entries(args[0], "a reversed value"))), tuple(args))


def _list(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    if args and isinstance(args[0], Records):
        return replace(args[0], listed=True)
    return reader.listed(reader.entries(args[0], "a list") if args else ())


def _tuple(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    return reader.entries(args[0], "a tuple") if args else ()


def _dict(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    if args:
        raise reader.refuse("dict() of a value that is not followed")
    return reader.path.store(Contents("dict", tuple(kw.values()), tuple(kw)))


_OF_VALUE = "that of the value"


def _filled(value: Value) -> Any:
    def fill(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
        given = dict(zip(("shape", "dtype"), args, strict=False)) | kw
        if set(given) - {"shape", "dtype"}:
            raise reader.refuse("an array with arguments that are not known")
        shape = reader.public(given.get("shape"), "the shape of an array")
        found = gathering.filled(reader, shape, value, given.get("dtype"))
        if found is NotImplemented and all_known([value, *given.values()], {}):
            own = {} if given.get("dtype") is _OF_VALUE else {"dtype": given.get("dtype")}
            return called(reader, np.full, [shape, value], own)
        if found is NotImplemented and isinstance(value, Private):
            raise reader.refuse(value.reason)
        return UNKNOWN if found is NotImplemented else found

    return fill


_TYPES_OF = {"builtins", "numpy"}
"""Modules whose classes identify an object by its type, without running any of its code."""


def _isinstance(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    if len(args) == 2 and all_known(args, kw):
        kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
        if all(type(each) is type and each.__module__ in _TYPES_OF for each in kinds):
            return isinstance(plain(args[0]), args[1])
    raise reader.refuse("the type of a value is tested")


def _full(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    given = dict(zip(("shape", "fill_value", "dtype"), args, strict=False)) | kw
    value = reader.public(given.pop("fill_value", None), "what an array is filled with")
    if shape_of(value) != ():
        raise reader.refuse("an array is filled with a value that is not a number")
    if given.get("dtype") is None and not isinstance(value, float):
        given["dtype"] = _OF_VALUE  # which is not known to be a double
    return _filled(value if is_scalar(value) else SCALAR)(reader, [], given)


def _narrow(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    """Refuse a number of a narrow type: a number of Python beside it becomes as narrow."""
    raise reader.refuse(NARROW)


_GENERATORS = tuple(
    each
    for each in (np.random.default_rng, np.random.RandomState)
    if not isinstance(each, types.FunctionType) and each.__module__.startswith("numpy")
)
"""NumPy's own makers of generators."""
SPECIAL: dict[Any, Callable[[Any, list[Value], dict[str, Value]], Value]] = {
    range: _range,
    zip: _zip,
    enumerate: _enumerate,
    reversed: _reversed,
    itertools.accumulate: _accumulate,
    itertools.pairwise: _pairwise,
    np.add.at: _add_at,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    **dict.fromkeys(_GENERATORS, noise_rules.fresh_generator),
    isinstance: _isinstance,
    **dict.fromkeys((np.int8, np.int16, np.int32, np.uint8, np.float32), _narrow),
    np.zeros: _filled(0.0),
    np.empty: _filled(Private(0, "np.empty holds whatever was in memory before")),
    np.ones: _filled(1.0),
    np.full: _full,
}
