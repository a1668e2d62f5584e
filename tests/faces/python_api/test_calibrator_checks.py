"""``dp.check_calibrator``: right objects pass, and each planted bug is found by its own check.

Where an object is right, the false-alarm probability of a battery is 1e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.laws.pools import RowPool, made_classes, made_outcomes
from dpcp_audit.words.results import Verdict

CENTRES = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
SELDOM: Any = {"draws": 400, "false_alarm": 1e-8}


class Split:
    """Split conformal sets, by the distance from a class's centre."""

    def fit(self, rows, y) -> Split:
        scores = self.scores(rows)[np.arange(len(y)), np.asarray(y)]
        self.threshold = self.quantile(np.sort(scores), int(np.ceil((len(y) + 1) * 0.9)))
        return self

    def quantile(self, scores, rank) -> float:
        return scores[rank - 1] if rank <= len(scores) else np.inf

    def scores(self, rows) -> np.ndarray:
        return np.linalg.norm(np.asarray(rows)[:, None, :] - CENTRES, axis=2)

    def predict_set(self, rows) -> np.ndarray:
        return (self.scores(rows) <= self.threshold).astype(float)


class Intervals:
    """Split conformal intervals around the feature."""

    def fit(self, rows, y) -> Intervals:
        residuals = np.sort(np.abs(np.asarray(y) - np.asarray(rows)[:, 0]))
        rank = int(np.ceil((len(y) + 1) * 0.9))
        self.radius = residuals[rank - 1] if rank <= len(y) else np.inf
        return self

    def predict_interval(self, rows) -> np.ndarray:
        middle = np.asarray(rows)[:, 0]
        return np.stack([middle - self.radius, middle + self.radius], axis=1)


class Noisy(Split):
    """Sets of a threshold with noise."""

    def fit(self, rows, y, *, rng) -> Noisy:
        super().fit(rows, y)
        self.threshold += rng.exponential()
        return self


class SeldomNoisy(Split):
    """Sets of a threshold that one fit in ten moves."""

    def fit(self, rows, y, *, rng) -> SeldomNoisy:
        super().fit(rows, y)
        self.threshold += rng.random() < 0.1
        return self


class Unseeded(Intervals):
    """Ends that no two fits share; sets of labels would now and then be the same."""

    def fit(self, rows, y) -> Intervals:
        super().fit(rows, y)
        self.radius += np.random.default_rng().exponential()
        return self


class FirstHalf(Split):
    def fit(self, rows, y) -> Split:
        half = len(y) // 2 + 1
        return super().fit(rows[:half], y[:half])


class FirstHalfNoisy(FirstHalf):
    def fit(self, rows, y, *, rng) -> Split:
        super().fit(rows, y)
        self.threshold += 0.01 * rng.exponential()
        return self


class Sorting(Split):
    def fit(self, rows, y) -> Split:
        found = super().fit(rows, y)
        np.asarray(rows).sort(axis=0)
        return found


class ArraysAlone(Split):
    def predict_set(self, rows) -> np.ndarray:
        return super().predict_set(rows[:, :])


class Open(Split):
    def predict_set(self, rows) -> np.ndarray:
        return (self.scores(rows) < self.threshold).astype(float)


class Clipped(Split):
    def quantile(self, scores, rank) -> float:
        return scores[min(rank, len(scores)) - 1]


class Shrunken(Split):
    def predict_set(self, rows) -> np.ndarray:
        return (self.scores(rows) <= self.threshold * 0.3).astype(float)


def broken_by(estimator: Any, **options: Any) -> set[str]:
    found = dp.check_calibrator(estimator, **{"draws": 400} | options)
    assert Verdict.ERROR not in {each.verdict for each in found}
    return {each.key for each in found if each.verdict is Verdict.REFUTED}


@pytest.mark.statistical(false_alarm=3e-8)
@pytest.mark.parametrize("right", [Split, Intervals, Noisy])
def test_right_objects_pass_every_check(right: Any) -> None:
    found = dp.check_calibrator(right(), **SELDOM)
    assert {str(each.verdict) for each in found} <= {"CONSISTENT", "INCONCLUSIVE"}
    exact = ("repeats", "order", "inputs", "forms")
    for key in exact[0::2] if right is Noisy else exact:
        assert found[key].verdict is Verdict.CONSISTENT


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize("seed", range(4))
def test_noise_that_seldom_shows_is_no_order(seed: int) -> None:
    """One seed alone would pass nearly half of the time where the check were wrong."""
    found = dp.check_calibrator(SeldomNoisy(), **SELDOM, seed=seed)
    assert found["order"].verdict is not Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("broken", "by"),
    [
        (Unseeded, "repeats"),
        (FirstHalf, "order"),
        (Sorting, "inputs"),
        (ArraysAlone, "forms"),
        (Open, "ties"),
        (Clipped, "tiny"),
        (Shrunken, "empty"),
    ],
)
def test_a_planted_bug_is_found_by_its_check(broken: Any, by: str) -> None:
    assert by in broken_by(broken())


@pytest.mark.known_bad
def test_the_order_matters_in_law_where_sets_are_drawn() -> None:
    assert "order" in broken_by(FirstHalfNoisy())


def test_privacy_that_is_claimed_is_tested_too() -> None:
    found = dp.check_calibrator(Split(), dp.PureDP(1.0), n=20, draws=800, trace=False)
    assert found["pure_dp"].verdict is Verdict.REFUTED
    assert found["coverage"].verdict is not Verdict.REFUTED


def test_an_object_that_refuses_few_records_is_not_blamed() -> None:
    class Careful(Split):
        def quantile(self, scores, rank) -> float:
            if rank > len(scores):
                raise ValueError("too few records")
            return super().quantile(scores, rank)

    found = dp.check_calibrator(Careful(), draws=100)
    assert found["tiny"].verdict is Verdict.INCONCLUSIVE
    assert "too few records" in repr(found["tiny"])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"at_least": 1.5}, "at_least must"),
        ({"estimator": lambda scores: 0.5}, "estimator must be an object with fit"),
        ({"estimator": None}, "estimator must be an object with fit.*got a NoneType"),
        ({"estimator": np}, "estimator must be an object with fit.*got a module"),
        ({"estimator": "mine.py:Sets"}, "estimator must be an object with fit.*got 'mine.py:Sets'"),
        ({"estimator": lambda: None}, "or if it makes such an object"),
        ({"n": 10**400}, "n must be at most 10,000,000, got 1000"),
        ({"kind": "quantile"}, "kind must be one of predictor, regression, got 'quantile'"),
        ({"kind": ["predictor"]}, "kind must be one of predictor, regression"),
        ({"alpah": 0.1}, "unknown keyword 'alpah'\\nhint: did you mean 'alpha'"),
    ],
)
def test_wrong_uses_are_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dp.check_calibrator(**{"estimator": Split()} | wrong)


def halves(pool: RowPool) -> tuple[Any, Any, Any, Any]:
    return pool.features[::2], pool.labels[::2], pool.features[1::2], pool.labels[1::2]


@pytest.mark.filterwarnings("ignore::UserWarning")
class TestLibraries:
    """Released objects of conformal libraries, as they are."""

    def battery(self, made: Any, data: tuple[Any, Any], **options: Any) -> dict[str, str]:
        found = dp.check_calibrator(made, data=data, **SELDOM, **options)
        return {each.key: str(each.verdict) for each in found}

    @pytest.mark.statistical(false_alarm=1e-8)
    def test_mapie_keeps_all_but_refuses_few_records(self) -> None:
        library = pytest.importorskip("mapie.regression", reason="MAPIE is not installed")
        from sklearn.linear_model import LinearRegression  # noqa: PLC0415  (beside MAPIE)

        rows, y, held_rows, held_y = halves(made_outcomes())
        made = library.SplitConformalRegressor(
            LinearRegression().fit(rows, y), confidence_level=0.9, prefit=True
        )
        found = self.battery(made, (held_rows, held_y))
        assert found.pop("tiny") == "INCONCLUSIVE"  # it asks for more records
        assert "REFUTED" not in found.values()
        assert {found[key] for key in ("repeats", "order", "inputs")} == {"CONSISTENT"}

    @pytest.mark.statistical(false_alarm=1e-8)
    def test_crepes_keeps_its_coverage(self) -> None:
        library = pytest.importorskip("crepes", reason="crepes is not installed")
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (beside crepes)

        rows, y, held_rows, held_y = halves(made_classes())
        made = library.WrapClassifier(LogisticRegression().fit(rows, y.astype(int)))
        found = self.battery(made, (held_rows, held_y), options={"confidence": 0.9})
        assert found["coverage"] != "REFUTED"
        assert {found[key] for key in ("repeats", "order", "inputs")} == {"CONSISTENT"}
