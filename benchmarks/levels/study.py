"""Measure how often every auditor refutes true claims, and write the page of results.

    python benchmarks/levels/study.py [--jobs 2] [--only 'score test*'] [--counts levels.ndjson]

What is counted is kept in the file ``--counts``, chunk by chunk: a study that was stopped goes on
where it was, and one of changed code starts with another file. Exits with 1 where a level is
exceeded by more than so many repetitions can explain.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from case_catalogue import level_cases
from joblib import Parallel, delayed
from levels_page import LEVEL, holds, page
from study_counts import StudyChunk, keep, kept, missing, planned, tallies

from dpcp_audit.engine.suites import matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from level_case import LevelCase


def counted(chunk: StudyChunk) -> StudyChunk:
    """Run the repetitions of a chunk."""
    trial = level_cases()[chunk.name].trial
    seeds = range(chunk.first, chunk.first + chunk.count)
    refuted = sum(trial(seed, level=LEVEL, twice=chunk.twice) for seed in seeds)
    return replace(chunk, refuted=refuted)


def run(chunks: Iterable[StudyChunk], path: Path, jobs: int) -> None:
    """Run chunks and keep each as it ends."""
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for chunk in parallel(delayed(counted)(chunk) for chunk in chunks):
        keep(path, chunk)
        print(
            f"{chunk.name}{' (power)' * chunk.twice}: {chunk.refuted} of {chunk.count}", flush=True
        )


def selected(patterns: Sequence[str]) -> dict[str, LevelCase]:
    """Return the cases whose names match."""
    cases = level_cases()
    return {name: cases[name] for name in matching(patterns, list(cases), what="case")}


def main() -> int:
    """Run what is missing, and write the page of all that is known."""
    parser = argparse.ArgumentParser(description="The levels of all auditors, measured.")
    parser.add_argument("--repetitions", type=int, default=2000, help="at equality")
    parser.add_argument("--detections", type=int, default=200, help="at twice the loss")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="run the cases that match"
    )
    parser.add_argument("--counts", type=Path, default=Path("levels.ndjson"))
    parser.add_argument("--page", type=Path, default=Path("docs/levels.md"))
    options = parser.parse_args()
    plan = list(planned(selected(options.only), options.repetitions, options.detections))
    run(missing(plan, kept(options.counts)), options.counts, options.jobs)
    cases, found = level_cases(), tallies(kept(options.counts))
    options.page.write_text(page(cases, found, repetitions=options.repetitions), "utf-8")
    return int(not holds(cases, found))


if __name__ == "__main__":
    sys.exit(main())
