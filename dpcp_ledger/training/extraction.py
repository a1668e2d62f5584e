"""An attack of which DP promises nothing: extraction of a model.

DP bounds what a model tells of the people it was trained on. It promises nothing to the model's
owner: how much it hampers extraction, by a surrogate fitted to a victim's answers, is a matter of
measurement. A repetition splits the data anew into what the victim is trained on, what calibrates
its conformal sets, what the attacker queries and what agreement is measured on, so that
repetitions are independent given the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Count, Power, Quantity, Sampled, conclude, of_rate
from dpcp_audit.extensions.laws import hps, true_label_scores
from dpcp_audit.extensions.statistics import clopper_pearson, rates
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.mechanisms.label_scores import prediction_sets

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import (
        BoolArray,
        Context,
        FloatArray,
        IntArray,
        Outcome,
    )
    from dpcp_ledger.training.examples import DPSGD, Examples


_STEPS = 100
_PENALTY = 1e-3
_LEAST_PROBABILITY = 1e-30
_CUT_OFF = 1e-4


class Answers(StrEnum):
    """A victim's answer to a query."""

    PROBABILITIES = "probabilities"
    """The probability of every class."""
    LABELS = "labels"
    """The likeliest class alone."""
    SETS = "sets"
    """A conformal prediction set alone."""


def fit(
    inputs: FloatArray, probabilities: FloatArray, sets: BoolArray, answers: Answers
) -> FloatArray:
    """Fit a surrogate to each victim's answers.

    Probabilities give log-ratios, which are linear in the input where the victim is a logistic
    regression: they are solved for (Tramèr et al. 2016, Section 4.1). Labels and sets are fitted
    by likelihood: a label is a probability of 1, a set the uniform one over its labels.

    Parameters
    ----------
    inputs : ndarray, shape (victims, m, f)
        Queries.
    probabilities : ndarray, shape (victims, m, k)
        The victims' probabilities, of which the surrogate sees what ``answers`` says.
    sets : ndarray of bool, shape (victims, m, k)
        The victims' prediction sets, seen where ``answers`` is SETS.

    Returns
    -------
    ndarray, shape (victims, f + 1, k)
        Weights, with the biases last, for ``predict``.
    """
    queries = _with_constant(inputs)
    if answers is Answers.PROBABILITIES:
        logits = np.log(np.maximum(probabilities, _LEAST_PROBABILITY))
        centred = logits - logits.mean(axis=2, keepdims=True)
        solved: FloatArray = np.linalg.pinv(queries, rcond=_CUT_OFF) @ centred
        return solved
    k = probabilities.shape[2]
    if answers is Answers.LABELS:
        return _by_likelihood(queries, np.eye(k)[probabilities.argmax(axis=2)])
    told = sets | ~sets.any(axis=2, keepdims=True)
    return _by_likelihood(queries, told / told.sum(axis=2, keepdims=True))


def predict(weights: FloatArray, inputs: FloatArray) -> IntArray:
    """Return the likeliest classes, shape (victims, m), of inputs (victims, m, f)."""
    return np.asarray((_with_constant(inputs) @ weights).argmax(axis=2), dtype=np.int64)


def conformal_sets(
    probabilities: FloatArray, labels: IntArray, queried: FloatArray, *, alpha: float
) -> BoolArray:
    """Return split conformal prediction sets of the score 1 − p_y, of many victims at once.

    Parameters
    ----------
    probabilities, labels : ndarray, shapes (victims, n, k) and (victims, n)
        The calibration data as each victim sees them.
    queried : ndarray, shape (victims, m, k)
        The victims' probabilities of what is queried.
    alpha : float
        The sets miss the label with probability at most this.
    """
    calibrator = SplitConformal(alpha=alpha)
    thresholds = [
        calibrator.threshold(true_label_scores(hps(seen), true))
        for seen, true in zip(probabilities, labels, strict=True)
    ]
    return np.stack(
        [prediction_sets(hps(asked), q) for asked, q in zip(queried, thresholds, strict=True)]
    )


def _with_constant(inputs: FloatArray) -> FloatArray:
    ones = np.ones((*inputs.shape[:2], 1), dtype=inputs.dtype)
    return np.concatenate([inputs, ones], axis=2)


def _by_likelihood(queries: FloatArray, targets: FloatArray) -> FloatArray:
    """Minimise cross-entropy and a small penalty by accelerated descent (Nesterov 1983).

    The step is one over the curvature's upper bound, ‖X‖²/2 a query. In single precision: a
    surrogate needs no more.
    """
    features = np.ascontiguousarray(queries, dtype=np.float32)
    across = np.ascontiguousarray(features.mT)
    count = np.float32(features.shape[1])
    curvature = np.linalg.eigvalsh(across @ features / count)[:, -1] / 2 + _PENALTY
    rate = (1 / curvature)[:, None, None].astype(np.float32)
    truth = np.ascontiguousarray(targets.mT, dtype=np.float32)
    weights = np.zeros((*truth.shape[:2], features.shape[2]), dtype=np.float32)
    ahead = weights
    for step in range(_STEPS):
        logits = ahead @ across
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        errors = odds / odds.sum(axis=1, keepdims=True) - truth
        gradient = errors @ features / count + np.float32(_PENALTY) * ahead
        after = ahead - rate * gradient
        ahead = after + np.float32(step / (step + 3)) * (after - weights)
        weights = after
    return weights.mT.astype(np.float64)


_TRAINED, _CALIBRATION, _QUERIES = 700, 100, 320
"""What the victim is trained on, what calibrates its sets and what is queried, in examples; the
rest measures the agreement."""
_ALPHA, _REPETITIONS = 0.1, 40
_ALLOWED = 0.5
"""The largest probability with which the harder one may be extracted better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A victim of extraction: the training of its logistic regression, and its answers.

    Parameters
    ----------
    name : str
        In words, for notes.
    training : DPSGD
    answers : Answers
    """

    name: str
    training: DPSGD
    answers: Answers


class _Extracted(NamedTuple):
    """The results of the surrogates of one victim, and the victims themselves."""

    fidelity: FloatArray
    """Share of fresh inputs on which surrogate and victim agree, shape (victims,)."""
    accuracy: FloatArray
    """Share of fresh inputs whose label the surrogate finds, shape (victims,)."""
    victims: FloatArray
    """Share of fresh inputs whose label the victim finds, shape (victims,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HarderToExtract(Sampled):
    """Test "this victim is harder to extract than that one", by surrogates of both.

    In each repetition both are trained and queried on the same split. Ties count for the claim.
    That it is not refuted says that these surrogates, of the victim's own kind, did no better.

    :Null hypothesis: The surrogate of the first agrees better with its victim with probability at
        most 1/2.
    :Statistic: The number of independent repetitions in which it does.
    :Level: At most the significance: half of it on the side that refutes, by the Clopper–Pearson
        limit.
    :Power: The probability that is refuted with probability 0.95.
    :Reference: Clopper and Pearson (1934).

    Parameters
    ----------
    data : Examples
        Features (n, f), n above 1120.
    harder, easier : Victim
        In the claim's words.
    """

    data: Examples
    harder: Victim
    easier: Victim

    def __call__(self, context: Context) -> Outcome:
        """Train, query, fit, and count in how many repetitions the first agrees better."""
        victims = self.harder, self.easier
        count = max(_REPETITIONS, round(_REPETITIONS * context.effort))
        first, second = found = extracted(self.data, victims, count, context)
        better = Count(
            of="share of repetitions in which a surrogate agrees better with "
            f"{self.harder.name} than with {self.easier.name}, after {_QUERIES} queries",
            hits=int(np.count_nonzero(first.fidelity > second.fidelity)),
            trials=count,
        )
        return conclude(
            of_rate(
                Quantity.ATTACK_SUCCESS,
                clopper_pearson(better.hits, count, significance=context.significance),
                better,
                claimed=_ALLOWED,
                confidence=1 - context.significance,
                detail=better.of,
            ),
            lambda: Power(
                quantity=Quantity.ATTACK_SUCCESS,
                smallest=rates.smallest_violation(
                    _ALLOWED, count, significance=context.significance
                ),
                claimed=_ALLOWED,
            ),
            detect=math.inf,  # judged by whether anything could have been refuted
            witness={
                "harder": self.harder.name,
                "easier": self.easier.name,
                "noise_multipliers": [each.training.noise_multiplier for each in victims],
                "answers": [str(each.answers) for each in victims],
                "queries": _QUERIES,
                "trials": count,
                "seed": context.seed,
            },
            note=" ".join(
                _sentence(victim.name, one) for victim, one in zip(victims, found, strict=True)
            ),
        )


def extracted(
    data: Examples, victims: tuple[Victim, ...], count: int, context: Context
) -> list[_Extracted]:
    """Return the success of each victim's surrogates; victims of one training are one model."""
    orders = context.rng(0).permuted(np.tile(np.arange(len(data)), (count, 1)), axis=1)
    cut = np.split(orders, np.cumsum([_TRAINED, _CALIBRATION, _QUERIES]), axis=1)
    answered: dict[DPSGD, FloatArray] = {}
    for training in dict.fromkeys(victim.training for victim in victims):
        answered[training] = _answers(data, training, cut[0], context.rng(1 + len(answered)))
    return [_attack(data, victim.answers, answered[victim.training], cut) for victim in victims]


def _answers(
    data: Examples, training: DPSGD, trained: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Train a victim a repetition; return its probabilities of all data, (victims, n, k)."""
    from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415
    from dpcp_ledger.training.networks import logistic  # noqa: PLC0415

    members = np.zeros((len(trained), len(data)), dtype=np.bool_)
    np.put_along_axis(members, trained, values=True, axis=1)
    network = logistic(data.inputs.shape[1], data.n_classes)
    return train(network, data, training, rng=rng, members=members).probabilities(data.inputs)


def _attack(
    data: Examples, kind: Answers, probabilities: FloatArray, cut: list[IntArray]
) -> _Extracted:
    """Query, fit a surrogate to the answers, and measure it on fresh inputs."""
    _, calibration, queries, fresh = cut
    rows = np.arange(len(probabilities))[:, None]
    inputs = data.inputs.astype(np.float64)
    answers = probabilities[rows, queries]
    sets = conformal_sets(
        probabilities[rows, calibration], data.labels[calibration], answers, alpha=_ALPHA
    )
    truth, said = data.labels[fresh], probabilities[rows, fresh].argmax(axis=2)
    guessed = predict(fit(inputs[queries], answers, sets, kind), inputs[fresh])
    return _Extracted(
        (guessed == said).mean(axis=1),
        (guessed == truth).mean(axis=1),
        (said == truth).mean(axis=1),
    )


def _sentence(name: str, found: _Extracted) -> str:
    low, high = np.quantile(found.fidelity, [0.1, 0.9])
    agreed, right = found.fidelity.mean(), found.accuracy.mean()
    return (
        f"Of {name}: after {_QUERIES} queries the surrogate agrees on {agreed:.4g} of fresh inputs "
        f"({low:.4g} to {high:.4g} in four of five repetitions) and finds the label of "
        f"{right:.4g}, the victim of {found.victims.mean():.4g}."
    )
