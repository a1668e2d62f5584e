"""Calibrators of other packages: compared beside this package's, or left out with a reason."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import packages
from support.comparisons import compare
from update_comparison import comparison_page

from dpcp_audit.words.guarantees import ApproxDP
from dpcp_ledger.comparison.calibrator_study import GROUP, Grid, _build, method, methods
from dpcp_ledger.comparison.method import Case, PrivateCalibrator, subject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


KEY = "noisy-counts"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with the example package installed in it."""
    packages.install_calibrator(tmp_path, monkeypatch)
    yield tmp_path
    sys.modules.pop("noisy_counts", None)


def grid(*keys: str) -> Grid:
    return Grid(
        methods=("split", *keys),
        subjects=("breast-cancer-gaussian-nb",),
        sizes=(2000,),
        epsilons=(4.0,),
        alphas=(0.1,),
        trials=20,
    )


def test_it_stands_beside_the_others(folder: Path) -> None:
    assert [each.key for each in methods()][-1] == KEY
    found = compare(grid(KEY))
    (row,) = (row for row in found.rows if row.method == KEY)
    assert 0.85 < row.coverage <= 1.0
    assert "noisy counts" in comparison_page(found)


def test_without_it_nobody_knows_it() -> None:
    with pytest.raises(ValueError, match=f"^key must be one of split.*, got '{KEY}'"):
        method(KEY)


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("noisy_counts:CUTS", "is no PrivateCalibrator but a ndarray"),
        ("noisy_counts:NOTHING", "cannot be loaded: AttributeError"),
        ("no_such_module:X", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_what_is_none_is_left_out_with_the_reason(folder: Path, place: str, says: str) -> None:
    packages.register(folder, "broken", group=GROUP, broken=place)
    packages.clear()
    found = compare(grid("broken"))
    assert [key for key, reason in found.skipped if says in reason] == ["broken"]


def test_a_name_of_this_package_is_nobody_elses(folder: Path) -> None:
    packages.register(folder, "taker", group=GROUP, exponq="noisy_counts:CALIBRATOR")
    packages.clear()
    assert method("exponq").label == "ExponQ"
    assert method("noisy_counts:CALIBRATOR").label == "noisy counts"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"label": ""}, "label must not be empty"),
        ({"label": 3}, "label must be str"),
        ({"calibrate": 0.5}, "calibrate must be a function"),
        ({"trust": "curator"}, "trust must be a Trust"),
        ({"privacy": None}, "privacy must be str"),
    ],
)
def test_bad_fields_are_named(changes: dict[str, object], says: str) -> None:
    fields = {"label": "a", "calibrate": lambda scores, **_: 0.5, "privacy": "none"} | changes
    with pytest.raises(ValueError, match=f"^{says}"):
        PrivateCalibrator(**fields)  # type: ignore[arg-type]


def test_a_threshold_that_is_no_number_is_refused() -> None:
    broken = PrivateCalibrator(
        label="broken", calibrate=lambda scores, **_: float("nan"), privacy="none"
    )
    case = Case(subject=subject("uniform"), n=20, alpha=0.1, budget=ApproxDP(1.0, 1e-6))
    with pytest.raises(ValueError, match="^broken must return a finite threshold, got nan"):
        _build(broken, case).draw(1, np.random.default_rng(0))
