"""Measure what the package costs, and write docs/performance.md.

python -m benchmarks [--only STUDY] [--write] [--check]

Without ``--only`` the studies of a minute or so are run, about ten minutes in all; workers,
training, tables and canaries take one to five minutes each and run where they are named.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.performance.measured_number import Measured
from benchmarks.performance.page import PAGE, keep, kept, line, page
from benchmarks.performance.studies import LONG, STUDIES


def main() -> int:
    """Print the figures; return 1 where ``--check`` is given and a ratio is not as wanted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(STUDIES), metavar="STUDY")
    parser.add_argument("--write", action="store_true", help="keep the figures, write the page")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a ratio is missed")
    options = parser.parse_args()
    missed = False
    for name in options.only or [study for study in STUDIES if study not in LONG]:
        rows = list[Measured]()
        for row in STUDIES[name]():
            print(line(row), flush=True)
            rows.append(row)
            missed |= row.unit == "times" and not row.met
        if options.write and rows:
            keep(name, rows)
    if options.write:
        PAGE.write_text(page(kept()), encoding="utf-8")
    return int(options.check and missed)


if __name__ == "__main__":
    sys.exit(main())
