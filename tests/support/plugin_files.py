"""Test files for inner sessions of pytest, and what those sessions found."""

from __future__ import annotations

import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

import matplotlib.backends.backend_svg  # loaded once, as below: two copies would not mix
import matplotlib.figure  # noqa: F401

# loaded once, not in each inner session
import dpcp_audit.faces.pytest_plugin.fixture
import dpcp_audit.faces.pytest_plugin.session  # noqa: F401

if TYPE_CHECKING:
    import pytest

PLUGIN = "dpcp_audit.faces.pytest_plugin.hooks"
_INSTALLED = any(entry.value == PLUGIN for entry in metadata.entry_points(group="pytest11"))
ARGUMENTS = ("-p", "no:randomly", "-p", "no:cacheprovider", *(() if _INSTALLED else ("-p", PLUGIN)))
TARGETS = """
import os
import numpy as np, pytest
from dpcp_audit.words.guarantees import LocalDP, PureDP

SCALE = float(os.environ.get("NOISE", "1"))

def mean(scores, size, *, rng, scale=1.0):
    return np.mean(scores) + rng.laplace(scale=scale * SCALE / len(scores), size=size)

def halved(scores, size, *, rng):
    return mean(scores, size, rng=rng, scale=0.5)

def conformal(scores, *, rng):
    r = int(np.ceil(0.9 * (len(scores) + 1)))
    return np.inf if r > len(scores) else float(np.sort(scores)[r - 1])

def uncorrected(scores, *, rng):
    return float(np.sort(scores)[int(np.ceil(0.8 * len(scores))) - 1])

def flip(values, *, rng):
    return np.where(rng.random(values.shape) < 0.7, values, 1 - values)

SIZE = {"n": 100, "vectorised": True, "draws": 4000}
"""
PRIVATE = """
def test_private(dp_audit):
    dp_audit.private(mean, PureDP(1.0), **SIZE)
"""
DETECTING = PRIVATE.replace("**SIZE", "**SIZE | {'draws': 30_000, 'trace': False}")
"""With as many draws as the power asked for takes."""
FLIPPED = """
def test_flipped(dp_audit):
    dp_audit.local(flip, LocalDP(1.0), domain=2, vectorised=True, draws=4000, trace=False)
"""
HALVED = """
def test_halved(dp_audit):
    dp_audit.private(halved, PureDP(1.0), **SIZE)
"""
UNTRACED = HALVED.replace("**SIZE", "**SIZE, trace=False")


def run(pytester: pytest.Pytester, *arguments: str, tests: str = "") -> pytest.RunResult:
    """Write the tests, where there are any, and run a session in this process."""
    if tests:
        pytester.makepyfile(test_it=TARGETS + tests)
    return pytester.runpytest_inprocess(*ARGUMENTS, *arguments)


def findings(pytester: pytest.Pytester, file: str = "found.json") -> dict[str, dict[str, Any]]:
    """Return the findings of a written report by their ids, but for what time they took."""
    document = json.loads((pytester.path / file).read_text(encoding="utf-8"))
    return {f["id"]: {k: v for k, v in f.items() if k != "seconds"} for f in document["findings"]}
