"""The shape of a results document, checked before anything is read from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpcp_audit.audits.evidence import EvidenceKind, FigureKind, Verdict

_Test = tuple[str, Callable[[Any], bool]]


class SchemaError(ValueError):
    """A document that is not of the results' shape; the message names the place."""


def check_document(document: Mapping[str, Any]) -> None:
    """Raise ``SchemaError`` where a key that this tool reads is missing or of another kind.

    Keys that it does not know are let pass: a later minor version may add some.
    """
    _check(document, _DOCUMENT, "")
    _check(document["tool"], {"name": _TEXT, "version": _TEXT}, "tool.")
    _check(document["summary"], dict.fromkeys([*Verdict, "contradictions"], _COUNT), "summary.")
    seen: set[str] = set()
    for i, finding in enumerate(document["findings"]):
        where = f"findings[{i}]"
        _require(finding, where, _OBJECT)
        _check_finding(finding, f"{where}.")
        if finding["id"] in seen:
            raise SchemaError(f"{where}.id must be unique, got {finding['id']!r} again")
        seen.add(finding["id"])


def _check_finding(finding: dict[str, Any], where: str) -> None:
    _check(finding, _FINDING, where)
    _check(finding["source"], {"paper": _TEXT, "section": _TEXT}, f"{where}source.")
    if finding["evidence"] is not None:
        _check(finding["evidence"], _EVIDENCE, f"{where}evidence.")
    for i, figure in enumerate(finding["figures"]):
        place = f"{where}figures[{i}]"
        _require(figure, place, _OBJECT)
        _check(figure, _FIGURE, f"{place}.")
        extra = figure["kind"] == FigureKind.HISTOGRAM
        for j, series in enumerate(figure["series"]):
            inner = f"{place}.series[{j}]"
            _require(series, inner, _OBJECT)
            _check(series, {"name": _TEXT, "x": _NUMBERS, "y": _NUMBERS}, f"{inner}.")
            if len(series["x"]) != len(series["y"]) + extra:
                raise SchemaError(f"{inner}.x and .y must match in length")


def _check(value: Mapping[str, Any], fields: Mapping[str, _Test], where: str) -> None:
    for key, test in fields.items():
        if key not in value:
            raise SchemaError(f"{where}{key} is missing")
        _require(value[key], f"{where}{key}", test)


def _require(value: object, place: str, test: _Test) -> None:
    words, holds = test
    if not holds(value):
        text = repr(value)
        raise SchemaError(
            f"{place} must be {words}, got {text if len(text) <= 60 else text[:57] + '...'}"
        )


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) < 2**1023  # a double
    return isinstance(value, float) or value in ("inf", "-inf", "nan")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _maybe(test: _Test) -> _Test:
    words, holds = test
    return f"{words} or null", lambda value: value is None or holds(value)


def _one_of(members: type[Verdict | EvidenceKind | FigureKind]) -> _Test:
    names = [str(member) for member in members]
    return f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names


_TEXT: _Test = ("text", lambda value: isinstance(value, str))
_FLAG: _Test = ("true or false", lambda value: isinstance(value, bool))
_NUMBER: _Test = ("a number", _is_number)
_COUNT: _Test = ("a whole number >= 0", _is_count)
_LIST: _Test = ("a list", lambda value: isinstance(value, list))
_OBJECT: _Test = ("an object", lambda value: isinstance(value, dict))
_NUMBERS: _Test = (
    "a list of numbers",
    lambda value: isinstance(value, list) and all(map(_is_number, value)),
)
_MARKS: _Test = (
    "an object of numbers",
    lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
)
_DOCUMENT: Mapping[str, _Test] = {
    "tool": _OBJECT,
    "python": _TEXT,
    "libraries": _OBJECT,
    "suite": _TEXT,
    "pools": _LIST,
    "seed": _COUNT,
    "profile": _TEXT,
    "false_alarm": _NUMBER,
    "strict": _FLAG,
    "complete": _FLAG,
    "wall_seconds": _NUMBER,
    "summary": _OBJECT,
    "findings": _LIST,
}
_FINDING: Mapping[str, _Test] = {
    "id": _TEXT,
    "statement": _TEXT,
    "formula": _TEXT,
    "source": _OBJECT,
    "expected": _maybe(_one_of(Verdict)),
    "verdict": _one_of(Verdict),
    "contradicts": _FLAG,
    "evidence": _maybe(_OBJECT),
    "witness": _OBJECT,
    "note": _TEXT,
    "figures": _LIST,
    "replay": _TEXT,
    "error": _TEXT,
    "seconds": _NUMBER,
}
_EVIDENCE: Mapping[str, _Test] = {
    "kind": _one_of(EvidenceKind),
    "quantity": _TEXT,
    "value": _NUMBER,
    "lower": _NUMBER,
    "upper": _NUMBER,
    "claimed": _maybe(_NUMBER),
    "confidence": _NUMBER,
    "n_samples": _maybe(_COUNT),
}
_FIGURE: Mapping[str, _Test] = {
    "kind": _one_of(FigureKind),
    "title": _TEXT,
    "x_label": _TEXT,
    "y_label": _TEXT,
    "series": _LIST,
    "marks": _MARKS,
    "description": _TEXT,
    "log_x": _FLAG,
    "log_y": _FLAG,
}
