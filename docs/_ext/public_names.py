"""The directives ``public-names`` and ``option-table``: the front door, made from itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import dpcp_audit
from dpcp_audit.target_checks.check_spec import TABLE
from dpcp_audit.words.options import RUN_OPTIONS, Group, dashed, default_of, flag_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from dpcp_audit.words.options import Option

_OPTIONS = (*TABLE, *RUN_OPTIONS)
_HEADS = ("command line", "TOML", "Python and pytest", "default", "")


def public_names() -> str:
    """Return a directive of autodoc for each public name, functions first."""
    names = [name for name in dpcp_audit.__all__ if not name.startswith("__")]
    functions = [name for name in names if inspect.isfunction(getattr(dpcp_audit, name))]
    others = [name for name in names if name not in functions]
    lines = [f".. autofunction:: dpcp_audit.{name}" for name in functions]
    lines += [f".. autoclass:: dpcp_audit.{name}\n   :members:" for name in others]
    return "\n\n".join(lines)


def option_table(group: Group) -> str:
    """Return the options of a group as a Markdown table."""
    rows = [each for each in _OPTIONS if each.group is group]
    lines = [_line(_HEADS), _line(("---",) * len(_HEADS)), *(_line(_cells(row)) for row in rows)]
    return "\n".join(lines)


def _cells(option: Option) -> tuple[str, ...]:
    flag, words = flag_of(option), option.metavar
    shown = words if not flag.startswith("--") else f"{flag} {words}".strip()
    kinds = f" ({', '.join(map(str, option.kinds))})" if option.kinds else ""
    python = f"`{option.name}`" if option.python else ""
    toml = f"`{dashed(option.name)}`"
    return f"`{shown}`", toml, python, default_of(option), option.help.replace("|", r"\|") + kinds


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


class PublicNames(SphinxDirective):
    """The public names with their docstrings."""

    def run(self) -> list[nodes.Node]:
        """Return what autodoc makes of them."""
        block = f"```{{eval-rst}}\n{public_names()}\n```"
        return self.parse_text_to_nodes(block, allow_section_headings=True)


class OptionTable(SphinxDirective):
    """A heading and a table for each group of options."""

    def run(self) -> list[nodes.Node]:
        """Return the headings and tables."""
        found: list[nodes.Node] = []
        for group in dict.fromkeys(each.group for each in _OPTIONS):
            title = f"Options: {group}"
            section = nodes.section("", nodes.title(title, title), ids=[nodes.make_id(title)])
            section += self.parse_text_to_nodes(option_table(group))
            self.state.document.note_explicit_target(section)
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("option-table", OptionTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
