"""The privacy-loss figures: what they hold, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.audits.estimates.shown_losses import exact_law, loss_along_outputs
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.words.results import FigureKind


def test_the_law_of_randomised_response_has_two_losses() -> None:
    figure = exact_law(
        FinitePair(FiniteLaw.from_mass([0.75, 0.25]), FiniteLaw.from_mass([0.25, 0.75]))
    )
    first, second = (np.array(series.y) for series in figure.series)
    assert figure.kind is FigureKind.HISTOGRAM
    assert first.sum() == second.sum() == pytest.approx(1)
    assert (first[0], first[-1]) == (0.25, 0.75)
    assert (second[0], second[-1]) == (0.75, 0.25)
    assert "mean is 0.5493 under P" in figure.description


def test_an_infinite_loss_is_left_out_of_the_drawing_and_said() -> None:
    figure = exact_law(FinitePair(FiniteLaw.from_mass([0.5, 0.5]), FiniteLaw.from_mass([1.0, 0.0])))
    assert sum(figure.series[0].y) == 0.5
    assert "inf" in figure.description


def test_the_loss_along_outputs_follows_the_densities() -> None:
    rng = np.random.default_rng(0)

    def outputs(size: int) -> list[np.ndarray]:
        return [rng.laplace(size=size) + shift for shift in (0, 1)]

    figure = loss_along_outputs(outputs(5000), outputs(50_000), significance=0.05)
    assert figure is not None
    value, lower, upper = (np.array(series.y) for series in figure.series)
    assert value[0] == pytest.approx(1, abs=0.1)
    assert value[-1] == pytest.approx(-1, abs=0.1)
    assert (lower < value).all()
    assert (value < upper).all()
    assert lower[0] < 1 < upper[0]
    assert (np.diff(figure.series[0].x) >= 0).all()


def test_vectors_and_constants_have_no_threshold() -> None:
    same = [np.ones(50)] * 2
    assert loss_along_outputs(same, same, significance=0.1) is None
    vectors = [np.zeros((50, 2))] * 2
    assert loss_along_outputs(vectors, vectors, significance=0.1) is None
