"""The page of figures, and the file in which they are kept between runs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.performance.measured_number import Measured
from benchmarks.performance.studies import STUDIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
KEPT, PAGE = ROOT / "benchmarks" / "performance" / "measured.json", ROOT / "docs" / "performance.md"
_HEAD = """\
# What it costs

Written by `python -m benchmarks --write`, which measures anew (`--only STUDY` one part) and keeps
the figures in `benchmarks/performance/measured.json`. All are processor time, of all processes,
the least of several, on two cores shared with other work, where a program takes up to half as
long again as on a quiet machine. Ratios have both sides in one process: `--check` exits with 1
where one of them misses what is wanted.

"""
_COLUMNS = """\
| what | measured | wanted | limit | on |
|---|---|---|---|---|
"""
_TAIL = """
## Limits

- *Samples.* No test can certify 90 % of ε at 95 % with fewer samples of each input than the
  Kullback–Leibler divergence allows: 976 for Laplace noise at ε = 1, 598 for 10-ary randomised
  response at ε = 2. What our auditors need, and the peers that pip has, on the same samples, is in
  `benchmarks/README.md`.
- *Random draws.* A trial cannot take less than its random numbers. P-COQS's trial has one
  normal and one binomial draw a round.
- *Memory.* The exact law reads the scores that its midpoints fall between, not all of them; what
  it reads of all is whether they are sorted.

## How cost grows

- *With n.* A P-COQS trial and an LDP-CP-L trial cost the same at any n. The latter draws counts
  of users and reports that are alike at the thresholds whose answer is open: the fewer, the more
  users there are, and at most the pool's users times labels.
- *With the number of claims.* Checks of one config share one start. Each takes a process of its
  own, forked from one that has imported what it needs.
- *With workers.* The suite of papers is bound by its longest check: beyond a dozen workers more of
  them buy nothing. Checks that are known to take longest are handed out first, by a list that
  stands with the suite. Dask's scheduler hands out about 200 chunks a second (4.9 ms each), so
  1,000 workers are kept busy by chunks of 10 s, and wait for it where a chunk takes less than 5 s.
  Two workers on one machine import scikit-learn and dp-accounting twice and fill caches of their
  own, 1.6 s in all, which weighs more the less the suite itself takes.
  Results do not depend on any of that.

## Beside the public code

The authors' code is not on the package index, so this command does not run it. Measured on
2026-11-23 in one process, the least of several, for one quantile of 2,400 scores at α = 0.1:

| mechanism | public code | ours, one call | ours, a draw of 20,000 |
|---|---|---|---|
| P-COQS, ρ = 0.5: `PrivQuant` of [SMAC-Group/pcoqs][pcoqs] | 5.9 ms | 0.35 ms | 1.1 µs |
| ExponQ, ε = 1, its search included: [private_prediction_sets][exponq] | 694 ms | 0.85 ms | |
| HistLap, ε = 1: `dp_quantile_noisy_hist` of SMAC-Group/pcoqs | 0.041 ms | 0.055 ms | |

P-COQS's code counts the scores one by one in each round; ExponQ's sums the mass of up to 10⁶ edges
for each of 100 pairs (m, γ), where ours sums runs of edges that hold no score
(`benchmarks/reproduce.py` compares the two forms on the same draws: they settle on the same pair).

Rows of `--only workers`, `training`, `tables`, `canaries` and `peers` (which needs `jax-privacy`)
stand in the table once they were run.

[pcoqs]: https://github.com/SMAC-Group/pcoqs/tree/8845977
[exponq]: https://github.com/aangelopoulos/private_prediction_sets/tree/89a25ca
"""


def keep(study: str, rows: Sequence[Measured]) -> None:
    """Keep what a study has measured, beside the others."""
    written = {name: [asdict(row) for row in each] for name, each in kept().items()}
    today = datetime.now(UTC).date().isoformat()
    written[study] = [asdict(replace(row, on=today)) for row in rows]
    KEPT.write_text(json.dumps(written, indent=1) + "\n")


def kept() -> dict[str, list[Measured]]:
    """Return what has been measured, by study."""
    read: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {name: [Measured(**row) for row in rows] for name, rows in read.items()}


def page(measured: Mapping[str, Sequence[Measured]]) -> str:
    """Return the page."""
    rows = [row for study in STUDIES for row in measured.get(study, ())]
    return _HEAD + _missed(rows) + _COLUMNS + "\n".join(map(line, rows)) + "\n" + _TAIL


def _missed(rows: Sequence[Measured]) -> str:
    """Return which targets are missed, by name."""
    aimed = [row for row in rows if row.at_most is not None or row.at_least is not None]
    names = "".join(f"- {row.name}\n" for row in aimed if not row.met)
    count = sum(not row.met for row in aimed)
    return f"**{count} of {len(aimed)} targets are missed.**\n\n{names}\n" if count else ""


def line(row: Measured) -> str:
    """Return a row of the table."""
    missed = "" if row.met else " **missed**"
    wanted = "" if row.at_most is None else f"at most {row.at_most:.4g}"
    wanted = wanted if row.at_least is None else f"at least {row.at_least:.4g}"
    return (
        f"| {row.name} | {row.value:.3g} {row.unit}{missed} | {wanted} | {row.limit} | {row.on} |"
    )
