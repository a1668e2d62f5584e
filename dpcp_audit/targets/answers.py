"""Answers of a target: outputs as numbers, errors, and outputs that say nothing.

A target that seeds itself gives the same "random" numbers at every call, one that always
returns the same value gives nothing to compare, and one that draws from a global generator
cannot be run again. An audit of any of them would find nothing to object to, for the wrong
reason; so it raises ``DegenerateTargetError`` unless the target's randomness is declared.

Every sampled test rests on that. Code whose every single output keeps its promise, but which
reuses one draw for several outputs in a row, would be refuted far more often than stated. The
probe has a millionth of a check's significance, which is taken off the significance of its tests:
its error is part of the run's false-alarm probability, and independent draws are as good as never
refused. A draw that is reused shows at far smaller p-values.

What it cannot see: outputs of one batch that depend on those of another, and the dependence
between outputs of a target whose every call is a process of its own.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

import hashlib
import importlib
import numbers
import random
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from dpcp_audit.targets.kinds import Gives, Kind
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import HINT
from dpcp_audit.words.validate import is_array, is_masked
from dpcp_audit.words.values import is_sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from types import ModuleType

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import FloatArray, IntArray


_PROBE, _CONFIRM, _CONFIRMATIONS = 64, 256, 4

OR_NONE = "declare that it draws none (--randomness none; in Python randomness='none')"
"""What code may be told that returns the same in every call."""


class Randomness(StrEnum):
    """The declared source of a target's random numbers."""

    GENERATOR = "generator"
    """From the generator that it is handed, and from nowhere else: its runs repeat."""
    EXTERNAL = "external"
    """Also from elsewhere: a global generator or the system's entropy. Runs do not repeat."""
    NONE = "none"
    """Nowhere: the same input always gives the same output."""


class DegenerateTargetError(ValueError):
    """The target's samples say nothing about its law, or are no samples at all."""


class ConstantOutputsError(DegenerateTargetError):
    """All outputs are one and the same: of what, and what to do about it where nothing seeds it."""

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(found, advice)
        self.found, self.advice = found, advice

    def __str__(self) -> str:
        """Return the line that is told."""
        return f"{self.found}, which says nothing about its privacy{HINT}{self.advice}"

    def of_seed(self, place: str) -> DegenerateTargetError:
        """Return the error of code whose own seed keeps its outputs the same."""
        return DegenerateTargetError(
            f"{self.found}, since it seeds itself by {place}{HINT}draw from the rng or seed "
            "that it is handed"
        )


class OutOfTimeError(DegenerateTargetError):
    """A limit of time is over, which ends an audit: what it has not refuted, it leaves open."""


def draw(
    sample: Callable[..., Any], value: object, size: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return ``size`` outputs of a target on one input, as numbers.

    Infinite outputs are outputs: a conformal threshold may be +∞.

    Returns
    -------
    ndarray, shape (size,) or (size, d)

    Raises
    ------
    DegenerateTargetError
        If the target returns NaN, another shape or no numbers.
    """
    return _outputs(sample(value, size, rng=rng), size)


def draw_each(
    sample: Callable[..., Any], values: Sequence[object], *, rng: np.random.Generator
) -> FloatArray:
    """Return one output of a target on each of many inputs, as numbers.

    A target with a method ``each`` is asked for them at once.

    Returns
    -------
    ndarray, shape (len(values),) or (len(values), d)

    Raises
    ------
    DegenerateTargetError
        If the target returns NaN, another shape or no numbers.
    """
    each = getattr(sample, "each", None)
    if each is None:
        drawn = [draw(sample, value, 1, rng=rng) for value in values]
        if len({one.shape for one in drawn}) > 1:
            raise DegenerateTargetError("sample must return as many numbers on each input")
        return np.concatenate(drawn)
    return _outputs(each(values, rng=rng), len(values))


def _outputs(drawn: Any, size: int) -> FloatArray:
    try:
        outputs = np.asarray(drawn, dtype=np.float64)
    except (TypeError, ValueError):
        raise DegenerateTargetError(
            f"sample must return an array of numbers, got {type(drawn).__name__}"
        ) from None
    if outputs.ndim not in (1, 2) or len(outputs) != size or outputs.size == 0:
        raise DegenerateTargetError(
            f"sample must return shape ({size},) or ({size}, d), got shape {outputs.shape}"
        )
    if np.isnan(outputs).any():
        raise DegenerateTargetError("sample must return numbers, got NaN")
    return outputs


def probe(
    sample: Callable[..., Any],
    value: object,
    *,
    randomness: Randomness = Randomness.GENERATOR,
    rng: np.random.Generator | int | None = None,
    name: str = "",
) -> None:
    """Draw a few outputs on one input, and test them against the declared randomness.

    The same generator must give the same outputs, unless EXTERNAL is declared; other
    generators must give others, unless NONE is. A sound target is taken for one that seeds
    itself with probability at most 1e-8: four fresh generators must agree in all of 256
    outputs that are not all equal, and a rare output agrees in one place with probability
    at most 0.02/256³. NumPy's and ``random``'s global states are left as they were found.
    An error calls the target ``name``, or by a name of its own.

    Raises
    ------
    DegenerateTargetError
        If the target is degenerate; the message says how, and what to do.
    """
    _validate.choice(Randomness, randomness=randomness)
    seeds = _validate.generator(rng).integers(2**63, size=2 + _CONFIRMATIONS)
    kept, name = _global_states(), name or name_of(sample)
    try:
        first = draw(sample, value, _PROBE, rng=np.random.default_rng(seeds[0]))
        between = _global_states()
        again = draw(sample, value, _PROBE, rng=np.random.default_rng(seeds[0]))
        moved = _moved(between, _global_states())
        if randomness is not Randomness.EXTERNAL:
            repeats = np.array_equal(first, again)
            _require_repeatable(name, repeats=repeats, moved=moved)
        other = draw(sample, value, _PROBE, rng=np.random.default_rng(seeds[1]))
        if randomness is Randomness.NONE:
            _require_deterministic(name, first, other)
        elif np.array_equal(first, other) and not _constant(first):
            _require_fresh(name, sample, value, seeds[2:])
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002  (this restores what the target may move)
        random.setstate(kept[1])


def name_of(sample: object) -> str:
    """Return the name of a target: of the function that was given, also in a wrapper of it."""
    while hasattr(sample, "target"):
        sample = getattr(sample, "target")  # noqa: B009  (a wrapper of any kind)
    return str(getattr(sample, "name", "") or getattr(sample, "__name__", "") or "sample")


def _require_repeatable(name: str, *, repeats: bool, moved: Sequence[str]) -> None:
    if moved:
        raise DegenerateTargetError(
            f"{name} draws from the global state of {' and '.join(moved)}: draw from the rng it "
            "is handed, or declare Randomness.EXTERNAL (randomness global)"
        )
    if not repeats:
        raise DegenerateTargetError(
            f"{name} gives other outputs when it is handed the same rng again, so it draws from "
            "elsewhere: draw from rng alone, or declare Randomness.EXTERNAL (randomness global)"
        )


def _require_deterministic(name: str, first: FloatArray, other: FloatArray) -> None:
    if not _constant(np.concatenate([first, other])):
        raise DegenerateTargetError(
            f"{name} is declared to use no randomness and returns different values on "
            "one input: declare where its randomness comes from, or leave randomness out"
        )


def _require_fresh(name: str, sample: Callable[..., Any], value: object, seeds: IntArray) -> None:
    runs = [draw(sample, value, _CONFIRM, rng=np.random.default_rng(seed)) for seed in seeds]
    if all(np.array_equal(runs[0], run) for run in runs) and not _constant(runs[0]):
        raise DegenerateTargetError(
            f"{name} seeds itself: different generators give the same outputs, so its draws are "
            "not random; let it draw from the rng it is handed"
        )


def _constant(outputs: FloatArray) -> bool:
    return bool((outputs == outputs[:1]).all())


def _global_states() -> tuple[Any, Any]:
    return np.random.get_state(), random.getstate()  # noqa: NPY002  (what the target may draw from)


def _moved(before: tuple[Any, Any], after: tuple[Any, Any]) -> list[str]:
    """Return the global generators whose state differs after the same call as before.

    A target that seeds them from its own rng leaves them where it did before.
    """
    same = all(np.array_equal(x, y) for x, y in zip(before[0], after[0], strict=True))
    return [
        name
        for name, moved in (("numpy.random", not same), ("random", before[1] != after[1]))
        if moved
    ]


PROBED = 1e-6
"""The share of a check's significance that the probe of independence has."""


def unprobed(significance: float) -> float:
    """Return the significance that the probe leaves to a check's tests."""
    _validate.open_unit(significance=significance)
    return (1 - PROBED) * significance


def require_independent(*batches: ArrayLike, significance: float) -> None:
    """Refuse outputs that depend on each other in the order in which they came.

    Outputs that are independent draws of one law are refused with probability at most 1e-6 of
    ``significance``, whatever the law.

    Parameters
    ----------
    *batches : array_like, shape (size,) or (size, d)
        Outputs of one input each, in order.
    significance : float
        The significance of the whole check.

    Raises
    ------
    DegenerateTargetError
        If the outputs depend on each other; the message has the lag and the statistic.
    """
    from dpcp_audit.stats.samples import serial_dependence  # noqa: PLC0415  (slow to import)

    for batch in batches:
        found = serial_dependence(batch)
        if found is not None and found.p_value <= PROBED * significance / len(batches):
            raise DegenerateTargetError(
                f"sample's outputs depend on each other: {found}. Every output must be a draw of "
                "its own: draw anew for each, or let one call return one output"
            )


class Drawable(Protocol):
    """A source of outputs that declares where its randomness comes from."""

    @property
    def randomness(self) -> Randomness:
        """The source of its random numbers."""
        ...

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleDraws:
    """Asks for outputs one by one.

    Code that seeds itself returns the same batch each time, and so the same output each time
    that it is asked for one.

    Parameters
    ----------
    target : Drawable
    """

    target: Drawable

    @property
    def randomness(self) -> Randomness:
        """The target's."""
        return self.target.randomness

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input, each of a call of its own."""
        return np.concatenate([self.target(value, 1, rng=rng) for _ in range(size)])


_LONGEST = 200


class TargetError(ValueError):
    """A target cannot be used: a line says what it did and in which call, a hint what to do."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(f"{message}{HINT}{hint}" if hint else message)
        self.hint = hint


class TargetRaisedError(TargetError):
    """A target gave no answer on one input: it raised, reported an error, or died.

    Other inputs may be to its liking: code that refuses fewer than ten scores, say.
    """


class TargetUnusableError(TargetError, DegenerateTargetError):
    """A target gave an answer that is none, or none in time: no input will make up for that."""


def one_line(text: object, *, longest: int = _LONGEST) -> str:
    """Return a text on one line, cut in the middle where it is too long.

    Control characters, which could steer a terminal, are spelled out. An error's hint follows after
    a semicolon.
    """
    words = " ".join(str(text).replace(HINT, "; ").split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    return line if len(line) <= longest else f"{line[: longest - 44]} ... {line[-39:]}"


class KeptOutputError(TargetUnusableError):
    """A target keeps what it drew on an input: one output, however often it is called."""

    def __init__(self) -> None:
        super().__init__(
            "the target keeps its output on an input and returns it again, without a draw: calls "
            "on one input are one output, which says nothing about its privacy",
            hint="check it without its cache: the function inside, such as f.__wrapped__",
        )


class AnswerError(ValueError):
    """An output of the wrong type or shape; the caller adds the target and the call."""


class _Coded(float):
    """A number that stands for a value which is none, such as a text: equal for equal values."""


_VALUES = frozenset({Kind.VECTOR, Kind.LOCAL, Kind.FEDERATED, Kind.RANDOMIZER})
"""The kinds whose answers may be texts, None, sets, or any other value that equals its likes."""
_MANY = 100
"""Answers of which at least two in three must be alike another one, if they are compared whole."""
_TEXTS: dict[float, str] = {}
"""Values that were coded in this process, by their codes: findings name them."""
_LONGEST_TOLD = 40
_MOST_TOLD = 10_000
_PLAIN = frozenset({float, int, bool})
"""The types of most numbers, which need no further look."""
_DIGITS = 16
"""Characters of a text that is read as a number, at most: so many digits a float tells apart."""


def coded(answer: Any) -> _Coded | None:
    """Return the number that stands for a value; None for one that is compared as numbers.

    The audit tells such values apart, and knows no order or distance among them. Coding is
    post-processing, so it adds no loss.

    Examples
    --------
    >>> coded("yes") == coded("yes"), coded("yes") == coded(b"yes"), coded(0.5) is None
    (True, False, True)
    >>> coded(frozenset({1, 2})) == coded({2, 1}), coded(frozenset()) == coded(None)
    (True, False)
    """
    text = _written(answer)
    if text is None or isinstance(answer, int | float):
        return None
    return _code(text)


def _code(text: str) -> _Coded:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    code = _Coded(int.from_bytes(digest, "big") >> 12)
    if len(text) <= _LONGEST_TOLD and len(_TEXTS) < _MOST_TOLD:
        _TEXTS[code] = text
    return code


def told(low: float, high: float) -> str:
    """Return the value whose code alone is in (low, high], as Python writes it; "" if unknown.

    Examples
    --------
    >>> code = coded(None)
    >>> told(code - 0.5, code), told(0.0, 1.0)
    ('None', '')
    """
    return next((text for code, text in _TEXTS.items() if high - 1 < low < code <= high), "")


def _written(value: Any) -> str | None:
    """Return a text that is the same for equal values; None for numbers and arrays of them."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.ndarray):
        return _written(tuple(value.ravel().tolist())) if value.dtype.kind in "US" else None
    if isinstance(value, dict):
        return f"{{{', '.join(map(_part, value.items()))}}}"
    if isinstance(value, frozenset | set):
        return f"set({_members(value)})"
    if isinstance(value, tuple | list):
        parts = cast("Sequence[Any]", value)
        plain = all(type(each) in _PLAIN or _written(each) is None for each in parts)
        numeric = bool(parts) and plain
        return None if numeric else f"({', '.join(map(_part, parts))})"
    value = value.item() if isinstance(value, np.str_ | np.bytes_) else value
    return repr(value) if value is None or _equals_its_likes(value) else None


def _members(values: Iterable[Any]) -> str:
    """Return the texts of members in no order, sorted."""
    return ", ".join(sorted(map(_part, values)))


def _part(value: Any) -> str:
    """Return the text of a member: equal numbers have one, whatever their type."""
    if isinstance(value, numbers.Real):
        with suppress(OverflowError):
            found = float(value)
            if abs(found) < 2**53:
                return repr(found)
    return _written(value) or repr(value)


def _equals_its_likes(value: Any) -> bool:
    """Return True if a value, which is no number, is compared by what it holds."""
    numeric = any(hasattr(value, name) for name in ("__float__", "__array__", "detach"))
    own = any("__eq__" in vars(each) for each in value.__class__.__mro__[:-1])
    return own and not numeric and value.__hash__ is not None


def one(answer: Any, *, kind: Kind) -> float | FloatArray:
    """Return an answer as the number that it is, or as an array where its kind returns those.

    Texts and the like are values of their own where the kind returns arrays (``coded``). A text of
    a number and a dict of numbers are arrays: what stands for a text, or for the keys as they
    stand, and the numbers in the order of the sorted keys.

    Returns
    -------
    float, or ndarray of shape (d,)

    Raises
    ------
    AnswerError
    """
    if type(answer) is not float and kind in _VALUES:
        read = _read(answer)
        if read is not None:
            return read
    if is_number(answer) or (kind.gives is not Gives.VECTOR and kind not in _VALUES):
        return number(answer, kind=kind)
    return np.array(_plain_array(answer, "an array of numbers"), dtype=np.float64).ravel()


def _are_numbers(values: Collection[Any]) -> bool:
    return len(values) > 0 and all(isinstance(each, numbers.Real) for each in values)


def _read(answer: Any) -> float | FloatArray | None:
    """Return a value that is no number as one or more; None for what is compared as numbers."""
    if isinstance(answer, str | bytes) and len(answer) <= _DIGITS:
        with suppress(ValueError):
            found = float(answer)
            if np.isfinite(found):  # beside what tells it from the number itself
                return np.array([_code("text"), found], dtype=np.float64)
    entries: Any = answer
    if isinstance(answer, tuple | list) and any(each is None for each in entries):
        entries = [
            -np.inf if each is None else each for each in entries
        ]  # None: below every number
        if _are_numbers(entries):
            return np.array(entries, dtype=np.float64)
    if isinstance(answer, dict) and _are_numbers(entries.values()):
        in_order = _code(", ".join(map(_part, entries)))
        values = [float(entries[key]) for key in sorted(entries, key=_part)]
        return np.array([in_order, *values], dtype=np.float64)
    return coded(answer)


def require_one_form(answer: Any, forms: set[str], *, kind: Kind) -> None:
    """Add the type of an answer that holds several numbers to those of other calls.

    Raises
    ------
    DegenerateTargetError
        If there is another one: a list in place of a tuple may tell one input from another.
    """
    if kind in _VALUES and isinstance(answer, list | tuple | np.ndarray):
        forms.add(type(answer).__name__)
        if len(forms) > 1:
            one_form, other = sorted(forms)
            raise DegenerateTargetError(
                f"the function returned a {one_form} in one call and a {other} in another, which "
                f"may tell the inputs apart{HINT}return one type: np.array([...])"
            )


def is_number(answer: Any) -> bool:
    """Return True if an answer is one number, or nothing that could be an array of them."""
    return not hasattr(answer, "__len__") or isinstance(answer, str) or np.ndim(answer) == 0


def stacked(found: Sequence[float | FloatArray]) -> FloatArray:
    """Return answers as an array of shape (size,), or (size, d) of arrays of more than one number.

    Raises
    ------
    AnswerError
        If they are not equally long.
    """
    if all(type(each) is float for each in found):
        return np.array(found)
    lengths = {np.size(each) for each in found}
    if len(lengths) > 1:
        few, many = min(lengths), max(lengths)
        raise AnswerError(
            f"returned {few} numbers in one call and {many} in another: an audit compares arrays "
            "of one length (a text of a number counts as two), so fill up, or return a summary"
        )
    array = np.array(found, dtype=np.float64)
    if len(found) >= _MANY and any(type(each) is _Coded for each in found):
        _require_repeated(array)
    return array.reshape(len(found)) if lengths == {1} else array


def _require_repeated(codes: FloatArray) -> None:
    """Refuse values of which hardly any comes twice: nothing could be seen of their law."""
    distinct = len(np.unique(codes, axis=0))
    if distinct > len(codes) / 3:
        raise AnswerError(
            f"returned {distinct} different texts or tuples in {len(codes)} calls, which are "
            "compared as wholes: return the numbers in them, as a tuple"
        )


def number(answer: Any, *, kind: Kind) -> float:
    """Return an answer as a number; arrays and tensors of no dimensions are numbers.

    Raises
    ------
    AnswerError
    """
    if type(answer) is float:
        return answer
    _refuse_masked(answer)
    if not isinstance(answer, type) and getattr(answer, "ndim", None) == 0:
        answer = answer.item()
    truth = isinstance(answer, bool) and kind is not Kind.RANDOMIZER
    if truth or not isinstance(answer, numbers.Real | Decimal):
        raise AnswerError(f"returned {_what(answer)}, not a number{_hint(answer)}")
    try:
        return float(answer)
    except OverflowError:
        raise AnswerError("returned a number too large for float64") from None


def numbers_of(answer: Any, size: int, *, kind: Kind) -> FloatArray:
    """Return an answer of ``size`` numbers as an array.

    Raises
    ------
    AnswerError
    """
    array = _plain_array(answer, f"{size} numbers", truth=kind.gives is not Gives.NUMBER)
    if kind.gives is Gives.VECTOR and array.ndim > 1 and len(array) == size and array.size:
        return stacked(list(array.reshape(size, -1).astype(np.float64)))
    if array.shape != (size,):
        was = f"an array of shape {array.shape}" if array.ndim else "one number"
        hint = "" if array.ndim else ": is it vectorised?"
        raise AnswerError(f"returned {was} where the shape must be ({size},){hint}")
    return array.astype(np.float64)


def _plain_array(answer: Any, wanted: str, *, truth: bool = True) -> np.ndarray:
    """Return an answer as an array of numbers; truth values are 0 and 1 where ``truth``."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    _refuse_masked(answer)
    try:
        array = np.asarray(answer)
        plain = array.dtype.kind in ("iufb" if truth else "iuf") and array.size > 0
    except (TypeError, ValueError):
        plain, array = False, np.empty(0)
    if not plain:
        raise AnswerError(f"returned {_what(answer)}, not {wanted}")
    return array


def _refuse_masked(answer: Any) -> None:
    if is_masked(answer):
        raise AnswerError("returned masked numbers: fill them, or raise an error")


def require_numbers(outputs: FloatArray) -> None:
    """Refuse NaN; infinite thresholds are thresholds.

    Raises
    ------
    AnswerError
    """
    missing = np.isnan(outputs.reshape(len(outputs), -1)).any(axis=1)
    if missing.any():
        raise AnswerError(
            f"returned NaN{_place(int(missing.argmax()), len(outputs))}: return a number, or "
            "raise an error on inputs that have no answer"
        )


def reports_of(outputs: FloatArray, domain: int) -> IntArray:
    """Return a randomizer's outputs as integers in 0..K-1.

    Raises
    ------
    AnswerError
    """
    if outputs.ndim > 1:
        raise AnswerError("returned several numbers, not a report")
    with np.errstate(invalid="ignore"):
        wrong = ~((outputs >= 0) & (outputs < domain) & (outputs == np.floor(outputs)))
    if wrong.any():
        first = int(wrong.argmax())
        raise AnswerError(
            f"returned {outputs[first]:.6g}{_place(first, len(outputs))}, and a report must be an "
            f"integer in 0..{domain - 1} (domain {domain})"
        )
    return outputs.astype(np.int64)


def _place(index: int, size: int) -> str:
    return f" in draw {index + 1} of {size}" if size > 1 else ""


def _what(answer: Any) -> str:
    name = type(answer).__name__
    if answer is None or isinstance(answer, bool):
        return str(answer)
    if is_array(answer):
        return f"an array of shape {answer.shape} and type {answer.dtype}"
    if is_sequence(answer):
        return f"a {name} of {len(answer)}"
    if isinstance(answer, complex):
        return f"the complex number {answer}"
    if isinstance(answer, str):
        return f"the text {one_line(answer, longest=60)!r}"
    shape = getattr(answer, "shape", None)
    return f"a {name}" + (f" of shape {tuple(shape)}" if shape is not None else "")


def _hint(answer: Any) -> str:
    if answer is None:
        return ": does it end in a return?"
    if isinstance(answer, tuple):
        return ": return the one that is to be audited"
    if isinstance(answer, list):
        return ": return one, or say kind vector"
    if isinstance(answer, str | bytes):
        return (
            ": texts are outputs of the kinds randomizer, vector, local and federated, so name one "
            "of these as its kind"
        )
    shape: Sequence[int] | None = getattr(answer, "shape", None)
    if shape is not None and len(shape):
        return (
            ": if it returns many outputs at once it is vectorised, and takes 'size'; if that is "
            "one output its kind is vector"
        )
    return ""


class DataForm(StrEnum):
    """The type in which data are passed to the target."""

    ARRAY = "array"
    """NumPy arrays."""
    LIST = "list"
    """Lists of numbers, of lists for tables."""
    FRAME = "frame"
    """Series and frames of pandas."""
    TENSOR = "tensor"
    """Tensors of PyTorch."""

    @property
    def shown(self) -> str:
        """A hint for the error message when a call with this type raised."""
        return _SHOWN[self]


_SHOWN = {
    DataForm.ARRAY: "",
    DataForm.LIST: ", given as lists",
    DataForm.FRAME: ", given as a Series, or as a DataFrame with columns 0, 1, ... of a table",
    DataForm.TENSOR: ", given as tensors of double precision",
}


def handed_over(x: Any, form: DataForm) -> Any:
    """Return a fresh copy of an input in a form; several arrays as a list of such.

    Raises
    ------
    TargetError
        If the form's package is not installed.
    """
    if isinstance(x, tuple):
        return [handed_over(each, form) for each in cast("Sequence[Any]", x)]
    if form is DataForm.TENSOR:
        torch = _package("torch", form)
        return torch.as_tensor(x.copy() if is_array(x) else x)
    if not is_array(x):
        return x
    if form is DataForm.FRAME:
        pandas = _package("pandas", form)
        return pandas.Series(x.copy()) if x.ndim == 1 else pandas.DataFrame(x.copy())
    return x.tolist() if form is DataForm.LIST else x.copy()


def _package(name: str, form: DataForm) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TargetError(f"data as a {form} need {name}: pip install {name}") from None
