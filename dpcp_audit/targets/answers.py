"""Answers of a target: its outputs as numbers, its prints, and its errors in one line each."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

import hashlib
import importlib
import numbers
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.targets.kinds import Gives, Kind
from dpcp_audit.words.arrays import is_array, is_masked
from dpcp_audit.words.plain import is_sequence
from dpcp_audit.words.whole_files import HINT

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from types import ModuleType

    from dpcp_audit.words.arrays import FloatArray, IntArray


_LONGEST = 200


class TargetError(ValueError):
    """A target cannot be used: a line says what it did and in which call, a hint what to do."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(f"{message}{HINT}{hint}" if hint else message)


class TargetRaisedError(TargetError):
    """A target gave no answer on one input: it raised, reported an error, or died.

    Other inputs may be to its liking: code that refuses fewer than ten scores, say.
    """


NOT_PROVED = "not proved for every input"
"""The beginning of the message of ``NotProvedError``."""


class NotProvedError(TargetError):
    """A claim is not proved from the target's source, where nothing else may decide it."""


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


class AnswerError(ValueError):
    """An output of the wrong type or shape; the caller adds the target and the call."""


class Coded(float):
    """A number that stands for a value which is none, such as a text: equal for equal values."""


_VALUES = frozenset({Kind.VECTOR, Kind.LOCAL, Kind.FEDERATED})
"""The kinds whose answers may be texts, bytes, members of an enumeration, or tuples of those."""
_MANY = 100
"""Answers of which at least two in three must be alike another one, if they are compared whole."""


def coded(answer: Any) -> Coded | None:
    """Return the number that stands for a value; None for one that is compared as numbers.

    The audit tells such values apart, and knows no order or distance among them. Coding is
    post-processing, so it adds no loss.

    Examples
    --------
    >>> coded("yes") == coded("yes"), coded("yes") == coded(b"yes"), coded(0.5) is None
    (True, False, True)
    """
    text = _written(answer)
    if text is None or isinstance(answer, int | float):
        return None
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Coded(int.from_bytes(digest, "big") >> 12)


def _written(value: Any) -> str | None:
    """Return a text that is the same for equal values; None where there is no text in them."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str | bytes):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":
        return _written(tuple(value.ravel().tolist()))
    if not isinstance(value, tuple | list | frozenset | set):
        return None
    parts = [(each, _written(each)) for each in cast("Iterable[Any]", value)]
    if all(text is None for _, text in parts):
        return None
    texts = [repr(each) if text is None else text for each, text in parts]
    ordered = sorted(texts) if isinstance(value, frozenset | set) else texts
    return f"({', '.join(ordered)})"


def one(answer: Any, *, kind: Kind) -> float | FloatArray:
    """Return an answer as the number that it is, or as an array where its kind returns those.

    Texts and the like are values of their own where the kind returns arrays (``coded``).

    Returns
    -------
    float, or ndarray of shape (d,)

    Raises
    ------
    AnswerError
    """
    if type(answer) is not float and kind in _VALUES and (code := coded(answer)) is not None:
        return code
    if kind.gives is not Gives.VECTOR or is_number(answer):
        return number(answer, kind=kind)
    return np.array(_plain_array(answer, "an array of numbers"), dtype=np.float64).ravel()


def is_number(answer: Any) -> bool:
    """Tell whether an answer is one number, or nothing that could be an array of them."""
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
            "of one length, so fill up, or return a summary"
        )
    array = np.array(found, dtype=np.float64)
    if len(found) >= _MANY and any(type(each) is Coded for each in found):
        _require_repeated(array)
    return array.reshape(len(found)) if lengths == {1} else array


def _require_repeated(codes: FloatArray) -> None:
    """Refuse values of which hardly any comes twice: nothing could be seen of their law."""
    distinct = len(np.unique(codes, axis=0))
    if distinct > len(codes) / 3:
        raise AnswerError(
            f"returned {distinct} different texts or tuples in {len(codes)} calls, which are "
            "compared as wholes: return the numbers in them"
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


_CHARACTERS = 2000
_SILENCE = "\n(more that the code under audit prints is not shown)\n"


@dataclass(slots=True)
class Talk:
    """The number of characters that the code may still print."""

    left: int = _CHARACTERS

    @contextmanager
    def limited(self) -> Generator[None]:
        """Let pass what is printed to stdout and stderr until the characters are used up.

        Afterwards both are as they were, whatever the code put in their place.
        """
        out, err = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _limit(self, out), _limit(self, err)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = out, err


def _limit(talk: Talk, stream: TextIO | None) -> TextIO:
    return cast("TextIO", None if stream is None else _Limited(talk, stream))


class _Limited:
    """A text stream that falls silent; all but its text is the stream's own."""

    def __init__(self, talk: Talk, stream: TextIO) -> None:
        self._talk, self._stream = talk, stream

    def write(self, text: str) -> int:
        shown = text[: self._talk.left]
        if shown:
            self._talk.left -= len(shown)
            self._stream.write(shown if self._talk.left else shown + _SILENCE)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
