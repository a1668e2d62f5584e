"""The weights of the exponential mechanism one by one, as programs without arrays write them.

``math.exp`` of each utility, in a list or a loop, is divided by the sum of all and chosen by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.proving import gaps
from dpcp_audit.proving.distances import Hidden, Statistic, Value, Weights, tokens
from dpcp_audit.proving.exact_numbers import is_scalar

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter

STEEPEST = 500
"""Size of an exponent beyond which exponentials, or their sum, may be infinite as doubles."""
STEEP = (
    "the exponential of numbers that may be so large that it is infinite",
    "subtract the largest before: np.exp(u - u.max())",
)


@dataclass(frozen=True, slots=True)
class Weight(Hidden):
    """One weight, or the sum of several.

    Parameters
    ----------
    exponents : tuple of Statistic
        The exponents of these weights.
    names : tuple of int
        Each weight's own.
    over : tuple of int
        The names of all weights by whose sum this one was divided.
    """

    called = "a weight"
    exponents: tuple[Statistic, ...]
    names: tuple[int, ...]
    over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LogarithmOfSum(Hidden):
    """The logarithm of the sum of all weights; ``apart``, what is left of one less that number."""

    called = "the logarithm of a sum of weights"
    exponents: Statistic
    apart: bool = False


def logarithm_of_sum(reader: Interpreter, a: Value) -> Value:
    """``scipy.special.logsumexp``."""
    a = reader.gathered(a)
    if isinstance(a, gaps.Gaps):
        return gaps.common(a, "sum") if a.log else NotImplemented
    return LogarithmOfSum(a) if isinstance(a, Statistic) and len(a.shape) == 1 else NotImplemented


KINDS = (Weight, LogarithmOfSum)


def exponential(reader: Interpreter, x: Value) -> Value:
    """``math.exp`` of a number."""
    if not isinstance(x, Statistic) or x.shape:
        return NotImplemented
    if x.size is None or x.size > STEEPEST:
        raise reader.refuse(*STEEP)
    return Weight((x,), (next(tokens),))


def binary(reader: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return a sum of weights, or weights over a sum; of logarithms a difference."""
    if isinstance(b, LogarithmOfSum) and name == "Sub" and not b.apart:
        if isinstance(a, Statistic) and a.name == b.exponents.name:
            return replace(b, apart=True)
        raise reader.refuse(
            "the logarithm of a sum is subtracted from another array than that of the sum",
            "give the array a name, and subtract logsumexp of that name",
        )
    zero = next((x for x in (a, b) if is_scalar(x) and x == 0), None)
    if name == "Add" and zero is not None:
        return b if a is zero else a
    if name == "Add" and isinstance(a, Weight) and isinstance(b, Weight) and not (a.over or b.over):
        return Weight(a.exponents + b.exponents, a.names + b.names)
    names = _all_of_sum(b) if name == "Div" else ()
    if isinstance(a, Weight) and len(a.names) == 1 and a.names[0] in names and not a.over:
        return replace(a, over=names)
    if isinstance(a, Weights) and a.token == names and not (a.normalised or a.total):
        return replace(a, normalised=True)
    raise reader.refuse(f"{name} of a weight, not with the sum of all weights")


def _all_of_sum(value: Value) -> tuple[int, ...]:
    """Return the names of the weights of which a value is the sum; () of any other value."""
    if isinstance(value, Weight) and not value.over:
        return value.names
    if not isinstance(value, Weights) or not value.total or value.normalised:
        return ()
    return value.token if isinstance(value.token, tuple) else ()


def names_of(items: tuple[Value, ...]) -> tuple[int, ...]:
    """Return the names of weights that all are, or none is, over their own sum; else ()."""
    single = [each for each in items if isinstance(each, Weight) and len(each.names) == 1]
    names = tuple(each.names[0] for each in single)
    alike = {each.over for each in single} in ({()}, {names})
    return names if alike and len(names) == len(items) else ()
