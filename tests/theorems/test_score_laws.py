"""Laws of scores by name, from files and from arrays; what is none is refused by name."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.messages import require_line_and_hint

from dpcp_audit.laws.pools import SHIPPED
from dpcp_audit.laws.populations import Beta, Uniform
from dpcp_audit.theorems.catalogue import law_named, law_of_probabilities, law_of_scores
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])
LABELS = np.array([0, 1, 0])
GRID = np.linspace(-0.5, 1.5, 41)


def test_laws_without_data_are_named_as_they_are_written() -> None:
    assert law_named("uniform", name="scores").population == Uniform()
    assert law_named("beta(5, 0.2)", name="scores").population == Beta(5, 0.2)
    assert law_named("beta(5,0.2)", name="scores").name == "beta(5,0.2)"


def test_a_shipped_pool_is_built_when_it_is_used() -> None:
    for name in SHIPPED:
        law = law_named(name, name="pool")
        assert law.name == law.population.name == name
        assert pickle.loads(pickle.dumps(law.population)).name == name  # noqa: S301


def test_a_file_and_its_arrays_are_one_law(tmp_path: Path) -> None:
    path = tmp_path / "my scores.npz"
    np.savez(path, probabilities=PROBABILITIES, labels=LABELS)
    saved = law_named(str(path), name="pool")
    arrays = law_of_probabilities(PROBABILITIES, LABELS)
    scores = law_of_scores([0.25, 0.5, 0.875])
    assert saved.name == "my_scores"
    assert saved.pool is not None
    for law in (saved, arrays, scores):
        assert law.population.cdf(GRID).tolist() == scores.population.cdf(GRID).tolist()
        assert not any(map(str.isspace, law.name))
    assert saved.pool().labels.tolist() == LABELS.tolist()
    assert scores.pool is None


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "unifrom", "beta", "beta(1)", "beta(1,2", "beta(0,1)", "beta(x,1)"),
        *("beta(nan,1)", "beta(1e308,1e308)", "no/such.npz", "a\0b", "x" * 5000, 3, None),
    ],
)
def test_what_is_no_law_is_refused_in_a_line_that_names_the_argument(text: object) -> None:
    with pytest.raises(UsageError, match=r"^scores\b") as refused:
        law_named(text, name="scores")
    require_line_and_hint(str(refused.value))
    assert len(str(refused.value)) < 400


def test_files_that_hold_no_pool_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, scores=[0.1])
    with pytest.raises(UsageError, match=r"pool: path must hold probabilities and labels"):
        law_named(str(path), name="pool")
    path.write_text("no archive")
    with pytest.raises(UsageError, match=r"pool: path must name a readable .npz file"):
        law_named(str(path), name="pool")


@pytest.mark.parametrize(
    ("probabilities", "labels", "named"),
    [
        ([[0.5, 0.6]], [0], "probabilities"),
        ([[0.5, 0.5]], [2], "labels"),
        ([[0.5, 0.5]], [0, 1], "labels"),
    ],
)
def test_arrays_that_are_no_pool_are_refused(probabilities, labels, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named} must"):
        law_of_probabilities(probabilities, labels)
    with pytest.raises(ValueError, match="^scores must"):
        law_of_scores([np.nan])
    with pytest.raises(ValueError, match="^scores must"):
        law_of_scores(np.array([True, False]))
