"""What a first verdict costs: processor time of checks over that of a bare import.

``python benchmarks/startup.py [--check]``. The bare import is ``python -c "import numpy,
scipy.special"``; both sides count all processes that they start, and the least of a few is taken.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

_TARGET = """\
import numpy as np


def quantile(scores, *, rng):
    return float(np.quantile(scores, 0.9))
"""
_CHECK = """\
[[check]]
name = "quantile-{number}"
target = "mine.py:quantile"
kind = "quantile"
zcdp = 0.5
draws = 2048
"""
_BARE = ("-c", "import numpy, scipy.special")
_RUN = ("-m", "dpcp_audit", "check")
_ONE = (*_RUN, "mine.py:quantile", "--kind", "quantile", "--zcdp", "0.5", "--draws", "2048")
_MANY = (*_RUN, "--config", "checks.toml")
_CHECKS = 18
_LARGEST = {"one check": 7.0, "eighteen checks": 60.0}


def seconds(arguments: tuple[str, ...], folder: Path) -> float:
    """Return the processor time of a Python process and all that it started and waited for."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603  (this package)
    return spent() - before


def main() -> int:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 where one is too large")
    parser.add_argument("--repeats", type=int, default=3, help="of which the least time is taken")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(_TARGET)
        checks = "\n".join(_CHECK.format(number=number) for number in range(_CHECKS))
        (folder / "checks.toml").write_text(checks)
        commands = {"bare import": _BARE, "one check": _ONE, "eighteen checks": _MANY}
        least = {
            what: min(seconds(arguments, folder) for _ in range(options.repeats))
            for what, arguments in commands.items()
        }
    missed = False
    for what, largest in _LARGEST.items():
        ratio = least[what] / least["bare import"]
        missed |= ratio > largest
        print(f"{what}: {least[what]:.2f} s, {ratio:.1f} bare imports (at most {largest:g})")
    return int(options.check and missed)


if __name__ == "__main__":
    sys.exit(main())
