"""Objects that are fitted and predict: their names, their answers, and twins told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.targets import Kind, Target, TargetError
from dpcp_audit.targets.fitted_objects import answered, as_function, kind_of
from dpcp_audit.words.results import Verdict

CENTRES = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
X, Y = np.array([[0.0, 0.1], [1.4, 0.0], [0.2, 1.5]]), np.array([0, 1, 2])


def distances(rows) -> np.ndarray:
    return np.linalg.norm(rows[:, None] - CENTRES, axis=2)


class Split:
    """Split conformal prediction by the distance to fixed centres."""

    short = 0

    def fit(self, rows, labels) -> Split:
        scores = np.sort(distances(rows)[np.arange(len(labels)), labels])
        rank = int(np.ceil(0.9 * (len(scores) + 1))) - self.short
        self.limit = np.inf if rank > len(scores) else scores[max(rank, 1) - 1]
        return self

    def predict_set(self, rows) -> Any:
        return distances(rows) <= self.limit


class Trained(Split):
    """Divides distances by a number that it learns from the records that come first."""

    def fit(self, rows, labels) -> Trained:
        self.unit = 1 + np.abs(np.asarray(rows)).max()
        return self

    def calibrate(self, rows, labels) -> None:
        rows, labels = np.asarray(rows), np.asarray(labels)
        scores = np.sort(distances(rows)[np.arange(len(labels)), labels] / self.unit)
        rank = int(np.ceil(0.9 * (len(scores) + 1)))
        self.limit = np.inf if rank > len(scores) else scores[rank - 1]

    def predict_set(self, rows) -> Any:
        return distances(np.asarray(rows)) / self.unit <= self.limit


class Conformalized(Trained):
    def conformalize(self, rows, labels) -> Conformalized:
        self.calibrate(rows, labels)
        return self


class Guarded(Trained):
    """Says so itself where it is calibrated before it is fitted."""

    unit = 0.0

    def calibrate(self, rows, labels) -> None:
        if not self.unit:
            raise RuntimeError("call fit before calibrate")
        super().calibrate(rows, labels)


class MiscountedOrder(Trained):
    """Calibrates on the records that come first, whatever the others are."""

    def calibrate(self, rows, labels) -> None:
        super().calibrate(rows[:10], labels[:10])


class TooShort(Split):
    short = 3


class Listed(Split):
    def predict_set(self, rows) -> Any:
        return [np.flatnonzero(row).tolist() for row in super().predict_set(rows)]


class ForEachClass(Split):
    def fit(self, rows, labels) -> Split:
        self.limit = np.full(3, np.inf)
        for label in range(3):
            scores = np.sort(distances(rows)[labels == label, label])
            rank = int(np.ceil(0.9 * (len(scores) + 1)))
            if rank <= len(scores):
                self.limit[label] = scores[rank - 1]
        return self


class Noisy(Split):
    """The exponential mechanism on a grid of thresholds; a rank changes by one."""

    def __init__(self, *, rng, epsilon=1.0) -> None:
        self.rng, self.epsilon = rng, epsilon

    def fit(self, rows, labels) -> Split:
        scores = distances(rows)[np.arange(len(labels)), labels]
        grid = np.linspace(0, 5, 11)
        ranks = (scores[:, None] <= grid).sum(axis=0)
        utility = -self.epsilon / 2 * np.abs(ranks - 0.9 * len(scores))
        chances = np.exp(utility - utility.max())
        self.limit = grid[self.rng.choice(len(grid), p=chances / chances.sum())]
        return self


class Residuals:
    level = 0.9

    def fit(self, rows, outcomes) -> None:
        scores = np.sort(np.abs(outcomes - rows[:, 0]))
        rank = int(np.ceil(self.level * (len(scores) + 1)))
        self.limit = np.inf if rank > len(scores) else scores[rank - 1]

    def predict_interval(self, rows) -> Any:
        return rows[:, 0] - self.limit, rows[:, 0] + self.limit


class LowLevel(Residuals):
    level = 0.75


def mean_model(features, labels, *, rng, scale=2.0) -> Any:
    level = np.clip(labels, 0, 2).mean() + rng.laplace(scale=scale / len(labels))
    return lambda rows: np.full(len(rows), level)


COVERAGE, OF_CLASSES = dp.Coverage(0.9), dp.Coverage(0.9, per_class=True)
TWINS: list[tuple[Any, dict[str, Any], Any, dict[str, Any], Any, str]] = [
    (Split, {}, TooShort, {}, COVERAGE, "predictor"),
    (ForEachClass, {}, Split, {}, OF_CLASSES, "predictor"),
    (Noisy, {}, Noisy, {"epsilon": 6.0}, dp.PureDP(1.0), "predictor"),
    (Residuals, {}, LowLevel, {}, COVERAGE, "regression"),
    (mean_model, {}, mean_model, {"scale": 0.5}, dp.PureDP(1.0), "model"),
]


@pytest.mark.known_bad
@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_twin_is_refuted_and_the_correct_one_not(twin) -> None:
    good, right, bad, wrong, claim, kind = twin
    settings = {"kind": kind, "n": 20, "draws": 1500, "trace": False}
    assert dp.audit(bad, claim, options=wrong, **settings).verdict is Verdict.REFUTED
    found = dp.audit(good, claim, options=right, **settings)
    assert found[0].error == ""
    assert found.verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_a_refutation_is_found_again_on_data_of_the_users_own() -> None:
    rng = np.random.default_rng(3)
    labels = np.arange(60) % 3
    rows = CENTRES[labels] + rng.normal(size=(60, 2))
    found = dp.audit(TooShort, COVERAGE, kind="predictor", n=20, draws=2000, data=(rows, labels))
    assert found.verdict is Verdict.REFUTED
    assert found[0].replay()


class Mapie:
    """The calls of MAPIE: the model is fitted before, sets have an axis of levels."""

    def fit(self, rows, labels) -> None:
        raise AssertionError("the model is fitted")

    def conformalize(self, rows, labels) -> None:
        self.seen = len(rows)

    def predict_set(self, rows) -> Any:
        return np.zeros(len(rows)), np.full((len(rows), 3, 1), self.seen == 3)


class Crepes:
    """The calls of crepes, with intervals."""

    def calibrate(self, rows, labels) -> None:
        """Calibrate."""

    def predict_int(self, rows) -> Any:
        return np.stack([rows[:, 0], rows[:, 0] + 1], axis=1)


class Puncc:
    """The calls of puncc: a point prediction, then the ends."""

    def fit(self, rows, labels) -> None:
        """Fit."""

    def predict(self, rows) -> Any:
        return rows[:, 0], rows[:, 0] - 1, rows[:, 0] + 1


@pytest.mark.parametrize(
    ("thing", "kind", "shape"),
    [
        (Mapie, Kind.PREDICTOR, (3, 3)),
        (Mapie(), Kind.PREDICTOR, (3, 3)),
        (Listed, Kind.PREDICTOR, (3, 3)),
        (Crepes, Kind.REGRESSION, (3, 2)),
        (Puncc, Kind.REGRESSION, (3, 2)),
        (lambda rows, labels: Split().fit(rows, labels), Kind.PREDICTOR, (3, 3)),
        (lambda rows, labels, new: np.ones((len(new), 3)), Kind.PREDICTOR, (3, 3)),
    ],
)
def test_the_names_that_libraries_use(thing, kind, shape) -> None:
    function = as_function(thing, kind, name="it", classes=3)
    assert np.shape(function(X, Y, X)) == shape


def test_a_class_may_take_its_generator_where_it_is_fitted() -> None:
    class Drawing:
        limit = 0.0

        def fit(self, features: Any, labels: Any, *, rng: np.random.Generator) -> None:
            del features, labels
            self.limit = rng.random()

        def predict_interval(self, features: Any) -> Any:
            return np.zeros(len(features)), np.full(len(features), self.limit)

    target = Target.from_callable(Drawing, kind=Kind.REGRESSION)
    outputs = [target((X, Y, X), 1, rng=np.random.default_rng(seed)).tolist() for seed in (1, 1, 2)]
    assert outputs[0] == outputs[1] != outputs[2]


def test_each_call_fits_a_fresh_object() -> None:
    fitted = Split()
    as_function(fitted, Kind.PREDICTOR, name="it", classes=3)(X, Y, X)
    assert not hasattr(fitted, "limit")


def test_sets_of_labels_become_indicators() -> None:
    assert answered([[0, 2], []], Kind.PREDICTOR, 3).tolist() == [[1, 0, 1], [0, 0, 0]]
    assert answered(([1], [{1}]), Kind.PREDICTOR, 2).tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="a set holds the label 5, and there are 3 classes"):
        answered([[5]], Kind.PREDICTOR, 3)
    with pytest.raises(ValueError, match="a set holds a label twice"):
        answered([[1, 1], [2]], Kind.PREDICTOR, 3)


@pytest.mark.known_bad
def test_lists_of_indicators_are_not_read_as_labels() -> None:
    """As labels, [0, 1, 0] would be the set {0, 1}."""
    rows = [[0, 1, 0], [1, 1, 1], [0, 0, 0]]
    assert np.asarray(answered(rows, Kind.PREDICTOR, 3)).tolist() == rows
    assert answered([[0, 1, 2], [2, 1, 0]], Kind.PREDICTOR, 3).tolist() == [[1, 1, 1]] * 2
    assert answered([[0, 1], [0, 1]], Kind.PREDICTOR, 2).tolist() == [[1, 1]] * 2
    with pytest.raises(ValueError, match="may be sets of labels or indicators"):
        answered([[0, 1], [1, 0]], Kind.PREDICTOR, 2)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (
            lambda scores: 0.5,
            r"needs \(scores\)\nhint: name a class or function that makes an object",
        ),
        (3, "is a int without conformalize, fit_conformalize, calibrate, fit"),
    ],
)
def test_what_cannot_be_fitted_is_told_with_a_hint(thing, words) -> None:
    with pytest.raises(TargetError, match=words):
        Target.from_callable(thing, kind=Kind.PREDICTOR, domain=3)


def test_wrong_uses_are_told_by_what_they_are() -> None:
    with pytest.raises(ValueError, match="labels must be integers from 0 for a predictor of sets"):
        dp.audit(Split, COVERAGE, kind="predictor", data=(X, Y + 0.5))
    with pytest.raises(
        ValueError, match="of each class applies to a calibrator or predictor, not to a regression"
    ):
        dp.audit(Residuals, OF_CLASSES, kind="regression")
    with pytest.raises(ValueError, match="data applies to a predictor or regression or model"):
        dp.audit(lambda scores: 0.5, COVERAGE, data=(X, Y))
    with pytest.raises(ValueError, match="labels must be numbers.*got .'a'.\nhint: encode them"):
        dp.audit(Split, COVERAGE, data=(X, np.array(["a", "b", "c"])))
    with pytest.raises(ValueError, match="the same length, got 2 and 3"):
        dp.audit(Split, COVERAGE, kind="predictor", data=(X[:2], Y))


class ByName(Split):
    """As puncc has it: data by name alone."""

    def fit(self, *, X=None, y=None) -> Split:  # noqa: N803
        return super().fit(X, y)


class AtOnce(Split):
    """As MAPIE's cross-conformal objects have it."""

    fit_conformalize, fit = Split.fit, None


@pytest.mark.parametrize("made", [ByName, AtOnce])
def test_other_ways_to_fit_give_the_same_sets(made) -> None:
    rows, labels = np.tile(X, (8, 1)), np.tile(Y, 8)
    function = as_function(made, Kind.PREDICTOR, name="made", classes=3)
    expected = Split().fit(rows, labels).predict_set(X)
    assert np.array_equal(function(rows, labels, X), expected)


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (Split, Kind.PREDICTOR),
        (Split(), Kind.PREDICTOR),
        (Residuals, Kind.REGRESSION),
        (np.quantile, None),
        ("mine.py:Split", None),
        (object(), None),
    ],
)
def test_an_object_says_its_kind_by_its_methods(thing, kind) -> None:
    assert kind_of(thing) is kind


class TestTwoSteps:
    """An object that is fitted, and then calibrated, on rows of their own."""

    @pytest.mark.parametrize("made", [Trained, Trained(), Conformalized, Guarded, Guarded()])
    def test_the_first_half_is_fitted_to_and_the_rest_calibrated_on(self, made) -> None:
        rng = np.random.default_rng(0)
        labels = np.tile([0, 1, 2], 40)
        rows = CENTRES[labels] + rng.normal(size=(120, 2)) / 2
        found = as_function(made, Kind.PREDICTOR, name="f", classes=3)(rows, labels, rows)
        expected = Trained().fit(rows[:60], labels[:60])
        expected.calibrate(rows[60:], labels[60:])
        np.testing.assert_array_equal(found, expected.predict_set(rows))

    def test_what_misses_something_else_says_so(self) -> None:
        class Broken(Trained):
            def calibrate(self, rows, labels) -> None:
                self.no_such_thing()

        call = as_function(Broken, Kind.PREDICTOR, name="f", classes=3)
        with pytest.raises(AttributeError, match="no_such_thing"):
            call(np.repeat(X, 4, axis=0), np.tile(Y, 4), X)

    @pytest.mark.statistical(false_alarm=1e-8)
    def test_a_right_one_passes_every_check(self) -> None:
        found = dp.check_calibrator(Conformalized, at_least=0.8, n=60, draws=200, false_alarm=1e-8)
        verdicts = {each.key: each.verdict for each in found}
        assert Verdict.REFUTED not in verdicts.values()
        assert Verdict.ERROR not in verdicts.values()
        assert verdicts["order"] is Verdict.CONSISTENT

    def test_one_that_looks_at_the_first_records_alone_is_refuted(self) -> None:
        found = dp.check_calibrator(MiscountedOrder, at_least=0.8, n=60, draws=200)
        assert {each.key for each in found if each.verdict is Verdict.REFUTED} >= {"order"}
