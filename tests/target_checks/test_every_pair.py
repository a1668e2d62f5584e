"""Laws of all values are a proof where the code is known and keeps no state."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcp_audit.checks import Context
from dpcp_audit.guarantees import LocalDP
from dpcp_audit.options import dashed
from dpcp_audit.results import EvidenceKind, Verdict
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.every_pair import EveryPair
from dpcp_audit.target_checks.trace_rows import TargetTrace
from dpcp_audit.target_checks.traced_calls import traced_target
from dpcp_audit.targets import Kind, TargetSpec

CODE = """
import math, time
import numpy as np

CALLS = []

def response(value, *, rng):
    return value if rng.random() < 0.5 else int(rng.integers(2))

def clocked(value, *, rng):
    return value if time.gmtime().tm_year > 2999 else response(0, rng=rng)

def counted(value, *, rng):
    CALLS.append(value)
    return value if len(CALLS) > 10**6 else response(0, rng=rng)

def told(value, *, rng):
    return 1.0 + response(0, rng=rng) + value * 1e-13

def typed(value, *, rng):
    return (True if value else 1) if rng.random() < 0.5 else 0

def signed(value, *, rng):
    return -0.0 if value and rng.random() < 0.5 else 0.0 * response(0, rng=rng)
"""


@pytest.fixture
def judged(tmp_path) -> Any:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")

    def judge(name) -> Any:
        target = TargetSpec(kind=Kind.RANDOMIZER, target=f"{tmp_path}/mine.py:{name}", domain=2)
        spec = CheckSpec.of(target, [LocalDP(1.2)], {"name": name, "draws": 600}, spell=dashed)
        check = TargetTrace(spec=spec, guarantee=LocalDP(1.2))
        return check(Context(seed=0, name=name, significance=1e-6))

    return judge


def test_known_code_is_proved(judged) -> None:
    found = judged("response")
    assert found.verdict is Verdict.PROVED
    assert found.evidence.value == pytest.approx(math.log(3))


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("clocked", "mine.py:11: time is used"),
        ("counted", "keeps a state between its calls"),
        ("told", "by no more than rounding"),
        ("typed", "or in type"),
        ("signed", "or in type"),
    ],
)
def test_what_is_not_known_is_exact_and_no_proof(judged, name, says) -> None:
    """Each shows the value where no draw that is enumerated does."""
    found = judged(name)
    assert found.verdict is not Verdict.PROVED
    assert found.proof is None
    assert found.evidence.kind is EvidenceKind.EXACT
    assert says in found.note


def test_many_values_are_not_listed_in_pairs(tmp_path) -> None:
    """A million values have 5·10¹¹ pairs."""
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    target = TargetSpec(kind=Kind.RANDOMIZER, target=f"{tmp_path}/mine.py:response", domain=10**6)
    spec = CheckSpec.of(target, [LocalDP(1.2)], {"name": "many", "draws": 600}, spell=dashed)
    with target.open() as opened:
        assert EveryPair.of(spec, LocalDP(1.2), traced_target(opened)) is None
