"""Measure the improved mechanisms beside the originals, and write the page on them.

Usage: python docs/update_better_mechanisms.py
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from channel_calibration import switch_table
from measured_improvements import (
    ImprovementCase,
    corollary_pairs,
    curator_pairs,
    label_pairs,
    search_pairs,
)

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.laws.populations import Beta, Uniform
from dpcp_audit.reports.formats.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parent / "better_mechanisms.md"
SEED, TRIALS, N = 0, 4000, 1000
LABEL_N, LABEL_TRIALS = 10_000, 1000
_HEAD = "| mechanism | case | noise | mean coverage | P(F(q̂) < 1−α) | mean set size |"
_PAGE = """\
# Better mechanisms, from what the laws show

An exact law says where a mechanism spends less than it may, or covers less than it says. Each
section has the improvement, why it keeps the promise, and both at equal privacy: α = 0.1, {n}
scores unless said otherwise, {trials} calibrations each, seed {seed}. Mean coverage is over
calibrations; its standard error is below 0.005. This page is written by
`docs/update_better_mechanisms.py`.

`dp.calibrate(scores, alpha=0.1, guarantee=dp.ZCDP(0.5))` runs the one that suits a guarantee and n
([how to](howto/calibrate.md)). `dpcp_audit.extensions.mechanisms.calibrators` returns them as
objects, each with the guarantee and the coverage that are proved of it.

## P-COQS with the noise that its exact δ(ε) needs

The threshold shows N bits, no more. Against any neighbour a round's bit has probability Φ(c/σ)
against Φ((c±1)/σ) for some count c, chosen by what came before. The largest δ(ε) of such a game of
N rounds is computed by backward induction over its states, along chords, which lie above it; it
bounds every pair of neighbours, and post-processing gives the threshold. σ is the least at which
that δ(ε) is at most 10⁻⁶: every count is tried, or where there are too many, a polygon outside of
their curve. The original takes the largest ρ whose zCDP alone implies the same (ε, 10⁻⁶). Starred
is Corollary 1 as printed, at β = {failure}; the last row of each ε returns the upper end, as below.
Exact law: `PCOQS.laws`; bound: `extensions.mechanisms.game_delta`. Scores of digits-logistic.

{pcoqs}

## ExponQ with the tight normaliser

The mechanism draws a bin with weight exp(−ε·w/(2·Δ_u)), where Δ_u bounds what a neighbour moves the
utility. A neighbour moves weights *and* their sum, in opposite directions, and the theorem pays for
both in full. `ExponQ.log_ratio_bound` encloses the largest log-ratio over all neighbours: about
half of ε. The nominal ε is raised until the bound is the budget's ε. That is ε-DP by definition,
since the bound is of the mechanism at that nominal ε. Exact law: `ExponQ.laws`. Scores of
digits-logistic.

{exponq}

## LDP-CP-S that returns the upper end of its bracket

Printed, the search returns its last midpoint where no estimate fell into the window, whichever side
it lay on; Theorem 4 therefore needs scores that are admissible for T. The upper end of the last
bracket is 1, or a midpoint whose estimate was above the window. With probability 1−δ all T
estimates err by at most Δ, so that it covers at least 1−α+Δ−Δ: for every law of the scores, for
every T. Privacy is as before: the reports are the same. On over-confident scores, which crowd at 0
and 1, that upper end is 1 and every set holds every label: it refuses where the printed search
falls short. The remedy there is another scale of scores, such as their logarithm
([comparison](comparison.md)). Exact law: `threshold_law`; ε = 4, T = 10, δ = {failure}, starred,
n = 11,080; a law of scores alone has no set size.

{ldpcp}

## LDP-CP-L with NACP's own search

Algorithm 2 stops anywhere in a window of width Δ, so that its sets are larger than need be, and
returns its last midpoint where it met none, which covers too little on scores that Theorem 3 does
not admit. The search of NACP's public code has no window. What it returns has an estimate above its
target, or is 1; Theorem 1, which speaks of any such threshold, gives 1−α+Δ−Δ for every law of the
scores. It begins at 1/2, which is more than confident predictions need; from 0 it covers no more
than asked for, and has Algorithm 2's promise without its hypothesis. Privacy is as before: the
reports are the same. `mechanisms.ldpcp.noise_aware_labels`; ε = 4, T = 14, δ = {failure}, starred,
n = {label_n:,}, {label_trials} calibrations each.

{labels}

## P-COQS that returns the upper end of its bracket

Corollary 1 lowers α by (τ\\* + M(Δ))/(n+1), with the noise that is exceeded with probability β and
the largest number M(Δ) of scores in an interval Δ, which is not public. Where α < τ/(n+1) it runs
at α\\* = 0, and asks for rank n+1 of n scores: noise of either sign decides. The upper end of the
last bracket is b, or had a noisy count of at least the rank r; its true count is at least r − M, M
the largest noise, whatever ties and Δ are. The mean of ⌈r − M⌉/(n+1) over M's law is a lower bound
of the mean coverage for exchangeable scores, without β; r is the lowest rank at which it is 1−α.
Where no rank up to n is, b is returned and every set holds every label: this depends on public
numbers alone. Privacy is as before, since the upper end is post-processing. β = {failure} of the
printed corollary; scores of digits-logistic. Proof and law: `mechanisms.pcoqs.upper_end`; the
printed form is refuted by `pcoqs.corollary-1[coverage=marginal,grid=clamped]`.

{corollary}

## Classes by themselves, and scores without a bound

Remark 6 of P-COQS excludes class-wise coverage. `docs/class_conditional.py` runs a
search for each class at its own rank: 2ρ-zCDP for any number of classes, and Theorem 1 within each,
with its n_y. `PrivatelyBounded`, in `dpcp_ledger.pcoqs.zcdp`, releases a bound b first, for
residuals of regression (Remark 1). Both proofs stand beside the code.

## LDP-CP-L over another channel

With many labels k-RR is not the best channel, but the switch to optimised unary encoding comes
late. Of one label a report says with less noise from about 3e^ε + 2 labels on. The search adds up
reports over all labels that score at most q, and a sum of bits pays for each of them: over sets of
every size the largest variance is smaller from about 14e^ε + 2 labels on, and the mechanism's Δ
(T = 10, δ = 0.1) near 16e^ε at small ε, later at large ε or with fewer users:

{switches}

`docs/channel_calibration.py` has the mechanism over any known channel, its proof, and its
Δ; `ldpcp.open-problem[channel=unary]` in [the ledger](ledger.md) the comparison.
"""


def measured() -> list[ImprovementCase]:
    """Measure all pairs."""
    rng = np.random.default_rng(SEED)
    pool = classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC)
    population, scores = pool.hps_population(), 1 - pool.probabilities
    confident = classifier_pool(Dataset.DIGITS, Classifier.GAUSSIAN_NB)
    laws = (
        ("uniform", Uniform(), None),
        ("digits-logistic", population, scores),
        ("Beta(5, 0.2)", Beta(5.0, 0.2), None),
        ("digits-gaussian-nb", confident.hps_population(), 1 - confident.probabilities),
    )
    return [
        *curator_pairs(n=N, trials=TRIALS, rng=rng),
        *search_pairs(laws, n=11_080),
        *label_pairs((pool, confident), n=LABEL_N, trials=LABEL_TRIALS, rng=rng),
        *corollary_pairs(
            population, scores, ((50, 0.05), (200, 0.05), (2000, 0.5)), trials=TRIALS, rng=rng
        ),
    ]


def page(found: Iterable[ImprovementCase]) -> str:
    """Return the page's text."""
    rows = list(found)
    tables = {pair: _table([row for row in rows if row.pair == pair]) for pair in _PAIRS}
    return _PAGE.format(
        n=N,
        trials=TRIALS,
        seed=SEED,
        failure=0.01,
        label_n=LABEL_N,
        label_trials=LABEL_TRIALS,
        switches=switches(),
        **tables,
    )


def switches() -> str:
    """Return from how many labels on another channel is better, as a table."""
    return "\n".join(markdown_table(asdict(switch_table())))


_PAIRS = ("pcoqs", "exponq", "ldpcp", "labels", "corollary")


def _table(rows: list[ImprovementCase]) -> str:
    lines = [_HEAD, "|:--|:--|:--|--:|--:|--:|"]
    for row in rows:
        size = "–" if np.isnan(row.size) else f"{row.size:.3f}"
        cells = (row.name, row.setting, row.noise, f"{row.coverage:.4f}", f"{row.short:.4f}", size)
        lines.append(f"| {' | '.join(cells)} |".replace("*", "\\*"))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(measured()), encoding="utf-8")
