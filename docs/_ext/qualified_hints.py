"""Type hints link to what their module means by a name.

The package imports most types for checkers only, so that Sphinx sees bare names, and several
modules may define one of that name. The import statements of the hint's own module tell which.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.addnodes import desc_signature, pending_xref

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


@cache
def names_of(module: str) -> dict[str, str]:
    """Return the names that a module defines or imports from another, each with its full name."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None:
        return {}
    names = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {of.asname or of.name: f"{node.module}.{of.name}" for of in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = f"{module}.{node.name}"
    return names


def qualify(_app: Sphinx, doctree: nodes.document) -> None:
    """Give the references in signatures their full names."""
    for signature in doctree.findall(desc_signature):
        for reference in signature.findall(pending_xref):
            names = names_of(reference.get("py:module") or "")
            target = reference["reftarget"]
            reference["reftarget"] = names.get(target, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("doctree-read", qualify)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
