"""``dp_audit.proved``: a proof for every input, or a failure that shows where it stops."""

from __future__ import annotations

import pytest
from support.plugin_files import run

pytest_plugins = ["pytester"]

PROVED = """
import numpy as np
from dpcp_audit import PureDP, ZCDP

def enough(scores, *, rng):
    return np.count_nonzero(scores <= 0.5) + rng.normal(0, 1)

def less(scores, *, rng):
    return np.count_nonzero(scores <= 0.5) + rng.normal(0, 0.9)

def test_enough(dp_audit):
    assert dp_audit.proved(enough, ZCDP(0.5), n=20).verdict == "PROVED"

def test_less(dp_audit):
    dp_audit.proved(less, ZCDP(0.5), n=20)

def test_vectorised(dp_audit):
    dp_audit.proved(mean, PureDP(1.0), n=20, vectorised=True)
"""


@pytest.mark.known_bad
def test_a_proof_passes_and_a_failure_names_the_line_and_the_remedy(pytester) -> None:
    result = run(pytester, tests=PROVED)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "less: Not proved for every input: test_it.py:*: the source proves*",
            "*ρ ≤ 0.617284, but ρ ≤ 0.5 is claimed. Hint: σ ≥ 1 would prove it.",
            "  test      test_it.py:*",
            "  claim     less is 0.5-zCDP, where one record is replaced by another.",
            "  line      test_it.py:*: return *rng.normal(0, 0.9)",
            "  source, line by line:",
            "  *return *rng.normal(0, 0.9)",
            "        # *; costs ρ*",
            "test_it.py:*: mean is not proved for every input: it takes Python functions of one*",
            "INCONCLUSIVE test_it.py::test_less*",
            "    Not proved for every input: test_it.py:*",
        ]
    )
