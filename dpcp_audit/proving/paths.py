"""The state at one point of a program, on all paths that lead there; and what rules may ask for."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dpcp_audit.proving.charges import Ledger
from dpcp_audit.proving.distances import (
    UNKNOWN,
    BoundMethod,
    Closure,
    Distribution,
    Noise,
    Noisy,
    Once,
    Private,
    Public,
    PublicAnswer,
    PublicFloat,
    Reference,
    Value,
    affine_of,
    is_known,
    is_public,
    join,
    larger_of,
    same,
    shape_of,
    size_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Affine, is_scalar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from dpcp_audit.proving.exact_numbers import Surd
    from dpcp_audit.proving.sources import FunctionSource
    from dpcp_audit.words.results import Drawing


_MOST_LISTS = 4
"""Paths up to which those whose lists have other entries are kept apart."""
UNEQUAL = "a list that branches leave with different lengths is used"
ITSELF = -1
"""The token of a draw that is released as it is, with no statistic under it."""
SPENT = 0
"""The token of a draw that was used on some path: it hides nothing any more."""


class Note(NamedTuple):
    """A remark on a line: what is private there and how far a record moves it, or a noise."""

    says: str
    sensitivity: Fraction | None = None
    noise: bool = False
    drawn: Drawing | None = None

    def __str__(self) -> str:
        said = self.says if self.drawn is None else f"{self.drawn}{self.says}"
        moved = self.sensitivity
        return said if moved is None else f"{said}, sensitivity {float(moved):.6g}"


@dataclass(slots=True)
class Frame:
    """The variables of one call, or of one comprehension in it (then with the call's as parent)."""

    variables: dict[str, Value]
    source: FunctionSource
    parent: int | None = None
    local: frozenset[str] = frozenset()
    lent: frozenset[str] = frozenset()
    of_others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of an address: a list, an array that is filled, a dictionary or an object.

    Parameters
    ----------
    kind : str
        "list", "array", "dict", "object"; "variable" of one that several functions assign; "lost"
        where branches left different things: of these its one entry tells whether they are public.
    items : tuple
        The entries; of a dictionary or an object those of ``keys``.
    """

    kind: str
    items: tuple[Value, ...]
    keys: tuple[Any, ...] = ()
    of: Any = None


class ThresholdUse(NamedTuple):
    """The use of a draw as a noisy threshold: how far it is shifted, its scale and its sign."""

    moved: Fraction
    scale: Surd
    sign: int


Uses: TypeAlias = "dict[tuple[int, ...], int | ThresholdUse]"
"""What each draw was used for: the token of a value, or the shift of a threshold."""


@dataclass(slots=True)
class Path:
    """Variables, memory, the account, and the draws that were used.

    ``unsure`` are draws that only some of the paths have used, for the value that ``used`` names:
    that value may be released again, at its price.
    """

    frames: dict[int, Frame] = field(default_factory=dict)
    heap: dict[int, Contents] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    used: Uses = field(default_factory=dict)
    unsure: frozenset[tuple[int, ...]] = frozenset()
    _wholes: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self._wholes = {draw[0] for draw in self.used}

    def fork(self) -> Path:
        """Return a state that goes on independently."""
        frames = {
            name: replace(each, variables=dict(each.variables))
            for name, each in self.frames.items()
        }
        return Path(frames, dict(self.heap), self.ledger, dict(self.used), self.unsure)

    def store(self, cells: Contents) -> Reference:
        """Put something at a new address."""
        address = next(tokens)
        self.heap[address] = cells
        return Reference(address)

    def use(self, draw: tuple[int, ...], token: int | ThresholdUse) -> bool:
        """Use a draw for a value; return whether that value was released before.

        Raises
        ------
        LookupError
            If the draw, a part of it or the whole that it is part of was used for another value.
        """
        for before in self._parts_used(draw):
            if self.used[before] != token or (before != draw and token != ITSELF):
                raise LookupError
        known = draw in self.used and draw not in self.unsure
        self.used[draw] = token
        self._wholes.add(draw[0])
        self.unsure -= {draw}
        return known

    def _parts_used(self, draw: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the draws that were used and are a part of this one, or have it as a part."""
        if draw[0] not in self._wholes:
            return []
        return [each for each in self.used if overlap(each, draw)]

    def was_released(self, draw: tuple[int, ...], token: int) -> bool:
        """Return True if a value was released on every path."""
        return self.used.get(draw) == token and draw not in self.unsure

    def is_fresh(self, draw: tuple[int, ...]) -> bool:
        """Return True if no part of a draw, nor a whole that it is part of, was used."""
        return not self._parts_used(draw)

    def numbers(self, value: Value, *, entries: bool) -> frozenset[Hashable]:
        """Return what is known of variables, and of a value.

        Numbers, texts, the lengths and perhaps the ``entries`` of lists, and which noise is a
        threshold that was compared.
        """
        found: set[Hashable] = set()
        waiting: list[tuple[Hashable, Value]] = [("value", value)]
        for frame, each in self.frames.items():
            waiting += [((frame, name), held) for name, held in each.variables.items()]
        while waiting:
            name, held = waiting.pop()
            if isinstance(held, tuple):
                waiting += [((name, place), each) for place, each in enumerate(held)]
            elif isinstance(held, Reference) and (name, held.address) not in found:
                cells = self.heap[held.address]
                found |= {(name, held.address), (held.address, len(cells.items), cells.keys)}
                alone = cells.kind in {"list", "array"} and not entries
                waiting += [
                    ((held.address, place), each)
                    for place, each in enumerate(cells.items)
                    if not alone or isinstance(each, Reference)
                ]
            elif isinstance(held, Noise) and isinstance(self.used.get(held.draw), ThresholdUse):
                found.add((name, self.used[held.draw]))
            elif held is None or isinstance(held, str | PublicAnswer) or is_scalar(held):
                found.add((name, type(held), repr(held)))
        return frozenset(found)

    def stands_still(self, before: Path) -> bool:
        """Return True if all that is known is what it was before a round of a loop."""
        if self.frames.keys() != before.frames.keys():
            return False
        pairs: list[tuple[Mapping[Any, Value], Mapping[Any, Value]]] = [
            (each.variables, before.frames[name].variables) for name, each in self.frames.items()
        ]
        pairs += [
            (dict(enumerate(self.heap[address].items)), dict(enumerate(cells.items)))
            for address, cells in before.heap.items()
        ]
        return all(
            new.keys() == old.keys() and all(_is_alike(new[name], old[name]) for name in new)
            for new, old in pairs
        )

    def bindings(self) -> Iterator[Value]:
        """Yield every value that a name or a place in memory holds."""
        for frame in self.frames.values():
            for value in frame.variables.values():
                yield from _flat(value)
        for cells in self.heap.values():
            for value in cells.items:
                yield from _flat(value)


def _is_alike(a: Value, b: Value) -> bool:
    """Return True if two values are the same in all that is known of them."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_is_alike, a, b))
    known = is_known(a) or is_known(b) or isinstance(a, Reference | PublicAnswer)
    known = known or affine_of(a) is not None
    return same(a, b) or (not known and type(a) is type(b) and shape_of(a) == shape_of(b))


def overlap(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return True if two draws are the same, or one of them is a part of the other."""
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _flat(value: Value) -> Iterator[Value]:
    """Yield a value, and what it holds: entries, a method's owner, defaults, a law's location."""
    held: tuple[Value, ...] = ()
    if isinstance(value, tuple):
        held = value
    elif isinstance(value, BoundMethod):
        held = (value.owner,)
    elif isinstance(value, Closure):
        held = tuple(each for _, each in value.defaults)
    elif isinstance(value, Distribution):
        held = (value.loc, value.scale)
    elif isinstance(value, Once):
        held = (*value.items, *value.sources)
    else:
        yield value
    for each in held:
        yield from _flat(each)


End: TypeAlias = "tuple[Path, Value]"
"""The state in which a function returns, and its value."""


class Joining:
    """Two paths that meet: how values of either are joined, fresh noise included."""

    def __init__(self, a: Path, b: Path, line: int) -> None:
        self.a, self.b, self.line = a, b, line
        self.moved: list[tuple[int, ...]] = []
        self._shifted: dict[tuple[int, ...], ThresholdUse] = {}
        self._merged: dict[tuple[Value, Value], Value] = {}
        self._anchors: list[tuple[int, Affine, Affine]] = []

    def value(self, x: Value, y: Value) -> Value:
        """Return a value that stands for those of both paths."""
        found = join(x, y, self.line, self.merge)
        if isinstance(found, PublicFloat) and found.shape == () and not same(x, y):
            return self._anchored(x, y, found)
        return found

    def _anchored(self, x: Value, y: Value, found: PublicFloat) -> PublicFloat:
        """Return a number of either path, beside another one that is as far from it on both."""
        sizes = size_of(x), size_of(y)
        a, b = affine_of(x), affine_of(y)
        if a is None or b is None or sizes[0] is None or sizes[1] is None:
            return found
        size = max(sizes[0], sizes[1])
        for base, one, other in self._anchors:
            apart = a.plus(one, -1), b.plus(other, -1)
            if apart[0] is None or apart[1] is None or apart[0].factor or apart[1].factor:
                continue
            if apart[0].offset == apart[1].offset:
                error = max(apart[0].error, apart[1].error)
                return PublicFloat((), size, Affine(base, Fraction(1), apart[0].offset, error))
        base = next(tokens)
        self._anchors.append((base, a, b))
        return PublicFloat((), size, Affine(base, Fraction(1), Fraction(0)))

    def merge(self, x: Value, y: Value) -> Value | None:
        """Return a fresh draw of either path as one; None where its law or use differs."""
        x, y = _public_if_used(self.a, x), _public_if_used(self.b, y)
        if isinstance(x, Public) and isinstance(y, Public):
            return Public(x.shape if x.shape == y.shape else None)
        if type(x) is not type(y) or not isinstance(x, Noise | Noisy):
            return None
        if (x, y) not in self._merged:
            self._merged[x, y] = self._fresh(x, y)
        return self._merged[x, y]

    def _use_of(self, path: Path, noise: Noise) -> ThresholdUse | int | None:
        """Return how a draw was used on its path, as a threshold or else; None of a fresh one."""
        if any(overlap(each, noise.draw) for each in self.moved):
            return SPENT
        if path.is_fresh(noise.draw):
            return None
        token = path.used.get(noise.draw, SPENT)
        return token if isinstance(token, ThresholdUse) and noise.draw not in path.unsure else SPENT

    def _fresh(self, x: Noise | Noisy, y: Noise | Noisy) -> Value | None:
        one = x.noise if isinstance(x, Noisy) else x
        other = y.noise if isinstance(y, Noisy) else y
        alike = (one.law, one.scale, one.shape) == (other.law, other.scale, other.shape)
        alike = alike and one.alike and other.alike
        use = self._use_of(self.a, one)
        if not alike or use == SPENT or use != self._use_of(self.b, other):
            return None
        if use is not None and one.sign != other.sign:
            return None
        self.moved += [one.draw, other.draw]
        noise = replace(one, draw=(next(tokens),), moved=max(one.moved, other.moved))
        if isinstance(use, ThresholdUse):
            self._shifted[noise.draw] = use
        if isinstance(x, Noisy) and isinstance(y, Noisy):
            return Noisy(larger_of(x.statistic, y.statistic), noise, x.line)
        return noise

    def cells(self, x: Contents, y: Contents) -> Contents:
        """Return a value that stands for those at an address of both paths."""
        if x is y:
            return x
        alike = (x.kind, len(x.items), x.of) == (y.kind, len(y.items), y.of)
        if not alike or not same(x.keys, y.keys):
            shown = _is_shown(self.a, x) and _is_shown(self.b, y)
            return Contents("lost", (UNKNOWN if shown else Private(self.line, UNEQUAL),))
        return replace(x, items=tuple(map(self.value, x.items, y.items)))

    def frame(self, x: Frame, y: Frame) -> Frame:
        """Return the variables of either path."""
        variables = {}
        for name in x.variables.keys() | y.variables.keys():
            if name in x.variables and name in y.variables:
                variables[name] = self.value(x.variables[name], y.variables[name])
            else:
                variables[name] = Private(self.line, f"{name} is assigned in one branch only")
        return replace(x, variables=variables)

    def path(self) -> Path:
        """Return the joined path."""
        a, b = self.a, self.b
        frames, heap = b.frames | a.frames, b.heap | a.heap
        for name in a.frames.keys() & b.frames.keys():
            frames[name] = self.frame(a.frames[name], b.frames[name])
        for address in a.heap.keys() & b.heap.keys():
            heap[address] = self.cells(a.heap[address], b.heap[address])
        used, unsure = self.used()
        return Path(frames, heap, a.ledger.join(b.ledger), used, unsure)

    def used(self) -> tuple[Uses, frozenset[tuple[int, ...]]]:
        """Return the draws that either path has used, and those that only one of them has."""
        a, b = self.a, self.b
        used: Uses = dict.fromkeys(self.moved, SPENT) | self._shifted
        for draw in (a.used.keys() | b.used.keys()) - used.keys():
            tokens_of = {path.used[draw] for path in (a, b) if draw in path.used}
            used[draw] = tokens_of.pop() if len(tokens_of) == 1 else SPENT
        sure = (a.used.keys() - a.unsure) & (b.used.keys() - b.unsure) | self._shifted.keys()
        return used, frozenset(used.keys() - sure)


def _is_shown(path: Path, cells: Contents) -> bool:
    """Return True of a list or dictionary that holds public numbers and texts alone."""
    kept = cells.kind in {"list", "dict", "lost"} and cells.of is None
    return kept and all(_is_released(path, each) for each in cells.items)


def _is_released(path: Path, value: Value) -> bool:
    """Return True if a value, in all its parts, is public or was released on a path."""
    if isinstance(value, tuple):
        return all(_is_released(path, each) for each in value)
    return is_public(_public_if_used(path, value))


def _public_if_used(path: Path, value: Value) -> Value:
    """Return a noisy value as public where this very value was released before."""
    if isinstance(value, Noisy) and path.was_released(value.noise.draw, value.token):
        return Public(value.noise.shape)
    if isinstance(value, Noise) and path.was_released(value.draw, ITSELF):
        return Public(value.shape)
    return Public(shape_of(value)) if is_public(value) else value


def join_paths(paths: tuple[Path, ...], line: int, *, apart: bool) -> tuple[Path, ...]:
    """Return the state where branches of a public condition meet.

    Or the states ``apart``, for each combination of the numbers that variables hold.
    """
    found: dict[Hashable, Path] = {}
    for each, key in zip(paths, _keys([(each, None) for each in paths], apart=apart), strict=True):
        found[key] = Joining(found[key], each, line).path() if key in found else each
    return tuple(found.values())


def _keys(ends: Sequence[End], *, apart: bool) -> list[Hashable]:
    """Return what must be equal of states that meet: entries of lists, too, if these are few."""
    keys: list[Hashable] = [None] * len(ends)
    for entries in (True, False) if apart and len(ends) > 1 else ():
        keys = [path.numbers(value, entries=entries) for path, value in ends]
        if len(set(keys)) <= _MOST_LISTS:
            break
    return keys


def join_ends(ends: tuple[End, ...], line: int, *, apart: bool) -> tuple[End, ...]:
    """Return the same of states in which a function returns, with its value."""
    found: dict[Hashable, End] = {}
    for each, key in zip(ends, _keys(ends, apart=apart), strict=True):
        found[key] = join_returns(found[key], each, line) if key in found else each
    return tuple(found.values())


def join_returns(a: End, b: End, line: int) -> End:
    """Return the state and the value of a function that returns on either of two paths."""
    joining = Joining(a[0], b[0], line)
    x, y = a[1], b[1]
    lists = isinstance(x, Reference) and isinstance(y, Reference) and x != y
    cells = joining.cells(a[0].heap[x.address], b[0].heap[y.address]) if lists else None
    value = joining.value(x, y) if cells is None else None
    path = joining.path()
    if cells is None:
        return path, value
    reason = "a list that was taken in one of two branches has another name"
    path.heap[x.address] = path.heap[y.address] = Contents("lost", (Private(line, reason),))
    return path, path.store(cells)


class Choices:
    """The ways taken where a path divides, one after the other.

    Parameters
    ----------
    given : tuple of int
        The way taken at each place, in order; at a further place the first one is.
    """

    def __init__(self, given: tuple[int, ...] = ()) -> None:
        self._given = list(given)
        self._numbers: list[int] = []

    @property
    def drawn(self) -> int:
        """The number of places at which this path has divided."""
        return len(self._numbers)

    def following(self) -> tuple[int, ...] | None:
        """Return the beginning of the next sequence of ways; None after the last one."""
        given = self._given[: len(self._numbers)]
        while given and given[-1] + 1 == self._numbers[len(given) - 1]:
            given.pop()
        return (*given[:-1], given[-1] + 1) if given else None

    def choose(self, number: int) -> int:
        """Return the way that is taken here, of 0, ..., number - 1."""
        if len(self._numbers) == len(self._given):
            self._given.append(0)
        self._numbers.append(number)
        return self._given[len(self._numbers) - 1]


class ThresholdAnswers:
    """The answers that comparisons with noisy thresholds give on the paths that are read.

    Parameters
    ----------
    side : int
        1 where "above" is charged for, -1 where "below" is; 0 composes instead.
    """

    def __init__(self, side: int = 0) -> None:
        self.side, self.met, self.read, self.too_many = side, False, 0, False
        self.choices = Choices()
        self.kept: dict[tuple[object, ...], int] = {}

    @property
    def apart(self) -> bool:
        """True where paths meet only if their variables hold the same numbers."""
        return self.side != 0

    def next(self) -> bool:
        """Return the next answer: whether it is the one that is charged for."""
        self.read += 1
        return self.choices.choose(2) == 0


def holds(node: ast.AST, held: Mapping[str, Value], kind: type) -> bool:
    """Return True if a variable in this, not as an index, holds a value of a kind."""
    if isinstance(node, ast.Name):
        return isinstance(held.get(node.id), kind)
    parts = [node.value] if isinstance(node, ast.Subscript) else ast.iter_child_nodes(node)
    return any(holds(each, held, kind) for each in parts)
