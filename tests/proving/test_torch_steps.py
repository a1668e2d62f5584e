"""Steps of DP-SGD in PyTorch: proved at exactly the noise that is needed, and no attack is."""

from __future__ import annotations

import math
import subprocess
import sys
import types
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcp_audit as dp
from dpcp_audit.proving import torch_gradients
from dpcp_audit.proving.distances import Records, tokens
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.known_calls import function
from dpcp_audit.proving.paths import Frame

torch = pytest.importorskip("torch")
from proving.attack_functions_torch import ATTACKS  # noqa: E402
from proving.correct_functions import sgd_step  # noqa: E402
from proving.correct_functions_torch import (  # noqa: E402
    RIGHT,
    by_vmap,
    in_steps,
    logistic,
    of_a_lot,
    squared,
)

HALF = dp.ZCDP(0.5)


@pytest.mark.parametrize("step", RIGHT, ids=lambda each: each.__name__)
def test_a_step_is_proved_at_the_noise_that_it_needs_and_at_no_less(step) -> None:
    proof = dp.prove(step, HALF, n=50)
    assert proof.proved, proof.reason
    assert proof.total == pytest.approx(0.5)
    assert not dp.prove(step, HALF, n=50, options={"sigma": 0.99 * 2.0}).proved
    assert not dp.prove(step, HALF, n=50, options={"sigma": 0.0}).proved


@pytest.mark.parametrize("step", RIGHT, ids=lambda each: each.__name__)
def test_a_step_runs_and_draws_from_the_two_generators_alone(step) -> None:
    """The same seeds give the same numbers, and other seeds give other ones."""
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        step_of = step(np.linspace(0, 1, 50), rng=np.random.default_rng(seed))
        found.append(np.asarray(step_of))
    assert np.isfinite(found).all()
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).all()


def test_an_added_record_moves_the_sum_by_the_clip() -> None:
    for claim in (HALF, dp.GaussianDP(1.0)):
        step = {"neighbours": "add-remove"}
        assert dp.prove(of_a_lot, claim, options={"sigma": 1.0}, **step).proved
        assert not dp.prove(of_a_lot, claim, options={"sigma": 0.99}, **step).proved
    proof = dp.prove(of_a_lot, dp.RenyiDP(2.0, 0.1), options={"sigma": 1.0}, **step)
    assert proof.total == pytest.approx(math.log1p(0.01 * math.expm1(1.0)))  # a tenth of them


def test_other_claims() -> None:
    assert dp.prove(by_vmap, dp.GaussianDP(1.0), n=50).total == pytest.approx(1.0)
    assert dp.prove(in_steps, dp.RenyiDP(4.0, 2.0), n=50).total == pytest.approx(2.0)
    delta = (math.erfc(0.5 / math.sqrt(2)) - math.e * math.erfc(1.5 / math.sqrt(2))) / 2
    assert dp.prove(by_vmap, dp.ApproxDP(1.0, 0.13), n=50).total == pytest.approx(delta, rel=1e-3)
    lot = dp.prove(of_a_lot, dp.ApproxDP(1.0, 0.13), n=50)
    assert lot.total < delta / 5  # a tenth of the records


@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row.name)
def test_an_attack_is_stopped_for_its_reason_or_costs_more_than_is_claimed(row) -> None:
    proof = dp.prove(row.function, row.claim, n=row.n, neighbours=row.neighbours)
    assert not proof.proved, proof.total
    if row.reason:
        assert any(each in str(proof.reason) for each in row.reason.split("|")), proof.reason
    else:
        assert proof.total == pytest.approx(row.loss, rel=2e-4)


def test_another_library_of_this_name_is_not_taken_for_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert dp.prove(sgd_step, HALF).proved  # by NumPy alone
    assert not dp.prove(by_vmap, HALF, n=50).proved


def test_a_replaced_function_or_method_is_noticed(monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "clamp", lambda self, **_: self)
        assert "replaced" in dp.prove(in_steps, HALF, n=50).reason
    with monkeypatch.context() as patch:
        patch.setattr(torch, "randn", lambda *size, **_: torch.zeros(size))
        assert not dp.prove(by_vmap, HALF, n=50).proved
    with monkeypatch.context() as patch:
        patch.setattr(torch, "randn", torch.zeros)
        assert not dp.prove(by_vmap, HALF, n=50).proved
    with torch.overrides.BaseTorchFunctionMode():
        assert "mode" in dp.prove(by_vmap, HALF, n=50).reason


FILE = """
import torch
{before}

def step(scores, *, rng{argument}):
    {first}
    g = torch.clamp(torch.tensor(scores), -1.0, 1.0)
    return float(g.sum(dim=0) + torch.randn((), dtype=torch.float64) * 2.0)
"""
DRAWN = "torch.manual_seed(int(rng.integers(2**63)))"
KNOWN = [
    {"before": "torch.manual_seed(0)"},
    {"before": "from torch import manual_seed as other\nother(0)"},
    {"before": "torch.default_generator.manual_seed(0)"},
    {"before": "import importlib\nimportlib.import_module('torch').manual_seed(0)"},
    {"before": "def set_up():\n    torch.random.manual_seed(0)"},
    {"argument": ", seeded=torch.manual_seed(0) is None"},
    {"first": "torch.manual_seed(0)"},
    {"first": "torch.manual_seed(int(rng.integers(2**31)))"},
    {"first": "torch.manual_seed(len(scores))"},
]


@pytest.mark.parametrize("parts", KNOWN, ids=lambda each: "-".join(each.values()))
def test_the_global_generator_is_seeded_by_a_drawn_number_alone(parts, tmp_path) -> None:
    """Otherwise whoever reads the file knows the noise."""
    plain = {"before": "", "argument": "", "first": DRAWN}
    path = tmp_path / "seeded.py"
    path.write_text(FILE.format(**plain))
    proof = dp.prove(f"{path}:step", HALF, n=50)
    assert proof.proved, proof.reason
    path = tmp_path / "known.py"
    path.write_text(FILE.format(**plain | parts))
    found = dp.prove(f"{path}:step", HALF, n=50)
    assert not found.proved
    assert "seed" in found.reason


# ---------------------------------------------------------------------- real neighbours


def summed(scores):  # noqa: ANN201
    x = torch.tensor(scores)
    g = torch.func.vmap(torch.func.grad(squared), in_dims=(None, 0))(
        torch.tensor([2.0, -3.0], dtype=torch.float64), x
    )
    return (g * torch.clamp(0.5 / (g.norm(dim=1, keepdim=True) + 1e-6), max=1.0)).sum(0)


def averaged(scores):  # noqa: ANN201
    w = torch.zeros(2, dtype=torch.float64)
    g = torch.stack([torch.func.grad(squared)(w, x) for x in torch.tensor(scores)])
    return (g / torch.clamp(g.norm(dim=1, keepdim=True) / 0.5, min=1.0)).mean(0)


def looped(scores):  # noqa: ANN201
    w = torch.tensor([20.0], dtype=torch.float64, requires_grad=True)
    total = torch.zeros(1, dtype=torch.float64)
    for x in torch.tensor(scores):
        (g,) = torch.autograd.grad(logistic(w, 3.0, x), w)
        g = g * min(1.0, 0.5 / (g.norm().item() + 1e-6)) * 2.0
        total += g
    return total


def bound_of(rule, n, bounds) -> object:
    """Return what the reading gives for the sum."""
    reader = Reader(n)
    reader.path.frames[0] = Frame({}, None)
    low, high = (Fraction(repr(each)) for each in bounds)
    return function(reader, rule, [Records(low, high, next(tokens))], {}).held


@st.composite
def neighbours(draw) -> tuple[object, ...]:
    low, high = draw(st.sampled_from([(0.0, 1.0), (-1.0, 2.0), (-100.0, 0.01)]))
    one = st.sampled_from([low, high]) | st.floats(low, high)
    x = np.array(draw(st.lists(one, min_size=2, max_size=6)))
    y = x.copy()
    y[draw(st.integers(0, len(x) - 1))] = draw(one)
    return (low, high), x, y


@pytest.mark.parametrize("rule", [summed, averaged, looped], ids=lambda each: each.__name__)
def test_real_neighbours_are_no_further_apart(rule) -> None:
    @settings(max_examples=30, deadline=None)
    @given(neighbours())
    def holds(pair) -> None:
        bounds, x, y = pair
        found, gap = bound_of(rule, len(x), bounds), (rule(x) - rule(y)).numpy()
        assert found.shape == gap.shape
        assert (gap**2).sum() <= float(found.l2_squared) * (1 + 1e-9)

    holds()


def test_the_bound_is_nearly_reached() -> None:
    x, y = np.array([0.0, 1.0]), np.array([0.7, 1.0])
    bound = bound_of(summed, 2, (0.0, 1.0))
    gap = (summed(x) - summed(y)).numpy()
    assert 0.9 * float(bound.l2_squared) <= (gap**2).sum() <= float(bound.l2_squared)


def test_a_norm_that_is_a_tenth_too_small_is_noticed(monkeypatch) -> None:
    made = torch_gradients.summed

    def less(reader, one, **rest: object) -> object:
        return made(reader, replace(one, square=one.square * Fraction(81, 100)), **rest)

    monkeypatch.setattr(torch_gradients, "summed", less)
    bound = bound_of(summed, 2, (0.0, 1.0))
    gap = (summed(np.array([0.0, 1.0])) - summed(np.array([0.7, 1.0]))).numpy()
    assert (gap**2).sum() > float(bound.l2_squared)


def cubic(w, x):  # noqa: ANN201
    return (w[0] * x - w[1]) ** 3 - 2.0 * w[0] * w[1] + torch.tanh(w[1] * x) ** 2


def mixed(w, x):  # noqa: ANN201
    features = torch.stack([x, x**2])
    return F.softplus(-(features @ w)) + torch.sigmoid(w[0] * x) * w.sum() + (w**2).mean()


def labelled(w, x):  # noqa: ANN201
    return F.mse_loss(torch.relu(w[0]) * x, x) + logistic(w, w[1], x)


F = torch.nn.functional


@pytest.mark.parametrize("loss", [squared, cubic, mixed, labelled], ids=lambda f: f.__name__)
def test_no_gradient_is_larger_than_its_bound(loss) -> None:
    """The bound that keeps gradients finite holds for each entry, at all weights and records."""

    @settings(max_examples=60, deadline=None)
    @given(st.tuples(*[st.integers(-5, 5)] * 2), st.floats(-3.0, 3.0))
    def holds(weights, x) -> None:
        reader = Reader(5)
        reader.path.frames[0] = Frame({}, None)
        record = Records(Fraction(-3), Fraction(3), next(tokens), single=True)
        w = torch.tensor([float(each) for each in weights], dtype=torch.float64)
        made = reader.call(torch.tensor, [tuple(w.tolist())], {"dtype": torch.float64})
        one = reader.call(torch.tensor, [record], {})
        rule = torch_gradients.Transform("grad", loss, 0)
        with reader.for_each_record(one.records):
            found = reader.call(rule, [made, one], {})
        real = torch.func.grad(loss)(w, torch.tensor(x, dtype=torch.float64))
        assert real.abs().max().item() <= float(found.size)

    holds()


def test_the_bound_of_a_gradient_is_not_far_from_the_largest_one() -> None:
    reader = Reader(5)
    reader.path.frames[0] = Frame({}, None)
    record = Records(Fraction(-3), Fraction(3), next(tokens), single=True)
    w = reader.call(torch.tensor, [(5.0, 5.0)], {"dtype": torch.float64})
    one = reader.call(torch.tensor, [record], {})
    with reader.for_each_record(one.records):
        found = reader.call(torch_gradients.Transform("grad", squared, 0), [w, one], {})
    real = torch.func.grad(squared)(torch.tensor([5.0, 5.0]), torch.tensor(3.0))
    assert real.max().item() <= float(found.size) <= 6 * real.max().item()


def test_the_verifier_loads_no_torch() -> None:
    code = (
        "import sys, math, dpcp_audit as dp; dp.prove(math.sqrt, dp.PureDP(1.0));"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
