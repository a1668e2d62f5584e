"""Links from a page to what is no part of the site.

The pages are read in the repository too, where a link to the README or to a folder works. On the
site such a link becomes its text; one to a single file of code stays, as a download.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(?:#[^)\s]*)?\)")


def without_outside_links(text: str, page: Path, site: Path) -> str:
    """Return a page's Markdown with the links that would lead nowhere replaced by their texts."""

    def shown(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve()
        outside = not target.is_relative_to(site)
        return link[1] if outside and (target.is_dir() or target.suffix == ".md") else link[0]

    return _LINK.sub(shown, text)


def rewrite(app: Sphinx, name: str, content: list[str]) -> None:
    """Rewrite a page when it is read."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        content[0] = without_outside_links(content[0], page, Path(app.srcdir))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
