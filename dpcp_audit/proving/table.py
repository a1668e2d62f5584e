"""The known functions: those with a rule, and those of Python that make or go through sequences.

A function is known by identity: a name that is bound to another one, or a patched module, is not.
Of plain values its result is computed by calling it.
"""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import builtins
import math
import random
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import dp_sgd, order, rules
from dpcp_audit.proving.distances import Distribution, Generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENTRYWISE = "entry by entry"
_SENSITIVITY = "Dwork, McSherry, Nissim and Smith 2006, global sensitivity"
_WHOLE = "rounding a whole number plus noise is post-processing"
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
    Rule("np.mean", rules.mean, _SENSITIVITY, "scalar"),
    Rule("len", rules.length, "sizes of neighbours differ by at most one", "scalar"),
    Rule("np.size", rules.size, "sizes of neighbours differ by at most one", "scalar"),
    Rule("np.sort", order.sort, "the same multiset", "same"),
    Rule("sorted", order.in_order, "the same multiset"),
    Rule("np.quantile", order.order_statistic, "it lies within the range", "scalar"),
    Rule("np.percentile", order.order_statistic, "it lies within the range", "scalar"),
    Rule("np.median", order.order_statistic, "it lies within the range", "scalar"),
    Rule("np.min", order.smallest_of, _LIPSCHITZ, "scalar"),
    Rule("np.max", order.largest_of, _LIPSCHITZ, "scalar"),
    Rule("min", order.smallest, _LIPSCHITZ, "scalar"),
    Rule("max", order.largest, _LIPSCHITZ, "scalar"),
    Rule("np.maximum", order.larger, _LIPSCHITZ, _ENTRYWISE),
    Rule("np.minimum", order.smaller, _LIPSCHITZ, _ENTRYWISE),
    Rule("np.clip", order.clip, _LIPSCHITZ, _ENTRYWISE),
    Rule("np.abs", order.absolute, _LIPSCHITZ, _ENTRYWISE),
    Rule("np.fabs", order.absolute_double, _LIPSCHITZ, _ENTRYWISE),
    Rule("abs", order.absolute, _LIPSCHITZ, _ENTRYWISE),
    Rule("math.fabs", order.absolute, _LIPSCHITZ, "scalar"),
    Rule("np.where", rules.where, "one of two for each record", _ENTRYWISE),
    Rule("np.searchsorted", rules.searchsorted, _SENSITIVITY),
    Rule("np.histogram", rules.histogram, "disjoint bins: Dwork and Roth 2014, Example 3.2"),
    Rule("np.exp", rules.exponential, "McSherry and Talwar 2007", _ENTRYWISE),
    Rule("scipy.special.softmax", rules.softmax, "McSherry and Talwar 2007"),
    Rule("scipy.special.logsumexp", rules.log_of_sum, "Smith 2011, Algorithm 2", "scalar"),
    Rule("np.log", rules.logarithm, "Smith 2011, Algorithm 2", _ENTRYWISE),
    Rule("np.diff", rules.differences, "Smith 2011, Algorithm 2"),
    Rule("np.concatenate", rules.concatenated, "Smith 2011, Algorithm 2"),
    Rule("np.reshape", rules.reshaped, "the same numbers"),
    *(Rule(name, rules.rounded, _WHOLE, "scalar") for name in ("round", "math.floor", "math.ceil")),
    *(
        Rule(name, rules.rounded, _WHOLE, _ENTRYWISE)
        for name in ("np.rint", "np.round", "np.floor", "np.ceil")
    ),
    Rule("np.outer", dp_sgd.outer, "Abadi and others 2016, Algorithm 1"),
    Rule("np.linalg.norm", dp_sgd.norm, "Abadi and others 2016, Algorithm 1"),
    Rule("np.cumsum", rules.cumulated, _SENSITIVITY, "same"),
    Rule("np.argmax", rules.argmax, "Dwork and Roth 2014, Claim 3.9", "scalar"),
    Rule("print", rules.printed, "printing is release"),
    *_public(
        "np.sqrt np.log2 np.log10 np.log1p np.expm1 np.power np.square np.tanh "
        "np.sign np.isnan np.isfinite np.add np.subtract np.multiply np.divide "
        "np.negative np.logical_and np.logical_or np.logical_not",
        _ENTRYWISE,
    ),
    *_public(
        "math.sqrt math.log math.log2 math.log10 math.log1p math.exp math.expm1 "
        "math.pow math.tanh math.isnan math.isfinite math.isinf math.prod math.comb "
        "math.isqrt np.prod np.std np.var np.argmin divmod np.all np.any all any "
        "np.ndim np.bool_ np.int64 np.dot",
        "scalar",
    ),
    *_public(
        "np.linspace np.arange np.cumprod np.argsort np.flip "
        "np.unique np.repeat np.append np.full_like np.zeros_like np.ones_like np.stack "
        "str repr format np.shape np.interp np.digitize np.isclose np.allclose pow np.logspace "
        "np.geomspace np.eye np.tile np.array_split np.split np.nonzero np.flatnonzero bin hex "
        "np.cos np.sin np.arctan np.arctan2 np.exp2 np.hypot np.floor_divide np.mod np.bitwise_and "
        "np.bitwise_or np.bitwise_xor np.bincount np.average np.tril np.triu np.roll np.vstack "
        "np.hstack np.column_stack np.block np.kron np.isin np.identity np.trunc np.greater "
        "np.greater_equal np.less np.less_equal np.equal np.not_equal np.delete np.insert "
        "np.logical_xor np.logaddexp np.partition",
        "any",
    ),
)


def _modules() -> dict[str, Any]:
    return {
        "np": np,
        "np.linalg": np.linalg,
        "math": math,
        "": builtins,
        "scipy.special": sys.modules.get("scipy.special"),
    }


OPTIONAL = ("scipy.special",)
"""Modules whose functions are known as soon as they are loaded."""
_HOMES = {
    "np": "numpy",
    "np.linalg": "numpy",
    "math": "math",
    "scipy.special": "scipy",
    "": "builtins",
}


def _found() -> Iterator[tuple[Any, Rule]]:
    modules = _modules()
    for rule in TABLE:
        home, _, name = rule.name.rpartition(".")
        if modules[home] is None:
            continue  # not loaded: no function uses it
        function = getattr(modules[home], name)
        if _is_genuine(function, _HOMES[home]):  # else patched before this module was loaded
            yield function, rule


def _is_genuine(function: Any, home: str) -> bool:
    """Tell whether a function is of its module, in name and in kind, and no program's own."""
    if isinstance(function, types.FunctionType):
        file = sys.modules[home].__file__ or ""
        return function.__code__.co_filename.startswith(str(Path(file).parent))
    where = getattr(function, "__module__", None) or home
    return all(
        str(each).startswith((home, "builtins")) for each in (where, type(function).__module__)
    )


def known_functions() -> dict[Any, Rule]:
    """Return the rule of each known function."""
    found = dict(_found())
    for alias, name in {"amin": "np.min", "amax": "np.max", "absolute": "np.abs"}.items():
        found[getattr(np, alias)] = next(rule for rule in TABLE if rule.name == name)
    return found


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
    for name in ("gauss", "normalvariate", "random", "uniform", "expovariate", "seed", "shuffle")
    if name == "seed" or _owner(getattr(random, name)) is _GLOBAL_OF_PYTHON
}  # fmt: skip
"""The draws of NumPy's and Python's global generators."""

_LAWS = {"norm": "normal", "laplace": "laplace", "gumbel_r": "gumbel", "expon": "exponential"}


def scipy_law(value: Any) -> Distribution | None:
    """Return a law of scipy.stats; None where the value is none, or was changed."""
    stats = sys.modules.get("scipy.stats")
    for name, law in _LAWS.items():
        if stats is not None and getattr(stats, name, None) is value and value is not None:
            home = type(value).__module__ == "scipy.stats._continuous_distns"
            changed = "rvs" in vars(value) or "rvs" in vars(type(value))
            return Distribution(law) if home and not changed else None
    return None


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
