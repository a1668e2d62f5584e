"""What holds for every target, specification and answer."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.messages import require_line_and_hint

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.targets import (
    Kind,
    RandomStyle,
    Target,
    TargetError,
    TargetSpec,
)

NAMES = st.text("abcdefgh_", min_size=1, max_size=6).filter(str.isidentifier)
NUMBERS = st.floats(allow_nan=False, width=64)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FINITE | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
JUNK = st.one_of(
    st.none(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.lists(st.floats()),
    st.tuples(st.floats()),
    st.booleans(),
    st.just(float("nan")),
)
ECHO = """
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(json.dumps({"id": r["id"], "values": r["options"]["values"]}), flush=True)
"""


def restored(spec: TargetSpec) -> TargetSpec:
    """Return what a results document keeps of a target, read again."""
    data = json.loads(json.dumps(spec.as_data()))
    return CheckSpec.from_data(data | {"pure-dp": [1.0]}).target


@given(
    kind=st.sampled_from(Kind),
    where=NAMES.map(lambda name: f"{name}:f") | NAMES.map(lambda name: f"a b/{name}.py:C.f"),
    vectorised=st.booleans(),
    randomness=st.none() | st.sampled_from(RandomStyle),
    bounds=st.tuples(st.floats(-1e6, 0), st.floats(1e-6, 1e6)),
    domain=st.integers(2, 1000),
    options=st.dictionaries(NAMES.map("x_{}".format), JSON, max_size=3),
)
def test_a_specification_survives_json(
    *, kind, where, vectorised, randomness, bounds, domain, options
) -> None:
    spec = TargetSpec(
        kind=kind,
        target=where,
        vectorised=vectorised,
        randomness=randomness,
        bounds=bounds,
        domain={Kind.RANDOMIZER: domain, Kind.PREDICTOR: 3}.get(kind),  # classes of its data
        options=options,
    )
    assert restored(spec) == spec


@given(words=st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_a_command_survives_json(words) -> None:
    spec = TargetSpec(kind=Kind.QUANTILE, command=tuple(words))
    assert restored(spec) == spec


@given(numbers=st.lists(NUMBERS, min_size=1, max_size=8))
def test_numbers_pass_unchanged(numbers) -> None:
    one_by_one = iter(numbers)
    scores, rng, size = np.zeros(1), np.random.default_rng(0), len(numbers)
    plain = Target.from_callable(lambda scores: next(one_by_one), kind=Kind.QUANTILE)
    assert plain(scores, size, rng=rng).tolist() == numbers
    many = Target.from_callable(
        lambda scores, *, size: numbers, kind=Kind.QUANTILE, vectorised=True
    )
    assert many(scores, size, rng=rng).tolist() == numbers


@given(answer=JUNK, vectorised=st.booleans())
def test_junk_is_one_line_that_names_the_target(answer, vectorised) -> None:
    def junk(scores, *, size=1) -> object:
        return answer

    target = Target.from_callable(junk, kind=Kind.QUANTILE, vectorised=vectorised)
    if vectorised and isinstance(answer, list) and len(answer) == 3 and not np.isnan(answer).any():
        return
    with pytest.raises(TargetError) as caught:
        target(np.zeros(1), 3, rng=np.random.default_rng(0))
    assert "junk" in str(caught.value)
    require_line_and_hint(str(caught.value))


@given(values=st.lists(st.integers(0, 6), min_size=1, max_size=20), shift=st.integers(0, 6))
def test_every_value_has_its_report_in_place(values, shift) -> None:
    def shifted(value, *, rng) -> object:
        return (value + shift) % 7

    expected = [(value + shift) % 7 for value in values]
    for vectorised in (False, True):
        target = Target.from_callable(
            shifted, kind=Kind.RANDOMIZER, domain=7, vectorised=vectorised
        )
        reports = target.each(values, rng=np.random.default_rng(0))
        assert reports.tolist() == expected


@settings(max_examples=15)
@given(numbers=st.lists(FINITE | st.sampled_from(["inf", "-inf"]), min_size=1, max_size=8))
def test_numbers_pass_a_pipe_unchanged(numbers) -> None:
    spec = TargetSpec(
        kind=Kind.QUANTILE,
        command=(sys.executable, "-I", "-S", "-c", ECHO),
        options={"values": numbers},
    )
    with spec.open() as target:
        outputs = target(np.zeros(1), len(numbers), rng=np.random.default_rng(0))
    assert outputs.tolist() == [float(number) for number in numbers]
