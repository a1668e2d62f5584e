"""Pools of scores for the suites: of classifiers, and of networks trained with privacy or without.

They are built when a check first uses them.
"""

from __future__ import annotations

import functools
import math
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import Relation, UsageError
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import (
    Classifier,
    Dataset,
    Deferred,
    Population,
    ProbabilityPool,
    classifier_pool,
    load_pool,
    raps,
)
from dpcp_audit.extensions.mechanisms import (
    DPSGD,
    Adam,
    Examples,
    Poisson,
    noise_multiplier_for,
    require_torch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import nn

    from dpcp_audit.extensions.claims import FloatArray, IntArray


RAPS_PENALTY, RAPS_SPARED = 0.01, 5
"""λ and the ranks without a penalty, as NACP's public code has them."""


def saved_pools(paths: Sequence[str]) -> list[Callable[[], ProbabilityPool]]:
    """Return what loads each of a user's pools (see ``load_pool``).

    Raises
    ------
    UsageError
        If a file does not hold a pool.
    """
    pools: list[Callable[[], ProbabilityPool]] = [partial(load_pool, path) for path in paths]
    try:
        for pool in pools:
            pool()
    except ValueError as error:
        raise UsageError(f"pool: {error}") from error
    return pools


def _hps(dataset: Dataset, classifier: Classifier) -> Population:
    return classifier_pool(dataset, classifier).hps_population()


def digits(classifier: Classifier) -> Deferred:
    """Return the HPS scores of a classifier on scikit-learn's digits."""
    return Deferred(f"digits-{classifier}", partial(_hps, Dataset.DIGITS, classifier))


def breast_cancer(classifier: Classifier) -> Deferred:
    """Return the HPS scores of a classifier on scikit-learn's breast-cancer data."""
    return Deferred(f"breast-cancer-{classifier}", partial(_hps, Dataset.BREAST_CANCER, classifier))


def _raps(probabilities: FloatArray) -> FloatArray:
    u = np.random.default_rng(0).random(len(probabilities))
    return raps(probabilities, penalty=RAPS_PENALTY, spared=RAPS_SPARED, u=u)


def raps_of_digits(classifier: Classifier) -> Deferred:
    """Return the randomised RAPS scores of a classifier on scikit-learn's digits."""
    build = partial(_raps_population, classifier)
    return Deferred(f"digits-{classifier}-raps", build)


def _raps_population(classifier: Classifier) -> Population:
    return classifier_pool(Dataset.DIGITS, classifier).population(_raps)


_LOT, _STEPS, _CLIP = 64, 140, 1.0
_CLASSES = {Dataset.DIGITS: 10, Dataset.BREAST_CANCER: 2}
_PUBLIC_BOUNDS = {Dataset.DIGITS: (0.0, 16.0)}


class Network(StrEnum):
    """The network that DP-Adam trains."""

    LOGISTIC = "logistic"
    """Multinomial logistic regression."""
    HEAD = "head"
    """DP-SKIN's head: 28 ReLU units, dropout, classes."""
    CNN = "cnn"
    """Two convolutions and a linear layer; for digits."""


NETWORKS = {
    f"{dataset}-{how}": (dataset, network, epsilon)
    for dataset in Dataset
    for network in Network
    if network is not Network.CNN or dataset is Dataset.DIGITS
    for how, epsilon in ((f"adam-{network}", math.inf), (f"dp-adam-{network}-eps8", 8.0))
}
"""Networks trained without privacy, and with (8, 1e-5)-DP, by the names of their pools."""


def dpsgd_pool(
    dataset: Dataset,
    network: Network,
    *,
    epsilon: float = math.inf,
    delta: float = 1e-5,
    relation: Relation = Relation.ZERO_OUT,
    seed: int = 0,
) -> ProbabilityPool:
    """Train a network on half of the data and return its probabilities of the rest.

    DP-Adam with Poisson lots of 64 on average, 140 steps, C = 1, and the least noise with which
    the training is (ε, δ)-DP by PLD. Features lie in [0, 1] as in ``private_pool``. The size n of
    the fitted half is public, and a lot's sampling rate is 64/n. A pool is trained once a process.

    Parameters
    ----------
    dataset : Dataset
        A data set that scikit-learn ships.
    network : Network
        The network to train; the CNN goes with digits alone.
    epsilon, delta : float
        Privacy of the training; ε = ∞ trains the same network without clipping and noise.
    relation : Relation
        The neighbours of that privacy: ZERO_OUT or SUBSTITUTION, which have the same n; of
        ADD_REMOVE it holds where 64/n is taken for a constant.
    seed : int
        The seed of the training; another seed is another draw of the model.

    Raises
    ------
    RuntimeError
        If PyTorch is not installed.
    """
    _validate.choice(Dataset, dataset=dataset)
    _validate.choice(Network, network=network)
    _validate.choice(Relation, relation=relation)
    _validate.integer(seed=seed, at_least=0)
    if epsilon != math.inf:
        _validate.positive(epsilon=epsilon)
    if network is Network.CNN and dataset is not Dataset.DIGITS:
        raise ValueError(f"dataset must be digits for the CNN, got {dataset}")
    require_torch()
    fitted = len(unit_halves(dataset)[0])
    settings = _settings(fitted, epsilon=float(epsilon), delta=delta, relation=relation)
    probabilities, labels = _trained(dataset, network, settings, seed)
    how = f"dp-adam-{network}-eps{epsilon:g}" if epsilon < math.inf else f"adam-{network}"
    return ProbabilityPool(f"{dataset}-{how}", probabilities, labels)


@functools.cache
def _settings(n: int, *, epsilon: float, delta: float, relation: Relation) -> DPSGD:
    rate, private = _LOT / n, epsilon < math.inf
    noise = 0.0
    if private:
        noise = noise_multiplier_for(
            epsilon=epsilon, delta=delta, sampling_rate=rate, steps=_STEPS, relation=relation
        )
    return DPSGD(
        sampling=Poisson(rate),
        lot_size=_LOT,
        steps=_STEPS,
        noise_multiplier=noise,
        clip_norm=_CLIP if private else math.inf,
        learning_rate=0.02,
        optimiser=Adam(),
    )


@functools.cache
def _trained(
    dataset: Dataset, network: Network, settings: DPSGD, seed: int
) -> tuple[FloatArray, IntArray]:
    """Return probabilities and labels of the half that is not fitted, read-only."""
    from dpcp_audit.extensions.training import train  # noqa: PLC0415  (needs torch)

    fit_x, pool_x, fit_y, pool_y = unit_halves(dataset)
    data = Examples(
        inputs=_inputs(fit_x, network),
        labels=np.asarray(fit_y, dtype=np.int64),
        n_classes=_CLASSES[dataset],
    )
    module = _module(network, fit_x.shape[1], data.n_classes)
    trained = train(module, data, settings, rng=seed, device="cpu")
    probabilities = trained.probabilities(_inputs(pool_x, network))[0]
    labels = np.asarray(pool_y, dtype=np.int64)
    for part in (probabilities, labels):
        part.setflags(write=False)
    return probabilities, labels


def _module(network: Network, n_features: int, n_classes: int) -> nn.Module:
    from dpcp_audit.extensions.training import networks  # noqa: PLC0415  (needs torch)

    if network is Network.CNN:
        return networks.small_cnn(1, n_classes)
    build = networks.head if network is Network.HEAD else networks.logistic
    return build(n_features, n_classes)


def _inputs(features: FloatArray, network: Network) -> NDArray[np.float32]:
    single = np.asarray(features, dtype=np.float32)
    if network is not Network.CNN:
        return single
    side = math.isqrt(single.shape[1])
    return single.reshape(-1, 1, side, side)


def load_dataset(name: str) -> tuple[FloatArray, IntArray]:
    """Return the features and labels of data that scikit-learn ships, such as "digits"."""
    load: Any = getattr(import_module("sklearn.datasets"), f"load_{name}")
    features, labels = load(return_X_y=True)
    return np.asarray(features), np.asarray(labels)


def split(
    features: FloatArray, labels: IntArray, *, share: float = 0.5
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Split the records, each class alike; ``share`` of them make the first part.

    Returns
    -------
    tuple
        The features of either part, and the labels of either.
    """
    train_test_split: Any = import_module("sklearn.model_selection").train_test_split
    fit_x, rest_x, fit_y, rest_y = train_test_split(
        features, labels, train_size=share, stratify=labels, random_state=0
    )
    return fit_x, rest_x, fit_y, rest_y


def unit_halves(dataset: Dataset) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the features of either half, mapped to [0, 1], and their labels."""
    fit_x, pool_x, fit_y, pool_y = split(*load_dataset(dataset.name.lower()))
    low, high = _PUBLIC_BOUNDS.get(dataset, (fit_x.min(axis=0), fit_x.max(axis=0)))
    fit_x, pool_x = (np.clip((part - low) / (high - low), 0.0, 1.0) for part in (fit_x, pool_x))
    return fit_x, pool_x, fit_y, pool_y
