"""Whether the inputs of a given pair are ones that a claim speaks of."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._plain_data import is_tuple, shown
from dpcp_audit.errors import UsageError
from dpcp_audit.targets import Kind, Takes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit._types import FloatArray
    from dpcp_audit.options import Spelling
    from dpcp_audit.target_checks.pair_data import InputPair
    from dpcp_audit.targets import TargetSpec

_PARTS = {Takes.RECORDS: 2, Takes.ROWS: 3}
_ROUNDING = 1e-6
"""Of probabilities, such as float32 ones, and of their sums."""


def require_parts(pair: InputPair, kind: Kind, name: str) -> None:
    """Refuse inputs that have not the parts that the target is called with.

    Raises
    ------
    UsageError
        Naming the option.
    """
    parts = _PARTS.get(kind.takes)
    if parts is None:
        return
    for each in pair.ends:
        if not is_tuple(each) or len(each) != parts:
            said = ", ".join(kind.inputs)
            raise UsageError(f"{name} must hold two inputs of {kind.takes}, each ({said})")


def require_domain(pair: InputPair, target: TargetSpec, spell: Spelling) -> None:
    """Refuse a pair with an input outside what the target is said to be called with.

    Values lie in the domain or the bounds, scores in the bounds; probabilities sum to 1 and their
    labels are classes; the new rows, which are no one's data, are the same ones on both sides.

    Raises
    ------
    UsageError
        Naming the option.
    """
    try:
        said = _outside(pair, target, spell)
    except (TypeError, ValueError, LookupError):
        said = f"two inputs of {target.kind.takes}"
    if said:
        raise UsageError(f"{spell('pair')} must hold {said}")


def _outside(pair: InputPair, target: TargetSpec, spell: Spelling) -> str:
    """Return what the pair must hold and does not; "" where it does."""
    if target.kind is Kind.RANDOMIZER:
        return _no_value(pair, target.domain or 0)
    if target.kind.takes is Takes.RECORDS:
        classes = target.domain or max(np.asarray(each[0]).shape[-1] for each in pair.ends)
        found = (_no_records(each[0], each[1], classes) for each in pair.ends)
        return next(filter(None, found), "")
    if target.kind.takes is Takes.ROWS:
        same = np.array_equal(pair.value[2], pair.neighbour[2])
        return "" if same else "the same new rows on both sides, which are no one's data"
    low, high = target.bounds
    numbers = np.concatenate([part.ravel() for end in pair.ends for part in _numbers(end)])
    beyond = numbers[~((low <= numbers) & (numbers <= high) & np.isfinite(numbers))]
    what = "values" if target.kind.takes is Takes.VALUE else "scores"
    said = f"{what} within the {spell('bounds')} [{low:g}, {high:g}]"
    return f"{said}, got {beyond[0]:g}" if beyond.size else ""


def _no_value(pair: InputPair, domain: int) -> str:
    for each in pair.ends:
        said = f"values of the domain, integers in 0 ... {domain - 1}, got {shown(each, 40)}"
        try:
            if not 0 <= operator.index(each) < domain:
                return said
        except TypeError:
            return said
    return ""


def _no_records(probabilities: Any, labels: Any, classes: int) -> str:
    """Return what records must be and are not; "" where they are, or are none."""
    table, chosen = (np.asarray(each, dtype=np.float64) for each in (probabilities, labels))
    if not table.size:
        return ""
    if table.ndim != 2 or table.shape[1] != classes:
        return f"probabilities of {classes} classes, got an array of shape {table.shape}"
    inside = (table >= -_ROUNDING) & (table <= 1 + _ROUNDING)
    bad = ~inside.all(axis=1) | ~(np.abs(table.sum(axis=1) - 1) <= _ROUNDING)
    if bad.any():
        return f"probabilities in [0, 1] with rows that sum to 1, got {table[bad][0].tolist()}"
    known = (chosen == np.floor(chosen)) & (chosen >= 0) & (chosen < classes)
    if not known.all():
        return f"labels that are integers in 0 ... {classes - 1}, got {chosen[~known][0]:g}"
    return ""


def _numbers(value: Any) -> Iterator[FloatArray]:
    """Yield the numbers of an input: of each of its parts."""
    for part in value if is_tuple(value) else (value,):
        yield np.asarray(part, dtype=np.float64)
