"""All rows of the level study."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from comparison_cases import comparison_cases
from coverage_cases import coverage_cases
from estimate_cases import estimate_cases
from object_cases import object_cases
from release_cases import release_cases
from shape_cases import shape_cases
from traced_cases import traced_cases
from training_cases import training_cases

if TYPE_CHECKING:
    from level_case import LevelCase


def level_cases() -> dict[str, LevelCase]:
    """Return every case by its name, in the order of the page."""
    cases = chain(
        release_cases(),
        shape_cases(),
        estimate_cases(),
        traced_cases(),
        coverage_cases(),
        object_cases(),
        training_cases(),
        comparison_cases(),
    )
    return {case.name: case for case in cases}
