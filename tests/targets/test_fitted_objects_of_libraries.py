"""Fitted objects of conformal libraries, handed over as they are, in a line or two.

Where they are right the false-alarm probability is 1e-7 for each audit: split conformal
prediction covers what it is asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.words.results import Verdict

linear_model = pytest.importorskip(
    "sklearn.linear_model", reason="scikit-learn is not installed (the extra 'targets')"
)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:mapie")
"""Of data sets without a row of some class, which laws that are searched draw."""
_RNG = np.random.default_rng(5)
CENTRES = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])
LABELS = np.arange(180) % 3
ROWS = CENTRES[LABELS] + _RNG.normal(size=(180, 2))
OUTCOMES = ROWS[:, 0] + _RNG.normal(size=180)
HELD = slice(90, None)
CLASSES: Any = {"data": (ROWS[HELD], LABELS[HELD])}
NUMBERS: Any = {"data": (ROWS[HELD], OUTCOMES[HELD])}
SELDOM: Any = {"false_alarm": 1e-7}
EACH_CLASS = dp.Coverage(0.9, per_class=True)


@pytest.fixture(scope="module")
def classifier() -> Any:
    return linear_model.LogisticRegression().fit(ROWS[:90], LABELS[:90])


@pytest.fixture(scope="module")
def regressor() -> Any:
    return linear_model.LinearRegression().fit(ROWS[:90], OUTCOMES[:90])


def of_library(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module} is not installed (the extra 'targets')")


@pytest.mark.statistical(false_alarm=1e-7)
class TestMapie:
    def test_a_classifier_covers_what_its_level_says_and_no_more(self, classifier) -> None:
        library = of_library("mapie.classification")
        made = library.SplitConformalClassifier(classifier, confidence_level=0.9, prefit=True)
        kept = dp.covers(made, at_least=0.9, n=50, draws=400, **SELDOM, **CLASSES)
        assert kept.verdict is not Verdict.REFUTED
        broken = dp.covers(made, at_least=0.99, n=50, draws=400, **CLASSES)
        assert broken.verdict is Verdict.REFUTED

    @pytest.mark.parametrize("neighbours", ["substitution", "add-remove", "one-label"])
    def test_its_sets_are_not_private(self, classifier, neighbours) -> None:
        library = of_library("mapie.classification")
        made = library.SplitConformalClassifier(classifier, confidence_level=0.9, prefit=True)
        few = {"draws": 800, "trace": neighbours == "substitution"}
        told = dp.audit(made, dp.PureDP(1), neighbours=neighbours, **few, **CLASSES)
        assert told.verdict is Verdict.REFUTED

    def test_intervals_of_a_regression(self, regressor) -> None:
        library = of_library("mapie.regression")
        made = library.SplitConformalRegressor(regressor, confidence_level=0.9, prefit=True)
        kept = dp.covers(made, at_least=0.9, n=50, draws=400, **SELDOM, **NUMBERS)
        assert kept.verdict is not Verdict.REFUTED
        told = dp.audit(made, dp.PureDP(1), draws=800, trace=False, **NUMBERS)
        assert told.verdict is Verdict.REFUTED

    def test_a_cross_conformal_regressor_fits_and_conformalizes_at_once(self) -> None:
        library = of_library("mapie.regression")
        made = library.CrossConformalRegressor(
            linear_model.LinearRegression(), confidence_level=0.9, cv=3
        )
        kept = dp.covers(made, at_least=0.8, n=30, draws=100, **SELDOM, **NUMBERS)
        assert kept.verdict in {Verdict.CONSISTENT, Verdict.INCONCLUSIVE}

    def test_a_wrong_order_of_calls_is_told_in_the_library_s_words(self) -> None:
        library = of_library("mapie.classification")
        made = library.SplitConformalClassifier(
            linear_model.LogisticRegression(), confidence_level=0.9, prefit=False
        )
        told = dp.covers(made, at_least=0.9, n=50, draws=100, **CLASSES)
        assert told.verdict is Verdict.ERROR
        assert "SplitConformalClassifier raised" in told["coverage"].error


@pytest.mark.statistical(false_alarm=1e-7)
class TestCrepes:
    def test_the_confidence_is_an_option_that_its_sets_keep(self, classifier) -> None:
        made = of_library("crepes").WrapClassifier(classifier)
        kept = dp.covers(
            made, at_least=0.9, n=50, draws=400, options={"confidence": 0.9}, **SELDOM, **CLASSES
        )
        assert kept.verdict is not Verdict.REFUTED
        short = dp.covers(
            made, at_least=0.9, n=50, draws=400, options={"confidence": 0.8}, **CLASSES
        )
        assert short.verdict is Verdict.REFUTED

    def test_only_mondrian_sets_cover_each_class(self, classifier) -> None:
        made = of_library("crepes").WrapClassifier(classifier)
        found = [
            dp.audit(
                made,
                EACH_CLASS,
                n=100,
                draws=400,
                options={"confidence": 0.9, "class_cond": each},
                **(SELDOM if each else {}),
                **CLASSES,
            ).verdict
            is Verdict.REFUTED
            for each in (True, False)
        ]
        assert found == [False, True]

    def test_intervals_of_a_regression(self, regressor) -> None:
        made = of_library("crepes").WrapRegressor(regressor)
        options = {"confidence": 0.9}
        kept = dp.covers(made, at_least=0.9, n=50, draws=400, options=options, **SELDOM, **NUMBERS)
        assert kept.verdict is not Verdict.REFUTED
        few: Any = {"n": 20, "draws": 800, "trace": False}
        told = dp.audit(made, dp.PureDP(1), options=options, **few, **NUMBERS)
        assert told.verdict is Verdict.REFUTED


@pytest.mark.statistical(false_alarm=1e-7)
def test_puncc_takes_its_data_by_name_and_its_level_as_an_option(regressor) -> None:
    library = of_library("deel.puncc.regression")
    model = of_library("deel.puncc.api.prediction").BasePredictor(regressor, is_trained=True)
    made = library.SplitCP(model, train=False)
    kept = dp.covers(
        made,
        at_least=0.9,
        kind="regression",
        n=50,
        draws=200,
        options={"alpha": 0.1},
        **SELDOM,
        **NUMBERS,
    )
    assert kept.verdict in {Verdict.CONSISTENT, Verdict.INCONCLUSIVE}
