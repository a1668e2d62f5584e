"""What pages need on the site alone: links that lead somewhere, and marks for screen readers.

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
_MARKED = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}
"""What theme and Sphinx write, and what axe asks for: levels, names, scrolling by keyboard."""
_PARAMETERS = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")
"""A signature on several lines, which is no list of terms."""
_NO_HEAD = re.compile(r'<th (class="head[^"]*")><p></p></th>')


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


def marked(page: str) -> str:
    """Return a page's HTML with the marks; a page that has them stays as it is."""
    for plain, with_marks in _MARKED.items():
        page = page.replace(plain, with_marks)
    page = _PARAMETERS.sub(_listed, page)
    return _NO_HEAD.sub(r"<td \1></td>", page)


def _listed(signature: re.Match[str]) -> str:
    items = signature[1].replace("<dd>", "<li>").replace("</dd>", "</li>")
    return f'<ul class="parameters">\n{items}</ul>'


def mark(app: Sphinx, error: Exception | None) -> None:
    """Write the marks into the pages of a finished site."""
    for path in [] if error else Path(app.outdir).rglob("*.html"):
        path.write_text(marked(path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", rewrite)
    app.connect("build-finished", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
