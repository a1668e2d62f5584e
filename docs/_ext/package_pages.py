"""A page of the Python reference for each package, written by sphinx-apidoc before the build."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.ext.apidoc import main

import dpcp_audit

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def write_pages(app: Sphinx) -> None:
    """Write ``reference/api/*.rst``; files that would not change are left alone."""
    package = Path(dpcp_audit.__file__).parent
    left_out = [*package.glob("_[!_]*.py"), package / "__main__.py"]
    pages = ("--output-dir", str(app.srcdir / "reference" / "api"), "--no-toc", "--remove-old")
    templates = ("--templatedir", str(app.srcdir / "_templates"))
    with contextlib.redirect_stdout(io.StringIO()):  # it names every file
        main([*pages, *templates, str(package), *map(str, left_out)])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
