"""P-COQS's simulation study (Section 5.1): data, models, and the thresholds of every method.

The data and the published draws of trial i follow ``as_published``; they do not depend on the
run's seed, which governs the fresh draws of the algorithms as written.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from dpcp_ledger.mechanisms import published_variants

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray


_FEATURES = 8
_MEANS, _VARIANCES = (0.8, -1.0), (7.0, 8.0)
_BOUNDS = (-20, 20)
_ROUNDS = 34


class ModelKind(StrEnum):
    """The classifiers of Section 5.1."""

    NAIVE_BAYES = "naive Bayes"
    FOREST = "random forest"
    PRIVATE_NAIVE_BAYES = "private naive Bayes"
    PRIVATE_FOREST = "private random forest"

    @property
    def private(self) -> bool:
        """True if the model is diffprivlib's."""
        return self in (ModelKind.PRIVATE_NAIVE_BAYES, ModelKind.PRIVATE_FOREST)

    @property
    def forest(self) -> bool:
        """True if a fit takes about a second."""
        return self in (ModelKind.FOREST, ModelKind.PRIVATE_FOREST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A classifier with its privacy budget ε_f, which plain ones do not use."""

    kind: ModelKind
    epsilon: float = 2.0

    @property
    def missing(self) -> str:
        """The reason why the model cannot be fitted here; empty where it can."""
        if not self.kind.private:
            return ""
        try:
            _diffprivlib("models")
        except ImportError as error:
            return f"needs diffprivlib, pip install 'dpcp-audit[targets]' ({error})"
        return ""

    def fit(self, features: FloatArray, labels: IntArray, *, random_state: int) -> FittedClassifier:
        """Fit the classifier; ``random_state`` is a private model's noise and a forest's trees."""
        fitted: FittedClassifier = self._unfitted(random_state).fit(features, labels)
        return fitted

    def _unfitted(self, random_state: int) -> Any:
        if self.kind is ModelKind.NAIVE_BAYES:
            from sklearn.naive_bayes import GaussianNB  # noqa: PLC0415  (slow to import)

            return GaussianNB()
        if self.kind is ModelKind.FOREST:
            from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)

            return RandomForestClassifier(random_state=random_state)
        models = _diffprivlib("models")
        private = {
            "epsilon": self.epsilon,
            "bounds": _BOUNDS,
            "random_state": random_state,
            "accountant": _diffprivlib("accountant").BudgetAccountant(),
        }
        if self.kind is ModelKind.PRIVATE_NAIVE_BAYES:
            return models.GaussianNB(**private)
        return models.RandomForestClassifier(
            n_estimators=127, max_depth=7, classes=np.array([0, 1]), **private
        )


class FittedClassifier(Protocol):
    """A fitted classifier."""

    def predict_proba(self, features: FloatArray, /) -> FloatArray:
        """Return class probabilities, shape (m, 2)."""
        ...


class HistogramSeed(IntEnum):
    """The seed of HistLap's noise in the published tables."""

    FRESH = 0
    """Nothing, or nothing known."""
    FIXED = 1
    """12, in every trial."""
    RUNNING = 2
    """12 + i(i+1)/2 in trial i."""

    def generator(self, trial: int, fresh: np.random.Generator) -> np.random.Generator:
        """Return the generator of a trial's noise."""
        if self is HistogramSeed.FRESH:
            return fresh
        run = trial * (trial + 1) // 2 if self is HistogramSeed.RUNNING else 0
        return np.random.default_rng(12 + run)


class PublishedDraws(NamedTuple):
    """The draws of trial i from NumPy's legacy generator once its data is drawn."""

    uniform_scores: FloatArray
    choices: FloatArray
    release: float
    normals: FloatArray
    normals_without_exponq: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSample:
    """One trial's data and draws."""

    fit: tuple[FloatArray, IntArray]
    calibrate: tuple[FloatArray, IntArray]
    test: tuple[FloatArray, IntArray]
    draws: PublishedDraws


def sample(trial: int, n: int) -> TrialSample:
    """Draw the data of a trial, n in all: 60 % to fit, 24 % to calibrate, 16 % to test."""
    from sklearn import model_selection  # noqa: PLC0415  (slow to import)

    seed = trial + published_variants.FIRST_SEED
    legacy = np.random.RandomState(seed)
    classes = [
        legacy.multivariate_normal(
            np.full(_FEATURES, mean), variance * np.eye(_FEATURES), size=n // 2
        )
        for mean, variance in zip(_MEANS, _VARIANCES, strict=True)
    ]
    order = legacy.permutation(n)
    features = np.round(np.vstack(classes)[order], published_variants.SCORE_DECIMALS)
    labels = np.repeat(np.arange(2), n // 2)[order]
    split = cast("Any", model_selection).train_test_split
    fit_x, rest_x, fit_y, rest_y = split(features, labels, test_size=0.4, random_state=seed)
    cal_x, test_x, cal_y, test_y = split(rest_x, rest_y, test_size=0.4, random_state=seed)
    return TrialSample(
        fit=(fit_x, fit_y),
        calibrate=(cal_x, cal_y),
        test=(test_x, test_y),
        draws=_draws(legacy, len(cal_y)),
    )


def _draws(legacy: np.random.RandomState, n: int) -> PublishedDraws:
    state = legacy.get_state()
    uniform_scores = legacy.random_sample(n)
    choices = legacy.random_sample(100)
    release = legacy.random_sample()
    normals = legacy.standard_normal(_ROUNDS)
    legacy.set_state(state)
    return PublishedDraws(
        uniform_scores, choices, release, normals, legacy.standard_normal(_ROUNDS)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A fitted model's hinge scores on one trial's data, sorted where order does not matter.

    Parameters
    ----------
    calibration : ndarray, shape (n_cal,)
        Scores of the true labels, unrounded.
    true, lowest, second : ndarray, shape (n_test,)
        Of each test point: the true label's score, the smallest and the next; each sorted by
        itself.
    accuracy : float
    """

    calibration: FloatArray
    true: FloatArray
    lowest: FloatArray
    second: FloatArray
    accuracy: float

    @classmethod
    def of(cls, model: FittedClassifier, data: TrialSample) -> Scored:
        """Score a trial's calibration and test points."""
        cal_x, cal_y = data.calibrate
        test_x, test_y = data.test
        calibration = 1 - model.predict_proba(cal_x)[np.arange(cal_y.size), cal_y]
        probabilities = model.predict_proba(test_x)
        scores = 1 - probabilities
        ordered = np.sort(scores, axis=1)
        return cls(
            calibration=np.sort(calibration),
            true=np.sort(scores[np.arange(test_y.size), test_y]),
            lowest=np.sort(ordered[:, 0]),
            second=np.sort(ordered[:, 1]),
            accuracy=float((probabilities.argmax(axis=1) == test_y).mean()),
        )

    def measure(self, thresholds: FloatArray, *, empty_counts: bool) -> FloatArray:
        """Return coverage, mean size and share of singletons, each row a threshold's.

        Parameters
        ----------
        thresholds : ndarray, shape (k,)
        empty_counts : bool
            True if an empty set has size 1 and counts as a singleton, as published.

        Returns
        -------
        ndarray, shape (k, 3)
            NaN where the threshold is.
        """
        covered, some, both = (
            np.searchsorted(values, thresholds, side="right") / values.size
            for values in (self.true, self.lowest, self.second)
        )
        size = 1 + both if empty_counts else some + both
        single = 1 - both if empty_counts else some - both
        result = np.stack([covered, size, single], axis=1)
        result[np.isnan(thresholds)] = np.nan
        return result


def _diffprivlib(module: str) -> Any:
    return importlib.import_module(f"diffprivlib.{module}")
