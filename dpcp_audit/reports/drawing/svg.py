"""Make matplotlib's SVG fit to stand inline in a page, beside others like it."""

from __future__ import annotations

import re
from typing import Any, TypeAlias
from xml.etree import ElementTree as ET

Axes: TypeAlias = Any
"""Those of matplotlib, not all of whose keywords have types."""
Canvas: TypeAlias = Any
"""A figure of matplotlib."""

INK = "#010203"
"""Drawn in this colour, an element takes the text colour of the page around it."""

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED = {"metadata", "style"}
_FONT = re.compile(r"(font(?:-family)?:[^;]*?)(?:'[^;]*|DejaVu[^;]*|sans-serif)(?=;|$)")
_FAMILY = re.compile(r"font-family:\s*sans-serif;?\s*")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NO_TURN = "rotate(-0 "
"""What text that is not turned is turned by."""
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline(markup: str, *, title: str, description: str, prefix: str) -> str:
    """Return an ``<svg>`` element for a page, from a stand-alone SVG document.

    Parameters
    ----------
    markup : str
        What matplotlib's SVG backend wrote.
    title, description : str
        Short name and text alternative; they become ``<title>`` and ``<desc>``.
    prefix : str
        Stands before every id that is kept, so that figures of one page do not collide.
    """
    # The parser reads nothing but what our own renderer has just written.
    root = ET.fromstring(markup)  # noqa: S314
    _drop(root)
    _rename(root, _referenced(root), prefix)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        if element.get("transform", "").startswith(_NO_TURN):
            del element.attrib["transform"]
        for name, value in element.attrib.items():
            element.set(name, _tidy(name, value))
        if element.tag != "text":
            element.text = None
        element.tail = None
    _unwrap(root)
    _describe(root, title, description, prefix)
    return ET.tostring(root, encoding="unicode")


def _drop(parent: ET.Element) -> None:
    for child in list(parent):
        if child.tag.removeprefix(f"{{{_SVG}}}") in _DROPPED:
            parent.remove(child)
        else:
            _drop(child)
            empty_defs = child.tag == f"{{{_SVG}}}defs" and not len(child)
            if empty_defs:
                parent.remove(child)


def _unwrap(parent: ET.Element) -> None:
    """Put the children of groups that say nothing in their places."""
    for child in list(parent):
        _unwrap(child)
        if child.tag == "g" and not child.attrib:
            place = list(parent).index(child)
            parent.remove(child)
            for offset, inner in enumerate(child):
                parent.insert(place + offset, inner)


def _referenced(root: ET.Element) -> set[str]:
    used = {element.get(_HREF, "").removeprefix("#") for element in root.iter()}
    for element in root.iter():
        for value in element.attrib.values():
            used.update(_REFERENCE.findall(value))
    return used - {""}


def _rename(root: ET.Element, kept: set[str], prefix: str) -> None:
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in kept:
            element.set("id", f"{prefix}-{name}")
        target = element.attrib.pop(_HREF, None)
        if target is not None:
            element.set("href", f"#{prefix}-{target.removeprefix('#')}")
        for key, value in list(element.attrib.items()):
            element.set(key, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))


def _tidy(name: str, value: str) -> str:
    if name == "style":
        family_apart = _FAMILY.sub("", _FONT.sub(r"\1sans-serif", value))
        return family_apart.replace(INK, "currentColor")
    if name in {"id", "href", "clip-path"}:
        return value
    return " ".join(_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value).split())


def _describe(root: ET.Element, title: str, description: str, prefix: str) -> None:
    texts = {"title": title, "desc": description}
    for place, (tag, text) in enumerate(texts.items()):
        element = ET.Element(tag, {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(place, element)
    root.attrib.pop("version", None)
    root.attrib.update(
        {
            "xmlns": _SVG,
            "role": "img",
            "aria-labelledby": " ".join(f"{prefix}-{tag}" for tag in texts),
            "stroke-linejoin": "round",
            "font-family": "sans-serif",
        }
    )
