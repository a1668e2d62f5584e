"""Split conformal classifiers of other libraries, as ``dpcp-audit check`` calls a calibrator.

The libraries take a classifier, features and labels, and return prediction sets. Here the
features of a record *are* its probabilities, and the threshold is read off the sets: records are
put to the library whose first label has the probabilities that the calibration records gave to
their true labels, and the least probable one that is in its set tells the threshold. So what is
audited is the set that a user gets, not a number inside of the library.

Noise and private quantiles of other libraries, as ``dpcp-audit check`` calls them.

Nothing is added to what the libraries do: the adapters name the arguments, and hand over the
data and, where the library takes one, the source of randomness. The libraries are an extra
(``targets``), imported where they are called.

Randomizers of other libraries and of this one, as ``dpcp-audit check`` calls them.

A value is one of 0, …, k−1. Nothing is added to what the libraries do; where a report names its
hash function, the report is turned into what the aggregator makes of it: which values it supports.
Hash functions are the callers' to choose: here they map each value to a place of its own.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    BinaryRandomizedResponse,
    ExponQ,
    KaryRandomizedResponse,
    optimal_gamma,
)
from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray, IntArray


_PROBES = 8
"""Records that a library is asked about at a time: each call has a cost, and so has each record."""


class GivenProbabilities:
    """A fitted classifier whose features are the probabilities of its labels.

    Parameters
    ----------
    classes_ : ndarray, shape (K,)
        The labels 0, …, K−1.
    """

    _estimator_type = "classifier"

    def __init__(self, classes_: IntArray) -> None:
        self.classes_ = classes_

    def fit(self, _features: FloatArray, _labels: IntArray) -> GivenProbabilities:
        """Return itself: there is nothing to be fitted."""
        return self

    def predict_proba(self, features: FloatArray) -> FloatArray:
        """Return the features, shape (m, K)."""
        return np.asarray(features, dtype=np.float64)

    def predict(self, features: FloatArray) -> IntArray:
        """Return the most probable labels, shape (m,)."""
        best: IntArray = self.predict_proba(features).argmax(axis=1)
        return np.take(self.classes_, best)


def mapie_split_conformal(
    probabilities: FloatArray, labels: IntArray, *, confidence_level: float
) -> float:
    """Return the threshold on 1 − p_y behind the sets of MAPIE's ``SplitConformalClassifier``.

    MAPIE takes p within 1e-8 of its quantile for equal, which is not seen here.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    confidence_level : float
        The coverage that is asked for, in (0, 1).
    """
    classifier = import_module("mapie.classification").SplitConformalClassifier(
        estimator=GivenProbabilities(np.arange(int(probabilities.shape[1]))),
        confidence_level=confidence_level,
        conformity_score="lac",
        prefit=True,
    )
    with warnings.catch_warnings():  # of labels that no calibration record has
        warnings.simplefilter("ignore", UserWarning)
        classifier.conformalize(probabilities, labels)
    return _threshold(
        probabilities, labels, in_sets=lambda records: classifier.predict_set(records)[1][:, 0, 0]
    )


def crepes_split_conformal(
    probabilities: FloatArray, labels: IntArray, *, confidence: float
) -> float:
    """Return the threshold on 1 − p_y behind the sets of crepes' ``WrapClassifier``.

    Its p-values are taken without smoothing: smoothed ones make sets that are random given the
    calibration data, which no threshold describes.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    confidence : float
        The coverage that is asked for, in (0, 1).
    """
    learner = GivenProbabilities(np.arange(int(probabilities.shape[1])))
    classifier = import_module("crepes").WrapClassifier(learner)
    classifier.calibrate(probabilities, labels)
    return _threshold(
        probabilities,
        labels,
        in_sets=lambda records: classifier.predict_set(
            records, labels=False, confidence=confidence, smoothing=False
        )[:, 0],
    )


def puncc_split_conformal(probabilities: FloatArray, labels: IntArray, *, alpha: float) -> float:
    """Return the threshold on 1 − p_y behind the sets of puncc's ``LAC``.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    alpha : float
        The miscoverage level, in (0, 1).
    """
    model = import_module("deel.puncc.api.prediction").BasePredictor(_Given(), is_trained=True)
    classifier = import_module("deel.puncc.classification").LAC(model, train=False)
    classifier.fit(X_calib=probabilities, y_calib=labels)
    return _threshold(
        probabilities,
        labels,
        in_sets=lambda records: [0 in each for each in classifier.predict(records, alpha=alpha)[1]],
    )


def torchcp_split_conformal(probabilities: FloatArray, labels: IntArray, *, alpha: float) -> float:
    """Return the threshold on 1 − p_y behind the sets of TorchCP's ``SplitPredictor``.

    Its score is ``LAC`` of the probabilities as they are.

    Parameters
    ----------
    probabilities : ndarray, shape (n, K)
    labels : ndarray, shape (n,)
    alpha : float
        The significance level, in (0, 1).
    """
    torch = import_module("torch")
    score = import_module("torchcp.classification.score").LAC(score_type="identity")
    predictor = import_module("torchcp.classification.predictor").SplitPredictor(score)
    with warnings.catch_warnings():  # of too few records
        warnings.simplefilter("ignore", UserWarning)
        predictor.calculate_threshold(
            torch.as_tensor(probabilities), torch.as_tensor(labels), alpha
        )
    return _threshold(
        probabilities,
        labels,
        in_sets=lambda records: predictor.predict_with_logits(torch.as_tensor(records))[:, 0],
    )


class _Given:
    """A model that predicts the probabilities that its features are."""

    def predict(self, features: FloatArray) -> FloatArray:
        return features


def _threshold(
    probabilities: FloatArray, labels: IntArray, *, in_sets: Callable[[FloatArray], ArrayLike]
) -> float:
    """Return the largest 1 − p that a calibration record has and the sets cover.

    Infinity where even p = 0 is covered, minus infinity where none of the records' p is.

    Parameters
    ----------
    in_sets : callable
        A function that returns True where the first label is in the set of a record, shape (m, K)
        to (m,). What is covered at p is covered at every larger p.
    """
    n_labels = probabilities.shape[1]
    p = np.unique(np.append(probabilities[np.arange(labels.size), labels], 0.0))
    first, end = 0, p.size
    while first < end:
        tried = first + (end - first) * np.arange(1, _PROBES + 1) // (_PROBES + 1)
        records = np.repeat((1 - p[tried, None]) / (n_labels - 1), n_labels, axis=1)
        records[:, 0] = p[tried]
        missed = int(np.count_nonzero(~np.asarray(in_sets(records), dtype=np.bool_)))
        end = int(tried[missed]) if missed < _PROBES else end
        first = int(tried[missed - 1]) + 1 if missed else first
    if first == 0:
        return np.inf
    return -np.inf if first == p.size else float(1 - p[first])


_LARGE = 10.0
"""Times the clipping norm, which gradients may have before they are clipped."""


def diffprivlib_histogram(
    scores: FloatArray, *, rng: np.random.Generator, epsilon: float, bins: int
) -> FloatArray:
    """Return the counts of diffprivlib's ``tools.histogram`` on [0, 1].

    Every call has a budget accountant of its own.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    rng : Generator
        Source of the bits, through the legacy interface that diffprivlib takes.
    epsilon : float
        The privacy parameter.
    bins : int
        The number of bins.
    """
    diffprivlib = import_module("diffprivlib")
    counts, _ = diffprivlib.tools.histogram(
        scores,
        epsilon=epsilon,
        bins=bins,
        range=(0.0, 1.0),
        random_state=np.random.RandomState(rng.bit_generator),
        accountant=diffprivlib.BudgetAccountant(),
    )
    return np.asarray(counts, dtype=np.float64)


def opacus_step(
    scores: FloatArray, *, rng: np.random.Generator, noise_multiplier: float
) -> FloatArray:
    """Return the gradient that Opacus' ``DPOptimizer`` makes of a batch: clipped, summed, noisy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1]; a record's gradient is a number from −10 to 10, and clipped to [−1, 1].
    rng : Generator
        Seeds the optimizer's generator.
    noise_multiplier : float
        The standard deviation of the noise over the clipping norm.
    """
    torch, optimizers = import_module("torch"), import_module("opacus.optimizers")
    weight = torch.nn.Parameter(torch.zeros(1))
    gradients = _LARGE * (2 * np.asarray(scores, dtype=np.float64) - 1)
    weight.grad_sample = torch.as_tensor(gradients[:, np.newaxis], dtype=torch.float32)
    optimizer = optimizers.DPOptimizer(
        torch.optim.SGD([weight], lr=1.0),
        noise_multiplier=noise_multiplier,
        max_grad_norm=1.0,
        expected_batch_size=None,
        loss_reduction="sum",
        generator=torch.Generator().manual_seed(int(rng.integers(2**62))),
    )
    optimizer.clip_and_accumulate()
    optimizer.add_noise()
    return np.asarray(weight.grad.numpy(), dtype=np.float64)


def dp_accounting_count(
    scores: FloatArray, *, rng: np.random.Generator, epsilon: float, delta: float
) -> float:
    """Return a count with Gaussian noise, as much of it as dp-accounting says that it takes.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    rng : Generator
    epsilon, delta : float
        The guarantee that the standard deviation is asked for.
    """
    noise: float = rng.normal(scale=_dp_accounting_deviation(epsilon, delta))
    return scores.size + noise


@cache
def _dp_accounting_deviation(epsilon: float, delta: float) -> float:
    wanted: Any = import_module("dp_accounting.pld.common")
    mechanisms: Any = import_module("dp_accounting.pld.privacy_loss_mechanism")
    guarantee = wanted.DifferentialPrivacyParameters(epsilon, delta)
    found = mechanisms.GaussianPrivacyLoss.from_privacy_guarantee(guarantee)
    return float(found.standard_deviation)


def smartnoise_sum(scores: FloatArray, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the sum of scores with smartnoise-sql's Laplace noise, or Gaussian noise for a δ.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1].
    epsilon, delta : float
        The privacy parameters.
    """
    return float(_smartnoise(epsilon, delta).release([float(np.sum(scores))])[0])


def smartnoise_bounds(scores: FloatArray, *, epsilon: float, scale: float) -> FloatArray:
    """Return the bounds that smartnoise-sql's ``approx_bounds`` finds; 0 and 0 where it finds none.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    epsilon : float
        The privacy budget.
    scale : float
        Factor on the scores: bounds are powers of 2.
    """
    module = import_module("snsql.sql._mechanisms.approx_bounds")
    low, high = module.approx_bounds(scale * np.asarray(scores), epsilon)
    return np.array([low or 0.0, high or 0.0])


@cache
def _smartnoise(epsilon: float, delta: float) -> Any:
    mechanisms = import_module("snsql.sql._mechanisms")
    bounds = {"lower": 0.0, "upper": 1.0}
    if delta == 0:
        return mechanisms.Laplace(epsilon, **bounds)
    return mechanisms.Gaussian(epsilon, delta=delta, **bounds)


def jax_privacy_step(scores: FloatArray, *, seed: int, noise_multiplier: float) -> FloatArray:
    """Return the gradient that jax-privacy makes of a batch: clipped, summed, noisy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1]; a record's gradient is a number from −10 to 10, and clipped to [−1, 1].
    seed : int
        Seed of the privatizer's key.
    noise_multiplier : float
        The standard deviation of the noise over the clipping norm.
    """
    gradients = _LARGE * (2 * np.asarray(scores, dtype=np.float32) - 1)
    key = import_module("jax").random.key(seed)
    noisy = _jax_privacy_release(noise_multiplier)(key, gradients)
    return np.asarray(noisy, dtype=np.float64).reshape(1)


@cache
def _jax_privacy_release(noise_multiplier: float) -> Any:
    """Return the compiled release, of a key and gradients: a privatizer for each key."""
    clipping: Any = import_module("jax_privacy.clipping")
    noise: Any = import_module("jax_privacy.noise_addition")

    def loss(weight: Any, rows: Any) -> Any:
        return (weight * rows).sum()

    clipped = clipping.clipped_grad(loss, l2_clip_norm=1.0)

    def release(key: Any, gradients: Any) -> Any:
        summed = clipped(0.0, gradients)
        privatizer = noise.gaussian_privatizer(stddev=noise_multiplier, prng_key=key)
        return privatizer.update(summed, privatizer.init(summed))[0]

    return import_module("jax").jit(release)


def diffprivlib_quantile(
    scores: FloatArray,
    *,
    rng: np.random.Generator,
    level: float,
    epsilon: float,
    bounds: Sequence[float] = (0.0, 1.0),
) -> float:
    """Return diffprivlib's ``tools.quantile``.

    Every call has a budget accountant of its own: the default one adds up all calls of a
    process.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    rng : Generator
        Source of the bits, through the legacy interface that diffprivlib takes.
    level : float
        Level of the quantile, in [0, 1].
    epsilon : float
        The privacy parameter.
    bounds : sequence of float
        The public interval that holds the scores.
    """
    diffprivlib = import_module("diffprivlib")
    return float(
        diffprivlib.tools.quantile(
            scores,
            level,
            epsilon=epsilon,
            bounds=tuple(bounds),
            random_state=np.random.RandomState(rng.bit_generator),
            accountant=diffprivlib.BudgetAccountant(),
        )
    )


def opendp_quantile(
    scores: FloatArray,
    *,
    level: float,
    n_candidates: int,
    epsilon: float | None = None,
    rho: float | None = None,
    scale: float | None = None,
    size_is_public: bool = False,
) -> float:
    """Return OpenDP's private quantile, which draws from the system's entropy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        In [0, 1].
    level : float
        Level of the quantile, in [0, 1].
    n_candidates : int
        The release is one of so many equally spaced numbers from 0 to 1.
    epsilon : float, optional
        The budget as pure differential privacy ...
    rho : float, optional
        ... or as zero-concentrated differential privacy ...
    scale : float, optional
        ... or the scale of the noise, whatever the measurement's map makes of it; one of the three.
    size_is_public : bool
        True if the number of scores is public. Then neighbours differ in the value of one
        score, a symmetric distance of 2; else in the presence of one, a distance of 1.
    """
    size = scores.size if size_is_public else None
    budget = {"epsilon": epsilon, "rho": rho, "scale": scale}
    measurement = _opendp_measurement(level, n_candidates, size, **budget)
    return float(measurement(scores.tolist()))


@cache
def _opendp_measurement(
    level: float,
    n_candidates: int,
    size: int | None,
    *,
    epsilon: float | None,
    rho: float | None,
    scale: float | None,
) -> Any:
    """Return the measurement that spends the budget; finding its scale takes 0.1 s."""
    dp = import_module("opendp.prelude")
    if [epsilon, rho, scale].count(None) != 2:
        raise ValueError(f"give one of epsilon, rho and scale, got {epsilon}, {rho} and {scale}")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size)
    measure = dp.max_divergence() if rho is None else dp.zero_concentrated_divergence()
    candidates = np.linspace(0, 1, n_candidates).tolist()

    def measurement(scale: float) -> Any:
        return dp.m.make_private_quantile(
            domain, dp.symmetric_distance(), measure, candidates, alpha=level, scale=scale
        )

    if scale is not None:
        return measurement(scale)
    return dp.binary_search_chain(
        measurement, d_in=1 if size is None else 2, d_out=epsilon if rho is None else rho
    )


def python_dp_percentile(
    scores: FloatArray, *, level: float, epsilon: float, bounds: Sequence[float] = (0.0, 1.0)
) -> float:
    """Return python-dp's ``Percentile``, which draws from the system's entropy.

    Every call makes an algorithm of its own, with a fresh budget.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    level : float
        Level of the quantile, in [0, 1].
    epsilon : float
        The privacy parameter.
    bounds : sequence of float
        The public interval that holds the scores.
    """
    low, high = bounds
    algorithm = import_module("pydp.algorithms.laplacian").Percentile(
        epsilon=epsilon, percentile=level, lower_bound=low, upper_bound=high, dtype="float"
    )
    return float(algorithm.quick_result(scores.tolist()))


def tumult_quantile(scores: FloatArray, *, level: float, epsilon: str) -> float:
    """Return Tumult Core's ``NoisyQuantile`` of scores in [0, 1], from the system's entropy.

    Parameters
    ----------
    scores : ndarray, shape (n,)
    level : float
        Level of the quantile, in [0, 1].
    epsilon : str
        The privacy parameter, as the exact number that Tumult Core takes.
    """
    series: Any = import_module("pandas").Series(scores)
    return float(_tumult_measurement(level, epsilon)(series))


@cache
def _tumult_measurement(level: float, epsilon: str) -> Any:
    domains: Any = import_module("tmlt.core.domains.pandas_domains")
    numbers: Any = import_module("tmlt.core.domains.numpy_domains")
    measurements: Any = import_module("tmlt.core.measurements.pandas_measurements.series")
    return measurements.NoisyQuantile(
        input_domain=domains.PandasSeriesDomain(numbers.NumpyFloatDomain()),
        output_measure=import_module("tmlt.core.measures").PureDP(),
        quantile=level,
        lower=0,
        upper=1,
        epsilon=epsilon,
    )


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
    """Return the values that a report of pure-ldp's ``LHClient`` supports, by its hash.

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
        Further arguments of the randomizer.
    """
    given = others if epsilon is None else others | {"epsilon": epsilon}
    return np.asarray(_multi_freq(client)(value, k=k, **given), dtype=np.float64).ravel()


def multi_freq_ldpy_set(value: int, *, k: int, epsilon: float) -> FloatArray:
    """Return the subset that multi-freq-ldpy's ``SS_Client`` reports, as a set: 1 for a member."""
    report = _multi_freq("pure_frequency_oracles.SS:SS_Client")(value, k=k, epsilon=epsilon)
    return np.isin(np.arange(k), report).astype(np.float64)


def multi_freq_ldpy_support(value: int, *, k: int, epsilon: float) -> FloatArray:
    """Return the values that a report of multi-freq-ldpy's ``LH_Client`` supports."""
    client = _multi_freq("pure_frequency_oracles.LH:LH_Client")
    reported, seed = client(value, k=k, epsilon=epsilon)
    return _supported(int(reported), int(seed), round(np.exp(epsilon)) + 1, k)


def multi_freq_ldpy_tuple(
    value: int, *, k: int, d: int, epsilon: float, one_attribute: bool = False
) -> FloatArray:
    """Return the report of ``RSpFD_GRR_Client`` for a tuple of d values.

    Parameters
    ----------
    value : int
        Value of all d attributes, in {0, …, k−1}; or of the first one, the others being 0.
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
    """Return the report of one of OpenDP's randomizers for a value.

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
    """Return the k-ary responses of LDP-CP-L's users for their labels in 0..k−1."""
    return KaryRandomizedResponse(epsilon, k).sample(values, rng=rng)


def ldpcp_score_bit(values: IntArray, *, rng: np.random.Generator, epsilon: float) -> IntArray:
    """Return the randomised bits of LDP-CP-S's users: 1 for a score below the midpoint."""
    return BinaryRandomizedResponse(epsilon).sample(values, rng=rng).astype(int)


def split_conformal(scores: FloatArray, *, alpha: float) -> float:
    """Return the threshold of split conformal prediction, which has no noise."""
    return SplitConformal(alpha=alpha).threshold(scores)
