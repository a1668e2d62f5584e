"""Docstrings as they are written: |x| is an absolute value, and ``*shape`` is unpacking.

reStructuredText would read the first as a substitution and the second as the start of emphasis.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_origin

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LITERAL = re.compile(r"(``.*?``)")
_BARS = re.compile(r"\|(?=\S)([^|]*[^|\s])\|")
_STAR = re.compile(r"(?<=[\s(])\*(?=\w)(?![^*]*\w\*)")


def plain(line: str) -> str:
    """Escape a line's bars and single stars, but for those in literals and in doctests."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = _LITERAL.split(line)
    parts[::2] = [_STAR.sub(r"\\*", _BARS.sub(r"\\|\1\\|", part)) for part in parts[::2]]
    return "".join(parts)


def escape(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: Any) -> None:
    """Escape every line of a docstring."""
    lines[:] = map(plain, lines)


def skip(
    _app: Sphinx, _what: str, _name: str, value: Any, _skip: Any, _options: Any
) -> bool | None:
    """Leave out aliases of ``dict``, which numpydoc takes for the class and fails on."""
    return True if get_origin(value) is dict else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", escape, priority=400)  # before numpydoc's
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
