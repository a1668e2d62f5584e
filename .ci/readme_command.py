"""Print the shell block that follows an HTML comment in a Markdown file.

Usage: readme_command.py MARK FILE, for a file that holds ``<!-- MARK -->`` and, after it,
a fenced block.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def fenced_block(text: str, mark: str) -> str:
    """Return the first fenced block after the comment, without its fences."""
    found = re.search(rf"<!-- {re.escape(mark)} -->\s*```\w*\n(.*?)```", text, re.DOTALL)
    if found is None:
        raise ValueError(f"no fenced block stands after <!-- {mark} -->")
    return found[1].strip()


if __name__ == "__main__":
    mark, path = sys.argv[1:]
    sys.stdout.write(fenced_block(Path(path).read_text(encoding="utf-8"), mark) + "\n")
