"""Write docs/libraries.md from the results of the suite of libraries.

Usage: dpcp-audit run --suite libraries --report json=libraries.json
       python docs/update_libraries.py libraries.json
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.libraries.libraries_suite import REWRITTEN, library_recipes
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
  reading of the documentation it is refuted; where the library leaves that reading open or does not
  share it, it stands apart from the faults.
- Neighbours are those of the documentation; where it names none, the promise says what was taken.
- Libraries of differential privacy are asked for one release, on data within their bounds. Many
  releases under one budget, and the bits of floating-point numbers, are not tested.
- Of conformal classifiers the prediction sets are audited, at given probabilities: the threshold
  is read off the sets that the library returns.
- Local hashing reports its hash function; what is audited is which values the report supports,
  which is all that an aggregator uses.
- private_prediction_sets is not on the package index, and its law is computed here.
  [Another page](which_line.md) follows its function as it stands, at n = 500: of 300 random pairs
  the worst loss was 1.53 to 1.56.
- numba's and PyTorch's randomness and the system's entropy are not followed, so that those
  verdicts rest on outputs alone. They cannot be seeded either: a second run has other numbers.
- OpenDP's three with twice the budget that is claimed are refuted, and diffprivlib's quantile is
  with three times; MAPIE's and crepes' sets are at a confidence of 0.88 where 0.9 is claimed.
"""
_READINGS = """\
## Refuted under a reading

The documentation leaves these readings open, or says otherwise. They are pitfalls for users, and no
faults of the libraries.
"""
_HASHED = "Run with xxhash 3: with xxhash 4, which is admitted, this client raises a TypeError."
_CAVEATS = {
    "torchcp-split-conformal": "Run with an empty module in place of torchsort, which one of "
    "TorchCP's training losses alone uses, and which does not build without CUDA.",
    "python-dp-percentile": "Weak evidence: with twice its ε it was not refuted on 10⁵ outputs.",
    "pure-ldp-local-hashing": _HASHED,
    "multi-freq-ldpy-local-hashing": _HASHED,
    REWRITTEN: "The repository's code is not run: this package computes the law of its quantile.",
}
"""What to know of how a check was run when the page was written, said beside its verdict."""


def page(document: dict[str, Any], recipes: Sequence[Recipe]) -> str:
    """Return the page."""
    entries = sorted(entries_of(document), key=lambda entry: entry.place)
    known = {each.check: each for recipe in recipes for each in recipe.findings}
    faults = [entry for entry in entries if entry.refuted and not entry.apart]
    readings = [entry for entry in entries if entry.refuted and entry.apart]
    parts = [_HEAD, _summary(entries, faults, readings), _settings(document)]
    parts += ["## What is refuted\n", *(_report(entry, known) for entry in faults)]
    if readings:
        parts += [_READINGS, *(_report(entry, known) for entry in readings)]
    parts += ["## All claims\n", claims_table(entries), "## What is promised\n"]
    parts += [promises_table(recipes), _skipped(document), _READING]
    return "\n".join(filter(None, parts))


def _summary(entries: Sequence[Entry], faults: Sequence[Entry], readings: Sequence[Entry]) -> str:
    ours = sum(entry.subject == REWRITTEN for entry in faults)
    return (
        f"Of {len(entries)} claims {len(faults) + len(readings)} are refuted: "
        f"{len(faults) - ours} of what a library's code returns, {ours} of a quantile that this "
        "package\ncomputes in place of the library's, and "
        f"{len(readings)} under a reading that the library leaves open\nor does not share.\n"
    )


def _settings(document: Mapping[str, Any]) -> str:
    seconds = sum(finding["seconds"] for finding in document["findings"])
    return (
        f"Seed {document['seed']}, false-alarm probability of the run "
        f"{document['false_alarm']:g}, {seconds:.0f} seconds of checks.\n"
    )


def _report(entry: Entry, known: Mapping[str, KnownFinding]) -> str:
    found = known.get(entry.heading)
    title = f"### {entry.paper}: {found.title if found else entry.statement}\n"
    breach = entry.breach
    lines = [title]
    if found:
        lines += [f"Where: `{found.where}`\n", f"{found.report}\n"]
    else:
        lines += [f"{fact}\n" for name, fact in entry.facts if name == "Assumptions"]
    lines += [f"Promised: {breach.promised}. Found: {breach.found} ({breach.surety}).", ""]
    lines += [f"{_plain(entry.note)}\n"] if entry.note else []
    lines += [f"Again: `dpcp-audit run --suite libraries --only '{entry.id}'`\n"]
    lines += [f"Without this package:\n\n```python\n{found.reproduce}\n```\n"] if found else []
    return "\n".join(lines)


def claims_table(entries: Sequence[Entry]) -> str:
    """Return every claim with its verdict as a Markdown table."""
    lines = ["| claim | library | verdict | measured | what was tried |", "|:--|:--|:--|:--|:--|"]
    for entry in entries:
        said = [_CAVEATS.get(entry.heading, ""), entry.note or entry.error, entry.power]
        tried = _plain(" ".join(filter(None, said)))
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
