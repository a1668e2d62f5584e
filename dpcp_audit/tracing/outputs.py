"""A target's output as plain values, and the law of outputs on two inputs.

Rounding must never make a loss. Outputs that differ by it alone count as one, and what is as
unlikely as rounding on both inputs is set aside: a proof is asked of the laws to the last bit.
"""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import dataclasses
import enum
import math
import re
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.tracing.draws import SAME, NotFiniteError, UnfollowableError
from dpcp_audit.tracing.path_likelihood import LOST
from dpcp_audit.tracing.traced_arrays import TracedArray
from dpcp_audit.tracing.traced_numbers import Traced, values_of
from dpcp_audit.words.validate import is_array
from dpcp_audit.words.values import is_record, is_sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dpcp_audit.tracing.draws import Line


@dataclasses.dataclass(frozen=True, slots=True)
class _TypeMark:
    """A difference between two equal values: a type, a memory layout, the sign of a zero.

    ``words`` tell a reader of it; without, it names a type.
    """

    name: str
    words: str = ""


Atom = str | float | int | bool | complex | bytes | _TypeMark | None
"""A plain value, comparable; or a mark of the one that follows."""


_UNMARKED = (float, str, bytes, complex, type(None))
_FLOAT64 = _TypeMark("numpy.float64")
_OF_PYTHON: dict[Any, Any] = {
    _TypeMark(f"numpy.{of.__name__}"): _TypeMark(f"builtins.{name}")
    for of, name in ((np.int64, "int"), (np.bool_, "bool"))
}
"""NumPy's type of a number and Python's, which equal values have by how they are computed."""
_OF_FLOAT_OR_TEXT = {_FLOAT64, _TypeMark("numpy.str_"), _TypeMark("numpy.bytes_")}
"""NumPy's types of values whose Python type has no mark."""
_BELOW_ZERO = _TypeMark("-0", words="with a minus sign")
_MOST_ENTRIES = 10**6
"""Entries of an array, each of which becomes a Python number."""


def atoms_of(output: Any, line: Line) -> tuple[Atom, ...]:
    """Return the plain values in an output, in their order; noisy numbers are read.

    Raises
    ------
    UnfollowableError
        If it holds an object whose content is not known.
    """
    return tuple(_atoms(output, line, 0))


def without_marks(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Return the values alone: what is known of them where a traced run does not know their type.

    Examples
    --------
    >>> without_marks((_TypeMark("int"), 1, "list(0)"))
    (1, 'list(0)')
    """
    return tuple(each for each in atoms if not isinstance(each, _TypeMark))


def _atoms(value: Any, line: Line, depth: int) -> Iterator[Atom]:
    if depth > 50:
        raise UnfollowableError("the output is nested too deeply", line)
    if isinstance(value, Traced):
        yield from _plain(value.read())
    elif isinstance(value, enum.Enum):
        yield _TypeMark(_named(type(value)))
        yield value.name
    elif value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic
    ):
        yield from _plain(value)
        yield from _attributes(value, (), line, depth)
    elif hasattr(value, "detach"):
        yield _TypeMark(str(value.dtype))
        yield from _atoms(value.detach().cpu().numpy(), line, depth)
    elif is_array(value):
        yield from _array(value, line, depth)
    else:
        yield from _inside(value, line, depth)


def _array(value: Any, line: Line, depth: int) -> Iterator[Atom]:
    if value.size > _MOST_ENTRIES:
        said = f"the output has {value.size:,} entries, more than the {_MOST_ENTRIES:,} followed"
        raise UnfollowableError(said, line)
    yield f"array{value.shape}"
    if isinstance(value, TracedArray):
        # An untraced run has an array of numbers here; of which type is not known.
        yield from _numbers(np.ravel(values_of(value)), _plain)
        return
    in_c, in_fortran = value.flags.c_contiguous, value.flags.f_contiguous
    layout = "" if in_c and in_fortran else f" in {'C' if in_c else 'Fortran'} order"
    layout = layout if in_c or in_fortran else f" with strides {value.strides}"
    yield _TypeMark(
        f"{_named(type(value))} {value.dtype.descr} {value.strides}",
        words=f"of dtype {value.dtype}{layout}",
    )
    if isinstance(value, np.ma.MaskedArray):
        yield from _atoms(np.ma.getmaskarray(value), line, depth + 1)
        value = cast("Any", value).data
    yield from _attributes(value, (), line, depth)
    if value.dtype.names is not None:
        for name in value.dtype.names:
            yield from _atoms(np.asarray(value[name]), line, depth + 1)
    elif value.dtype.hasobject:
        for each in np.ravel(value).tolist():
            yield from _atoms(each, line, depth + 1)
    else:
        yield from _numbers(np.ravel(value), _signed)


def _numbers(values: Any, of_one: Callable[[Any], Iterator[Atom]]) -> Iterator[Atom]:
    """Return the entries of an array; floats at once, where no zero among them has a sign."""
    if values.dtype == float and not np.signbit(values[values == 0]).any():
        yield from values.tolist()
        return
    for each in values.tolist():
        yield from of_one(each)


def _inside(value: Any, line: Line, depth: int) -> Iterator[Atom]:
    kind = type(value).__name__
    parts: list[Any]
    listed: tuple[str, ...] = ()
    if is_record(value):
        parts = [part for pair in value.items() for part in pair]
    elif is_sequence(value):
        parts = list(value)
    elif isinstance(value, set | frozenset):
        parts = sorted(cast("set[Any]", value), key=repr)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        listed = tuple(each.name for each in dataclasses.fields(value))
        parts = [getattr(value, each) for each in listed]
        yield _TypeMark(f"{_named(type(value))} {listed}", f"with fields {', '.join(listed)}")
    else:
        raise UnfollowableError(f"the output is a {kind}, whose content is not known", line)
    yield f"{kind}({len(parts)})"
    for part in parts:
        yield from _atoms(part, line, depth + 1)
    yield from _attributes(value, listed, line, depth)


def _attributes(value: Any, listed: Sequence[str], line: Line, depth: int) -> Iterator[Atom]:
    """Return the further content of an object, beside its listed content, by name."""
    for name, held in sorted(getattr(value, "__dict__", {}).items()):
        if name not in listed:
            yield f".{name}"
            yield from _atoms(held, line, depth + 1)


def _plain(value: Any) -> Iterator[Atom]:
    """Return a value, after the mark of its type."""
    if type(value) not in _UNMARKED:
        yield _TypeMark(_named(type(value)))
    yield from _signed(cast("Any", value).item() if isinstance(value, np.generic) else value)


def _signed(value: Any) -> Iterator[Atom]:
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    for part in parts:
        if isinstance(part, float) and not part and math.copysign(1.0, part) < 0:
            yield _BELOW_ZERO
    yield value


def _named(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def same_atoms(first: tuple[Atom, ...], second: tuple[Atom, ...], within: float = SAME) -> bool:
    """Return True if two outputs are the same, but for a relative difference of their numbers."""
    return len(first) == len(second) and all(
        (type(a) is type(b) and a == b) or _same(a, b, within)
        for a, b in zip(first, second, strict=True)
    )


def _same(first: Atom, second: Atom, within: float) -> bool:
    if isinstance(first, float | int) and isinstance(second, float | int):
        both_nan = math.isnan(first) and math.isnan(second)
        rounded = isinstance(first, float) or isinstance(second, float)
        near = rounded and _near(float(first), float(second), within)
        return first == second or both_nan or near
    return type(first) is type(second) and first == second


def _near(first: float, second: float, within: float) -> bool:
    largest = max(abs(first), abs(second))
    return math.isfinite(largest) and abs(first - second) <= within * largest


ROUNDED = 1e-8
"""Relative difference of two outputs that may be one, after rounding to 10 digits."""
_CHANGED = 1e-10
"""The largest relative change of a probability by what is left out."""
_UNDERFLOW = math.log(1e-200)
"""Below it a probability is of a weight that has lost its digits, or is 0 by rounding."""
_SHAPE = re.compile(r"\w+\([\d, ]*\)")
"""What stands before the entries of an array, a list or a dictionary."""
_ROUNDING = math.log(1e-15)
"""Below it a probability may be the rounding of one that is 0."""


class OutputLaw(dict[Any, float]):
    """The log-probabilities of outputs.

    Attributes
    ----------
    missed : float
        The probability of the paths that were left out: those of a loop without an end, and
        those after a fork that is as unlikely as rounding.
    typed : bool
        True if the types of all values are known: not of a noisy number that is returned.
    unrounded : mapping
        The log-probabilities of outputs to the last bit, types and signs of zeros too.
    """

    missed: float = 0.0
    pruned: bool = False
    typed: bool = True
    unrounded: Mapping[Any, float] = MappingProxyType({})
    elementary: bool = False

    @classmethod
    def of(cls, found: Mapping[tuple[Atom, ...], list[float]], *, typed: bool = True) -> OutputLaw:
        """Return the law of paths: the log-probabilities of those that return an output."""
        near: dict[tuple[Atom, ...], list[float]] = defaultdict(list)
        for output, masses in found.items():
            near[rounded_output(output if typed else without_marks(output))] += masses
        law = cls(_added_up(near))
        law.unrounded = _added_up(found)
        law.typed = typed
        return law


def _added_up(found: Mapping[Any, list[float]]) -> dict[Any, float]:
    return {output: float(logsumexp(masses)) for output, masses in found.items()}


def rounded_output(output: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Return an output as ideal numbers: floats to 10 digits, NumPy's own types as Python's.

    What noise settles is known up to rounding. Other types, such as int32, are kept.

    Examples
    --------
    >>> rounded_output(atoms_of(np.int64(1), ("", 0))) == atoms_of(1, ("", 0))
    True
    >>> rounded_output(atoms_of(np.float64(0.5), ("", 0)))
    (0.5,)
    """
    return tuple(
        float(f"{each:.9e}") if isinstance(each, float) and math.isfinite(each) else each
        for each in of_python(output)
    )


def of_python(output: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Return an output with NumPy's own types as Python's; other types are kept."""
    return tuple(_OF_PYTHON.get(each, each) for each in output if each not in _OF_FLOAT_OR_TEXT)


def pair_of(law: Mapping[Any, float], neighbour: Mapping[Any, float]) -> FinitePair:
    """Return two laws over the outputs of both; what differs by rounding is one output.

    Raises
    ------
    NotFiniteError
        If what the laws leave out could change the ratio of a probability.
    """
    if getattr(law, "typed", True) != getattr(neighbour, "typed", True):
        law, neighbour = _untyped(law), _untyped(neighbour)
    alone = [output for output in law if output not in neighbour]
    near: dict[Any, list[float]] = defaultdict(list)
    for output, mass in neighbour.items():
        near[_matched(output, law, alone)].append(mass)
    pair = exact_pair(law, _added_up(near))
    missed = max(getattr(each, "missed", 0.0) for each in (law, neighbour))
    least = min(float(each.log_mass.min()) for each in (pair.law, pair.neighbour_law))
    if missed > 0 and not least >= math.log(missed / _CHANGED):
        raise NotFiniteError("an output is as unlikely as what is left out of a loop", ("", 0))
    return pair


def _untyped(law: Mapping[Any, float]) -> OutputLaw:
    """Return a law with outputs that only a type tells apart as one."""
    untyped = OutputLaw.of({output: [mass] for output, mass in law.items()}, typed=False)
    untyped.missed = getattr(law, "missed", 0.0)
    return untyped


def exact_pair(law: Mapping[Any, float], neighbour: Mapping[Any, float]) -> FinitePair:
    """Return two laws over the outputs of both; only what is equal is one output."""
    outputs = [*law, *(each for each in neighbour if each not in law)]
    ones = np.zeros(len(outputs))
    first, second = (
        FiniteLaw(np.array([each.get(output, LOST) for output in outputs]), ones)
        for each in (law, neighbour)
    )
    return FinitePair(first, second, outcomes=_told_apart(outputs))


def as_written(law: OutputLaw, neighbour: OutputLaw) -> FinitePair:
    """Return two laws that tell outputs apart to the last bit, and by the type of a number."""
    return exact_pair(law.unrounded, neighbour.unrounded)


def _told_apart(outputs: Sequence[tuple[Atom, ...]]) -> tuple[Any, ...]:
    """Return outputs as plain data; those that print alike as records with their form.

    Examples
    --------
    >>> _told_apart([(_TypeMark("builtins.int"), 1), ("1",), (2.0,)])
    ({'output': 1, 'form': 'of type int'}, {'output': '1', 'form': 'a text'}, 2.0)
    >>> _told_apart([(0.0,), (_BELOW_ZERO, -0.0)])
    ({'output': 0.0, 'form': 'with a plus sign'}, {'output': -0.0, 'form': 'with a minus sign'})
    >>> _told_apart([(None,), ("None",)])
    ({'output': None, 'form': 'the value None'}, {'output': 'None', 'form': 'a text'})
    """
    plain = [plain_output(output) for output in outputs]
    alike: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(plain):
        alike[_printed(each)].append(place)
    told: list[Any] = list(plain)
    for places in alike.values():
        outer = {_container(outputs[place]) for place in places}
        for place in places if len(places) > 1 else ():
            form = _container(outputs[place]) if len(outer) == len(places) else ""
            told[place] = as_record(outputs[place], form)
    return tuple(told)


def as_record(output: tuple[Atom, ...], form: str = "") -> Any:
    """Return an output as plain data with its form in words."""
    plain = None if without_marks(output) == (None,) else plain_output(output)
    return {"output": plain, "form": form or _form(output)}


def _printed(plain: Any) -> str:
    """Return a value as a reader sees it: 1, 1.0, True and the text "1" are alike."""
    if isinstance(plain, list):
        return f"[{', '.join(map(_printed, plain))}]"
    return f"{plain + 0.0:.12g}" if isinstance(plain, int | float) else str(plain)


def _container(output: tuple[Atom, ...]) -> str:
    """Return what an output's values are in: "a list", "an array of shape (2, 3)"; "" of one."""
    found = next((e for e in output if isinstance(e, str) and _SHAPE.fullmatch(e)), "")
    kind, _, inside = found.partition("(")
    if kind == "array":
        return f"an array of shape ({inside}"
    return f"a {kind}" if kind else ""


def _form(output: tuple[Atom, ...]) -> str:
    """Return all that an output is beside its values: container, types, the sign of a zero."""
    container, values = _container(output), without_marks(output)
    types = [_words(each) for each in output if isinstance(each, _TypeMark)]
    if len(values) == 1 and not types:
        zero = isinstance(values[0], float) and not values[0]
        plain = _UNMARKED_FORMS.get(cast("Any", type(values[0])), "of type float")
        types.append("with a plus sign" if zero else plain)
    return ", ".join(dict.fromkeys([each for each in (container, *types) if each]))


def _words(mark: _TypeMark) -> str:
    return mark.words or f"of type {mark.name.removeprefix('builtins.')}"


_UNMARKED_FORMS = {str: "a text", type(None): "the value None", bytes: "of type bytes"}


def form_of(output: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Return an output without the values of its numbers: types, texts, and what holds them.

    Examples
    --------
    >>> form_of(atoms_of([0.5, "a"], ("", 0)))
    ('list(2)', '…', 'a')
    """
    plain = ("…j" if isinstance(each, complex) else each for each in output)
    return tuple("…" if isinstance(each, int | float) else each for each in plain)


def difference_in_form(first: tuple[Atom, ...], second: tuple[Atom, ...]) -> str:
    """Return the first difference of the forms of two outputs, in words; "" if there is none.

    Examples
    --------
    >>> difference_in_form((0.5, _TypeMark("builtins.bool"), True), (0.5, _TypeMark("int32"), 1))
    'True of type bool in place of 1 of type int32'
    >>> difference_in_form(("list(1)", 0.5), ("tuple(1)", 0.5))
    'a list in place of a tuple'
    """
    if form_of(first) == form_of(second):
        return ""
    pairs = zip(_with_forms(first), _with_forms(second), strict=False)
    differing = (pair for pair in pairs if pair[0].form != pair[1].form)
    return next((f"{one.words} in place of {other.words}" for one, other in differing), "")


class _Formed(NamedTuple):
    """The form of a value of an output, and both as a reader sees them."""

    form: str
    words: str


def _with_forms(output: tuple[Atom, ...]) -> Iterator[_Formed]:
    marks: list[str] = []
    for each in output:
        if isinstance(each, _TypeMark):
            marks.append(_words(each))
            continue
        container = _container((each,)) if isinstance(each, str) else ""
        value = f"{each:.6g}" if isinstance(each, float) else repr(each)
        form = ", ".join([container, *marks] if container else marks)
        if isinstance(each, str):
            form = form if container else f"{value} {form}".strip()
            yield _Formed(form, form)
        else:
            form = form or _form((each,))
            yield _Formed(form, f"{value} {form}")
        marks.clear()


def plain_output(atoms: Iterable[Atom]) -> Any:
    """Return an output as plain data, without its types and shapes: a value, or a list of them.

    Examples
    --------
    >>> plain_output((_TypeMark("int"), 1)), plain_output(("array(2,)", 0.5, 1.5))
    (1, [0.5, 1.5])
    """
    values = without_marks(atoms)
    kept = [each for each in values if not (isinstance(each, str) and _SHAPE.fullmatch(each))]
    plain = [each if isinstance(each, str | int | float) else repr(each) for each in kept]
    return plain[0] if len(plain) == 1 else plain


def _matched(output: Any, law: Mapping[Any, float], alone: Sequence[Any]) -> Any:
    """Return an output as the other law has it, if it has it but for rounding."""
    if output in law:
        return output
    return next((other for other in alone if same_atoms(output, other, ROUNDED)), output)


def without_rounding(pair: FinitePair) -> tuple[FinitePair, float]:
    """Set aside what rounding alone may make likelier on one input than on the other.

    Outputs whose probability is lost to underflow on both inputs, and those that one input never
    gives and the other one with less than 10⁻¹⁵.

    Returns
    -------
    pair : FinitePair
    aside : float
        The probability that is set aside, of either input.

    Examples
    --------
    >>> none = np.zeros(3)
    >>> laws = (FiniteLaw(np.array(mass), none) for mass in ([0.0, -740, -40], [0.0, -739, LOST]))
    >>> pair, aside = without_rounding(FinitePair(*laws))
    >>> pair.max_divergence(), aside < 1e-15
    (0.0, True)
    """
    masses = np.stack([pair.law.log_mass, pair.neighbour_law.log_mass])
    high, low = masses.max(axis=0), masses.min(axis=0)
    lost = (high < _UNDERFLOW) | ((low == LOST) & (high < _ROUNDING))
    if not lost.any():
        return pair, 0.0
    none = np.zeros(int(np.count_nonzero(~lost)))
    outcomes = tuple(each for each, gone in zip(pair.outcomes, lost, strict=False) if not gone)
    kept = FinitePair(*(FiniteLaw(row[~lost], none) for row in masses), outcomes=outcomes)
    return kept, max(float(np.exp(high[lost]).sum()), np.finfo(float).tiny)
