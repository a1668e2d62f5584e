"""``dpcp-audit new-claim``: a file that tests what a paper claims, to be filled in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpcp_audit.words.errors import UsageError, write_whole

if TYPE_CHECKING:
    import argparse

    from dpcp_audit.faces.cli.arguments import Commands


TEMPLATE = '''\
"""What PAPER claims of its mechanism, tested: run ``python FILE`` or ``pytest FILE``.

Replace the mechanism, the claims and the words of the paper by yours.
"""

from __future__ import annotations

import dpcp_audit as dp
import numpy as np

EPSILON, ALPHA = 1.0, 0.1
GRID = np.linspace(0.0, 1.0, 101)


def private_threshold(scores: np.ndarray, *, rng: np.random.Generator) -> float:
    """Return a threshold for sets that cover 1 - ALPHA, by the exponential mechanism on a grid.

    One changed score moves each rank by at most 1, so that noise of scale 2 / EPSILON suffices;
    the rank aimed at is higher than 1 - ALPHA asks for, to make up for the noise.
    """
    n = len(scores)
    aim = (1 - ALPHA) * (n + 1) + 8 / EPSILON
    ranks = np.searchsorted(np.sort(scores), GRID, side="right")
    quality = -np.abs(ranks - aim) + rng.gumbel(scale=2 / EPSILON, size=len(GRID))
    return float(GRID[np.argmax(quality)])


def privacy() -> dp.Result:
    """Test the privacy that the paper claims: of every input, whatever its law."""
    return dp.audit(
        private_threshold,
        dp.PureDP(EPSILON),  # dp.ZCDP(rho), dp.ApproxDP(epsilon, delta), dp.LocalDP(epsilon), ...
        neighbours="substitution",
        n=200,
        paper="PAPER",
        theorem="Theorem 1",
    )


def coverage() -> dp.Result:
    """Test the coverage that the paper claims, under its hypotheses."""
    return dp.audit(
        private_threshold,
        dp.Coverage(0.85),  # dp.Coverage(0.85, confidence=0.95): for 95 % of calibrations
        alpha=ALPHA,
        n=200,
        paper="PAPER",
        theorem="Theorem 2",
        hypotheses="exchangeable scores in [0, 1]",
    )


CLAIMS = {"privacy": privacy, "coverage": coverage}


def test_no_claim_is_refuted() -> None:
    """Fail where a claim is refuted, or cannot be tested; the message says on which inputs."""
    for test in CLAIMS.values():
        for claim in test():
            assert claim.verdict not in {dp.Verdict.REFUTED, dp.Verdict.ERROR}, claim


if __name__ == "__main__":
    for name, test in CLAIMS.items():
        found = test()
        print(found, found.report(f"{name}.md"), found.report(f"{name}.json"), sep="\\n")
'''


def add_parser(commands: Commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser("new-claim", allow_abbrev=False)
    parser.add_argument(
        "file", type=Path, metavar="FILE.py", help="the file to write; it must not exist yet"
    )
    parser.add_argument(
        "--paper", default="my paper", metavar="TITLE", help="the paper (default: %(default)s)"
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Write the file, and say how it is run."""
    path: Path = options.file
    if path.suffix != ".py" or path.exists() or not path.parent.is_dir():
        raise UsageError(
            f"FILE.py must be a new Python file in a folder that exists, got {str(path)!r}",
            hint="dpcp-audit new-claim test_my_paper.py",
        )
    if not options.paper.isprintable() or set(options.paper) & set("\\\"'"):
        raise UsageError(
            f"--paper must be a title without quotes, got {options.paper!r}",
            hint="edit the title in the file",
        )
    text = TEMPLATE.replace("PAPER", options.paper).replace("FILE", path.name)
    write_whole(path, text)
    print(f"{path}: run it by 'python {path.name}', or as a test by 'pytest {path.name}'")
    return 0
