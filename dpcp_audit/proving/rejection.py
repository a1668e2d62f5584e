"""Discrete Gaussian noise by rejection: the difference of two geometric draws, accepted by chance.

``while True`` that draws y, and returns or keeps it where ``rng.random() < exp(A(|y|))``, gives y
with a chance in proportion to exp(A(|y|) - r·|y|), where r is the rate of the geometric draws. If
A(x) is a·x² + r·x + c with a < 0, and at most 0 for x >= 0, that is exp(a·y²) up to a factor.

Reference
---------
Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy", Algorithm 3.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.distances import DISCRETE, Noise, Private, tokens
from dpcp_audit.proving.exact_numbers import Surd, exact_of
from dpcp_audit.proving.loop_forms import assigned_once, compared, draws_by, is_kept
from dpcp_audit.proving.sources import is_function, names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNIFORM = {"random", "random_sample", "rand"}
_ZERO, _ONE, _TWO = Surd.of(0), Surd.of(1), Surd.of(2)
Polynomial: TypeAlias = tuple[Surd, Surd, Surd]
"""The coefficients of 1, x and x², where x is the size of a draw."""
_SIZE: Polynomial = (_ZERO, _ONE, _ZERO)
_SQUARE: Polynomial = (_ZERO, _ZERO, _ONE)


def accepted(reader: Any, node: ast.While) -> list[ast.stmt] | None:
    """Read a loop that draws until a draw is accepted; return what is done with it.

    None, unread, of any other loop.
    """
    always = isinstance(node.test, ast.Constant) and bool(node.test.value)
    last, steps = node.body[-1], assigned_once(node.body[:-1])
    plainly = isinstance(last, ast.If) and not last.orelse
    if not always or node.orelse or not steps or not plainly or not isinstance(last, ast.If):
        return None
    sides = compared(last.test)
    if sides is None or not isinstance(last.body[-1], ast.Return | ast.Break):
        return None
    draw, chance = steps.get(getattr(sides[0], "id", ""), sides[0]), sides[1]
    if not draws_by(reader, draw, _UNIFORM) or draw.args or draw.keywords:  # type: ignore[attr-defined]
        return None
    if is_kept(steps, chance) or any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)):
        raise reader.refuse("a draw is accepted by what was drawn before it")
    heap, ledger, begun = dict(reader.path.heap), reader.path.ledger, next(tokens)
    hidden = Private(node.lineno, "it tells of the draws that were not accepted")
    reader.path.frames[reader.frame].variables |= dict.fromkeys(steps, hidden)
    used = set(reader.path.used)
    candidate = _Candidate(reader)
    for name, step in steps.items():
        if step is not draw:
            candidate.bind(name, step)
    name, noise = candidate.result(chance)
    stored = any(reader.path.heap.get(address) is not cells for address, cells in heap.items())
    if stored or reader.path.ledger != ledger:
        raise reader.refuse("a loop that draws until a draw is accepted releases or stores")
    if any(draw[0] < begun for draw in reader.path.used if draw not in used):
        raise reader.refuse("a draw from before a loop is used in each of its rounds")
    reader.path.frames[reader.frame].variables |= dict.fromkeys(steps, hidden) | {name: noise}
    reader.rules.add("rejection of geometric noise: Canonne, Kamath and Steinke 2020, Algorithm 3")
    return last.body


@dataclass(slots=True)
class _Candidate:
    """A draw that may be accepted, and the polynomials of its size that the loop computes."""

    reader: Any
    name: str = ""
    noise: Noise | None = None
    found: dict[str, Polynomial] | None = None

    @property
    def known(self) -> Mapping[str, Polynomial]:
        """The names of polynomials."""
        return self.found or {}

    def bind(self, name: str, step: ast.expr) -> None:
        """Read an assignment in the loop."""
        if names_in(step) & {self.name, *self.known}:
            self.found = {**self.known, name: self.polynomial(step)}
            return
        value = self.reader.read(step)
        if isinstance(value, Noise) and value.law == "two-sided geometric":
            if self.name or value.shape or value.moved or not self.reader.path.is_fresh(value.draw):
                raise self.reader.refuse("several draws are accepted together, or one with a shift")
            self.name, self.noise = name, value
        self.reader.path.frames[self.reader.frame].variables[name] = value

    def result(self, chance: ast.expr) -> tuple[str, Noise]:
        """Return the name of the draw, and its law once it is accepted."""
        if self.noise is None or not isinstance(chance, ast.Call) or len(chance.args) != 1:
            raise self._refusal()
        if chance.keywords or not self._calls(chance, {"math.exp", "np.exp"}):
            raise self._refusal()
        constant, linear, square = self.polynomial(chance.args[0])
        a, b, c = square.rational, linear.rational, constant.rational
        if a is None or b is None or c is None or a >= 0 or b * b > 4 * a * c or c > 0:
            raise self._refusal()
        if b != self.noise.scale.rational:
            raise self._refusal()
        self.reader.use(self.noise.draw, next(tokens))
        scale = Surd(1, -1 / (2 * a))
        self.reader.note(f"discrete Gaussian noise of scale {float(scale):.6g}", noise=True)
        return self.name, replace(self.noise, draw=(next(tokens),), law=DISCRETE, scale=scale)

    def _refusal(self) -> Any:
        return self.reader.refuse(
            "a draw is accepted by a chance of which the law that it gives is not known",
            "discrete Gaussian noise: of rng.geometric(p) - rng.geometric(p), p = 1 - exp(-1 / t), "
            "accept y with the chance exp(-(abs(y) - sigma**2 / t)**2 / (2 * sigma**2))",
        )

    def polynomial(self, node: ast.expr) -> Polynomial:
        """Return an expression as a polynomial of the size of the draw."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._times(self.polynomial(node.operand), (Surd.of(-1), _ZERO, _ZERO))
        if isinstance(node, ast.Call) and len(node.args) == 1 and self._is_draw(node.args[0]):
            if not node.keywords and self._calls(node, {"abs", "np.abs", "math.fabs"}):
                return _SIZE
            raise self._refusal()
        if isinstance(node, ast.BinOp):
            return self._of_operator(node)
        if isinstance(node, ast.Name) and node.id in self.known:
            return self.known[node.id]
        of_draw = names_in(node) & {self.name, *self.known}
        value = None if of_draw else exact_of(self.reader.read(node))
        if value is None:
            raise self._refusal()
        return value, _ZERO, _ZERO

    def _calls(self, node: ast.Call, names: set[str]) -> bool:
        function = self.reader.read(node.func)
        rule = calls.rule_of(function) if is_function(function) else None
        return rule is not None and rule.name in names

    def _is_draw(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def _of_operator(self, node: ast.BinOp) -> Polynomial:
        name = type(node.op).__name__
        squared = name == "Pow" and isinstance(node.right, ast.Constant) and node.right.value == 2
        if self._is_draw(node.left) and (squared or (name == "Mult" and self._is_draw(node.right))):
            return _SQUARE
        first = self.polynomial(node.left)
        if squared:
            return self._times(first, first)
        other = self.polynomial(node.right)
        if name == "Mult":
            return self._times(first, other)
        if name == "Div" and other[0].sign and not (other[1].sign or other[2].sign):
            return self._times(first, (other[0].inverse(), _ZERO, _ZERO))
        if name == "Pow" and not any(each.sign for each in (*first[1:], *other[1:])):
            value = first[0].power(other[0])
            if value is not None:
                return value, _ZERO, _ZERO
        if name not in {"Add", "Sub"}:
            raise self._refusal()
        sign = _ONE if name == "Add" else Surd.of(-1)
        low, middle, high = (self._sum(x, y.times(sign)) for x, y in zip(first, other, strict=True))
        return low, middle, high

    def _sum(self, *terms: Surd) -> Surd:
        whole = _ZERO
        for each in terms:
            added = whole.plus(each)
            if added is None:
                raise self._refusal()
            whole = added
        return whole

    def _times(self, x: Polynomial, y: Polynomial) -> Polynomial:
        if any(x[i].sign and y[j].sign for i, j in ((1, 2), (2, 1), (2, 2))):
            raise self._refusal()
        middle = self._sum(x[0].times(y[1]), x[1].times(y[0]))
        high = self._sum(x[0].times(y[2]), x[1].times(y[1]), x[2].times(y[0]))
        return x[0].times(y[0]), middle, high
