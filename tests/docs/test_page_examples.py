"""Pages whose examples are doctests: they print what the page says; one names what is public."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import dpcp_audit as dp

DOCS = Path(__file__).parents[2] / "docs"
SAMPLED = pytest.mark.statistical(false_alarm=1e-6)


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("python.md", 9),
        ("howto/calibrate.md", 9),
        ("howto/shapes.md", 16),
        ("howto/test_a_theorem.md", 7),
        pytest.param("howto/prove.md", 16, marks=SAMPLED),
    ],
)
def test_every_example_prints_what_the_page_says(page: str, least: int) -> None:
    failed, tried = doctest.testfile(
        str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert failed == 0
    assert tried >= least


def test_every_public_name_is_on_the_page_or_in_the_reference() -> None:
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    shown = {name for name in dp.__all__ if f"dp.{name}" in text}
    assert set(dp.__all__) - shown == {"__version__"}
