"""The directive ``command-line``: what ``--help`` prints, a section a command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from dpcp_audit.faces.cli.main import add_commands
from dpcp_audit.faces.cli.run_commands import parser_of
from dpcp_audit.theorems.catalogue import CATALOGUE

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_WIDTH = 88


def helps() -> dict[str, str]:
    """Return the help of every command, in the order of the command line; of theorems, each."""
    parser = argparse.ArgumentParser(prog="dpcp-audit")
    commands = parser.add_subparsers()
    add_commands(commands)
    texts = {}
    for name, sub in commands.choices.items():
        of = sub.formatter_class
        sub.formatter_class = lambda prog, of=of: of(prog, width=_WIDTH)
        texts[name] = sub.format_help()
    return texts | {f"theorem {each.name}": parser_of(each).format_help() for each in CATALOGUE}


class CommandLine(SphinxDirective):
    """A section for each command, with its help."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        sections: list[nodes.Node] = []
        for name, text in helps().items():
            title = f"dpcp-audit {name}"
            section = nodes.section("", nodes.title(title, title), ids=[nodes.make_id(title)])
            section += nodes.literal_block(text, text, language="none")
            self.state.document.note_explicit_target(section)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
