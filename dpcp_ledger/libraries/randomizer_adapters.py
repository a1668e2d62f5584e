"""Randomizers of other libraries and of this one, as ``dpcp-audit check`` calls them.

A value is one of 0, …, k−1. Nothing is added to what the libraries do; where a report names its
hash function, the report is turned into what the aggregator makes of it: which values it supports.
Hash functions are the callers' to choose: here they map each value to a place of its own.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    BinaryRandomizedResponse,
    ExponQ,
    HistLap,
    KaryRandomizedResponse,
    SplitConformal,
    optimal_gamma,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import FloatArray, IntArray


_PURE = "pure_ldp.frequency_oracles"


def pure_ldp_report(value: int, *, client: str, epsilon: float, k: int) -> FloatArray:
    """Return the report of one of pure-ldp's clients, as an array.

    Parameters
    ----------
    value : int
        In {0, …, k−1}.
    client : str
        A name of ``PURE_LDP_CLIENTS``.
    epsilon : float
        The privacy budget.
    k : int
        The number of values; a power of two for Apple's sketch and the Hadamard clients.
    """
    report = _pure_ldp_client(client, epsilon, k)(value)
    return np.hstack([np.ravel(part) for part in report]).astype(np.float64)


def pure_ldp_support(value: int, *, epsilon: float, k: int) -> FloatArray:
    """Return which values a report of pure-ldp's ``LHClient`` supports, by the hash it names.

    Parameters
    ----------
    value : int
        In {0, …, k−1}.
    epsilon : float
        The privacy budget.
    k : int
        The number of values.
    """
    client = _pure_ldp_hashing(epsilon, k)
    reported, seed = client.privatise(value)
    return _supported(int(reported), seed, client.g, k)


def multi_freq_ldpy_report(
    value: int, *, client: str, k: int, epsilon: float | None = None, **others: Any
) -> FloatArray:
    """Return the report of one of multi-freq-ldpy's clients, as it comes.

    Parameters
    ----------
    value : int
        In {0, …, k−1}.
    client : str
        'package.module:function', within ``multi_freq_ldpy``.
    k : int
        The number of values.
    epsilon : float, optional
        The privacy guarantee, where the client takes one.
    **others
        Its other arguments, by name.
    """
    given = others if epsilon is None else others | {"epsilon": epsilon}
    return np.asarray(_multi_freq(client)(value, k=k, **given), dtype=np.float64).ravel()


def multi_freq_ldpy_set(value: int, *, k: int, epsilon: float) -> FloatArray:
    """Return the subset that multi-freq-ldpy's ``SS_Client`` reports, as a set: 1 for a member."""
    report = _multi_freq("pure_frequency_oracles.SS:SS_Client")(value, k=k, epsilon=epsilon)
    return np.isin(np.arange(k), report).astype(np.float64)


def multi_freq_ldpy_support(value: int, *, k: int, epsilon: float) -> FloatArray:
    """Return which values a report of multi-freq-ldpy's ``LH_Client`` supports."""
    client = _multi_freq("pure_frequency_oracles.LH:LH_Client")
    reported, seed = client(value, k=k, epsilon=epsilon)
    return _supported(int(reported), int(seed), round(np.exp(epsilon)) + 1, k)


def multi_freq_ldpy_tuple(
    value: int, *, k: int, d: int, epsilon: float, one_attribute: bool = False
) -> FloatArray:
    """Return what ``RSpFD_GRR_Client`` reports of a tuple of d values.

    Parameters
    ----------
    value : int
        Of all d attributes, in {0, …, k−1}; or of the first one, the others being 0.
    k, d : int
        Numbers of values and of attributes.
    epsilon : float
        The privacy guarantee.
    one_attribute : bool
        True if neighbours differ in one attribute alone.
    """
    record = [value] + [0 if one_attribute else value] * (d - 1)
    client = _multi_freq("mdim_freq_est.RSpFD_solution:RSpFD_GRR_Client")
    return np.asarray(client(record, [k] * d, d, epsilon), dtype=np.float64)


def opendp_report(value: int, *, client: str, epsilon: float, k: int = 2) -> FloatArray:
    """Return what one of OpenDP's randomizers makes of a value.

    Parameters
    ----------
    value : int
        In {0, …, k−1}.
    client : str
        'response' (``make_randomized_response``), 'laplace' (``make_laplace`` of a float) or
        'geometric' (of an integer), with scale (k−1)/ε.
    epsilon : float
        The privacy loss that the measurement's map is to return.
    k : int
        The number of values.
    """
    return np.atleast_1d(np.asarray(_opendp_randomizer(client, epsilon, k)(value), dtype=float))


@cache
def _pure_ldp_client(name: str, epsilon: float, k: int) -> Callable[[int], Any]:
    return PURE_LDP_CLIENTS[name](epsilon, k)


def _direct(epsilon: float, k: int) -> Callable[[int], Any]:
    made = import_module(f"{_PURE}.direct_encoding").DEClient(epsilon, k, index_mapper=_same)
    return lambda value: [made.privatise(value)]


def _unary(epsilon: float, k: int) -> Callable[[int], Any]:
    unary = import_module(f"{_PURE}.unary_encoding").UEClient
    made = unary(epsilon, k, use_oue=True, index_mapper=_same)
    return lambda value: [made.privatise(value)]


def _histogram(epsilon: float, k: int) -> Callable[[int], Any]:
    made = import_module(f"{_PURE}.histogram_encoding").HEClient(epsilon, k, index_mapper=_same)
    return lambda value: [made.privatise(value)]


def _hadamard_response(epsilon: float, k: int) -> Callable[[int], Any]:
    module = import_module(f"{_PURE}.hadamard_response")
    made = module.HadamardResponseClient(epsilon, k, list(range(k)), index_mapper=_same)
    return lambda value: [made.privatise(value)]


def _hadamard_mechanism(epsilon: float, k: int) -> Callable[[int], Any]:
    client = import_module(f"{_PURE}.hadamard_mechanism").HadamardMechClient
    made = client(epsilon, k, 1, index_mapper=_same)
    return lambda value: [list(made.privatise(value))]


def _apple(epsilon: float, k: int) -> Callable[[int], Any]:
    made = import_module(f"{_PURE}.apple_cms").CMSClient(epsilon, [int], k)
    report: Callable[[int], Any] = made.privatise
    return report


def _rappor(epsilon: float, k: int) -> Callable[[int], Any]:
    client = import_module(f"{_PURE}.rappor").RAPPORClient
    share = client(0.5, k, [[int]], num_of_cohorts=1).convert_eps_to_f(epsilon)
    made = client(share, k, [[int]], num_of_cohorts=1, index_mapper=_same)
    report: Callable[[int], Any] = made.privatise
    return report


PURE_LDP_CLIENTS = {
    "DEClient": _direct,
    "UEClient": _unary,
    "HEClient": _histogram,
    "HadamardResponseClient": _hadamard_response,
    "HadamardMechClient": _hadamard_mechanism,
    "CMSClient": _apple,
    "RAPPORClient": _rappor,
}
"""The constructor of each client; the values have places of their own, in place of hashes."""


@cache
def _pure_ldp_hashing(epsilon: float, k: int) -> Any:
    client = import_module(f"{_PURE}.local_hashing").LHClient
    return client(epsilon, k, use_olh=True, index_mapper=_same)


def _supported(reported: int, seed: int, places: int, k: int) -> FloatArray:
    hashed = import_module("xxhash").xxh32
    return np.array([hashed(str(v), seed=seed).intdigest() % places == reported for v in range(k)])


@cache
def _multi_freq(client: str) -> Callable[..., Any]:
    module, _, name = client.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"multi_freq_ldpy.{module}"), name)
    return found


@cache
def _opendp_randomizer(client: str, epsilon: float, k: int) -> Callable[[int], Any]:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    if client == "response":
        share = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
        response = dp.m.make_randomized_response(list(range(k)), float(share))
        return lambda value: response(int(value))
    kind = float if client == "laplace" else int
    domain = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=int)
    noise = dp.m.make_laplace(domain, dp.absolute_distance(T=kind), scale=(k - 1) / epsilon)
    return lambda value: noise(kind(value))


def _same(value: int) -> int:
    return value


def pcoqs(
    scores: FloatArray, *, size: int, rng: np.random.Generator, alpha: float, rho: float
) -> FloatArray:
    """Return ``size`` thresholds of P-COQS, at its default resolution."""
    return PCOQS(alpha=alpha, rho=rho).sample(scores, size, rng=rng)


def exponq(
    scores: FloatArray,
    *,
    size: int,
    rng: np.random.Generator,
    alpha: float,
    epsilon: float,
    n_candidates: int,
) -> FloatArray:
    """Return ``size`` thresholds of ExponQ with the corrected normaliser and the best γ."""
    gamma = optimal_gamma(scores.size, alpha=alpha, epsilon=epsilon)
    mechanism = ExponQ(alpha=alpha, epsilon=epsilon, n_candidates=n_candidates, gamma=gamma)
    return mechanism.sample(scores, size, rng=rng)


def histlap(
    scores: FloatArray,
    *,
    size: int,
    rng: np.random.Generator,
    alpha: float,
    epsilon: float,
    n_bins: int,
) -> FloatArray:
    """Return ``size`` thresholds of HistLap, with the noise that substitution takes."""
    mechanism = HistLap(alpha=alpha, epsilon=epsilon, n_bins=n_bins)
    return mechanism.sample(scores, size, rng=rng)


def ldpcp_label(values: IntArray, *, rng: np.random.Generator, epsilon: float, k: int) -> IntArray:
    """Return what users of LDP-CP-L report of their labels in 0..k−1: k-ary response."""
    return KaryRandomizedResponse(epsilon, k).sample(values, rng=rng)


def ldpcp_score_bit(values: IntArray, *, rng: np.random.Generator, epsilon: float) -> IntArray:
    """Return what users of LDP-CP-S report of whether their score is below the midpoint."""
    return BinaryRandomizedResponse(epsilon).sample(values, rng=rng).astype(int)


def split_conformal(scores: FloatArray, *, alpha: float) -> float:
    """Return the threshold of split conformal prediction, which has no noise."""
    return SplitConformal(alpha=alpha).threshold(scores)
