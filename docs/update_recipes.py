"""Run all recipes and write the tables of docs/recipes.md from what was seen.

Usage: python docs/update_recipes.py [docs/recipes.md]

It needs the extra ``targets`` and some minutes; a recipe whose library is missing is refused, so
that no row is lost.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.libraries import recipes as catalogue
from dpcp_audit.reports.document import load
from dpcp_audit.reports.findings.severity import power_sentence

if TYPE_CHECKING:
    from dpcp_audit.libraries.recipes import Recipe

MARKS = {"promises": ("<!-- promises -->", "<!-- /promises -->")}
MARKS |= {"verdicts": ("<!-- verdicts -->", "<!-- /verdicts -->")}


def promises_table(recipes: tuple[Recipe, ...]) -> str:
    """Return what is checked, and where it is promised, as a Markdown table."""
    lines = ["| recipe | what it checks | what is promised |", "|---|---|---|"]
    for recipe in recipes:
        promise = f"{recipe.promise} ([source]({_link(recipe.documentation)}))"
        lines.append(_row(f"`{recipe.name}`", recipe.summary, promise))
    return "\n".join(lines)


def verdicts_table(document: dict[str, Any], recipes: tuple[Recipe, ...]) -> str:
    """Return the verdicts of a run as a Markdown table, with the libraries' versions."""
    version = {spec.name: _version(recipe) for recipe in recipes for spec in recipe.config.checks}
    lines = ["| claim | version | verdict | what was tried |", "|---|---|---|---|"]
    for finding in document["findings"]:
        name = finding["id"].partition("[")[0]
        power = power_sentence(finding["power"])
        tried = " ".join(filter(None, [finding["note"] or finding["error"], power and f"{power}."]))
        lines.append(_row(f"`{finding['id']}`", version[name], finding["verdict"], tried))
    seconds = sum(finding["seconds"] for finding in document["findings"])
    setting = (
        f"Seed {document['seed']}, false-alarm probability of the run "
        f"{document['false_alarm']:g}, {seconds:.0f} seconds of checks, Python "
        f"{platform.python_version()}, scikit-learn {metadata.version('scikit-learn')}."
    )
    return "\n".join([*lines, "", setting])


def _version(recipe: Recipe) -> str:
    name = recipe.distribution or "dpcp-audit"
    return f"{name} {metadata.version(name)}"


def _link(documentation: str) -> str:
    return documentation if documentation.startswith("http") else f"../{documentation}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").strip() for cell in cells) + " |"


def replaced(text: str, mark: str, table: str) -> str:
    """Return the text with the table between the marks."""
    start, end = MARKS[mark]
    head, rest = text.split(start)
    return f"{head}{start}\n{table}\n{end}{rest.split(end)[1]}"


def main(arguments: list[str]) -> int:
    """Run the recipes and rewrite the page."""
    page = Path(arguments[0] if arguments else "docs/recipes.md")
    recipes = catalogue.select([catalogue.ALL])
    if obstacles := [reason for recipe in recipes if (reason := recipe.obstacle())]:
        print("; ".join(obstacles), file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [sys.executable, "-m", "dpcp_audit", "check", "--recipe", catalogue.ALL]
        subprocess.run([*command, "--report", f"json={results}"], check=False)  # noqa: S603
        document = load(results)
    text = replaced(page.read_text(encoding="utf-8"), "promises", promises_table(recipes))
    page.write_text(replaced(text, "verdicts", verdicts_table(document, recipes)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
