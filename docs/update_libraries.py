"""Write docs/libraries.md from the results of the suite of libraries.

Usage: dpcp-audit run --suite libraries --report json=libraries.json
       python docs/update_libraries.py libraries.json
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.libraries.libraries_suite import library_recipes
from dpcp_audit.reports.document import load
from dpcp_audit.reports.findings.entry import entries_of
from dpcp_audit.reports.formats.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.libraries.recipes import KnownFinding, Recipe
    from dpcp_audit.reports.findings.entry import Entry

PAGE = Path(__file__).with_name("libraries.md")
_HEAD = """\
# Libraries and what they promise

What other libraries promise of private quantiles, histograms, randomizers, noise and conformal
calibration, tested at one setting each. `dpcp-audit run --suite libraries` runs the checks of the
libraries that are installed, and says which are not; `dpcp-audit check --recipe NAME` runs those
of one [recipe](recipes.md). This page is written by `docs/update_libraries.py` from a results
file.
"""
_READING = """\
## How to read it

- `CONSISTENT` is no proof: a search over neighbours or score laws found nothing against the
  promise at these parameters, and the last column states the power.
- A refuted claim is reported as one would report it to the library's authors. It says under which
  reading of the documentation it is refuted, and whether the fault is in the code or in the
  reading.
- Neighbours are those of the documentation; where it names none, the promise says what was taken.
- Libraries of differential privacy are asked for one release, on data within their bounds. Many
  releases under one budget, and the bits of floating-point numbers, are not tested.
- Of conformal classifiers the prediction sets are audited, at given probabilities: the threshold
  is read off the sets that the library returns.
- Local hashing reports its hash function; what is audited is which values the report supports,
  which is all that an aggregator uses.
- TorchCP was run with an empty module in place of torchsort, which one of its training losses
  alone uses, and which does not build without CUDA. smartnoise-sql needs another OpenDP than the
  others, and is not among the recipes. pure-ldp's and multi-freq-ldpy's local hashing raises a
  TypeError with xxhash 4, which their requirements admit; xxhash 3 was used.
- numba's and PyTorch's randomness and the system's entropy are not followed, so that those
  verdicts rest on outputs alone. They cannot be seeded either: a second run has other numbers.
- OpenDP's three with twice the budget that is claimed are refuted, and diffprivlib's quantile is
  with three times; MAPIE's and crepes' sets are at a confidence of 0.88 where 0.9 is claimed.
  python-dp's percentile with twice its ε was not refuted on 10⁵ outputs: take its `CONSISTENT` as
  weak evidence.
"""


def page(document: dict[str, Any], recipes: Sequence[Recipe]) -> str:
    """Return the page."""
    entries = sorted(entries_of(document), key=lambda entry: entry.place)
    known = {each.check: each for recipe in recipes for each in recipe.findings}
    parts = [_HEAD, _summary(document, entries), "## What is refuted\n"]
    parts += [_report(entry, known) for entry in entries if entry.refuted]
    parts += ["## All claims\n", claims_table(entries), "## What is promised\n"]
    parts += [promises_table(recipes), _skipped(document), _READING]
    return "\n".join(filter(None, parts))


def _summary(document: Mapping[str, Any], entries: Sequence[Entry]) -> str:
    refuted = sum(entry.refuted for entry in entries)
    seconds = sum(finding["seconds"] for finding in document["findings"])
    return (
        f"Of {len(entries)} claims {refuted} are refuted. Seed {document['seed']}, false-alarm "
        f"probability of the run {document['false_alarm']:g}, {seconds:.0f} seconds of checks.\n"
    )


def _report(entry: Entry, known: Mapping[str, KnownFinding]) -> str:
    found = known.get(entry.heading)
    title = f"### {entry.paper}: {found.title if found else entry.statement}\n"
    breach = entry.breach
    lines = [title]
    if found:
        lines += [f"Where: `{found.where}`\n", f"{found.report}\n"]
    lines += [f"Promised: {breach.promised}. Found: {breach.found} ({breach.surety}).", ""]
    lines += [f"{_plain(entry.note)}\n"] if entry.note else []
    lines += [f"Again: `dpcp-audit run --suite libraries --only '{entry.id}'`\n"]
    lines += [f"Without this package:\n\n```python\n{found.reproduce}\n```\n"] if found else []
    return "\n".join(lines)


def claims_table(entries: Sequence[Entry]) -> str:
    """Return every claim with its verdict as a Markdown table."""
    lines = ["| claim | library | verdict | measured | what was tried |", "|:--|:--|:--|:--|:--|"]
    for entry in entries:
        tried = _plain(" ".join(filter(None, [entry.note or entry.error, entry.power])))
        measured = f"{entry.measured} {entry.interval}".strip()
        lines.append(_row(f"`{entry.id}`", entry.paper, str(entry.verdict), measured, tried))
    return "\n".join([*lines, ""])


def promises_table(recipes: Sequence[Recipe]) -> str:
    """Return what the libraries' documentation says as a Markdown table."""
    lines = ["| recipe | of | what is promised |", "|:--|:--|:--|"]
    for recipe in recipes:
        source = f" ([source]({recipe.documentation}))"
        promise = escaped(recipe.promise) + source
        lines.append(f"| `{recipe.name}` | {escaped(recipe.summary)} | {promise} |")
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Return a text without the folder that libraries are installed in."""
    return " ".join(word.rpartition("site-packages/")[2] for word in text.split(" "))


def _row(first: str, *cells: str) -> str:
    return f"| {first} | " + " | ".join(escaped(cell).replace("\n", " ") for cell in cells) + " |"


def _skipped(document: Mapping[str, Any]) -> str:
    lines = [f"- {each['name']}: {each['reason']}" for each in document.get("skipped", [])]
    return "\n".join(["## What was skipped\n", *lines, ""]) if lines else ""


def main(arguments: list[str]) -> int:
    """Write the page from the results file that the command line names."""
    PAGE.write_text(page(load(Path(arguments[0])), library_recipes()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
