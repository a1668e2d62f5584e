"""Write docs/libraries.md, or docs/wild.md, from the results of the suite libraries, or wild.

Usage: dpcp-audit run --suite libraries --report json=libraries.json
       python docs/update_libraries.py libraries.json [results of another environment ...]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.document import load
from dpcp_audit.reports.entry import entries_of
from dpcp_audit.reports.formats.markdown import escaped
from dpcp_audit.reports.sentences import violation
from dpcp_audit.words.formatting import printable
from dpcp_ledger.libraries.libraries_suite import REWRITTEN, library_recipes
from dpcp_ledger.wild.wild_suite import wild_recipes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.reports.entry import Entry
    from dpcp_audit.target_checks.recipes import Recipe

_FOLDER = Path(__file__).parent
_LIBRARIES = """\
# Libraries and what they promise

This page tests the promises of other libraries: private quantiles, histograms, randomizers, noise
and conformal calibration, at one setting each. `dpcp-audit run --suite libraries` runs the checks
of the installed libraries, and names the missing ones. `dpcp-audit check --recipe NAME` runs the
checks of one [recipe](recipes.md). `docs/update_libraries.py` writes this page from a results file.
"""
_WILD = """\
# DP conformal prediction in the wild

This page tests the promises of public repositories: private quantiles, conformal thresholds and
randomised answers. None of their code is here. A [recipe](recipes.md) has the promise, a few lines
that call the code, and the known findings; it runs in your clone of the repository:

```sh
mkdir clones && git clone https://github.com/DAI-Lab/Tiresias clones/Tiresias
DPCP_CHECKOUTS=clones dpcp-audit check --recipe tiresias
DPCP_CHECKOUTS=clones dpcp-audit run --suite wild
```

Each refuted claim is written as a report to the authors, with a program that shows it without this
package; run it in the folder of the clone. The tables name the commits: if a repository has changed
since, run the checks again. `docs/update_libraries.py` writes this page from a results file.
"""
_READ = {
    "pierreHmbt/FedCP-QQ 08a94a8": 'The README names "FedCP^2-QQ (DP version)"; class_CP_QQ.py '
    "draws no noise, so that there is nothing to audit.",
    "cobypenso/Noise-Aware-Conformal-Prediction 64ce4d9": "Promises no privacy: it corrects a "
    "threshold for noisy labels.",
    "NynsenFaber/Quantile_estimation_with_adaptive_LDP 1301f6c": "A user's answer is true with "
    "probability e^ε/(1 + e^ε): randomised response, as it should be, by reading.",
    "google-research/google-research, dp_multiq/ind_exp.py 5b09c22": "The mechanism and the "
    "sensitivities of `single_quantile` in DP_CC_quantiles, by reading.",
    "wxindu/dp-conf-int d34a7dd": "EXPQ in R and C has exp(ε u/2) with a rank utility of "
    "sensitivity 1, as it should, by reading.",
    "cafaro/dp-quantiles 67d40f1": "C++; its randomised response has e^ε/(e^ε + 1), by reading.",
    "pindri/enfield, src/dp.py fd1782f": "Laplace noise of scale B/ε on B cumulative counts, as "
    "its promise under add/remove needs, by reading. The seed is an argument whose default is 0: a "
    "caller has to give a secret one.",
    "menisadi/pydp 0119bc9": 'The README says that "No comprehensive theoretic review has been '
    'made".',
}
"""Repositories of which nothing is run, and why."""
_PROVED = """\
Proved for every input, from the source alone: `mean` of Tiresias with given bounds, by
`dpcp-audit prove tiresias/core/mechanisms.py:mean --kind quantile --randomness global --option
bounds='[0, 1]' --option epsilon=1.0 --option delta=0 --pure-dp 1` in its clone; and ρ-zCDP of
`PCOQS` in the notebook Effect_of_alpha.ipynb of SMAC-Group/pcoqs, once its line
`random.seed(seed)` is taken out. That line seeds a generator that no noise comes from, but the
proof stops at it.
"""
_WILD_READING = """\
## How to read it

- `CONSISTENT` is no proof: a search over neighbours or score laws found nothing against the
  promise at these parameters, and the table states the power.
- A promise is taken from the repository's own words. If they name no neighbours, the promise says
  which were assumed. What a README excludes, or calls unfinished, does not count as a violation.
- Research code is written for experiments. A finding says what would have to change before the
  code protects somebody, and says nothing of the paper beside it.
- Witnesses may have few records, since the search takes the clearest ones; the programs of the
  findings have ten or more wherever the effect is there.
"""
_READING = """\
## How to read it

- `CONSISTENT` is no proof: a search over neighbours or score laws found nothing against the
  promise at these parameters, and the last column states the power.
- Each refuted claim is a report to the library's authors. It names the reading of the documentation
  that is refuted. If the library leaves this reading open, or does not share it, the claim stands
  apart from the errors.
- Neighbours are those of the documentation; if it names none, the promise says which were assumed.
- Libraries of differential privacy are tested on one release, with data within their bounds. Many
  releases under one budget, and the bits of floating-point numbers, are not tested.
- For conformal classifiers, the prediction sets are audited at given probabilities: the threshold
  is read off the sets that the library returns.
- Local hashing reports its hash function. The audit uses the values that the report supports,
  because an aggregator uses nothing else.
- private_prediction_sets is not on the package index, and its law is computed here. Its code is run
  [in a clone](wild.md). [Another page](which_line.md) follows its unchanged function, at
  n = 500: of 300 random pairs the worst loss was 1.53 to 1.56.
- Each library ran in an environment of its own, in its newest version beside this package's NumPy.
  smartnoise-sql needs an older OpenDP; puncc and Tumult Core declare older releases of NumPy than
  this package takes, and work with today's.
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
_FOLDERS = re.compile(r"/\S*/(?=dpcp_(?:audit|ledger)/)")
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
    """Return the page of the suite that a results document is of."""
    entries = sorted(entries_of(document), key=lambda entry: entry.place)
    recipe_of = {spec.name: recipe for recipe in recipes for spec in recipe.config.checks}
    faults = [entry for entry in entries if entry.refuted and not entry.apart]
    readings = [entry for entry in entries if entry.refuted and entry.apart]
    wild = document["suite"] == "wild"
    parts = [_WILD if wild else _LIBRARIES, _summary(entries, faults, readings, wild=wild)]
    parts += [_settings(document), "## What is refuted\n"]
    parts += [_report(entry, recipe_of.get(entry.heading)) for entry in faults]
    if readings:
        parts += [_READINGS, *(_report(entry, recipe_of.get(entry.heading)) for entry in readings)]
    parts += ["## All claims\n", _claims_table(entries, document), "## What is promised\n"]
    parts += [promises_table(recipes), _skipped(document)]
    parts += [_not_run(), _PROVED, _WILD_READING] if wild else [_READING]
    return "\n".join(filter(None, parts))


def _summary(
    entries: Sequence[Entry], faults: Sequence[Entry], readings: Sequence[Entry], *, wild: bool
) -> str:
    ours = sum(entry.subject == REWRITTEN for entry in faults)
    of = "repository" if wild else "library"
    computed = " of a quantile that this package\ncomputes in place of the library's, and"
    return (
        f"Of {len(entries)} claims {len(faults) + len(readings)} are refuted: "
        f"{len(faults) - ours} of what a {of}'s code returns, "
        + ("and " if wild else f"{ours}{computed} ")
        + f"{len(readings)} under a reading that the {of} leaves open\nor does not share.\n"
    )


def _settings(document: Mapping[str, Any]) -> str:
    seconds = sum(finding["seconds"] for finding in document["findings"])
    dates = sorted({each["provenance"]["finished"][:10] for each in document.get("runs", ())})
    on = f"Run on {' and '.join(dates)}, " if dates else ""
    return (
        f"{on}seed {document['seed']}, false-alarm probability of a run "
        f"{document['false_alarm']:g}, {seconds:.0f} seconds of checks.\n"
    ).capitalize()


def merged(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of runs in several environments as those of one.

    A claim has the finding of the last run that tested it; what each run skipped is skipped.
    """
    findings = {each["id"]: each for document in documents for each in document["findings"]}
    skipped = [{each["name"]: each for each in document["skipped"]} for document in documents]
    common = [skipped[0][name] for name in skipped[0] if all(name in each for each in skipped)]
    by_paper = sorted(findings.values(), key=lambda each: each["source"]["paper"].casefold())
    whole = {"findings": by_paper, "skipped": common, "runs": documents}
    return documents[0] | whole


def _report(entry: Entry, recipe: Recipe | None) -> str:
    found = recipe.finding_of(entry.heading) if recipe else None
    title = f"### {entry.paper}: {found.title if found else entry.statement}\n"
    breach = entry.breach
    lines = [title]
    if found:
        lines += [f"Where: `{found.where}`\n", f"{found.report}\n"]
    else:
        lines += [f"{fact}\n" for name, fact in entry.facts if name == "Assumptions"]
    lines += [f"Promised: {breach.promised}. Found: {breach.found} ({breach.surety}).", ""]
    if recipe and recipe.repository:
        again = f"DPCP_CHECKOUTS=clones dpcp-audit check --recipe {recipe.name}"
    else:
        again = f"dpcp-audit run --suite libraries --only '{entry.id}'"
    lines += [f"Again: `{again}`\n"]
    lines += [f"Without this package:\n\n```python\n{found.reproduce}\n```\n"] if found else []
    return "\n".join(lines)


def _claims_table(entries: Sequence[Entry], document: Mapping[str, Any]) -> str:
    """Return every claim with its verdict, and the violation that its check would catch."""
    names = ("claim", "library", "verdict", "measured", "would be caught", "to know")
    lines = [f"| {' | '.join(names)} |", f"|{':--|' * len(names)}"]
    powers = {printable(each["id"]): each["power"] for each in document["findings"]}
    for entry in entries:
        known = " ".join(filter(None, [_CAVEATS.get(entry.heading, ""), _plain(entry.error)]))
        measured = f"{entry.measured} {entry.interval}".strip()
        caught = violation(powers[entry.id]) if powers[entry.id] else ""
        found = (entry.paper, str(entry.verdict), measured, caught, known)
        lines.append(_row(f"`{entry.id}`", *found))
    return "\n".join([*lines, ""])


def promises_table(recipes: Sequence[Recipe]) -> str:
    """Return what the libraries' documentation says as a Markdown table."""
    lines = ["| recipe | of | what is promised |", "|:--|:--|:--|"]
    for recipe in recipes:
        seen = f"; {recipe.audited} at {recipe.commit[:7]}" if recipe.repository else ""
        promise = f"{escaped(recipe.promise)} ([source]({recipe.documentation}){seen})"
        lines.append(f"| `{recipe.name}` | {escaped(recipe.summary)} | {promise} |")
    return "\n".join([*lines, ""])


def _not_run() -> str:
    lines = ["## Read, and not run\n", "| repository | why |", "|:--|:--|"]
    return "\n".join([*lines, *(_row(each, why) for each, why in _READ.items()), ""])


def _plain(text: str) -> str:
    """Return a text without the folders that libraries, clones and this package lie in."""
    words = (word.rpartition("site-packages/")[2] for word in text.split(" "))
    return " ".join(_FOLDERS.sub("", word) for word in words)


def _row(first: str, *cells: str) -> str:
    return f"| {first} | " + " | ".join(escaped(cell).replace("\n", " ") for cell in cells) + " |"


def _skipped(document: Mapping[str, Any]) -> str:
    lines = [f"- {each['name']}: {each['reason']}" for each in document.get("skipped", [])]
    return "\n".join(["## What was skipped\n", *lines, ""]) if lines else ""


def main(arguments: list[str]) -> int:
    """Write the page from the results files that the command line names."""
    document = merged([load(Path(path)) for path in arguments])
    recipes = {"libraries": library_recipes, "wild": wild_recipes}[document["suite"]]()
    (_FOLDER / f"{document['suite']}.md").write_text(page(document, recipes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
