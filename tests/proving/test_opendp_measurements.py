"""Measurements of OpenDP: proofs of right functions, no proof of wrong ones, and their maps."""

import builtins
import ctypes
import importlib.metadata
import math
import sys
import types

import numpy as np
import pytest
from scipy import stats

import dpcp_audit as dp

pytest.importorskip("opendp.prelude").enable_features("contrib")
right = pytest.importorskip("proving.correct_functions_opendp")
wrong = pytest.importorskip("proving.attack_functions_opendp")

from opendp import _convert, _data, _lib, core, domains, measurements, metrics, mod, typing  # noqa: E402

N = 20
KEPT = isinstance


@pytest.mark.parametrize("row", right.RIGHT, ids=lambda row: row[0].__name__)
def test_a_right_function_is_proved_at_the_noise_that_it_needs(row) -> None:
    function, claim, expected = row
    found = dp.prove(function, claim, n=N)
    assert found.proved, (found.place, found.reason)
    assert expected is None or found.total == pytest.approx(expected, rel=1e-12)
    assert not dp.prove(function, claim, n=N, options={"less": 0.99}).proved


def test_delta_follows_from_rho() -> None:
    """By Canonne, Kamath and Steinke 2020, Corollary 13; ρ-zCDP of 0.5 shows at least this δ."""
    alpha = np.linspace(1.001, 20, 100_000)
    loss = np.exp((alpha - 1) * (alpha * 0.5 - 3)) / (alpha - 1) * (1 - 1 / alpha) ** alpha
    found = dp.prove(right.gaussian, dp.ApproxDP(3.0, 0.02), n=N)
    assert found.proved
    assert found.total == pytest.approx(loss.min(), rel=1e-4)
    assert found.total > stats.norm.cdf(-2.5) - math.exp(3) * stats.norm.cdf(-3.5)
    assert not dp.prove(right.gaussian, dp.ApproxDP(3.0, 0.005), n=N).proved


@pytest.mark.parametrize("row", wrong.OPENDP, ids=lambda row: row.name)
def test_a_wrong_function_is_not_proved(row) -> None:
    assert not dp.prove(row.function, row.claim, n=N).proved


def no_noise(*_: object) -> object:
    return lambda value: value


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (measurements, "make_laplace", no_noise),
        (measurements, "make_laplace", measurements.make_gaussian),
        (measurements, "make_laplace", wrong.make_laplace),
        (measurements.make_laplace, "__defaults__", (None, "ZeroConcentratedDivergence")),
        (measurements.make_laplace, "__code__", measurements.make_noise.__code__),
        (measurements, "py_to_c", no_noise),
        (mod.Measurement, "__call__", lambda self, value: value),
        (mod.Measurement, "__getattribute__", object.__getattribute__),
        (core, "measurement_invoke", lambda this, arg: arg),
        (core, "unwrap", lambda result, kind: result),
        (_convert, "py_to_c", no_noise),
        (_convert, "_check_and_cast_scalar", lambda expected, value: 0.0),
        (_data, "slice_as_object", no_noise),
        (domains, "atom_domain", domains.vector_domain),
        (typing.RuntimeType, "parse", classmethod(lambda cls, *given: "f32")),
        (_lib.lib, "opendp_core__measurement_invoke", no_noise),
        (_lib.lib, "opendp_core__measurement_invoke", ctypes.CFUNCTYPE(ctypes.c_int)(int)),
        (
            _lib.lib,
            "opendp_measurements__make_laplace",
            _lib.lib["opendp_measurements__make_noise"],
        ),
        (_lib, "lib_path", "/tmp/other.so"),  # noqa: S108
        (ctypes, "cast", lambda value, kind: value),
        (ctypes.c_double, "from_param", classmethod(lambda cls, value: 1.0)),
        (np.ctypeslib, "as_ctypes", lambda array: array),
        (np, "ascontiguousarray", np.zeros_like),
        (builtins, "isinstance", lambda value, kind: bool(KEPT(value, kind))),
        (mod.Measurement.__bases__[0], "__getattribute__", object.__getattribute__),
        (ctypes.POINTER(ctypes.c_double), "__init__", lambda self, *given: None),
        (core, "__class__", type("Module", (types.ModuleType,), {})),
        (ctypes, "__class__", type("Module", (types.ModuleType,), {})),
        (importlib, "import_module", lambda name: np),
        (importlib.metadata, "version", lambda name: "0.14.1"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_patched_library_proves_nothing(owner, name, value, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, value, raising=False)
        found = dp.prove(right.mean, dp.PureDP(1.0), n=N)
    assert not found.proved
    assert dp.prove(right.mean, dp.PureDP(1.0), n=N).proved


def test_a_function_of_c_with_a_check_of_errors_proves_nothing() -> None:
    function = _lib.lib.opendp_core__measurement_invoke
    function.errcheck = lambda result, *_: result
    try:
        assert not dp.prove(right.mean, dp.PureDP(1.0), n=N).proved
    finally:
        del function.errcheck
    assert dp.prove(right.mean, dp.PureDP(1.0), n=N).proved


NUMBERS = domains.atom_domain(T="f64", nan=False), metrics.absolute_distance(T="f64")
LAWS = {
    "laplace": (measurements.make_laplace, stats.laplace(scale=0.7)),
    "gaussian": (measurements.make_gaussian, stats.norm(scale=0.7)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.statistical(false_alarm=1e-7)
def test_noise_has_the_law_whose_price_is_charged(name) -> None:
    """False alarm at most 1e-7 each, by the p-value of a Kolmogorov test."""
    make, law = LAWS[name]
    measurement = make(*NUMBERS, scale=0.7)
    drawn = [measurement(2.0) - 2.0 for _ in range(4_000)]
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-7


def test_a_function_of_a_module_under_the_name_of_opendp_proves_nothing(monkeypatch) -> None:
    posing = types.FunctionType(wrong.make_laplace.__code__, vars(wrong), "make_laplace")
    posing.__module__ = "opendp.other"
    other = types.ModuleType("opendp.other")
    monkeypatch.setattr(other, "make_laplace", posing, raising=False)
    monkeypatch.setitem(sys.modules, "opendp.other", other)
    monkeypatch.setattr(wrong, "make_laplace", posing)
    assert not dp.prove(wrong.by_helper, dp.PureDP(1.0), n=N).proved


def test_a_changed_class_of_arrays_proves_nothing(monkeypatch) -> None:
    monkeypatch.setattr(ctypes.c_double * 8, "__init__", lambda self, *given: None)
    assert not dp.prove(right.histogram, dp.PureDP(1.0), n=N).proved


def test_a_changed_table_of_types_proves_nothing(monkeypatch) -> None:
    monkeypatch.setitem(_convert.ATOM_MAP, "f64", ctypes.c_float)
    assert not dp.prove(right.mean, dp.PureDP(1.0), n=N).proved
