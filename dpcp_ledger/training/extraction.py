"""Model extraction: a surrogate fitted to a victim's answers, and how well it agrees with it.

DP bounds what a model tells of the people it was trained on. It promises nothing to the model's
owner: how much it hampers extraction, if at all, is a matter of measurement.

A repetition splits the data anew into what the victim is trained on, what calibrates its
conformal sets, what the attacker queries and what agreement is measured on, so that
repetitions are independent given the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Figure, FigureKind, Series
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import hps, prediction_sets, true_label_scores
from dpcp_audit.extensions.mechanisms import SplitConformal
from dpcp_ledger.training.reconstruction import conclude_share

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import BoolArray, Context, FloatArray, IntArray, Outcome
    from dpcp_audit.extensions.mechanisms import DPSGD, Examples


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
    _validate.choice(Answers, answers=answers)
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


_LEAST_REPETITIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A victim of extraction: the training of its logistic regression, and its answers.

    Parameters
    ----------
    name : str
        In words, for figures and notes.
    training : DPSGD
    answers : Answers
    """

    name: str
    training: DPSGD
    answers: Answers

    def __post_init__(self) -> None:
        _validate.choice(Answers, answers=self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The numbers of examples of each part of the data; the rest measures the agreement.

    Parameters
    ----------
    trained : int
        What the victim is trained on.
    calibration : int
        What calibrates its prediction sets.
    queries : tuple of int
        Numbers of queries that are tried, rising; the smaller ones are parts of the largest.
    """

    trained: int = 700
    calibration: int = 100
    queries: tuple[int, ...] = (20, 40, 80, 160, 320)

    def __post_init__(self) -> None:
        _validate.integer(trained=self.trained, calibration=self.calibration, at_least=1)
        if not self.queries or list(self.queries) != sorted(set(self.queries)):
            raise ValueError(f"queries must rise, got {self.queries}")
        _validate.integer(queries=self.queries[0], at_least=1)

    def cut(self, orders: IntArray) -> _Cut:
        """Cut permutations of the data, shape (repetitions, n)."""
        ends = np.cumsum([self.trained, self.calibration, self.queries[-1]])
        if orders.shape[1] <= ends[-1]:
            raise ValueError(f"data must hold more than {ends[-1]} examples, got {orders.shape[1]}")
        return _Cut(*np.split(orders, ends, axis=1))


class _Cut(NamedTuple):
    """Places of examples, each of shape (repetitions, ...)."""

    trained: IntArray
    calibration: IntArray
    queries: IntArray
    fresh: IntArray


class _Extracted(NamedTuple):
    """The results of the surrogates of one victim, and the victims themselves."""

    fidelity: FloatArray
    """Share of fresh inputs on which surrogate and victim agree, (numbers of queries, victims)."""
    accuracy: FloatArray
    """Share of fresh inputs whose label the surrogate finds, of the same shape."""
    victims: FloatArray
    """Share of fresh inputs whose label the victim finds, shape (victims,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HarderToExtract:
    """Test "this victim is harder to extract than that one" against surrogates of both.

    In each repetition both are trained and queried on the same split. The claim is refuted where
    the surrogate of the first certainly agrees better in more than half of the repetitions, at
    the largest number of queries; ties count for the claim. That it is not refuted says that
    these surrogates, of the victim's own kind, did no better.

    Parameters
    ----------
    data : Examples
        Features (n, f).
    harder, easier : Victim
        In the claim's words.
    repetitions : int
        At effort 1; never below 40.
    """

    data: Examples
    harder: Victim
    easier: Victim
    splits: Splits = field(default_factory=Splits)
    alpha: float = 0.1
    repetitions: int = 40

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha)
        if self.harder.name == self.easier.name:
            raise ValueError(f"easier must have a name of its own, got {self.easier.name!r} twice")
        _validate.integer(repetitions=self.repetitions, at_least=1)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Train, query, fit, and compare the agreements."""
        count = max(_LEAST_REPETITIONS, round(self.repetitions * context.effort))
        found = self.extract(count, context)
        first, second = (found[victim.name] for victim in (self.harder, self.easier))
        most = self.splits.queries[-1]
        return conclude_share(
            f"share of repetitions in which a surrogate agrees better with {self.harder.name} than "
            f"with {self.easier.name}, after {most} queries",
            first.fidelity[-1] > second.fidelity[-1],
            claimed=0.5,
            significance=context.significance,
            witness={
                "harder": self.harder.name,
                "easier": self.easier.name,
                "noise_multipliers": [
                    victim.training.noise_multiplier for victim in (self.harder, self.easier)
                ],
                "answers": [str(victim.answers) for victim in (self.harder, self.easier)],
                "queries": list(self.splits.queries),
                "repetitions": count,
                "seed": context.seed,
            },
            note=" ".join(_sentence(name, one, most) for name, one in found.items()),
            figures=tuple(
                _figure(self.splits.queries, found, accuracy=which) for which in (False, True)
            ),
        )

    def extract(self, count: int, context: Context) -> dict[str, _Extracted]:
        """Return what the surrogates of both victims reach, by the victims' names."""
        orders = context.rng(0).permuted(np.tile(np.arange(len(self.data)), (count, 1)), axis=1)
        cut = self.splits.cut(orders)
        results: dict[str, _Extracted] = {}
        answered: dict[DPSGD, FloatArray] = {}
        for victim in (self.harder, self.easier):
            training = victim.training
            if training not in answered:
                stream = context.rng(1 + len(answered))
                answered[training] = self._probabilities(training, cut.trained, stream)
            results[victim.name] = self._attack(victim.answers, answered[training], cut)
        return results

    def _probabilities(
        self, training: DPSGD, trained: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """Train a victim a repetition; return its probabilities of all data, (victims, n, k)."""
        from dpcp_audit.extensions.training import (  # noqa: PLC0415
            logistic,
            train,
        )

        members = np.zeros((len(trained), len(self.data)), dtype=np.bool_)
        np.put_along_axis(members, trained, values=True, axis=1)
        network = logistic(self.data.inputs.shape[1], self.data.n_classes)
        models = train(network, self.data, training, rng=rng, members=members)
        return models.probabilities(self.data.inputs)

    def _attack(self, kind: Answers, probabilities: FloatArray, cut: _Cut) -> _Extracted:
        """Query, fit a surrogate to the first answers of each number, and measure it."""
        rows = np.arange(len(probabilities))[:, None]
        inputs = self.data.inputs.astype(np.float64)
        answers = probabilities[rows, cut.queries]
        sets = conformal_sets(
            probabilities[rows, cut.calibration],
            self.data.labels[cut.calibration],
            answers,
            alpha=self.alpha,
        )
        truth, said = self.data.labels[cut.fresh], probabilities[rows, cut.fresh].argmax(axis=2)
        fidelity: list[FloatArray] = []
        accuracy: list[FloatArray] = []
        for m in self.splits.queries:
            fitted = fit(inputs[cut.queries[:, :m]], answers[:, :m], sets[:, :m], kind)
            guessed = predict(fitted, inputs[cut.fresh])
            fidelity.append((guessed == said).mean(axis=1))
            accuracy.append((guessed == truth).mean(axis=1))
        return _Extracted(np.array(fidelity), np.array(accuracy), (said == truth).mean(axis=1))


def _sentence(name: str, found: _Extracted, queries: int) -> str:
    low, high = np.quantile(found.fidelity[-1], [0.1, 0.9])
    agreed, right = found.fidelity[-1].mean(), found.accuracy[-1].mean()
    return (
        f"Of {name}: after {queries} queries the surrogate agrees on {agreed:.4g} of fresh inputs "
        f"({low:.4g} to {high:.4g} in four of five repetitions) and finds the label of "
        f"{right:.4g}, the victim of {found.victims.mean():.4g}."
    )


def _figure(queries: tuple[int, ...], found: dict[str, _Extracted], *, accuracy: bool) -> Figure:
    what = "accuracy" if accuracy else "fidelity"
    x = [float(m) for m in queries]
    series: list[Series] = []
    for name, one in found.items():
        values = one.accuracy if accuracy else one.fidelity
        series.append(Series(name=name, x=x, y=values.mean(axis=1).tolist()))
        if accuracy:
            own = float(one.victims.mean())
            series.append(Series(name=f"{name}: itself", x=[x[0], x[-1]], y=[own, own]))
        else:
            series += [
                Series(name=f"{name}: {words}", x=x, y=np.quantile(values, q, axis=1).tolist())
                for words, q in (("worst tenth", 0.1), ("best tenth", 0.9))
            ]
    return Figure(
        kind=FigureKind.LINES,
        title=f"Extraction: {what} of the surrogate against queries",
        x_label="queries",
        y_label="share of fresh inputs",
        log_x=True,
        series=series,
        description=(
            "How often the surrogate finds the true label, and how often the victim does."
            if accuracy
            else "How often the surrogate agrees with the victim: mean and tenths of the victims."
        ),
    )
