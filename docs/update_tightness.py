"""Compute how tight the coverage theorems are, and write the page and its figures.

Usage: python docs/update_tightness.py
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from constants_seen import constants_table
from tightness_maps import tightness_maps

from dpcp_audit.reports.charts import figure_svg
from dpcp_audit.reports.formats.markdown import markdown_table
from dpcp_audit.theorems.statement import tightness_of, tightness_table
from dpcp_ledger.claims.tightest_cases import tight_cases

if TYPE_CHECKING:
    from dpcp_ledger.pcoqs.hostile_scores import HostileTheorem

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

Each line has, for each constant of a theorem, the wrong value nearest to the right one that some
row of the theorem suite refutes: the correction times 0.98, for example, all else as printed.

{constants}

- **The correction, M(Δ), N and T**: a row sees each that is 5 % too small. M(Δ) shows where half of
  the scores lie closer together than Δ: the search cannot part them and errs by their number. In
  all other rows M(Δ) = 1.
- **T in Theorem 3 of LDP-CP** stands in no correction: Δ_L holds at all thresholds at once. That
  ⌈ln(1/τ)⌉ rounds are too few is a claim of the papers' suite.
- **Shares of β or δ**, half as many as there are (N in the place of 2N in the logarithm, 2/δ for
  4/δ), are seen by no row. They double the failure probability, about, and it is less than half of
  the allowed one in each row above. It may be no error: only one of the two sides that the union
  bound pays for can go wrong in a round, and Theorem 1 of LDP-CP holds with 2/δ wherever the tests
  of this repository computed it. The last column says how few shares are seen.

A test of the repository states these numbers. An error of one's own is planted by a field of the
theorem:

```python
from dpcp_ledger.claims.tightest_cases import NoiselessEvent

right = NoiselessEvent(n=2000, epsilon=480.0, delta=1e-100)
print(right.exact().verdict, right.scaled(0.98).exact().verdict)
```

prints `CONSISTENT REFUTED`.

The settings were searched for, over n, α, ε, δ, T and ρ, with
`python docs/tightest_settings.py`. P-COQS's scores lie 2Δ apart here,
with Δ < 1/(4n), so that M(Δ) = 1: these rows speak of τ\\* alone. Where scores crowd within
Δ, M(Δ) decides, and Proposition 1 and Theorem 1 fail as printed: the search may end 3Δ/2 from the
score that it looks for, and M(Δ) allows for Δ. The same program finds such settings at coarse Δ
("any Δ"), of Theorem 1 over n, α, ρ, β, Δ and ties. The claims `pcoqs.*[...scores=crowded...]` test
one at the default Δ = 10⁻¹⁰, also with the corrected bound τ\\* + 2·M(Δ). This page is written by
`docs/update_tightness.py`.
"""


def page() -> str:
    """Return the page's text."""
    found = [(case.name, case.hostile, tightness_of(case.hostile)) for case in tight_cases()]
    cases = {name + _setting(hostile): tightness for name, hostile, tightness in found}
    table = markdown_table(asdict(tightness_table(cases)))
    constants = markdown_table(asdict(constants_table(found)))
    figures = [
        f"![{each.title}]({name})\n\n{each.description}"
        for name, each in zip(NAMES, tightness_maps(), strict=True)
    ]
    return _PAGE.format(
        table="\n".join(table), constants="\n".join(constants), figures="\n\n".join(figures)
    )


def drawings() -> dict[str, str]:
    """Return the figures' SVG, by the names of their files."""
    return {
        name: figure_svg(asdict(each.figure()))
        for name, each in zip(NAMES, tightness_maps(), strict=True)
    }


def _setting(hostile: HostileTheorem) -> str:
    """Return a case's parameters, those that vary between the rows."""
    parameters = hostile.theorem.parameters
    shown = ("n", "rho", "epsilon", "alpha", "beta", "delta")
    sides = ", two-sided" if parameters.get("two_sided") else ""
    sides += ", crowded" if hostile.correction_name == "M(Δ)" else ""
    return "".join(f", {key} {parameters[key]:g}" for key in shown if key in parameters) + sides


if __name__ == "__main__":
    (DOCS / "tightness.md").write_text(page(), encoding="utf-8")
    for name, svg in drawings().items():
        (DOCS / name).write_text(svg + "\n", encoding="utf-8")
