"""Small random programs: a trace shows what an untraced run does, and its replay is the same.

Hypothesis writes programs for a machine with a stack: arithmetic, functions of Python and NumPy
that keep or read a noisy number, comparisons that branch, containers and conversions.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpcp_audit.tracing.draws import NeedsValuesError, TraceEnd, UnfollowableError
from dpcp_audit.tracing.outputs import atoms_of, pair_of, rounded_output, same_atoms, without_marks
from dpcp_audit.tracing.path_likelihood import log_likelihoods
from dpcp_audit.tracing.path_losses import require_replay
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import ForcedRun, release_law
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS: dict[str, Callable[..., Any]] = {
    "normal": lambda rng, _: rng.normal(),
    "laplace at data": lambda rng, a: rng.laplace(a, 2.0),
    "uniform": lambda rng, _: rng.uniform(-1, 1),
    "gumbel": lambda rng, _: rng.gumbel(),
    "logistic": lambda rng, _: rng.logistic(),
    "geometric": lambda rng, _: rng.geometric(0.4),
    "integers": lambda rng, _: int(rng.integers(3)),
    "choice": lambda rng, a: rng.choice([a, 1.0, 2.0], p=[0.2, 0.3, 0.5]),
    "coin": lambda rng, _: 1.0 if rng.random() < 0.3 else 2.0,
    "vector": lambda rng, a: (a + rng.normal(size=3)).sum(),
    "bits": lambda rng, a: np.where(rng.random(3) < 0.4, a, 1).sum(),
    "peak": lambda rng, a: int(np.argmax(np.array([a, 0, 1]) + rng.laplace(size=3))),
    "spawned": lambda rng, a: a + np.random.default_rng(rng).normal(),
}
ONE: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "round": lambda a: round(a, 1),
    "abs": abs,
    "negative": lambda a: -a,
    "exp": lambda a: math.exp(min(a, 3)),
    "floor": math.floor,
    "np.round": lambda a: np.round(a, 1),
    "np.tanh": np.tanh,
    "asarray": lambda a: np.asarray(a).item(),
    "array": lambda a: np.array([a, 1.0]).mean(),
    "format": lambda a: float(f"{a:.3f}"),
    "str": lambda a: float(str(a)),
    "json": lambda a: json.loads(json.dumps(float(a))),
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),  # noqa: S301  (its own)
    "copy": copy.deepcopy,
    "key": lambda a: next(iter({a: 1})),
    "set": lambda a: sum({a, 0.5}),
    "isfinite": lambda a: a * bool(np.isfinite(a)),
    "clip": lambda a: np.clip(a, -0.5, 0.5),
    "positive": lambda a: a if a > 0 else 0.25,
    "truth": lambda a: 1 if a else 2,
    "floordiv": lambda a: a // 0.7,
    "mod": lambda a: a % 0.7,
    "square": lambda a: a**2,
    "hypot": lambda a: math.hypot(a, 1),
    "float64": np.float64,
    "is_integer": lambda a: float(a).is_integer(),
    "half": lambda a: a / 2,
    "np.sin": np.sin,
    "stack": lambda a: np.concatenate([np.atleast_1d(a), [1.0]])[0],
}
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "min": min,
    "max": max,
    "sum": lambda a, b: sum([a, b, 1]),
    "fsum": lambda a, b: math.fsum([a, b]),
    "sorted": lambda a, b: sorted([a, b, 0])[1],
    "np.sort": lambda a, b: np.sort([a, b])[1],
    "np.sort array": lambda a, b: np.sort(np.array([a, b]))[1],
    "quantile": lambda a, b: np.quantile([a, b], 0.3),
    "median": lambda a, b: statistics.median([a, b, 0]),
    "maximum": np.maximum,
    "argmax": lambda a, b: np.argmax([a, b, 0.1]),
    "cumsum": lambda a, b: np.cumsum([a, b])[-1],
    "where": lambda a, b: np.where(np.array([a, b]) > 0, a, 1.5)[1],
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "index": lambda a, b: [a, b, a].index(b),
    "branch": lambda a, b: a if a < b + 0.2 else b - 1,
    "np.mean": lambda a, b: np.mean([a, b]),
    "dot": lambda a, b: np.dot(np.array([a, b]), np.array([1.0, 2.0])),
    "searchsorted": lambda a, b: np.searchsorted([-1.0, 0.0, 1.0], a + b),
}
FINITE = ("integers", "choice", "coin", "bits", "peak")


def programs(draws) -> Any:
    """Return lists of steps, each with the places of the numbers that it takes."""
    names = st.sampled_from([*draws, *draws, *ONE, *TWO])
    return st.lists(st.tuples(names, st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=9)


def run(x, *, rng, program) -> Any:
    stack = list(x)
    for name, first, second in program:
        a, b = stack[first % len(stack)], stack[-1 - second % len(stack)]
        if name in DRAWS:
            stack.append(DRAWS[name](rng, float(x[0])))
        else:
            stack.append(ONE[name](a) if name in ONE else TWO[name](a, b))
    return stack[len(x) :]


def untraced(program, x, seed) -> Any:
    try:
        with np.errstate(all="ignore"):
            return atoms_of(run(x, rng=np.random.default_rng(seed), program=program), ("", 0))
    except (ArithmeticError, TypeError, ValueError):
        return None


def path_of(target, x, seed) -> Any:
    """Return a path and its output; None where it cannot be followed."""
    for values in (False, True):
        path = SampledRun(values=values)
        try:
            return path, target.outputs(x, path, np.random.default_rng(seed))
        except NeedsValuesError:
            continue
        except UnfollowableError:
            return None
    return None


@example(program=[("geometric", 0, 0), ("pickle", 2, 0)], seed=0)
@example(program=[("normal", 0, 0), ("geometric", 0, 0), ("pickle", 3, 0)], seed=0)
@given(program=programs(DRAWS), seed=st.integers(0, 1000))
@settings(max_examples=250, deadline=None)
def test_a_trace_shows_what_an_untraced_run_does(program, seed) -> None:
    x = [0.5, -1.25]
    plain = untraced(program, x, seed)
    target = TracedTarget.of(run, {"program": program})
    followed = path_of(target, x, seed)
    if plain is None or followed is None:
        return
    path, output = followed
    assert same_atoms(without_marks(output), without_marks(plain), 1e-9), (output, plain)
    again = ForcedRun(path.seen, values=path.values)
    assert same_atoms(target.outputs(x, again, np.random.default_rng(seed + 1)), output, 1e-6)
    try:
        losses = log_likelihoods(path) - log_likelihoods(again)
    except NeedsValuesError:
        return
    assert np.abs(losses).max(initial=0.0) < 1e-6


@given(program=programs(FINITE), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_an_enumerated_law_is_that_of_the_outputs(program, seed) -> None:
    """Every output of an untraced run has a positive probability, and all add up to 1."""
    x = [0.5, -1.25]
    target = TracedTarget.of(run, {"program": program})
    plain = untraced(program, x, seed)
    if plain is None:
        return
    try:
        require_replay(target, x, seed)
        law = release_law(target, x, most=200)
    except TraceEnd:
        return
    assert math.fsum(map(math.exp, law.values())) == pytest.approx(1, abs=1e-9)
    pair = pair_of(law, {rounded_output(plain): 0.0})
    assert np.isfinite(pair.law.log_mass[np.isfinite(pair.neighbour_law.log_mass)]).all()
