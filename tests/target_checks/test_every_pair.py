"""Laws of all values are a proof where the code is known and keeps no state."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.loss_rows import TargetTrace
from dpcp_audit.target_checks.trace_search import _EveryPair, traced_target
from dpcp_audit.targets import Kind, TargetSpec
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import LocalDP
from dpcp_audit.words.options import dashed
from dpcp_audit.words.results import EvidenceKind, Verdict

CODE = """
import dataclasses, math, time
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

def sized(value, *, rng):
    return np.int32(response(0, rng=rng)) if value else np.int64(response(0, rng=rng))

def sized_twin(value, *, rng):
    return np.int64(response(value, rng=rng)) if value else np.int64(response(0, rng=rng))

def laid_out(value, *, rng):
    table = np.full((2, 2), response(0, rng=rng))
    return np.asfortranarray(table) if value else table

def laid_out_twin(value, *, rng):
    return np.asfortranarray(np.full((2, 2), response(value, rng=rng)))

def named(value, *, rng):
    return np.array([(response(0, rng=rng),)], dtype=[("b" if value else "a", int)])

class Whole(int):
    pass

@dataclasses.dataclass
class Held:
    bit: int

def hidden(value, *, rng):
    held = Held(response(0, rng=rng))
    held.note = value
    return held

def hidden_twin(value, *, rng):
    return Held(response(value, rng=rng))

def counted_int(value, *, rng):
    found = Whole(response(0, rng=rng))
    found.note = value
    return found

def masked(value, *, rng):
    return np.ma.array([response(0, rng=rng)], mask=[bool(value)])

def masked_twin(value, *, rng):
    return np.ma.array([response(value, rng=rng)], mask=[False])

def complexly(value, *, rng):
    return complex(response(0, rng=rng), -0.0 if value else 0.0)

def unshuffled(value, *, rng):
    first, second = rng.choice(2, 2, replace=False, shuffle=False).tolist()
    return value if first > second else response(value, rng=rng)

def shuffled(value, *, rng):
    first, second = rng.choice(2, 2, replace=False).tolist()
    return response(value, rng=rng) if first > second else int(rng.integers(2))
"""


@pytest.fixture
def judged(tmp_path) -> Any:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")

    def judge(name) -> Any:
        target = TargetSpec(kind=Kind.RANDOMIZER, target=f"{tmp_path}/mine.py:{name}", domain=2)
        spec = CheckSpec.of(target, [LocalDP(1.2)], {"name": name, "draws": 600}, spell=dashed)
        check = TargetTrace(spec=spec, guarantee=LocalDP(1.2), paths=20)
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
        ("clocked", "mine.py:11: gmtime is not known"),
        ("counted", "mine.py:14: a list from outside of the function is changed"),
        ("told", "by no more than rounding"),
    ],
)
def test_what_is_not_known_is_exact_and_no_proof(judged, name, says) -> None:
    """Each shows the value where no draw that is enumerated does."""
    found = judged(name)
    assert found.verdict is not Verdict.PROVED
    assert found.proof is None
    assert found.evidence.kind is EvidenceKind.EXACT
    assert says in found.note


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "name",
    [
        "typed",
        "signed",
        "sized",
        "laid_out",
        "named",
        "hidden",
        "counted_int",
        "masked",
        "complexly",
    ],
)
def test_a_value_that_stands_in_what_is_not_a_number_is_never_private(judged, name) -> None:
    """Its twin, with the same of either value, is proved or exact."""
    assert judged(name).verdict is Verdict.REFUTED


def test_twins_that_tell_no_value_by_their_types_are_within_the_claim(judged) -> None:
    assert judged("sized_twin").verdict is Verdict.PROVED
    for name in ("laid_out_twin", "hidden_twin", "masked_twin"):
        assert judged(name).verdict in {Verdict.PROVED, Verdict.CONSISTENT}, name


@pytest.mark.known_bad
def test_an_order_that_numpy_does_not_shuffle_is_no_law_that_proves(judged) -> None:
    """NumPy's first of two among two is always the same; of 4, it is the smaller one in 3 of 4."""
    assert judged("unshuffled").verdict is not Verdict.PROVED
    assert judged("shuffled").verdict is Verdict.PROVED


def test_many_values_are_not_listed_in_pairs(tmp_path) -> None:
    """A million values have 5·10¹¹ pairs."""
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    target = TargetSpec(kind=Kind.RANDOMIZER, target=f"{tmp_path}/mine.py:response", domain=10**6)
    spec = CheckSpec.of(target, [LocalDP(1.2)], {"name": "many", "draws": 600}, spell=dashed)
    with target.open() as opened:
        assert _EveryPair.of(spec, LocalDP(1.2), traced_target(opened)) is None
