"""Names whose values follow from their arguments alone, the same with a trace as without one.

Left out, besides whatever reads the world: what tells types apart, since noise has one of its own
while it is followed, and what has an order or a text that depends on addresses in memory.
"""

from __future__ import annotations

import bisect
import builtins
import itertools
import math
import operator
from types import FunctionType, ModuleType

import numpy as np

_BUILTINS = """
abs all any bool bytearray bytes complex dict divmod enumerate filter float int iter len list map
max min next pow range reversed round slice sorted sum tuple zip staticmethod classmethod
property super NotImplemented Ellipsis StopIteration AssertionError ArithmeticError Exception
IndexError KeyError LookupError NotImplementedError OverflowError RuntimeError TypeError
ValueError ZeroDivisionError __name__ __build_class__
"""
_NUMPY = """
abs absolute add all allclose any append arange arccos arcsin arctan arctan2 argmax argmin argsort
array asarray atleast_1d atleast_2d average bincount bitwise_and bitwise_or bitwise_xor bool bool_
ceil clip column_stack concatenate copysign cos count_nonzero cumprod cumsum diag diff digitize
divide dot e equal exp exp2 expand_dims expm1 eye flatnonzero flip float32 float64 floor
floor_divide full full_like greater greater_equal hstack hypot identity inf insert int16 int32
int64 int8 integer interp intp isclose isfinite isin isinf isnan less less_equal linalg linspace
log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor logspace matmul max
maximum mean median min minimum mod multiply nan nan_to_num negative newaxis nonzero norm
not_equal ones ones_like outer percentile pi power prod quantile ravel reciprocal remainder repeat
reshape rint roll round searchsorted sign sin sort split sqrt square squeeze stack std subtract
sum take tan tanh tile transpose trapezoid tril triu trunc uint32 uint64 uint8 unique
unravel_index var vstack where zeros zeros_like array_split histogram
"""
_METHODS = """
T all any append argmax argmin argsort as_integer_ratio astype bit_count bit_length capitalize
clear clip conjugate copy count cumprod cumsum denominator diagonal dot endswith extend fill find
flat flatten fromkeys get imag index insert is_integer isdigit items item join keys lower lstrip
max mean min ndim nonzero numerator pop popitem prod ravel real remove repeat reshape reverse
round rstrip searchsorted setdefault shape size sort split squeeze startswith std strip sum
swapaxes take tolist trace transpose update upper values var
"""
_DRAWS = {name for name in dir(np.random.Generator) if name[0] != "_"} - {"bit_generator", "spawn"}
_PURE = (bisect, itertools, math, operator)
_LEFT_OUT = {"attrgetter", "methodcaller", "is_", "is_not"}
"""Functions of ``operator`` that reach attributes by a text, or tell objects apart."""


def _public(module: object) -> set[str]:
    return {name for name in dir(module) if name[0] != "_"} - _LEFT_OUT


BUILTINS = frozenset(_BUILTINS.split())
MODULES = frozenset({*(module.__name__ for module in _PURE), "numpy"})
ATTRIBUTES = frozenset(
    {*_NUMPY.split(), *_METHODS.split(), *_DRAWS, "__init__", "__name__"}.union(
        *map(_public, _PURE)
    )
)
"""Attributes of the modules, of plain values, of arrays and of a generator that is handed over."""
VALUES = frozenset(
    id(value)
    for value in (
        *(getattr(builtins, name) for name in BUILTINS - {"__name__"}),
        *(getattr(np, name) for name in _NUMPY.split() if hasattr(np, name)),
        *(getattr(module, name) for module in _PURE for name in _public(module)),
    )
)
"""Identities of functions and constants, however they are named where they are used."""
HOLDERS = tuple(
    each
    for each in (
        *_PURE,
        np,
        np.linalg,
        np.random,
        *(getattr(np, name, 0) for name in _NUMPY.split()),
    )
    if isinstance(each, FunctionType | ModuleType)
)
"""Modules and functions among them that take an attribute, which may be a state."""
