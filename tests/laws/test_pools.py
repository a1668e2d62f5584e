from __future__ import annotations

import io
import itertools
import math
import runpy
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool, load_pool, within
from dpcp_ledger.mechanisms.label_scores import aps

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
fitted_pool = runpy.run_path(str(BENCHMARKS / "pool_fitting.py"))["fitted_pool"]
EVERY = list(itertools.product(Dataset, Classifier))


@pytest.mark.parametrize(("dataset", "classifier"), EVERY)
def test_a_pool_holds_half_of_the_data_with_valid_probabilities(
    dataset: Dataset, classifier: Classifier
) -> None:
    pool = classifier_pool(dataset, classifier)
    m, k = {Dataset.DIGITS: (899, 10), Dataset.BREAST_CANCER: (285, 2)}[dataset]
    assert pool.probabilities.shape == (m, k)
    assert pool.labels.shape == (m,)
    assert set(np.unique(pool.labels)) == set(range(k))
    np.testing.assert_allclose(pool.probabilities.sum(axis=1), 1, atol=1e-9)
    assert pool.name == f"{dataset}-{classifier}"


@pytest.mark.parametrize(("dataset", "classifier"), EVERY)
def test_a_pool_is_read_once_and_cannot_be_written_to(
    dataset: Dataset, classifier: Classifier
) -> None:
    pool = classifier_pool(dataset, classifier)
    assert classifier_pool(dataset, classifier) is pool
    with pytest.raises(ValueError, match="read-only"):
        pool.probabilities[0, 0] = 1


@pytest.mark.parametrize(("dataset", "classifier"), EVERY)
def test_a_pool_is_what_fitting_gives(dataset: Dataset, classifier: Classifier) -> None:
    kept, fitted = classifier_pool(dataset, classifier), fitted_pool(dataset, classifier)
    np.testing.assert_array_equal(kept.labels, fitted.labels)
    np.testing.assert_allclose(kept.probabilities, fitted.probabilities, rtol=0, atol=1e-4)


def test_the_population_of_a_pool_is_the_true_labels_scores() -> None:
    pool = classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC)
    own = pool.probabilities[np.arange(pool.labels.size), pool.labels]
    np.testing.assert_array_equal(pool.hps_population().scores, 1 - own)
    assert pool.hps_population().name == pool.name
    expected = aps(pool.probabilities)[np.arange(pool.labels.size), pool.labels]
    np.testing.assert_array_equal(pool.population(aps).scores, expected)


def test_a_choice_must_be_a_member() -> None:
    with pytest.raises(ValueError, match=r"^dataset must be a Dataset"):
        classifier_pool("digits", Classifier.LOGISTIC)
    with pytest.raises(ValueError, match=r"^classifier must be a Classifier"):
        classifier_pool(Dataset.DIGITS, "logistic")


NUMBERS = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9)


@given(NUMBERS, NUMBERS)
def test_the_record_that_sets_an_end_is_held(prediction: float, label: float) -> None:
    residual = abs(label - prediction)
    ends = np.array([[prediction - residual, prediction + residual]])
    assert within(ends, np.array([label])).all()


@pytest.mark.parametrize(
    ("low", "high", "label", "held"),
    [
        (0.0, 1.0, 1.0 + 1e-12, False),
        (0.0, 1.0, -1e-12, False),
        (-1e-12, 1.0, 0.0, True),
        (1.0, 0.0, 0.5, False),
        (-math.inf, math.inf, 5.0, True),
        (math.inf, math.inf, 5.0, False),
        (2.0, math.inf, 1.0, False),
    ],
)
def test_what_is_outside_is_not_held(low: float, high: float, label: float, held: bool) -> None:
    assert within(np.array([[low, high]]), np.array([label])).tolist() == [held]


def test_saved_probabilities_are_a_pool(tmp_path: Path) -> None:
    path = tmp_path / "my pool.npz"
    np.savez(path, probabilities=[[0.9, 0.1], [0.2, 0.8]], labels=[0, 1])
    pool = load_pool(str(path))
    assert pool.name == "my_pool"
    assert pool.labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"probabilities": [[0.5, 0.5]]}, r"lacks \['labels'\]"),
        ({"probabilities": [[0.5, 0.5]], "labels": [0, 1]}, "labels must have shape"),
        ({"probabilities": [[0.5, 0.1]], "labels": [0]}, "probabilities must"),
        ({"probabilities": [["1.0", "0.0"]], "labels": [0]}, "probabilities must be an array of"),
        ({"probabilities": [[0.5j, 1 - 0.5j]], "labels": [0]}, "probabilities must be an array of"),
        ({"probabilities": [[0.5, 0.5]], "labels": ["0"]}, "labels must hold integers"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, held: dict[str, list[float]], message: str) -> None:
    np.savez(tmp_path / "p.npz", **{name: np.asarray(value) for name, value in held.items()})
    with pytest.raises(ValueError, match=message):
        load_pool(str(tmp_path / "p.npz"))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_text("no archive")
    with pytest.raises(ValueError, match=r"path must name a readable \.npz file"):
        load_pool(str(tmp_path / "p.npz"))
    with pytest.raises(ValueError, match=r"path must name a readable \.npz file"):
        load_pool(str(tmp_path))


def test_a_single_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="it holds a single array: write it with numpy.savez"):
        load_pool(str(tmp_path / "p.npy"))


def test_a_header_that_claims_more_than_the_memory_is_refused(tmp_path: Path) -> None:
    """An array of 2 EiB, of which the file holds the header alone."""
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (2**48, 1024)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("probabilities.npy", header.getvalue())
    with pytest.raises(ValueError, match="path must name a readable .npz file, got .*EiB"):
        load_pool(str(tmp_path / "p.npz"))


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="path must name a readable .npz file"):
        load_pool("9" * 5000)
