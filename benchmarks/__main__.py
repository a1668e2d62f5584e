"""Measure what the package costs, and write docs/performance.md.

python -m benchmarks [--only STUDY] [--write] [--check]
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.performance.figures import STUDIES, Measured
from benchmarks.performance.page import PAGE, keep, kept, line, page


def main() -> int:
    """Print the figures; return 1 where ``--check`` is given and a ratio is not as wanted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(STUDIES), metavar="STUDY")
    parser.add_argument("--write", action="store_true", help="keep the figures, write the page")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a ratio is missed")
    options = parser.parse_args()
    missed = False
    for name in options.only or STUDIES:
        rows = list[Measured]()
        for row in STUDIES[name]():
            print(line(row), flush=True)
            rows.append(row)
            missed |= row.unit == "times" and not row.met
        if options.write:
            keep(name, rows)
    if options.write:
        PAGE.write_text(page(kept()), encoding="utf-8")
    return int(options.check and missed)


if __name__ == "__main__":
    sys.exit(main())
