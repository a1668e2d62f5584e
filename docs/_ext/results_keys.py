"""The directive ``results-keys``: the keys of a results file, from its JSON Schema.

What each key means stands in ``reference/results_keys.toml``, one entry a key, no more, no less.
"""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils import nodes
    from sphinx.application import Sphinx

MEANINGS = Path(__file__).parents[1] / "reference" / "results_keys.toml"
_SPECIAL = ["inf", "-inf", "nan"]


def schema() -> dict[str, Any]:
    """Return the schema that the package ships."""
    folder = resources.files("dpcp_audit.reports")
    text = folder.joinpath("results.schema.json").read_text("utf-8")
    read = json.loads(text)
    return cast("dict[str, Any]", _inlined(read, read["$defs"]))


def _inlined(part: Any, definitions: dict[str, Any]) -> Any:
    """Return a part of the schema with the definitions that it refers to in their places."""
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {key: _inlined(item, definitions) for key, item in part.items()}


def meanings() -> dict[str, str]:
    """Return what each key means."""
    return tomllib.loads(MEANINGS.read_text(encoding="utf-8"))


def keys(of: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield each key's path, type and whether it is always there, depth first.

    The items of a list are written ``name[]``.
    """
    for choice in of.get("anyOf", ()):
        yield from keys(choice, prefix)
    if of.get("type") == "array":
        yield from keys(_item(of), f"{prefix.removesuffix('.')}[].")
    for name, value in of.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield path, kind(value), name in of.get("required", ())
        yield from keys(value, f"{path}.")


def kind(of: dict[str, Any]) -> str:
    """Return the type of a value in words."""
    if "enum" in of:
        return "special number" if of["enum"] == _SPECIAL else " or ".join(map(repr, of["enum"]))
    if "anyOf" in of:
        names = list(dict.fromkeys(kind(choice) for choice in of["anyOf"]))
        return " or ".join(name for name in names if name != "special number")
    if "type" not in of:
        return "any"
    if of["type"] == "array":
        return f"list of {kind(_item(of))}"
    return str(of["type"])


def _item(of: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an array's items; those of a pair are alike."""
    return cast("dict[str, Any]", of["items"] if "items" in of else of["prefixItems"][0])


def table() -> str:
    """Return the table of all keys, in Markdown.

    Raises
    ------
    ValueError
        If a key has no meaning, or a meaning no key.
    """
    rows, said = list(keys(schema())), meanings()
    if unlike := {path for path, _, _ in rows} ^ set(said):
        raise ValueError(f"{MEANINGS.name} and the schema differ in {', '.join(sorted(unlike))}")
    lines = ["| key | type | meaning |", "|:--|:--|:--|"]
    for path, of, always in rows:
        lines.append(f"| `{path}`{'' if always else ' (optional)'} | {of} | {said[path]} |")
    return "\n".join(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    from sphinx.util.docutils import SphinxDirective  # noqa: PLC0415  (tests need no Sphinx)

    class ResultsKeys(SphinxDirective):
        """The table of all keys."""

        def run(self) -> list[nodes.Node]:
            """Return the table."""
            return self.parse_text_to_nodes(table())

    app.add_directive("results-keys", ResultsKeys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
