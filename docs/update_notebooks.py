"""Write the executed notebooks of ``examples/notebooks`` from their sources.

A source is Python whose cells begin with ``# %%``, those of text with ``# %% [markdown]``. No
Jupyter is needed::

    python docs/update_notebooks.py
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
_TEXT = "# %% [markdown]\n"
_CODE = "# %%\n"


def cells_of(source: str) -> list[tuple[str, str]]:
    """Return the cells of a source: "markdown" or "code", and what they hold."""
    found: list[tuple[str, str]] = []
    for part in source.replace(_TEXT, "\0markdown\n").replace(_CODE, "\0code\n").split("\0")[1:]:
        kind, _, body = part.partition("\n")
        lines = body.strip().splitlines()
        if kind == "markdown":
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        found.append((kind, "\n".join(lines)))
    return found


def run_cell(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a cell in a namespace, and return its outputs as notebooks hold them."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102  (a cell of this repository)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
        outputs.append(
            {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
        )
    return outputs


def notebook(source: str) -> dict[str, Any]:
    """Return the executed notebook of a source."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells: list[dict[str, Any]] = []
    for i, (kind, body) in enumerate(cells_of(source)):
        cell: dict[str, Any] = {"id": f"cell-{i}", "cell_type": kind, "metadata": {}}
        cell["source"] = body
        if kind == "code":
            cell |= {"execution_count": None, "outputs": run_cell(body, names)}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.py")):
        written = json.dumps(notebook(path.read_text("utf-8")), indent=1, ensure_ascii=False)
        path.with_suffix(".ipynb").write_text(written + "\n", encoding="utf-8")
        print(path.stem)
