"""What a target returned, as numbers; anything else is refused by name."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._plain_data import is_sequence
from dpcp_audit._types import is_array, is_masked
from dpcp_audit.targets.kinds import Gives, Kind
from dpcp_audit.targets.target_errors import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit._types import FloatArray, IntArray


class AnswerError(ValueError):
    """What was returned, and what should have been; the caller adds the target and the call."""


def one(answer: Any, *, kind: Kind) -> float | FloatArray:
    """Return an answer as the number that it is, or as an array where its kind returns those.

    Returns
    -------
    float, or ndarray of shape (d,)

    Raises
    ------
    AnswerError
    """
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
    return array.reshape(len(found)) if lengths == {1} else array


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
