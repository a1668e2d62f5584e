"""Write the page on membership inference under ρ-zCDP, and its figure.

Usage: python docs/update_advantage.py
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.reports.charts import figure_svg
from dpcp_audit.words.guarantees import ZCDP
from dpcp_audit.words.results import Figure, FigureKind, Series

FOLDER = Path(__file__).parent / "explanation"
PAGE, FIGURE = FOLDER / "membership.md", FOLDER / "membership_advantage.svg"
BUDGETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_N = 50

_TEXT = """\
# How well can membership be inferred under ρ-zCDP?

An attacker sees the output of a ρ-zCDP mechanism and guesses which of two neighbouring data sets
it was computed from: was this person in the calibration set, or somebody else? The *membership
advantage* of the attack is its true-positive rate minus its false-positive rate. This page says
how large it can be, for any mechanism and any attack, and how large it is for P-COQS. It is
written by `docs/update_advantage.py`, which computes every number.

**Theorem.** The largest membership advantage that ρ-zCDP allows is $\\tanh(\\varepsilon/2)$, where
$\\varepsilon > 0$ solves

$$\\varepsilon\\,\\tanh\\frac{{\\varepsilon}}{{2}} = \\rho.$$

Randomised response with this ε is ρ-zCDP and attains it.

At ρ = ½, the budget that P-COQS's experiments call ε_CP = 1, it is **{half:.4f}**: no attack has a
larger advantage, and one mechanism allows as much.

![The largest membership advantage under ρ-zCDP, and other bounds](membership_advantage.svg)

## Proof

*Upper bound.* Let an attack say "in" with probability $p$ on one data set and $q$ on its neighbour;
its advantage is $a = p - q$. The answer is post-processing, so

$$D_\\alpha(\\mathrm{{Bern}}(p) \\,\\|\\, \\mathrm{{Bern}}(q))
\\leq \\rho\\alpha \\quad\\text{{for every }} \\alpha > 1,$$

and the same holds with $p$ and $q$ exchanged. As $\\alpha \\to 1$, $D_\\alpha$ tends to the
Kullback–Leibler divergence, which is therefore at most ρ in both directions. The pair
$(1-q, 1-p)$ has the same advantage and the same two divergences. The Kullback–Leibler divergence is
jointly convex, so it is at most ρ for the mean of the two pairs,
$(\\frac{{1+a}}{{2}}, \\frac{{1-a}}{{2}})$, as well. With $a = \\tanh(\\varepsilon/2)$ it is

$$a\\,\\log\\frac{{1+a}}{{1-a}} = \\varepsilon\\,\\tanh\\frac{{\\varepsilon}}{{2}}$$

there. This grows with ε, so $a$ is at most the solution of
$\\varepsilon\\,\\tanh(\\varepsilon/2) = \\rho$.

*Attained.* Randomised response tells a bit truthfully with probability
$e^\\varepsilon/(1+e^\\varepsilon)$. For its two laws

$$(\\alpha-1) D_\\alpha
= \\log\\,\\cosh\\left((\\alpha-\\frac{{1}}{{2}})\\varepsilon\\right)
- \\log\\,\\cosh\\frac{{\\varepsilon}}{{2}}
= \\int_{{1/2}}^{{\\alpha-1/2}} \\varepsilon\\,\\tanh(t\\varepsilon)\\,dt.$$

tanh is concave above 0 and 0 at 0, so $\\tanh(t\\varepsilon) \\leq 2t\\,\\tanh(\\varepsilon/2)$ for
$t \\geq 1/2$. The integral is then at most

$$\\varepsilon\\,\\tanh\\frac{{\\varepsilon}}{{2}}
\\left((\\alpha-\\frac{{1}}{{2}})^2 - \\frac{{1}}{{4}}\\right)
= \\varepsilon\\,\\tanh\\frac{{\\varepsilon}}{{2}}\\;\\alpha(\\alpha-1),$$

so $D_\\alpha \\leq \\rho\\alpha$ for every $\\alpha > 1$ at once. Its advantage is
$\\tanh(\\varepsilon/2)$. ∎

## The numbers

{table}

- *largest* is the theorem's number. `dp.ZCDP(ρ).advantage()`, which bounds the divergences at
  finitely many orders, is between {least:.4f} and {most:.4f} times as large: this is the limit
  that the suites test attacks against.
- *Gaussian* is the advantage of the Gaussian mechanism at ρ, $2\\Phi(\\sqrt{{\\rho/2}}) - 1$. It is
  smaller: the Gaussian mechanism is not the worst.
- *Pinsker* is $\\sqrt{{\\rho/2}}$, from the same Kullback–Leibler divergence by
  Pinsker's inequality; it says nothing from ρ = 2 on.
- *(ε, δ)* is the smallest bound by way of (ε, δ)-DP:
  $\\frac{{e^\\varepsilon - 1 + 2\\delta}}{{e^\\varepsilon + 1}}$
  with $\\delta = \\exp(-\\frac{{(\\varepsilon-\\rho)^2}}{{4\\rho}})$, minimised over ε.

## P-COQS itself

On the worst pair that is known for its released threshold (n = {n}, α = 0.1, ρ = 0.5; neighbours
by substitution) the total variation distance between the exact output laws, which is the advantage
of the best attack on that pair, is **{own:.4f}**, where {half:.4f} is allowed. It is tested as
`pcoqs.remark-5`:

```sh
dpcp-audit run --only pcoqs.remark-5 --report html=audit.html
```

The theorem is about one release. Sets of several queries are computed from one threshold, and
allow no more; a second calibration on the same data adds its ρ.
"""


def largest_advantage(rho: float) -> float:
    """Return the largest membership advantage that ρ-zCDP allows: tanh(ε/2) at ε·tanh(ε/2) = ρ.

    Examples
    --------
    >>> round(largest_advantage(0.5), 4)
    0.4791
    """
    epsilon = brentq(lambda each: each * math.tanh(each / 2) - rho, 0.0, rho + 2 * math.sqrt(rho))
    return math.tanh(epsilon / 2)


def pinsker(rho: float) -> float:
    """Return min(1, √(ρ/2))."""
    return min(1.0, math.sqrt(rho / 2))


def gaussian(rho: float) -> float:
    """Return the advantage of the Gaussian mechanism, whose μ is √(2ρ)."""
    return float(2 * ndtr(math.sqrt(rho / 2)) - 1)


def converted(rho: float) -> float:
    """Return the smallest bound on the advantage by way of (ε, δ)-DP."""

    def bound(epsilon: float) -> float:
        delta = math.exp(-(max(0.0, epsilon - rho) ** 2) / (4 * rho))  # Bun and Steinke (2016)
        return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)

    found = minimize_scalar(bound, bounds=(rho, rho + 12 * math.sqrt(rho)), method="bounded")
    return min(1.0, float(found.fun))


def own_advantage(n: int = _N) -> float:
    """Return the total variation distance of P-COQS's output laws on its worst known pair."""
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    return FinitePair(*mechanism.laws(*mechanism.worst_pair(n))).total_variation()


def figure() -> Figure:
    """Return the bounds along ρ."""
    grid = np.geomspace(0.01, 5.0, 60).tolist()
    named = {
        "largest": largest_advantage,
        "Gaussian": gaussian,
        "Pinsker": pinsker,
        "by (ε, δ)": converted,
    }
    return Figure(
        kind=FigureKind.LINES,
        title="The largest membership advantage under ρ-zCDP",
        x_label="ρ",
        y_label="membership advantage",
        series=[
            Series(name=name, x=grid, y=[bound(rho) for rho in grid])
            for name, bound in named.items()
        ],
        log_x=True,
        description="The exact maximum over all mechanisms and attacks, the Gaussian mechanism's "
        "advantage, and two other bounds, along ρ.",
    )


def page() -> str:
    """Return the page as Markdown."""
    exact = {rho: largest_advantage(rho) for rho in BUDGETS}
    ratios = [ZCDP(rho).advantage() / exact[rho] for rho in BUDGETS]
    rows = [
        f"| {rho:g} | {exact[rho]:.4f} | {gaussian(rho):.4f} | {pinsker(rho):.4f} | "
        f"{converted(rho):.4f} |"
        for rho in BUDGETS
    ]
    head = ["| ρ | largest | Gaussian | Pinsker | (ε, δ) |", "|--:|--:|--:|--:|--:|"]
    return _TEXT.format(
        half=exact[0.5],
        least=min(ratios),
        most=max(ratios),
        own=own_advantage(),
        n=_N,
        table="\n".join([*head, *rows]),
    )


def main() -> None:
    """Write the page and its figure."""
    PAGE.write_text(page(), encoding="utf-8")
    FIGURE.write_text(figure_svg(asdict(figure())), encoding="utf-8")


if __name__ == "__main__":
    main()
