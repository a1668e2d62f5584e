"""Loops and conditions that have one meaning as a whole: noisy maxima, permute-and-flip.

A loop that keeps the largest noisy value and its place reports a noisy maximum, as long as the
place alone is used after it. Permute-and-flip takes the first candidate, in a random order that
nobody sees, whose coin of bias exp(x - max x) shows heads: it is the noisy maximum of x with
exponential noise of scale 1.

References
----------
Noisy maximum: Dwork and Roth 2014, Claim 3.9. Permute-and-flip: McKenna and Sheldon 2020, Algorithm
1 and Theorem 1; as a noisy maximum with exponential noise: Ding, Kifer and others 2021, Theorem 5.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import arithmetic, noise_rules, thresholds
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    FARTHEST_DRAW,
    WHOLE,
    BoundMethod,
    Generator,
    Noisy,
    Private,
    Public,
    Statistic,
    Value,
    Weights,
    is_public,
    is_whole,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import exact_of, is_scalar
from dpcp_audit.proving.sources import is_function, names_in
from dpcp_audit.proving.table import GLOBAL_DRAWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.proving.paths import Path
    from dpcp_audit.proving.thresholds import Present


_UNIFORM = {"random", "random_sample", "rand", "uniform"}


def compared(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the smaller and the larger side of a comparison of two."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], ast.Lt | ast.LtE):
        return left, right
    return (right, left) if isinstance(node.ops[0], ast.Gt | ast.GtE) else None


def assigned_once(nodes: Iterable[ast.stmt]) -> dict[str, ast.expr] | None:
    """Return the expressions that plain assignments give to names; None of other statements."""
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            return None
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) != len(value.elts):
                return None
            pairs = list(zip(target.elts, value.elts, strict=True))
        for one, given in pairs:
            if not isinstance(one, ast.Name) or one.id in found:
                return None
            found[one.id] = given
    return found


def _acts(node: ast.AST) -> bool:
    acts = ast.Attribute | ast.Call | ast.NamedExpr
    return any(isinstance(each, acts) for each in ast.walk(node))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# ---------------------------------------------------------------------- the running maximum


@dataclass(frozen=True, slots=True)
class _Keeping:
    """``if first or noisy > best: best = noisy; where = i``: names, and tests of a first."""

    best: str
    noisy: str
    kept: dict[str, ast.expr]
    firsts: list[ast.expr]

    @classmethod
    def of(cls, node: ast.stmt) -> _Keeping | None:
        """Return the value that an ``if`` keeps; None for any other statement."""
        if not isinstance(node, ast.If) or node.orelse:
            return None
        either = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
        firsts = node.test.values if either else [node.test]  # type: ignore[attr-defined]
        sides, kept = compared(firsts[-1]), assigned_once(node.body)
        if sides is None or kept is None or any(map(_acts, (*kept.values(), *firsts))):
            return None
        best, noisy = (each.id if isinstance(each, ast.Name) else "" for each in sides)
        if not noisy or best not in kept or not _is_name(kept.pop(best), noisy):
            return None
        return cls(best, noisy, kept, firsts[:-1])

    def begins(self, reader: Any, place: int, value: Value) -> bool:
        """Return True if the value of this round, and of no later one, is kept as the first.

        So may any known number be, which is then a candidate without noise.
        """
        if not self.firsts:
            exact = exact_of(value)
            return _is_lowest(value) or (exact is not None and exact.square < _NO_DOUBLE**2)
        none = f"{self.best} is None"
        return all(
            value is None
            if ast.unparse(each) == none
            else reader.truth(reader.read(each)) is (place == 0)
            for each in self.firsts
        )


_NO_DOUBLE = 2**1000
"""Size of a whole number that is no double: NumPy's numbers are not compared with it."""


def _is_lowest(value: Value) -> bool:
    return is_scalar(value) and value == -math.inf


def running_maximum(reader: Any, node: ast.For, items: tuple[Value, ...]) -> bool:
    """Read a loop that keeps the largest noisy value; return False, unread, of any other loop."""
    keeping = _Keeping.of(node.body[-1])
    if keeping is None or node.orelse or len(items) < 2:
        return False
    start = reader.path.fork()
    before = start.frames[reader.frame].variables.get(keeping.best)
    hidden = Private(node.lineno, "a running maximum, of which the place alone may be used")
    names = (keeping.best, *keeping.kept)
    reader.path.frames[reader.frame].variables |= dict.fromkeys(names, hidden)
    found: list[Noisy] = []
    begun = start.frames[reader.frame].variables
    started = None if keeping.firsts or _is_lowest(before) else before
    places: dict[str, list[Value]] = {name: [] for name in keeping.kept}
    for place, item in enumerate(items):
        reader.bind(node.target, item)
        ends = reader.block(node.body[:-1])
        if len(ends.after) != 1 or ends.broken or ends.continued or ends.returned:
            raise reader.refuse("a loop that keeps a maximum is left before its end")
        (reader.path,) = ends.after
        variables = reader.path.frames[reader.frame].variables
        value = variables.get(keeping.noisy)
        if not place and not isinstance(value, Noisy):
            reader.path = start
            return False
        plainly = isinstance(value, Noisy) and value.noise.shape == ()
        if not plainly or any(variables.get(name) is not hidden for name in names):
            raise reader.refuse("a running maximum is changed in another place, or has no noise")
        if not keeping.begins(reader, place, before):
            says = "a running maximum that does not begin with the first value, or a finite number"
            raise reader.refuse(says, _START)
        found.append(value)
        for name, given in keeping.kept.items():
            places[name].append(reader.read(given))
    if started is not None:
        for name, kept in places.items():
            kept.append(begun.get(name, Private(node.lineno, f"{name} may have no value yet")))
    _report(reader, found, places, started)
    return True


def _report(
    reader: Any, found: list[Noisy], places: dict[str, list[Value]], start: Value = None
) -> None:
    """Charge for the place of the largest value, and bind what the loop keeps of it."""
    values = reader.gathered(tuple(found))
    if not isinstance(values, Noisy):
        raise reader.refuse("a running maximum of noise of unequal laws, or that was used before")
    if start is not None:
        values = _above_start(reader, values, start)
    noise_rules.argmax(reader, values)
    reader.rules.add("running noisy maximum: Dwork and Roth 2014, Claim 3.9")
    variables = reader.path.frames[reader.frame].variables
    for name, given in places.items():
        if not all(map(is_public, given)):
            raise reader.refuse("a running maximum keeps a value that is not public")
        numbers = all(shape_of(each) == () for each in given)
        variables[name] = WHOLE if all(map(is_whole, given)) else Public(() if numbers else None)


def _above_start(reader: Any, values: Noisy, start: Value) -> Noisy:
    """Return noisy values of which the largest is kept where it is above a known number.

    That number is one more candidate, without noise, so that a common shift of all others counts;
    and it is kept where all others are below it, which the change of each of them makes likelier:
    the logarithm of Laplace noise's distribution function has the slope 1/scale at most. Below all
    that NumPy's doubles can be, the number is never kept.
    """
    x, noise = values.statistic, values.noise
    if noise.law not in {"laplace", "gumbel", "exponential"}:
        return values  # which are released
    far = FARTHEST_DRAW * noise.scale.size_above
    plainly = noise.alike and not noise.moved
    if x.size is not None and plainly and Fraction(float(start)) < -x.size - far:
        reader.rules.add(
            "a running maximum begins with a number below all draws: NumPy's are a scale times the "
            "logarithm of a double, which is above -745"
        )
        return values
    if noise.law != "laplace":
        raise reader.refuse("a running maximum that does not begin with the first value", _START)
    return replace(values, statistic=replace(x, span=max(x.span, x.linf, x.l1)))


_START = "begin with best = -np.inf"


# ---------------------------------------------------------------------- counts that are shown


def shown_counts(reader: Any, node: ast.If, present: Present) -> tuple[Path, list[ast.stmt]] | None:
    """Read ``if c > 0: v = c + draw; if v > T: ...``, as one public condition.

    Return the path on which it is not met, and what is done where it is; None, unread, of any other
    statement. In between nothing is done that shows whether c is above 0: one draw, one name.
    """
    step, last = (node.body[0], node.body[-1])
    made = assigned_once([step]) if len(node.body) == 2 and not node.orelse else None
    if not made or len(made) != 1 or not isinstance(last, ast.If) or last.orelse:
        return None
    ((name, value),) = made.items()
    if not isinstance(value, ast.BinOp) or not isinstance(value.right, ast.Call):
        return None
    draw, heap = value.right, dict(reader.path.heap)
    given = [*draw.args, *(each.value for each in draw.keywords)]
    if not draws_by(reader, draw, {"laplace", "normal"}) or any(map(_acts, (value.left, *given))):
        return None
    parts = [*ast.walk(last.test)]
    calls_in = [each.func for each in parts if isinstance(each, ast.Call)]
    attributes = [each for each in parts if isinstance(each, ast.Attribute)]
    if any(each not in calls_in for each in attributes) or not all(
        isinstance(each, _OF_A_THRESHOLD) for each in parts
    ):
        return None
    if any(reader.read(each) not in _LOGARITHMS for each in calls_in):
        return None
    reader.path.frames[reader.frame].variables[name] = reader.read(value)
    thresholds.shown_above(reader, present, reader.read(last.test))
    if any(reader.path.heap.get(address) is not cells for address, cells in heap.items()):
        raise reader.refuse("something is changed where a count is above 0")
    other = reader.path.fork()
    hidden = Private(node.lineno, f"{name} has a value only where a count is above 0")
    other.frames[reader.frame].variables[name] = hidden
    return other, last.body


_LOGARITHMS = (math.log, np.log)
_OF_A_THRESHOLD = (
    *(ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call, ast.Attribute, ast.Name, ast.Constant),
    *(ast.cmpop, ast.operator, ast.unaryop, ast.expr_context),
)
"""What a noisy count is compared with: arithmetic that binds no name and leaves nothing out."""


# ---------------------------------------------------------------------- permute-and-flip


def permute_and_flip(reader: Any, node: ast.For) -> list[ast.stmt] | None:
    """Charge for a candidate chosen by permute-and-flip, and return what is done with it.

    None, unread, of any other loop. The order has no name, so that nothing else is made of it.
    """
    (*before, last), call = node.body, node.iter
    if any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)):
        return None
    if not isinstance(last, ast.If) or last.orelse or not isinstance(node.target, ast.Name):
        return None
    leaves = isinstance(last.body[-1], ast.Return | ast.Break)
    steps, sides = assigned_once(before), compared(last.test)
    if not leaves or steps is None or sides is None or not isinstance(call, ast.Call):
        return None
    if not draws_by(reader, call, {"permutation"}) or len(call.args) != 1 or call.keywords:
        return None
    draw, chance = steps.get(getattr(sides[0], "id", ""), sides[0]), sides[1]
    if not draws_by(reader, draw, _UNIFORM) or draw.args or draw.keywords:  # type: ignore[attr-defined]
        return None
    count = reader.public(reader.read(call.args[0]), "the number of candidates")
    if node.target.id in steps or is_kept(steps, chance):
        raise reader.refuse("a coin's bias depends on the coins before it, or on no candidate")
    names: dict[str, Value] = {}
    for name, step in steps.items():
        if step is not draw:
            names[name] = _every(reader, step, node.target.id, names)
    weights = _every(reader, chance, node.target.id, names)
    usable = (
        isinstance(weights, Weights)
        and weights.topped
        and not (weights.normalised or weights.total)
    )
    if not usable or type(count) is not int or weights.shape != (count,):
        raise reader.refuse(
            "coins are flipped in a random order whose biases are not exp(x - max x)",
            "permute-and-flip: p = np.exp(epsilon / (2 * sensitivity) * (q - q.max()))",
        )
    rule, line = "permute-and-flip: McKenna and Sheldon 2020, Theorem 1", last.lineno
    charge = Charge("pure", weights.span, line, rule, exponent=weights.line, cell=weights.cell)
    charge = replace(charge, where=weights.where)
    reader.charge(charge)
    variables = reader.path.frames[reader.frame].variables
    variables |= dict.fromkeys(
        steps, Private(last.lineno, "it tells of the coins of permute-and-flip")
    )
    variables[node.target.id] = WHOLE
    return last.body


def is_kept(steps: dict[str, ast.expr], chance: ast.expr) -> bool:
    """Return True if a name is read before it is assigned in this round: it is of the last one."""
    later = set(steps)
    for name, step in (*steps.items(), ("", chance)):
        if names_in(step) & later:
            return True
        later.discard(name)
    return False


def draws_by(reader: Any, node: ast.expr, names: set[str]) -> bool:
    """Return True if an expression is a call of one of these methods of a generator."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr not in names:
        return False
    function = reader.read(node.func)
    if isinstance(function, BoundMethod):
        return isinstance(function.owner, Generator)
    if not is_function(function) or function not in GLOBAL_DRAWS:
        return False
    noise_rules.refuse_seeds(reader)
    return True


def _every(reader: Any, node: ast.expr, index: str, names: dict[str, Value]) -> Value:
    """Return an expression of a candidate's place as the vector over all places."""

    def read(each: ast.expr) -> Value:
        return _every(reader, each, index, names)

    if isinstance(node, ast.Subscript) and _is_name(node.slice, index):
        value = reader.gathered(reader.read(node.value))
        if isinstance(value, Statistic | Weights) and len(value.shape) == 1:
            return value
    elif isinstance(node, ast.BinOp):
        return arithmetic.binary(reader, type(node.op).__name__, read(node.left), read(node.right))
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        value = read(node.args[0])
        rule = calls.rule_of(reader.read(node.func))
        exp = rule is not None and rule.name in {"math.exp", "np.exp"}
        if exp and isinstance(value, Statistic):
            return noise_rules.exponentials(reader, value)
    elif isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    elif isinstance(node, ast.Name | ast.Constant) and not _is_name(node, index):
        value = reader.read(node)
        if shape_of(value) == ():
            return value
    raise reader.refuse("a coin's bias is not followed", "p = np.exp(...) before, and p[i]")
