"""Compute how tight the coverage theorems are, and write the page and its figures.

Usage: python docs/update_tightness.py
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from dpcp_audit.papers.claims.tightest_cases import tight_cases
from dpcp_audit.papers.computations.tightness_maps import tightness_maps
from dpcp_audit.reports.drawing.svg_figures import figure_svg
from dpcp_audit.reports.formats.markdown import markdown_table
from dpcp_audit.theorems.tightness import tightness_of, tightness_table

DOCS = Path(__file__).parent
NAMES = ("tightness_labels.svg", "tightness_scores.svg", "tightness_ranks.svg")

_PAGE = """\
# How tight the theorems are

Each coverage theorem adds a correction to the level: Δ_L and Δ_S in LDP-CP, τ\\* ranks in P-COQS.
The table tries each where it is tightest: on scores within its hypotheses that are placed against
its own constants. *Failure/allowed* is its true failure probability over the δ (or β) that it
allows. *Smallest multiple*: with it, and with every larger one that was tried, the bound fails
there no more often than allowed. All is computed;
of Theorem 3 of LDP-CP, failures at an early midpoint alone.

{table}

Two things make the bounds loose. A union bound pays for every round and for both sides, but a round
can go wrong on one side only. And a tail bound exp(−x²/2) stands in for the Gaussian or binomial
tail. Neither matters much to the constant at a tiny δ: there the multiples come near 1.

{figures}

## The smallest wrong constant that is refuted

At δ = 10⁻³⁰ a row of the theorem suite refutes each correction that is 4 % too small (Theorem 1 of
LDP-CP: 1 %; Remark 3 of P-COQS: 2 %), and noise that is 4 % too large. A test of the repository
states these numbers. An error of one's own is planted by a field of the theorem:

```python
from dpcp_audit.theorems.ldpcp_labels_exact import NoiselessEvent

right = NoiselessEvent(n=2000, epsilon=120.0, delta=1e-30)
print(right.exact().verdict, right.scaled(0.98).exact().verdict)
```

prints `CONSISTENT REFUTED`.

The settings were searched for, over n, α, ε, δ, T, ρ and Δ, with
`python -m dpcp_audit.papers.computations.tightest_settings`. This page is written by
`docs/update_tightness.py`.
"""


def page() -> str:
    """Return the page's text."""
    cases = {
        case.name + _setting(case.hostile.theorem): tightness_of(case.hostile)
        for case in tight_cases()
    }
    table = markdown_table(asdict(tightness_table(cases)))
    figures = [
        f"![{each.title}]({name})\n\n{each.description}"
        for name, each in zip(NAMES, tightness_maps(), strict=True)
    ]
    return _PAGE.format(table="\n".join(table), figures="\n\n".join(figures))


def drawings() -> dict[str, str]:
    """Return the figures' SVG, by the names of their files."""
    return {
        name: figure_svg(asdict(each.figure()), prefix=name.partition(".")[0])
        for name, each in zip(NAMES, tightness_maps(), strict=True)
    }


def _setting(theorem: object) -> str:
    """Return a case's parameters, those that vary between the rows."""
    parameters = getattr(theorem, "parameters")  # noqa: B009  (any theorem's)
    shown = ("n", "rho", "epsilon", "alpha", "beta", "delta")
    sides = ", two-sided" if parameters.get("two_sided") else ""
    return "".join(f", {key} {parameters[key]:g}" for key in shown if key in parameters) + sides


if __name__ == "__main__":
    (DOCS / "tightness.md").write_text(page(), encoding="utf-8")
    for name, svg in drawings().items():
        (DOCS / name).write_text(svg + "\n", encoding="utf-8")
